"""When keys end: times given and asked for, conditions, what keeps a time, and keys that are gone."""

import time

from harness import equal, raises, scenario, until

SOON_MILLIS = 60


@scenario
def a_key_is_gone_for_every_command_when_its_time_is_over(place):
    client = place.client
    client.set("text", "v", px=SOON_MILLIS)
    client.hset("hash", "f", "v")
    client.pexpire("hash", SOON_MILLIS)
    client.rpush("list", "v")
    client.pexpireat("list", int(time.time() * 1000) + SOON_MILLIS)
    until(lambda: client.exists("text", "hash", "list") == 0, "three keys are over")
    equal(client.get("text"), None)
    equal(client.hgetall("hash"), {})
    equal(client.lrange("list", 0, -1), [])
    equal([client.ttl("text"), client.pttl("hash"), client.type("list")], [-2, -2, "none"])
    equal([client.keys(), list(client.scan_iter()), client.randomkey()], [[], [], None])
    with raises("no such key"):
        client.rename("text", "other")
    # What comes after it is new, and lasts.
    equal(client.incr("text"), 1)
    equal(client.ttl("text"), -1)
    equal(client.rpush("list", "w"), 1)


@scenario
def times_are_told_as_they_were_given(place):
    client = place.client
    moment = int(time.time()) + 1000
    client.set("k", "v", exat=moment)
    equal(client.expiretime("k"), moment)
    equal(client.pexpiretime("k"), moment * 1000)
    client.pexpireat("k", moment * 1000 + 7)
    equal(client.pexpiretime("k"), moment * 1000 + 7)
    client.expireat("k", moment + 5)
    equal(client.expiretime("k"), moment + 5)
    assert 990 < client.ttl("k") <= 1006
    assert 990_000 < client.pttl("k") <= 1_006_000
    client.psetex("k", 500_000, "v")
    assert 490 < client.ttl("k") <= 500
    client.setex("k", 50, "v")
    assert 40 < client.ttl("k") <= 50
    client.set("lasting", "v")
    times = [client.ttl("lasting"), client.expiretime("lasting"), client.pexpiretime("lasting")]
    equal(times, [-1, -1, -1])
    equal([client.expiretime("absent"), client.pexpiretime("absent")], [-2, -2])


@scenario
def conditions_decide_whether_a_time_is_taken(place):
    client = place.client
    client.set("k", "v")
    equal(client.expire("absent", 10), False)
    equal(client.expire("k", 100, xx=True), False)
    equal(client.expire("k", 100, gt=True), False)
    equal(client.expire("k", 100, lt=True), True)
    equal(client.expire("k", 200, nx=True), False)
    equal(client.expire("k", 200, gt=True), True)
    equal(client.expire("k", 300, lt=True), False)
    equal(client.expire("k", 50, xx=True, lt=True), True)
    assert 40 < client.ttl("k") <= 50
    with raises("not compatible"):
        client.expire("k", 1, nx=True, gt=True)
    with raises("not compatible"):
        client.expire("k", 1, gt=True, lt=True)
    equal(client.persist("k"), True)
    equal(client.persist("k"), False)
    equal(client.ttl("k"), -1)


@scenario
def changes_of_a_value_keep_its_time_and_a_new_value_has_none(place):
    client = place.client
    client.set("k", "1", ex=100)
    for change in (
        lambda: client.incr("k"),
        lambda: client.append("k", "2"),
        lambda: client.setrange("k", 0, "9"),
        lambda: client.set("k", "5", keepttl=True),
        lambda: client.setbit("k", 1, 1),
        lambda: client.get("k"),
        lambda: client.getex("k"),
    ):
        change()
        assert 90 < client.ttl("k") <= 100
    client.rename("k", "renamed")
    client.copy("renamed", "copied")
    assert 90 < client.ttl("renamed") <= 100 and 90 < client.ttl("copied") <= 100
    client.getex("renamed", ex=500)
    assert 490 < client.ttl("renamed") <= 500
    equal(client.getex("renamed", persist=True), client.get("copied"))
    equal(client.ttl("renamed"), -1)
    client.set("copied", "new")
    equal(client.ttl("copied"), -1)
    client.rpush("list", "a")
    client.expire("list", 100)
    client.rpush("list", "b")
    client.lpop("list")
    assert 90 < client.ttl("list") <= 100


@scenario
def times_that_are_over_remove_and_impossible_ones_are_refused(place):
    client = place.client
    for remove in (
        lambda: client.expire("k", 0),
        lambda: client.expire("k", -1),
        lambda: client.pexpireat("k", 1),
        lambda: client.getex("k", exat=1),
    ):
        client.set("k", "v")
        assert remove()
        equal(client.exists("k"), 0)
    client.set("k", "v")
    for command in (["SET", "k", "w", "EX", 0], ["SETEX", "k", -1, "w"], ["GETEX", "k", "PX", 0]):
        with raises(f"invalid expire time in '{command[0].lower()}' command"):
            client.execute_command(*command)
    with raises("invalid expire time in 'expire' command"):
        client.expire("k", 2**62)
    with raises("value is not an integer"):
        client.execute_command("EXPIRE", "k", "soon")
    with raises("syntax error"):
        client.execute_command("SET", "k", "w", "EX", 10, "KEEPTTL")
    equal([client.get("k"), client.ttl("k")], ["v", -1])
