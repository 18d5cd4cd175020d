"""Errors as they are printed, and exit statuses."""

from harness import equal, scenario

WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"


@scenario
def errors_are_printed_with_their_words(place):
    place.raw("SET", "text", "v")
    place.raw("RPUSH", "list", "a")
    for words in (
        ["LPUSH", "text", "x"],
        ["HGET", "list", "f"],
        ["GET", "list"],
        ["ZADD", "text", "1", "a"],
    ):
        equal(place.shown(*words), f"(error) {WRONG_TYPE}")
    equal(place.shown("GET"), "(error) ERR wrong number of arguments for 'get' command")
    unknown = "(error) ERR unknown command 'NOTHING', with args beginning with: 'a' 'b' "
    equal(place.shown("NOTHING", "a", "b"), unknown)
    equal(place.shown("SET", "k", "v", "PERHAPS"), "(error) ERR syntax error")
    assert "unknown subcommand" in place.shown("CLIENT", "NONSENSE")
    assert "unknown command 'EVAL'" in place.shown("EVAL", "return 1", "0")
    equal([place.raw("GET", "text"), place.raw("LRANGE", "list", "0", "-1")], ["v", "a"])


@scenario
def the_exit_status_tells_of_errors_when_it_is_asked_to(place):
    place.raw("SET", "text", "v")
    done = place.run("LPUSH", "text", "x")
    equal([done.status, done.out.strip()], [0, WRONG_TYPE])
    done = place.run("-e", "LPUSH", "text", "x")
    equal([done.status, done.out, done.err.strip()], [1, "", WRONG_TYPE])
    equal(place.run("-e", "GET", "text").status, 0)
    equal(place.run("-e", "GET", "absent").status, 0)


@scenario
def where_nobody_serves_it_ends_with_an_error(place):
    done = place.run("PING", port=1)
    equal(done.status, 1)
    assert "Could not connect" in done.err, done
