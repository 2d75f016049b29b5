//! `{{name.path}}`: inserts the result of an earlier call into a later input or text.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A place in a saved result, e.g. `plan.created.0.id`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) text: String,
}

impl Place {
    pub(super) fn name(&self) -> &str {
        self.text.split('.').next().unwrap_or_default()
    }

    /// The value at this place of a saved result.
    pub(super) fn find<'a>(&self, saved: &'a Value) -> Option<&'a Value> {
        self.text.split('.').skip(1).try_fold(saved, |value, step| match value {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            value => value.get(step),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Place(Place),
}

/// A text with `{{placeholders}}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

/// The values found so far, by place.
pub(super) type Found = BTreeMap<String, Value>;

impl Template {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            let Some((place, after)) = after.split_once("}}") else {
                return Err("a `{{` is never closed with `}}`".into());
            };
            pieces.push(Piece::Place(read_place(place)?));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self(pieces))
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &Place> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Place(place) => Some(place),
            Piece::Text(_) => None,
        })
    }

    /// A template that is only a place becomes its value. Inside a longer text, the value is
    /// inserted as text. The error is the place that was not found.
    pub(super) fn fill(&self, found: &Found) -> Result<Value, Place> {
        let find = |place: &Place| found.get(&place.text).ok_or_else(|| place.clone());
        if let [Piece::Place(place)] = self.0.as_slice() {
            return find(place).cloned();
        }
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Place(place) => text.push_str(&written(find(place)?)),
            }
        }
        Ok(Value::String(text))
    }

    pub(super) fn fill_text(&self, found: &Found) -> Result<String, Place> {
        self.fill(found).map(|value| written(&value))
    }
}

fn read_place(text: &str) -> Result<Place, String> {
    let text = text.trim();
    let is_word = |step: &str| {
        let is_sign = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-');
        !step.is_empty() && step.chars().all(is_sign)
    };
    if !text.split('.').all(is_word) {
        return Err(format!(
            "`{{{{{text}}}}}` is not a placeholder: write {{{{name.path}}}}, e.g. {{{{plan.created.0.id}}}}"
        ));
    }
    Ok(Place { text: text.to_owned() })
}

fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::read(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// A JSON value whose strings are templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Plain(Value),
    Text(Template),
    List(Vec<Shape>),
    Fields(Vec<(String, Shape)>),
}

impl Shape {
    pub(super) fn read(value: Value) -> Result<Self, String> {
        Ok(match value {
            Value::String(text) => Self::Text(Template::read(&text)?),
            Value::Array(items) => {
                Self::List(items.into_iter().map(Self::read).collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let field = |(name, value)| Ok((name, Self::read(value)?));
                Self::Fields(fields.into_iter().map(field).collect::<Result<_, String>>()?)
            }
            value => Self::Plain(value),
        })
    }

    pub(super) fn places(&self) -> Vec<&Place> {
        match self {
            Self::Plain(_) => Vec::new(),
            Self::Text(template) => template.places().collect(),
            Self::List(items) => items.iter().flat_map(Self::places).collect(),
            Self::Fields(fields) => fields.iter().flat_map(|(_, shape)| shape.places()).collect(),
        }
    }

    pub(super) fn fill(&self, found: &Found) -> Result<Value, Place> {
        Ok(match self {
            Self::Plain(value) => value.clone(),
            Self::Text(template) => template.fill(found)?,
            Self::List(items) => {
                Value::Array(items.iter().map(|item| item.fill(found)).collect::<Result<_, _>>()?)
            }
            Self::Fields(fields) => {
                let field = |(name, shape): &(String, Self)| Ok((name.clone(), shape.fill(found)?));
                Value::Object(fields.iter().map(field).collect::<Result<_, Place>>()?)
            }
        })
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::read(Value::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found() -> Found {
        let pairs = [("p.id", json!("7")), ("p.n", json!(3)), ("p", json!({"id": "7", "n": 3}))];
        pairs.into_iter().map(|(place, value)| (place.to_owned(), value)).collect()
    }

    #[test]
    fn a_place_alone_becomes_its_value_and_inside_a_text_it_becomes_text() {
        let fill = |text: &str| Template::read(text).unwrap().fill(&found());
        assert_eq!(fill("{{p.n}}"), Ok(json!(3)));
        assert_eq!(fill("{{ p }}"), Ok(json!({"id": "7", "n": 3})));
        assert_eq!(
            fill("#{{p.id}}: {{p.n}} of {{p}}"),
            Ok(json!("#7: 3 of {\"id\":\"7\",\"n\":3}"))
        );
        assert_eq!(fill(""), Ok(json!("")));
        assert_eq!(fill("} { }}"), Ok(json!("} { }}")));
        assert_eq!(fill("{{p.gone}}").unwrap_err().text, "p.gone");
        let shape = json!({"a": ["{{p.id}}", 1, null], "b": {"c": "x{{p.n}}"}});
        let filled = Shape::read(shape).unwrap().fill(&found());
        assert_eq!(filled, Ok(json!({"a": ["7", 1, null], "b": {"c": "x3"}})));
    }

    #[test]
    fn a_malformed_place_is_refused() {
        for text in ["{{p", "a {{p}} {{", "{{}}", "{{p..a}}", "{{p a}}", "{{.p}}", "{{{p}}}"] {
            assert!(Template::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_place_is_found_through_objects_and_arrays() {
        let saved = json!({"created": [{"id": "a"}, {"id": "b"}], "0": "zero"});
        let find = |text: &str| read_place(text).unwrap().find(&saved).cloned();
        assert_eq!(find("plan.created.1.id"), Some(json!("b")));
        assert_eq!(find("plan.0"), Some(json!("zero")));
        assert_eq!(find("plan"), Some(saved.clone()));
        for gone in ["plan.created.2.id", "plan.created.x", "plan.made", "plan.created.0.id.x"] {
            assert_eq!(find(gone), None, "{gone}");
        }
    }
}
