"""Keys through redis-py, unchanged: python redis_keys.py HOST PORT

Counters, expiry, hashes, lists that are waited for, sorted sets, transactions with WATCH, scans and
messages, over RESP2 and RESP3. Ends with an error when anything is not as it should be.
"""

import sys
import threading

import redis


def strings(client: redis.Redis) -> None:
    assert client.set("greeting", "hello", ex=100)
    assert client.get("greeting") == "hello"
    assert 0 < client.ttl("greeting") <= 100
    assert client.set("greeting", "again", nx=True) is None
    assert client.incrby("visits", 5) == 5
    assert client.incrbyfloat("ratio", 1.5) == 1.5
    assert client.mget("greeting", "nothing") == ["hello", None]
    assert client.setrange("text", 3, "abc") == 6
    assert client.getex("greeting", persist=True) == "hello"
    assert client.ttl("greeting") == -1


def collections(client: redis.Redis) -> None:
    client.hset("user:1", mapping={"name": "Ada", "city": "London"})
    assert client.hgetall("user:1") == {"name": "Ada", "city": "London"}
    assert client.hincrby("user:1", "logins", 2) == 2
    client.rpush("jobs", "a", "b", "c")
    assert client.lrange("jobs", 0, -1) == ["a", "b", "c"]
    assert client.lmove("jobs", "done", "LEFT", "RIGHT") == "a"
    client.sadd("tags", "x", "y")
    assert client.smembers("tags") == {"x", "y"}
    client.zadd("scores", {"ada": 3, "bob": 1.5, "eve": 2})
    assert client.zrange("scores", 0, -1, withscores=True)[0][0] == "bob"
    assert client.zrangebyscore("scores", 2, 3) == ["eve", "ada"]
    assert client.zrank("scores", "ada") == 2


def waiting(client: redis.Redis) -> None:
    pusher = threading.Timer(0.05, lambda: client.rpush("queue", "job"))
    pusher.start()
    assert list(client.blpop("queue", timeout=10)) == ["queue", "job"]
    pusher.join()
    assert client.blpop("queue", timeout=0.05) is None


def transactions(client: redis.Redis) -> None:
    client.set("balance", 10)
    with client.pipeline() as pipe:
        pipe.watch("balance")
        client.set("balance", 20)
        pipe.multi()
        pipe.incr("balance")
        try:
            pipe.execute()
            raise AssertionError("a watched key had changed")
        except redis.WatchError:
            pass
    with client.pipeline(transaction=True) as pipe:
        assert pipe.incr("balance").get("balance").execute() == [21, "21"]


def scans(client: redis.Redis) -> None:
    client.mset({f"scan:{number}": number for number in range(1000)})
    assert len(set(client.scan_iter(match="scan:*", count=100))) == 1000
    client.hset("wide", mapping={f"f{number}": number for number in range(500)})
    assert len(dict(client.hscan_iter("wide"))) == 500


def messages(client: redis.Redis) -> None:
    listener = client.pubsub(ignore_subscribe_messages=True)
    listener.subscribe("news")
    listener.psubscribe("n*")
    while client.pubsub_numsub("news")[0][1] == 0 or client.pubsub_numpat() == 0:
        listener.get_message(timeout=1)
    assert client.publish("news", "hello") == 2
    got = []
    while len(got) < 2:
        message = listener.get_message(timeout=10)
        if message:
            got.append((message["type"], message["data"]))
    assert sorted(got) == [("message", "hello"), ("pmessage", "hello")]
    listener.close()


def main() -> None:
    host, port = sys.argv[1], int(sys.argv[2])
    for protocol in (2, 3):
        client = redis.Redis(host=host, port=port, protocol=protocol, decode_responses=True)
        client.flushall()
        for chapter in (strings, collections, waiting, transactions, scans, messages):
            chapter(client)
        assert client.client_info()["resp"] in (protocol, str(protocol))
        print(f"redis-py {redis.__version__} over RESP{protocol}: six chapters passed")


if __name__ == "__main__":
    main()
