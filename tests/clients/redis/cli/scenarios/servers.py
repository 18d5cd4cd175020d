"""Servers of their own: with a password, and started again."""

import shutil
import tempfile

from harness import RedisServer, equal, scenario

PASSWORD = "open sesame"


@scenario
def the_password_is_asked_for_and_taken(place):
    with RedisServer(password=PASSWORD) as server:
        run = lambda *words: place.run(*words, port=server.port)  # noqa: E731
        equal(run("GET", "k").out.strip(), "NOAUTH Authentication required.")
        wrong = run("-a", "wrong", "--no-auth-warning", "GET", "k")
        assert "AUTH failed: WRONGPASS" in wrong.err, wrong
        equal(wrong.out.strip(), "NOAUTH Authentication required.")
        equal(run("-a", PASSWORD, "--no-auth-warning", "SET", "k", "v").out, "OK\n")
        equal(
            run("--user", "default", "--pass", PASSWORD, "--no-auth-warning", "-3", "GET", "k").out,
            "v\n",
        )
        uri = f"redis://default:open%20sesame@127.0.0.1:{server.port}/1"
        equal(run("-u", uri, "--no-auth-warning", "DBSIZE").out, "0\n")
        unnamed = run("--user", "somebody", "--pass", PASSWORD, "--no-auth-warning", "GET", "k")
        assert "AUTH failed: WRONGPASS" in unnamed.err, unnamed


@scenario
def after_a_restart_durable_keys_are_there_and_others_are_not(place):
    directory = tempfile.mkdtemp(prefix="jackdaw-redis-cli-")
    arguments = ["--redis-data", f"{directory}/keys"] if place.is_durable else []
    try:
        with RedisServer(*arguments) as server:
            commands = "SET k v EX 1000\nRPUSH l a b c\nLPOP l\nHSET h f 1\nZADD z 1 m\nSELECT 5\nSADD s x\n"
            equal(place.run("-p", server.port, stdin=commands).status, 0)
            lines = "".join(f"SET many:{n} {n}\r\n" for n in range(10_000))
            assert "errors: 0" in place.run("--pipe", stdin=lines, port=server.port).out
            server.kill()
        with RedisServer(*arguments, port=server.port):
            read = "GET k\nLRANGE l 0 -1\nHGET h f\nZSCORE z m\nDBSIZE\nSELECT 5\nSMEMBERS s\n"
            printed = place.run("--raw", stdin=read, port=server.port).out.split("\n")
            if place.is_durable:
                equal(printed, ["v", "b", "c", "1", "1", "10004", "OK", "x", ""])
            else:
                equal(printed[-4:], ["0", "OK", "", ""])
    finally:
        shutil.rmtree(directory)
