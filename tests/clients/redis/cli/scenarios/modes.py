"""What redis-cli does by itself: scans, large keys, statistics, repetition, formats."""

import json

from harness import equal, scenario


@scenario
def a_scan_prints_every_key_once(place):
    place.run(
        "--pipe", stdin="".join(f"SET text:{n} v\r\nSADD set:{n} v\r\n" for n in range(2_000))
    )
    printed = place.run("--scan").out.split()
    equal(len(printed), 4_000)
    equal(set(printed), {f"{kind}:{n}" for kind in ("text", "set") for n in range(2_000)})
    chosen = place.run("--scan", "--pattern", "text:199?").out.split()
    equal(sorted(chosen), [f"text:199{n}" for n in range(10)])
    equal(place.run("--scan", "--pattern", "nothing*").out, "")


@scenario
def large_keys_are_found(place):
    place.raw("SET", "short", "v")
    place.raw("SET", "long", "v" * 5_000)
    place.raw("RPUSH", "list", *range(40))
    place.raw("HSET", "hash", "f", "v")
    printed = place.run("--bigkeys").out
    assert "Sampled 4 keys in the keyspace!" in printed, printed
    assert "has 5000 bytes" in printed and "has 40 items" in printed, printed
    printed = place.run("--memkeys").out
    assert "Biggest string found '\"long\"'" in printed, printed


@scenario
def a_command_is_repeated(place):
    equal(place.run("-r", "5", "INCR", "n").out, "1\n2\n3\n4\n5\n")
    equal(place.run("-r", "2", "-i", "0.01", "PING").out, "PONG\nPONG\n")
    equal(place.script("3 INCR n\n"), "(integer) 6\n(integer) 7\n(integer) 8")


@scenario
def replies_are_printed_as_csv_and_json(place):
    place.raw("RPUSH", "l", "a", 'say "b"', "3")
    equal(place.run("--csv", "LRANGE", "l", "0", "-1").out, '"a","say \\"b\\"","3"\n')
    equal(place.run("--csv", "LLEN", "l").out, "3\n")
    place.raw("HSET", "h", "a", "1", "b", "2")
    printed = place.run("-3", "--json", "HGETALL", "h").out
    equal(json.loads(printed), {"a": "1", "b": "2"})
    printed = place.run("-3", "--json", "LRANGE", "l", "0", "-1").out
    equal(json.loads(printed), ["a", 'say "b"', "3"])


@scenario
def values_come_from_standard_input(place):
    value = bytes(range(1, 256)) * 5_000
    equal(place.run("-x", "SET", "k", stdin=value).out, b"OK\n")
    equal(place.run("--raw", "GET", "k", stdin=b"").out, value + b"\n")
    equal(place.run("-X", "tag", "HSET", "h", "f", "tag", stdin="from a file").out, "1\n")
    equal(place.raw("HGET", "h", "f"), "from a file")


@scenario
def statistics_are_printed(place):
    place.raw("MSET", "a", "1", "b", "2")
    with place.listening("--stat", "-i", "0.05") as stat:
        lines = stat.until_lines(4)
    assert lines[1].startswith("keys"), lines
    for line in lines[2:4]:
        equal(line.split()[0], "2")
