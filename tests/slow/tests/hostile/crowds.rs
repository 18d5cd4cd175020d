//! Crowds: many connections that do the same thing at a time. Each tells what it did.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::thrower::{Input, Outcome, Targets, ask_version};

/// A crowd gives a sentence of what happened.
pub(crate) type Crowd = fn(&Targets) -> Result<String>;

pub(crate) const ALL: &[(&str, Crowd)] = &[
    ("half heads and half bodies", dawdlers),
    ("connections opened and closed", storm),
    ("pipelines that nobody reads", pipelines),
    ("streams that nobody reads", idle_readers),
    ("bodies beyond the limit at a time", long_bodies),
    ("large documents at a time", large_documents),
    ("large attachments at a time", large_attachments),
    (
        "attachments beside a stream that nobody reads",
        attachments_beside_a_snapshot,
    ),
    ("scripts that take much memory at a time", large_scripts),
    (
        "commands of Redis beyond the limit at a time",
        long_commands,
    ),
    ("large commands of Redis at a time", large_commands),
    ("replies of Redis that grow", growing_replies),
];

/// How long a crowd stays at most.
const STAY: Duration = Duration::from_secs(10);
/// Longest time in which others are answered meanwhile.
const BESIDE_MAX: Duration = Duration::from_secs(5);

/// Connections on which so many bytes were sent. Some may be refused, but not most.
fn open_all(address: SocketAddr, count: usize, bytes: &[u8]) -> Result<Vec<TcpStream>> {
    let open = |_| -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect_timeout(&address, BESIDE_MAX)?;
        stream.set_nonblocking(true)?;
        // What does not fit into the buffers stays out.
        let _ = stream.write(bytes)?;
        Ok(stream)
    };
    let (mut opened, mut failure) = (Vec::new(), None);
    for slot in 0..count {
        match open(slot) {
            Ok(stream) => opened.push(stream),
            Err(error) => failure = Some(error),
        }
    }
    ensure!(
        opened.len() * 2 > count,
        "only {} of {count} connections were opened: {failure:?}",
        opened.len()
    );
    Ok(opened)
}

/// Asks for something plain until the time is over; gives the slowest answer.
fn others_meanwhile(targets: &Targets, stay: Duration) -> Result<Duration> {
    let (started, mut slowest) = (Instant::now(), Duration::ZERO);
    while started.elapsed() < stay {
        let asked = Instant::now();
        let outcome = ask_version(targets, BESIDE_MAX);
        slowest = slowest.max(asked.elapsed());
        let is_fine = outcome == Outcome::Answered(200);
        ensure!(is_fine, "others were not answered in time: {outcome:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(slowest)
}

fn told(count: usize, what: &str, slowest: Duration) -> String {
    format!("{count} {what}, others answered within {slowest:.0?}")
}

/// A byte now and then of heads and bodies that never end.
fn dawdlers(targets: &Targets) -> Result<String> {
    let head = b"GET /build/version HTTP/1.1\r\nHost: loc";
    let body = b"PUT /databases/db1/docs?id=b HTTP/1.1\r\nHost: localhost\r\n\
        Content-Length: 90000\r\n\r\n{";
    // More than one address may open, and fewer than there are places in so little memory.
    let mut held = open_all(targets.http, 800, head)?;
    held.extend(open_all(targets.http, 800, body)?);
    let redis = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$500000\r\nx";
    held.extend(open_all(targets.redis, 1_000, redis)?);
    held.extend(open_all(targets.tcp, 200, b"{\"DatabaseName\":")?);
    let mut slowest = Duration::ZERO;
    for _ in 0..5 {
        for stream in &mut held {
            drop(stream.write(b"x"));
        }
        slowest = slowest.max(others_meanwhile(targets, STAY / 5)?);
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
    let slowest = others_meanwhile(targets, STAY / 5)?;
    Ok(told(opened, "connections", slowest))
}

/// Requests without end, answers that nobody takes.
fn pipelines(targets: &Targets) -> Result<String> {
    let request = b"GET /jackdaw/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(10_000);
    let mut held = open_all(targets.http, 200, &request)?;
    let set = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\nabcd\r\n".repeat(100);
    let get = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n".repeat(50_000);
    held.extend(open_all(targets.redis, 100, &[set, get].concat())?);
    for stream in &mut held {
        drop(stream.write(&request));
    }
    let slowest = others_meanwhile(targets, STAY)?;
    Ok(told(held.len(), "connections", slowest))
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
        held.extend(open_all(targets.http, 100, request.as_bytes())?);
    }
    let slowest = others_meanwhile(targets, STAY)?;
    Ok(told(held.len(), "readers", slowest))
}

/// How long one of a crowd may wait for its turn and for its answer.
const TURN_MAX: Duration = Duration::from_secs(90);
/// How an answer that says yes begins, of HTTP and of Redis.
const STORED: &str = "HTTP/1.1 201";
const ANSWERED: &str = "HTTP/1.1 200";
const OK: &str = "+OK";

/// What became of the requests of a crowd.
struct Answers(Vec<Option<String>>);

impl Answers {
    fn count(&self, begin: &str) -> usize {
        let answers = self.0.iter().flatten();
        answers.filter(|answer| answer.starts_with(begin)).count()
    }

    fn told(&self, what: &str, begin: &str) -> String {
        let (all, taken) = (self.0.len(), self.count(begin));
        let none = self.unanswered();
        format!("{all} {what}: {taken} taken, {none} closed without a word")
    }

    /// Those that were closed before their answer was read: a refusal comes while bytes are on
    /// their way, which may make the system drop it.
    fn unanswered(&self) -> usize {
        self.0.iter().filter(|answer| answer.is_none()).count()
    }
}

/// Sends bytes over several connections to the end, each from a thread of its own; gives how the
/// answers begin, `None` of those that were closed without one.
fn send_all(address: SocketAddr, all: &[&[u8]]) -> Answers {
    std::thread::scope(|scope| {
        let send = |bytes: &[u8]| -> std::io::Result<String> {
            let mut stream = TcpStream::connect_timeout(&address, BESIDE_MAX)?;
            stream.set_read_timeout(Some(TURN_MAX))?;
            stream.set_write_timeout(Some(TURN_MAX))?;
            // One that was refused early is told by what can be read.
            drop(stream.write_all(bytes));
            let mut answer = [0; 64];
            let count = stream.read(&mut answer)?;
            Ok(String::from_utf8_lossy(&answer[..count]).into_owned())
        };
        let sending: Vec<_> = all
            .iter()
            .map(|bytes| scope.spawn(move || send(bytes)))
            .collect();
        let answers = sending.into_iter().map(|one| one.join().ok()?.ok());
        Answers(
            answers
                .map(|one| one.filter(|text| !text.is_empty()))
                .collect(),
        )
    })
}

/// The same crowd, and whether others are answered meanwhile.
fn send_all_beside(
    targets: &Targets,
    address: SocketAddr,
    all: &[&[u8]],
) -> Result<(Answers, Duration)> {
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| send_all(address, all));
        let mut slowest = Duration::ZERO;
        while !sending.is_finished() {
            slowest = slowest.max(others_meanwhile(targets, Duration::from_millis(100))?);
        }
        Ok((sending.join().expect("it does not panic"), slowest))
    })
}

fn slices(all: &[Vec<u8>]) -> Vec<&[u8]> {
    all.iter().map(Vec::as_slice).collect()
}

/// A document of so many bytes, to be put by that number.
fn document(number: usize, len_bytes: usize) -> Vec<u8> {
    let body = format!("{{\"A\":\"{}\"}}", "x".repeat(len_bytes));
    let path = format!("/databases/db1/docs?id=l/{number}");
    Input::request("PUT", &path, "", body.as_bytes()).bytes
}

/// Refused by their length, before they are there.
fn long_bodies(targets: &Targets) -> Result<String> {
    let len = targets.body_bytes_max + (1 << 20);
    let body = document(0, len);
    let (answers, slowest) = send_all_beside(targets, targets.http, &[&body[..]; 24])?;
    let what = format!("bodies of {} KiB", len >> 10);
    let (taken, refused) = (answers.count(STORED), answers.count("HTTP/1.1 413"));
    let told = answers.told(&what, STORED);
    ensure!(taken == 0 && refused > 0, "{told}, {refused} refused");
    Ok(format!(
        "{told}, {refused} refused, others answered within {slowest:.0?}"
    ))
}

/// Right, and nearly as large as all may be together: they are stored or told to come again.
fn large_documents(targets: &Targets) -> Result<String> {
    const COUNT: usize = 24;
    let len = targets.body_bytes_max / 10 * 9;
    let documents: Vec<_> = (0..COUNT).map(|number| document(number, len)).collect();
    let (answers, slowest) = send_all_beside(targets, targets.http, &slices(&documents))?;
    let what = format!("documents of {} KiB", len >> 10);
    let (stored, later) = (answers.count(STORED), answers.count("HTTP/1.1 503"));
    let told = answers.told(&what, STORED);
    ensure!(
        stored + later + answers.unanswered() == COUNT,
        "{told}, {later} to come again"
    );
    Ok(format!(
        "{told}, {later} to come again, others answered within {slowest:.0?}"
    ))
}

/// Contents that are stored while they come: they are, or are told to come again.
fn large_attachments(targets: &Targets) -> Result<String> {
    const COUNT: usize = 24;
    let put = |number: usize| {
        let path = format!("/databases/db1/attachments?id=as/1&name={number}");
        let content = vec![u8::try_from(number).unwrap_or(0); 12 << 20];
        Input::request("PUT", &path, "", &content).bytes
    };
    let contents: Vec<_> = (0..COUNT).map(put).collect();
    let (answers, slowest) = send_all_beside(targets, targets.http, &slices(&contents))?;
    let (stored, later) = (answers.count(STORED), answers.count("HTTP/1.1 503"));
    let told = answers.told("attachments of 12 MiB", STORED);
    ensure!(
        stored > COUNT / 2 && stored + later + answers.unanswered() == COUNT,
        "{told}, {later} to come again"
    );
    Ok(format!(
        "{told}, {later} to come again, others answered within {slowest:.0?}"
    ))
}

/// The same while somebody reads from before them.
fn attachments_beside_a_snapshot(targets: &Targets) -> Result<String> {
    for number in 0..400 {
        let mut stream = TcpStream::connect(targets.http)?;
        stream.write_all(&document(number, 60_000))?;
        ensure!(stream.read(&mut [0; 64])? > 0, "a document was not stored");
    }
    let request = b"GET /databases/db1/streams/docs HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let held = open_all(targets.http, 1, request)?;
    std::thread::sleep(Duration::from_millis(500));
    let told = large_attachments(targets);
    drop(held);
    told
}

/// Half of what one script may take, by queries and by patches.
fn large_scripts(targets: &Targets) -> Result<String> {
    const COUNT: usize = 64;
    let script = "let s = []; for (let i = 0; i < 20; i++) { s.push('x'.repeat((1 << 20) + i)) }";
    let query = format!(
        "declare function f(a) {{ {script}; return {{ n: s.length }} }} \
         from Items as a select f(a) limit 1"
    );
    let query = serde_json::json!({ "Query": query }).to_string();
    let patch = serde_json::json!({ "Patch": { "Script": script, "Values": {} } }).to_string();
    let scripts: Vec<_> = (0..COUNT)
        .map(|number| match number % 2 {
            0 => Input::request("POST", "/databases/db1/queries", "", query.as_bytes()).bytes,
            _ => {
                let path = "/databases/db1/docs?id=as/5";
                Input::request("PATCH", path, "", patch.as_bytes()).bytes
            }
        })
        .collect();
    let (answers, slowest) = send_all_beside(targets, targets.http, &slices(&scripts))?;
    let (done, later) = (answers.count(ANSWERED), answers.count("HTTP/1.1 503"));
    let told = answers.told("scripts of 20 MiB", ANSWERED);
    ensure!(
        done > COUNT * 3 / 4 && done + later + answers.unanswered() == COUNT,
        "{told}, {later} to come again"
    );
    Ok(format!(
        "{told}, {later} to come again, others answered within {slowest:.0?}"
    ))
}

fn set(number: usize, len_bytes: usize) -> Vec<u8> {
    let value = "x".repeat(len_bytes);
    format!(
        "*3\r\n$3\r\nSET\r\n$2\r\nk{}\r\n${len_bytes}\r\n{value}\r\n",
        number % 2
    )
    .into_bytes()
}

/// Values that are longer than all clients may hold.
fn long_commands(targets: &Targets) -> Result<String> {
    let command = set(0, 60 << 20);
    let answers = send_all(targets.redis, &[&command[..]; 8]);
    ensure!(
        answers.count(OK) == 0,
        "a command beyond the limit was taken"
    );
    Ok(answers.told("values of 60 MiB", OK))
}

/// Values that fit in, though not all at the same time: those that hold most make room for others.
fn large_commands(targets: &Targets) -> Result<String> {
    let commands: Vec<_> = (0..24).map(|number| set(number, 3 << 20)).collect();
    let answers = send_all(targets.redis, &slices(&commands));
    let told = answers.told("values of 3 MiB", OK);
    ensure!(answers.count(OK) > 0, "{told}");
    Ok(told)
}

/// Few bytes that ask for gigabytes, and nobody who reads them.
fn growing_replies(targets: &Targets) -> Result<String> {
    let answers = send_all(targets.redis, &[&set(0, 1 << 20)[..]]);
    ensure!(answers.count(OK) == 1, "a value of 1 MiB was not taken");
    let many = format!("*10001\r\n$4\r\nMGET\r\n{}", "$2\r\nk0\r\n".repeat(10_000));
    let few = "*2\r\n$3\r\nGET\r\n$2\r\nk0\r\n".repeat(1_000);
    let mut held = open_all(targets.redis, 100, many.as_bytes())?;
    held.extend(open_all(targets.redis, 100, few.as_bytes())?);
    let slowest = others_meanwhile(targets, STAY)?;
    Ok(told(held.len(), "clients", slowest))
}
