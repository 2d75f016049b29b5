//! Reads JSON into a type, and a struct from an object only.
//!
//! The parsers that serde derives also read a struct from an array of its fields in order, for
//! formats without names. In JSON that would accept `[]` for an input without required fields, and
//! would make the order of fields, which no schema tells, part of what callers rely on.

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Map, Value};

/// A JSON value to read from.
#[derive(Clone, Copy)]
pub(crate) struct Strict<'de>(pub(crate) &'de Value);

/// The fields of an object. The iterator is named, so that it is one type.
type Fields<'de> = std::iter::Map<
    serde_json::map::Iter<'de>,
    fn((&'de String, &'de Value)) -> (&'de str, Strict<'de>),
>;

fn fields(object: &Map<String, Value>) -> MapDeserializer<'_, Fields<'_>, Error> {
    MapDeserializer::new(object.iter().map(|(name, value)| (name.as_str(), Strict(value))))
}

impl<'de> Strict<'de> {
    /// Refuses an array where a type reads fields by name.
    fn by_name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(_) => Err(Error::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }
}

impl<'de> IntoDeserializer<'de, Error> for Strict<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Strict<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) => {
                let mut items = SeqDeserializer::new(items.iter().map(Strict));
                let read = visitor.visit_seq(&mut items)?;
                items.end().map(|()| read)
            }
            Value::Object(object) => {
                let mut fields = fields(object);
                let read = visitor.visit_map(&mut fields)?;
                fields.end().map(|()| read)
            }
            value => value.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.by_name(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.by_name(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::Object(object) if object.len() == 1 => {
                let variant = MapAccessDeserializer::new(fields(object));
                variant.deserialize_enum(name, variants, visitor)
            }
            value => value.deserialize_enum(name, variants, visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct identifier ignored_any
    }
}
