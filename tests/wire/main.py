"""Replays recorded exchanges against a server: `main.py URL [--catalogue DIR] [--all] [PART]`.

`cargo xtask test wire` runs it, against a server of its own that has just started: some exchanges change settings of
the whole server. PART chooses areas, or one exchange as `docs/017`; `--all` also shows differences that have a reason.

Every exchange gets a database of its own, in the state that its answer speaks of. The answer is then equal, equal but
for values where that state was not recorded ("equal in shape"), different with a reason from `differences.json`, or
it fails the suite. So do rules and fixtures that nothing uses, and a comparison that cannot fail (`test_compare.py`).
Conversations over a web socket or TCP are no exchanges: `tests/clients` holds them.
"""

import argparse
import http.client
import sys
import time
import traceback
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import compare
import exchange as exchanges
import stage as stages
from fixtures import Fixtures
from rules import Rules
from state import prepare

OWN_CATALOGUE = Path(__file__).with_name("catalogue")
# Stages at the same time, and areas that must be alone because they list what the whole server holds.
# They come first, before others change settings of the server.
WORKERS = 4
ALONE = ("server-wide", "databases-admin")
# Differences of one exchange that a report shows.
SHOWN = 8

EQUAL, SHAPE, REASON, LEFT_OUT, FAILED = "equal", "equal in shape", "different", "left out", "failed"
COLUMNS = (EQUAL, SHAPE, REASON, LEFT_OUT, FAILED)


class Outcome:
    def __init__(self, exchange, kind, lines=(), reasons=(), in_members_only=False, in_status_only=False):
        self.exchange = exchange
        self.kind = kind
        self.lines = list(lines)
        self.reasons = sorted(set(reasons))
        # Every value that both answers have is the same: members are left out, or added.
        self.in_members_only = in_members_only
        # The status of a caller's mistake is another, and nothing else.
        self.in_status_only = in_status_only


def main():
    arguments = parse()
    if not comparison_can_fail():
        return 1
    areas = exchanges.load(arguments.catalogue)
    if not areas:
        print(f"There are no exchanges in {arguments.catalogue}.")
        return 1
    fixtures, rules = Fixtures(areas), Rules()
    totals, reasons = Counter(), Counter()
    began = time.monotonic()
    print(f"{'':20}" + "".join(f"{column:>16}" for column in COLUMNS))
    for area, chosen in chosen_of(areas, arguments.part):
        outcomes = replay(arguments.url, area, chosen, fixtures, rules)
        counts = Counter(outcome.kind for outcome in outcomes)
        totals.update(counts)
        totals["in members only"] += sum(outcome.in_members_only for outcome in outcomes)
        totals["in status only"] += sum(outcome.in_status_only for outcome in outcomes)
        print(f"{area:20}" + "".join(f"{counts[column]:16}" for column in COLUMNS), flush=True)
        for outcome in outcomes:
            reasons.update(outcome.reasons)
            if outcome.kind == FAILED or arguments.all and outcome.lines:
                report(outcome)
    stale = [] if arguments.part else [*rules.stale(), *fixtures.stale()]
    close(totals, reasons, stale, time.monotonic() - began)
    return 1 if totals[FAILED] or stale else 0


def parse():
    parser = argparse.ArgumentParser(description="replays recorded exchanges against a server")
    parser.add_argument("url", help="where the server listens, e.g. http://127.0.0.1:8080")
    parser.add_argument("part", nargs="?", default="", help="part of an area's name, or an exchange: docs/017")
    parser.add_argument("--catalogue", default=OWN_CATALOGUE, help="folder with JSON lines or Markdown")
    parser.add_argument("--all", action="store_true", help="show differences with a reason as well")
    return parser.parse_args()


def comparison_can_fail():
    suite = unittest.defaultTestLoader.loadTestsFromName("test_compare")
    return unittest.TextTestRunner(verbosity=0).run(suite).wasSuccessful()


def chosen_of(areas, part):
    for area in sorted(areas, key=lambda area: area not in ALONE):
        every = areas[area]
        chosen = [one for one in every if part in one.name] if "/" in part else every if part in area else []
        if chosen:
            yield area, chosen


def replay(url, area, chosen, fixtures, rules):
    def one(exchange):
        return outcome_of(url, exchange, fixtures, rules)

    with ThreadPoolExecutor(1 if area in ALONE else WORKERS) as pool:
        return list(pool.map(one, chosen))


def outcome_of(url, exchange, fixtures, rules):
    left_out = rules.one_of(rules.left_out, exchange)
    if left_out:
        return Outcome(exchange, LEFT_OUT, reasons=[left_out.reason])
    stage = stages.Stage(url)
    try:
        sent = prepare(stage, exchange, fixtures)
        answer = send(stage, sent)
        return judged(stage, exchange, answer, rules)
    except Exception as error:  # noqa: BLE001  one broken exchange must not end the run
        lines = [f"not played: {type(error).__name__}: {error}"]
        if not isinstance(error, stages.Refused):
            lines += traceback.format_exc().strip().split("\n")[-7:-1]
        return Outcome(exchange, FAILED, lines)
    finally:
        try:
            stage.close(also=("db1",))
        except (OSError, http.client.HTTPException):
            # What matters was compared; the server of a suite goes away with its data.
            pass


def send(stage, exchange):
    body = exchange.sent_body
    if isinstance(body, str):
        body = stage.outgoing(body) if body else None
    headers = {name: value for name, value in exchange.headers.items() if name != "Transfer-Encoding"}
    return stage.send(exchange.method, stage.outgoing(exchange.target), body, headers)


def judged(stage, exchange, answer, rules):
    text = stage.incoming(answer.text)
    headers = {name: stage.incoming(value) for name, value in answer.headers.items()}
    found = compare.differences(exchange, answer.status, headers, text, stage.free)
    if not found:
        return Outcome(exchange, EQUAL)
    covered = [(difference, rules.rule_for(exchange, difference)) for difference in found]
    without = [difference for difference, rule in covered if rule is None]
    lines = [f"{'' if rule is None else '(reason) '}{difference}" for difference, rule in covered]
    lines.sort(key=lambda line: line.startswith("(reason)"))
    reasons = [rule.reason for _, rule in covered if rule]
    if not without:
        members = all(difference.kind in ("missing", "extra") for difference in found)
        status = [difference.kind for difference in found] == ["status"] and answer.status == compare.MISTAKE[1]
        return Outcome(exchange, REASON, lines, reasons, members, status and exchange.status == compare.MISTAKE[0])
    if all(difference.kind in ("value", "length") for difference in without):
        state = rules.one_of(rules.state, exchange)
        if state:
            return Outcome(exchange, SHAPE, lines, [*reasons, state.reason])
    return Outcome(exchange, FAILED, lines, reasons)


def report(outcome):
    exchange = outcome.exchange
    asked = exchange.body if isinstance(exchange.body, str) else ""
    print(f"  {outcome.kind}: {exchange.name} {exchange.method} {exchange.target[:200]}")
    if asked:
        print(f"    {asked[:300]!r}")
    for line in outcome.lines[:SHOWN]:
        print(f"    {line}")
    if len(outcome.lines) > SHOWN:
        print(f"    and {len(outcome.lines) - SHOWN} more")


def close(totals, reasons, stale, seconds):
    print("\nReasons, with the exchanges that have them:")
    for reason, count in reasons.most_common():
        print(f"{count:6}  {reason}")
    for text in stale:
        print(f"stale, nothing needs it: {text}")
    replayed = sum(totals[column] for column in COLUMNS) - totals[LEFT_OUT]
    words = ", ".join(f"{totals[column]} {column}" for column in COLUMNS)
    print(f"\n{replayed} exchanges replayed in {seconds:.0f} s: {words}.")
    print(
        f"Of the different ones, {totals['in status only']} only answer a caller's mistake with 400 instead of 500, and"
        f" {totals['in members only']} only leave members out or add some."
    )
    if stale:
        print(f"{len(stale)} entries are stale.")


if __name__ == "__main__":
    sys.exit(main())
