//! The addresses of resources: `punchlist://PROJECT/KIND/NAME`.

use std::fmt::{self, Write as _};

pub(crate) const SCHEME: &str = "punchlist://";

/// What an address names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Thing {
    Issue(i64),
    Plan { file: String, branch: Option<String> },
    Mission(String),
    Inbox,
    Session(String),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(crate) project: String,
    pub(crate) thing: Thing,
}

impl Address {
    pub(crate) fn new(project: &str, thing: Thing) -> Self {
        Self { project: project.to_owned(), thing }
    }

    /// Parses an address. `None` if it is not one of ours.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(SCHEME)?;
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        let (project, rest) = path.split_once('/')?;
        let project = decoded(project).filter(|name| !name.is_empty())?;
        let (kind, name) = match rest.split_once('/') {
            Some((kind, name)) => (kind, decoded(name).filter(|name| !name.is_empty())?),
            None => (rest, String::new()),
        };
        let branch = match query {
            None => None,
            Some(query) => Some(decoded(query.strip_prefix("branch=")?)?),
        };
        let thing = match (kind, name.is_empty(), branch) {
            ("plan", false, branch) => Thing::Plan { file: name, branch },
            ("inbox", true, None) => Thing::Inbox,
            ("issue", false, None) => Thing::Issue(number(&name)?),
            ("mission", false, None) if !name.contains('/') => Thing::Mission(name),
            ("session", false, None) if !name.contains('/') => Thing::Session(name),
            _ => return None,
        };
        Some(Self { project, thing })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/", encoded(&self.project, false))?;
        match &self.thing {
            Thing::Issue(number) => write!(f, "issue/{number}"),
            Thing::Plan { file, branch: None } => write!(f, "plan/{}", encoded(file, true)),
            Thing::Plan { file, branch: Some(branch) } => {
                write!(f, "plan/{}?branch={}", encoded(file, true), encoded(branch, true))
            }
            Thing::Mission(slug) => write!(f, "mission/{}", encoded(slug, false)),
            Thing::Inbox => f.write_str("inbox"),
            Thing::Session(id) => write!(f, "session/{}", encoded(id, false)),
        }
    }
}

/// The number in an issue's address: only digits, without leading zeros.
fn number(text: &str) -> Option<i64> {
    let number = text.parse::<i64>().ok()?;
    (number > 0 && number.to_string() == text).then_some(number)
}

fn encoded(text: &str, keeps_slashes: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            b'/' if keeps_slashes => encoded.push('/'),
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}

fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [byte, after @ ..] = rest {
        if *byte == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return None;
            }
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_writing_and_parsing() {
        let plan = |file: &str, branch: Option<&str>| Thing::Plan {
            file: file.to_owned(),
            branch: branch.map(str::to_owned),
        };
        for (project, thing, text) in [
            ("shop", Thing::Issue(3), "punchlist://shop/issue/3"),
            ("clients.api", Thing::Inbox, "punchlist://clients.api/inbox"),
            ("shop", plan("docs/plan.md", None), "punchlist://shop/plan/docs/plan.md"),
            (
                "shop",
                plan("a b?.md", Some("fix/x")),
                "punchlist://shop/plan/a%20b%3F.md?branch=fix/x",
            ),
            ("shöp", Thing::Mission("dx".into()), "punchlist://sh%C3%B6p/mission/dx"),
            ("a/b", Thing::Session("s:1".into()), "punchlist://a%2Fb/session/s%3A1"),
        ] {
            let address = Address::new(project, thing);
            assert_eq!(address.to_string(), text);
            assert_eq!(Address::parse(text), Some(address), "{text}");
        }
    }

    #[test]
    fn foreign_and_malformed_addresses_are_not_parsed() {
        for text in [
            "",
            "punchlist://",
            "punchlist://shop",
            "punchlist://shop/",
            "punchlist:///issue/3",
            "punchlist://shop/issue",
            "punchlist://shop/issue/",
            "punchlist://shop/issue/three",
            "punchlist://shop/issue/03",
            "punchlist://shop/issue/-3",
            "punchlist://shop/issue/3?branch=x",
            "punchlist://shop/issue/99999999999999999999",
            "punchlist://shop/inbox/3",
            "punchlist://shop/mission/a/b",
            "punchlist://shop/plan/p.md?fork=x",
            "punchlist://shop/plan/%zz",
            "punchlist://shop/plan/%C3",
            "punchlist://shop/plan/%",
            "https://shop/issue/3",
        ] {
            assert_eq!(Address::parse(text), None, "{text}");
        }
    }
}
