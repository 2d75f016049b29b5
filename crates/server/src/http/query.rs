//! The fields of a GET request: texts, converted to the types of the operation's schema.
//!
//! A text that cannot be converted stays text, so that the operation's parser explains the error.

use punchlist_ops::explain::Fault;
use punchlist_ops::{Error, Operation};
use serde_json::{Map, Value};

/// The names and values of a query, decoded.
pub(crate) fn pairs(query: &str) -> Result<Vec<(String, String)>, Error> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Ok((decoded(name)?, decoded(value)?))
        })
        .collect()
}

/// The input that a query describes.
pub(crate) fn input(operation: &Operation, query: &str) -> Result<Value, Error> {
    let schema = operation.input_schema();
    let mut input = Map::new();
    for (name, text) in pairs(query)? {
        let field = &schema["properties"][&name];
        if is(field, "array") {
            let items = input.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(items) = items {
                items.push(value(&text, &field["items"]));
            }
        } else if input.insert(name.clone(), value(&text, field)).is_some() {
            let (found, expected) = ("given twice".to_owned(), "given once".to_owned());
            return Err(Fault::BadValue { path: name, found, expected }.into());
        }
    }
    Ok(Value::Object(input))
}

/// Does a schema accept this type?
fn is(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::String(only) => only == name,
        Value::Array(types) => types.iter().any(|one| one == name),
        _ => false,
    }
}

fn value(text: &str, schema: &Value) -> Value {
    let is_text = is(schema, "string") || schema.get("enum").is_some();
    let typed = match text {
        _ if is_text => None,
        "true" | "false" if is(schema, "boolean") => Some(Value::Bool(text == "true")),
        _ if is(schema, "integer") => {
            let written = text.parse::<i64>().ok();
            let number = || text.parse::<f64>().ok().and_then(integer);
            written.or_else(number).map(Value::from)
        }
        _ if is(schema, "boolean") => None,
        // Objects, numbers and values without a type are written as JSON.
        _ => serde_json::from_str(text).ok(),
    };
    typed.unwrap_or_else(|| text.into())
}

/// The number as an integer, if it is whole.
pub(crate) fn integer(number: f64) -> Option<i64> {
    let is_exact = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "it is an integer of at most 53 bits")]
    is_exact.then_some(number as i64)
}

/// Decodes `%41` and `+`.
fn decoded(text: &str) -> Result<String, Error> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|b| char::from(b).to_digit(16));
                let pair = digit(rest.next()).zip(digit(rest.next()));
                let pair = pair.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
                pair.ok_or_else(|| {
                    Error::from(Fault::BadValue {
                        path: "query".to_owned(),
                        found: "a % without two hexadecimal digits".to_owned(),
                        expected: "percent-encoded text".to_owned(),
                    })
                })?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| Fault::Utf8.into())
}

#[cfg(test)]
mod tests {
    use punchlist_ops::catalogue::find;
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_get_the_types_of_the_schema() {
        let list = find("issue_list").unwrap();
        let read = input(list, "text=a+b%26c&limit=5&status=open").unwrap();
        assert_eq!(read["text"], json!("a b&c"));
        assert_eq!(read["limit"], json!(5));
        assert_eq!(
            input(find("issue_show").unwrap(), "number=x").unwrap(),
            json!({ "number": "x" })
        );
        assert_eq!(input(list, "").unwrap(), json!({}));
        assert_eq!(input(list, "nonsense=1").unwrap(), json!({ "nonsense": 1 }));
    }

    #[test]
    fn a_field_given_twice_or_badly_encoded_is_refused() {
        let show = find("issue_show").unwrap();
        assert_eq!(input(show, "number=1&number=2").unwrap_err().code(), "bad_value");
        for bad in ["number=%", "number=%4", "number=%zz", "%ff=1"] {
            assert!(input(show, bad).is_err(), "{bad}");
        }
    }
}
