//! Base64 as the wire protocol uses it: database identities and hashes in change vectors and ETags.
//!
//! The alphabet is the standard one (RFC 4648, `+` and `/`). Used by `database` and `server`.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes without padding: 16 bytes become 22 characters.
#[must_use]
pub fn encode_unpadded(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let sextets = [
            group[0] >> 2,
            group[0] << 4 & 0x30 | group[1] >> 4,
            group[1] << 2 & 0x3c | group[2] >> 6,
            group[2] & 0x3f,
        ];
        let used = sextets.iter().take(chunk.len() + 1);
        out.extend(used.map(|sextet| char::from(ALPHABET[usize::from(*sextet)])));
    }
    out
}

/// Encodes with padding: 32 bytes become 44 characters.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut out = encode_unpadded(bytes);
    while !out.len().is_multiple_of(4) {
        out.push('=');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard() {
        let examples = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, expected) in examples {
            assert_eq!(encode(plain.as_bytes()), expected);
            assert_eq!(
                encode_unpadded(plain.as_bytes()),
                expected.trim_end_matches('=')
            );
        }
        assert_eq!(encode(&[0xff, 0xef, 0xbe]), "/+++");
        assert_eq!(encode_unpadded(&[0; 16]).len(), 22);
    }
}
