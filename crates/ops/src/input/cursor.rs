//! Where a page of a list begins.

use std::borrow::Cow;
use std::fmt;

use punchlist_core::{
    AgentPath, ConversationId, DelegationId, GateId, ListId, ProjectId, RunId, SessionId, TodoId,
    TokenId, id,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use super::spelled::Written;
use super::{OR_BLANK, Unclean};

/// The `nextCursor` of the previous page: the key of its last row. Absent, null and blank mean the
/// first page. A text that cannot be such a key is refused, because it would select nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Cursor<T>(pub Option<T>);

/// What the rows of a list are ordered by.
pub trait Key: Sized + fmt::Display {
    fn parse(text: &str) -> Option<Self>;
    fn schema() -> Schema;
}

macro_rules! keys {
    ($($id:ident)+) => {$(
        impl Key for $id {
            fn parse(text: &str) -> Option<Self> {
                Self::parse(text)
            }

            fn schema() -> Schema {
                text_like(id::PATTERN)
            }
        }
    )+};
}

keys! { ConversationId DelegationId GateId ListId ProjectId RunId SessionId TodoId TokenId }

/// A text that matches this pattern.
fn text_like(pattern: &str) -> Schema {
    json_schema!({ "type": ["string", "null"], "pattern": format!("{OR_BLANK}{pattern}") })
}

/// The beginning of a cursor that is a name. Nearly every text could be a name, so without it a
/// mistyped cursor would look like the end of the list.
pub(crate) const AFTER: &str = "after:";

/// The schema of a cursor that is a name.
fn after_like(pattern: &str) -> Schema {
    text_like(&pattern.replacen('^', &format!("^{AFTER}"), 1))
}

impl Key for AgentPath {
    fn parse(text: &str) -> Option<Self> {
        text.strip_prefix(AFTER).and_then(Self::parse)
    }

    fn schema() -> Schema {
        after_like(Self::PATTERN)
    }
}

/// The slug of a mission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Slug(String);

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Key for Slug {
    fn parse(text: &str) -> Option<Self> {
        let name = text.strip_prefix(AFTER)?;
        (!name.is_empty() && !name.starts_with(char::is_whitespace)).then(|| Self(name.to_owned()))
    }

    fn schema() -> Schema {
        text_like(&format!(r"^{AFTER}\S"))
    }
}

impl Key for i64 {
    fn parse(text: &str) -> Option<Self> {
        // Only as a page writes it: no sign, no zeros in front.
        text.parse().ok().filter(|number: &Self| *number >= 1 && number.to_string() == text)
    }

    fn schema() -> Schema {
        let pattern = format!("{OR_BLANK}^[1-9][0-9]{{0,17}}$");
        json_schema!({ "type": ["integer", "string", "null"], "minimum": 1, "pattern": pattern })
    }
}

impl<T: Key> Cursor<T> {
    /// The first page.
    pub const FIRST: Self = Self(None);

    /// The key as text, as the store keeps it.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        self.0.as_ref().map(T::to_string)
    }
}

impl<T> Default for Cursor<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Key> Deserialize<'de> for Cursor<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Option::<Written>::deserialize(deserializer)?;
        let text = given.as_ref().map(|given| given.0.trim()).filter(|text| !text.is_empty());
        let Some(text) = text else {
            return Ok(Self(None));
        };
        let unreadable = || D::Error::custom(Unclean::must_be("nextCursor of the previous page"));
        T::parse(text).map(|key| Self(Some(key))).ok_or_else(unreadable)
    }
}

impl<T: Key> JsonSchema for Cursor<T> {
    fn schema_name() -> Cow<'static, str> {
        "Cursor".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}
