//! TOML converted to JSON, with the offset of every field.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Misplaced, Place, below};
use crate::explain::Fault;

pub(super) fn read(text: &str) -> Result<(Value, BTreeMap<String, usize>), Misplaced> {
    let table = DeTable::parse(text).map_err(|error| {
        let place = error.span().map(|span| Place::at(text, span.start));
        let detail = error.message().to_owned();
        Misplaced { error: Fault::Toml { detail }.into(), place }
    })?;
    let mut walk = Walk { text, offsets: BTreeMap::new() };
    let input = walk.table(table.get_ref(), "")?;
    Ok((input, walk.offsets))
}

struct Walk<'t> {
    text: &'t str,
    offsets: BTreeMap<String, usize>,
}

impl Walk<'_> {
    fn table(&mut self, table: &DeTable<'_>, path: &str) -> Result<Value, Misplaced> {
        let mut fields = Map::new();
        for (name, value) in table {
            let path = below(path, name.get_ref());
            self.offsets.insert(path.clone(), name.span().start);
            let value = self.value(value, &path)?;
            fields.insert(name.get_ref().clone().into_owned(), value);
        }
        Ok(Value::Object(fields))
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, path: &str) -> Result<Value, Misplaced> {
        match value.get_ref() {
            DeValue::String(text) => Ok(Value::String(text.clone().into_owned())),
            DeValue::Boolean(flag) => Ok(Value::Bool(*flag)),
            DeValue::Datetime(time) => Ok(Value::String(time.to_string())),
            DeValue::Integer(integer) => {
                let number = i64::from_str_radix(integer.as_str(), integer.radix()).ok();
                let number = number.map(|number| Value::Number(number.into()));
                number.ok_or_else(|| self.bad(path, integer.as_str()))
            }
            DeValue::Float(float) => {
                let number = float.as_str().parse().ok().and_then(Number::from_f64);
                number.map(Value::Number).ok_or_else(|| self.bad(path, float.as_str()))
            }
            DeValue::Array(items) => {
                let mut values = Vec::new();
                for (n, item) in items.iter().enumerate() {
                    let path = format!("{path}[{n}]");
                    self.offsets.insert(path.clone(), item.span().start);
                    values.push(self.value(item, &path)?);
                }
                Ok(Value::Array(values))
            }
            DeValue::Table(table) => self.table(table, path),
        }
    }

    /// An error for a number that JSON cannot express.
    fn bad(&self, path: &str, found: &str) -> Misplaced {
        let offset = self.offsets.get(path).copied().unwrap_or_default();
        let (found, expected) = (format!("`{found}`"), "a finite number, not too large".into());
        let fault = Fault::BadValue { path: path.to_owned(), found, expected };
        Misplaced::new(fault, Place::at(self.text, offset))
    }
}
