"""Hashes: fields one by one, many at once, random ones, and large ones."""

from harness import equal, pairs, raises, scenario


@scenario
def fields_are_set_read_and_removed(place):
    client = place.client
    equal(client.hset("h", "name", "Ada"), 1)
    equal(client.hset("h", mapping={"name": "Eve", "city": "London", "born": 1815}), 2)
    equal(client.hget("h", "name"), "Eve")
    equal(client.hmget("h", "city", "none", "born"), ["London", None, "1815"])
    equal(client.hgetall("h"), {"name": "Eve", "city": "London", "born": "1815"})
    equal(sorted(client.hkeys("h")), ["born", "city", "name"])
    equal(sorted(client.hvals("h")), ["1815", "Eve", "London"])
    equal(client.hlen("h"), 3)
    equal(client.hstrlen("h", "city"), 6)
    equal([bool(client.hexists("h", field)) for field in ("city", "none")], [True, False])
    equal([client.hsetnx("h", "city", "x"), client.hsetnx("h", "new", "x")], [0, 1])
    equal(client.hget("h", "city"), "London")
    equal(client.hdel("h", "name", "city", "none"), 2)
    equal(client.hdel("h", "born", "new"), 2)
    # Without its last field there is no hash.
    equal([client.exists("h"), client.type("h"), client.hgetall("h")], [0, "none", {}])


@scenario
def hashes_that_are_not_there_are_empty(place):
    client = place.client
    equal([client.hget("h", "f"), client.hlen("h"), client.hkeys("h")], [None, 0, []])
    equal([client.hdel("h", "f"), client.hstrlen("h", "f")], [0, 0])
    equal(client.hmget("h", "a", "b"), [None, None])
    equal(client.hrandfield("h"), None)
    equal(client.exists("h"), 0)
    with raises("wrong number of arguments for 'hset' command"):
        client.execute_command("HSET", "h", "a", "1", "b")


@scenario
def random_fields_are_different_unless_they_may_repeat(place):
    client = place.client
    fields = {f"f{number}": f"v{number}" for number in range(20)}
    client.hset("h", mapping=fields)
    assert client.hrandfield("h") in fields
    some = client.hrandfield("h", 7)
    equal(len(set(some)), 7)
    assert set(some) <= set(fields)
    equal(sorted(client.hrandfield("h", 100)), sorted(fields))
    repeated = pairs(client.hrandfield("h", -50, withvalues=True))
    equal(len(repeated), 50)
    assert all(fields[field] == value for field, value in repeated)
    equal(client.hrandfield("h", 0), [])


@scenario
def a_hash_may_have_many_fields(place):
    client = place.client
    fields = {f"field:{number}": "v" * (number % 90) for number in range(10_000)}
    equal(client.hset("h", mapping=fields), 10_000)
    equal(client.hgetall("h"), fields)
    gone = [f"field:{number}" for number in range(0, 10_000, 2)]
    equal(client.hdel("h", *gone), 5_000)
    for field in gone:
        del fields[field]
    equal(client.hgetall("h"), fields)
