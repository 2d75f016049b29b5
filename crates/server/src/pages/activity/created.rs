//! The id and the title of the item that a `todo_created` event brings. Busy logs consist of these
//! events, and reading all of an item costs more than everything else on the page, so the reading
//! ends when both are known.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

/// The fields found so far.
#[derive(Default)]
struct Found {
    id: Option<String>,
    title: Option<String>,
}

/// An object: the event, or the item in it.
struct Object<'a> {
    found: &'a mut Found,
    is_item: bool,
}

pub(super) fn of(data: &str) -> Option<(String, String)> {
    let mut found = Found::default();
    let event = Object { found: &mut found, is_item: false };
    // The parser reports the part that is not read as an error.
    let _unread = event.deserialize(&mut serde_json::Deserializer::from_str(data));
    found.id.zip(found.title)
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while self.found.id.is_none() || self.found.title.is_none() {
            match (map.next_key::<&str>()?, self.is_item) {
                (None, _) => break,
                (Some("id"), true) => self.found.id = Some(map.next_value()?),
                (Some("title"), true) => self.found.title = Some(map.next_value()?),
                (Some("todo"), false) => {
                    map.next_value_seed(Object { found: &mut *self.found, is_item: true })?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn the_item_is_found_wherever_it_stands_and_only_there() {
        let both = Some(("A".to_owned(), "Say \"hi\"".to_owned()));
        let first = r#"{"todo":{"id":"A","kind":"step","title":"Say \"hi\"","wishes":[1]},"by":1}"#;
        assert_eq!(of(first), both);
        let last = r#"{"title":"x","id":"y","todo":{"wishes":[{"title":"z"}],"title":"Say \"hi\"","id":"A"}}"#;
        assert_eq!(of(last), both);
        for none in [r#"{"todo":{"id":"A"}}"#, r#"{"todo":{"id":"A","title":1}}"#, "{}", "", "[]"] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
