"""Numbers in strings and hashes: exact, bounded, and added to by many at once."""

import threading

from harness import equal, raises, scenario

GREATEST, LEAST = 2**63 - 1, -(2**63)


@scenario
def whole_numbers_count_to_their_bounds_and_no_further(place):
    client = place.client
    equal([client.incr("n"), client.incrby("n", 41), client.decr("n")], [1, 42, 41])
    equal(client.decrby("n", 50), -9)
    equal(client.get("n"), "-9")
    client.set("n", GREATEST - 1)
    equal(client.incr("n"), GREATEST)
    with raises("increment or decrement would overflow"):
        client.incr("n")
    equal(client.get("n"), str(GREATEST))
    client.set("n", LEAST)
    with raises("increment or decrement would overflow"):
        client.decrby("n", 1)
    with raises("decrement would overflow"):
        client.execute_command("DECRBY", "n", LEAST)
    with raises("value is not an integer or out of range"):
        client.execute_command("INCRBY", "n", GREATEST + 1)
    equal(client.get("n"), str(LEAST))


@scenario
def only_plain_digits_are_whole_numbers(place):
    client = place.client
    for text in ("", " 1", "1 ", "+1", "01", "1.0", "1e3", "one", str(GREATEST + 1)):
        client.set("n", text)
        with raises("value is not an integer or out of range"):
            client.incr("n")
        equal(client.get("n"), text)
    client.rpush("list", "1")
    with raises("WRONGTYPE"):
        client.incr("list")


@scenario
def floating_point_numbers_are_added(place):
    client = place.client
    equal(client.incrbyfloat("f", "10.5"), 10.5)
    equal(client.incrbyfloat("f", "0.1"), 10.6)
    equal(client.get("f"), "10.6")
    equal(client.incrbyfloat("f", "-5.6"), 5)
    equal(client.get("f"), "5")
    client.set("f", "5.0e3")
    equal(client.incrbyfloat("f", "2.0e2"), 5200)
    equal(client.get("f"), "5200")
    for amount in ("inf", "-inf"):
        with raises("increment would produce NaN or Infinity"):
            client.incrbyfloat("f", amount)
    for amount in ("nan", "1x", ""):
        with raises("value is not a valid float"):
            client.incrbyfloat("f", amount)
    equal(client.get("f"), "5200")


@scenario
def fields_of_hashes_count_too(place):
    client = place.client
    equal(client.hincrby("h", "n", 5), 5)
    equal(client.hincrby("h", "n", -7), -2)
    equal(client.hincrbyfloat("h", "f", 0.5), 0.5)
    client.hset("h", mapping={"text": "x", "max": GREATEST})
    with raises("hash value is not an integer"):
        client.hincrby("h", "text", 1)
    with raises("hash value is not a float"):
        client.hincrbyfloat("h", "text", 1)
    with raises("increment or decrement would overflow"):
        client.hincrby("h", "max", 1)
    expected = {"n": "-2", "f": "0.5", "text": "x", "max": str(GREATEST)}
    equal(client.hgetall("h"), expected)


@scenario
def counts_of_many_clients_at_once_add_up(place):
    def count(client):
        for _ in range(200):
            client.incr("n")
            client.hincrby("h", "n", 2)
            client.zincrby("z", 0.5, "n")

    threads = [threading.Thread(target=count, args=(place.connect(),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(place.client.get("n"), "1600")
    equal(place.client.hget("h", "n"), "3200")
    equal(place.client.zscore("z", "n"), 800)
