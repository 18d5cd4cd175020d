//! What is proven: any ascending entries come back from their chunks, block by block and whole;
//! damaged bytes never panic and never give entries out of order. How: random lists of several
//! shapes, and every single-byte change of small chunks.

use proptest::prelude::*;

use super::*;

fn encode_one(entries: &[u64]) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.encode(entries);
    let mut out = Vec::new();
    encoder.write_chunk(0..encoder.blocks(), &mut out);
    out
}

fn decode_one(base: u64, bytes: &[u8]) -> Result<Vec<u64>, Malformed> {
    let mut out = Vec::new();
    let chunk = Chunk::open(base, bytes)?;
    chunk.decode_all(&mut out)?;
    assert_eq!(out.len(), chunk.count());
    Ok(out)
}

/// Ascending lists: steps drawn from a mixture of runs, small and wide gaps.
fn ascending(max_len: usize) -> impl Strategy<Value = Vec<u64>> {
    let step = prop_oneof![
        8 => Just(1_u64),
        4 => 1..4_u64,
        4 => 1..300_u64,
        1 => 1..100_000_u64,
    ];
    (0..1_u64 << 40, prop::collection::vec(step, 1..max_len)).prop_map(|(start, steps)| {
        let mut entry = start;
        steps
            .into_iter()
            .map(|step| {
                entry += step;
                entry
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn entries_come_back(entries in ascending(CHUNK_ENTRIES_MAX)) {
        let bytes = encode_one(&entries);
        prop_assert_eq!(decode_one(entries[0], &bytes).unwrap(), entries.clone());
        let chunk = Chunk::open(entries[0], &bytes).unwrap();
        let mut block = Block::new();
        for &entry in entries.iter().step_by(17) {
            chunk.decode_block(chunk.block_for(entry), &mut block).unwrap();
            prop_assert!(block.entries().contains(&entry));
        }
    }

    #[test]
    fn long_lists_are_cut_into_chunks_that_fit(
        entries in ascending(5_000), limit_bytes in 600_usize..2_000,
    ) {
        let mut encoder = Encoder::default();
        encoder.encode(&entries);
        let (mut start, mut again) = (0, Vec::new());
        while start < encoder.blocks() {
            let taken = encoder.blocks_fitting(start, limit_bytes);
            let mut bytes = Vec::new();
            encoder.write_chunk(start..start + taken, &mut bytes);
            prop_assert!(bytes.len() <= limit_bytes + 3);
            prop_assert!(bytes.len() <= encoder.len_bytes(start..start + taken) + 3);
            again.extend(decode_one(encoder.first(start), &bytes).unwrap());
            start += taken;
        }
        prop_assert_eq!(again, entries);
    }

    #[test]
    fn damaged_bytes_never_give_disorder(
        entries in ascending(300), position in any::<prop::sample::Index>(), change in 1..=255_u8,
        cut in any::<bool>(),
    ) {
        let mut bytes = encode_one(&entries);
        let position = position.index(bytes.len());
        bytes[position] ^= change;
        if cut {
            bytes.truncate(position);
        }
        if let Ok(decoded) = decode_one(entries[0], &bytes) {
            prop_assert!(decoded.is_sorted_by(|a, b| a < b));
        }
    }
}

#[test]
fn gaps_beyond_32_bits_end_a_chunk() {
    let entries = [0, 5, 1 << 33, (1 << 33) + 1, u64::MAX >> 8];
    let mut encoder = Encoder::default();
    encoder.encode(&entries);
    let (mut start, mut again, mut chunks) = (0, Vec::new(), 0);
    while start < encoder.blocks() {
        let taken = encoder.blocks_fitting(start, 1_000);
        let mut bytes = Vec::new();
        encoder.write_chunk(start..start + taken, &mut bytes);
        again.extend(decode_one(encoder.first(start), &bytes).unwrap());
        start += taken;
        chunks += 1;
    }
    assert_eq!(again, entries);
    assert_eq!(chunks, 3);
}

#[test]
fn runs_cost_no_body() {
    let entries: Vec<u64> = (1_000..2_024).collect();
    // Flags, two bytes of count, seven firsts, eight headers.
    assert_eq!(encode_one(&entries).len(), 1 + 2 + 7 * 4 + 8 * 2);
    assert_eq!(encode_one(&[7]).len(), 1 + 1 + 2);
}

#[test]
fn one_wide_gap_is_patched() {
    let entries: Vec<u64> = (0..64).chain(1_000_000..1_000_064).collect();
    assert_eq!(encode_one(&entries).len(), 1 + 2 + 2 + 1 + 3);
}
