//! `cargo xtask bench redis`: redis-benchmark against Jackdaw's Redis server and redis-server.
//!
//! All servers run at once and are asked in turn, each with an empty data set.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{process, repository};

const CLIENTS: &str = "50";
/// Commands in a pipeline, and requests of a run.
const PIPELINES: &[(&str, &str)] = &[("1", "100000"), ("16", "1000000"), ("100", "2000000")];
const REPETITIONS: usize = 3;
const DURABLE_REQUESTS: &str = "20000";
const MEMORY_KEYS: usize = 1_000_000;
/// Keys that are set at once.
const BATCH: usize = 1_000;
/// How long a server may take until it accepts.
const START_TIME: Duration = Duration::from_secs(20);

/// A server that is ended when dropped.
struct Server {
    name: &'static str,
    child: Child,
    port: u16,
}

impl Server {
    fn start(name: &'static str, mut command: Command, port: u16) -> Result<Server> {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.with_context(|| format!("cannot start {name}"))?;
        let server = Server { name, child, port };
        let deadline = Instant::now() + START_TIME;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > deadline {
                bail!("{name} does not accept connections");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Resident bytes of the process.
    fn resident_bytes(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        Ok(kilobytes.context("no VmRSS in the status of the process")? * 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended; nothing of it is kept.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// # Errors
/// When a program is missing or a server does not start.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    let compare = match arguments {
        [] => false,
        [one] if one == "--compare" => true,
        _ => bail!("unknown argument; see `cargo xtask bench --help`"),
    };
    let needed = if compare {
        &["redis-benchmark", "redis-server"][..]
    } else {
        &["redis-benchmark"]
    };
    for program in needed {
        if !process::exists(program) {
            bail!("{program} was not found: install redis-tools and redis-server");
        }
    }
    let root = repository::root();
    let binary = process::build_jackdaw(&root)?;
    let target = process::target_directory(&root)?;
    let directory = target.join(format!("bench-redis-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let result = measure(&binary, &directory, compare);
    std::fs::remove_dir_all(&directory)?;
    result
}

fn measure(binary: &Path, directory: &Path, compare: bool) -> Result<()> {
    let mut servers = Vec::new();
    if compare {
        servers.push(redis(directory, &["--appendonly", "no"])?);
    }
    servers.push(jackdaw("jackdaw, 1 thread", binary, directory, "1", false)?);
    servers.push(jackdaw(
        "jackdaw, 2 threads",
        binary,
        directory,
        "2",
        false,
    )?);
    println!("requests a second, {CLIENTS} connections, median of {REPETITIONS}");
    for (pipeline, requests) in PIPELINES {
        let asked = [
            "-P", pipeline, "-n", requests, "-r", "100000", "-t", "set,get",
        ];
        table(&format!("pipeline {pipeline}"), &rates(&servers, &asked)?);
    }
    drop(servers);

    let mut servers = Vec::new();
    if compare {
        servers.push(redis(
            directory,
            &["--appendonly", "yes", "--appendfsync", "always"],
        )?);
    }
    for (name, threads) in [("jackdaw, 1 thread", "1"), ("jackdaw, 2 threads", "2")] {
        servers.push(jackdaw(name, binary, directory, threads, true)?);
    }
    let asked = ["-n", DURABLE_REQUESTS, "-r", "100000", "-t", "set"];
    table("durable", &rates(&servers, &asked)?);
    drop(servers);

    let mut servers = Vec::new();
    if compare {
        servers.push(redis(directory, &["--appendonly", "no"])?);
    }
    servers.push(jackdaw(
        "jackdaw, 2 threads",
        binary,
        directory,
        "2",
        false,
    )?);
    println!("\nbytes of memory a key, {MEMORY_KEYS} keys of 16 bytes with values of 3");
    for server in &servers {
        let before = server.resident_bytes()?;
        fill(server.port)?;
        let grown = server.resident_bytes()?.saturating_sub(before);
        println!(
            "  {:<20} {:>8.1}",
            server.name,
            grown as f64 / MEMORY_KEYS as f64
        );
    }
    Ok(())
}

fn redis(directory: &Path, mode: &[&str]) -> Result<Server> {
    let port = free_port()?;
    let mut command = Command::new("redis-server");
    command
        .args(["--port", &port.to_string(), "--save", "", "--dir"])
        .arg(directory)
        .args(mode);
    Server::start("redis-server", command, port)
}

fn jackdaw(
    name: &'static str,
    binary: &Path,
    directory: &Path,
    threads: &str,
    is_durable: bool,
) -> Result<Server> {
    let port = free_port()?;
    let mut command = Command::new(binary);
    command
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--redis-threads",
            threads,
            "--redis",
        ])
        .arg(format!("127.0.0.1:{port}"))
        .arg("--data")
        .arg(directory.join(format!("documents-{port}")));
    if is_durable {
        let keys = directory.join(format!("keys-{port}"));
        command.arg("--redis-data").arg(keys);
    }
    Server::start(name, command, port)
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
    Ok(listener.local_addr()?.port())
}

/// Requests a second by test and server: all repetitions, the servers in turn.
type Rates = BTreeMap<String, BTreeMap<&'static str, Vec<f64>>>;

fn rates(servers: &[Server], asked: &[&str]) -> Result<Rates> {
    let mut rates = Rates::new();
    for _ in 0..REPETITIONS {
        for server in servers {
            let mut command = Command::new("redis-benchmark");
            command
                .args(["-p", &server.port.to_string(), "-c", CLIENTS, "--csv"])
                .args(asked);
            let output = process::output_of(&mut command)?;
            for line in output.lines().skip(1) {
                let cells: Vec<&str> = line.split(',').map(|c| c.trim_matches('"')).collect();
                let [test, rate, ..] = cells.as_slice() else {
                    continue;
                };
                let of_test = rates.entry((*test).to_owned()).or_default();
                of_test.entry(server.name).or_default().push(rate.parse()?);
            }
        }
    }
    Ok(rates)
}

/// Prints medians, their spread, and their ratio to the first server's.
fn table(title: &str, rates: &Rates) {
    println!("\n{title}");
    for (test, servers) in rates {
        let mut first = None;
        // redis-server comes first in the alphabet's reverse.
        for (name, measured) in servers.iter().rev() {
            let mut measured = measured.clone();
            measured.sort_by(f64::total_cmp);
            let median = measured[measured.len() / 2];
            let (low, high) = (measured[0], measured[measured.len() - 1]);
            let base = *first.get_or_insert(median);
            println!(
                "  {test:<4} {name:<20} {median:>10.0} ({low:.0} to {high:.0}) {:>6.2} x",
                median / base
            );
        }
    }
}

/// Sets every key once, in pipelines.
fn fill(port: u16) -> Result<()> {
    let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", port))?);
    for batch in 0..MEMORY_KEYS / BATCH {
        let mut bytes = Vec::new();
        for number in batch * BATCH..(batch + 1) * BATCH {
            let command = format!("*3\r\n$3\r\nSET\r\n$16\r\nkey:{number:012}\r\n$3\r\nxxx\r\n");
            bytes.extend_from_slice(command.as_bytes());
        }
        stream.get_mut().write_all(&bytes)?;
        let mut replies = vec![0; "+OK\r\n".len() * BATCH];
        stream.read_exact(&mut replies)?;
    }
    Ok(())
}
