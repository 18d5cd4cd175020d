"""Walks in steps to the end, while what they walk over changes."""

from harness import equal, raises, scenario


def steps(step):
    """The parts that a walk gives, one after another, until its cursor is 0 again."""
    cursor = 0
    while True:
        cursor, part = step(cursor)
        yield part
        if cursor == 0:
            return


@scenario
def a_scan_sees_every_key_that_stays_while_others_come_and_go(place):
    client = place.client
    staying = {f"stays:{number}" for number in range(3_000)}
    client.mset(dict.fromkeys(staying, "v"))
    client.mset({f"goes:{number}": "v" for number in range(1_000)})
    seen, going = [], iter(range(1_000))
    for number, part in enumerate(steps(lambda cursor: client.scan(cursor, count=100))):
        seen.extend(key for key in part if key.startswith("stays:"))
        client.mset({f"comes:{number}:{more}": "v" for more in range(40)})
        client.delete(*[f"goes:{next(going)}" for _ in range(20)])
    equal(len(seen), 3_000)
    equal(set(seen), staying)


@scenario
def scans_choose_by_pattern_and_type(place):
    client = place.client
    client.mset({f"text:{number}": "v" for number in range(300)})
    for number in range(50):
        client.rpush(f"list:{number}", "v")
        client.zadd(f"zset:{number}", {"m": 1})
    equal(len(set(client.scan_iter(match="text:*"))), 300)
    equal(
        set(client.scan_iter(match="*:1?")),
        {f"{k}:1{n}" for k in ("text", "list", "zset") for n in range(10)},
    )
    equal(set(client.scan_iter(_type="LIST")), {f"list:{number}" for number in range(50)})
    equal(
        set(client.scan_iter(match="zset:4*", _type="zset", count=1)),
        {"zset:4"} | {f"zset:4{n}" for n in range(10)},
    )
    equal(list(client.scan_iter(_type="stream")), [])
    with raises("invalid cursor"):
        client.execute_command("SCAN", "x")
    with raises("syntax error"):
        client.scan(0, count=0)


@scenario
def fields_are_walked_over_while_others_go(place):
    client = place.client
    fields = {f"f{number}": f"v{number}" for number in range(1_000)}
    client.hset("h", mapping={**fields, **{f"goes{number}": "v" for number in range(500)}})
    seen, going = {}, iter(range(500))
    for part in steps(lambda cursor: client.hscan("h", cursor, count=20)):
        seen.update({field: value for field, value in part.items() if field.startswith("f")})
        client.hdel("h", *[f"goes{number}" for _, number in zip(range(5), going)] or ["none"])
        client.hset("h", f"comes{len(seen)}", "v")
    equal(seen, fields)
    equal(dict(client.hscan_iter("h", match="f99?")), {f"f99{n}": f"v99{n}" for n in range(10)})


@scenario
def members_are_walked_over_while_others_go(place):
    client = place.client
    members = {f"m{number}" for number in range(1_000)}
    client.sadd("s", *members, *[f"goes{number}" for number in range(500)])
    seen, going = set(), iter(range(500))
    for part in steps(lambda cursor: client.sscan("s", cursor, count=20)):
        seen.update(member for member in part if member.startswith("m"))
        client.srem("s", *[f"goes{number}" for _, number in zip(range(5), going)] or ["none"])
    equal(seen, members)
    equal(set(client.sscan_iter("s", match="m99?")), {f"m99{n}" for n in range(10)})


@scenario
def sorted_members_are_walked_over_while_scores_change(place):
    client = place.client
    scores = {f"m{number}": float(number) for number in range(1_000)}
    client.zadd("z", scores)
    seen = {}
    for number, part in enumerate(steps(lambda cursor: client.zscan("z", cursor, count=20))):
        seen.update(part)
        # Another rank, and the same score again.
        client.zincrby("z", 5_000, f"m{number * 9}")
        client.zincrby("z", -5_000, f"m{number * 9}")
        client.zadd("z", {f"comes{number}": -number})
        client.zrem("z", f"comes{number - 1}")
    equal({member: seen[member] for member in scores}, scores)
    equal(list(client.zscan_iter("z", match="m998")), [("m998", 998.0)])
