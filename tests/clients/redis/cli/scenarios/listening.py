"""Subscribing, over RESP2 and RESP3."""

from harness import equal, scenario, until


def heard(place, channels=(), patterns=0):
    counts = place.raw("PUBSUB", "NUMSUB", *channels).split()[1::2] if channels else []
    return all(count != "0" for count in counts) and place.raw("PUBSUB", "NUMPAT") == str(patterns)


@scenario
def messages_of_channels_are_printed(place):
    for options in ([], ["-3"]):
        with place.listening(*options, "SUBSCRIBE", "news", "weather") as listening:
            listening.until_lines(6)
            equal(listening.lines, ["subscribe", "news", "1", "subscribe", "weather", "2"])
            equal(place.shown("PUBLISH", "news", "hello world"), "(integer) 1")
            equal(place.shown("PUBLISH", "weather", "rain"), "(integer) 1")
            expected = ["message", "news", "hello world", "message", "weather", "rain"]
            equal(listening.until_lines(12)[6:], expected)
        until(lambda: place.raw("PUBSUB", "CHANNELS") == "", "nobody listens any more")
        equal(place.shown("PUBLISH", "news", "x"), "(integer) 0")


@scenario
def messages_of_patterns_are_printed(place):
    with place.listening("PSUBSCRIBE", "n[ae]ws*") as listening:
        until(lambda: heard(place, patterns=1), "it listens")
        place.raw("PUBLISH", "news:today", "a")
        place.raw("PUBLISH", "weather", "b")
        place.raw("PUBLISH", "naws", "c")
        expected = ["pmessage", "n[ae]ws*", "news:today", "a", "pmessage", "n[ae]ws*", "naws", "c"]
        equal(listening.until_lines(11)[3:], expected)


@scenario
def a_listener_that_is_closed_ends_with_an_error(place):
    with place.listening("SUBSCRIBE", "news") as listening:
        until(lambda: heard(place, ["news"]), "it listens")
        assert "flags=P" in place.raw("CLIENT", "LIST", "TYPE", "pubsub")
        equal(place.shown("CLIENT", "KILL", "TYPE", "pubsub"), "(integer) 1")
        equal(listening.process.wait(timeout=20), 1)
