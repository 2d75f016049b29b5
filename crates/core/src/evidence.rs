//! The evidence of a claim, by kind. Only its format is checked here, not its truth.

use std::fmt;

use crate::named::named;
use crate::text::MUST_BE;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

named! {
    /// The kinds of evidence.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum EvidenceKind {
        Commit = "commit",
        Test = "test",
        Pr = "pr",
        File = "file",
        Url = "url",
        Note = "note",
    }
}

/// One piece of evidence, kept as it was written: `kind:value`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Evidence {
    kind: EvidenceKind,
    value: String,
}

impl Evidence {
    /// The pattern for a JSON Schema.
    pub const PATTERN: &'static str = concat!(
        r"^(commit:[0-9A-Fa-f]{7,64}",
        r"|(test|pr|file|note):[\s\S]*\S[\s\S]*",
        r"|url:https?://[\s\S]*)$",
    );

    /// Reads `kind:value`; the value must not be empty, and a commit must be hexadecimal.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, value) = text.trim().split_once(':')?;
        let kind = EvidenceKind::parse(kind)?;
        let value = value.trim();
        let fits = match kind {
            EvidenceKind::Commit => {
                (7..=64).contains(&value.len()) && value.chars().all(|c| c.is_ascii_hexdigit())
            }
            EvidenceKind::Url => value.starts_with("https://") || value.starts_with("http://"),
            _ => !value.is_empty() && !value.contains('\0'),
        };
        fits.then(|| Self { kind, value: value.to_owned() })
    }

    /// How a text that `parse` refuses should be written.
    fn spelling(text: &str) -> &'static str {
        let kind = text.trim().split_once(':').and_then(|(kind, _)| EvidenceKind::parse(kind));
        match kind {
            Some(EvidenceKind::Commit) => "commit: and 7 to 64 hexadecimal digits",
            Some(EvidenceKind::Url) => "url: and an address that begins with http:// or https://",
            Some(_) => "a value after the colon",
            None => "kind:value with commit, test, pr, file, url or note",
        }
    }

    #[must_use]
    pub const fn kind(&self) -> EvidenceKind {
        self.kind
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.value)
    }
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Evidence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| serde::de::Error::custom(format!("{MUST_BE}{}", Self::spelling(&text))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_has_a_known_kind_and_the_shape_of_it() {
        for good in ["commit:0123abc", "test:core::apply", "pr:12", "url:https://x.y", "note:ok"] {
            assert_eq!(Evidence::parse(good).unwrap().to_string(), good);
        }
        for bad in ["done", "commit:xyz", "commit:12", "url:x.y", "note:", "vibes:good"] {
            assert_eq!(Evidence::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn error_says_how_the_kind_is_written() {
        for (bad, expected) in [
            ("commit:xyz", "it must be commit: and 7 to 64 hexadecimal digits"),
            (" url:x.y", "it must be url: and an address that begins with http:// or https://"),
            ("note: ", "it must be a value after the colon"),
            ("vibes:good", "it must be kind:value with commit, test, pr, file, url or note"),
            ("", "it must be kind:value with commit, test, pr, file, url or note"),
        ] {
            let read = serde_json::from_value::<Evidence>(bad.into());
            assert_eq!(read.unwrap_err().to_string(), expected, "{bad}");
        }
    }
}
