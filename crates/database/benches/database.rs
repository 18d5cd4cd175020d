//! How fast a database takes documents and answers: on the disk of the temporary directory.
//!
//! `cargo bench -p jackdaw-database -- [DOCUMENTS]` prints one JSON line per measurement. Documents
//! are 700 bytes of JSON like a music catalog's; ids come in no order. Documents are parsed before
//! the clock starts, since an importer parses on threads of its own. `cpu_s` is the time of all
//! threads of the process. Compare runs of one session only.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jackdaw_database::{Database, DatabaseOptions, Importer, Prepared, QueryRequest, RowBuffer};
use jackdaw_document::{Limits, Parser};
use jackdaw_io::RealVfs;

/// Larger batches change fewer pages per document, since ids come in no order.
const BATCH_DOCUMENTS: u64 = 8_000;
const LONG: Duration = Duration::from_secs(600);

/// Mixes a number (splitmix64).
fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn album(n: u64) -> String {
    let (artist, year) = (mix(n) % 50_000, 1950 + mix(n + 7) % 70);
    let tracks: Vec<String> = (0..10)
        .map(|track| {
            format!(
                r#"{{"Title":"Track {:x} of it","Seconds":{}}}"#,
                mix(n * 10 + track),
                track * 31
            )
        })
        .collect();
    format!(
        r#"{{"Artist":"Artist {artist}","Title":"Title {:x}","Year":{year},"Tracks":[{}]}}"#,
        mix(n + 3),
        tracks.join(",")
    )
}

fn prepare(documents: u64) -> Vec<Prepared> {
    let mut parser = Parser::new(Limits::default());
    let mut batches = Vec::new();
    for start in (0..documents.div_ceil(BATCH_DOCUMENTS)).map(|batch| batch * BATCH_DOCUMENTS) {
        let mut batch = Prepared::new();
        for n in start..(start + BATCH_DOCUMENTS).min(documents) {
            let text = album(n);
            let body = parser.parse(text.as_bytes()).expect("valid JSON");
            let id = format!("albums/{:016x}", mix(n));
            batch.put(&id, "Albums", body).expect("valid ids");
        }
        batches.push(batch);
    }
    batches
}

/// Processor time of this process so far, in seconds.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = behind_name.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok());
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / 100.0
}

fn measure(name: &str, count: u64, run: impl FnOnce()) {
    let (cpu, start) = (cpu_seconds(), Instant::now());
    run();
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let (per_s, per_cpu_s) = (count as f64 / seconds, count as f64 / cpu.max(0.01));
    let rates = format!(r#""per_s":{per_s:.0},"per_cpu_s":{per_cpu_s:.0}"#);
    let times = format!(r#""seconds":{seconds:.3},"cpu_s":{cpu:.2}"#);
    println!(r#"{{"workload":"{name}","count":{count},{times},{rates}}}"#);
}

fn import(database: &Arc<Database>, batches: Vec<Prepared>) {
    let mut importer = Importer::new(Arc::clone(database));
    for batch in batches {
        importer
            .write(batch, Some(("bench", b"position")))
            .expect("stored");
    }
    importer.finish().expect("stored");
}

fn query(database: &Database, text: &str) -> u64 {
    let mut rows = RowBuffer::default();
    let request = QueryRequest {
        text,
        ..QueryRequest::default()
    };
    database
        .query(&request, &mut rows)
        .expect("answered")
        .outcome
        .row_count
}

fn directory() -> PathBuf {
    let name = format!("jackdaw-bench-{}", std::process::id());
    std::env::temp_dir().join(name)
}

fn run(path: &Path, documents: u64) {
    let options = DatabaseOptions::default();
    let database = Database::open(RealVfs::new(), path, "bench", &options).expect("opens");
    let database = Arc::new(database);
    let batches = prepare(documents);
    measure("import", documents, || import(&database, batches));
    let batches = prepare(documents / 4);
    measure("import again", documents / 4, || import(&database, batches));
    let loads = 200_000;
    measure("load by id", loads, || {
        let snapshot = database.read().expect("reads");
        for n in 0..loads {
            let id = format!("Albums/{:016x}", mix(mix(n) % documents));
            let row = snapshot.get(&id).expect("reads").expect("is there");
            assert!(row.body().as_bytes().len() > 100);
        }
    });
    let text = "from Albums where Artist = 'artist 7'";
    measure("index", documents, || {
        query(&database, text);
        assert!(database.wait_for_indexes(LONG), "indexed in time");
    });
    let queries = 20_000;
    measure("query", queries, || {
        for n in 0..queries {
            query(
                &database,
                &format!("from Albums where Artist = 'ARTIST {}'", mix(n) % 50_000),
            );
        }
    });
    println!("{:?}", database.statistics().expect("reads"));
}

fn main() {
    let documents = std::env::args().find_map(|argument| argument.parse().ok());
    let path = directory();
    run(&path, documents.unwrap_or(200_000));
    if let Err(error) = std::fs::remove_dir_all(&path) {
        println!("{} stays: {error}", path.display());
    }
}
