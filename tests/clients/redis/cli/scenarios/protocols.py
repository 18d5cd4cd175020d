"""RESP3 with `-3`: maps, sets, doubles and nothing have shapes of their own."""

from harness import equal, scenario


@scenario
def maps_sets_and_doubles_have_their_own_shapes(place):
    place.raw("HSET", "h", "a", "1", "b", "2")
    equal(place.shown3("HGETALL", "h"), '1# "a" => "1"\n2# "b" => "2"')
    place.raw("SADD", "s", "x")
    equal(place.shown3("SMEMBERS", "s"), '1~ "x"')
    equal(place.shown3("SMEMBERS", "none"), "(empty set)")
    equal(place.shown3("HGETALL", "none"), "(empty hash)")
    place.raw("ZADD", "z", "1.5", "a", "2", "b")
    equal(place.shown3("ZSCORE", "z", "a"), "(double) 1.5")
    shown = '1) 1) "a"\n   2) (double) 1.5\n2) 1) "b"\n   2) (double) 2'
    equal(place.shown3("ZRANGE", "z", "0", "-1", "WITHSCORES"), shown)
    equal(place.shown3("GET", "none"), "(nil)")
    equal(place.shown3("CONFIG", "GET", "timeout"), '1# "timeout" => "0"')


@scenario
def the_protocol_is_told_by_hello(place):
    hello = place.shown3("HELLO", "3")
    assert '"server" => "redis"' in hello and '"proto" => (integer) 3' in hello, hello
    assert "resp=3" in place.run("-3", "CLIENT", "INFO").out
    assert "resp=2" in place.run("-2", "CLIENT", "INFO").out
    equal(place.shown3("HELLO", "4"), "(error) NOPROTO unsupported protocol version")
    # Text for people is printed as it is over both.
    assert place.shown3("INFO", "server").startswith("# Server")
