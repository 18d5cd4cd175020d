"""Lines of commands on standard input: one connection for all of them."""

import re

from harness import equal, scenario


@scenario
def lines_are_commands_of_one_connection(place):
    printed = place.script(
        'SELECT 4\nSET "a key" "line\\nbreak \\x00"\nGET "a key"\nCLIENT SETNAME me\nCLIENT GETNAME\n'
    )
    equal(printed, 'OK\nOK\n"line\\nbreak \\x00"\nOK\n"me"')
    equal(place.run("-n", "4", "--no-raw", "STRLEN", "a key").out, "(integer) 12\n")


@scenario
def a_transaction_is_queued_and_carried_out(place):
    printed = place.script("MULTI\nSET k 1\nINCR k\nLPUSH k x\nGET k\nEXEC\n")
    expected = [
        "OK",
        "QUEUED",
        "QUEUED",
        "QUEUED",
        "QUEUED",
        "1) OK",
        "2) (integer) 2",
        "3) (error) WRONGTYPE Operation against a key holding the wrong kind of value",
        '4) "2"',
    ]
    equal(printed.split("\n"), expected)


@scenario
def a_transaction_is_discarded_or_refused(place):
    printed = place.script("MULTI\nSET k 1\nDISCARD\nEXISTS k\nDISCARD\n")
    equal(printed.split("\n")[2:], ["OK", "(integer) 0", "(error) ERR DISCARD without MULTI"])
    printed = place.script("MULTI\nGET\nSET k 1\nEXEC\nEXISTS k\n").split("\n")
    equal(printed[1], "(error) ERR wrong number of arguments for 'get' command")
    equal(printed[3], "(error) EXECABORT Transaction discarded because of previous errors.")
    equal(printed[4], "(integer) 0")


@scenario
def a_change_of_a_watched_key_stops_the_transaction(place):
    with place.talking() as own:
        own.say("SET k 1", 1)
        equal(own.say("WATCH k", 2), "OK")
        equal(place.shown("APPEND", "k", "0"), "(integer) 2")
        own.say("MULTI", 3)
        equal(own.say("SET k 2", 4), "QUEUED")
        equal(own.say("EXEC", 5), "(nil)")
    equal(place.shown("GET", "k"), '"10"')
    printed = place.script("SET k 1\nWATCH k\nMULTI\nINCR k\nEXEC\n")
    equal(printed.split("\n")[-1], "1) (integer) 2")


@scenario
def help_is_made_of_what_the_server_describes(place):
    printed = place.run(stdin="help zadd\n").out
    assert "ZADD" in printed and "Adds members or changes their scores" in printed, printed
    assert re.search(r"group:\S* sorted-set", printed), printed


@scenario
def a_connection_that_was_reset_is_like_a_new_one(place):
    lines = place.script("SELECT 3\nCLIENT SETNAME me\nRESET\nCLIENT GETNAME\nSET k v\n").split(
        "\n"
    )
    equal(lines, ["OK", "OK", "RESET", "(nil)", "OK"])
    equal(place.raw("GET", "k"), "v")
