"""State that an exchange does not tell of itself: `fixtures.json`, and index definitions from the recordings.

An entry of `fixtures.json` is for the exchanges whose text its `where` (a regular expression) finds, and holds some
of: `documents` by id, `without` (ids of earlier entries that are not there), `indexes`, `series`
(`[id, name, entries]`), `counters` (`[id, name, value]`), `values` (compare-exchange values by key), `requests`
(`[method, path below the database, body]`). Later entries add to earlier ones.

What stays true: an entry that no exchange uses is reported as stale by `main.py`.
"""

import json
import re
from pathlib import Path

from state import seeds

DEFINES = re.compile(r"PUT /databases/\{db\}/(admin/)?indexes\Z")
OWN = Path(__file__).with_name("fixtures.json")


class Fixtures:
    def __init__(self, areas):
        self.entries = json.loads(OWN.read_text(encoding="utf-8"))
        for entry in self.entries:
            entry["pattern"] = re.compile(entry["where"], re.DOTALL)
            entry["used"] = False
        self.definitions = {}
        for exchange in (one for exchanges in areas.values() for one in exchanges):
            self.note_definitions(exchange)

    def note_definitions(self, exchange):
        """Keeps what recordings define or list, by name."""
        if DEFINES.match(exchange.route) and exchange.status == 201:
            found = (exchange.asked() or {}).get("Indexes", [])
        elif exchange.route == "GET /databases/{db}/indexes":
            found = (exchange.answered() or {}).get("Results", [])
        else:
            return
        for one in found:
            if isinstance(one, dict) and one.get("Maps") and "\u2026cut" not in one:
                kept = {key: value for key, value in one.items() if value is not None}
                self.definitions.setdefault(one["Name"].lower(), []).append(kept)

    def of(self, exchange):
        for entry in self.entries:
            if entry["pattern"].search(exchange.text):
                entry["used"] = True
                yield entry

    def documents(self, exchange):
        """Documents by id, marked with the order in which they were written."""
        found = {}
        for entry in self.of(exchange):
            for identifier, document in entry.get("documents", {}).items():
                order = f"A:{len(found) + 1}-"
                found[identifier] = {
                    **document,
                    "@metadata": {**document.get("@metadata", {}), "@change-vector": order},
                }
            for identifier in entry.get("without", []):
                found.pop(identifier, None)
        return found

    def definition(self, name, fields, exchange):
        """The definition of this name that knows most of the fields a query uses; None when there is none."""
        for entry in self.of(exchange):
            for one in entry.get("indexes", []):
                if one["Name"].lower() == name.lower():
                    return one
        candidates = self.definitions.get(name.lower(), [])
        wanted = set(fields)

        def known(definition):
            text = json.dumps(definition)
            return sum(1 for field in wanted if re.search(rf"\b{re.escape(field)}\b", text))

        best = max(candidates, key=known, default=None)
        return best if best is not None and (known(best) or not wanted) else None

    def apply(self, stage, exchange, besides=()):
        """Makes what the entries hold besides documents; and documents that are not in `besides`."""
        present = {identifier.lower() for identifier in besides}
        missing = {
            identifier: document
            for identifier, document in self.documents(exchange).items()
            if identifier.lower() not in present and not stage.has(identifier)
        }
        seeds.seed(stage, missing)
        for entry in self.of(exchange):
            for identifier, name, value in entry.get("counters", []):
                stage.counter(identifier, name, value)
            for identifier, name, entries in entry.get("series", []):
                stage.series(identifier, name, entries)
            for key, value in entry.get("values", {}).items():
                stage.compare_exchange(key, value)
            for method, path, body in entry.get("requests", []):
                stage.must(method, path, body)

    def disable(self, stage):
        body = {"DatabaseNames": [stage.name("db1")]}
        stage.must("POST", "/admin/databases/disable", body, database=None)

    def stale(self):
        return [f"fixtures.json: {entry['where']}" for entry in self.entries if not entry["used"]]
