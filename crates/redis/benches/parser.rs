//! Time to read a pipeline of 100 commands, beside the crate `redis-protocol`.
//!
//! `cargo bench -p jackdaw-redis --bench parser`. Results: docs/decisions.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use jackdaw_redis::{ParserLimits, RequestParser};

const COMMANDS: u64 = 100;
const LIMITS: ParserLimits = ParserLimits {
    arguments_max: 1 << 20,
    bulk_bytes_max: 512 << 20,
    command_bytes_max: 1 << 30,
};

fn pipeline() -> Vec<u8> {
    let mut input = Vec::new();
    for number in 0..COMMANDS {
        let command = format!("*3\r\n$3\r\nSET\r\n$16\r\nkey:{number:012}\r\n$3\r\nxxx\r\n");
        input.extend_from_slice(command.as_bytes());
    }
    input
}

fn own(input: &[u8]) -> usize {
    let mut parser = RequestParser::default();
    let (mut at, mut bytes) = (0, 0);
    while let Ok(Some(len)) = parser.read(&input[at..], &LIMITS) {
        let arguments = parser.arguments(&input[at..]);
        bytes += arguments
            .iter()
            .map(|argument| argument.len())
            .sum::<usize>();
        at += len;
        if at == input.len() {
            break;
        }
    }
    bytes
}

fn rival(input: &[u8]) -> usize {
    use redis_protocol::resp2::decode::decode_range;
    use redis_protocol::resp2::types::RangeFrame;
    let (mut at, mut bytes) = (0, 0);
    while let Ok(Some((frame, len))) = decode_range(&input[at..]) {
        if let RangeFrame::Array(parts) = frame {
            for part in parts {
                if let RangeFrame::BulkString((start, end)) = part {
                    bytes += end - start;
                }
            }
        }
        at += len;
        if at == input.len() {
            break;
        }
    }
    bytes
}

fn parse(criterion: &mut Criterion) {
    let input = pipeline();
    assert_eq!(own(&input), rival(&input));
    let mut group = criterion.benchmark_group("parse");
    group.throughput(Throughput::Elements(COMMANDS));
    group.bench_function("own", |bencher| bencher.iter(|| own(black_box(&input))));
    group.bench_function("redis-protocol", |bencher| {
        bencher.iter(|| rival(black_box(&input)));
    });
    group.finish();
}

criterion_group!(benches, parse);
criterion_main!(benches);
