//! Limits on JSON input. Each has a default, and each refuses with an error of its own.

use crate::form::DEPTH_MAX;

/// Longest JSON text any configuration allows: positions inside a document are 32-bit numbers.
pub const TEXT_LEN_MAX: usize = 1 << 30;

/// What a JSON text may demand of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nested objects and arrays; at most [`DEPTH_MAX`]. Default 256.
    pub depth_max: usize,
    /// Values, counting containers and what they hold. Default 10,000,000.
    pub elements_max: usize,
    /// Bytes of one field name. Default 64 KiB.
    pub key_len_bytes_max: usize,
    /// Digits of one number, exponent included. Default 1,000.
    pub number_digits_max: usize,
    /// Bytes of the whole text; at most [`TEXT_LEN_MAX`]. Default 64 MiB.
    pub len_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            depth_max: 256,
            elements_max: 10_000_000,
            key_len_bytes_max: 64 << 10,
            number_digits_max: 1000,
            len_bytes_max: 64 << 20,
        }
    }
}

impl Limits {
    /// The limits as far as the form can express them.
    pub(crate) fn clamped(self) -> Limits {
        Limits {
            depth_max: self.depth_max.min(DEPTH_MAX),
            len_bytes_max: self.len_bytes_max.min(TEXT_LEN_MAX),
            ..self
        }
    }
}
