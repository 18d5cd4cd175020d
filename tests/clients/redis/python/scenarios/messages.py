"""Messages: channels, patterns, their order, and what a client that listens may do."""

from harness import equal, raises, scenario, until


def listener(place, **more):
    return place.connect(**more).pubsub(ignore_subscribe_messages=True)


def next_message(listener):
    message = until(lambda: listener.get_message(timeout=1), "a message")
    return message["type"], message["pattern"], message["channel"], message["data"]


def subscribed(place, listener, channels=(), patterns=()):
    """Listens, and goes on when the server knows."""
    if channels:
        listener.subscribe(*channels)
    if patterns:
        listener.psubscribe(*patterns)
    wanted = len(channels) + len(patterns)
    until(lambda: listener.get_message(timeout=0.01) or heard(place) >= wanted, "it listens")
    while listener.get_message(timeout=0.01):
        pass


def heard(place):
    # Names of channels may be no text.
    client = place.bytes_client()
    return len(client.pubsub_channels()) + client.pubsub_numpat()


@scenario
def messages_reach_channels_and_patterns(place):
    client = place.client
    first, second = listener(place), listener(place)
    subscribed(place, first, ["news", "weather"])
    subscribed(place, second, ["news"], ["n?ws", "w*"])
    until(lambda: client.pubsub_numpat() == 2, "both patterns are known")
    equal(sorted(client.pubsub_channels()), ["news", "weather"])
    equal(client.pubsub_channels("w*"), ["weather"])
    counts = client.pubsub_numsub("news", "weather", "none")
    equal([tuple(one) for one in counts], [("news", 2), ("weather", 1), ("none", 0)])
    equal(client.publish("news", "hello"), 3)
    equal(next_message(first), ("message", None, "news", "hello"))
    got = [next_message(second), next_message(second)]
    expected = [("message", None, "news", "hello"), ("pmessage", "n?ws", "news", "hello")]
    equal(sorted(got, key=str), sorted(expected, key=str))
    equal(client.publish("weather", "rain"), 2)
    equal(next_message(first)[2:], ("weather", "rain"))
    equal(next_message(second), ("pmessage", "w*", "weather", "rain"))
    equal(client.publish("nobody", "x"), 0)
    first.close()
    second.close()
    until(lambda: heard(place) == 0, "nobody listens")


@scenario
def who_stops_listening_gets_no_more(place):
    client = place.client
    own = listener(place)
    subscribed(place, own, ["a", "b"], ["c*"])
    own.unsubscribe("a")
    own.punsubscribe()
    until(lambda: own.get_message(timeout=0.01) or heard(place) == 1, "one is left")
    until(lambda: heard(place) == 1, "one is left")
    equal([client.publish("a", "1"), client.publish("cc", "2")], [0, 0])
    equal(client.publish("b", "3"), 1)
    equal(next_message(own), ("message", None, "b", "3"))
    own.close()


@scenario
def thousands_of_messages_keep_their_order(place):
    own = listener(place)
    subscribed(place, own, ["flow"])
    with place.client.pipeline(transaction=False) as pipe:
        for number in range(5_000):
            pipe.publish("flow", number)
        equal(pipe.execute(), [1] * 5_000)
    for number in range(5_000):
        equal(next_message(own)[3], str(number))
    # Those of a transaction come, too.
    with place.client.pipeline(transaction=True) as pipe:
        equal(pipe.publish("flow", "x").set("k", "v").publish("flow", "y").execute(), [1, True, 1])
    equal([next_message(own)[3], next_message(own)[3]], ["x", "y"])
    own.close()


@scenario
def messages_and_channels_may_be_any_bytes(place):
    client = place.bytes_client()
    own = listener(place, decode_responses=False)
    channel, data = b"\x00\r\n\xff channel", bytes(range(256)) * 1000
    subscribed(place, own, [channel])
    equal(client.publish(channel, data), 1)
    equal(next_message(own), ("message", None, channel, data))
    equal(client.publish(channel, b""), 1)
    equal(next_message(own)[3], b"")
    own.close()


@scenario
def who_listens_may_run_commands_over_resp3_only(place):
    own = place.connect(single_connection_client=True)
    connection = own.connection

    def run(*words):
        connection.send_command(*words)
        # Over RESP3 the client keeps what is pushed apart from replies.
        return connection.read_response(push_request=True)

    equal(run("SUBSCRIBE", "news"), ["subscribe", "news", 1])
    if place.protocol == 2:
        with raises("Can't execute 'get'"):
            run("GET", "k")
        equal(run("PING"), ["pong", ""])
    else:
        equal(run("GET", "k"), None)
        equal(run("PING"), "PONG")
    equal(run("UNSUBSCRIBE"), ["unsubscribe", "news", 0])
    equal(run("GET", "k"), None)
