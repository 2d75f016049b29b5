//! The JSON schemas of types that are one text or one number in JSON.
//!
//! With them a view, or a core type that is its own view, needs no schema attribute for its fields.

use crate::Time;
use crate::deadline::Deadline;
use crate::evidence::Evidence;
use crate::metric::Figure;

/// The schema of a type that is one value of a JSON type, with a pattern if it is a text of one form.
macro_rules! plain {
    ($($name:ident is $json:literal $(like $pattern:expr)?,)+) => {$(
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": $json $(, "pattern": $pattern)? })
            }
        }
    )+};
}
pub(crate) use plain;

plain! {
    Time is "string",
    Deadline is "string",
    Figure is "number",
    Evidence is "string" like Evidence::PATTERN,
}
