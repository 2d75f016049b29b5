//! The parts that several schemas of outputs have in common: each is in the program once, and the
//! schemas name it (ADR 0033).
//!
//! Nobody outside sees the names: a schema that is read is whole.

use serde_json::Value;

/// The parts, a line each: the name, a space, and the part, which may name others.
const PARTS: &str = include_str!("../../schemas/parts.txt");

/// The only field of an object that stands for a part: the part's name.
pub(super) const PART: &str = "$part";

/// Replaces the names of parts by the parts.
pub(super) fn put_in(schema: &mut Value) {
    if let Some(Value::String(name)) = schema.get(PART) {
        *schema = super::parsed(named(name));
    }
    match schema {
        Value::Object(object) => object.values_mut().for_each(put_in),
        Value::Array(items) => items.iter_mut().for_each(put_in),
        _ => {}
    }
}

fn named(name: &str) -> &'static str {
    let part = |line: &'static str| line.strip_prefix(name)?.strip_prefix(' ');
    PARTS.lines().find_map(part).unwrap_or_default()
}
