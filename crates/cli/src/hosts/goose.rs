//! Goose: its hooks only report; none of them can prevent a stop.

use punchlist_core::host::{Happened, Host};
use punchlist_ops::operations::session_hook::{Input, Output};
use serde_json::Value;

use super::Dialect;
use super::payload::common;

pub(super) struct Goose;

impl Dialect for Goose {
    fn decode(&self, event: Happened, payload: &Value) -> Input {
        common(Host::Goose, event, payload)
    }

    fn encode(&self, _: Happened, _: &Output) -> String {
        String::new()
    }
}
