//! Names of map entries: every key that has one text, as text, and back.
//!
//! Called by `serialize` and `deserialize`. Strings, characters, numbers, truth values and variants
//! without content can name an entry, and so can a newtype or an option around one of them.

use serde::de::value::StrDeserializer;
use serde::de::{self, Deserializer, EnumAccess, IntoDeserializer, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde::ser::{Impossible, Serialize, Serializer};

use super::error::ValueError;

/// Passes the text of a key to a function.
pub(super) struct KeyText<F>(pub(super) F);

type Refused = Impossible<(), ValueError>;

fn refused(what: &str) -> ValueError {
    ValueError::new(format!(
        "{what} cannot name an entry of a map: use a string, a number, a truth value or a variant \
         without content"
    ))
}

impl<F: FnOnce(&str) -> Result<(), ValueError>> KeyText<F> {
    fn display(self, value: impl std::fmt::Display) -> Result<(), ValueError> {
        (self.0)(&value.to_string())
    }
}

macro_rules! displayed {
    ($($method:ident: $type:ty),+ $(,)?) => {
        $(fn $method(self, value: $type) -> Result<(), ValueError> {
            self.display(value)
        })+
    };
}

impl<F: FnOnce(&str) -> Result<(), ValueError>> Serializer for KeyText<F> {
    type Ok = ();
    type Error = ValueError;
    type SerializeSeq = Refused;
    type SerializeTuple = Refused;
    type SerializeTupleStruct = Refused;
    type SerializeTupleVariant = Refused;
    type SerializeMap = Refused;
    type SerializeStruct = Refused;
    type SerializeStructVariant = Refused;

    displayed! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_u128: u128,
        serialize_char: char,
    }

    fn serialize_f32(self, value: f32) -> Result<(), ValueError> {
        match value.is_finite() {
            true => (self.0)(&format!("{value:?}")),
            false => Err(refused("a number that is not finite")),
        }
    }

    fn serialize_f64(self, value: f64) -> Result<(), ValueError> {
        match value.is_finite() {
            true => (self.0)(&format!("{value:?}")),
            false => Err(refused("a number that is not finite")),
        }
    }

    fn serialize_str(self, text: &str) -> Result<(), ValueError> {
        (self.0)(text)
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), ValueError> {
        Err(refused("a byte string"))
    }

    fn serialize_none(self) -> Result<(), ValueError> {
        Err(refused("an absent value"))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), ValueError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), ValueError> {
        Err(refused("the unit"))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), ValueError> {
        Err(refused("the unit"))
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), ValueError> {
        (self.0)(variant)
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
        _: &'static str,
        _: &T,
    ) -> Result<(), ValueError> {
        Err(refused("a variant with content"))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Refused, ValueError> {
        Err(refused("a sequence"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Refused, ValueError> {
        Err(refused("a tuple"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Refused, ValueError> {
        Err(refused("a tuple"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Refused, ValueError> {
        Err(refused("a variant with content"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Refused, ValueError> {
        Err(refused("a map"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Refused, ValueError> {
        Err(refused("a struct"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Refused, ValueError> {
        Err(refused("a variant with content"))
    }
}

/// The name of a stored entry, as the key of any type.
pub(super) struct KeyReader<'de>(pub(super) &'de str);

macro_rules! parsed {
    ($($method:ident: $type:ty => $visit:ident),+ $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            match self.0.parse::<$type>() {
                Ok(value) => visitor.$visit(value),
                Err(_) => visitor.visit_borrowed_str(self.0),
            }
        })+
    };
}

impl<'de> Deserializer<'de> for KeyReader<'de> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_borrowed_str(self.0)
    }

    parsed! {
        deserialize_bool: bool => visit_bool,
        deserialize_i8: i8 => visit_i8,
        deserialize_i16: i16 => visit_i16,
        deserialize_i32: i32 => visit_i32,
        deserialize_i64: i64 => visit_i64,
        deserialize_u8: u8 => visit_u8,
        deserialize_u16: u16 => visit_u16,
        deserialize_u32: u32 => visit_u32,
        deserialize_u64: u64 => visit_u64,
        deserialize_f32: f32 => visit_f32,
        deserialize_f64: f64 => visit_f64,
        deserialize_i128: i128 => visit_i128,
        deserialize_u128: u128 => visit_u128,
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_borrowed_bytes(self.0.as_bytes())
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_enum(UnitVariant(self.0))
    }

    forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A variant without content.
pub(super) struct UnitVariant<'de>(pub(super) &'de str);

impl<'de> EnumAccess<'de> for UnitVariant<'de> {
    type Error = ValueError;
    type Variant = NoContent;

    fn variant_seed<V: de::DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, NoContent), ValueError> {
        let name: StrDeserializer<'_, ValueError> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, NoContent))
    }
}

/// See [`UnitVariant`].
pub(super) struct NoContent;

impl<'de> VariantAccess<'de> for NoContent {
    type Error = ValueError;

    fn unit_variant(self) -> Result<(), ValueError> {
        Ok(())
    }

    fn newtype_variant_seed<T: de::DeserializeSeed<'de>>(
        self,
        _: T,
    ) -> Result<T::Value, ValueError> {
        Err(de::Error::invalid_type(
            de::Unexpected::UnitVariant,
            &"a variant with content",
        ))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ValueError> {
        Err(de::Error::invalid_type(
            de::Unexpected::UnitVariant,
            &visitor,
        ))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        Err(de::Error::invalid_type(
            de::Unexpected::UnitVariant,
            &visitor,
        ))
    }
}
