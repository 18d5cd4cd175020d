//! A web page can send requests of HTTP to this port: none of their lines or bodies is run.

mod support;

use jackdaw_redis::RedisConfig;
use support::{Client, config, framed, start};

const BODY: &str = "SET stolen 1\r\nFLUSHALL\r\n";

/// First lines and headers of requests, as browsers and tools send them.
const HEADS: &[&str] = &[
    "POST / HTTP/1.1\r\nContent-Type: text/plain\r\n\r\n",
    "post /a?b=c HTTP/1.0\r\n\r\n",
    "POST\r\n",
    "POST http://127.0.0.1:6379/ HTTP/1.1\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1:6379\r\n\r\n",
    "GET / HTTP/1.1\r\n",
    "PUT /x HTTP/1.1\r\nAccept: */*\r\n\r\n",
    "DELETE /x http/1.1\r\n",
    "OPTIONS * HTTP/1.1\r\n",
    "SET /x HTTP/1.1\r\n",
    "FLUSHALL / HTTP/1.1\r\n",
    "CONNECT 127.0.0.1:6379\r\nHOST: a\r\n",
    "Host: localhost\r\n",
    "hOsT:localhost\r\n",
    "Host:\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
];

#[test]
fn requests_of_http_end_the_connection_and_run_nothing() {
    let server = start(&config());
    let mut owner = Client::connect(&server);
    assert_eq!(owner.run("SET kept 1"), "OK");
    for head in HEADS {
        for body in [
            BODY.as_bytes().to_vec(),
            framed(&[b"FLUSHALL"]),
            [
                &framed(&[b"SET", b"stolen", b"1"])[..],
                &framed(&[b"FLUSHDB"]),
            ]
            .concat(),
        ] {
            let bytes = [head.as_bytes(), &body].concat();
            // Whole, in two reads at each of some places, and byte by byte.
            for cut in [0, 1, 4, head.len() / 2, head.len()] {
                let mut page = Client::connect(&server);
                page.try_send_bytes(&bytes[..cut]);
                page.try_send_bytes(&bytes[cut..]);
                page.read_until_closed(head);
            }
        }
        assert_eq!(owner.run("DBSIZE"), "1", "{head:?}");
        assert_eq!(owner.run("GET kept"), "\"1\"", "{head:?}");
    }
}

#[test]
fn requests_end_the_connection_inside_of_a_transaction_and_before_a_password() {
    let server = start(&config());
    let mut page = Client::connect(&server);
    assert_eq!(page.run("MULTI"), "OK");
    page.try_send_bytes(b"SET a 1\r\nPOST / HTTP/1.1\r\n\r\nEXEC\r\n");
    page.read_until_closed("in a transaction");
    assert_eq!(Client::connect(&server).run("DBSIZE"), "0");
    let mut locked = config();
    locked.password = Some("secret".into());
    let server = start(&locked);
    let mut page = Client::connect(&server);
    page.try_send_bytes(b"POST / HTTP/1.1\r\n\r\nAUTH secret\r\nSET a 1\r\n");
    page.read_until_closed("before a password");
    let mut owner = Client::connect(&server);
    owner.run("AUTH secret");
    assert_eq!(owner.run("DBSIZE"), "0");
}

#[test]
fn framed_names_of_requests_end_the_connection_and_values_do_not() {
    let server = start(&config());
    for name in ["POST", "host:"] {
        let mut page = Client::connect(&server);
        page.try_send_bytes(&framed(&[name.as_bytes(), b"x"]));
        page.try_send_bytes(&framed(&[b"SET", b"stolen", b"1"]));
        page.read_until_closed(name);
    }
    let mut owner = Client::connect(&server);
    for words in [
        [&b"SET"[..], b"POST", b"Host:"],
        [b"SET", b"/path", b"HTTP/1.1"],
        [b"SET", b"Host:", b"POST / HTTP/1.1"],
    ] {
        assert_eq!(owner.run_words(&words), "OK");
    }
    // A person at a terminal may store such words, too.
    owner.send_bytes(b"SET version HTTP/1.1\r\nSET a /path\r\n");
    assert_eq!(owner.reply(), "OK");
    assert_eq!(owner.reply(), "OK");
    assert_eq!(owner.run("DBSIZE"), "5");
}

#[test]
fn keys_have_a_share_of_the_memory_unless_a_budget_is_set() {
    let config = RedisConfig::default().for_memory(1 << 30);
    assert_eq!(config.memory_bytes, 256 << 20);
    assert!(RedisConfig::default().for_memory(0).memory_bytes > 0);
}
