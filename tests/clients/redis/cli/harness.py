"""Scenarios with redis-cli: commands in, what it prints and its exit status out.

A scenario is a function over a `Place`, marked with `@scenario`, on empty databases.
"""

import re
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlparse

sys.path.append(str(Path(__file__).parents[2] / "shared"))
from jackdaw import RedisServer  # noqa: E402, F401  scenarios import these from here
from running import equal, raises, run_scenarios, until  # noqa: E402, F401

PROGRAM = "redis-cli"
SECONDS_MAX = 50
# Printed behind a reply to a line of standard input that took half a second.
TIME_TAKEN = re.compile(r"(?m)^\(\d+\.\d+s\)\n?")

_scenarios = []


def scenario(function):
    _scenarios.append((function.__name__, function))
    return function


class Done:
    """What a run of redis-cli printed, and how it ended."""

    def __init__(self, completed):
        self.status = completed.returncode
        self.out, self.err = completed.stdout, completed.stderr

    def __repr__(self):
        return f"status {self.status}, output {self.out!r}, errors {self.err!r}"


class Place:
    """A server, and redis-cli as it is run against it."""

    def __init__(self, url):
        self.port = urlparse(url).port
        self.is_durable = "durable:1" in self.raw("INFO", "persistence")

    def run(self, *arguments, stdin="", port=None):
        """Runs redis-cli, text or bytes in and out; the end may be a failure."""
        completed = subprocess.run(
            self.command(*arguments, port=port),
            input=stdin,
            capture_output=True,
            encoding="utf-8" if isinstance(stdin, str) else None,
            timeout=SECONDS_MAX,
        )
        return Done(completed)

    def command(self, *arguments, port=None):
        return [PROGRAM, "-p", str(port or self.port), *map(str, arguments)]

    def raw(self, *words):
        """A command whose reply is printed as it is."""
        return self._well("--raw", *words)

    def shown(self, *words):
        """A command whose reply is printed as on a terminal, types and all."""
        return self._well("--no-raw", *words)

    def shown3(self, *words):
        """The same over RESP3."""
        return self._well("-3", "--no-raw", *words)

    def script(self, text, *arguments):
        """The replies to lines of commands on standard input."""
        printed = self._well("--no-raw", *arguments, stdin=text)
        return TIME_TAKEN.sub("", printed).removesuffix("\n")

    def _well(self, *arguments, stdin=""):
        done = self.run(*arguments, stdin=stdin)
        assert done.status == 0, done
        return done.out.removesuffix("\n")

    def talking(self):
        return Talking(self.command("--no-raw"))

    def listening(self, *words):
        return Listening(self.command(*words))


class Listening:
    """A redis-cli that goes on printing until it is ended."""

    def __init__(self, command, stdin=subprocess.DEVNULL):
        self.lines = []
        self.process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, text=True)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self.process.stdout:
            if not TIME_TAKEN.fullmatch(line):
                self.lines.append(line.rstrip("\n"))

    def until_lines(self, count):
        until(lambda: len(self.lines) >= count, f"{count} lines")
        return self.lines

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.process.kill()
        self.process.wait(timeout=20)
        self._thread.join(20)
        self.process.stdout.close()


class Talking(Listening):
    """A redis-cli that is told one line after another."""

    def __init__(self, command):
        super().__init__(command, subprocess.PIPE)

    def say(self, line, replies):
        """Sends a line of a command; goes on when there are so many lines of replies in all."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.until_lines(replies)[-1]

    def __exit__(self, *error):
        self.process.stdin.close()
        super().__exit__(*error)


def release():
    printed = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
    return re.search(r"\d+\.\d+\.\d+", printed).group(0)


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: main.py redis://127.0.0.1:PORT [PART OF A SCENARIO'S NAME]")
    if int(release().split(".")[0]) < 7:
        sys.exit(f"redis-cli 7 or later is needed, and this is {release()}: install a newer one")
    print(f"redis-cli {release()} against {sys.argv[1]}", flush=True)
    place = Place(sys.argv[1])

    def run(_number, function):
        equal(place.raw("FLUSHALL"), "OK")
        function(place)

    failed = run_scenarios(_scenarios, sys.argv[2] if len(sys.argv) > 2 else "", run)
    sys.exit(1 if failed else 0)
