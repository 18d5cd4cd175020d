"""Keys, databases, and what the server tells of itself."""

from harness import equal, scenario


@scenario
def keys_are_renamed_copied_and_deleted(place):
    place.raw("MSET", "a", "1", "b", "2")
    equal(place.shown("RENAME", "a", "c"), "OK")
    equal(place.shown("RENAMENX", "b", "c"), "(integer) 0")
    equal(place.shown("COPY", "b", "d"), "(integer) 1")
    equal(place.shown("EXISTS", "a", "b", "c", "d", "d"), "(integer) 4")
    equal(sorted(place.raw("KEYS", "[b-c]").split()), ["b", "c"])
    equal(place.shown("OBJECT", "ENCODING", "b"), '"int"')
    equal(
        [place.shown("DEL", "b", "none"), place.shown("UNLINK", "c", "d")],
        ["(integer) 1", "(integer) 2"],
    )
    equal(place.shown("DBSIZE"), "(integer) 0")
    equal(place.shown("RENAME", "a", "b"), "(error) ERR no such key")


@scenario
def databases_are_chosen_with_an_option(place):
    place.raw("SET", "k", "zero")
    equal(place.run("-n", "3", "SET", "k", "three").out, "OK\n")
    equal([place.raw("GET", "k"), place.run("-n", "3", "GET", "k").out], ["zero", "three\n"])
    equal(place.shown("SWAPDB", "0", "3"), "OK")
    equal(place.raw("GET", "k"), "three")
    equal(place.shown("MOVE", "k", "3"), "(integer) 0")
    wrong = place.run("-n", "16", "GET", "k")
    assert "SELECT 16 failed: ERR DB index is out of range" in wrong.err, wrong


@scenario
def settings_and_facts_are_printed(place):
    equal(place.raw("CONFIG", "GET", "timeout"), "timeout\n0")
    info = place.raw("INFO", "server")
    assert "redis_version:7." in info and f"tcp_port:{place.port}" in info, info
    place.raw("MSET", "a", "1", "b", "2")
    place.raw("EXPIRE", "a", "100")
    assert "db0:keys=2,expires=1" in place.raw("INFO", "keyspace")
    count = int(place.raw("COMMAND", "COUNT"))
    equal(len(place.raw("COMMAND", "LIST").split()), count)
    equal(place.shown("COMMAND", "GETKEYS", "MSET", "a", "1", "b", "2"), '1) "a"\n2) "b"')
    line = place.raw("CLIENT", "LIST")
    assert "cmd=client" in line and "resp=2" in line, line
