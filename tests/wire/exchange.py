"""One recorded exchange: a request, and the answer that the protocol gives to it.

Read from JSON lines (`catalogue/*.jsonl`, one file an area) or from Markdown with one fenced `http` block an
exchange: request line, headers, blank line, body, `--> status`, headers, blank line, body. `main.py` replays
them, `convert.py` makes the JSON lines.

What stays true: an answer that ends in a truncation mark keeps everything in front of the mark, and says so.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

# How a recording tells that it is not whole.
TRUNCATED = re.compile(r"\u2026\[truncated, \d+ bytes in all\]\s*\Z")
NOT_KEPT = re.compile(r"\A\[(?:not reproduced|binary), (\d+) bytes")
# A long run of one character is written once, with its length.
REPEATED = re.compile(r"(.)\1*\u2026\[(\d+) times\]")
HEADER = re.compile(r"\A([A-Za-z][A-Za-z0-9-]*): ?(.*)\Z")
BLOCK = re.compile(r"^```http\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Where a truncated object or array ends; never a key or an element of a real answer.
CUT = "\u2026cut"


@dataclass
class Exchange:
    """One request and its recorded answer; `number` counts from 1 in the file of its area."""

    area: str
    number: int
    method: str
    target: str
    headers: dict = field(default_factory=dict)
    body: str = ""
    status: int = 0
    answer_headers: dict = field(default_factory=dict)
    answer: str = ""

    @property
    def name(self):
        return f"{self.area}/{self.number:03}"

    @property
    def path(self):
        return self.target.partition("?")[0]

    @property
    def route(self):
        """Method and path, with the database's name left out."""
        return f"{self.method} " + re.sub(r"\A/databases/[^/]+(?=/)", "/databases/{db}", self.path)

    @property
    def text(self):
        """Everything that a rule of `differences.json` and `fixtures.json` may look for."""
        answer = self.answer if len(self.answer) < 20_000 else self.answer[:20_000]
        return f"{self.name} {self.method} {self.target}\n{self.body}\n--> {self.status}\n{answer}"

    @property
    def is_whole(self):
        return not TRUNCATED.search(self.answer)

    def asked(self):
        """The request's body as JSON; None when it is none. Of a truncated one what is there."""
        return without_cut(parse_json(self.body))

    @property
    def sent_body(self):
        """The body to send: the recorded one, or of a truncated one what is there."""
        if isinstance(self.body, str) and TRUNCATED.search(self.body) and self.asked() is not None:
            return json.dumps(self.asked(), ensure_ascii=False)
        return self.body

    def answered(self):
        """The answer as JSON, closed where it was cut; None when it is none. Lines of JSON become `Results`."""
        value = parse_json(self.answer)
        if value is None and self.answer.startswith("{"):
            lines = [parse_json(line) for line in self.answer.split("\n") if line.strip()]
            return {"Results": [line.get("Item", line) for line in lines if isinstance(line, dict)]}
        return value


def parse_json(text):
    """The value of a JSON text. A truncated one is closed, and `CUT` stands where something is missing."""
    cut = TRUNCATED.search(text)
    try:
        return json.loads(closed(text[: cut.start()]) if cut else text)
    except ValueError:
        return None


def closed(text):
    """A JSON text that ends anywhere, made whole: the token at its end is dropped, what is open is closed."""
    open_brackets = []
    safe_end, safe_brackets = 0, []
    in_string = escaped = False
    for position, character in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "{[":
            open_brackets.append(character)
            safe_end, safe_brackets = position + 1, list(open_brackets)
        elif character in "}]":
            open_brackets.pop()
            safe_end, safe_brackets = position + 1, list(open_brackets)
        elif character == ",":
            safe_end, safe_brackets = position, list(open_brackets)
    whole = text[:safe_end]
    for bracket in reversed(safe_brackets):
        comma = "" if whole[-1] in "{[" else ","
        mark = json.dumps(CUT)
        whole += f"{comma}{mark}: true}}" if bracket == "{" else f"{comma}{mark}]"
    return whole


def without_cut(value):
    """A value without the marks of `closed`; elements that lost members are left out."""
    if isinstance(value, dict):
        return {key: without_cut(member) for key, member in value.items() if key != CUT}
    if isinstance(value, list):
        return [without_cut(one) for one in value if one != CUT and not is_cut_itself(one)]
    return value


def is_cut_itself(value):
    """Whether the cut goes through this object, and not through one inside it."""
    if not isinstance(value, dict) or CUT not in value:
        return False
    return not any(isinstance(member, (dict, list)) and CUT in member for member in value.values())


def load(folder):
    """The exchanges of a folder, by area: its JSON lines, or its Markdown when it has none."""
    folder = Path(folder)
    areas = {}
    for path in sorted(folder.glob("*.jsonl")):
        areas[path.stem] = [from_line(path.stem, n, line) for n, line in numbered(path)]
    if not areas:
        for path in sorted(folder.glob("*.md")):
            areas[path.stem] = from_markdown(path.stem, path.read_text(encoding="utf-8"))
    return {area: exchanges for area, exchanges in areas.items() if exchanges}


def numbered(path):
    return enumerate(filter(None, path.read_text(encoding="utf-8").split("\n")), start=1)


def from_markdown(area, text):
    blocks = [block for block in BLOCK.findall(text) if "\n--> " in block]
    return [from_block(area, number, block) for number, block in enumerate(blocks, start=1)]


def from_block(area, number, block):
    request, _, answer = block.rstrip("\n").partition("\n--> ")
    line, _, rest = request.partition("\n")
    method, _, target = line.partition(" ")
    headers, body = headers_and_body(rest)
    status, _, rest = answer.partition("\n")
    answer_headers, answer_body = headers_and_body(rest)
    return Exchange(
        area,
        number,
        method,
        repeated(target),
        headers,
        repeated(body),
        int(status),
        answer_headers,
        repeated(answer_body),
    )


def headers_and_body(text):
    """Header lines up to a blank line, then the body."""
    headers = {}
    lines = text.split("\n")
    while lines and (match := HEADER.match(lines[0])):
        headers[match[1]] = match[2]
        lines.pop(0)
    if lines and lines[0] == "":
        lines.pop(0)
    return headers, "\n".join(lines)


def repeated(text):
    return REPEATED.sub(lambda match: match[1] * int(match[2]), text)


def from_line(area, number, line):
    """From a line of `catalogue`; a body is kept as JSON where that loses nothing."""
    kept = json.loads(line)
    method, _, target = kept["request"].partition(" ")
    return Exchange(
        area,
        number,
        method,
        target,
        kept.get("headers", {}),
        body_text(kept, "body"),
        kept["status"],
        kept.get("answer headers", {}),
        body_text(kept, "answer"),
    )


def body_text(kept, key):
    if key in kept:
        return json.dumps(kept[key], ensure_ascii=False, separators=(",", ":"))
    return kept.get(f"{key} text", "")


def to_line(exchange):
    """The line of `catalogue` that `from_line` reads back."""
    kept = {"request": f"{exchange.method} {exchange.target}"}
    if exchange.headers:
        kept["headers"] = exchange.headers
    keep_body(kept, "body", exchange.body)
    kept["status"] = exchange.status
    if exchange.answer_headers:
        kept["answer headers"] = exchange.answer_headers
    keep_body(kept, "answer", exchange.answer)
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


def keep_body(kept, key, text):
    if not text:
        return
    try:
        kept[key] = json.loads(text, object_pairs_hook=without_duplicates, parse_constant=refuse)
    except ValueError:
        kept[f"{key} text"] = text


def without_duplicates(pairs):
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")
