//! A deserializer of serde over stored values, read in place.
//!
//! Called by `from_value`. A whole number is an integer however it is written (`2.0`, `1e3`); a
//! number beyond the range of the type asked for is an error.

use jackdaw_document::{Array, ArrayIter, NumberText, Object, ObjectIter, Value};
use serde::de::value::MapDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::error::ValueError;
use super::keys::{KeyReader, UnitVariant};

/// What `serde_json` calls JSON that is kept as text.
const RAW_TOKEN: &str = "$serde_json::private::RawValue";

/// A stored value.
#[derive(Clone, Copy)]
pub(super) struct Reader<'de>(pub(super) Value<'de>);

impl<'de> Reader<'de> {
    fn unexpected(self) -> Unexpected<'de> {
        match self.0 {
            Value::Null => Unexpected::Unit,
            Value::Bool(value) => Unexpected::Bool(value),
            Value::Long(value) => Unexpected::Signed(value),
            Value::Double(value) => Unexpected::Float(value),
            Value::Number(text) => Unexpected::Float(text.as_f64()),
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        }
    }

    fn refuse<T>(self, expected: &dyn de::Expected) -> Result<T, ValueError> {
        Err(de::Error::invalid_type(self.unexpected(), expected))
    }

    fn number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::Long(value) => match u64::try_from(value) {
                Ok(value) => visitor.visit_u64(value),
                Err(_) => visitor.visit_i64(value),
            },
            Value::Double(value) => visitor.visit_f64(value),
            Value::Number(text) => match text.as_str().parse() {
                Ok(value) => visitor.visit_u64(value),
                Err(_) => visitor.visit_f64(finite(text)?),
            },
            _ => self.refuse(&visitor),
        }
    }

    /// A whole number, however it is written.
    fn whole<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0.as_i64().map(Value::Long) {
            Some(value) => Reader(value).number(visitor),
            None => self.number(visitor),
        }
    }
}

/// The nearest `f64` of a text, unless that is infinite.
fn finite(text: NumberText<'_>) -> Result<f64, ValueError> {
    let value = text.as_f64();
    match value.is_finite() {
        true => Ok(value),
        false => Err(ValueError::new(format!(
            "the number {} is out of the range of 64 bits",
            text.as_str()
        ))),
    }
}

fn visit_array<'de, V: Visitor<'de>>(
    array: Array<'de>,
    visitor: V,
) -> Result<V::Value, ValueError> {
    let mut elements = Elements {
        left: array.iter(),
        slot: 0,
    };
    let value = visitor.visit_seq(&mut elements)?;
    match elements.left.next() {
        None => Ok(value),
        Some(_) => Err(de::Error::invalid_length(
            array.len(),
            &"fewer elements in the array",
        )),
    }
}

fn visit_object<'de, V: Visitor<'de>>(
    object: Object<'de>,
    visitor: V,
) -> Result<V::Value, ValueError> {
    visitor.visit_map(Fields {
        left: object.iter(),
        current: None,
    })
}

macro_rules! wholes {
    ($($method:ident),+ $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            self.whole(visitor)
        })+
    };
}

macro_rules! long_wholes {
    ($($method:ident: $type:ty => $visit:ident),+ $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            match self.0 {
                Value::Number(text) => match text.as_str().parse::<$type>() {
                    Ok(value) => visitor.$visit(value),
                    Err(_) => self.whole(visitor),
                },
                _ => self.whole(visitor),
            }
        })+
    };
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Long(_) | Value::Double(_) | Value::Number(_) => self.number(visitor),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(array) => visit_array(array, visitor),
            Value::Object(object) => visit_object(object, visitor),
        }
    }

    wholes! {
        deserialize_i8,
        deserialize_i16,
        deserialize_i32,
        deserialize_i64,
        deserialize_u8,
        deserialize_u16,
        deserialize_u32,
        deserialize_u64,
    }

    long_wholes! {
        deserialize_i128: i128 => visit_i128,
        deserialize_u128: u128 => visit_u128,
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::String(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        if name == RAW_TOKEN {
            let json = std::iter::once((RAW_TOKEN, self.0.to_json()));
            return visitor.visit_map(MapDeserializer::new(json));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(UnitVariant(name)),
            Value::Object(object) => match (object.len(), object.iter().next()) {
                (1, Some((name, content))) => visitor.visit_enum(Variant { name, content }),
                _ => Err(de::Error::invalid_value(
                    Unexpected::Map,
                    &"an object with the name of one variant",
                )),
            },
            _ => self.refuse(&"a string or an object with the name of one variant"),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool f32 f64 char str string unit unit_struct seq tuple tuple_struct map struct identifier
    }
}

/// Elements of an array.
struct Elements<'de> {
    left: ArrayIter<'de>,
    slot: usize,
}

impl<'de> SeqAccess<'de> for &mut Elements<'de> {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        let Some(value) = self.left.next() else {
            return Ok(None);
        };
        let slot = self.slot;
        self.slot += 1;
        seed.deserialize(Reader(value))
            .map(Some)
            .map_err(|error| error.in_element(slot))
    }

    fn size_hint(&self) -> Option<usize> {
        self.left.size_hint().1
    }
}

/// Fields of an object.
struct Fields<'de> {
    left: ObjectIter<'de>,
    current: Option<(&'de str, Value<'de>)>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ValueError> {
        self.current = self.left.next();
        match self.current {
            None => Ok(None),
            Some((name, _)) => seed
                .deserialize(KeyReader(name))
                .map(Some)
                .map_err(|error| error.in_field(name)),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ValueError> {
        let missing = || ValueError::new("a value was asked for before its name");
        let (name, value) = self.current.take().ok_or_else(missing)?;
        seed.deserialize(Reader(value))
            .map_err(|error| error.in_field(name))
    }

    fn size_hint(&self) -> Option<usize> {
        self.left.size_hint().1
    }
}

/// A variant with content.
struct Variant<'de> {
    name: &'de str,
    content: Value<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = ValueError;
    type Variant = Content<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Content<'de>), ValueError> {
        let value = seed.deserialize(KeyReader(self.name))?;
        let content = Content {
            name: self.name,
            reader: Reader(self.content),
        };
        Ok((value, content))
    }
}

struct Content<'de> {
    name: &'de str,
    reader: Reader<'de>,
}

impl<'de> Content<'de> {
    fn read<T>(
        self,
        read: impl FnOnce(Reader<'de>) -> Result<T, ValueError>,
    ) -> Result<T, ValueError> {
        read(self.reader).map_err(|error| error.in_field(self.name))
    }
}

impl<'de> VariantAccess<'de> for Content<'de> {
    type Error = ValueError;

    fn unit_variant(self) -> Result<(), ValueError> {
        self.read(|reader| match reader.0 {
            Value::Null => Ok(()),
            _ => reader.refuse(&"null, as the variant has no content"),
        })
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, ValueError> {
        self.read(|reader| seed.deserialize(reader))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ValueError> {
        self.read(|reader| match reader.0 {
            Value::Array(array) => visit_array(array, visitor),
            _ => reader.refuse(&visitor),
        })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.read(|reader| match reader.0 {
            Value::Object(object) => visit_object(object, visitor),
            Value::Array(array) => visit_array(array, visitor),
            _ => reader.refuse(&visitor),
        })
    }
}
