"""Values of every type, as redis-cli shows them on a terminal."""

from harness import equal, scenario, until


@scenario
def strings_and_bits_are_shown(place):
    equal(place.shown("SET", "k", "a b"), "OK")
    equal(place.shown("GET", "k"), '"a b"')
    equal(place.raw("GET", "k"), "a b")
    equal(place.shown("GET", "absent"), "(nil)")
    equal(place.raw("GET", "absent"), "")
    equal(place.shown("SET", "k", "x", "NX"), "(nil)")
    equal(place.shown("SET", "k", "new", "GET"), '"a b"')
    equal(place.shown("APPEND", "k", "er"), "(integer) 5")
    equal(place.shown("GETRANGE", "k", "-2", "-1"), '"er"')
    equal(place.shown("SETBIT", "bits", "7", "1"), "(integer) 0")
    equal(place.shown("GET", "bits"), '"\\x01"')
    equal(place.shown("BITCOUNT", "bits"), "(integer) 1")
    equal(place.shown("MGET", "k", "absent"), '1) "newer"\n2) (nil)')


@scenario
def numbers_count_to_their_bounds(place):
    equal(place.shown("INCRBY", "n", "9223372036854775806"), "(integer) 9223372036854775806")
    equal(place.shown("INCR", "n"), "(integer) 9223372036854775807")
    overflow = "(error) ERR increment or decrement would overflow"
    equal(place.shown("INCR", "n"), overflow)
    equal(place.shown("DECRBY", "n", "-1"), overflow)
    equal(place.shown("INCRBYFLOAT", "f", "3.25"), '"3.25"')
    equal(place.shown("HINCRBY", "h", "f", "-7"), "(integer) -7")


@scenario
def keys_end_when_their_time_is_over(place):
    equal(place.shown("SET", "k", "v", "EX", "100"), "OK")
    equal(place.shown("EXPIRE", "k", "50", "GT"), "(integer) 0")
    equal(place.shown("PEXPIREAT", "k", "33177117420000"), "(integer) 1")
    equal(place.shown("EXPIRETIME", "k"), "(integer) 33177117420")
    equal(place.shown("PERSIST", "k"), "(integer) 1")
    equal([place.shown("TTL", "k"), place.shown("TTL", "none")], ["(integer) -1", "(integer) -2"])
    place.shown("PEXPIRE", "k", "30")
    until(lambda: place.shown("EXISTS", "k") == "(integer) 0", "the key is over")
    equal(place.shown("GET", "k"), "(nil)")
    error = "(error) ERR invalid expire time in 'set' command"
    equal(place.shown("SET", "k", "v", "PX", "0"), error)


@scenario
def hashes_are_shown(place):
    equal(place.shown("HSET", "h", "a", "1", "b", "2"), "(integer) 2")
    equal(place.shown("HGETALL", "h"), '1) "a"\n2) "1"\n3) "b"\n4) "2"')
    equal(place.raw("HMGET", "h", "b", "none", "a"), "2\n\n1")
    equal(place.shown("HGETALL", "absent"), "(empty array)")
    equal(place.shown("HDEL", "h", "a", "b"), "(integer) 2")
    equal(place.shown("TYPE", "h"), "none")


@scenario
def lists_are_shown(place):
    equal(place.shown("RPUSH", "l", *"abcdefghij"), "(integer) 10")
    lines = "".join(f'{at:2}) "{one}"\n' for at, one in enumerate("abcdefghij", 1))
    equal(place.shown("LRANGE", "l", "0", "-1") + "\n", lines)
    equal(place.raw("LPOP", "l", "2"), "a\nb")
    equal(
        place.shown("LMPOP", "2", "none", "l", "RIGHT", "COUNT", "2"),
        '1) "l"\n2) 1) "j"\n   2) "i"',
    )
    equal(place.shown("LPOS", "l", "e"), "(integer) 2")
    equal(place.shown("BLPOP", "none", "0.02"), "(nil)")
    equal(place.shown("LRANGE", "none", "0", "-1"), "(empty array)")


@scenario
def who_waits_gets_what_another_pushes(place):
    with place.listening("BLPOP", "first", "second", "20") as waiting:
        until(lambda: "blocked_clients:1" in place.raw("INFO", "clients"), "it waits")
        equal(place.shown("RPUSH", "second", "job", "more"), "(integer) 2")
        equal(waiting.until_lines(2), ["second", "job"])
        equal(waiting.process.wait(timeout=20), 0)
    equal(place.shown("LRANGE", "second", "0", "-1"), '1) "more"')


@scenario
def sets_are_shown(place):
    equal(place.shown("SADD", "s", "a", "b", "a"), "(integer) 2")
    equal(sorted(place.raw("SMEMBERS", "s").split()), ["a", "b"])
    place.raw("SADD", "t", "b", "c")
    equal(place.shown("SINTER", "s", "t"), '1) "b"')
    equal(place.shown("SDIFF", "t", "s"), '1) "c"')
    equal(place.shown("SMISMEMBER", "s", "a", "z"), "1) (integer) 1\n2) (integer) 0")
    equal(place.shown("SUNIONSTORE", "u", "s", "t"), "(integer) 3")
    equal(place.shown("SPOP", "none"), "(nil)")


@scenario
def sorted_sets_are_shown(place):
    equal(place.shown("ZADD", "z", "1", "a", "2.5", "b", "-inf", "c"), "(integer) 3")
    shown = '1) "c"\n2) "-inf"\n3) "a"\n4) "1"\n5) "b"\n6) "2.5"'
    equal(place.shown("ZRANGE", "z", "0", "-1", "WITHSCORES"), shown)
    equal(place.raw("ZRANGE", "z", "(-inf", "+inf", "BYSCORE", "REV"), "")
    equal(place.raw("ZRANGE", "z", "+inf", "(-inf", "BYSCORE", "REV"), "b\na")
    equal(place.shown("ZRANK", "z", "b"), "(integer) 2")
    equal(place.shown("ZINCRBY", "z", "0.25", "b"), '"2.75"')
    equal(place.raw("ZRANGEBYLEX", "z", "-", "+").split("\n")[0], "c")
    place.raw("ZADD", "y", "10", "b")
    equal(place.shown("ZINTER", "2", "z", "y", "WITHSCORES"), '1) "b"\n2) "12.75"')
    equal(place.shown("ZPOPMAX", "z"), '1) "b"\n2) "2.75"')
