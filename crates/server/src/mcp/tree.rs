//! JSON that is read once and only looked at: texts stay in the line that they came in, and objects
//! are lists of fields. Building a `Value` for that takes twice as long.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::Number;

#[derive(Debug)]
pub(crate) enum Tree<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    List(Vec<Tree<'a>>),
    Object(Vec<(Cow<'a, str>, Tree<'a>)>),
}

/// The fields of an object.
pub(crate) type Fields<'a> = [(Cow<'a, str>, Tree<'a>)];

impl<'a> Tree<'a> {
    pub(crate) const fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }
}

/// The value of a field.
pub(crate) fn get<'t, 'a>(fields: &'t Fields<'a>, name: &str) -> Option<&'t Tree<'a>> {
    fields.iter().find(|(other, _)| other == name).map(|(_, value)| value)
}

/// As the text of JSON.
impl fmt::Display for Tree<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Tree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(is) => serializer.serialize_bool(*is),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(fields) => {
                serializer.collect_map(fields.iter().map(|(name, value)| (name, value)))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Tree<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Tree<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, is: bool) -> Result<Self::Value, E> {
        Ok(Tree::Bool(is))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Tree::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Tree::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(number).map_or(Tree::Null, Tree::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Tree::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Tree::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(name) = map.next_key()? {
            let Tree::Text(name) = name else { return Err(A::Error::custom("not a name")) };
            fields.push((name, map.next_value()?));
        }
        Ok(Tree::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_comes_back_as_it_was() {
        for text in [
            r#"{"a":null,"b":[true,-1,18446744073709551615,0.1,"x\"y",[],{}],"c":{"ä":"\n"}}"#,
            r#""only a text""#,
            "[1,[2]]",
        ] {
            let tree: Tree<'_> = serde_json::from_str(text).unwrap();
            assert_eq!(tree.to_string(), text);
        }
        assert!(serde_json::from_str::<Tree<'_>>("{").is_err());
    }

    #[test]
    fn a_text_without_escapes_is_not_copied() {
        let tree: Tree<'_> = serde_json::from_str(r#"{"a":"plain","b":"es\"caped"}"#).unwrap();
        let Tree::Object(fields) = &tree else { panic!("{tree}") };
        assert!(matches!(get(fields, "a"), Some(Tree::Text(Cow::Borrowed("plain")))));
        assert!(matches!(get(fields, "b"), Some(Tree::Text(Cow::Owned(_)))));
        assert!(get(fields, "c").is_none());
    }
}
