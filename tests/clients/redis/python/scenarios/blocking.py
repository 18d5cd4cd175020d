"""Waiting for elements that another connection brings."""

from harness import equal, raises, scenario, scored, until


@scenario
def who_waits_for_lists_gets_what_another_pushes(place):
    client = place.client
    waiting = place.waiting(lambda own: own.blpop(["first", "second"], timeout=20))
    equal(client.rpush("second", "job", "more"), 2)
    equal(list(waiting.result()), ["second", "job"])
    equal(client.lrange("second", 0, -1), ["more"])
    # What is there already is given at once, from the first of the keys.
    client.rpush("first", "x", "y")
    equal(list(client.brpop(["first", "second"], timeout=20)), ["first", "y"])
    waiting = place.waiting(lambda own: own.blmpop(20, 2, "a", "b", direction="RIGHT", count=2))
    client.rpush("b", "1", "2", "3")
    equal(waiting.result(), ["b", ["3", "2"]])


@scenario
def who_waits_first_is_served_first(place):
    waiting = [place.waiting(lambda own: own.blpop("l", timeout=20)) for _ in range(4)]
    equal(place.client.rpush("l", "a", "b", "c"), 3)
    equal([list(one.result()) for one in waiting[:3]], [["l", "a"], ["l", "b"], ["l", "c"]])
    equal(place.client.exists("l"), 0)
    place.client.rpush("l", "d")
    equal(list(waiting[3].result()), ["l", "d"])


@scenario
def a_wait_ends_with_its_time(place):
    client = place.client
    equal(client.blpop("absent", timeout=0.02), None)
    equal(client.blmove("absent", "to", 0.02), None)
    equal(client.brpoplpush("absent", "to", timeout=0.02), None)
    equal(client.blmpop(0.02, 1, "absent", direction="LEFT"), None)
    equal(client.bzpopmin("absent", timeout=0.02), None)
    equal(client.bzmpop(0.02, 1, ["absent"], min=True), None)
    with raises("timeout is negative"):
        client.blpop("absent", timeout=-1)
    with raises("timeout is not a float"):
        client.execute_command("BLPOP", "absent", "soon")


@scenario
def what_is_waited_for_moves_on_to_whoever_waits_there(place):
    client = place.client
    first = place.waiting(lambda own: own.blmove("from", "to", 20, "LEFT", "RIGHT"))
    second = place.waiting(lambda own: own.blpop("to", timeout=20))
    third = place.waiting(lambda own: own.brpoplpush("other", "end", timeout=20))
    client.rpush("from", "a")
    equal(first.result(), "a")
    equal(list(second.result()), ["to", "a"])
    client.rpush("other", "x", "y")
    equal(third.result(), "y")
    equal([client.lrange("other", 0, -1), client.lrange("end", 0, -1)], [["x"], ["y"]])


@scenario
def who_waits_for_sorted_sets_gets_the_least_or_the_greatest(place):
    client = place.client
    waiting = place.waiting(lambda own: own.bzpopmin(["a", "b"], timeout=20))
    client.zadd("b", {"two": 2, "one": 1, "three": 3})
    key, member, score = waiting.result()
    equal([key, member, float(score)], ["b", "one", 1.0])
    key, member, score = client.bzpopmax("b", timeout=20)
    equal([key, member, float(score)], ["b", "three", 3.0])
    waiting = place.waiting(lambda own: own.bzmpop(20, 1, ["c"], max=True, count=2))
    client.zadd("c", {"two": 2, "one": 1, "three": 3})
    key, members = waiting.result()
    equal([key, scored(members)], ["c", [("three", 3.0), ("two", 2.0)]])


@scenario
def a_wait_is_ended_by_others_and_leaves_nothing_behind(place):
    client = place.client
    waiting = place.waiting(lambda own: own.blpop("l", timeout=20))
    equal(client.client_unblock(blocked_id(client)), True)
    equal(waiting.result(), None)
    waiting = place.waiting(lambda own: own.blpop("l", timeout=20))
    equal(client.client_unblock(blocked_id(client), error=True), True)
    with raises("UNBLOCKED"):
        waiting.result()
    # A client that went away while it waited takes no element with it.
    gone = place.connect(single_connection_client=True)
    gone.connection.send_command("BLPOP", "l", 0)
    until(lambda: client.info("clients")["blocked_clients"] == 1, "it waits")
    gone.connection.disconnect()
    until(lambda: client.info("clients")["blocked_clients"] == 0, "it is gone")
    client.rpush("l", "a")
    equal(client.lrange("l", 0, -1), ["a"])


def blocked_id(client):
    (blocked,) = [one for one in client.client_list() if "b" in one["flags"]]
    equal(blocked["cmd"], "blpop")
    return blocked["id"]


@scenario
def nobody_waits_for_another_kind_of_value_or_inside_a_transaction(place):
    client = place.client
    waiting = place.waiting(lambda own: own.blpop("k", timeout=20))
    client.zadd("k", {"member": 1})
    client.delete("k")
    with client.pipeline(transaction=True) as pipe:
        pipe.rpush("k", "a").delete("k").blpop("k", timeout=0).set("k", "text")
        equal(pipe.execute()[2], None)
    assert not waiting.is_done()
    client.delete("k")
    client.rpush("k", "b")
    equal(list(waiting.result()), ["k", "b"])
    client.set("text", "v")
    with raises("WRONGTYPE"):
        client.blpop("text", timeout=1)
