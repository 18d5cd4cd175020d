//! Commands with the replies that they have to give: tables of lines, run over one connection each
//! against a server of the table's own.

mod support;

use support::{Client, config, start};

/// Runs `command -> reply` lines on a server of their own.
#[track_caller]
fn check(table: &str) {
    let server = start(&config());
    check_on(&mut Client::connect(&server), table);
}

#[track_caller]
fn check_on(client: &mut Client, table: &str) {
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (command, expected) = line.split_once(" -> ").expect("a command and its reply");
        assert_eq!(client.run(command).trim(), expected.trim(), "{command}");
    }
}

#[test]
fn strings() {
    check(
        r#"
        GET a -> nil
        SET a 1 -> OK
        GET a -> "1"
        SET a 2 NX -> nil
        SET a 2 XX GET -> "1"
        SET b 2 XX -> nil
        SET a 3 EX 0 -> (error) ERR invalid expire time in 'set' command
        SET a 3 EX 10 KEEPTTL -> (error) ERR syntax error
        SET a 3 EX 10 -> OK
        TTL a -> 10
        SET a 4 KEEPTTL -> OK
        TTL a -> 10
        SET a 5 -> OK
        TTL a -> -1
        GETSET a 6 -> "5"
        GETDEL a -> "6"
        GETDEL a -> nil
        MSET a 1 b 2 -> OK
        MSET a 1 b -> (error) ERR wrong number of arguments for 'mset' command
        MGET a b c -> ["1", "2", nil]
        MSETNX c 1 a 2 -> 0
        MSETNX c 1 d 2 -> 1
        APPEND a 23 -> 3
        STRLEN a -> 3
        INCR a -> 124
        INCRBY a 9223372036854775807 -> (error) ERR increment or decrement would overflow
        DECRBY a 24 -> 100
        INCRBYFLOAT a 0.5 -> "100.5"
        INCR a -> (error) ERR value is not an integer or out of range
        SETRANGE s 3 xyz -> 6
        GETRANGE s 0 -1 -> "\x00\x00\x00xyz"
        GETRANGE s -2 -1 -> "yz"
        SETEX e 0 v -> (error) ERR invalid expire time in 'setex' command
        SETEX e 10 v -> OK
        GETEX e PERSIST -> "v"
        TTL e -> -1
        SETNX e w -> 0
        GET -> (error) ERR wrong number of arguments for 'get' command
        NOTHING -> (error) ERR unknown command 'NOTHING', with args beginning with:
        LCS a b LEN -> 0
        SETBIT bits 7 1 -> 0
        GETBIT bits 7 -> 1
        BITCOUNT bits -> 1
        BITPOS bits 1 -> 7
        BITOP NOT inverted bits -> 1
        GET inverted -> "\xfe"
        "#,
    );
}

#[test]
fn keys_and_expiry() {
    check(
        r#"
        MSET a 1 b 2 -> OK
        EXISTS a b c a -> 3
        TYPE a -> string
        TYPE c -> none
        RENAME c d -> (error) ERR no such key
        RENAME a c -> OK
        RENAMENX b c -> 0
        COPY b c -> 0
        COPY b c REPLACE -> 1
        GET c -> "2"
        MOVE b 1 -> 1
        EXISTS b -> 0
        SELECT 1 -> OK
        GET b -> "2"
        SELECT 16 -> (error) ERR DB index is out of range
        SWAPDB 0 1 -> OK
        GET c -> "2"
        DBSIZE -> 1
        SELECT 0 -> OK
        KEYS * -> ["b"]
        RANDOMKEY -> "b"
        EXPIRE b 100 NX -> 1
        EXPIRE b 50 GT -> 0
        EXPIRE b 50 LT -> 1
        TTL b -> 50
        PERSIST b -> 1
        TTL b -> -1
        EXPIREAT b 1 -> 1
        EXISTS b -> 0
        TTL b -> -2
        SET n 12 -> OK
        OBJECT ENCODING n -> "int"
        FLUSHALL -> OK
        DBSIZE -> 0
        "#,
    );
}

#[test]
fn hashes_lists_and_sets() {
    check(
        r#"
        HSET h a 1 b 2 -> 2
        HSET h a 3 -> 0
        HGET h a -> "3"
        HMGET h a x b -> ["3", nil, "2"]
        HGETALL h -> ["a", "3", "b", "2"]
        HINCRBY h a 4 -> 7
        HINCRBYFLOAT h a 0.5 -> "7.5"
        HINCRBY h a 1 -> (error) ERR hash value is not an integer
        HDEL h a b x -> 2
        EXISTS h -> 0
        RPUSH l a b c -> 3
        LPUSH l z -> 4
        LRANGE l 0 -1 -> ["z", "a", "b", "c"]
        LINDEX l -1 -> "c"
        LINSERT l BEFORE b x -> 5
        LPOS l b -> 3
        LREM l 0 x -> 1
        LSET l 9 q -> (error) ERR index out of range
        LSET l 0 q -> OK
        LTRIM l 0 1 -> OK
        LMOVE l m LEFT RIGHT -> "q"
        RPOPLPUSH l m -> "a"
        LRANGE m 0 -1 -> ["a", "q"]
        LPOP m 5 -> ["a", "q"]
        LPOP m 5 -> nil
        LMPOP 2 l m LEFT -> nil
        SADD s a b c -> 3
        SADD t b c d -> 3
        SCARD s -> 3
        SISMEMBER s a -> 1
        SMISMEMBER s a z -> [1, 0]
        SINTERCARD 2 s t -> 2
        SDIFF s t -> ["a"]
        SINTERSTORE u s t -> 2
        SMOVE s t a -> 1
        SREM t a b c d -> 4
        EXISTS t -> 0
        LPUSH s x -> (error) WRONGTYPE Operation against a key holding the wrong kind of value
        GET s -> (error) WRONGTYPE Operation against a key holding the wrong kind of value
        "#,
    );
}

#[test]
fn sorted_sets() {
    check(
        r#"
        ZADD z 1 a 2 b 3 c -> 3
        ZADD z XX CH 5 a 9 x -> 1
        ZADD z GT 4 a -> 0
        ZADD z INCR 1 a -> "6"
        ZSCORE z a -> "6"
        ZRANGE z 0 -1 WITHSCORES -> ["b", "2", "c", "3", "a", "6"]
        ZRANGE z (2 +inf BYSCORE LIMIT 0 1 -> ["c"]
        ZRANGE z 0 0 REV -> ["a"]
        ZREVRANGEBYSCORE z 6 2 -> ["a", "c", "b"]
        ZRANK z a -> 2
        ZREVRANK z a -> 0
        ZCOUNT z 2 3 -> 2
        ZINCRBY z -0.5 b -> "1.5"
        ZADD l 0 a 0 b 0 c -> 3
        ZRANGEBYLEX l [b + -> ["b", "c"]
        ZLEXCOUNT l - (c -> 2
        ZUNIONSTORE u 2 z l WEIGHTS 1 2 -> 3
        ZINTERSTORE i 2 z l AGGREGATE MAX -> 3
        ZSCORE i a -> "6"
        ZDIFF 2 z l -> []
        ZRANGESTORE r z 0 1 -> 2
        ZPOPMIN z -> ["b", "1.5"]
        ZPOPMAX z 5 -> ["a", "6", "c", "3"]
        EXISTS z -> 0
        ZADD z nan a -> (error) ERR value is not a valid float
        ZADD z NX XX 1 a -> (error) ERR XX and NX options at the same time are not compatible
        ZREMRANGEBYRANK l 0 0 -> 1
        ZREMRANGEBYSCORE l -inf +inf -> 2
        ZMPOP 1 u MAX COUNT 1 -> ["u", [["a", "6"]]]
        "#,
    );
}

#[test]
fn transactions_and_connections() {
    check(
        r#"
        MULTI -> OK
        SET a 1 -> QUEUED
        INCR a -> QUEUED
        LPUSH a x -> QUEUED
        EXEC -> [OK, 2, (error) WRONGTYPE Operation against a key holding the wrong kind of value]
        MULTI -> OK
        MULTI -> (error) ERR MULTI calls can not be nested
        GET -> (error) ERR wrong number of arguments for 'get' command
        EXEC -> (error) EXECABORT Transaction discarded because of previous errors.
        EXEC -> (error) ERR EXEC without MULTI
        WATCH a -> OK
        SET a 5 -> OK
        MULTI -> OK
        GET a -> QUEUED
        EXEC -> nil
        WATCH a -> OK
        MULTI -> OK
        GET a -> QUEUED
        EXEC -> ["5"]
        MULTI -> OK
        BLPOP nothing 0 -> QUEUED
        EXEC -> [nil]
        PING -> PONG
        ECHO "a b" -> "a b"
        CLIENT SETNAME me -> OK
        CLIENT GETNAME -> "me"
        CONFIG GET maxmemory-policy -> ["maxmemory-policy", "noeviction"]
        COMMAND INFO get -> [["get", 2, [readonly, fast], 1, 1, 1, [@string], [], [], []]]
        HELLO 4 -> (error) NOPROTO unsupported protocol version
        RESET -> RESET
        CLIENT GETNAME -> nil
        "#,
    );
}

#[test]
fn settings_change_together_or_not_at_all() {
    let server = start(&config());
    let mut client = Client::connect(&server);
    for (changes, why) in [
        ("maxmemory 50mb timeout x", "argument 'timeout')"),
        ("maxmemory 1mb nothing 1", "Unknown option"),
        ("maxmemory 1mb MAXMEMORY 2mb", "duplicate parameter"),
        (
            "maxmemory 1mb client-output-buffer-limit \"normal 1mb 0 0 pubsub 1x 0 0\"",
            "error in hard limit",
        ),
        (
            "maxmemory 1mb proto-max-bulk-len 513mb",
            "between 1 and 512mb",
        ),
    ] {
        let refused = client.run(&format!("CONFIG SET {changes}"));
        assert!(refused.starts_with("(error) ERR "), "{refused}");
        assert!(refused.contains(why), "{refused}");
        let memory = client.run("CONFIG GET maxmemory");
        assert_eq!(memory, "[\"maxmemory\", \"0\"]", "{changes}");
    }
    check_on(
        &mut client,
        r#"
        CONFIG SET maxmemory 50mb timeout 9 save "1 2" -> OK
        CONFIG GET maxmemory timeout -> ["maxmemory", "52428800", "timeout", "9"]
        CONFIG GET save -> ["save", "1 2"]
        CONFIG SET client-output-buffer-limit "pubsub 2mb 0 0" slowlog-max-len 7 -> OK
        CONFIG GET slowlog-max-len -> ["slowlog-max-len", "7"]
        "#,
    );
    let limits = client.run("CONFIG GET client-output-buffer-limit");
    assert!(limits.contains("pubsub 2097152 0 0"), "{limits}");
}

#[test]
fn keys_of_commands_are_told() {
    let server = start(&config());
    let mut client = Client::connect(&server);
    check_on(
        &mut client,
        r#"
        COMMAND GETKEYS MSET a 1 b 2 -> ["a", "b"]
        COMMAND GETKEYS BLPOP a b 0 -> ["a", "b"]
        COMMAND GETKEYS ZUNION 2 a b WITHSCORES -> ["a", "b"]
        COMMAND GETKEYS ZUNIONSTORE d 2 a b -> ["d", "a", "b"]
        COMMAND GETKEYS BLMPOP 0 1 a LEFT -> ["a"]
        COMMAND GETKEYS PING -> (error) ERR The command has no key arguments
        "#,
    );
    for count in ["3", "0", "-1", "x", "18446744073709551615"] {
        let refused = client.run(&format!("COMMAND GETKEYS ZUNION {count} a b"));
        assert!(refused.contains("Invalid arguments"), "{refused}");
    }
    let info = client.run("COMMAND INFO zdiff");
    assert!(info.contains("[readonly, movablekeys], 0, 0, 0"), "{info}");
}

#[test]
fn resp3_has_its_own_shapes() {
    let server = start(&config());
    let mut client = Client::connect(&server);
    assert!(client.run("HELLO 3").starts_with("{\"server\": \"redis\""));
    for (command, expected) in [
        ("HSET h a 1", "1"),
        ("HGETALL h", "{\"a\": \"1\"}"),
        ("GET nothing", "nil"),
        ("ZADD z 1.5 a", "1"),
        ("ZSCORE z a", "1.5"),
        ("ZRANGE z 0 -1 WITHSCORES", "[[\"a\", 1.5]]"),
        ("SUBSCRIBE news", "[\"subscribe\", \"news\", 1]"),
        // In RESP3 a client that listens may run anything.
        ("GET nothing", "nil"),
    ] {
        assert_eq!(client.run(command), expected, "{command}");
    }
}

#[test]
fn scans_see_every_key_once_while_others_come_and_go() {
    let server = start(&config());
    let mut client = Client::connect(&server);
    for number in 0..2_000 {
        client.send(&format!("SET stays:{number} v"));
    }
    (0..2_000).for_each(|_| assert_eq!(client.reply(), "OK"));
    let mut seen = Vec::new();
    let mut cursor = "0".to_owned();
    for step in 0.. {
        let reply = client.run(&format!("SCAN {cursor} COUNT 50"));
        let (next, keys) = reply[2..].split_once("\", [").unwrap();
        let keys = keys.trim_end_matches(']').split(", ");
        seen.extend(keys.filter(|key| key.contains("stays")).map(str::to_owned));
        cursor = next.to_owned();
        if cursor == "0" {
            break;
        }
        client.run(&format!("MSET comes:{step}:a v comes:{step}:b v"));
        client.run(&format!("DEL comes:{}:a", step / 2));
    }
    assert_eq!(seen.len(), 2_000);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 2_000);
}

/// What monitors of servers read of commands: how often they ran, were refused, and failed.
#[test]
fn commands_are_counted_and_listed() {
    let server = start(&config());
    let mut client = Client::connect(&server);
    for line in [
        "SET k v",
        "SET k",
        "SET k v",
        "LPUSH k a",
        "MULTI",
        "GET",
        "EXEC",
    ] {
        client.run(line);
    }
    let info = client.run("INFO commandstats");
    for told in [
        "cmdstat_set:calls=2,rejected_calls=1,failed_calls=0",
        "cmdstat_lpush:calls=1,rejected_calls=0,failed_calls=1",
        "cmdstat_get:calls=0,rejected_calls=1,failed_calls=0",
        "cmdstat_exec:calls=1,rejected_calls=0,failed_calls=1",
    ] {
        assert!(info.contains(told), "{told}: {info}");
    }
    for (line, told) in [
        ("COMMAND LIST FILTERBY PATTERN xet", "[]"),
        ("COMMAND LIST FILTERBY PATTERN s?t", "[\"set\"]"),
        ("COMMAND LIST FILTERBY MODULE none", "[]"),
        ("COMMAND LIST FILTERBY ACLCAT none", "[]"),
        ("COMMAND LIST FILTERBY NAME set", "(error) ERR syntax error"),
        ("COMMAND LIST all", "(error) ERR syntax error"),
    ] {
        assert_eq!(client.run(line), told, "{line}");
    }
    let sorted = client.run("COMMAND LIST FILTERBY ACLCAT sortedset");
    assert!(
        sorted.contains("zadd") && !sorted.contains("hset"),
        "{sorted}"
    );
}

/// With a low threshold, commands of constant time are slow commands, too.
#[test]
fn a_low_threshold_logs_every_command() {
    let server = start(&config());
    let mut client = Client::connect(&server);
    client.run("PING");
    assert_eq!(client.run("SLOWLOG LEN"), "0");
    client.run("CONFIG SET slowlog-log-slower-than 0");
    client.run("PING");
    client.run("GET k");
    // With the CONFIG SET that asked for it.
    assert_eq!(client.run("SLOWLOG LEN"), "3");
}
