//! Finds the parts that schemas have in common. Like `generate`, it runs only in tests.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::parts::PART;

/// A part is at least so long; naming a shorter one saves nothing.
const LEAST: usize = 60;

/// How often each object is used, by its text. What is inside of an object that is used several times
/// counts once.
#[derive(Debug, Default)]
pub(super) struct Sharing(BTreeMap<String, usize>);

impl Sharing {
    pub(super) fn count(&mut self, schema: &Value) {
        match schema {
            Value::Object(object) => {
                let uses = self.0.entry(schema.to_string()).or_default();
                *uses += 1;
                if *uses == 1 {
                    object.values().for_each(|inner| self.count(inner));
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.count(item)),
            _ => {}
        }
    }

    fn is_part(&self, text: &str) -> bool {
        text.len() >= LEAST && self.0.get(text).is_some_and(|uses| *uses > 1)
    }

    /// The schema with the names of its parts.
    pub(super) fn named(&self, schema: &Value) -> Value {
        let text = schema.to_string();
        match schema {
            Value::Object(_) if self.is_part(&text) => {
                Map::from_iter([(PART.to_owned(), name(&text).into())]).into()
            }
            _ => self.inside(schema),
        }
    }

    fn inside(&self, schema: &Value) -> Value {
        match schema {
            Value::Object(object) => {
                object.iter().map(|(key, inner)| (key.clone(), self.named(inner))).collect()
            }
            Value::Array(items) => items.iter().map(|item| self.named(item)).collect(),
            other => other.clone(),
        }
    }

    /// The file of parts.
    pub(super) fn file(&self) -> String {
        let parts = self
            .0
            .keys()
            .filter(|text| self.is_part(text))
            .map(|text| format!("{} {}\n", name(text), self.inside(&super::parsed(text))));
        let mut lines: Vec<String> = parts.collect();
        lines.sort_unstable();
        let is_same = |pair: &[String]| pair[0].split(' ').next() == pair[1].split(' ').next();
        assert!(!lines.windows(2).any(is_same), "two parts have one name: make names longer");
        lines.concat()
    }
}

/// A name that depends only on the text, so that one change of a type does not rename other parts.
fn name(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(3).map(|byte| format!("{byte:02x}")).collect()
}
