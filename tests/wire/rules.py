"""`differences.json`: what is answered otherwise than recorded, with the reason, and what cannot be replayed.

Three lists. `differences`: `where` (a regular expression) or `exchanges` (names) finds the exchanges, `at` the
differences (kind and path, array positions left out), `reason` says why, in words for users. `state`: exchanges whose
state nobody recorded; their values and lengths may differ, nothing else. `left_out`: exchanges that are not sent.

What stays true: a difference that no rule covers fails the suite, and so does a rule that covers nothing.
"""

import json
import re
from pathlib import Path

OWN = Path(__file__).with_name("differences.json")


class Rule:
    def __init__(self, entry):
        self.where = re.compile(entry.get("where", ""), re.DOTALL)
        self.names = frozenset(entry.get("exchanges", ()))
        self.at = re.compile(entry.get("at", ""))
        self.reason = entry["reason"]
        place = entry.get("where") or ", ".join(entry["exchanges"])
        self.text = f"{place[:200]} | {entry.get('at', '')}"
        self.uses = 0

    def covers(self, exchange, difference=None):
        if self.names and exchange.name not in self.names:
            return False
        return bool(self.where.search(exchange.text)) and (
            difference is None or bool(self.at.search(difference.place))
        )


class Rules:
    def __init__(self):
        tables = json.loads(OWN.read_text(encoding="utf-8"))
        self.differences = [Rule(entry) for entry in tables["differences"]]
        self.state = [Rule(entry) for entry in tables["state"]]
        self.left_out = [Rule(entry) for entry in tables["left_out"]]

    def rule_for(self, exchange, difference):
        """The first rule that covers a difference, counted as used; None when it is without a reason."""
        for rule in self.differences:
            if rule.covers(exchange, difference):
                rule.uses += 1
                return rule
        return None

    def one_of(self, table, exchange):
        for rule in table:
            if rule.covers(exchange):
                rule.uses += 1
                return rule
        return None

    def stale(self):
        every = [*self.differences, *self.state, *self.left_out]
        return [f"differences.json: {rule.text}" for rule in every if not rule.uses]
