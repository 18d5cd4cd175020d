//! Hostile bytes of the protocols besides HTTP: frames of web sockets, messages of subscriptions,
//! requests of Redis clients.

use jackdaw_slow_tests::mix;
use serde_json::json;

use crate::bytes::{choose, damage};
use crate::thrower::{Input, Port};

const UPGRADE: &[u8] = b"GET /databases/db1/changes HTTP/1.1\r\nHost: localhost\r\n\
    Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

fn frame(first: u8, length: &[u8], payload: &[u8]) -> Vec<u8> {
    [&[first], length, &[0; 4], payload].concat()
}

/// Right handshakes, wrong frames behind them.
pub(crate) fn web_sockets(seed: u64, count: u64) -> Vec<Input> {
    let text = br#"{"CommandId":1,"Command":"watch-docs","Param":null}"#;
    let right = frame(0x81, &[0x80 | 51], text);
    let mut frames = vec![
        (
            "one of 2^63 bytes",
            frame(0x81, &[0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255], b"x"),
        ),
        ("one of a negative length", frame(0x81, &[0xff; 9], b"x")),
        (
            "one of 1 MiB",
            frame(0x81, &[0xff, 0, 0, 0, 0, 0, 16, 0, 0], &vec![b'x'; 1 << 20]),
        ),
        ("without a mask", vec![0x81, 2, b'{', b'}']),
        ("of an unknown kind", frame(0x83, &[0x80], b"")),
        ("with reserved bits", frame(0xf1, &[0x80], b"")),
        ("a long ping", frame(0x89, &[0xfe, 1, 0], &[0; 256])),
        ("a part of a ping", frame(0x09, &[0x80], b"")),
        ("a continuation of nothing", frame(0x80, &[0x80], b"")),
        ("no text", frame(0x81, &[0x82], b"\xff\xfe")),
        ("an empty close", frame(0x88, &[0x80], b"")),
        ("a close of one byte", frame(0x88, &[0x81], b"x")),
        (
            "parts without an end",
            frame(0x01, &[0x81], b"x").repeat(100_000),
        ),
        ("many pings", frame(0x89, &[0x80], b"").repeat(100_000)),
        ("no JSON", frame(0x81, &[0x83], b"{{{")),
        (
            "deep JSON",
            frame(0x81, &[0xfe, 0xff, 0xff], &[b'['; 65_535]),
        ),
    ];
    for wrong in [
        json!(null),
        json!([]),
        json!(5),
        json!({ "Command": 7 }),
        json!({}),
    ] {
        let text = wrong.to_string();
        let length = 0x80 | u8::try_from(text.len()).unwrap_or(0);
        frames.push(("a wrong type", frame(0x81, &[length], text.as_bytes())));
    }
    let many: Vec<u8> = (0..20_000)
        .flat_map(|number| {
            let text =
                format!("{{\"CommandId\":1,\"Command\":\"watch-doc\",\"Param\":\"{number:06}\"}}");
            let length = 0x80 | u8::try_from(text.len()).unwrap_or(0);
            frame(0x81, &[length], text.as_bytes())
        })
        .collect();
    frames.push(("more watched than allowed", many));
    let mut inputs: Vec<Input> = frames
        .into_iter()
        .map(|(name, bytes)| Input::http(format!("frame: {name}"), [UPGRADE, &bytes].concat()))
        .collect();
    inputs.extend((0..count).map(|number| {
        let mut state = mix(seed ^ mix(number | 1 << 40));
        let mut bytes = right.repeat(3);
        for _ in 0..=choose(&mut state, 5) {
            damage(&mut bytes, &mut state);
        }
        Input::http(
            format!("damaged frames {number}"),
            [UPGRADE, &bytes].concat(),
        )
    }));
    inputs
}

/// What is no greeting, and greetings with wrong options behind them.
pub(crate) fn subscriptions(seed: u64, count: u64) -> Vec<Input> {
    let hello = json!({
        "DatabaseName": "db1", "Operation": "Subscription", "OperationVersion": 53_000,
        "LicensedFeatures": null,
    });
    let options = json!({
        "SubscriptionName": "none", "Strategy": "OpenIfFree", "MaxDocsPerBatch": 10,
        "CloseWhenNoDocsLeft": false, "WorkerId": "w",
    });
    let mut texts: Vec<Vec<u8>> = vec![
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"{".repeat(1_000_000),
        b"[".to_vec(),
        b"{\"a\":\""
            .iter()
            .copied()
            .chain(vec![b'x'; 4 << 20])
            .collect(),
        vec![b' '; 4 << 20],
        vec![0; 100],
        b"{}".repeat(10_000),
    ];
    let values = [
        json!(null),
        json!(-1),
        json!(1e300),
        json!(""),
        json!([]),
        json!({}),
        json!(u64::MAX),
    ];
    for (first, second) in [(&hello, &json!({})), (&hello, &options)] {
        let changed = if second == &json!({}) { first } else { second };
        let names: Vec<String> = changed
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect();
        for name in names {
            for value in &values {
                let (mut first, mut second) = (first.clone(), second.clone());
                match second.get(&name) {
                    Some(_) => second[&name] = value.clone(),
                    None => first[&name] = value.clone(),
                }
                texts.push(format!("{first}{second}").into_bytes());
            }
        }
    }
    let right = format!("{hello}{options}").into_bytes();
    texts.extend((0..count).map(|number| {
        let mut state = mix(seed ^ mix(number | 2 << 40));
        let mut bytes = right.clone();
        for _ in 0..=choose(&mut state, 4) {
            damage(&mut bytes, &mut state);
        }
        bytes
    }));
    let one = |(number, bytes): (usize, Vec<u8>)| Input {
        name: format!("message of a subscription {number}"),
        port: Port::Tcp,
        bytes,
    };
    texts.into_iter().enumerate().map(one).collect()
}

fn command(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
    }
    bytes
}

/// Lengths that are none, lists in lists, commands that ask for much.
pub(crate) fn redis(seed: u64, count: u64) -> Vec<Input> {
    let large = "x".repeat(1 << 20);
    let mut texts: Vec<Vec<u8>> = [
        "*1000000000\r\n",
        "*-2\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*99999999999999999999\r\n",
        "*1\r\n$-5\r\n",
        "*1\r\n$999999999999\r\nx",
        "*1\r\n$536870913\r\n",
        "*1\r\n$5\r\nab\r\n",
        "*1\r\n$a\r\n",
        "*1\r\n*1\r\n*1\r\n",
        "*2\r\n$3\r\nGET\r\n:5\r\n",
        "$5\r\nhello\r\n",
        "+OK\r\n",
        "\r\n\r\n\r\n",
        "GET",
        "\0\0\0\0",
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST / HTTP/1.1\r\n\r\n",
        "SET a \"b\r\n",
        "SET a 'b\\x\r\n",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    texts.push(b"*1\r\n".repeat(1_000_000));
    texts.push(vec![b'x'; 4 << 20]);
    texts.push(format!("SET a {large}\r\n").into_bytes());
    for words in [
        &["SETRANGE", "a", "536870911", "x"][..],
        &["SETRANGE", "a", "9223372036854775807", "x"],
        &["SETBIT", "a", "4294967295", "1"],
        &["SETBIT", "a", "99999999999999", "1"],
        &["APPEND", "big", &large],
        &[
            "GETRANGE",
            "a",
            "-9223372036854775808",
            "9223372036854775807",
        ],
        &["INCRBY", "a", "9223372036854775807"],
        &["INCRBYFLOAT", "a", "1e400"],
        &["EXPIRE", "a", "9223372036854775807"],
        &["LRANGE", "a", "-9223372036854775808", "9223372036854775807"],
        &["LINSERT", "a", "BEFORE", "x", "y"],
        &["ZADD", "z", "nan", "a"],
        &["ZADD", "z", "1e400", "a"],
        &["ZRANGE", "z", "(", "[", "BYLEX", "LIMIT", "-1", "-1"],
        &["SRANDMEMBER", "s", "-9223372036854775808"],
        &["SRANDMEMBER", "s", "-1000000000"],
        &["HRANDFIELD", "h", "-1000000000"],
        &["SCAN", "99999999999999999999", "COUNT", "99999999999"],
        &[
            "SCAN",
            "0",
            "MATCH",
            "*a*a*a*a*a*a*a*a*a*a*b",
            "COUNT",
            "1000000",
        ],
        &["KEYS", "[[[[[[[[[a-\\"],
        &["BLPOP", "none", "-1"],
        &["BLPOP", "none", "1e300"],
        &["SUBSCRIBE", "a", "b"],
        &["PSUBSCRIBE", "*"],
        &["MULTI"],
        &["EXEC"],
        &["DEBUG", "SLEEP", "100"],
        &["DEBUG", "SEGFAULT"],
        &["CONFIG", "SET", "dir", "/etc"],
        &["SLAVEOF", "127.0.0.1", "1"],
        &["MIGRATE", "127.0.0.1", "1", "k", "0", "1"],
        &["MODULE", "LOAD", "/tmp/x.so"],
        &["EVAL", "while true do end", "0"],
        &["SAVE"],
        &["SHUTDOWN"],
        &["CLIENT", "KILL", "TYPE", "normal"],
        &["HELLO", "99"],
        &["AUTH", &large],
    ] {
        texts.push(command(words));
        texts.push(command(words).repeat(1_000));
    }
    let plain = [
        command(&["SET", "k", "v", "EX", "100"]),
        command(&["HSET", "h", "f", "v"]),
        command(&["RPUSH", "l", "a", "b", "c"]),
        command(&["ZADD", "z", "1", "a", "2", "b"]),
        command(&[
            "ZRANGEBYSCORE",
            "z",
            "-inf",
            "+inf",
            "WITHSCORES",
            "LIMIT",
            "0",
            "10",
        ]),
        command(&["SADD", "s", "a", "b"]),
        command(&["MGET", "k", "k2", "k3"]),
        b"PING\r\nSET a \"b c\"\r\n".to_vec(),
    ]
    .concat();
    texts.extend((0..count).map(|number| {
        let mut state = mix(seed ^ mix(number | 3 << 40));
        let mut bytes = plain.clone();
        for _ in 0..=choose(&mut state, 6) {
            damage(&mut bytes, &mut state);
        }
        bytes
    }));
    let one = |(number, bytes): (usize, Vec<u8>)| Input {
        name: format!(
            "Redis {number}: {:?}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(60)])
        ),
        port: Port::Redis,
        bytes,
    };
    texts.into_iter().enumerate().map(one).collect()
}
