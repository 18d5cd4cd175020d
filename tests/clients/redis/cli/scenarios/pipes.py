"""Mass insertion with `--pipe`: commands in the protocol or in lines, thousands at once."""

from harness import equal, scenario


def framed(*words):
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    lengths = b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
    return b"*%d\r\n" % len(parts) + lengths


@scenario
def a_hundred_thousand_commands_are_inserted(place):
    commands = b"".join(framed("SET", f"key:{n}", f"value {n}") for n in range(100_000))
    done = place.run("--pipe", stdin=commands)
    equal(done.status, 0)
    assert b"errors: 0, replies: 100000" in done.out, done
    equal(place.raw("DBSIZE"), "100000")
    equal(place.raw("MGET", "key:0", "key:50000", "key:99999"), "value 0\nvalue 50000\nvalue 99999")


@scenario
def lines_are_inserted_too(place):
    lines = "".join(f'RPUSH l "element {n}"\r\nHSET h f{n} {n}\r\n' for n in range(5_000))
    done = place.run("--pipe", stdin=lines)
    assert "errors: 0, replies: 10000" in done.out, done
    equal(place.raw("LINDEX", "l", "4999"), "element 4999")
    equal(place.raw("HGET", "h", "f4999"), "4999")
    equal(place.raw("LLEN", "l"), "5000")


@scenario
def errors_of_a_mass_insertion_are_counted(place):
    commands = [framed("SET", "text", "v")]
    for number in range(1_000):
        commands.append(framed("LPUSH", "text" if number % 10 == 0 else "list", number))
    done = place.run("--pipe", stdin=b"".join(commands))
    equal(done.status, 1)
    assert b"errors: 100, replies: 1001" in done.out, done.out
    equal(done.err.count(b"WRONGTYPE Operation against a key"), 100)
    equal(place.raw("LLEN", "list"), "900")


@scenario
def large_values_of_any_bytes_are_inserted(place):
    value = bytes(range(256)) * 4_096
    commands = b"".join(framed("SET", b"bin\r\n\x00%d" % n, value) for n in range(64))
    done = place.run("--pipe", stdin=commands)
    assert b"errors: 0, replies: 64" in done.out, done.out
    equal(place.raw("DBSIZE"), "64")
    got = place.run("--raw", "-D", "", stdin=b'GET "bin\\r\\n\\x0063"\n').out
    assert got == value, len(got)
