"""Keys whatever they hold: names, copies, databases, what they are."""

from harness import equal, raises, scenario, scored

VALUES = {
    "string": lambda client, key: client.set(key, "v"),
    "list": lambda client, key: client.rpush(key, "a", "b"),
    "hash": lambda client, key: client.hset(key, mapping={"f": "1", "g": "2"}),
    "set": lambda client, key: client.sadd(key, "a", "b"),
    "zset": lambda client, key: client.zadd(key, {"a": 1, "b": 2}),
}


def held(client, key):
    """What a key holds, in a form that can be compared."""
    return {
        "none": lambda: None,
        "string": lambda: client.get(key),
        "list": lambda: client.lrange(key, 0, -1),
        "hash": lambda: client.hgetall(key),
        "set": lambda: client.smembers(key),
        "zset": lambda: scored(client.zrange(key, 0, -1, withscores=True)),
    }[client.type(key)]()


@scenario
def keys_of_every_type_are_renamed_and_copied(place):
    client = place.client
    for kind, make in VALUES.items():
        make(client, "k")
        value = held(client, "k")
        equal(client.type("k"), kind)
        equal(client.rename("k", "renamed"), True)
        equal([client.exists("k"), held(client, "renamed")], [0, value])
        equal(client.copy("renamed", "copied"), True)
        equal([held(client, "renamed"), held(client, "copied")], [value, value])
        client.delete("renamed")
        equal(held(client, "copied"), value)
        equal(client.copy("absent", "copied", replace=True), False)
        client.set("taken", "x")
        equal(client.copy("copied", "taken"), False)
        equal(client.renamenx("copied", "taken"), False)
        equal(client.copy("copied", "taken", replace=True), True)
        equal(held(client, "taken"), value)
        equal(client.renamenx("copied", "free"), True)
        # The new name hides what was there.
        equal(client.rename("free", "taken"), True)
        equal(held(client, "taken"), value)
        client.flushdb()
    with raises("no such key"):
        client.rename("absent", "k")
    client.set("k", "v")
    equal([client.rename("k", "k"), client.renamenx("k", "k"), client.get("k")], [True, False, "v"])
    with raises("source and destination objects are the same"):
        client.copy("k", "k")


@scenario
def a_copy_of_a_collection_is_one_of_its_own(place):
    client = place.client
    client.rpush("l", "a")
    client.copy("l", "m")
    client.rpush("m", "b")
    client.lset("l", 0, "x")
    equal([client.lrange("l", 0, -1), client.lrange("m", 0, -1)], [["x"], ["a", "b"]])


@scenario
def keys_are_found_by_pattern(place):
    client = place.client
    names = ["hello", "hallo", "hxllo", "heello", "h*llo", "h[llo", "h\\llo", ""]
    client.mset(dict.fromkeys(names, "v"))
    for pattern, expected in [
        ("h?llo", ["hallo", "hello", "hxllo", "h*llo", "h[llo", "h\\llo"]),
        ("h*llo", ["hallo", "heello", "hello", "hxllo", "h*llo", "h[llo", "h\\llo"]),
        ("h[ae]llo", ["hallo", "hello"]),
        ("h[^e]llo", ["hallo", "hxllo", "h*llo", "h[llo", "h\\llo"]),
        ("h[a-e]llo", ["hallo", "hello"]),
        ("h\\*llo", ["h*llo"]),
        ("h\\[llo", ["h[llo"]),
        ("nothing", []),
        ("*", names),
    ]:
        equal(sorted(client.keys(pattern)), sorted(expected))


@scenario
def keys_are_counted_touched_and_deleted(place):
    client = place.client
    client.mset({"a": "1", "b": "2", "c": "3"})
    equal(client.exists("a", "b", "none", "a"), 3)
    equal(client.touch("a", "none", "c"), 2)
    equal(client.dbsize(), 3)
    assert client.randomkey() in ("a", "b", "c")
    equal([client.delete("a", "none"), client.unlink("b", "none"), client.dbsize()], [1, 1, 1])
    equal([client.type("a"), client.randomkey()], ["none", "c"])
    equal(client.flushall(asynchronous=True), True)
    equal([client.dbsize(), client.randomkey()], [0, None])


@scenario
def databases_are_apart(place):
    client = place.client
    other = place.connect(db=3)
    client.set("k", "zero")
    other.set("k", "three")
    equal([client.get("k"), other.get("k")], ["zero", "three"])
    equal(client.move("k", 3), False)
    other.delete("k")
    client.expire("k", 100)
    equal([client.move("k", 3), client.exists("k"), other.get("k")], [True, 0, "zero"])
    assert 90 < other.ttl("k") <= 100
    equal(other.copy("k", "copied", destination_db=0), True)
    equal(client.get("copied"), "zero")
    equal(client.swapdb(0, 3), True)
    equal([client.keys(), other.keys()], [["k"], ["copied"]])
    client.flushdb()
    equal([client.dbsize(), other.dbsize()], [0, 1])
    with raises("DB index is out of range"):
        client.select(16)
    with raises("invalid DB index"):
        client.select("x")
    with raises("source and destination objects are the same"):
        client.move("k", 0)


@scenario
def how_a_value_is_held_is_told(place):
    client = place.client
    client.mset({"int": "12", "short": "a" * 44, "long": "a" * 4500})
    for kind, make in VALUES.items():
        make(client, kind)
    encodings = {
        "int": "int",
        "short": "embstr",
        "long": "raw",
        "hash": "hashtable",
        "list": "quicklist",
        "set": "hashtable",
        "zset": "skiplist",
    }
    for key, encoding in encodings.items():
        equal(client.object("encoding", key), encoding)
        equal(client.object("refcount", key), 1)
        assert 0 <= client.object("idletime", key) <= 30
        assert client.memory_usage(key) > 0
    assert client.memory_usage("long") > client.memory_usage("short") >= 44
    equal([client.object("encoding", "absent"), client.memory_usage("absent")], [None, None])
