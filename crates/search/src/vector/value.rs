//! A vector in the bytes that an index keeps of it.
//!
//! Made by the layer above from documents and queries; compared by `kernel`.
//!
//! Invariants:
//! - No number in it is infinite or no number. Floats have the length 1, or are all 0.
//!
//! Threads: plain data.

use jackdaw_base::hash::xxh3_64;

use super::kernel;
use super::options::{DIMENSIONS_MAX, VectorStorage};

/// Bytes of the hash that stands for a vector.
pub(crate) const HASH_BYTES: usize = 16;

/// The hash that stands for a vector.
pub(crate) type VectorHash = [u8; HASH_BYTES];

/// Why numbers are no vector that an index can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// There are no numbers.
    #[error("a vector has no dimensions: give it at least one number")]
    Empty,
    /// There are too many.
    #[error("a vector has {dimensions} dimensions: the limit is {DIMENSIONS_MAX}")]
    TooLong {
        /// How many.
        dimensions: usize,
    },
    /// A number is infinite or no number at all.
    #[error("a vector holds a number that is infinite or no number")]
    NotFinite,
    /// An option of a field is out of its limits.
    #[error("the {name} of a vector field lie between {least} and {most}, but were {given}")]
    Option {
        /// Which.
        name: &'static str,
        /// What was given.
        given: u16,
        /// Least value.
        least: u16,
        /// Greatest value.
        most: u16,
    },
}

/// See the file head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    storage: VectorStorage,
    dimensions: u16,
    code: Box<[u8]>,
}

impl Vector {
    /// Keeps floats as `storage` says: divided by their length, rounded to 127ths of the greatest,
    /// or their signs alone.
    ///
    /// # Errors
    /// [`VectorError`]: too few or too many numbers, or one that is none.
    pub fn from_floats(values: &[f32], storage: VectorStorage) -> Result<Vector, VectorError> {
        let dimensions = dimensions_of(values.len())?;
        if values.iter().any(|value| !value.is_finite()) {
            return Err(VectorError::NotFinite);
        }
        let code: Box<[u8]> = match storage {
            VectorStorage::F32 => {
                let square = |value: &f32| f64::from(*value) * f64::from(*value);
                let length = values.iter().map(square).sum::<f64>().sqrt();
                let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
                #[expect(clippy::cast_possible_truncation, reason = "rounds to a float")]
                let scaled = values
                    .iter()
                    .map(|value| (f64::from(*value) * scale) as f32);
                scaled.flat_map(f32::to_le_bytes).collect()
            }
            VectorStorage::I8 => {
                let greatest = values
                    .iter()
                    .fold(0_f32, |most, value| most.max(value.abs()));
                let scale = match greatest > 0.0 {
                    true => 127.0 / f64::from(greatest),
                    false => 0.0,
                };
                #[expect(clippy::cast_possible_truncation, reason = "within -127 and 127")]
                let rounded = values
                    .iter()
                    .map(|value| (f64::from(*value) * scale).round() as i8);
                return Ok(Vector::of_bytes(dimensions, rounded.collect()));
            }
            VectorStorage::I1 => {
                let mut bits = vec![0_u8; storage.code_bytes(dimensions)];
                for (position, value) in values.iter().enumerate() {
                    if *value >= 0.0 {
                        bits[position / 8] |= 0x80 >> (position % 8);
                    }
                }
                bits.into()
            }
        };
        Ok(Vector {
            storage,
            dimensions,
            code,
        })
    }

    /// Numbers that were rounded to bytes already.
    ///
    /// # Errors
    /// [`VectorError::Empty`], [`VectorError::TooLong`].
    pub fn from_bytes(values: &[i8]) -> Result<Vector, VectorError> {
        Ok(Vector::of_bytes(
            dimensions_of(values.len())?,
            values.to_vec(),
        ))
    }

    /// Signs that were made already, eight a byte: as many dimensions as there are bits.
    ///
    /// # Errors
    /// [`VectorError::Empty`], [`VectorError::TooLong`].
    pub fn from_bits(bytes: &[u8]) -> Result<Vector, VectorError> {
        Ok(Vector {
            storage: VectorStorage::I1,
            dimensions: dimensions_of(bytes.len().saturating_mul(8))?,
            code: bytes.into(),
        })
    }

    fn of_bytes(dimensions: u16, values: Vec<i8>) -> Vector {
        let square = |value: &i8| i64::from(*value) * i64::from(*value);
        let squares: i64 = values.iter().map(square).sum();
        let inverse = match squares {
            0 => 0.0,
            #[expect(clippy::cast_possible_truncation, reason = "rounds to a float")]
            squares => (1.0 / (squares as f64).sqrt()) as f32,
        };
        let mut code: Vec<u8> = values.into_iter().map(i8::cast_unsigned).collect();
        code.extend_from_slice(&inverse.to_le_bytes());
        Vector {
            storage: VectorStorage::I8,
            dimensions,
            code: code.into(),
        }
    }

    /// Number of its dimensions.
    #[must_use]
    pub fn dimensions(&self) -> u16 {
        self.dimensions
    }

    /// What is kept of it.
    #[must_use]
    pub fn storage(&self) -> VectorStorage {
        self.storage
    }

    /// How near another is: the cosine, -1 to 1, or the part of the bits that are equal. 0 when
    /// they are of other dimensions or kept in another way.
    #[must_use]
    pub fn similarity(&self, other: &Vector) -> f32 {
        match (self.storage, self.dimensions) == (other.storage, other.dimensions) {
            true => kernel::similarity(self.storage, self.dimensions, &self.code, &other.code),
            false => 0.0,
        }
    }

    /// A number that tells it from other vectors, whatever they are of.
    #[must_use]
    pub fn identity(&self) -> u128 {
        u128::from_be_bytes(hash_of(&self.code))
    }

    pub(crate) fn code(&self) -> &[u8] {
        &self.code
    }
}

/// The hash of the bytes of a vector.
pub(crate) fn hash_of(code: &[u8]) -> VectorHash {
    let mut hash = [0; HASH_BYTES];
    let (first, second) = hash.split_at_mut(HASH_BYTES / 2);
    first.copy_from_slice(&xxh3_64(code, 0).to_be_bytes());
    second.copy_from_slice(&xxh3_64(code, 1).to_be_bytes());
    hash
}

fn dimensions_of(count: usize) -> Result<u16, VectorError> {
    match u16::try_from(count) {
        Ok(0) => Err(VectorError::Empty),
        Ok(dimensions) if dimensions <= DIMENSIONS_MAX => Ok(dimensions),
        _ => Err(VectorError::TooLong { dimensions: count }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_vector_is_refused() {
        let make = |values: &[f32]| Vector::from_floats(values, VectorStorage::F32);
        assert_eq!(make(&[]), Err(VectorError::Empty));
        assert_eq!(make(&[1.0, f32::NAN]), Err(VectorError::NotFinite));
        assert_eq!(make(&[f32::INFINITY]), Err(VectorError::NotFinite));
        let most = usize::from(DIMENSIONS_MAX);
        assert!(make(&vec![0.5; most]).is_ok());
        let dimensions = most + 1;
        assert_eq!(
            make(&vec![0.5; dimensions]),
            Err(VectorError::TooLong { dimensions })
        );
        assert!(Vector::from_bits(&vec![0; most / 8 + 1]).is_err());
        assert!(Vector::from_bytes(&[]).is_err());
    }

    #[test]
    fn similarities_are_cosines_and_parts_of_bits() {
        let near = |expected: f32, found: f32| assert!((expected - found).abs() < 0.01, "{found}");
        for storage in [VectorStorage::F32, VectorStorage::I8] {
            let make = |values: &[f32]| Vector::from_floats(values, storage).unwrap();
            let first = make(&[3.0, 0.0, 0.0]);
            near(1.0, first.similarity(&make(&[9.0, 0.0, 0.0])));
            near(0.0, first.similarity(&make(&[0.0, 1.0, 0.0])));
            near(-1.0, first.similarity(&make(&[-2.0, 0.0, 0.0])));
            near(0.707, first.similarity(&make(&[1.0, 1.0, 0.0])));
            near(0.0, first.similarity(&make(&[0.0, 0.0, 0.0])));
        }
        let make = |values: &[f32]| Vector::from_floats(values, VectorStorage::I1).unwrap();
        let bits = make(&[1.0, -1.0, 1.0, -1.0]);
        near(1.0, bits.similarity(&bits));
        near(0.5, bits.similarity(&make(&[1.0, -1.0, -1.0, 1.0])));
        near(0.0, bits.similarity(&make(&[-1.0, 1.0, -1.0, 1.0])));
        assert_eq!(bits.similarity(&make(&[1.0])), 0.0);
    }

    #[test]
    fn the_scale_of_floats_makes_no_other_vector() {
        let make = |values: &[f32]| Vector::from_floats(values, VectorStorage::I8).unwrap();
        assert_eq!(make(&[1.0, 2.0]).identity(), make(&[2.0, 4.0]).identity());
        assert_ne!(make(&[1.0, 2.0]).identity(), make(&[2.0, 1.0]).identity());
    }
}
