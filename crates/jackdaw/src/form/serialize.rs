//! A serializer of serde that drives the document builder.
//!
//! Called by `to_document`. The shapes are those of JSON: variants are named from outside, bytes
//! are arrays of numbers, `None` and the unit are null.

use jackdaw_document::{Builder, DocumentBuf, Limits};
use serde::ser::{self, Serialize, Serializer};

use super::error::ValueError;
use super::keys::KeyText;

/// What `serde_json` calls numbers that are kept as text.
const NUMBER_TOKEN: &str = "$serde_json::private::Number";
/// What `serde_json` calls JSON that is kept as text.
const RAW_TOKEN: &str = "$serde_json::private::RawValue";

/// Writes one value into a builder.
pub(super) struct Writer<'b> {
    builder: &'b mut Builder,
    depth: usize,
    depth_max: usize,
}

impl<'b> Writer<'b> {
    pub(super) fn new(builder: &'b mut Builder) -> Writer<'b> {
        Writer {
            builder,
            depth: 0,
            // What JSON text may have, so that every document can be sent as such.
            depth_max: Limits::default().depth_max,
        }
    }

    /// Counts a level of nesting, which is a recursion here and in every reader.
    fn enter(&mut self) -> Result<(), ValueError> {
        if self.depth == self.depth_max {
            return Err(ValueError::new(format!(
                "the value is nested deeper than {} levels",
                self.depth_max
            )));
        }
        self.depth += 1;
        Ok(())
    }

    fn begin_object(&mut self) -> Result<(), ValueError> {
        self.enter()?;
        self.builder.begin_object();
        Ok(())
    }

    fn end_object(&mut self) {
        self.depth -= 1;
        self.builder.end_object();
    }

    fn begin_array(&mut self) -> Result<(), ValueError> {
        self.enter()?;
        self.builder.begin_array();
        Ok(())
    }

    fn end_array(&mut self) {
        self.depth -= 1;
        self.builder.end_array();
    }

    fn begin_variant(&mut self, variant: &str) -> Result<(), ValueError> {
        self.begin_object()?;
        self.builder.key(variant);
        Ok(())
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), ValueError> {
        self.builder.key(name);
        value
            .serialize(self)
            .map_err(|error: ValueError| error.in_field(name))
    }
}

fn not_finite(value: f64) -> ValueError {
    ValueError::new(format!(
        "{value} has no number in JSON: store null or a string instead"
    ))
}

/// A sequence, map or struct under way.
pub(super) struct Compound<'w, 'b> {
    writer: &'w mut Writer<'b>,
    /// The object around a variant has to be closed, too.
    is_variant: bool,
    kind: Kind,
    /// Elements so far, and the last name of a map, to name the place of a mistake.
    element_count: usize,
    name: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Array,
    Object,
    /// A number or JSON that `serde_json` hands over as text.
    Number,
    Raw,
}

impl<'w, 'b> Compound<'w, 'b> {
    fn new(writer: &'w mut Writer<'b>, is_variant: bool, kind: Kind) -> Compound<'w, 'b> {
        Compound {
            writer,
            is_variant,
            kind,
            element_count: 0,
            name: String::new(),
        }
    }

    fn array(writer: &'w mut Writer<'b>, is_variant: bool) -> Result<Self, ValueError> {
        writer.begin_array()?;
        Ok(Compound::new(writer, is_variant, Kind::Array))
    }

    fn object(writer: &'w mut Writer<'b>, is_variant: bool) -> Result<Self, ValueError> {
        writer.begin_object()?;
        Ok(Compound::new(writer, is_variant, Kind::Object))
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        let slot = self.element_count;
        self.element_count += 1;
        value
            .serialize(&mut *self.writer)
            .map_err(|error: ValueError| error.in_element(slot))
    }

    fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), ValueError> {
        let builder = &mut *self.writer.builder;
        match self.kind {
            Kind::Array | Kind::Object => self.writer.field(name, value),
            Kind::Number => value.serialize(KeyText(|text: &str| {
                builder.number(text);
                Ok(())
            })),
            Kind::Raw => value.serialize(KeyText(|text: &str| {
                let json = DocumentBuf::from_json(text.as_bytes(), &Limits::default());
                builder.value(json.map_err(ValueError::of)?.root());
                Ok(())
            })),
        }
    }

    fn close(self) {
        match self.kind {
            Kind::Array => self.writer.end_array(),
            Kind::Object => self.writer.end_object(),
            Kind::Number | Kind::Raw => {}
        }
        if self.is_variant {
            self.writer.end_object();
        }
    }
}

macro_rules! longs {
    ($($method:ident: $type:ty),+ $(,)?) => {
        $(fn $method(self, value: $type) -> Result<(), ValueError> {
            self.builder.long(value.into());
            Ok(())
        })+
    };
}

/// Integers that may be beyond 64 bits with a sign: their text is kept exactly.
macro_rules! texts {
    ($($method:ident: $type:ty),+ $(,)?) => {
        $(fn $method(self, value: $type) -> Result<(), ValueError> {
            match i64::try_from(value) {
                Ok(value) => self.builder.long(value),
                Err(_) => self.builder.number(&value.to_string()),
            };
            Ok(())
        })+
    };
}

impl<'w, 'b> Serializer for &'w mut Writer<'b> {
    type Ok = ();
    type Error = ValueError;
    type SerializeSeq = Compound<'w, 'b>;
    type SerializeTuple = Compound<'w, 'b>;
    type SerializeTupleStruct = Compound<'w, 'b>;
    type SerializeTupleVariant = Compound<'w, 'b>;
    type SerializeMap = Compound<'w, 'b>;
    type SerializeStruct = Compound<'w, 'b>;
    type SerializeStructVariant = Compound<'w, 'b>;

    longs! {
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
    }

    texts! {
        serialize_u64: u64,
        serialize_i128: i128,
        serialize_u128: u128,
    }

    fn serialize_bool(self, value: bool) -> Result<(), ValueError> {
        self.builder.bool(value);
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), ValueError> {
        if !value.is_finite() {
            return Err(not_finite(value.into()));
        }
        // The shortest text of the `f32`, not of the `f64` with the same value: 0.1, not
        // 0.10000000149011612.
        self.builder.number(&format!("{value:?}"));
        Ok(())
    }

    fn serialize_f64(self, value: f64) -> Result<(), ValueError> {
        if !value.is_finite() {
            return Err(not_finite(value));
        }
        self.builder.double(value);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), ValueError> {
        self.builder.string(value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, text: &str) -> Result<(), ValueError> {
        self.builder.string(text);
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), ValueError> {
        self.begin_array()?;
        for byte in bytes {
            self.builder.long((*byte).into());
        }
        self.end_array();
        Ok(())
    }

    fn serialize_none(self) -> Result<(), ValueError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), ValueError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), ValueError> {
        self.builder.null();
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), ValueError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), ValueError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), ValueError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), ValueError> {
        self.begin_object()?;
        self.field(variant, value)?;
        self.end_object();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'w, 'b>, ValueError> {
        Compound::array(self, false)
    }

    fn serialize_tuple(self, _: usize) -> Result<Compound<'w, 'b>, ValueError> {
        Compound::array(self, false)
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Compound<'w, 'b>, ValueError> {
        Compound::array(self, false)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'w, 'b>, ValueError> {
        self.begin_variant(variant)?;
        Compound::array(self, true)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'w, 'b>, ValueError> {
        Compound::object(self, false)
    }

    fn serialize_struct(
        self,
        name: &'static str,
        _: usize,
    ) -> Result<Compound<'w, 'b>, ValueError> {
        match name {
            NUMBER_TOKEN => Ok(Compound::new(self, false, Kind::Number)),
            RAW_TOKEN => Ok(Compound::new(self, false, Kind::Raw)),
            _ => Compound::object(self, false),
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'w, 'b>, ValueError> {
        self.begin_variant(variant)?;
        Compound::object(self, true)
    }
}

macro_rules! elements {
    ($($trait:ident: $method:ident),+ $(,)?) => {
        $(impl ser::$trait for Compound<'_, '_> {
            type Ok = ();
            type Error = ValueError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
                self.element(value)
            }

            fn end(self) -> Result<(), ValueError> {
                self.close();
                Ok(())
            }
        })+
    };
}

elements! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

macro_rules! fields {
    ($($trait:ident),+ $(,)?) => {
        $(impl ser::$trait for Compound<'_, '_> {
            type Ok = ();
            type Error = ValueError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), ValueError> {
                self.field(name, value)
            }

            fn end(self) -> Result<(), ValueError> {
                self.close();
                Ok(())
            }
        })+
    };
}

fields!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Compound<'_, '_> {
    type Ok = ();
    type Error = ValueError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ValueError> {
        let (builder, name) = (&mut *self.writer.builder, &mut self.name);
        key.serialize(KeyText(|text: &str| {
            builder.key(text);
            name.clear();
            name.push_str(text);
            Ok(())
        }))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        value
            .serialize(&mut *self.writer)
            .map_err(|error: ValueError| error.in_field(&self.name))
    }

    fn end(self) -> Result<(), ValueError> {
        self.close();
        Ok(())
    }
}
