//! The bytes of docs/format.md, "Redis keys": what durable mode writes, entry by entry.

mod support;

use jackdaw_io::RealVfs;
use jackdaw_storage::{Environment, Options};
use support::{Client, Directory, config, start};

#[test]
fn entries_are_the_bytes_of_the_page() {
    let directory = Directory::new("format");
    let mut config = config();
    config.data = Some(directory.path().to_path_buf());
    let server = start(&config);
    let mut client = Client::connect(&server);
    let long = "n".repeat(1_001);
    for line in [
        "SET a text",
        "SET b v PXAT 99999999999999",
        "RPUSH l x",
        "LPUSH l w",
        "SWAPDB 0 1",
        "ZADD z 1.5 m",
    ] {
        assert!(!client.run(line).starts_with("(error)"), "{line}");
    }
    client.run(&format!("SET {long} end"));
    server.stop();

    let environment =
        Environment::open(RealVfs::new(), directory.path(), Options::default()).unwrap();
    let snapshot = environment.read().unwrap();
    let entries = |tree: &str| -> Vec<(Vec<u8>, Vec<u8>)> {
        let tree = snapshot.tree(tree).unwrap().unwrap();
        let entries = tree.iter().unwrap().map(Result::unwrap);
        entries
            .map(|(key, value)| (key.to_vec(), value.to_vec()))
            .collect()
    };

    let meta = entries("redis meta");
    assert_eq!(meta[0].0, b"databases");
    assert_eq!(meta[0].1[..6], [1, 0, 0, 0, 2, 0]);
    assert_eq!(meta[1], (b"format".to_vec(), vec![1]));

    // Database 0 was stored as 0 before the exchange, and as 1 behind it.
    let keys = entries("redis keys");
    assert_eq!(keys[0], (b"\0\0\0a".to_vec(), b"\0\0text".to_vec()));
    let mut volatile = vec![0, 1];
    volatile.extend_from_slice(&99_999_999_999_999_u64.to_le_bytes());
    volatile.push(b'v');
    assert_eq!(keys[1], (b"\0\0\0b".to_vec(), volatile));
    let (name, list) = &keys[2];
    assert_eq!(
        (name.as_slice(), &list[..2]),
        (&b"\0\0\0l"[..], &[2, 0][..])
    );
    let (name, sorted) = &keys[3];
    assert_eq!(
        (name.as_slice(), &sorted[..2]),
        (&b"\0\x01\0z"[..], &[4, 0][..])
    );
    let (name, hashed) = &keys[4];
    assert_eq!((name.len(), &name[..3]), (35, &[0, 1, 1][..]));
    assert_eq!(name[3..], *blake2b(long.as_bytes()));
    let mut content = vec![0, 0, 0xE9, 0x07];
    content.extend_from_slice(long.as_bytes());
    content.extend_from_slice(b"end");
    assert_eq!(*hashed, content);

    let id = |head: &[u8]| u64::from_le_bytes(head[2..10].try_into().unwrap()).to_be_bytes();
    let elements = entries("redis elements");
    let element =
        |database: u8, id: [u8; 8], name: &[u8]| [&[0, database][..], &id, &[0], name].concat();
    let before_zero = [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
    let zero = [0x80, 0, 0, 0, 0, 0, 0, 0];
    let expected = [
        (element(0, id(list), &before_zero), b"w".to_vec()),
        (element(0, id(list), &zero), b"x".to_vec()),
        (element(1, id(sorted), b"m"), 1.5_f64.to_le_bytes().to_vec()),
    ];
    assert_eq!(elements, expected);
}

fn blake2b(text: &[u8]) -> Box<[u8]> {
    let hash = blake2b_simd::Params::new().hash_length(32).hash(text);
    hash.as_bytes().into()
}
