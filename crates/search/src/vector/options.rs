//! What the definition of a field says about its vectors.
//!
//! Part of `FieldOptions`; kept in the catalog. Bytes: docs/format.md, section "Inverted index".
//!
//! Threads: plain data.

use super::value::VectorError;

/// Most dimensions of a vector.
pub const DIMENSIONS_MAX: u16 = 4_096;

/// Most edges of a vector in the upper levels of a graph; the lowest level has twice as many.
pub const EDGES_MAX: u16 = 128;

/// Most vectors that a walk keeps.
pub const VECTOR_CANDIDATES_MAX: u16 = 16_384;

/// Bytes of the options in the catalog.
pub(crate) const VECTOR_OPTIONS_BYTES: usize = 8;

/// What is kept of a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VectorStorage {
    /// Four bytes a dimension; compared by cosine.
    #[default]
    F32,
    /// A byte a dimension; compared by cosine.
    I8,
    /// A bit a dimension, its sign; compared by how many are equal.
    I1,
}

impl VectorStorage {
    pub(crate) fn to_byte(self) -> u8 {
        match self {
            VectorStorage::F32 => 1,
            VectorStorage::I8 => 2,
            VectorStorage::I1 => 3,
        }
    }

    pub(crate) fn from_byte(byte: u8) -> Option<VectorStorage> {
        let all = [VectorStorage::F32, VectorStorage::I8, VectorStorage::I1];
        all.into_iter().find(|storage| storage.to_byte() == byte)
    }

    /// Bytes of a vector of so many dimensions.
    pub(crate) fn code_bytes(self, dimensions: u16) -> usize {
        let dimensions = usize::from(dimensions);
        match self {
            VectorStorage::F32 => dimensions * 4,
            // The inverse of its length follows.
            VectorStorage::I8 => dimensions + 4,
            VectorStorage::I1 => dimensions.div_ceil(8),
        }
    }

    /// A similarity on the scale of 0 to 1 that minimums of queries are on: half of one more than
    /// the cosine, or the part of bits that are equal.
    #[must_use]
    pub fn scaled(self, similarity: f32) -> f32 {
        match self {
            VectorStorage::F32 | VectorStorage::I8 => (1.0 + similarity) / 2.0,
            VectorStorage::I1 => similarity,
        }
    }
}

/// How the vectors of a field are kept and found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VectorOptions {
    /// What is kept of each.
    pub storage: VectorStorage,
    /// Dimensions that all must have, up to [`DIMENSIONS_MAX`]; 0: those of the first one.
    pub dimensions: u16,
    /// Edges of a vector in the upper levels of the graph, 2 to [`EDGES_MAX`].
    pub edges: u16,
    /// How many near vectors are looked for when one is added, up to [`VECTOR_CANDIDATES_MAX`].
    /// Fewer than 64 are not worth having: so many are looked for anyway.
    pub candidates: u16,
}

impl Default for VectorOptions {
    /// Floats of any dimensions, 12 edges, 16 candidates.
    fn default() -> VectorOptions {
        VectorOptions {
            storage: VectorStorage::F32,
            dimensions: 0,
            edges: 12,
            candidates: 16,
        }
    }
}

impl VectorOptions {
    /// Whether the numbers are within their limits.
    ///
    /// # Errors
    /// [`VectorError::Option`] names the first that is not.
    pub fn check(&self) -> Result<(), VectorError> {
        for (name, given, least, most) in [
            ("dimensions", self.dimensions, 0, DIMENSIONS_MAX),
            ("edges", self.edges, 2, EDGES_MAX),
            ("candidates", self.candidates, 1, VECTOR_CANDIDATES_MAX),
        ] {
            if !(least..=most).contains(&given) {
                return Err(VectorError::Option {
                    name,
                    given,
                    least,
                    most,
                });
            }
        }
        Ok(())
    }

    pub(crate) fn encode(&self) -> [u8; VECTOR_OPTIONS_BYTES] {
        let mut bytes = [0; VECTOR_OPTIONS_BYTES];
        bytes[0] = self.storage.to_byte();
        bytes[2..4].copy_from_slice(&self.dimensions.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.edges.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.candidates.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<VectorOptions> {
        let [storage, 0, rest @ ..] = bytes else {
            return None;
        };
        let number = |slot: usize| Some(u16::from_le_bytes(*rest.get(2 * slot..)?.first_chunk()?));
        let options = VectorOptions {
            storage: VectorStorage::from_byte(*storage)?,
            dimensions: number(0)?,
            edges: number(1)?,
            candidates: number(2)?,
        };
        options.check().ok().map(|()| options)
    }
}
