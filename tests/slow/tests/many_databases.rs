//! Two thousand databases of one server: what they cost while they are made, while each is asked
//! once, at rest, and after a restart. Prints resident memory, threads and open files, and fails
//! when they take more than 256 MiB at rest, or a document is missing.
//!
//! `JACKDAW_DATABASES` says how many (2,000).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use jackdaw_client::Client;
use jackdaw_slow_tests::TestDirectory;
use jackdaw_slow_tests::process::{open_files, resident_bytes, threads};
use jackdaw_slow_tests::server::Server;

const DATABASES: usize = 2_000;
const RESIDENT_BYTES_MAX: u64 = 256 << 20;
/// Databases that a server leaves open when they are not used for ten seconds.
const OPEN_MAX: usize = 128;
/// Longest until the others are closed.
const CLOSING_MAX: Duration = Duration::from_secs(300);

/// Prints what the server takes; its resident memory.
fn measure(server: &Server, when: &str) -> Result<u64> {
    let id = server.process_id();
    let (resident, anonymous) = resident_bytes(id)?;
    println!(
        "{when}: {} MiB resident, {} MiB of it no part of a file, {} threads, {} files",
        resident >> 20,
        anonymous >> 20,
        threads(id)?,
        open_files(id)?
    );
    Ok(resident)
}

fn open_count(server: &Server) -> Result<usize> {
    let mut stream = TcpStream::connect(server.http_address()?)?;
    stream.write_all(
        b"GET /jackdaw/databases HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    ensure!(text.starts_with("HTTP/1.1 200"), "{text}");
    Ok(text.matches("\"IsOpen\":true").count())
}

fn wait_for_rest(server: &Server) -> Result<Duration> {
    let begun = Instant::now();
    while open_count(server)? > OPEN_MAX {
        ensure!(begun.elapsed() < CLOSING_MAX, "databases stay open");
        std::thread::sleep(Duration::from_secs(1));
    }
    Ok(begun.elapsed())
}

#[test]
fn two_thousand_databases_take_little_memory() -> Result<()> {
    let count = std::env::var("JACKDAW_DATABASES").map_or(Ok(DATABASES), |text| text.parse())?;
    let directory = TestDirectory::new("many-databases")?;
    let mut server = Server::start(&directory.0)?;
    let client = Client::new(&server.url);
    measure(&server, "empty")?;
    let begun = Instant::now();
    let mut at_rest = 0;
    for number in 0..count {
        let name = format!("db{number}");
        client.create_database(&name)?;
        let document = format!(r#"{{"Number":{number},"@metadata":{{"@collection":"Ones"}}}}"#);
        client.database(&name).put_text("ones/1", &document)?;
        if number % 200 == 199 {
            measure(&server, &format!("{} made", number + 1))?;
        }
    }
    println!("{count} databases made in {:.0?}", begun.elapsed());
    println!("closed within {:.0?}", wait_for_rest(&server)?);
    at_rest = at_rest.max(measure(&server, "at rest")?);
    for _ in 0..2 {
        let begun = Instant::now();
        let mut slowest = Duration::ZERO;
        for number in 0..count {
            let asked = Instant::now();
            let found = client
                .database(&format!("db{number}"))
                .load_text("ones/1")?;
            slowest = slowest.max(asked.elapsed());
            let found = found.with_context(|| format!("the document of db{number} is gone"))?;
            ensure!(found.contains(&format!("\"Number\":{number},")), "{found}");
        }
        println!(
            "each asked once in {:.0?}, the slowest in {slowest:.0?}",
            begun.elapsed()
        );
        measure(&server, "after each was asked")?;
        println!("closed within {:.0?}", wait_for_rest(&server)?);
        at_rest = at_rest.max(measure(&server, "at rest")?);
    }
    server.kill()?;
    let server = Server::start(&directory.0)?;
    at_rest = at_rest.max(measure(&server, "after a kill and a start")?);
    let client = Client::new(&server.url);
    for number in (0..count).step_by(37) {
        let found = client
            .database(&format!("db{number}"))
            .load_text("ones/1")?;
        ensure!(found.is_some(), "the document of db{number} is gone");
    }
    ensure!(
        at_rest <= RESIDENT_BYTES_MAX,
        "{} MiB are more than {}",
        at_rest >> 20,
        RESIDENT_BYTES_MAX >> 20
    );
    Ok(())
}
