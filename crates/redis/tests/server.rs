//! The server as a whole: waiting, publishing, passwords, memory, limits, and what is durable.

mod support;

use std::net::SocketAddr;

use jackdaw_redis::{EvictionPolicy, RedisServer, StartError};
use support::{Client, Directory, config, start};

#[test]
fn waiting_clients_are_served_in_the_order_of_their_coming() {
    let server = start(&config());
    let mut clients: Vec<Client> = (0..3).map(|_| Client::connect(&server)).collect();
    let mut pusher = Client::connect(&server);
    let last = clients[2].run("CLIENT ID");
    for (number, client) in (1..).zip(&mut clients) {
        client.send("BLPOP nothing list 0");
        while !pusher
            .run("INFO clients")
            .contains(&format!("blocked_clients:{number}"))
        {}
    }
    assert_eq!(pusher.run("RPUSH list a b"), "2");
    // The elements were handed on before the next command.
    assert_eq!(pusher.run("EXISTS list"), "0");
    assert_eq!(clients[0].reply(), "[\"list\", \"a\"]");
    assert_eq!(clients[1].reply(), "[\"list\", \"b\"]");
    assert_eq!(pusher.run(&format!("CLIENT UNBLOCK {last}")), "1");
    assert_eq!(clients[2].reply(), "nil");
    clients[2].send("BLMOVE from to LEFT RIGHT 0");
    while !pusher.run("INFO clients").contains("blocked_clients:1") {}
    clients[1].send("BLPOP to 0");
    while !pusher.run("INFO clients").contains("blocked_clients:2") {}
    pusher.run("LPUSH from x");
    assert_eq!(clients[2].reply(), "\"x\"");
    assert_eq!(clients[1].reply(), "[\"to\", \"x\"]");
    clients[0].send("BZPOPMIN sorted 0.01");
    assert_eq!(clients[0].reply(), "nil");
}

#[test]
fn others_see_what_a_client_is_doing() {
    let server = start(&config());
    let mut busy = Client::connect(&server);
    let mut other = Client::connect(&server);
    let id = busy.run("CLIENT ID");
    let mut seen = |members: &[&str]| {
        let line = other.run(&format!("CLIENT LIST ID {id}"));
        for member in members {
            assert!(line.contains(member), "{member}: {line}");
        }
    };
    seen(&[" flags=N ", " multi=-1 ", " cmd=client "]);
    busy.run("MULTI");
    busy.run("INCR n");
    seen(&[" flags=x ", " multi=1 ", " cmd=incr "]);
    busy.run("EXEC");
    seen(&[" flags=N ", " multi=-1 ", " cmd=exec "]);
    busy.run("SELECT 3");
    busy.run("SUBSCRIBE news");
    seen(&[" flags=P ", " db=3 ", " sub=1 ", " cmd=subscribe "]);
}

#[test]
fn messages_reach_channels_and_patterns_on_both_protocols() {
    let server = start(&config());
    let mut first = Client::connect(&server);
    let mut second = Client::connect(&server);
    let mut sender = Client::connect(&server);
    assert_eq!(first.run("SUBSCRIBE news"), "[\"subscribe\", \"news\", 1]");
    assert!(
        first
            .run("GET a")
            .starts_with("(error) ERR Can't execute 'get'")
    );
    second.run("HELLO 3");
    assert_eq!(second.run("PSUBSCRIBE n*"), "[\"psubscribe\", \"n*\", 1]");
    assert_eq!(sender.run("PUBLISH news hello"), "2");
    assert_eq!(first.reply(), "[\"message\", \"news\", \"hello\"]");
    assert_eq!(
        second.reply(),
        "[\"pmessage\", \"n*\", \"news\", \"hello\"]"
    );
    assert_eq!(
        sender.run("PUBSUB NUMSUB news old"),
        "[\"news\", 1, \"old\", 0]"
    );
    assert_eq!(first.run("UNSUBSCRIBE"), "[\"unsubscribe\", \"news\", 0]");
    assert_eq!(first.run("GET a"), "nil");
    drop(second);
    while sender.run("PUBSUB NUMPAT") != "0" {}
    assert_eq!(sender.run("PUBLISH news again"), "0");
}

/// A single loop looks ahead for the keys of a pipeline; that must not show, however bytes come.
#[test]
fn a_pipeline_is_answered_alike_with_one_loop_and_with_two() {
    let mut bytes = Vec::new();
    let count = 400;
    for number in 0..count {
        let key = format!("key:{}", number % 50);
        let long = vec![b'v'; number * 7];
        let command: &[&[u8]] = match number % 9 {
            0 | 1 => &[b"SET", key.as_bytes(), &long],
            2 => &[b"APPEND", key.as_bytes(), b"more"],
            3 => &[b"STRLEN", key.as_bytes()],
            4 => &[b"HSET", key.as_bytes(), b"f", b"v"],
            5 => &[b"DEL", key.as_bytes(), b"key:7"],
            6 => &[b"SELECT", if number % 2 == 0 { b"0" } else { b"1" }],
            7 => &[b"NONE", key.as_bytes()],
            _ => {
                bytes.extend_from_slice(format!("GET {key}\r\n").as_bytes());
                continue;
            }
        };
        bytes.extend_from_slice(&support::framed(command));
    }
    let mut told = Vec::new();
    for (threads, piece) in [(2, bytes.len()), (1, bytes.len()), (1, 5_003), (1, 131)] {
        let mut config = config();
        config.threads = threads;
        let server = start(&config);
        let mut client = Client::connect(&server);
        for piece in bytes.chunks(piece) {
            client.send_bytes(piece);
        }
        let replies: Vec<String> = (0..count).map(|_| client.reply()).collect();
        told.push(replies);
        assert_eq!(told.first(), told.last(), "pieces of {piece} bytes");
    }
}

/// As in Redis: what tells of subscriptions is a message, not a reply.
#[test]
fn subscriptions_are_told_of_with_replies_turned_off() {
    let server = start(&config());
    let mut publisher = Client::connect(&server);
    for protocol in [2, 3] {
        let mut reader = Client::connect(&server);
        reader.run(&format!("HELLO {protocol}"));
        reader.send("CLIENT REPLY OFF");
        assert_eq!(reader.run("SUBSCRIBE news"), "[\"subscribe\", \"news\", 1]");
        assert_eq!(reader.run("PSUBSCRIBE ne*"), "[\"psubscribe\", \"ne*\", 2]");
        assert_eq!(publisher.run("PUBLISH news hello"), "2");
        assert_eq!(reader.reply(), "[\"message\", \"news\", \"hello\"]");
        assert_eq!(
            reader.reply(),
            "[\"pmessage\", \"ne*\", \"news\", \"hello\"]"
        );
        // Refusals are replies.
        reader.send("SUBSCRIBE");
        assert_eq!(
            reader.run("UNSUBSCRIBE news"),
            "[\"unsubscribe\", \"news\", 1]"
        );
        assert_eq!(
            reader.run("PUNSUBSCRIBE ne*"),
            "[\"punsubscribe\", \"ne*\", 0]"
        );
        reader.send("CLIENT REPLY SKIP");
        assert_eq!(reader.run("SUBSCRIBE a"), "[\"subscribe\", \"a\", 1]");
    }
}

#[test]
fn a_password_is_asked_for() {
    let mut config = config();
    config.password = Some("open sesame".to_owned());
    let server = start(&config);
    let mut client = Client::connect(&server);
    assert_eq!(
        client.run("GET a"),
        "(error) NOAUTH Authentication required."
    );
    assert!(client.run("AUTH wrong").starts_with("(error) WRONGPASS"));
    assert_eq!(client.run("AUTH \"open sesame\""), "OK");
    assert_eq!(client.run("GET a"), "nil");
    // Before the password not even a long argument is taken.
    let mut client = Client::connect(&server);
    client.send_bytes(b"*2\r\n$3\r\nGET\r\n$16385\r\n");
    assert!(client.reply().contains("unauthenticated bulk length"));
    assert!(client.is_closed());
}

#[test]
fn a_public_address_without_a_password_is_refused() {
    let mut config = config();
    config.listen = SocketAddr::from(([0, 0, 0, 0], 0));
    let refused = RedisServer::start(&config).err().expect("it is refused");
    assert!(matches!(refused, StartError::Public { .. }));
    assert!(refused.to_string().contains("--redis-password"));
    config.password = Some("long and secret".to_owned());
    start(&config).stop();
}

#[test]
fn announced_lengths_are_refused_and_end_the_connection() {
    let server = start(&config());
    for (bytes, error) in [
        (&b"*1048577\r\n"[..], "invalid multibulk length"),
        (b"*2147483648\r\n", "invalid multibulk length"),
        (b"*1\r\n$536870913\r\n", "invalid bulk length"),
        (b"*1\r\n$-5\r\n", "invalid bulk length"),
        (b"*3\r\n$3\r\nSET\r\n:1\r\n", "expected '$', got ':'"),
    ] {
        let mut client = Client::connect(&server);
        client.send_bytes(bytes);
        assert!(client.reply().contains(error), "{}", bytes.escape_ascii());
        assert!(client.is_closed());
    }
    let mut client = Client::connect(&server);
    assert_eq!(client.run("PING"), "PONG");
}

#[test]
fn a_reader_that_does_not_read_holds_nobody_up_and_is_cut_off() {
    let server = start(&config());
    let mut slow = Client::connect(&server);
    let mut other = Client::connect(&server);
    other.run("CONFIG SET client-output-buffer-limit \"pubsub 1mb 0 0\"");
    slow.run("SUBSCRIBE flood");
    let message = vec![b'x'; 200_000];
    // The buffers of the system take some megabytes before the server's own fills up.
    for _ in 0..400 {
        other.run_words(&[b"PUBLISH", b"flood", &message]);
        if other.run("PUBSUB NUMSUB flood") == "[\"flood\", 0]" {
            return;
        }
    }
    panic!("80 MB of messages wait for a client that does not read");
}

#[test]
fn commands_behind_long_replies_are_run_however_fast_they_are_read() {
    let server = start(&config());
    let mut client = Client::connect(&server);
    // A reply of this length makes the next commands wait, also when the socket took all of it.
    let value = vec![b'v'; 1100 << 10];
    assert_eq!(client.run_words(&[b"SET", b"k", &value]), "OK");
    client.send_bytes(&b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n".repeat(12));
    for _ in 0..12 {
        assert_eq!(client.reply().len(), value.len() + 2);
    }
    // Who has finished sending gets the rest.
    client.send_bytes(&b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n".repeat(12));
    client.finish_sending();
    for _ in 0..12 {
        assert_eq!(client.reply().len(), value.len() + 2);
    }
    assert!(client.is_closed());
}

#[test]
fn the_number_of_clients_is_limited() {
    let mut config = config();
    config.clients_max = 2;
    let server = start(&config);
    let mut clients: Vec<Client> = (0..2).map(|_| Client::connect(&server)).collect();
    clients
        .iter_mut()
        .for_each(|client| assert_eq!(client.run("PING"), "PONG"));
    let mut third = Client::connect(&server);
    assert_eq!(third.reply(), "(error) ERR max number of clients reached");
    assert!(third.is_closed());
}

/// A `SET` of so many bytes of which the last are still to come.
fn begun(len_bytes: usize, missing: usize) -> Vec<u8> {
    let head = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${len_bytes}\r\n");
    [head.into_bytes(), vec![b'v'; len_bytes - missing]].concat()
}

/// A server whose clients may hold 4 MiB together.
fn start_with_little_for_clients() -> jackdaw_redis::RedisServer {
    let mut config = config();
    config.clients_bytes_max = 4 << 20;
    start(&config)
}

#[test]
fn whoever_holds_most_is_closed_and_nobody_else() {
    let server = start_with_little_for_clients();
    // Nearly all there is, in two values of which the last byte is missing.
    let mut hog = Client::connect(&server);
    let value = vec![b'v'; 1900 << 10];
    let head = |word: &[u8]| format!("${}\r\n", word.len()).into_bytes();
    hog.send_bytes(b"*5\r\n$4\r\nMSET\r\n$1\r\nk\r\n");
    // Buffers grow in steps: depending on the reads they alone may be too much already.
    hog.try_send_bytes(&[&head(&value), &value[..], b"\r\n$1\r\nj\r\n"].concat());
    hog.try_send_bytes(&[&head(&value), &value[1..]].concat());
    // Whether or not the server has read all of that, it does not concern those that hold less.
    // Four of them fit whatever their buffers grow to.
    let mut others: Vec<Client> = (0..4).map(|_| Client::connect(&server)).collect();
    for other in &mut others {
        other.send_bytes(&begun(400 << 10, 1));
    }
    let (last, others) = others.split_last_mut().unwrap();
    for other in others {
        other.send_bytes(b"v\r\n");
        assert_eq!(other.reply(), "OK");
    }
    // With what the last one holds it is more than all may, as soon as both are read.
    assert!(hog.is_told_or_closed("maxmemory-clients"));
    last.send_bytes(b"v\r\n");
    assert_eq!(last.reply(), "OK");
    // What was held is free again: a command that takes most of it goes through.
    let mut next = Client::connect(&server);
    next.send_bytes(&begun(3 << 19, 0));
    next.send_bytes(b"\r\n");
    assert_eq!(next.reply(), "OK");
    let statistics = next.run("INFO stats");
    assert!(statistics.contains("evicted_clients:1"), "{statistics}");
}

#[test]
fn who_asked_to_be_spared_is_closed_after_all_others() {
    let server = start_with_little_for_clients();
    let mut spared = Client::connect(&server);
    assert_eq!(spared.run("CLIENT NO-EVICT ON"), "OK");
    assert!(spared.run("CLIENT INFO").contains(" flags=e "));
    // More than any other holds.
    spared.send_bytes(&begun(1500 << 10, 1));
    let mut others: Vec<Client> = (0..6).map(|_| Client::connect(&server)).collect();
    for other in &mut others {
        other.try_send_bytes(&begun(600 << 10, 1));
    }
    let mut asking = Client::connect(&server);
    while asking.run("INFO stats").contains("evicted_clients:0") {}
    spared.send_bytes(b"v\r\n");
    assert_eq!(spared.reply(), "OK");
    assert_eq!(spared.run("CLIENT NO-EVICT OFF"), "OK");
    assert!(spared.run("CLIENT INFO").contains(" flags=N "));
}

#[test]
fn a_command_that_takes_more_than_all_may_closes_its_own_client() {
    let server = start_with_little_for_clients();
    let mut other = Client::connect(&server);
    other.send_bytes(&begun(1 << 20, 1));
    let mut large = Client::connect(&server);
    let mebibyte = vec![b'v'; 1 << 20];
    let words = [&b"MSET"[..]].into_iter().chain([&mebibyte[..]; 8]);
    let mut many = b"*9\r\n".to_vec();
    for word in words {
        many.extend(format!("${}\r\n", word.len()).as_bytes());
        many.extend([word, b"\r\n"].concat());
    }
    large.try_send_bytes(&many);
    assert!(large.is_told_or_closed("maxmemory-clients"));
    // So does a transaction that is being collected, of short commands.
    let mut collecting = Client::connect(&server);
    assert_eq!(collecting.run("MULTI"), "OK");
    let value = vec![b'v'; 512 << 10];
    let mut queued = 0;
    while queued < 16
        && collecting.try_run_words(&[b"SET", b"k", &value]).as_deref() == Some("QUEUED")
    {
        queued += 1;
    }
    assert!((2..10).contains(&queued), "{queued}");
    other.send_bytes(b"v\r\n");
    assert_eq!(other.reply(), "OK");
}

#[test]
fn a_reply_ends_before_it_takes_all_memory() {
    let server = start_with_little_for_clients();
    let mut client = Client::connect(&server);
    assert_eq!(
        client.run_words(&[b"SET", b"k", &vec![b'v'; 1 << 20]]),
        "OK"
    );
    assert_eq!(client.run("STRLEN k"), (1 << 20).to_string());
    // 4 GiB, were they made: of one command, and of the commands of a transaction.
    let many: Vec<&[u8]> = [b"MGET".as_slice()]
        .into_iter()
        .chain([b"k".as_slice(); 4096])
        .collect();
    client.send("PING");
    client.send_words(&many);
    assert_eq!(client.reply(), "PONG");
    let told = client.reply();
    assert!(told.contains("ask for less at once"), "{told}");
    assert!(client.is_closed());
    let mut client = Client::connect(&server);
    assert_eq!(client.run("MULTI"), "OK");
    for _ in 0..4096 {
        client.send("GET k");
    }
    client.send("SET done yes");
    client.send("EXEC");
    for _ in 0..=4096 {
        assert_eq!(client.reply(), "QUEUED");
    }
    let told = client.reply();
    assert!(told.contains("the command was carried out"), "{told}");
    // It was: a transaction is carried out as a whole.
    assert_eq!(Client::connect(&server).run("GET done"), "\"yes\"");
}

#[test]
fn nothing_is_removed_for_a_reply_that_does_not_fit() {
    let server = start_with_little_for_clients();
    let mut client = Client::connect(&server);
    let value = vec![b'v'; 900 << 10];
    for _ in 0..3 {
        client.run_words(&[b"RPUSH", b"list", &value]);
        let member = [&value[..], &[client.run("INCR n").as_bytes()[0]]].concat();
        client.run_words(&[b"SADD", b"set", &member]);
        client.run_words(&[b"ZADD", b"sorted", b"1", &member]);
    }
    let elements = |reply: String| reply.matches('v').count() / (900 << 10);
    for (pop, len) in [
        ("LPOP list 5", "LLEN list"),
        ("SPOP set 5", "SCARD set"),
        ("ZPOPMIN sorted 5", "ZCARD sorted"),
    ] {
        assert_eq!(elements(client.run(pop)), 2, "{pop}");
        assert_eq!(client.run(len), "1", "{len}");
        assert_eq!(elements(client.run(pop)), 1, "{pop}");
    }
    // A string that no reply could hold is refused when it comes, so that none is lost later.
    let mut large = Client::connect(&server);
    large.try_send_bytes(&begun(3 << 20, 1));
    assert!(large.is_told_or_closed("invalid bulk length"));
    client.run_words(&[b"SET", b"k", &value]);
    client.run_words(&[b"APPEND", b"k", &value]);
    let refused = client.run_words(&[b"APPEND", b"k", &value]);
    assert!(refused.contains("proto-max-bulk-len"), "{refused}");
    assert_eq!(elements(client.run("GETDEL k")), 2);
}

#[test]
fn names_of_clients_are_short_and_keys_that_are_waited_for_count() {
    let server = start_with_little_for_clients();
    let mut client = Client::connect(&server);
    let name = "n".repeat(257);
    let refused = client.run(&format!("CLIENT SETNAME {name}"));
    assert!(
        refused.contains("cannot be longer than 256 bytes"),
        "{refused}"
    );
    assert_eq!(client.run(&format!("CLIENT SETNAME {}", &name[1..])), "OK");
    let key = vec![b'k'; 1 << 20];
    let mut waiting = Client::connect(&server);
    waiting.try_send_bytes(b"*4\r\n$5\r\nBLPOP\r\n");
    for key in [&key[..], &key[1..], b"0"] {
        waiting.try_send_bytes(format!("${}\r\n", key.len()).as_bytes());
        waiting.try_send_bytes(&[key, b"\r\n"].concat());
    }
    // The names are kept twice, which is what all clients may hold.
    assert!(waiting.is_told_or_closed("maxmemory-clients"));
}

#[test]
fn few_bytes_cannot_ask_for_more_than_the_budget() {
    let mut config = config();
    config.memory_bytes = 1 << 20;
    let server = start(&config);
    let mut client = Client::connect(&server);
    for command in ["SETRANGE k 536870911 x", "SETBIT k 4294967295 1"] {
        let reply = client.run(command);
        assert!(reply.starts_with("(error) OOM"), "{command}: {reply}");
    }
    assert_eq!(client.run("GETBIT k 4294967295"), "0");
    assert_eq!(client.run("SETRANGE k 1000 x"), "1001");
}

#[test]
fn memory_stays_within_its_budget() {
    let mut config = config();
    config.memory_bytes = 1 << 20;
    let server = start(&config);
    let mut client = Client::connect(&server);
    let value = vec![b'v'; 1000];
    let mut refused = 0;
    for number in 0..2_000 {
        let key = format!("key:{number}");
        let reply = client.run_words(&[b"SET", key.as_bytes(), &value]);
        refused += u32::from(reply.starts_with("(error) OOM command not allowed"));
    }
    assert!(refused > 800, "{refused}");
    assert_eq!(client.run("DEL key:0"), "1");
    client.run("CONFIG SET maxmemory-policy allkeys-lru");
    assert_eq!(
        EvictionPolicy::named("allkeys-lru"),
        Some(EvictionPolicy::AllKeysLru)
    );
    for number in 0..2_000 {
        let key = format!("new:{number}");
        assert_eq!(client.run_words(&[b"SET", key.as_bytes(), &value]), "OK");
    }
    let info = client.run("INFO memory");
    let used = info.split("used_memory:").nth(1).unwrap();
    let used: usize = used.split("\\r").next().unwrap().parse().unwrap();
    assert!(used < 6 << 20, "{used}");
    assert!(!client.run("INFO stats").contains("evicted_keys:0"));
}

/// A transaction is refused as a whole, not in the middle.
#[test]
fn transactions_are_refused_when_memory_is_used_up() {
    let server = start(&config());
    let mut client = Client::connect(&server);
    let mut other = Client::connect(&server);
    client.run("SET x value");
    let oom = "(error) OOM command not allowed when used memory > 'maxmemory'.";
    for line in ["MULTI", "SET before 1"] {
        client.run(line);
    }
    other.run("CONFIG SET maxmemory 1");
    assert_eq!(client.run("SET y 1"), oom);
    // What frees memory, and what needs none, is taken.
    assert_eq!(client.run("GET x"), "QUEUED");
    assert!(client.run("EXEC").starts_with("(error) EXECABORT"));
    assert_eq!(client.run("EXISTS before"), "0");
    for line in ["MULTI", "GET x", "PING"] {
        client.run(line);
    }
    assert_eq!(client.run("EXEC"), "[\"value\", PONG]");
    other.run("CONFIG SET maxmemory 0");
    for line in ["MULTI", "DEL x", "SET y 1"] {
        client.run(line);
    }
    other.run("CONFIG SET maxmemory 1");
    assert_eq!(
        client.run("EXEC"),
        format!(
            "(error) EXECABORT Transaction discarded because of: {}",
            &oom[8..]
        )
    );
    assert_eq!(client.run("GET x"), "\"value\"");
}

/// Everything that the tables of durable tests hold, as text.
fn everything(client: &mut Client) -> Vec<String> {
    let mut all = Vec::new();
    for database in 0..3 {
        client.run(&format!("SELECT {database}"));
        let keys = client.run("KEYS *");
        let mut keys: Vec<&str> = keys.trim_matches(['[', ']']).split(", ").collect();
        keys.sort_unstable();
        for key in keys.into_iter().filter(|key| !key.is_empty()) {
            let name = key.trim_matches('"').to_owned();
            let kind = client.run(&format!("TYPE {name}"));
            let command = match kind.as_str() {
                "string" => format!("GET {name}"),
                "hash" => format!("HGETALL {name}"),
                "list" => format!("LRANGE {name} 0 -1"),
                "set" => format!("SMEMBERS {name}"),
                _ => format!("ZRANGE {name} 0 -1 WITHSCORES"),
            };
            let value = client.run(&command);
            let mut parts: Vec<&str> = value.split(", ").collect();
            if kind == "hash" || kind == "set" {
                parts = value.trim_matches(['[', ']']).split(", ").collect();
                parts.sort_unstable();
            }
            let expiry = client.run(&format!("PEXPIRETIME {name}"));
            all.push(format!("{database} {name} {expiry} {}", parts.join(" ")));
        }
    }
    all
}

#[test]
fn durable_strings_cannot_be_allowed_to_be_longer_than_storage_takes() {
    let directory = Directory::new("long");
    let mut config = config();
    config.data = Some(directory.path().to_path_buf());
    let server = start(&config);
    let mut client = Client::connect(&server);
    let refused = client.run("CONFIG SET proto-max-bulk-len 129mb");
    assert!(
        refused.ends_with("must be between 1 and 128mb"),
        "{refused}"
    );
    assert_eq!(client.run("CONFIG SET proto-max-bulk-len 1mb"), "OK");
    assert_eq!(client.run("CONFIG SET proto-max-bulk-len 128mb"), "OK");
    server.stop();
}

#[test]
fn what_was_acknowledged_is_there_after_a_restart() {
    let directory = Directory::new("restart");
    let mut config = config();
    config.data = Some(directory.path().to_path_buf());
    let long = "k".repeat(3_000);
    let steps = [
        "SET a 1",
        "SET volatile v EX 1000",
        "SET over v PX 1",
        "APPEND a 23",
        "HSET h f 1 g 2",
        "HDEL h f",
        "RPUSH l a b c d e f",
        "LPUSH l z",
        "LPOP l",
        "LPOP l",
        "LREM l 0 d",
        "LINSERT l AFTER b x",
        "LTRIM l 0 3",
        "SADD s a b c",
        "SREM s b",
        "ZADD z 1.5 a 2 b -inf c",
        "ZREM z b",
        "ZADD z 7 a",
        "EXPIRE h 500",
        "RENAME s renamed",
        "COPY l copied",
        "RPUSH copied more",
        "SET string-now v",
        "LPUSH was-list a",
        "SET was-list string",
        "SELECT 1",
        "SET other 1",
        "HSET moved f v",
        "MOVE moved 2",
        "SELECT 2",
        "SADD gone a b",
        "SWAPDB 1 2",
        "MULTI",
        "SET in-transaction 1",
        "HSET h2 a 1",
        "HDEL h2 a",
        "HSET h2 b 2",
        "EXEC",
    ];
    let before;
    {
        let server = start(&config);
        let mut client = Client::connect(&server);
        for step in steps {
            let reply = client.run(step);
            assert!(!reply.starts_with("(error)"), "{step}: {reply}");
        }
        client.run("SELECT 0");
        client.run(&format!("SET {long} long"));
        client.run(&format!("HSET {long}h {long} v"));
        before = everything(&mut client);
        server.stop();
    }
    let server = start(&config);
    let mut client = Client::connect(&server);
    assert_eq!(everything(&mut client), before);
    assert!(before.len() > 12, "{before:#?}");
    // Numbers of collections are not used again: a new one does not mix with an old one.
    for number in 0..200 {
        client.run(&format!("SADD new:{number} x{number}"));
    }
    client.run("LPUSH l again");
    let before = everything(&mut client);
    drop(client);
    server.stop();
    let server = start(&config);
    let mut client = Client::connect(&server);
    assert_eq!(everything(&mut client), before);
    client.run("FLUSHALL");
    server.stop();
    assert_eq!(start(&config).recovered(), 0);
}
