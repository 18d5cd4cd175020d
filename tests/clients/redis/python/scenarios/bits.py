"""Bits of strings, and strings combined bit by bit."""

from harness import equal, raises, scenario


@scenario
def bits_are_set_read_and_counted(place):
    client, raw = place.client, place.bytes_client()
    equal(client.setbit("b", 7, 1), 0)
    equal(client.setbit("b", 7, 1), 1)
    equal([client.getbit("b", bit) for bit in (0, 7, 100)], [0, 1, 0])
    equal(raw.get("b"), b"\x01")
    equal(client.setbit("b", 23, 1), 0)
    equal(raw.get("b"), b"\x01\x00\x01")
    equal(client.setbit("b", 7, 0), 1)
    client.set("text", "foobar")
    equal(client.bitcount("text"), 26)
    equal(client.bitcount("text", 0, 0), 4)
    equal(client.bitcount("text", 1, 1), 6)
    equal(client.bitcount("text", -2, -1), 7)
    equal(client.bitcount("text", 5, 30, "BIT"), 17)
    equal(client.bitcount("absent"), 0)


@scenario
def the_first_bit_is_found(place):
    client = place.client
    client.set("ones", b"\xff\xf0\x00")
    equal(client.bitpos("ones", 0), 12)
    client.set("zeros", b"\x00\xff\xf0")
    equal(client.bitpos("zeros", 1, 0), 8)
    equal(client.bitpos("zeros", 1, 2), 16)
    equal(client.bitpos("zeros", 1, 0, 7, "BIT"), -1)
    client.set("full", b"\xff\xff\xff")
    equal(client.bitpos("full", 0), 24)
    equal(client.bitpos("full", 0, 0, -1), -1)
    equal(client.bitpos("absent", 1), -1)
    equal(client.bitpos("absent", 0), 0)


@scenario
def strings_are_combined_bit_by_bit(place):
    client, raw = place.client, place.bytes_client()
    first, second = b"foobar", b"abcdefgh"
    raw.mset({"first": first, "second": second})
    padded = first.ljust(len(second), b"\0")
    for name, combine in [
        ("AND", lambda a, b: a & b),
        ("OR", lambda a, b: a | b),
        ("XOR", lambda a, b: a ^ b),
    ]:
        equal(client.bitop(name, "result", "first", "second"), len(second))
        equal(raw.get("result"), bytes(combine(a, b) for a, b in zip(padded, second)))
    equal(client.bitop("NOT", "result", "first"), len(first))
    equal(raw.get("result"), bytes(255 - byte for byte in first))
    equal(client.bitop("OR", "result", "absent", "nothing"), 0)
    equal(client.exists("result"), 0)
    with raises("single source key"):
        client.bitop("NOT", "result", "first", "second")


@scenario
def bits_out_of_range_are_refused(place):
    client = place.client
    for offset in (-1, 2**32):
        with raises("bit offset is not an integer or out of range"):
            client.setbit("b", offset, 1)
    with raises("bit is not an integer or out of range"):
        client.execute_command("SETBIT", "b", 1, 2)
    equal(client.exists("b"), 0)
