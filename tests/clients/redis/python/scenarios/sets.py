"""Sets: members, what sets have in common, random members."""

from harness import equal, raises, scenario


@scenario
def members_are_added_asked_for_and_removed(place):
    client = place.client
    equal(client.sadd("s", "a", "b", "a", "c"), 3)
    equal(client.sadd("s", "a"), 0)
    equal(client.smembers("s"), {"a", "b", "c"})
    equal(client.scard("s"), 3)
    equal([bool(client.sismember("s", one)) for one in "az"], [True, False])
    equal([bool(one) for one in client.smismember("s", ["a", "z", "c"])], [True, False, True])
    equal(bool(client.smove("s", "other", "a")), True)
    equal(bool(client.smove("s", "other", "a")), False)
    equal(client.smembers("other"), {"a"})
    equal(client.srem("s", "b", "c", "none"), 2)
    equal([client.exists("s"), client.smembers("s"), client.scard("s")], [0, set(), 0])
    client.set("text", "v")
    with raises("WRONGTYPE"):
        client.smove("other", "text", "a")
    equal(client.smembers("other"), {"a"})


@scenario
def sets_are_united_intersected_and_subtracted(place):
    client = place.client
    client.sadd("a", *"abcd")
    client.sadd("b", *"bcde")
    client.sadd("c", *"cx")
    equal(client.sunion("a", "b", "absent"), set("abcde"))
    equal(client.sinter("a", "b", "c"), {"c"})
    equal(client.sinter("a", "absent"), set())
    equal(client.sdiff("a", "b"), {"a"})
    equal(client.sdiff("a", "b", "c"), {"a"})
    equal(client.sintercard(2, ["a", "b"]), 3)
    equal(client.sintercard(2, ["a", "b"], limit=2), 2)
    equal(client.sunionstore("union", "a", "c"), 5)
    equal(client.smembers("union"), set("abcdx"))
    equal(client.sinterstore("a", "a", "b"), 3)
    equal(client.smembers("a"), set("bcd"))
    equal(client.sdiffstore("union", "a", "b"), 0)
    equal(client.exists("union"), 0)
    client.rpush("list", "x")
    with raises("WRONGTYPE"):
        client.sunion("a", "list")


@scenario
def random_members_stay_or_are_taken_out(place):
    client = place.client
    members = {f"m{number}" for number in range(30)}
    client.sadd("s", *members)
    assert client.srandmember("s") in members
    some = client.srandmember("s", 10)
    equal([len(some), len(set(some))], [10, 10])
    equal(len(client.srandmember("s", -100)), 100)
    equal(set(client.srandmember("s", 100)), members)
    equal(client.scard("s"), 30)
    taken = [client.spop("s"), *client.spop("s", 9)]
    equal([len(set(taken)), client.scard("s")], [10, 20])
    equal(set(taken) | client.smembers("s"), members)
    equal(set(client.spop("s", 100)), members - set(taken))
    equal([client.exists("s"), client.spop("s"), client.srandmember("s")], [0, None, None])


@scenario
def a_set_may_have_many_members(place):
    client = place.client
    members = {f"member:{number}" for number in range(20_000)} | {str(n) for n in range(500)}
    equal(client.sadd("s", *members), len(members))
    equal(client.smembers("s"), members)
    gone = set(list(members)[::3])
    equal(client.srem("s", *gone), len(gone))
    equal(client.smembers("s"), members - gone)
