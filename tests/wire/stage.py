"""A server to play an exchange on: databases of its own, and what has to lie in them beforehand.

`Stage` speaks the protocol that it prepares for: documents are put, counters raised, indexes defined, each by the
request a client would send. `state` decides what is needed; `main.py` sends the exchange itself.

What stays true: every stage has database names that no other one has, so stages may run side by side.
"""

import base64
import hashlib
import http.client
import itertools
import json
import random
import re
import time
from urllib.parse import quote, urlsplit

# Longest time for an answer; a server that hangs is told by the exchange that it hangs at.
ANSWER_SECONDS = 60
# Waiting for an index or an operation.
WAIT_SECONDS = 15
POLL_SECONDS = 0.05
DATABASE = re.compile(r"\bdb(\d)\b")
CHANGE_VECTOR = re.compile(r"(?:[A-Z]+:\d+-[A-Za-z0-9+/]{22}(?:, ?)?)+")
# What the server writes into metadata itself.
WRITTEN_BY_SERVER = {
    "@id", "@change-vector", "@last-modified", "@flags", "@counters", "@timeseries", "@attachments", "@index-score",
    "@counters-snapshot", "@timeseries-snapshot", "@attachments-snapshot", "@projection",
}  # fmt: skip
_numbers = itertools.count(1)


class Answer:
    """Status, headers with names in lower case, and the body as bytes."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    @property
    def json(self):
        return json.loads(self.body)


class Refused(Exception):
    """The server did not take a request that prepares an exchange."""


class Stage:
    def __init__(self, url):
        self.address = urlsplit(url)
        self.mark = f"w{next(_numbers):05}"
        self.connection = None
        # Recorded values that nobody can produce again; see `compare.differences`.
        self.free = set()
        # Names of the databases that were made, to be deleted in the end.
        self.made = set()

    def name(self, recorded):
        """The name that a recorded database has here."""
        return self.mark + recorded

    def outgoing(self, text):
        return DATABASE.sub(lambda match: self.mark + match[0], text)

    def incoming(self, text):
        return text.replace(self.mark, "")

    def send(self, method, target, body=None, headers=None):
        """Sends a request as it is. A body of another type than bytes or text is sent as JSON."""
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body, ensure_ascii=False)
        if isinstance(body, str):
            body = body.encode("utf-8")
        target = quote(target, safe="!#$%&'()*+,/:;=?@[]^_`{|}~-.")
        headers = {"Content-Type": "application/json", **(headers or {})}
        if self.connection is None:
            address = (self.address.hostname, self.address.port)
            self.connection = http.client.HTTPConnection(*address, timeout=ANSWER_SECONDS)
        self.connection.request(method, target, body, headers)
        reply = self.connection.getresponse()
        names = {name.lower(): value for name, value in reply.getheaders()}
        return Answer(reply.status, names, reply.read())

    def must(self, method, path, body=None, headers=None, database="db1"):
        """Sends a request that prepares: `path` is below the database."""
        target = f"/databases/{self.name(database)}{path}" if database else path
        answer = self.send(method, target, body, headers)
        if answer.status >= 400:
            raise Refused(f"{method} {path}: {answer.status} {answer.text[:300]}")
        return answer

    def create(self, database="db1"):
        name = self.name(database)
        record = {"DatabaseName": name, "Settings": {}}
        self.must("PUT", f"/admin/databases?name={name}&replicationFactor=1", record, database=None)
        self.made.add(name)

    def close(self, also=()):
        names = sorted(self.made | {self.name(name) for name in also})
        if names:
            self.send("POST", "/admin/databases/set-lock", {"DatabaseNames": names, "Mode": "Unlock"})
            self.send("DELETE", "/admin/databases", {"DatabaseNames": names, "HardDelete": True})
        if self.connection is not None:
            self.connection.close()

    # Documents, and what lies beside them.

    def put(self, identifier, document, in_cluster=False):
        if in_cluster:
            command = {"Type": "PUT", "Id": identifier, "ChangeVector": None, "Document": document}
            self.must("POST", "/bulk_docs", {"Commands": [command], "TransactionMode": "ClusterWide"})
        else:
            self.must("PUT", f"/docs?id={quote(identifier, safe='')}", document)

    def has(self, identifier):
        return self.send("GET", self.below(f"/docs?id={quote(identifier, safe='')}")).status == 200

    def below(self, path, database="db1"):
        return f"/databases/{self.name(database)}{path}"

    def change_vector(self, identifier):
        """The document's change vector; None when it is not there."""
        answer = self.send("GET", self.below(f"/docs?id={quote(identifier, safe='')}&metadataOnly=true"))
        if answer.status != 200:
            return None
        return answer.json["Results"][0]["@metadata"]["@change-vector"]

    def counter(self, identifier, name, value):
        operation = {"Type": "Increment", "CounterName": name, "Delta": value}
        body = {"Documents": [{"DocumentId": identifier, "Operations": [operation]}]}
        self.must("POST", "/counters", body)

    def series(self, identifier, name, entries):
        """Appends entries: `Timestamp`, `Values`, and perhaps `Tag`."""
        kept = [{key: entry.get(key) for key in ("Timestamp", "Values", "Tag")} for entry in entries]
        kind = "Increments" if name.upper().startswith("INC:") else "Appends"
        if kind == "Increments":
            kept = [{key: entry[key] for key in ("Timestamp", "Values")} for entry in kept]
        target = f"/timeseries?docId={quote(identifier, safe='')}"
        self.must("POST", target, {"Name": name, kind: kept})

    def attachment(self, identifier, name, hash_text=None, kind="", size=3):
        contents = self.contents(hash_text, size)
        target = f"/attachments?id={quote(identifier, safe='')}&name={quote(name, safe='')}"
        if kind:
            target += f"&contentType={quote(kind, safe='')}"
        self.must("PUT", target, contents)

    def contents(self, hash_text, size):
        """Contents with this hash, where they are known; otherwise others of that size, and a free hash."""
        if hash_text in KNOWN_CONTENTS:
            return KNOWN_CONTENTS[hash_text]
        if hash_text:
            self.free.add(hash_text)
        return random.Random(size).randbytes(size)

    def compare_exchange(self, key, value):
        """Puts a value that was not there; gives its index."""
        answer = self.must("PUT", f"/cmpxchg?key={quote(key, safe='')}&index=0", value)
        return answer.json["Index"]

    def revision(self, identifier):
        command = {"Type": "ForceRevisionCreation", "Id": identifier}
        self.must("POST", "/bulk_docs", {"Commands": [command]})

    # Indexes and operations.

    def index(self, definition):
        self.must("PUT", "/admin/indexes", {"Indexes": [definition]})

    def wait_for_indexes(self):
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            indexes = self.must("GET", "/stats").json["Indexes"]
            if not any(index["IsStale"] and index["State"] != "Error" for index in indexes):
                return
            time.sleep(POLL_SECONDS)
        raise Refused("an index stayed stale")

    def wait_for_operation(self, number):
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            state = self.must("GET", f"/operations/state?id={number}").json
            if state["Status"] != "InProgress":
                return
            time.sleep(POLL_SECONDS)
        raise Refused("an operation did not end")


def hash_of(contents):
    """The hash of an attachment: BLAKE2b with 256 bits, in base64."""
    return base64.b64encode(hashlib.blake2b(contents, digest_size=32).digest()).decode()


def _known():
    ups = [bytes(range(1, count + 1)) for count in range(1, 12)]
    tens = [bytes(range(10, 10 * count + 1, 10)) for count in range(1, 6)]
    runs = [bytes([start, start + 1, start + 2]) for start in range(60)]
    texts = [b"hello", b"hello2", b"0b1110101101111001110010000100", b"\x01", b"123", b"file1", b"x"]
    every = [b"", *texts, *ups, *(run[::-1] for run in ups), *tens, *(run[::-1] for run in tens), *runs]
    return {hash_of(contents): contents for contents in every}


KNOWN_CONTENTS = _known()
