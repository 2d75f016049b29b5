//! The answer of an operation, before it is converted to JSON.
//!
//! Our own code takes the operation's output type. A surface that speaks JSON serialises it. One
//! answer serves both, so our own code never looks up fields by name.

use std::any::Any;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Error, strict};

/// Reads the answer of an operation from JSON.
pub(crate) type ReadAnswer = fn(&Value) -> Option<Answer>;

/// The output of some operation.
pub struct Answer(Box<dyn Output>);

/// As JSON, so that the program need not contain a second description of every output.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Answer").field(&self.0.to_text()).finish()
    }
}

/// A type-erased output that can still be serialised, as text: most answers are sent as they are.
/// Each further form would be another serialiser of every output in the program.
trait Output: Any + Send {
    fn to_text(&self) -> serde_json::Result<String>;
}

impl<T: Serialize + Send + 'static> Output for T {
    fn to_text(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

impl Answer {
    /// Wraps an output.
    #[must_use]
    pub fn new<T: Serialize + Send + 'static>(output: T) -> Self {
        Self(Box::new(output))
    }

    /// Parses a stored answer. If an older version stored it in another shape, it stays JSON.
    pub(crate) fn kept(text: &str, read: ReadAnswer) -> Result<Self, Error> {
        let json: Value = text.parse().map_err(punchlist_store::Error::from)?;
        Ok(read(&json).unwrap_or_else(|| Self::new(json)))
    }

    /// The answer with this output; `None` if the JSON has another shape.
    pub(crate) fn read<T>(json: &Value) -> Option<Self>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        typed::<T>(json).ok().map(Self::new)
    }

    /// The output, if this is the answer of an operation with that output type.
    #[must_use]
    pub fn output<T: 'static>(&self) -> Option<&T> {
        let erased: &dyn Any = &*self.0;
        erased.downcast_ref()
    }

    /// The output itself. An answer that is JSON (an old stored one) is parsed.
    pub fn into_output<T: DeserializeOwned + 'static>(self) -> Result<T, Error> {
        let erased: Box<dyn Any> = self.0;
        let erased = match erased.downcast::<T>() {
            Ok(output) => return Ok(*output),
            Err(erased) => erased,
        };
        let json = erased.downcast::<Value>().map_err(|_| Error::Internal {
            detail: "an operation answered with another operation's output".to_owned(),
        })?;
        typed(&json).map_err(|error| punchlist_store::Error::from(error).into())
    }

    pub fn to_json(&self) -> Result<Value, Error> {
        let json = self.0.to_text().and_then(|text| text.parse());
        json.map_err(|error| punchlist_store::Error::from(error).into())
    }

    /// The output as the text of JSON.
    pub fn to_text(&self) -> Result<String, Error> {
        self.0.to_text().map_err(|error| punchlist_store::Error::from(error).into())
    }
}

/// The one way from JSON to an output type: each further one would be another parser of every output
/// in the program.
#[inline(never)]
fn typed<T: DeserializeOwned>(json: &Value) -> serde_json::Result<T> {
    strict::read(json).map_err(|(_, error)| error)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Made {
        number: i64,
    }

    #[test]
    fn an_answer_can_be_read_as_its_type_and_as_json() {
        let answer = Answer::new(Made { number: 3 });
        assert_eq!(answer.output::<Made>(), Some(&Made { number: 3 }));
        assert_eq!(answer.output::<String>(), None);
        assert_eq!(answer.to_json(), Ok(json!({ "number": 3 })));
        assert_eq!(answer.to_text(), Ok(r#"{"number":3}"#.to_owned()));
        assert_eq!(answer.into_output::<Made>(), Ok(Made { number: 3 }));
    }

    #[test]
    fn numbers_survive_the_way_through_text() {
        let output = json!({ "value": 0.1 + 0.2, "big": u64::MAX, "small": 5e-324, "odd": 1.0e23 });
        assert_eq!(Answer::new(output.clone()).to_json(), Ok(output));
    }

    #[test]
    fn a_stored_answer_of_another_version_is_still_readable_as_json() {
        let kept = Answer::kept(r#"{"number":3}"#, Answer::read::<Made>).unwrap();
        assert_eq!(kept.output::<Made>(), Some(&Made { number: 3 }));
        let old = Answer::kept(r#"{"id":"a"}"#, Answer::read::<Made>).unwrap();
        assert_eq!(old.output::<Made>(), None);
        assert_eq!(old.to_json(), Ok(json!({ "id": "a" })));
        assert!(old.into_output::<Made>().is_err());
        assert!(Answer::kept("{", Answer::read::<Made>).is_err());
    }
}
