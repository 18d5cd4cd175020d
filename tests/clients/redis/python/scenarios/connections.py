"""Connections: who they are, the list of them, closing others, and starting over."""

from harness import equal, mapping, raises, scenario, until


def single(place, **more):
    return place.connect(single_connection_client=True, **more)


def named(place, name):
    return [one for one in place.client.client_list() if one["name"] == name]


@scenario
def clients_have_names_and_are_listed(place):
    own = single(place, db=2, client_name="worker-7")
    equal(own.client_getname(), "worker-7")
    info = own.client_info()
    equal(int(info["id"]), own.client_id())
    equal(str(info["resp"]), str(place.protocol))
    (listed,) = named(place, "worker-7")
    equal([listed["id"], listed["db"]], [str(info["id"]), "2"])
    equal(listed["addr"], info["addr"])
    equal([one["lib-name"] for one in named(place, "worker-7")], ["redis-py"])
    equal(own.client_setname("worker-8"), True)
    equal([len(named(place, "worker-7")), len(named(place, "worker-8"))], [0, 1])
    by_id = place.client.client_list(client_id=[info["id"]])
    equal([one["name"] for one in by_id], ["worker-8"])
    with raises("cannot contain spaces"):
        own.client_setname("two words")
    assert own.client_id() < single(place).client_id()


@scenario
def what_a_client_is_doing_is_listed(place):
    own = single(place, client_name="busy")
    own.execute_command("MULTI")
    own.execute_command("GET", "k")
    until(lambda: [one["multi"] for one in named(place, "busy")] == ["1"], "one command is queued")
    assert "x" in named(place, "busy")[0]["flags"]
    own.execute_command("DISCARD")
    until(lambda: [one["multi"] for one in named(place, "busy")] == ["-1"], "nothing is queued")
    listener = place.connect(client_name="listener").pubsub()
    listener.subscribe("news", "weather")
    listener.psubscribe("n*")
    until(lambda: [one["psub"] for one in named(place, "listener")] == ["1"], "it listens")
    (listed,) = named(place, "listener")
    equal([listed["sub"], listed["flags"]], ["2", "P"])
    kinds = place.client.client_list(_type="pubsub")
    equal([one["name"] for one in kinds], ["listener"])
    listener.close()


@scenario
def others_are_closed_and_come_back(place):
    client = place.client
    own = single(place, client_name="victim")
    own.ping()
    (listed,) = named(place, "victim")
    equal(client.client_kill_filter(_id=listed["id"]), 1)
    equal(client.client_kill_filter(_id=listed["id"]), 0)
    equal(named(place, "victim"), [])
    # The client notices, connects again, and is a new one.
    assert until(lambda: answers(own), "it is back")
    (again,) = named(place, "victim")
    assert int(again["id"]) > int(listed["id"])
    equal(client.client_kill(again["addr"]), True)
    equal(named(place, "victim"), [])
    with raises("No such client"):
        client.client_kill("127.0.0.1:1")
    equal(client.ping(), True)


def answers(client):
    try:
        return client.ping()
    except Exception:  # it was closed in the middle; the next attempt connects again
        return False


@scenario
def memory_and_use_are_asked_about_per_client(place):
    own = single(place)
    for name in ("NO-EVICT", "NO-TOUCH"):
        for value in ("ON", "OFF"):
            assert own.execute_command(f"CLIENT {name}", value) in (True, "OK")
        with raises("syntax error"):
            own.execute_command(f"CLIENT {name}", "PERHAPS")
    own.execute_command("CLIENT NO-EVICT", "ON")
    assert "e" in own.client_info()["flags"]
    own.execute_command("CLIENT NO-EVICT", "OFF")
    assert "e" not in own.client_info()["flags"]
    equal(own.client_getredir(), -1)
    with raises("unknown subcommand"):
        own.execute_command("CLIENT NONSENSE")


@scenario
def replies_are_left_out_when_nobody_wants_them(place):
    own = single(place)
    connection = own.connection
    for words in (["CLIENT REPLY", "OFF"], ["SET", "k", "1"], ["INCR", "k"]):
        connection.send_command(*words)
    connection.send_command("CLIENT REPLY", "ON")
    equal(connection.read_response(), "OK")
    connection.send_command("CLIENT REPLY", "SKIP")
    connection.send_command("INCR", "k")
    equal(own.get("k"), "3")


@scenario
def a_connection_starts_over(place):
    run = place.session(protocol=2, db=3, client_name="before")
    run("SET", "k", "v")
    run("WATCH", "k")
    run("MULTI")
    equal(run("RESET"), "RESET")
    equal([run("CLIENT", "GETNAME"), run("EXISTS", "k")], [None, 0])
    hello = mapping(run("HELLO", "2"))
    equal([hello["server"], hello["proto"], hello["role"]], ["redis", 2, "master"])
    with raises("NOPROTO"):
        run("HELLO", "4")
    equal([run("ECHO", "a b"), run("PING", "text"), run("PING")], ["a b", "text", "PONG"])
    assert " resp=2 " in run("CLIENT", "INFO")
