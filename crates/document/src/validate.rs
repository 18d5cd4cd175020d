//! Full structural validation of stored bytes, in one pass without recursion.
//!
//! Called by `Document::open`. After it every accessor reads exactly what was written.
//!
//! Cost: each byte of the values is looked at once and each name once; names that are references
//! are at most 126 bytes, so bytes made to be slow cannot take more than about 60 times as long.

use crate::error::DocumentError;
use crate::form::{self, DEPTH_MAX, LINEAR_FIELDS_MAX, ROOT, VERSION, Width, tag};
use crate::number::{self, EXACT_POWER_MAX};
use crate::shape::{Shape, ShapeTable, name_order, read_name};
use crate::value::read_value;

type Checked<T> = Result<T, DocumentError>;

fn damaged<T>(offset: usize, what: &'static str) -> Checked<T> {
    Err(DocumentError::Damaged { offset, what })
}

/// Checks that the bytes are one whole document.
pub(crate) fn validate(bytes: &[u8]) -> Checked<()> {
    match bytes.first() {
        None => return Err(DocumentError::Empty),
        Some(&VERSION) => {}
        Some(&version) => return Err(DocumentError::UnknownVersion(version)),
    }
    if u32::try_from(bytes.len()).is_err() {
        return damaged(0, "it is longer than 4 GiB");
    }
    let end = match form::value_end(bytes, ROOT) {
        Some(end) if end <= bytes.len() => end,
        _ => return damaged(ROOT, "the root value goes beyond the end"),
    };
    let table = if end == bytes.len() {
        None
    } else {
        Some(validate_table(bytes, end)?)
    };
    validate_values(bytes, end, table.as_ref())
}

/// Checks the shape table, which fills the rest of the document exactly.
fn validate_table(bytes: &[u8], pos: usize) -> Checked<ShapeTable> {
    let Some(table) = ShapeTable::read(bytes, pos) else {
        return damaged(pos, "the shape table has no head");
    };
    if table.count == 0 || table.blocks > bytes.len() {
        return damaged(pos, "the shape table has a wrong count");
    }
    let mut block = table.blocks;
    for number in 0..table.count {
        if table.count > 1 {
            let at = table.list + number * table.width.bytes();
            if table.width.read(bytes, at) != Some(block - table.blocks) {
                return damaged(at, "a shape is not where the list says");
            }
        }
        block = validate_shape(bytes, table.blocks, block)?;
    }
    if block != bytes.len() {
        return damaged(block, "bytes follow the shape table");
    }
    Ok(table)
}

/// Checks one shape; gives the position behind it.
fn validate_shape(bytes: &[u8], blocks: usize, pos: usize) -> Checked<usize> {
    let Some(shape) = Shape::read(bytes, blocks, pos) else {
        return damaged(pos, "a shape has no head");
    };
    let (count, names) = (shape.count as usize, shape.names as usize);
    if count == 0 || names > bytes.len() {
        return damaged(pos, "a shape has a wrong count");
    }
    let mut name_pos = names;
    let mut earlier: [&[u8]; LINEAR_FIELDS_MAX] = [&[]; LINEAR_FIELDS_MAX];
    for ordinal in 0..count {
        let offset = name_pos - names;
        let Some((name, next)) = read_name(bytes, blocks, name_pos) else {
            return damaged(name_pos, "a field name is cut off");
        };
        if std::str::from_utf8(name).is_err() {
            return damaged(name_pos, "a field name is not UTF-8");
        }
        if shape.index().is_none() {
            if earlier[..ordinal].contains(&name) {
                return damaged(name_pos, "two fields of an object have one name");
            }
            earlier[ordinal] = name;
        }
        if let Some((index, width)) = shape.index() {
            let at = index + (count + ordinal) * width.bytes();
            if width.read(bytes, at) != Some(offset) {
                return damaged(at, "a field name is not where its index says");
            }
        }
        name_pos = next;
    }
    if let Some((index, width)) = shape.index() {
        validate_order(bytes, &shape, index, width)?;
    }
    Ok(name_pos)
}

/// Checks that the sorted index is strictly ascending, hence names each field exactly once.
fn validate_order(bytes: &[u8], shape: &Shape, index: usize, width: Width) -> Checked<()> {
    let mut before: Option<&[u8]> = None;
    for slot in 0..shape.count as usize {
        let Some((_, name)) = shape.sorted(bytes, slot, index, width) else {
            return damaged(index, "the name index points outside");
        };
        if before.is_some_and(|b| name_order(b, name).is_ge()) {
            return damaged(index, "the name index is not in order");
        }
        before = Some(name);
    }
    Ok(())
}

/// A container whose values are being checked.
struct Open {
    /// Position behind its values.
    values_end: usize,
    /// Position behind the container.
    end: usize,
    values_left: usize,
    /// Next entry of its table of value positions, and the width of one.
    position: Option<(usize, Width)>,
    values: usize,
}

/// Walks over the values from the root to `end`.
fn validate_values(bytes: &[u8], end: usize, table: Option<&ShapeTable>) -> Checked<()> {
    let root = Open {
        values_end: end,
        end,
        values_left: 1,
        position: None,
        values: ROOT,
    };
    let mut open = root;
    let mut parents: Vec<Open> = Vec::new();
    let mut pos = ROOT;
    loop {
        if open.values_left == 0 {
            if pos != open.values_end {
                return damaged(pos, "values do not fill their container");
            }
            pos = open.end;
            match parents.pop() {
                Some(parent) => open = parent,
                None => return Ok(()),
            }
            continue;
        }
        if let Some((at, width)) = &mut open.position {
            if width.read(bytes, *at) != Some(pos - open.values) {
                return damaged(*at, "a value is not where its index says");
            }
            *at += width.bytes();
        }
        open.values_left -= 1;
        let next = match form::value_end(bytes, pos) {
            Some(next) if next <= open.values_end => next,
            _ => return damaged(pos, "a value goes beyond its container"),
        };
        if form::is_container(bytes[pos]) {
            if parents.len() >= DEPTH_MAX {
                return damaged(pos, "it is nested too deep");
            }
            let child = open_container(bytes, pos, next, table)?;
            pos = child.values;
            parents.push(std::mem::replace(&mut open, child));
        } else {
            validate_scalar(bytes, pos)?;
            pos = next;
        }
    }
}

/// Checks the head and tail of the container from `pos` to `end`.
fn open_container(
    bytes: &[u8],
    pos: usize,
    end: usize,
    table: Option<&ShapeTable>,
) -> Checked<Open> {
    let tag = bytes[pos];
    let Some((values, _)) = form::prefixed(bytes, pos, tag) else {
        return damaged(pos, "a container has no head");
    };
    let object = tag >= tag::OBJECT;
    let (width, tail_width) = if object {
        form::object_widths(tag)
    } else {
        let width = Width::from_class(tag - tag::ARRAY);
        (width, width)
    };
    let tail = end.saturating_sub(tail_width.bytes());
    if tail <= values {
        return damaged(pos, "a container is too short");
    }
    let Some(last) = tail_width.read(bytes, tail) else {
        return damaged(tail, "a container is cut off");
    };
    let count = if object {
        match table.and_then(|t| t.shape(bytes, last)) {
            Some(shape) => shape.count as usize,
            None => return damaged(tail, "an object names a shape that does not exist"),
        }
    } else {
        last
    };
    let indexed = object && count > LINEAR_FIELDS_MAX;
    let positions = if indexed {
        tail.saturating_sub(count * width.bytes())
    } else {
        tail
    };
    if count == 0 || positions <= values || count > positions - values {
        return damaged(pos, "a container has a wrong count");
    }
    let position = indexed.then_some((positions, width));
    Ok(Open {
        values_end: positions,
        end,
        values_left: count,
        position,
        values,
    })
}

/// Checks a value that is not a container and lies inside the bytes.
fn validate_scalar(bytes: &[u8], pos: usize) -> Checked<()> {
    let tag = bytes[pos];
    if read_value(bytes, 0, pos).is_none() {
        return damaged(pos, "a value cannot be read");
    }
    match tag {
        tag::DECIMAL_8 | tag::DECIMAL_16 | tag::DECIMAL_32
            if bytes
                .get(pos + 1)
                .is_none_or(|&scale| scale > EXACT_POWER_MAX) =>
        {
            return damaged(pos, "a decimal has too many digits");
        }
        tag::NUMBER_8 | tag::NUMBER_32 => {
            let text = form::prefixed(bytes, pos, tag)
                .and_then(|(start, len)| bytes.get(start..start + len))
                .unwrap_or_default();
            if !number::scan(text, 0).is_ok_and(|scanned| scanned.end == text.len()) {
                return damaged(pos, "a number text is not a number");
            }
        }
        _ => {}
    }
    Ok(())
}
