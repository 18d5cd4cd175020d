"""Keys and values of any bytes, and large ones."""

import hashlib

from harness import equal, raises, scenario, settings

EVERY = bytes(range(256))
MEBIBYTE = 1 << 20


@scenario
def keys_and_values_may_be_any_bytes(place):
    client = place.bytes_client()
    keys = [EVERY, b"", b"\r\n", b"$5\r\nhello\r\n", b"\xff\xfe", "schl\u00fcssel".encode(), b"\0"]
    for key in keys:
        equal(client.set(key, key + EVERY), True)
    equal(sorted(client.keys()), sorted(keys))
    equal(set(client.scan_iter()), set(keys))
    equal(client.mget(keys), [key + EVERY for key in keys])
    equal(client.rename(EVERY, b"\x01"), True)
    equal(client.get(b"\x01"), EVERY + EVERY)
    client.flushdb()
    client.hset(b"h", mapping={key: key for key in keys})
    equal(client.hgetall(b"h"), {key: key for key in keys})
    client.rpush(b"l", *keys)
    equal(client.lrange(b"l", 0, -1), keys)
    client.sadd(b"s", *keys)
    equal(client.smembers(b"s"), set(keys))
    client.zadd(b"z", dict.fromkeys(keys, 1))
    equal(client.zrange(b"z", 0, -1), sorted(keys))
    equal(client.echo(EVERY), EVERY)


@scenario
def empty_values_are_values(place):
    client = place.client
    client.set("text", "")
    client.hset("h", "", "")
    client.rpush("l", "")
    client.sadd("s", "")
    equal([client.get("text"), client.strlen("text"), client.exists("text")], ["", 0, 1])
    equal(
        [client.hgetall("h"), client.lrange("l", 0, -1), client.smembers("s")],
        [{"": ""}, [""], {""}],
    )
    equal(client.append("text", ""), 0)


@scenario
def a_value_of_64_mebibytes_comes_back_whole(place):
    client = place.bytes_client()
    value = hashlib.sha512(b"seed").digest() * MEBIBYTE
    equal(len(value), 64 * MEBIBYTE)
    equal(client.set("k", value), True)
    equal(client.strlen("k"), len(value))
    assert client.get("k") == value
    equal(client.getrange("k", 64 * 1000 - 1, 64 * 1000 + 1), value[63:64] + value[:2])
    equal(client.setrange("k", 5, b"changed"), len(value))
    equal(client.append("k", b"end"), len(value) + 3)
    changed = value[:5] + b"changed" + value[12:] + b"end"
    assert client.getdel("k") == changed
    equal(client.exists("k"), 0)


@scenario
def collections_of_large_elements_come_back_whole(place):
    client = place.bytes_client()
    elements = [bytes([number]) * MEBIBYTE for number in range(16)]
    client.rpush("l", *elements)
    assert client.lrange("l", 0, -1) == elements
    client.hset("h", mapping={b"f%d" % number: one for number, one in enumerate(elements)})
    assert client.hgetall("h") == {b"f%d" % number: one for number, one in enumerate(elements)}
    assert client.lpop("l", 3) == elements[:3]
    equal(client.llen("l"), 13)


@scenario
def what_is_longer_than_allowed_is_refused(place):
    client = place.client
    with settings(client, proto_max_bulk_len="1mb"):
        # The server does not read what follows the announced length, and closes the connection.
        with raises("invalid bulk length", "ConnectionError", "ConnectionResetError"):
            place.connect().set("k", "v" * (2 * MEBIBYTE))
        client.set("k", "v" * 1000)
        with raises("string exceeds maximum allowed size"):
            client.setrange("k", 2 * MEBIBYTE, "x")
        equal(client.strlen("k"), 1000)
    equal(client.set("k", "v" * (2 * MEBIBYTE)), True)
