//! Crowds: many connections that do the same thing at a time. Each tells what it did.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::thrower::{Input, Outcome, Targets, ask_version};

/// A crowd gives a sentence of what happened.
pub(crate) type Crowd = fn(&Targets) -> Result<String>;

pub(crate) const ALL: &[(&str, Crowd)] = &[
    ("half heads and half bodies", dawdlers),
    ("connections opened and closed", storm),
    ("pipelines that nobody reads", pipelines),
    ("streams that nobody reads", idle_readers),
    ("large bodies at a time", large_bodies),
    ("large documents at a time", large_documents),
    ("large commands of Redis at a time", large_commands),
];

/// How long a crowd stays at most.
const STAY: Duration = Duration::from_secs(10);
/// Longest time in which others are answered meanwhile.
const BESIDE_MAX: Duration = Duration::from_secs(5);

/// Connections on which so many bytes were sent; those that are refused are left out.
fn open_all(address: SocketAddr, count: usize, bytes: &[u8]) -> Vec<TcpStream> {
    let open = |_| -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect_timeout(&address, BESIDE_MAX)?;
        stream.set_nonblocking(true)?;
        // What does not fit into the buffers stays out.
        let _ = stream.write(bytes)?;
        Ok(stream)
    };
    (0..count).filter_map(|slot| open(slot).ok()).collect()
}

/// Asks for something plain until the time is over; gives the slowest answer.
fn others_meanwhile(targets: &Targets, stay: Duration) -> Duration {
    let (started, mut slowest) = (Instant::now(), Duration::ZERO);
    while started.elapsed() < stay {
        let asked = Instant::now();
        let outcome = ask_version(targets, BESIDE_MAX);
        slowest = slowest.max(asked.elapsed());
        if outcome != Outcome::Answered(200) {
            return Duration::MAX;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    slowest
}

fn told(count: usize, what: &str, slowest: Duration) -> String {
    match slowest {
        Duration::MAX => format!("{count} {what}, others were NOT answered"),
        slowest => format!("{count} {what}, others answered within {slowest:.0?}"),
    }
}

/// A byte now and then of heads and bodies that never end.
fn dawdlers(targets: &Targets) -> Result<String> {
    let head = b"GET /build/version HTTP/1.1\r\nHost: loc";
    let body = b"PUT /databases/db1/docs?id=b HTTP/1.1\r\nHost: localhost\r\n\
        Content-Length: 90000\r\n\r\n{";
    // More than one address may open, and fewer than there are places in so little memory.
    let mut held = open_all(targets.http, 1_200, head);
    held.extend(open_all(targets.http, 1_200, body));
    let redis = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$500000\r\nx";
    held.extend(open_all(targets.redis, 1_000, redis));
    held.extend(open_all(targets.tcp, 200, b"{\"DatabaseName\":"));
    let mut slowest = Duration::ZERO;
    for _ in 0..5 {
        for stream in &mut held {
            drop(stream.write(b"x"));
        }
        slowest = slowest.max(others_meanwhile(targets, STAY / 5));
    }
    Ok(told(held.len(), "connections", slowest))
}

/// As fast as they can be opened, with and without a word.
fn storm(targets: &Targets) -> Result<String> {
    const COUNT: usize = 20_000;
    let mut opened = 0;
    for number in 0..COUNT {
        let address = [targets.http, targets.tcp, targets.redis][number % 3];
        let Ok(mut stream) = TcpStream::connect_timeout(&address, BESIDE_MAX) else {
            continue;
        };
        opened += 1;
        if number % 2 == 0 {
            drop(stream.write(b"GET / HT"));
        }
    }
    Ok(told(
        opened,
        "connections",
        others_meanwhile(targets, STAY / 5),
    ))
}

/// Requests without end, answers that nobody takes.
fn pipelines(targets: &Targets) -> Result<String> {
    let request = b"GET /jackdaw/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(10_000);
    let mut held = open_all(targets.http, 200, &request);
    let set = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\nabcd\r\n".repeat(100);
    let get = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n".repeat(50_000);
    held.extend(open_all(targets.redis, 100, &[set, get].concat()));
    for stream in &mut held {
        drop(stream.write(&request));
    }
    Ok(told(
        held.len(),
        "connections",
        others_meanwhile(targets, STAY),
    ))
}

/// Large answers and endless ones.
fn idle_readers(targets: &Targets) -> Result<String> {
    let large = "x".repeat(60_000);
    for number in 0..400 {
        let body = format!("{{\"Large\":\"{large}\"}}");
        let path = format!("/databases/db1/docs?id=large/{number}");
        let input = Input::request("PUT", &path, "Connection: close\r\n", body.as_bytes());
        let mut stream = TcpStream::connect(targets.http)?;
        stream.write_all(&input.bytes)?;
        stream.read_to_end(&mut Vec::new())?;
    }
    let mut held = Vec::new();
    for path in [
        "/databases/db1/streams/docs",
        "/databases/db1/docs?startsWith=large/&pageSize=400",
        "/databases/db1/jackdaw/feed?since=0",
        "/jackdaw/live",
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        held.extend(open_all(targets.http, 100, request.as_bytes()));
    }
    Ok(told(held.len(), "readers", others_meanwhile(targets, STAY)))
}

/// Sends the same bytes over several connections to the end, each from a thread of its own.
fn send_all(address: SocketAddr, count: usize, bytes: &[u8]) -> usize {
    std::thread::scope(|scope| {
        let send = || -> std::io::Result<bool> {
            let mut stream = TcpStream::connect_timeout(&address, BESIDE_MAX)?;
            stream.set_read_timeout(Some(Duration::from_secs(90)))?;
            stream.set_write_timeout(Some(Duration::from_secs(90)))?;
            let written = stream.write_all(bytes);
            let mut answer = [0; 64];
            let read = stream.read(&mut answer);
            Ok(written.is_ok() && read.is_ok_and(|count| count > 0))
        };
        let sending: Vec<_> = (0..count).map(|_| scope.spawn(send)).collect();
        let answered = sending.into_iter().map(|one| one.join());
        answered.filter(|one| matches!(one, Ok(Ok(true)))).count()
    })
}

/// Bodies that are refused only when they are there.
fn large_bodies(targets: &Targets) -> Result<String> {
    let input = Input::request("PUT", "/databases/db1/docs?id=l", "", &vec![b' '; 60 << 20]);
    let answered = send_all(targets.http, 24, &input.bytes);
    Ok(format!("24 bodies of 60 MiB, {answered} of them answered"))
}

/// Bodies that are right, and as large as they may be.
fn large_documents(targets: &Targets) -> Result<String> {
    let body = format!("{{\"A\":\"{}\"}}", "x".repeat(30 << 20));
    let input = Input::request("PUT", "/databases/db1/docs?id=l", "", body.as_bytes());
    let answered = send_all(targets.http, 8, &input.bytes);
    Ok(format!(
        "8 documents of 30 MiB, {answered} of them answered"
    ))
}

/// Values that do not fit into the budget of keys, all at the same time.
fn large_commands(targets: &Targets) -> Result<String> {
    let value = "x".repeat(60 << 20);
    let command = format!(
        "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}\r\n",
        value.len()
    );
    let answered = send_all(targets.redis, 8, command.as_bytes());
    Ok(format!("8 values of 60 MiB, {answered} of them answered"))
}
