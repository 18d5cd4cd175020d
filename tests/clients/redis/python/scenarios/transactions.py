"""MULTI, EXEC, DISCARD, and WATCH with what counts as a change."""

import threading
import time

import redis
from harness import equal, raises, scenario, until


@scenario
def a_transaction_answers_every_command_and_goes_on_after_an_error(place):
    client = place.client
    with client.pipeline(transaction=True) as pipe:
        pipe.set("k", "1").incr("k").lpush("k", "x").rpush("l", "a", "b").lrange("l", 0, -1)
        replies = pipe.execute(raise_on_error=False)
    equal([replies[0], replies[1], replies[3], replies[4]], [True, 2, 2, ["a", "b"]])
    assert isinstance(replies[2], redis.ResponseError) and "WRONGTYPE" in str(replies[2])
    equal(client.get("k"), "2")


@scenario
def a_change_of_a_watched_key_stops_the_transaction(place):
    client, other = place.client, place.connect()
    changes = {
        "a new value": lambda: other.set("k", "v"),
        "the same value": lambda: other.set("k", "1"),
        "a number": lambda: other.incr("k"),
        "the end": lambda: other.delete("k"),
        "a time": lambda: other.expire("k", 100),
        "a new name": lambda: other.rename("k", "away"),
        "another's new name": lambda: other.rename("other", "k"),
        "another database": lambda: other.move("k", 5),
        "an exchange of databases": lambda: other.swapdb(0, 5),
        "no keys": lambda: other.flushdb(),
        "no keys anywhere": lambda: other.flushall(),
    }
    for what, change in changes.items():
        client.flushall()
        client.mset({"k": "1", "other": "2"})
        with client.pipeline() as pipe:
            pipe.watch("unchanged", "k")
            change()
            pipe.multi()
            pipe.set("result", what)
            with raises("WatchError"):
                pipe.execute()
        equal(client.get("result"), None)


@scenario
def what_does_not_change_a_watched_key_does_not_stop_a_transaction(place):
    client, other = place.client, place.connect()
    client.mset({"k": "1", "other": "2"})
    with client.pipeline() as pipe:
        pipe.watch("k", "absent")
        other.get("k")
        other.set("other", "3")
        other.delete("absent")
        other.set("k", "2", nx=True)
        other.persist("k")
        place.connect(db=1).set("k", "other database")
        equal(pipe.get("k"), "1")
        pipe.multi()
        pipe.incr("k")
        equal(pipe.execute(), [2])
    with client.pipeline() as pipe:
        pipe.watch("k")
        other.set("k", "5")
        pipe.unwatch()
        pipe.multi()
        pipe.incr("k")
        equal(pipe.execute(), [6])


@scenario
def a_watched_key_whose_time_is_over_has_changed(place):
    client = place.client
    with client.pipeline() as pipe:
        for millis in (50, 500, 5_000):
            client.set("k", "1", px=millis)
            pipe.watch("k")
            if pipe.exists("k"):
                break  # on a busy machine it may be over before it is watched
            pipe.unwatch()
        until(lambda: not client.exists("k"), "the key is over")
        pipe.multi()
        pipe.set("k", "2")
        with raises("WatchError"):
            pipe.execute()
    equal(client.get("k"), None)
    # One that was over before it was watched has not.
    client.set("k", "1", px=1)
    time.sleep(0.01)
    with client.pipeline() as pipe:
        pipe.watch("k")
        pipe.multi()
        pipe.set("k", "2")
        equal(pipe.execute(), [True])


@scenario
def a_refused_command_discards_the_transaction(place):
    run = place.session()
    equal(run("MULTI"), "OK")
    equal(run("SET", "k", "v"), "QUEUED")
    with raises("wrong number of arguments for 'get' command"):
        run("GET")
    with raises("unknown command 'NOTHING'"):
        run("NOTHING")
    with raises("ExecAbortError", "EXECABORT"):
        run("EXEC")
    equal(run("EXISTS", "k"), 0)
    run("MULTI")
    with raises("MULTI calls can not be nested"):
        run("MULTI")
    with raises("WATCH inside MULTI is not allowed"):
        run("WATCH", "k")
    run("SET", "k", "v")
    run("DISCARD")
    equal(run("EXISTS", "k"), 0)
    for name in ("EXEC", "DISCARD"):
        with raises(f"{name} without MULTI"):
            run(name)


@scenario
def transactions_of_many_clients_lose_nothing(place):
    place.client.mset({"one": 1000, "two": 0})

    def transfer(pipe):
        one, two = int(pipe.get("one")), int(pipe.get("two"))
        pipe.multi()
        pipe.mset({"one": one - 1, "two": two + 1})

    def work(client):
        for _ in range(40):
            client.transaction(transfer, "one", "two")

    threads = [threading.Thread(target=work, args=(place.connect(),)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(place.client.mget("one", "two"), ["800", "200"])
