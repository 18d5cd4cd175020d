"""Lists: both ends, the middle, and from one to another. Waiting for elements is in `blocking`."""

from harness import equal, raises, scenario


@scenario
def both_ends_of_a_list_are_pushed_and_popped(place):
    client = place.client
    equal(client.rpush("l", "c", "d"), 2)
    equal(client.lpush("l", "b", "a"), 4)
    equal(client.lrange("l", 0, -1), ["a", "b", "c", "d"])
    equal([client.lpop("l"), client.rpop("l")], ["a", "d"])
    equal(client.lpop("l", 5), ["b", "c"])
    # Without its last element there is no list.
    equal([client.exists("l"), client.llen("l")], [0, 0])
    equal([client.lpop("l"), client.rpop("l", 2)], [None, None])
    equal([client.lpushx("l", "x"), client.rpushx("l", "x")], [0, 0])
    client.rpush("l", "m")
    equal([client.lpushx("l", "l"), client.rpushx("l", "n")], [2, 3])
    with raises("value is out of range, must be positive"):
        client.lpop("l", -1)


@scenario
def elements_are_read_changed_and_removed_by_place(place):
    client = place.client
    client.rpush("l", *"abcabcabc")
    equal([client.lindex("l", at) for at in (0, -1, 4, 9, -10)], ["a", "c", "b", None, None])
    equal(client.lrange("l", -3, 100), ["a", "b", "c"])
    equal(client.lrange("l", 5, 3), [])
    equal(client.lset("l", -1, "z"), True)
    for index in (9, -10):
        with raises("index out of range"):
            client.lset("l", index, "x")
    with raises("no such key"):
        client.lset("absent", 0, "x")
    equal(client.linsert("l", "before", "c", "x"), 10)
    equal(client.linsert("l", "after", "z", "end"), 11)
    equal(client.linsert("l", "before", "none", "x"), -1)
    equal(client.linsert("absent", "before", "a", "x"), 0)
    equal("".join(client.lrange("l", 0, -2)), "abxcabcabz")
    equal(client.lrem("l", -1, "b"), 1)
    equal(client.lrem("l", 1, "a"), 1)
    equal("".join(client.lrange("l", 0, -2)), "bxcabcaz")
    equal(client.lrem("l", 0, "b"), 2)
    equal(client.ltrim("l", 1, -3), True)
    equal("".join(client.lrange("l", 0, -1)), "caca")
    equal(client.ltrim("l", 5, 9), True)
    equal(client.exists("l"), 0)


@scenario
def places_of_elements_are_found(place):
    client = place.client
    client.rpush("l", *"abcabcabc")
    equal([client.lpos("l", "b"), client.lpos("l", "none")], [1, None])
    equal([client.lpos("l", "b", rank=2), client.lpos("l", "b", rank=-1)], [4, 7])
    equal(client.lpos("l", "b", count=0), [1, 4, 7])
    equal(client.lpos("l", "b", count=2, rank=-1), [7, 4])
    equal(client.lpos("l", "b", count=0, maxlen=5), [1, 4])
    equal(client.lpos("l", "none", count=3), [])
    with raises("RANK can't be zero"):
        client.lpos("l", "b", rank=0)


@scenario
def elements_move_between_lists(place):
    client = place.client
    client.rpush("from", "a", "b", "c", "d")
    equal(client.lmove("from", "to", "LEFT", "RIGHT"), "a")
    equal(client.lmove("from", "to", "RIGHT", "LEFT"), "d")
    equal(client.rpoplpush("from", "to"), "c")
    equal([client.lrange("from", 0, -1), client.lrange("to", 0, -1)], [["b"], ["c", "d", "a"]])
    # Onto itself it is turned round, also when there is one element.
    equal(client.rpoplpush("to", "to"), "a")
    equal(client.rpoplpush("from", "from"), "b")
    equal([client.lrange("from", 0, -1), client.lrange("to", 0, -1)], [["b"], ["a", "c", "d"]])
    equal(client.lmove("absent", "to", "LEFT", "LEFT"), None)
    client.set("text", "v")
    with raises("WRONGTYPE"):
        client.lmove("from", "text", "LEFT", "LEFT")
    equal(client.lrange("from", 0, -1), ["b"])


@scenario
def the_first_list_with_elements_is_popped(place):
    client = place.client
    client.rpush("second", "a", "b", "c")
    client.rpush("third", "x")
    equal(client.lmpop(3, "first", "second", "third", direction="LEFT"), ["second", ["a"]])
    popped = client.lmpop(2, "first", "second", direction="RIGHT", count=5)
    equal(popped, ["second", ["c", "b"]])
    equal(client.lmpop(2, "first", "second", direction="LEFT"), None)


@scenario
def a_list_may_have_many_elements(place):
    client = place.client
    elements = [f"{number}:{'e' * (number % 70)}" for number in range(20_000)]
    for start in range(0, len(elements), 5_000):
        client.rpush("l", *elements[start : start + 5_000])
    equal(client.llen("l"), 20_000)
    equal(client.lrange("l", 0, -1), elements)
    equal(client.lindex("l", 12_345), elements[12_345])
    client.linsert("l", "after", elements[10_000], "between")
    equal(client.lpos("l", elements[10_001]), 10_002)
    client.ltrim("l", 9_999, 10_002)
    equal(client.lrange("l", 0, -1), elements[9_999:10_001] + ["between", elements[10_001]])
