"""What makes an answer equal to the recorded one, and where it is not.

Equal means: the same status, the headers that were recorded, the same JSON by structure, member by member and
element by element. Left out of it is only what no two servers share: times of writing, change vectors, etags, Raft
indexes, ids of databases and nodes, addresses, and stack traces. `main.py` calls `differences`;
`test_compare.py` shows that a changed status, a missing member and another value are found.
"""

import json
import re
from dataclasses import dataclass

from exchange import CUT, NOT_KEPT, TRUNCATED, parse_json

# Members whose value is a time of the server's clock. A time that is not set (year 1) stays what it is.
TIMES = {
    "@last-modified", "LastModified", "IndexTimestamp", "LastQueryTime", "LastIndexingTime", "LastQueryingTime",
    "LastBatchTime", "DateTime", "StartTime", "EndTime", "NodesModifiedAt", "LastRangeAt", "CreatedTimestamp",
    "FirstServerStartDate", "LastIndexedTime",
}  # fmt: skip
# Members whose value is a number that counts what the server did before, or how long it took.
NUMBERS = {
    "RaftCommandIndex", "TransactionIndex", "ResultEtag", "DurationInMs", "OperationId", "Etag", "EtagForBackup",
    "LeaderShipDuration", "LastDocEtag", "LastDatabaseEtag", "LastIndexedEtag", "TaskId", "SubscriptionId", "Id",
    "IndexDefinitionRaftIndex", "AutoIndexCreationRaftIndex", "ReduceOutputIndex",
}  # fmt: skip
# The same, but 0 and below have a meaning of their own ("not there", "not set").
POSITIVE_NUMBERS = {"Index", "Etag"}
# What has no name is named by such a number.
NAMES = {"Name", "SubscriptionName"}
# Members whose value names this server or database.
IDENTITIES = {
    "DatabaseId", "DatabaseTopologyIdBase64", "ClusterTransactionIdBase64", "ServerId", "TopologyId", "NodeUrl",
    "WebUrl",
}  # fmt: skip
# Members whose value is a stack trace or text of the engine below.
TRACES = {"Error"}

TIME = re.compile(r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?\Z")
TIME_NOT_SET = "0001-01-01T00:00:00"
WORDS = (
    (re.compile(r"(?:[A-Z]+:\d+-[A-Za-z0-9+/]{22}(?:, ?)?)+"), "<change vector>"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"\b([A-Z]-|TC:INC-)[A-Za-z0-9+/]{22}"), r"\1<database>"),
    (re.compile(r"Hash-[A-Za-z0-9+/]{43}="), "<hash>"),
    (re.compile(r"(?:http|tcp)://(127\.0\.0\.1|localhost):\d+"), "<address>"),
    (re.compile(r"\b0{8,}\d+-A\b"), "<etag>-A"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z?(?=\.|\Z)"), "<time>"),
)
# An automatic index is named by every field it has come to hold.
AUTOMATIC = re.compile(r"\AAuto/([^/]+)/By.*\Z", re.DOTALL)
JSON_TYPE = "application/json; charset=utf-8"
# Statuses of a caller's mistake, as recorded and as answered. The body says the same with both.
MISTAKE = (500, 400)
# Longest piece of a value that a report shows.
SHOWN_CHARACTERS = 160


@dataclass
class Difference:
    """`kind` is one of: status, header, missing, extra, value, kind (of value), length, body."""

    kind: str
    at: str
    expected: object = None
    actual: object = None

    @property
    def place(self):
        """What a rule of `differences.json` matches: the kind and the path, array positions left out."""
        return f"{self.kind} " + re.sub(r"\[\d+\]", "[]", self.at)

    def __str__(self):
        return f"{self.kind} {self.at}: expected {shown(self.expected)}, got {shown(self.actual)}"


def shown(value):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."


def differences(exchange, status, headers, body, free=()):
    """Where an answer differs from the recorded one.

    `headers` has names in lower case, `body` is text. `free` are recorded values that cannot be had again
    (the hash of contents that were not recorded).
    """
    found = []
    if status != exchange.status:
        found.append(Difference("status", f"{exchange.status} -> {status}", exchange.status, f"{status} {body[:400]}"))
        if (exchange.status, status) != MISTAKE:
            return found
    for name, value in exchange.answer_headers.items():
        actual = headers.get(name.lower())
        if value in free and actual is not None:
            continue
        if actual is None:
            found.append(Difference("missing", f"header {name}", value))
        elif header_form(name, value) != header_form(name, actual):
            found.append(Difference("header", f"header {name}", value, actual))
    if exchange.answer.startswith(("{", "[")) and "Content-Type" not in exchange.answer_headers:
        actual = headers.get("content-type", "")
        if not NOT_KEPT.match(exchange.answer) and actual.lower() != JSON_TYPE:
            found.append(Difference("header", "header Content-Type", JSON_TYPE, actual))
    found.extend(body_differences(exchange.answer, body, free))
    return found


def header_form(name, value):
    if name == "ETag" and re.fullmatch(r"-?\d+", value):
        return "<number>"
    if name == "Content-Disposition":
        value = re.sub(r"\d{8}_\d{4}|\d{4}-\d\d-\d\d%20\d\d-\d\d", "<time>", value)
    return word_form(value)


def body_differences(expected, actual, free):
    if NOT_KEPT.match(expected):
        return [] if actual else [Difference("body", "body", expected, actual)]
    wanted, got = parsed(expected), parsed(actual)
    if wanted is None or got is None:
        cut = TRUNCATED.search(expected)
        wanted = word_form(expected[: cut.start()] if cut else expected.rstrip("\r\n"))
        # Recordings kept the ends of lines as a line feed alone.
        got = word_form(actual.rstrip("\r\n").replace("\r\n", "\n"))
        if cut:
            got = got[: len(wanted)]
        return [] if wanted == got else [Difference("body", "body", expected, actual)]
    return list(value_differences("$", "", wanted, got, frozenset(free)))


def parsed(text):
    """JSON, or the list of JSON lines; None for anything else."""
    value = parse_json(text)
    if value is None and text.strip() != "null":
        lines = [line for line in text.split("\n") if line.strip()]
        values = [parse_json(line) for line in lines]
        return values if len(lines) > 1 and None not in values else None
    return value


def value_differences(at, key, expected, actual, free):
    if isinstance(expected, str) and expected in free:
        if not isinstance(actual, str):
            yield Difference("value", at, expected, actual)
        return
    if isinstance(expected, dict) and isinstance(actual, dict):
        yield from member_differences(at, expected, actual, free)
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from element_differences(at, key, expected, actual, free)
    elif form(key, expected) != form(key, actual):
        yield Difference("value" if same_kind(expected, actual) else "kind", at, expected, actual)


def same_kind(one, other):
    """Whether two values are both text, numbers, objects and so on; null goes with each of them."""
    if one is None or other is None or isinstance(one, bool) or isinstance(other, bool):
        return one is None or other is None or type(one) is type(other)
    numbers = (int, float)
    return type(one) is type(other) or isinstance(one, numbers) and isinstance(other, numbers)


def member_differences(at, expected, actual, free):
    expected = {word_form(key): value for key, value in expected.items()}
    actual = {word_form(key): value for key, value in actual.items()}
    for key, value in expected.items():
        if key == CUT:
            continue
        if key not in actual:
            yield Difference("missing", f"{at}.{key}", value)
        else:
            yield from value_differences(f"{at}.{key}", key, value, actual[key], free)
    if CUT not in expected:
        for key in actual.keys() - expected.keys():
            yield Difference("extra", f"{at}.{key}", None, actual[key])


def element_differences(at, key, expected, actual, free):
    is_cut = bool(expected) and expected[-1] == CUT
    # Of the element at the end of what was kept nobody knows what it was.
    wanted = expected[:-2] if is_cut and lost_something(expected[-2:-1]) else expected[: len(expected) - is_cut]
    if len(actual) < len(wanted) or (len(actual) > len(wanted) and not is_cut):
        yield Difference("length", at, len(wanted), f"{len(actual)}: {shown(actual)}")
    for position, (one, other) in enumerate(zip(wanted, actual)):
        yield from value_differences(f"{at}[{position}]", key, one, other, free)


def lost_something(value):
    if isinstance(value, dict):
        return CUT in value or any(lost_something(member) for member in value.values())
    return value == CUT or isinstance(value, list) and any(lost_something(element) for element in value)


def form(key, value):
    """A value without what no two servers share."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        if key in TIMES and TIME.match(value):
            return "<time not set>" if value.startswith(TIME_NOT_SET) else "<time>"
        if key in IDENTITIES:
            return "<identity>"
        if key in TRACES:
            return "<trace>"
        if key == "IndexName":
            return AUTOMATIC.sub(r"Auto/\1/By<fields>", value)
        if key == "ETag":
            return header_form(key, value)
        if key in NAMES and value.isdigit():
            return "<number>"
        if key == "@flags":
            return frozenset(value.split(", "))
        return word_form(value)
    if isinstance(value, (int, float)):
        if key in POSITIVE_NUMBERS and value <= 0:
            return value
        if key in NUMBERS or key in POSITIVE_NUMBERS:
            return "<number>"
        return value
    return json.dumps(value, sort_keys=True)


def word_form(text):
    for pattern, word in WORDS:
        text = pattern.sub(word, text)
    return text
