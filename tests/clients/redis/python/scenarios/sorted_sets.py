"""Sorted sets: scores, ranks, ranges by score, by text and by rank, unions, the ends."""

import math

from harness import equal, raises, scenario, scored


def fill(client, key="z"):
    client.zadd(key, {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5})


@scenario
def scores_are_set_under_conditions(place):
    client = place.client
    equal(client.zadd("z", {"a": 1, "b": 2}), 2)
    equal(client.zadd("z", {"a": 5, "c": 3}, nx=True), 1)
    equal(client.zadd("z", {"a": 6, "new": 1}, xx=True, ch=True), 1)
    equal(client.zadd("z", {"a": 5}, gt=True, ch=True), 0)
    equal(client.zadd("z", {"a": 5}, lt=True, ch=True), 1)
    equal(client.zadd("z", {"b": 1.5}, incr=True), 3.5)
    equal(client.zadd("z", {"b": 1}, incr=True, nx=True), None)
    equal(client.zincrby("z", -0.5, "b"), 3.0)
    equal(client.zscore("z", "b"), 3.0)
    equal(client.zmscore("z", ["a", "none", "c"]), [5.0, None, 3.0])
    equal([client.zscore("z", "none"), client.zscore("absent", "a")], [None, None])
    equal([client.zcard("z"), client.zrem("z", "a", "none"), client.zcard("z")], [3, 1, 2])
    with raises("value is not a valid float"):
        client.execute_command("ZADD", "z", "nan", "a")
    client.zadd("inf", {"up": math.inf, "down": -math.inf})
    equal([client.zscore("inf", "up"), client.zscore("inf", "down")], [math.inf, -math.inf])
    with raises("not a number (NaN)"):
        client.zincrby("inf", -math.inf, "up")
    with raises("syntax error"):
        client.execute_command("ZADD", "z", "1", "a", "2")
    equal(client.zscore("inf", "up"), math.inf)


@scenario
def members_have_ranks_from_both_ends(place):
    client = place.client
    fill(client)
    equal([client.zrank("z", one) for one in "ace"], [0, 2, 4])
    equal([client.zrevrank("z", one) for one in "ace"], [4, 2, 0])
    equal([client.zrank("z", "none"), client.zrank("absent", "a")], [None, None])
    equal([float(one) for one in client.zrank("z", "b", withscore=True)], [1, 2])
    # Equal scores are in the order of their bytes.
    client.zadd("ties", {"b": 1, "B": 1, "a": 1, "\u00e4": 1, "": 1})
    equal(client.zrange("ties", 0, -1), ["", "B", "a", "b", "\u00e4"])
    equal(client.zrange("z", 0, 1), ["a", "b"])
    equal(client.zrange("z", -2, -1, withscores=False, desc=True), ["b", "a"])
    equal(scored(client.zrevrange("z", 0, 1, withscores=True)), [("e", 5), ("d", 4)])
    equal(client.zremrangebyrank("z", 1, -2), 3)
    equal(scored(client.zrange("z", 0, -1, withscores=True)), [("a", 1), ("e", 5)])


@scenario
def ranges_by_score_are_open_closed_and_cut(place):
    client = place.client
    fill(client)
    equal(client.zrangebyscore("z", 2, 4), ["b", "c", "d"])
    equal(client.zrangebyscore("z", "(2", "(4"), ["c"])
    equal(client.zrangebyscore("z", "-inf", "+inf", start=1, num=2), ["b", "c"])
    equal(scored(client.zrangebyscore("z", 4, 9, withscores=True)), [("d", 4), ("e", 5)])
    equal(client.zrevrangebyscore("z", "(4", 2), ["c", "b"])
    equal(client.zrange("z", 2, 4, byscore=True, offset=1, num=1), ["c"])
    equal(client.zrange("z", 4, 2, byscore=True, desc=True), ["d", "c", "b"])
    equal([client.zcount("z", 2, 4), client.zcount("z", "(2", "+inf")], [3, 3])
    equal(client.zrangebyscore("z", 9, 1), [])
    equal(client.zrangestore("copy", "z", "(1", 3, byscore=True), 2)
    equal(scored(client.zrange("copy", 0, -1, withscores=True)), [("b", 2), ("c", 3)])
    equal(client.zremrangebyscore("z", "(1", "(5"), 3)
    equal(client.zrange("z", 0, -1), ["a", "e"])
    with raises("min or max is not a float"):
        client.zrangebyscore("z", "low", 1)


@scenario
def ranges_by_text_are_open_closed_and_cut(place):
    client = place.client
    client.zadd("z", dict.fromkeys(["a", "ab", "b", "c", "ca", "d"], 0))
    equal(client.zrangebylex("z", "-", "+"), ["a", "ab", "b", "c", "ca", "d"])
    equal(client.zrangebylex("z", "[ab", "(ca"), ["ab", "b", "c"])
    equal(client.zrangebylex("z", "(ab", "+", start=1, num=2), ["c", "ca"])
    equal(client.zrevrangebylex("z", "(c", "-"), ["b", "ab", "a"])
    equal(client.zrange("z", "[c", "+", bylex=True), ["c", "ca", "d"])
    equal(client.zlexcount("z", "[b", "[ca"), 3)
    equal(client.zremrangebylex("z", "[a", "(b"), 2)
    equal(client.zrange("z", 0, -1), ["b", "c", "ca", "d"])
    with raises("not valid string range item"):
        client.zrangebylex("z", "a", "+")


@scenario
def sorted_sets_are_united_intersected_and_subtracted(place):
    client = place.client
    client.zadd("a", {"x": 1, "y": 2})
    client.zadd("b", {"y": 10, "z": 20})
    client.sadd("plain", "x", "z")
    union = client.zunion(["a", "b"], withscores=True)
    equal(scored(union), [("x", 1), ("y", 12), ("z", 20)])
    equal(
        scored(client.zunion({"a": 2, "b": 0.5}, withscores=True)), [("x", 2), ("y", 9), ("z", 10)]
    )
    greatest = client.zunion(["a", "b"], aggregate="MAX", withscores=True)
    equal(scored(greatest), [("x", 1), ("y", 10), ("z", 20)])
    equal(scored(client.zinter(["a", "b"], withscores=True)), [("y", 12)])
    equal(scored(client.zdiff(["a", "b"], withscores=True)), [("x", 1)])
    equal(client.zintercard(2, ["a", "b"]), 1)
    # The members of a plain set count 1.
    equal(client.zunionstore("u", ["a", "plain"]), 3)
    equal(scored(client.zrange("u", 0, -1, withscores=True)), [("z", 1), ("x", 2), ("y", 2)])
    equal(client.zinterstore("i", {"a": 1, "b": 2}, aggregate="MIN"), 1)
    equal(client.zscore("i", "y"), 2)
    equal(client.zdiffstore("i", ["a", "a"]), 0)
    equal(client.exists("i"), 0)


@scenario
def the_ends_are_taken_out(place):
    client = place.client
    fill(client)
    equal(scored(client.zpopmin("z")), [("a", 1)])
    equal(scored(client.zpopmax("z", 2)), [("e", 5), ("d", 4)])
    key, members = client.zmpop(2, ["absent", "z"], min=True, count=9)
    equal([key, scored(members)], ["z", [("b", 2), ("c", 3)]])
    equal(
        [client.exists("z"), client.zpopmin("z"), client.zmpop(1, ["z"], max=True)], [0, [], None]
    )


@scenario
def random_members_come_with_their_scores(place):
    client = place.client
    fill(client)
    scores = dict(zip("abcde", range(1, 6)))
    assert client.zrandmember("z") in scores
    equal(len(set(client.zrandmember("z", 3))), 3)
    repeated = scored(client.zrandmember("z", -40, withscores=True))
    equal(len(repeated), 40)
    assert all(scores[member] == score for member, score in repeated)
    equal(client.zrandmember("absent"), None)


@scenario
def ranks_stay_right_in_a_large_set(place):
    client = place.client
    scores = {f"m{number}": (number * 7919) % 10_007 for number in range(10_000)}
    client.zadd("z", scores)
    for number in range(0, 10_000, 3):
        scores[f"m{number}"] += 0.5
    client.zadd("z", {name: score for name, score in scores.items() if score % 1})
    gone = [f"m{number}" for number in range(0, 10_000, 5)]
    equal(client.zrem("z", *gone), 2_000)
    for name in gone:
        del scores[name]
    order = sorted(scores, key=lambda name: (scores[name], name.encode()))
    equal(client.zrange("z", 0, -1), order)
    for rank in range(0, len(order), 531):
        equal(client.zrank("z", order[rank]), rank)
        equal(client.zrange("z", rank, rank), [order[rank]])
