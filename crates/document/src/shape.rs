//! Shapes: the lists of field names that the objects of one document share.
//!
//! Read by `container`, `write` and `validate`; written by `intern`. The table of shapes stands
//! behind the root value. An object holds its values and the number of its shape; objects of equal
//! field lists share one shape, so an array of like objects stores each name once.
//!
//! Invariants: nothing here panics on any bytes; a broken table reads as missing fields.

use crate::form::{LINEAR_FIELDS_MAX, Width, fixed, read_varint};

/// Name lengths below this are one byte; this byte announces a varint length.
pub(crate) const LONG_NAME: u8 = 0x7F;
/// A first byte from here on starts a two-byte reference to a name written earlier.
pub(crate) const NAME_REFERENCE: u8 = 0x80;
/// Positions a reference can express: 15 bits.
pub(crate) const NAME_REFERENCE_MAX: usize = 0x7FFF;

/// The parsed head of a document's shape table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShapeTable {
    pub(crate) count: usize,
    /// Width of the position list; without meaning for a single shape, which has no list.
    pub(crate) width: Width,
    /// Where the position list begins.
    pub(crate) list: usize,
    /// Where the blocks begin; positions of blocks and names count from here.
    pub(crate) blocks: usize,
}

impl ShapeTable {
    /// Reads the head of the table at `pos`.
    #[inline]
    pub(crate) fn read(bytes: &[u8], pos: usize) -> Option<ShapeTable> {
        let (count, next) = read_varint(bytes, pos)?;
        if count == 1 {
            let width = Width::One;
            return Some(ShapeTable {
                count,
                width,
                list: next,
                blocks: next,
            });
        }
        let width = Width::from_class(*bytes.get(next)?);
        let list = next + 1;
        Some(ShapeTable {
            count,
            width,
            list,
            blocks: list + count * width.bytes(),
        })
    }

    /// Reads shape `number`.
    #[inline]
    pub(crate) fn shape(&self, bytes: &[u8], number: usize) -> Option<Shape> {
        if number >= self.count {
            return None;
        }
        let block = if self.count == 1 {
            0
        } else {
            self.width
                .read(bytes, self.list + number * self.width.bytes())?
        };
        Shape::read(bytes, self.blocks, self.blocks + block)
    }
}

/// One shape: where its names are. Positions have 32 bits, as documents end below 4 GiB; that
/// keeps values small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Start of all blocks: name references count from here.
    pub(crate) blocks: u32,
    /// Number of names.
    pub(crate) count: u32,
    /// First name.
    pub(crate) names: u32,
    /// Sorted index of a shape of many names; 0 if it has none.
    index: u32,
    /// Width of an entry of the index.
    width: Width,
}

impl Shape {
    pub(crate) const EMPTY: Shape = Shape {
        blocks: 0,
        count: 0,
        names: 0,
        index: 0,
        width: Width::One,
    };

    /// Reads the shape at `pos`.
    #[inline]
    pub(crate) fn read(bytes: &[u8], blocks: usize, pos: usize) -> Option<Shape> {
        let (count, next) = read_varint(bytes, pos)?;
        let (mut names, mut index, mut width) = (next, 0, Width::One);
        if count > LINEAR_FIELDS_MAX {
            width = Width::from_class(*bytes.get(next)?);
            index = next + 1;
            names = index + 2 * count * width.bytes();
        }
        let [blocks, count, names, index] = [blocks, count, names, index].map(u32::try_from);
        Some(Shape {
            blocks: blocks.ok()?,
            count: count.ok()?,
            names: names.ok()?,
            index: index.ok()?,
            width,
        })
    }

    /// Position and width of the sorted index, if there is one.
    pub(crate) fn index(&self) -> Option<(usize, Width)> {
        (self.index != 0).then_some((self.index as usize, self.width))
    }

    /// Position in the field order of the field called `name`.
    #[inline]
    pub(crate) fn find(&self, bytes: &[u8], name: &[u8]) -> Option<usize> {
        if let Some((index, width)) = self.index() {
            return self.find_sorted(bytes, name, index, width);
        }
        let mut pos = self.names as usize;
        for ordinal in 0..self.count as usize {
            let (candidate, next) = read_name(bytes, self.blocks as usize, pos)?;
            if candidate == name {
                return Some(ordinal);
            }
            pos = next;
        }
        None
    }

    fn find_sorted(&self, bytes: &[u8], name: &[u8], index: usize, width: Width) -> Option<usize> {
        let (mut low, mut high) = (0, self.count as usize);
        while low < high {
            let middle = low + (high - low) / 2;
            let (ordinal, candidate) = self.sorted(bytes, middle, index, width)?;
            match name_order(candidate, name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(ordinal),
            }
        }
        None
    }

    /// The `slot`-th name of the sorted index, with its position in the field order.
    pub(crate) fn sorted<'a>(
        &self,
        bytes: &'a [u8],
        slot: usize,
        index: usize,
        width: Width,
    ) -> Option<(usize, &'a [u8])> {
        let ordinal = width.read(bytes, index + slot * width.bytes())?;
        let count = self.count as usize;
        if ordinal >= count {
            return None;
        }
        let offset = width.read(bytes, index + (count + ordinal) * width.bytes())?;
        let (name, _) = read_name(bytes, self.blocks as usize, self.names as usize + offset)?;
        Some((ordinal, name))
    }
}

/// Order of the sorted index: by length, then by bytes.
pub(crate) fn name_order(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// The name at `pos`, and the position of the next one.
#[inline]
pub(crate) fn read_name(bytes: &[u8], blocks: usize, pos: usize) -> Option<(&[u8], usize)> {
    let first = *bytes.get(pos)?;
    if first < LONG_NAME {
        let end = pos + 1 + first as usize;
        return Some((bytes.get(pos + 1..end)?, end));
    }
    if first == LONG_NAME {
        let (len, start) = read_varint(bytes, pos + 1)?;
        let end = start.checked_add(len)?;
        return Some((bytes.get(start..end)?, end));
    }
    let reference = u16::from_be_bytes(fixed::<2>(bytes, pos)?) as usize & NAME_REFERENCE_MAX;
    let target = blocks + reference;
    let len = *bytes.get(target)?;
    if len >= LONG_NAME {
        return None;
    }
    Some((bytes.get(target + 1..target + 1 + len as usize)?, pos + 2))
}
