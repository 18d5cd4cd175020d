//! The least of tar writing: plain files with short names, and the end mark.
//!
//! Called by the demo, whose archive it writes, and by tests.

/// Unit of the format.
const BLOCK_BYTES: usize = 512;
/// Room for a name in the header.
const NAME_BYTES_MAX: usize = 100;
/// Largest length that eleven octal digits hold.
const LEN_BYTES_MAX: u64 = 0o77_777_777_777;

/// Appends a file. The header says mode 644, owner 0 and no time, so that the same content gives
/// the same bytes.
///
/// # Panics
/// When the name is longer than 100 bytes or the content than 8 GiB.
pub fn append_file(out: &mut Vec<u8>, name: &str, content: &[u8]) {
    assert!(
        name.len() <= NAME_BYTES_MAX,
        "names of at most 100 bytes are written"
    );
    assert!(
        content.len() as u64 <= LEN_BYTES_MAX,
        "files of at most 8 GiB are written"
    );
    let mut header = [0u8; BLOCK_BYTES];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..108].copy_from_slice(b"0000644\0");
    header[108..116].copy_from_slice(b"0000000\0");
    header[116..124].copy_from_slice(b"0000000\0");
    header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
    header[136..148].copy_from_slice(b"00000000000\0");
    header[148..156].fill(b' ');
    header[156] = b'0';
    header[257..263].copy_from_slice(b"ustar\0");
    header[263..265].copy_from_slice(b"00");
    let checksum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{checksum:06o}\0 ").as_bytes());
    out.extend_from_slice(&header);
    out.extend_from_slice(content);
    let padding = content.len().next_multiple_of(BLOCK_BYTES) - content.len();
    out.resize(out.len() + padding, 0);
}

/// Appends the end mark: two empty blocks.
pub fn append_end(out: &mut Vec<u8>) {
    out.resize(out.len() + 2 * BLOCK_BYTES, 0);
}
