//! Which tools an agent has, as its file lists them: a full name, or a prefix and one star. A part
//! of a name never matches: `delegate` is not `delegate_todo` (F-6).

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One entry of a list of tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolPattern {
    Exact(String),
    /// Every name with this prefix.
    Prefix(String),
}

impl ToolPattern {
    pub const SPELLING: &'static str = "a tool's whole name, or a beginning and one * at its end";

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (name, is_prefix) = match text.strip_suffix('*') {
            Some(beginning) => (beginning, true),
            None => (text, false),
        };
        let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        match (is_word, is_prefix) {
            (false, _) => None,
            (true, true) => Some(Self::Prefix(name.to_owned())),
            (true, false) => (!name.is_empty()).then(|| Self::Exact(name.to_owned())),
        }
    }

    /// The name, if this is a full name.
    #[must_use]
    pub fn exact(&self) -> Option<&str> {
        match self {
            Self::Exact(name) => Some(name),
            Self::Prefix(_) => None,
        }
    }

    #[must_use]
    pub fn matches(&self, tool: &str) -> bool {
        match self {
            Self::Exact(name) => name == tool,
            Self::Prefix(beginning) => tool.starts_with(beginning.as_str()),
        }
    }

    /// Could it match a name that starts with `beginning`?
    #[must_use]
    pub fn may_match_below(&self, beginning: &str) -> bool {
        match self {
            Self::Exact(name) => name.starts_with(beginning),
            Self::Prefix(own) => own.starts_with(beginning) || beginning.starts_with(own.as_str()),
        }
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => f.write_str(name),
            Self::Prefix(beginning) => write!(f, "{beginning}*"),
        }
    }
}

impl Serialize for ToolPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ToolPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            let spelling = Self::SPELLING;
            serde::de::Error::custom(format!("`{text}` is not a tool name: give {spelling}"))
        })
    }
}

impl JsonSchema for ToolPattern {
    fn schema_name() -> Cow<'static, str> {
        "ToolPattern".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(pattern: &str, tool: &str) -> bool {
        ToolPattern::parse(pattern).unwrap().matches(tool)
    }

    /// F-6: a full name or a prefix. A name that only contains the pattern is another tool.
    #[test]
    fn a_pattern_is_a_full_name_or_a_prefix() {
        for (pattern, tool, expected) in [
            ("delegate", "delegate", true),
            ("delegate", "delegate_todo", false),
            ("delegate", "undelegate", false),
            ("delegate", "Delegate", false),
            ("delegate*", "delegate_todo", true),
            ("delegate*", "delegate", true),
            ("delegate*", "undelegate", false),
            ("todo*", "create_todo", false),
            ("mcp__git__*", "mcp__git__log", true),
            ("mcp__git__*", "mcp__github__log", false),
            ("*", "anything", true),
        ] {
            assert_eq!(is(pattern, tool), expected, "{pattern} {tool}");
        }
    }

    #[test]
    fn malformed_patterns_are_refused() {
        for text in ["", "a*b", "*a", "**", "a.b", "a b", "a?", "a/b", "é"] {
            assert_eq!(ToolPattern::parse(text), None, "{text}");
        }
        for text in ["*", "a*", "a", "mcp__a-b__*"] {
            assert_eq!(ToolPattern::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_server_is_asked_only_if_a_pattern_could_match_its_tools() {
        let may = |pattern: &str| {
            let pattern = ToolPattern::parse(pattern).unwrap();
            pattern.may_match_below("mcp__git__")
        };
        assert!(may("*") && may("mcp__*") && may("mcp__git__*") && may("mcp__git__l*"));
        assert!(may("mcp__git__log"));
        assert!(!may("mcp__github__*") && !may("todo*") && !may("mcp__git"));
    }
}
