//! Parses the input of a call from the model's text.

use serde_json::{Value, json};

use super::Input;

/// Empty text is an empty object; anything but an object is an error for the model.
pub(super) fn read(text: &str) -> Input {
    if text.trim().is_empty() {
        return Input::Json(json!({}));
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) if value.is_object() => Input::Json(value),
        _ => Input::Broken(text.to_owned()),
    }
}

/// The input as it is sent back to a provider. A broken one is sent as an empty object, because
/// servers parse it.
pub(super) fn object(input: &Input) -> Value {
    match input {
        Input::Json(value) => value.clone(),
        Input::Broken(_) => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_an_object_or_broken() {
        for text in ["", " \n", "{}"] {
            assert_eq!(read(text), Input::Json(json!({})), "{text:?}");
        }
        assert_eq!(read(r#"{"a":[1]}"#), Input::Json(json!({"a": [1]})));
        let deep = format!("{}{}", "{\"a\":".repeat(500), "}".repeat(500));
        for text in ["{", "[1]", "null", "\"a\"", "{\"a\":1}}", "NaN", deep.as_str()] {
            assert_eq!(read(text), Input::Broken(text.to_owned()), "{text:?}");
        }
        assert_eq!(object(&Input::Broken("{".into())), json!({}));
    }
}
