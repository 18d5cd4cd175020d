//! Opens thousands of feeds that have nothing to tell, and prints what each costs: memory, time to
//! open, and how long one change takes to reach all of them.
//!
//! `JACKDAW_WATCHERS` says how many (2,000). Server and readers are one process, so the memory is
//! that of both ends but for the kernel's buffers, which is more than the server's share.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jackdaw_database::{DatabaseOptions, DatabaseSet};
use jackdaw_io::RealVfs;
use jackdaw_server::{Server, ServerConfig};

/// Most memory of one idle watcher, both ends.
const BYTES_OF_WATCHER_MAX: u64 = 64 << 10;
/// Longest time until one change has reached everybody.
const SPREAD_MAX: Duration = Duration::from_secs(10);

fn exchange(stream: &mut TcpStream, text: &str, until: &str) -> String {
    stream
        .write_all(text.as_bytes())
        .expect("the server takes the request");
    read_until(stream, until)
}

fn read_until(stream: &mut TcpStream, until: &str) -> String {
    let mut read = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&read).contains(until) {
        let len = stream.read(&mut piece).expect("the server answers in time");
        assert!(len > 0, "closed after {}", String::from_utf8_lossy(&read));
        read.extend_from_slice(&piece[..len]);
    }
    String::from_utf8_lossy(&read).into_owned()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a timeout can be set");
    stream
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("it has a size");
    let kib = line
        .split_whitespace()
        .nth(1)
        .and_then(|text| text.parse().ok());
    kib.unwrap_or(0) * 1024
}

#[test]
fn thousands_of_idle_watchers_cost_little_and_all_hear_of_a_change() {
    let count: usize = std::env::var("JACKDAW_WATCHERS").map_or(2_000, |text| {
        text.parse().expect("JACKDAW_WATCHERS is a number")
    });
    jackdaw_io::system::raise_open_file_limit().expect("the limit of open files can be raised");
    let path = std::env::temp_dir().join(format!("jackdaw-watchers-{}", std::process::id()));
    let set = DatabaseSet::open(RealVfs::new(), &path, DatabaseOptions::default());
    let set = Arc::new(set.expect("the data directory opens"));
    let mut config = ServerConfig::default();
    config.listen.set_port(0);
    let running = Server::start(config, set).expect("the server starts");
    let address = running.address();
    let head = "Host: localhost\r\nContent-Length";
    let mut writer = connect(address);
    let create = format!("PUT /admin/databases?name=w HTTP/1.1\r\n{head}: 20\r\n\r\n");
    exchange(
        &mut writer,
        &(create + r#"{"DatabaseName":"w"}"#),
        "201 Created",
    );

    let before = resident_bytes();
    let started = Instant::now();
    let mut watchers: Vec<TcpStream> = (0..count)
        .map(|_| {
            let mut stream = connect(address);
            let open = "GET /databases/w/jackdaw/feed HTTP/1.1\r\nHost: localhost\r\n\r\n";
            exchange(&mut stream, open, "event: open");
            stream
        })
        .collect();
    let opened = started.elapsed();
    let each = resident_bytes().saturating_sub(before) / count as u64;

    let started = Instant::now();
    let put = format!("PUT /databases/w/docs?id=a HTTP/1.1\r\n{head}: 2\r\n\r\n{{}}");
    exchange(&mut writer, &put, "201 Created");
    for stream in &mut watchers {
        read_until(stream, "event: change");
    }
    let spread = started.elapsed();
    eprintln!(
        "{count} watchers: opened in {opened:?}, {each} bytes each (both ends), one change reached \
         all in {spread:?}"
    );
    drop(watchers);
    running.stop();
    std::fs::remove_dir_all(path).expect("the directory can be removed");
    assert!(each <= BYTES_OF_WATCHER_MAX, "{each} bytes each");
    assert!(spread <= SPREAD_MAX, "{spread:?}");
}
