//! One principal with its own `punch mcp`, for tests of whole lives.

use serde_json::{Value, json};

use crate::mcp::Client;
use crate::support::{NOW, Place};

/// One principal's server, and its calls.
pub(crate) struct Party {
    pub(crate) client: Client,
}

impl Party {
    pub(crate) fn new(place: &Place, words: &[&str], token: Option<&str>) -> Self {
        Self::at(place, NOW, words, token)
    }

    /// Like `new`, at another time.
    pub(crate) fn at(place: &Place, now: &str, words: &[&str], token: Option<&str>) -> Self {
        let mut punch = place.punch(["mcp"]).words(words).env("PUNCHLIST_NOW", now);
        if let Some(token) = token {
            punch = punch.env("PUNCHLIST_TOKEN", token);
        }
        Self { client: Client::start(&punch) }
    }

    pub(crate) fn call(&self, tool: &str, input: impl Into<Value>) -> Value {
        self.client.answer(tool, &input.into(), &json!({}))
    }

    /// The code of a refusal.
    pub(crate) fn refused(&self, tool: &str, input: impl Into<Value>) -> String {
        let refusal = self.client.refusal(tool, &input.into(), &json!({}));
        refusal["code"].as_str().unwrap().to_owned()
    }

    pub(crate) fn end(self) {
        self.client.end();
    }
}
