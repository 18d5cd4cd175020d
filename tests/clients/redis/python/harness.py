"""Scenarios with redis-py: each over RESP2 and over RESP3, on empty databases.

A scenario is a function over a `Place`, marked with `@scenario`; every connection that it makes
through the place is closed behind it.
"""

import os
import sys
import threading
from pathlib import Path
from urllib.parse import urlparse

import redis

sys.path.append(str(Path(__file__).parents[2] / "shared"))
from jackdaw import RedisServer  # noqa: E402, F401  scenarios import these from here
from running import equal, raises, run_scenarios, until  # noqa: E402, F401

_scenarios = []


def scenario(function):
    _scenarios.append((function.__name__, function))
    return function


class Place:
    """A server, and the connections of one scenario to it."""

    def __init__(self, url, protocol):
        address = urlparse(url)
        self.host, self.port = address.hostname, address.port
        self.protocol = protocol
        self._clients = []
        self.client = self.connect()
        self.is_durable = self.client.info("persistence")["durable"] == 1

    def connect(self, **more):
        """A client with connections of its own, that decodes replies unless told otherwise."""
        options = {
            "host": self.host,
            "port": self.port,
            "protocol": self.protocol,
            "decode_responses": True,
            "socket_timeout": 30,
        }
        client = redis.Redis(**{**options, **more})
        self._clients.append(client)
        return client

    def session(self, **more):
        """Runs words on one connection, without what redis-py makes of replies."""
        connection = self.connect(single_connection_client=True, **more).connection

        def run(*words):
            connection.send_command(*words)
            return connection.read_response()

        return run

    def bytes_client(self):
        return self.connect(decode_responses=False)

    def waiting(self, command):
        """Runs `command` with a client of its own in a thread; goes on when the server holds it."""
        before = self._blocked()
        waiting = _Waiting(self.connect(), command)
        until(lambda: waiting.is_done() or self._blocked() > before, "the client waits")
        return waiting

    def _blocked(self):
        return self.client.info("clients")["blocked_clients"]

    def close(self):
        for client in self._clients:
            client.close()


class _Waiting:
    def __init__(self, client, command):
        self.client = client
        self._result = self._error = None
        self._thread = threading.Thread(target=self._run, args=(command,), daemon=True)
        self._thread.start()

    def _run(self, command):
        try:
            self._result = command(self.client)
        except redis.RedisError as error:
            self._error = error

    def is_done(self):
        return not self._thread.is_alive()

    def result(self):
        self._thread.join(20)
        assert self.is_done(), "the command still waits"
        if self._error is not None:
            raise self._error
        return self._result


class settings:
    """Changes settings of the server for a block, and puts them back behind it."""

    def __init__(self, client, **changed):
        self.client = client
        self.changed = {name.replace("_", "-"): value for name, value in changed.items()}

    def __enter__(self):
        self.before = {name: self.client.config_get(name)[name] for name in self.changed}
        for name, value in self.changed.items():
            self.client.config_set(name, value)

    def __exit__(self, *_error):
        for name, value in self.before.items():
            self.client.config_set(name, value)


def pairs(reply):
    """Members with their scores, or fields with their values, however the protocol nests them."""
    if any(isinstance(one, (list, tuple)) for one in reply):
        return [tuple(one) for one in reply]
    return list(zip(reply[::2], reply[1::2]))


def scored(reply):
    return [(member, float(score)) for member, score in pairs(reply)]


def mapping(reply):
    """A map of RESP3, which is a list of fields and values in RESP2."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: main.py redis://HOST:PORT [PART OF A SCENARIO'S NAME]")
    url = sys.argv[1]
    print(f"redis-py {redis.__version__} against {url}", flush=True)

    def over(protocol, function):
        def run():
            place = Place(url, protocol)
            try:
                place.client.flushall()
                function(place)
            finally:
                place.close()

        return run

    both = [
        (f"RESP{protocol}: {name}", over(protocol, function))
        for protocol in (2, 3)
        for name, function in _scenarios
    ]
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    failed = run_scenarios(both, only, lambda _number, function: function())
    sys.stdout.flush()
    # Threads of scenarios that failed may still wait for the server.
    os._exit(1 if failed else 0)
