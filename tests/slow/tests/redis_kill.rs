//! A server with durable Redis keys is killed with SIGKILL again and again while clients write.
//! Whatever a client was told is there after the next start, and a transaction is there wholly or
//! not at all.
//!
//! `JACKDAW_REDIS_KILLS` changes how often.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use jackdaw_slow_tests::{TestDirectory, mix};

const KILLS: u64 = 5;
const WRITERS: u64 = 8;
/// The server is killed this long after the writers began, in milliseconds.
const SHORTEST_RUN: u64 = 20;
const LONGEST_RUN: u64 = 700;

/// A running server.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// The binary lies where `cargo xtask test slow` builds it, beside this test.
    fn start(data: &Path) -> Server {
        let own = std::env::current_exe().unwrap();
        let binary = own.parent().and_then(Path::parent).unwrap().join("jackdaw");
        assert!(
            binary.exists(),
            "{} is missing: use `cargo xtask test slow`",
            binary.display()
        );
        let mut child = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--redis", "127.0.0.1:0"])
            .arg("--data")
            .arg(data.join("documents"))
            .arg("--redis-data")
            .arg(data.join("keys"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| {
            let line = line.ok()?;
            let rest = line.split_once("redis://")?.1;
            rest.split_whitespace().next().map(str::to_owned)
        });
        let address = address.expect("the server says where it listens");
        // The pipe has to be read, or a server that prints more would fail.
        std::thread::spawn(move || lines.for_each(drop));
        Server { child, address }
    }

    fn connect(&self) -> Client {
        Client(BufReader::new(TcpStream::connect(&self.address).unwrap()))
    }
}

struct Client(BufReader<TcpStream>);

impl Client {
    fn send(&mut self, line: &str) -> Option<()> {
        self.0
            .get_mut()
            .write_all(format!("{line}\r\n").as_bytes())
            .ok()
    }

    /// A reply of one line, or a string.
    fn reply(&mut self) -> Option<String> {
        let mut line = String::new();
        self.0.read_line(&mut line).ok().filter(|len| *len > 0)?;
        let line = line.strip_suffix("\r\n")?.to_owned();
        match line.strip_prefix('$') {
            None | Some("-1") => Some(line),
            Some(len) => {
                let mut bytes = vec![0; len.parse::<usize>().ok()? + 2];
                self.0.read_exact(&mut bytes).ok()?;
                bytes.truncate(bytes.len() - 2);
                String::from_utf8(bytes).ok()
            }
        }
    }

    fn run(&mut self, line: &str) -> Option<String> {
        self.send(line)?;
        self.reply()
    }
}

/// Writes numbers until the server is gone: a string, an element of a list and a transaction each.
/// Gives the last number of which everything was acknowledged, and the last that was begun.
fn write_until_killed(mut client: Client, writer: u64, first: u64) -> (u64, u64) {
    let mut number = first;
    loop {
        number += 1;
        let done = (|| {
            client.run(&format!("SET string:{writer} {number}"))?;
            client.run(&format!("RPUSH list:{writer} {number}"))?;
            client.run("MULTI")?;
            client.run(&format!("HSET hash:{writer} left {number}"))?;
            client.run(&format!("HSET hash:{writer} right {number}"))?;
            client.run(&format!("ZADD sorted:{writer} {number} member"))?;
            client.send("EXEC")?;
            for _ in 0..4 {
                client.reply()?;
            }
            Some(())
        })();
        if done.is_none() {
            return (number - 1, number);
        }
    }
}

fn number(text: Option<String>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[test]
fn acknowledged_writes_survive_kills() {
    let kills = std::env::var("JACKDAW_REDIS_KILLS").ok();
    let kills = kills.and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let directory = TestDirectory::new("redis-kill").unwrap();
    let mut last = vec![0; usize::try_from(WRITERS).unwrap()];
    let (mut acknowledged, mut unknown) = (0, 0);
    for kill in 0..kills {
        let mut server = Server::start(&directory.0);
        let threads: Vec<_> = (0..WRITERS)
            .zip(&last)
            .map(|(writer, &first)| {
                let client = server.connect();
                std::thread::spawn(move || (first, write_until_killed(client, writer, first)))
            })
            .collect();
        let run = SHORTEST_RUN + mix(kill) % (LONGEST_RUN - SHORTEST_RUN);
        std::thread::sleep(Duration::from_millis(run));
        server.child.kill().unwrap();
        server.child.wait().unwrap();
        let ends: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();

        let mut server = Server::start(&directory.0);
        let mut client = server.connect();
        for (writer, (first, (told, begun))) in (0_u64..).zip(ends) {
            let told_or_begun = told..=begun;
            let text = number(client.run(&format!("GET string:{writer}")));
            assert!(
                told_or_begun.contains(&text),
                "string {text} of {told_or_begun:?}"
            );
            let items = number(client.run(&format!("LINDEX list:{writer} -1")));
            assert!(
                told_or_begun.contains(&items),
                "list {items} of {told_or_begun:?}"
            );
            let left = number(client.run(&format!("HGET hash:{writer} left")));
            let right = number(client.run(&format!("HGET hash:{writer} right")));
            let score = number(client.run(&format!("ZSCORE sorted:{writer} member")));
            assert!(
                told_or_begun.contains(&left),
                "hash {left} of {told_or_begun:?}"
            );
            assert!(
                left == right && left == score,
                "half a transaction is there"
            );
            acknowledged += told - first;
            unknown += u64::from(left > told);
            // What was begun and is not there is begun again.
            last[usize::try_from(writer).unwrap()] = text.min(items).min(left);
        }
        server.child.kill().unwrap();
        server.child.wait().unwrap();
    }
    println!("{kills} kills, {acknowledged} rounds of writes acknowledged, {unknown} more there");
    assert!(acknowledged > 0);
}
