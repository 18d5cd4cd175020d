//! Speed of the document form on albums of about 1 KB, beside `serde_json` and `simd-json`.
//!
//! `cargo bench -p jackdaw-document`. The rivals build what they offer for reading afterwards: a
//! tree of values. Their text is UTF-8 checked as ours is; `simd-json` parses in place, so its
//! runs include a copy of the text. Album texts are made up here and the same on every run.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use jackdaw_document::{
    Builder, Document, DocumentBuf, Limits, Parser, write_document, write_json,
};

const WORDS: [&str; 24] = [
    "love",
    "night",
    "blue",
    "river",
    "Stra\u{df}e",
    "the",
    "of",
    "dream",
    "fire",
    "electric",
    "caf\u{e9}",
    "road",
    "home",
    "Live",
    "remix",
    "sun",
    "rain",
    "heart",
    "black",
    "train",
    "silver",
    "M\u{fc}nchen",
    "golden",
    "sea",
];

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        // xorshift64: enough to vary lengths and words.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn phrase(&mut self, words: u64) -> String {
        let count = 1 + self.below(words);
        let mut text = String::new();
        for i in 0..count {
            let word = WORDS[usize::try_from(self.below(24)).unwrap_or(0)];
            text.push_str(if i > 0 { " " } else { "" });
            text.push_str(word);
        }
        text
    }
}

fn album(random: &mut Random) -> String {
    let mut text = String::from("{\"DiskIds\":[");
    for i in 0..=random.below(2) {
        let comma = if i > 0 { "," } else { "" };
        let _ = write!(text, "{comma}\"{:08x}\"", random.below(1 << 32));
    }
    let (artist, title) = (random.phrase(3), random.phrase(5));
    let year = 1950 + random.below(70);
    let _ = write!(
        text,
        "],\"Artist\":\"{artist}\",\"Title\":\"{title}\",\"Year\":{year},"
    );
    let price = random.below(3000);
    let _ = write!(
        text,
        "\"Genre\":\"Rock\",\"Price\":{}.{},",
        price / 100,
        1 + price % 9
    );
    text.push_str("\"Tracks\":[");
    for i in 0..10 + random.below(8) {
        let comma = if i > 0 { "," } else { "" };
        let (title, seconds) = (random.phrase(6), 60 + random.below(400));
        let quote = if random.below(20) == 0 { "\\\"" } else { "" };
        let _ = write!(
            text,
            "{comma}{{\"Title\":\"{quote}{title}{quote}\",\"Seconds\":{seconds},\"Explicit\":{}}}",
            seconds % 9 == 0
        );
    }
    text.push_str("],\"@metadata\":{\"@collection\":\"Albums\",\"Source\":\"made up\"}}");
    text
}

/// An album whose tracks are plain strings, as archives hold them.
fn plain_album(random: &mut Random) -> String {
    let mut text = String::new();
    let _ = write!(
        text,
        "{{\"DiskIds\":[\"{:08x}\"],\"Artist\":\"{}\",\"Title\":\"{}\",\"Year\":{},\
         \"Genre\":\"Rock\",\"Tracks\":[",
        random.below(1 << 32),
        random.phrase(3),
        random.phrase(5),
        1950 + random.below(70),
    );
    for i in 0..25 + random.below(20) {
        let comma = if i > 0 { "," } else { "" };
        let _ = write!(text, "{comma}\"{}\"", random.phrase(8));
    }
    text.push_str("]}");
    text
}

fn corpora() -> [(&'static str, Vec<String>); 3] {
    let mut random = Random(0x5EED_5EED_5EED);
    let albums: Vec<String> = (0..1000).map(|_| album(&mut random)).collect();
    let plain: Vec<String> = (0..1000).map(|_| plain_album(&mut random)).collect();
    let vectors = (0..20).map(|_| {
        let numbers: Vec<String> = (0..768)
            .map(|_| format!("{:?}", random.below(1 << 53) as f64 / 1e16 - 0.4))
            .collect();
        format!("{{\"Embedding\":[{}]}}", numbers.join(","))
    });
    [
        ("albums", albums),
        ("plain", plain),
        ("vectors", vectors.collect()),
    ]
}

fn total(corpus: &[String]) -> Throughput {
    Throughput::Bytes(corpus.iter().map(|text| text.len() as u64).sum())
}

fn parse(c: &mut Criterion) {
    for (name, corpus) in corpora() {
        let mut group = c.benchmark_group(format!("parse/{name}"));
        group.throughput(total(&corpus));
        let mut parser = Parser::default();
        let stored = |text: &String| {
            parser
                .parse(text.as_bytes())
                .map_or(0, |d| d.as_bytes().len())
        };
        let stored: usize = corpus.iter().map(stored).sum();
        let text: usize = corpus.iter().map(String::len).sum();
        eprintln!("{name}: {text} bytes of JSON, {stored} stored");
        group.bench_function("jackdaw", |b| {
            b.iter(|| {
                for text in &corpus {
                    black_box(parser.parse(text.as_bytes()).is_ok());
                }
            });
        });
        group.bench_function("jackdaw, @metadata taken out", |b| {
            b.iter(|| {
                for text in &corpus {
                    black_box(parser.parse_split(text.as_bytes()).is_ok());
                }
            });
        });
        group.bench_function("serde_json", |b| {
            b.iter(|| {
                for text in &corpus {
                    black_box(serde_json::from_slice::<serde_json::Value>(text.as_bytes()).is_ok());
                }
            });
        });
        group.bench_function("simd-json", |b| {
            let mut buffers = simd_json::Buffers::default();
            let mut copy = Vec::new();
            b.iter(|| {
                for text in &corpus {
                    copy.clear();
                    copy.extend_from_slice(text.as_bytes());
                    let tape = simd_json::to_tape_with_buffers(&mut copy, &mut buffers);
                    black_box(tape.is_ok());
                }
            });
        });
        group.finish();
    }
}

fn write(c: &mut Criterion) {
    for (name, corpus) in corpora() {
        let mut group = c.benchmark_group(format!("write/{name}"));
        group.throughput(total(&corpus));
        let limits = Limits::default();
        let stored: Vec<DocumentBuf> = corpus
            .iter()
            .filter_map(|t| DocumentBuf::from_json(t.as_bytes(), &limits).ok())
            .collect();
        let trees: Vec<serde_json::Value> = corpus
            .iter()
            .filter_map(|text| serde_json::from_str(text).ok())
            .collect();
        let mut out = Vec::new();
        group.bench_function("jackdaw", |b| {
            b.iter(|| {
                for document in &stored {
                    out.clear();
                    write_json(document.root(), &mut out);
                    black_box(&out);
                }
            });
        });
        group.bench_function("jackdaw, with metadata", |b| {
            b.iter(|| {
                for document in &stored {
                    out.clear();
                    write_document(document.root(), &mut out, |m| m.string("@id", "albums/1-A"));
                    black_box(&out);
                }
            });
        });
        group.bench_function("serde_json", |b| {
            b.iter(|| {
                for tree in &trees {
                    out.clear();
                    black_box(serde_json::to_writer(&mut out, tree).is_ok());
                }
            });
        });
        group.finish();
    }
}

fn read(c: &mut Criterion) {
    let mut random = Random(0xA1B2);
    let text = album(&mut random);
    let stored = DocumentBuf::from_json(text.as_bytes(), &Limits::default());
    let stored = stored.expect("the album is JSON").into_bytes();
    let fields: Vec<String> = (0..1000).map(|i| format!("\"field{i}\":{i}")).collect();
    let large = format!("{{{}}}", fields.join(","));
    let large = DocumentBuf::from_json(large.as_bytes(), &Limits::default());
    let large = large.expect("the object is JSON").into_bytes();
    let mut group = c.benchmark_group("read");
    for field in ["DiskIds", "Title", "Tracks", "@metadata", "none"] {
        group.bench_function(format!("field {field}"), |b| {
            b.iter(|| {
                Document::trusted(black_box(&stored))
                    .root()
                    .get(field)
                    .map(black_box)
                    .is_some()
            });
        });
    }
    group.bench_function("field of 1,000", |b| {
        b.iter(|| black_box(Document::trusted(black_box(&large)).root().get("field777")).is_some());
    });
    let path = jackdaw_document::Path::parse("Tracks[].Seconds").expect("the path is valid");
    group.bench_function("path Tracks[].Seconds", |b| {
        b.iter(|| {
            let root = Document::trusted(black_box(&stored)).root();
            path.values(root).filter_map(|v| v.as_i64()).sum::<i64>()
        });
    });
    group.bench_function("open", |b| {
        b.iter(|| Document::open(black_box(&stored)).is_ok())
    });
    group.finish();
}

fn build(c: &mut Criterion) {
    let mut random = Random(0xB17D);
    let tracks: Vec<String> = (0..14).map(|_| random.phrase(6)).collect();
    let mut builder = Builder::new();
    c.bench_function("build/album", |b| {
        b.iter_batched(
            || (),
            |()| {
                builder
                    .clear()
                    .begin_object()
                    .key("Artist")
                    .string("The Artist");
                builder
                    .key("Title")
                    .string("The Title")
                    .key("Year")
                    .long(1997)
                    .key("Tracks");
                builder.begin_array();
                for track in &tracks {
                    builder.string(track);
                }
                builder.end_array().end_object();
                black_box(builder.finish_borrowed().is_ok())
            },
            BatchSize::SmallInput,
        );
    });
}

criterion_group!(benches, parse, write, read, build);
criterion_main!(benches);
