//! Reads JSON into a type: a struct from an object only, and an error with the value it is about.
//!
//! The parsers that serde derives also read a struct from an array of its fields in order, for
//! formats without names. In JSON that would accept `[]` for an input without required fields, and
//! would make the order of fields, which no schema tells, part of what callers rely on.
//!
//! The value that is being read is noted when an object or an array hands it out, so a parser of an
//! input does not become larger for it: there are so many that they are a part of the program's size.

use std::cell::Cell;
use std::fmt::Write as _;

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{Deserialize, Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Map, Value};

/// Reads a value into a type. An error comes with the value inside of it that was being read.
pub(crate) fn read<'de, T: Deserialize<'de>>(value: &'de Value) -> Result<T, (&'de Value, Error)> {
    let reading = Cell::new(value);
    T::deserialize(Strict { value, reading: &reading }).map_err(|error| (reading.get(), error))
}

/// The path from a value to one inside of it, such as `items[0].title`; `.` if it is the same.
pub(crate) fn path(from: &Value, to: &Value) -> String {
    let mut path = String::new();
    match search(from, to, &mut path) {
        true if !path.is_empty() => path,
        _ => ".".to_owned(),
    }
}

/// Adds the path to it. Values are compared by where they are, because equal ones may repeat.
fn search(within: &Value, wanted: &Value, path: &mut String) -> bool {
    if std::ptr::eq(within, wanted) {
        return true;
    }
    let before = path.len();
    let dot = if before == 0 { "" } else { "." };
    match within {
        Value::Array(items) => items.iter().enumerate().any(|(index, item)| {
            path.truncate(before);
            let _ = write!(path, "[{index}]");
            search(item, wanted, path)
        }),
        Value::Object(object) => object.iter().any(|(name, value)| {
            path.truncate(before);
            let _ = write!(path, "{dot}{name}");
            search(value, wanted, path)
        }),
        _ => false,
    }
}

/// A JSON value to read from.
#[derive(Clone, Copy)]
struct Strict<'r, 'de> {
    value: &'de Value,
    /// The innermost value that is being read.
    reading: &'r Cell<&'de Value>,
}

/// What a value contains, each part noted as it is handed out, and then the whole again.
struct Parts<'r, 'de, I> {
    whole: Strict<'r, 'de>,
    left: I,
}

impl<'r, 'de, I> Parts<'r, 'de, I> {
    fn hand_out(&self, part: Option<&'de Value>) -> Strict<'r, 'de> {
        let value = part.unwrap_or(self.whole.value);
        self.whole.reading.set(value);
        Strict { value, ..self.whole }
    }
}

type Items<'r, 'de> = Parts<'r, 'de, std::slice::Iter<'de, Value>>;

impl<'r, 'de> Iterator for Items<'r, 'de> {
    type Item = Strict<'r, 'de>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.left.next();
        let part = self.hand_out(item);
        item.map(|_| part)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

type Fields<'r, 'de> = Parts<'r, 'de, serde_json::map::Iter<'de>>;

impl<'r, 'de> Iterator for Fields<'r, 'de> {
    type Item = (&'de str, Strict<'r, 'de>);

    fn next(&mut self) -> Option<Self::Item> {
        let field = self.left.next();
        let part = self.hand_out(field.map(|(_, value)| value));
        field.map(|(name, _)| (name.as_str(), part))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<'r, 'de> Strict<'r, 'de> {
    fn fields(
        self,
        object: &'de Map<String, Value>,
    ) -> MapDeserializer<'de, Fields<'r, 'de>, Error> {
        MapDeserializer::new(Parts { whole: self, left: object.iter() })
    }

    /// Refuses an array where a type reads fields by name.
    fn by_name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Array(_) => Err(Error::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }
}

impl<'de> IntoDeserializer<'de, Error> for Strict<'_, 'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Strict<'_, 'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Array(items) => {
                let mut items = SeqDeserializer::new(Parts { whole: self, left: items.iter() });
                let read = visitor.visit_seq(&mut items)?;
                items.end().map(|()| read)
            }
            Value::Object(object) => {
                let mut fields = self.fields(object);
                let read = visitor.visit_map(&mut fields)?;
                fields.end().map(|()| read)
            }
            value => value.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        // The name by which a `RawValue` asks for the text: only serde_json knows its answer.
        if name.starts_with('$') {
            return self.value.deserialize_newtype_struct(name, visitor);
        }
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
        match self.value {
            Value::Object(object) if object.len() == 1 => {
                let variant = MapAccessDeserializer::new(self.fields(object));
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use punchlist_core::text::Title;
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;

    #[derive(Debug, PartialEq, Eq, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Choice {
        None,
        Nested(Box<Nested>),
    }

    #[derive(Debug, PartialEq, Eq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nested {
        title: Title,
        #[serde(default)]
        items: Vec<Nested>,
        #[serde(default)]
        named: BTreeMap<String, Option<u8>>,
        choice: Option<Choice>,
    }

    fn leaf(title: &str, choice: Option<Choice>) -> Nested {
        let title = Title::new(title).unwrap();
        Nested { title, items: Vec::new(), named: BTreeMap::new(), choice }
    }

    #[test]
    fn a_part_can_be_kept_as_its_text() {
        let value = json!({ "n": [{ "b": 1, "a": "x" }] });
        let read: BTreeMap<String, Box<RawValue>> = read(&value).unwrap();
        assert_eq!(read["n"].get(), r#"[{"b":1,"a":"x"}]"#);
    }

    #[test]
    fn an_error_is_about_the_value_that_was_being_read() {
        let whole = json!({
            "title": "a",
            "items": [{ "title": "b" }, { "title": "c", "named": { "x": 1, "y": null } }],
            "choice": { "nested": { "title": "d", "choice": "none" } },
        });
        let named = BTreeMap::from([("x".to_owned(), Some(1)), ("y".to_owned(), None)]);
        let second = Nested { named, ..leaf("c", None) };
        let choice = Choice::Nested(Box::new(leaf("d", Some(Choice::None))));
        let expected = Nested { items: vec![leaf("b", None), second], ..leaf("a", Some(choice)) };
        assert_eq!(read::<Nested>(&whole).ok(), Some(expected));
        let cases = [
            (json!([]), "."),
            (json!({}), "."),
            (json!({ "title": " " }), "title"),
            (json!({ "title": 3 }), "title"),
            (json!({ "title": "a", "items": { "title": "b" } }), "items"),
            (json!({ "title": "a", "items": [{ "title": "a" }, ["a"]] }), "items[1]"),
            (json!({ "title": "a", "items": [{ "title": "a" }, {}] }), "items[1]"),
            (json!({ "title": "a", "items": [{ "title": "" }] }), "items[0].title"),
            (json!({ "title": "a", "named": { "x": 1, "y": 300 } }), "named.y"),
            (json!({ "title": "a", "choice": "other" }), "choice"),
            (
                json!({ "items": [], "choice": { "nested": { "title": "" } } }),
                "choice.nested.title",
            ),
            (json!({ "items": [{ "title": "a" }] }), "."),
        ];
        for (value, expected) in cases {
            let (at, error) = read::<Nested>(&value).unwrap_err();
            assert_eq!(path(&value, at), expected, "{value}: {error}");
        }
    }
}
