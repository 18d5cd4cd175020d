"""Thousands of commands sent before the first reply is read."""

import redis
from harness import equal, scenario


@scenario
def replies_of_a_long_pipeline_come_in_order(place):
    with place.client.pipeline(transaction=False) as pipe:
        for number in range(20_000):
            pipe.set(f"k{number % 1000}", number)
            pipe.get(f"k{number % 1000}")
        replies = pipe.execute()
    equal(replies[0::2], [True] * 20_000)
    equal(replies[1::2], [str(number) for number in range(20_000)])


@scenario
def an_error_in_a_pipeline_is_one_reply_of_it(place):
    with place.client.pipeline(transaction=False) as pipe:
        for number in range(3_000):
            pipe.rpush("list", number)
            pipe.incr("list")
        replies = pipe.execute(raise_on_error=False)
    equal(replies[0::2], list(range(1, 3_001)))
    assert all(isinstance(one, redis.ResponseError) for one in replies[1::2])
    assert all("WRONGTYPE" in str(one) for one in replies[1::2])


@scenario
def a_transaction_may_hold_thousands_of_commands(place):
    with place.client.pipeline(transaction=True) as pipe:
        for number in range(10_000):
            pipe.zadd("z", {f"m{number}": number})
        pipe.zcard("z")
        replies = pipe.execute()
    equal(replies, [1] * 10_000 + [10_000])


@scenario
def long_replies_of_a_pipeline_arrive_whole(place):
    client = place.bytes_client()
    value = bytes(range(256)) * 4096
    with client.pipeline(transaction=False) as pipe:
        for number in range(32):
            pipe.set(f"k{number}", value + str(number).encode())
        equal(pipe.execute(), [True] * 32)
        for number in range(32):
            pipe.get(f"k{number}")
        for number, got in enumerate(pipe.execute()):
            assert got == value + str(number).encode(), number


@scenario
def commands_of_every_kind_share_a_pipeline(place):
    client = place.client
    with client.pipeline(transaction=False) as pipe:
        for number in range(500):
            pipe.hset(f"h{number}", mapping={"f": number, "g": "x"})
            pipe.hgetall(f"h{number}")
            pipe.sadd("s", number)
            pipe.expire(f"h{number}", 1000)
            pipe.mget("h0", "absent")
            pipe.delete(f"h{number}")
        replies = pipe.execute()
    for number in range(500):
        expected = [2, {"f": str(number), "g": "x"}, 1, True, [None, None], 1]
        equal(replies[number * 6 : number * 6 + 6], expected)
    equal(client.keys(), ["s"])
