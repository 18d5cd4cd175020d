"""Runs scenarios and tells how they went: a line for each, and `N passed, N failed` at the end.

Every suite in Python uses it through a harness of its own, which makes what a scenario works with.
Nothing is skipped: a scenario passes or fails.
"""

import signal
import time
import traceback

# Longest time of one scenario; the usual one takes a fraction of a second.
SECONDS_MAX = 60


class TookTooLong(Exception):
    """No `TimeoutError`, which clients of networks take for one of theirs and try again."""


class raises:
    """Asserts that a block raises an error whose class name or text holds one of the given words."""

    def __init__(self, *words):
        self.words = words

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _traceback):
        assert error is not None, f"nothing was raised, expected one of {self.words}"
        text = f"{kind.__name__}: {error}"
        if not any(word in text for word in self.words):
            return False  # the unexpected error itself says more
        self.error = error
        return True


def equal(actual, expected):
    assert actual == expected, f"expected {shortened(expected)}, got {shortened(actual)}"


def shortened(value):
    text = repr(value)
    return text if len(text) <= 2000 else f"{text[:2000]}... ({len(text)} characters)"


def until(condition, what):
    """Waits for a condition that others bring about, but not forever; gives its value."""
    deadline = time.monotonic() + SECONDS_MAX / 3
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {SECONDS_MAX // 3} s: {what}"
        time.sleep(0.002)


def run_scenarios(scenarios, only, run):
    """Runs those of the pairs of name and function whose name holds `only`, each by `run` with its
    number and function; gives the number of failed ones."""
    only = only.replace("_", " ")
    named = [(name.replace("_", " "), function) for name, function in scenarios]
    chosen = [(name, function) for name, function in named if only in name]
    failed = 0
    for number, (name, function) in enumerate(chosen):
        started = time.monotonic()
        error = _error_of(run, number, function)
        seconds = time.monotonic() - started
        if error is None:
            print(f"ok      {seconds:6.2f} s  {name}", flush=True)
        else:
            failed += 1
            print(f"FAILED  {seconds:6.2f} s  {name}\n{error}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed", flush=True)
    return failed


def _error_of(run, number, function):
    def too_long(_signal, _frame):
        raise TookTooLong(f"took longer than {SECONDS_MAX} s")

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(SECONDS_MAX)
    try:
        run(number, function)
    except Exception:  # whatever a scenario raises is its failure, and the next one runs
        return traceback.format_exc()
    finally:
        signal.alarm(0)
    return None
