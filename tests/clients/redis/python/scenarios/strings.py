"""Strings: conditions of SET, parts, many at once, what two have in common."""

from harness import equal, mapping, raises, scenario


@scenario
def set_keeps_its_conditions_and_gives_the_old_value(place):
    client = place.client
    equal(client.set("k", "one"), True)
    equal(client.set("k", "two", nx=True), None)
    equal(client.set("absent", "x", xx=True), None)
    equal(client.exists("absent"), 0)
    equal(client.set("k", "two", xx=True, get=True), "one")
    equal(client.set("fresh", "1", nx=True, get=True), None)
    equal(client.get("fresh"), "1")
    equal(client.getset("k", "three"), "two")
    equal(client.setnx("k", "four"), False)
    equal(client.getdel("k"), "three")
    equal(client.get("k"), None)
    equal(client.getdel("k"), None)
    client.rpush("list", "a")
    with raises("WRONGTYPE"):
        client.set("list", "x", get=True)
    equal(client.lrange("list", 0, -1), ["a"])
    equal(client.set("list", "x"), True)
    equal(client.get("list"), "x")


@scenario
def parts_of_strings_are_read_and_written(place):
    client = place.client
    client.set("text", "Hello World")
    for start, stop, expected in [
        (0, 4, "Hello"),
        (-5, -1, "World"),
        (5, 2, ""),
        (6, 100, "World"),
        (-100, 1, "He"),
        (50, 60, ""),
    ]:
        equal(client.getrange("text", start, stop), expected)
    equal(client.substr("text", 0, 1), "He")
    equal(client.setrange("text", 6, "Redis"), 11)
    equal(client.get("text"), "Hello Redis")
    equal(client.append("text", "!"), 12)
    equal(client.strlen("text"), 12)
    equal(client.append("begun", "ab"), 2)
    equal(client.append("begun", "c" * 100), 102)
    equal(client.get("begun"), "ab" + "c" * 100)
    equal(client.setrange("padded", 3, "x"), 4)
    equal(place.bytes_client().get("padded"), b"\0\0\0x")
    equal(client.setrange("none", 5, ""), 0)
    equal(client.exists("none"), 0)
    equal(client.strlen("none"), 0)
    with raises("offset is out of range"):
        client.setrange("text", -1, "x")


@scenario
def many_strings_are_set_and_read_at_once(place):
    client = place.client
    values = {f"k{number}": str(number) for number in range(500)}
    equal(client.mset(values), True)
    equal(client.mget(list(values)), list(values.values()))
    client.rpush("list", "a")
    equal(client.mget("k1", "absent", "list"), ["1", None, None])
    # All of them, or none.
    equal(client.msetnx({"new": "1", "k1": "2"}), False)
    equal(client.mget("new", "k1"), [None, "1"])
    equal(client.msetnx({"new": "1", "newer": "2"}), True)
    equal(client.mget("new", "newer"), ["1", "2"])


@scenario
def the_longest_common_subsequence_is_found(place):
    client = place.client
    client.mset({"a": "ohmytext", "b": "mynewtext"})
    equal(client.lcs("a", "b"), "mytext")
    equal(client.lcs("a", "b", len=True), 6)
    found = mapping(client.lcs("a", "b", idx=True, minmatchlen=4, withmatchlen=True))
    equal(found, {"matches": [[[4, 7], [5, 8], 4]], "len": 6})
    equal(client.lcs("a", "absent"), "")
