//! The JSON schemas of types that are one text or one number in JSON.
//!
//! With them a view, or a core type that is its own view, needs no schema attribute for its fields.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::Time;
use crate::deadline::Deadline;
use crate::evidence::Evidence;
use crate::metric::Figure;

macro_rules! plain {
    ($($name:ident is $json:literal,)+) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": $json })
            }
        }
    )+};
}

impl JsonSchema for Evidence {
    fn schema_name() -> Cow<'static, str> {
        "Evidence".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": Self::PATTERN })
    }
}

plain! {
    Time is "string",
    Deadline is "string",
    Figure is "number",
}
