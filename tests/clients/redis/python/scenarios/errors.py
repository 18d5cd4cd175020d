"""Errors: their words, which programs look for, and that nothing changed."""

from harness import equal, raises, scenario
from scenarios.keys import VALUES, held

# One command at least of every group, for the types that it is not for.
COMMANDS = {
    "string": [
        "GET k",
        "APPEND k x",
        "STRLEN k",
        "INCR k",
        "GETRANGE k 0 1",
        "SETBIT k 1 1",
        "BITCOUNT k",
        "GETDEL k",
    ],
    "list": [
        "LPUSH k x",
        "RPOP k",
        "LLEN k",
        "LRANGE k 0 1",
        "LSET k 0 x",
        "LINSERT k BEFORE a b",
        "LMOVE k d LEFT LEFT",
        "BLPOP k 1",
    ],
    "hash": [
        "HSET k f v",
        "HGET k f",
        "HGETALL k",
        "HDEL k f",
        "HINCRBY k f 1",
        "HSCAN k 0",
        "HRANDFIELD k",
    ],
    "set": [
        "SADD k x",
        "SMEMBERS k",
        "SPOP k",
        "SINTER k d",
        "SCARD k",
        "SSCAN k 0",
        "SMOVE k d a",
    ],
    "zset": [
        "ZADD k 1 x",
        "ZRANGE k 0 1",
        "ZSCORE k a",
        "ZPOPMIN k",
        "ZCOUNT k 0 1",
        "ZSCAN k 0",
        "BZPOPMIN k 1",
    ],
}


@scenario
def commands_for_another_type_are_refused_and_change_nothing(place):
    client = place.client
    for kind, make in VALUES.items():
        make(client, "k")
        value = held(client, "k")
        for other, commands in COMMANDS.items():
            for command in commands if other != kind else []:
                with raises("WRONGTYPE Operation against a key holding the wrong kind of value"):
                    client.execute_command(*command.split())
                equal(held(client, "k"), value)
        equal(client.keys(), ["k"])
        client.delete("k")


@scenario
def commands_with_too_few_or_too_many_words_are_refused(place):
    client = place.client
    for command in (
        "GET",
        "GET a b",
        "SET a",
        "HSET h f",
        "LPUSH l",
        "SADD s",
        "EXPIRE k",
        "TTL",
        "MULTI x",
        "RENAME a",
        "SUBSCRIBE",
        "SCAN",
        "EXISTS",
        "PING a b",
        "MSET a",
        "MSET a 1 b",
        "DBSIZE x",
        "ECHO",
        "SELECT",
    ):
        name = command.split()[0].lower()
        with raises(f"wrong number of arguments for '{name}' command"):
            client.execute_command(*command.split())
    equal(client.dbsize(), 0)


@scenario
def unknown_commands_and_words_are_told(place):
    client = place.client
    with raises("unknown command 'NOTHING', with args beginning with: 'a' 'b c'"):
        client.execute_command("NOTHING", "a", "b c")
    with raises("unknown command 'EVAL'"):
        client.eval("return 1", 0)
    for command in (
        "SET k v PERHAPS",
        "SET k v NX XX",
        "ZADD z 1 a 2",
        "COPY a b TO c",
        "SINTERCARD 1 a LIMIT",
    ):
        with raises("syntax error"):
            client.execute_command(*command.split())
    for command in ("CLIENT NONSENSE", "CONFIG NONSENSE", "COMMAND NONSENSE", "OBJECT NONSENSE"):
        with raises("unknown subcommand"):
            client.execute_command(command)
    equal(client.dbsize(), 0)


@scenario
def an_error_leaves_the_connection_in_order(place):
    own = place.connect(single_connection_client=True)
    first = own.client_id()
    for _ in range(50):
        with raises("WRONGTYPE", "unknown command", "not an integer"):
            own.execute_command("NOTHING\r\nSET k v", "x" * 3_000)
        own.set("k", "text")
        with raises("WRONGTYPE"):
            own.lpush("k", "x")
        with raises("not an integer"):
            own.incr("k")
        equal(own.get("k"), "text")
    equal(own.client_id(), first)
