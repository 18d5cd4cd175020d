"""A server that ends and starts again on the same port: clients come back, and find what is there."""

import shutil
import tempfile

import redis
from harness import RedisServer, equal, scenario, scored, until
from scenarios.keys import VALUES, held


class durable_directory:
    """A directory for keys in durable mode, none in memory."""

    def __init__(self, place):
        self.is_durable = place.is_durable

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="jackdaw-redis-py-") if self.is_durable else None
        return ["--redis-data", f"{self.path}/keys"] if self.is_durable else []

    def __exit__(self, *_error):
        if self.path:
            shutil.rmtree(self.path)


def client_of(place, port):
    """One that connects again by itself."""
    retry = redis.retry.Retry(redis.backoff.ConstantBackoff(0.05), 100)
    return place.connect(port=port, retry=retry, retry_on_error=[redis.ConnectionError])


@scenario
def after_a_restart_durable_keys_are_there_and_others_are_not(place):
    with durable_directory(place) as arguments:
        with RedisServer(*arguments) as server:
            client = client_of(place, server.port)
            for kind, make in VALUES.items():
                make(client, kind)
            client.set("timed", "v", ex=1000)
            client.set("brief", "v", px=1)
            moment = client.pexpiretime("timed")
            other = place.connect(port=server.port, db=7)
            other.set("k", "seven")
            for number in range(300):
                client.rpush("long", number)
            client.ltrim("long", 10, -11)
            client.hdel("hash", "f")
            client.zincrby("zset", 5, "a")
            client.rename("string", "renamed")
            keys = sorted(key for key in client.keys() if key != "brief")
            before = {key: held(client, key) for key in keys}
            server.stop()
        with RedisServer(*arguments, port=server.port):
            if not place.is_durable:
                equal([client.dbsize(), other.dbsize()], [0, 0])
                return
            equal({key: held(client, key) for key in sorted(client.keys())}, before)
            equal(scored(client.zrange("zset", 0, -1, withscores=True)), [("b", 2), ("a", 6)])
            equal(client.lrange("long", 0, 0) + client.lrange("long", -1, -1), ["10", "289"])
            equal([client.pexpiretime("timed"), client.ttl("renamed")], [moment, -1])
            equal([client.exists("brief"), other.get("k")], [0, "seven"])


@scenario
def acknowledged_writes_survive_a_kill(place):
    with durable_directory(place) as arguments:
        port, acknowledged = 0, 0
        for life in range(3):
            with RedisServer(*arguments, port=port) as server:
                port = server.port
                client = client_of(place, port)
                if place.is_durable:
                    equal(client.get("n") or "0", str(acknowledged))
                    equal(client.llen("l"), acknowledged)
                with client.pipeline(transaction=True) as pipe:
                    for _ in range(200):
                        pipe.incr("n").rpush("l", life)
                        acknowledged = pipe.execute()[0]
                server.kill()
        equal(acknowledged, 600 if place.is_durable else 200)


@scenario
def a_listener_listens_again_after_a_restart(place):
    with RedisServer() as server:
        client = client_of(place, server.port)
        listener = client.pubsub(ignore_subscribe_messages=True)
        listener.subscribe("news")
        listener.psubscribe("w*")
        until(
            lambda: listener.get_message(timeout=0.01) or client.pubsub_numpat() == 1, "it listens"
        )
        server.stop()
    with RedisServer(port=server.port):
        until(lambda: poll(listener) or client.pubsub_numpat() == 1, "it listens again")
        equal(client.publish("news", "hello"), 1)
        message = until(lambda: poll(listener), "the message")
        equal([message["channel"], message["data"]], ["news", "hello"])
        listener.close()


def poll(listener):
    try:
        return listener.get_message(timeout=0.01)
    except redis.ConnectionError:
        return None
