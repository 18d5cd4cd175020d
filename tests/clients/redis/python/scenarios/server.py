"""What the server tells of itself, its settings, and the budget of keys."""

import time

from harness import equal, mapping, raises, scenario, settings


@scenario
def settings_are_read_changed_and_put_back(place):
    client = place.client
    share = client.config_get("maxmemory")
    assert int(share["maxmemory"]) > 0, "without --redis-memory, a share of the machine's memory"
    both = client.config_get("maxmemory", "maxclient?")
    equal(set(both), {"maxmemory", "maxclients"})
    assert len(client.config_get("*")) > 20
    equal(client.config_get("nothing"), {})
    with settings(client, maxmemory="100mb", slowlog_max_len="7"):
        equal(client.config_get("maxmemory"), {"maxmemory": str(100 << 20)})
        equal(client.config_get("slowlog-max-len"), {"slowlog-max-len": "7"})
        equal(client.info("memory")["maxmemory"], 100 << 20)
    equal(client.config_get("maxmemory"), share)
    with raises("Unknown option"):
        client.config_set("nothing", "1")
    with raises("immutable"):
        client.config_set("databases", "3")


@scenario
def several_settings_change_together_or_not_at_all(place):
    client = place.client
    names = ("maxmemory", "maxmemory-policy", "slowlog-max-len")
    with settings(client, maxmemory="0", maxmemory_policy="noeviction", slowlog_max_len="128"):
        before = client.config_get(*names)
        set_all = ["CONFIG SET", "maxmemory", "50mb", "slowlog-max-len", "9"]
        with raises("maxmemory-policy"):
            client.execute_command(*set_all, "maxmemory-policy", "nonsense")
        equal(client.config_get(*names), before)
        client.execute_command(*set_all, "maxmemory-policy", "allkeys-lru")
        expected = {
            "maxmemory": str(50 << 20),
            "maxmemory-policy": "allkeys-lru",
            "slowlog-max-len": "9",
        }
        equal(client.config_get(*names), expected)


@scenario
def commands_are_described(place):
    client = place.client
    count = client.command_count()
    assert count > 170
    names = client.command_list()
    equal([len(names), len(set(names))], [count, count])
    commands = client.command()
    equal(set(commands), set(names))
    get, blpop = commands["get"], commands["blpop"]
    equal([get["arity"], get["first_key_pos"], get["last_key_pos"]], [2, 1, 1])
    equal([blpop["arity"], blpop["last_key_pos"], "blocking" in blpop["flags"]], [-3, -2, True])
    described = client.execute_command("COMMAND INFO", "set", "nothing")
    equal([described[0][0], described[0][1], described[1]], ["set", -3, None])
    docs = mapping(client.execute_command("COMMAND DOCS", "zadd", "nothing"))
    equal(list(docs), ["zadd"])
    equal(mapping(docs["zadd"])["group"], "sorted-set")


@scenario
def keys_of_a_command_are_told(place):
    keys = place.client.command_getkeys
    equal(keys("GET", "a"), ["a"])
    equal(keys("MSET", "a", "1", "b", "2"), ["a", "b"])
    equal(keys("BLPOP", "a", "b", "0"), ["a", "b"])
    equal(keys("BITOP", "AND", "d", "a", "b"), ["d", "a", "b"])
    equal(keys("ZUNION", "2", "a", "b", "WITHSCORES"), ["a", "b"])
    equal(keys("ZUNIONSTORE", "d", "2", "a", "b"), ["d", "a", "b"])
    equal(keys("BLMPOP", "0", "2", "a", "b", "LEFT"), ["a", "b"])
    equal(keys("SINTERCARD", "1", "a"), ["a"])
    equal(keys("OBJECT", "ENCODING", "a"), ["a"])
    with raises("no key arguments"):
        keys("PING")
    with raises("Invalid command"):
        keys("NOTHING", "a")
    with raises("Invalid number of arguments"):
        keys("GET")


@scenario
def info_counts_what_happened(place):
    client = place.client
    sections = client.info()
    equal(
        [sections["redis_mode"], sections["server_name"], sections["role"]],
        ["standalone", "jackdaw", "master"],
    )
    assert sections["redis_version"].startswith("7.")
    equal(sections["tcp_port"], place.port)
    client.mset({"a": "1", "b": "2"})
    client.expire("a", 100)
    place.connect(db=4).set("c", "3")
    keys = client.info("keyspace")
    equal(set(keys), {"db0", "db4"})
    equal([keys["db0"]["keys"], keys["db0"]["expires"], keys["db4"]["keys"]], [2, 1, 1])
    client.config_resetstat()
    for key in ("a", "b", "absent"):
        client.get(key)
    stats = client.info("stats")
    equal([stats["keyspace_hits"], stats["keyspace_misses"]], [2, 1])
    gets = client.info("commandstats")["cmdstat_get"]["calls"]
    client.get("a")
    equal(client.info("commandstats")["cmdstat_get"]["calls"], gets + 1)
    assert stats["total_commands_processed"] >= 3
    assert client.info("memory")["used_memory"] > 0
    equal(client.info("persistence")["aof_last_write_status"], "ok")
    assert client.info("clients")["connected_clients"] >= 2


@scenario
def times_and_slow_commands_are_told(place):
    client = place.client
    seconds, micros = client.time()
    assert abs(seconds + micros / 1e6 - time.time()) < 5
    assert abs(client.lastsave().timestamp() - time.time()) < 5
    client.slowlog_reset()
    with settings(client, slowlog_log_slower_than="0"):
        client.sunion("a", "b")
    entries = [one for one in client.slowlog_get(10) if b"SUNION" in text(one["command"])]
    equal(len(entries), 1)
    assert entries[0]["duration"] >= 0
    assert client.slowlog_len() >= 1
    client.slowlog_reset()
    equal(client.wait(0, 10), 0)


def text(command):
    return command if isinstance(command, bytes) else command.encode()


@scenario
def the_budget_refuses_writes_or_makes_room(place):
    client = place.client
    value = "v" * 10_000
    with settings(client, maxmemory="1mb", maxmemory_policy="noeviction"):
        with raises("OutOfMemoryError"):
            for number in range(400):
                client.set(f"k{number}", value)
        kept = client.dbsize()
        assert 20 < kept < 200, kept
        with raises("OutOfMemoryError"):
            client.rpush("l", "x")
        equal(client.get("k0"), value)
        equal(client.delete("k0", "k1", "k2"), 3)
        client.set("k0", value)
        # Only keys with a time may go.
        client.config_set("maxmemory-policy", "volatile-lru")
        with raises("OutOfMemoryError"):
            for number in range(400):
                client.set(f"k{number}", value)
        client.config_set("maxmemory-policy", "allkeys-lru")
        for number in range(400):
            client.set(f"new{number}", value)
        assert client.dbsize() < 200
        equal(client.get("new399"), value)
        assert client.info("stats")["evicted_keys"] > 100
