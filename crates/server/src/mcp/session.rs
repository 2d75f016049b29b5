//! The session of a client over HTTP in the handshake era.
//!
//! Its id says what a server must know about the client, so that every server can read it and none
//! must remember it. It proves nothing: the rights come from the token of each request.

use axum::http::{HeaderMap, HeaderValue};
use punchlist_ops::Error;
use punchlist_ops::mcp_session::McpSession;
use rmcp::model::{ClientRequest, ProtocolVersion};

use super::asker::Asker;
use super::gates;
use super::judge::BATCHES;

pub(crate) const HEADER: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// The beginning of the id of a client that can ask its user, and of one that cannot.
const ASKS: &str = "asks-";
const PLAIN: &str = "plain-";
/// The length of the random rest, in hexadecimal digits.
const RANDOM: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    id: String,
    /// Can the client ask its user?
    pub(crate) can_ask: bool,
}

/// The session of a request, as its headers name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    None,
    Session(Session),
    /// The id is not one of ours.
    Unknown,
}

impl Session {
    /// A session for the client that sends this request, if it is `initialize`.
    pub(crate) fn begin(request: &ClientRequest) -> Result<Option<Self>, Error> {
        let ClientRequest::InitializeRequest(hello) = request else { return Ok(None) };
        let can_ask = gates::has_user(&hello.params.capabilities);
        let id = McpSession::new_id(if can_ask { ASKS } else { PLAIN })?;
        Ok(Some(Self { id, can_ask }))
    }

    pub(crate) fn named(headers: &HeaderMap) -> Named {
        let Some(id) = headers.get(HEADER) else { return Named::None };
        // From this revision on there are no sessions.
        let is_stateless = version(headers) == Some(ProtocolVersion::V_2026_07_28.as_str());
        if is_stateless {
            return Named::None;
        }
        id.to_str().ok().and_then(Self::parse).map_or(Named::Unknown, Named::Session)
    }

    fn parse(id: &str) -> Option<Self> {
        let (can_ask, random) = match id.strip_prefix(ASKS) {
            Some(random) => (true, random),
            None => (false, id.strip_prefix(PLAIN)?),
        };
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_ours = random.len() == RANDOM && random.bytes().all(is_digit);
        is_ours.then(|| Self { id: id.to_owned(), can_ask })
    }

    /// The value of the header.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.id).ok()
    }

    /// What the store knows of it, for this caller.
    pub(crate) fn of(&self, asker: &Asker) -> McpSession {
        McpSession::of(&self.id, asker.actor(), asker.proof())
    }
}

/// Does a request name a revision that we know, or none?
pub(crate) fn has_known_version(headers: &HeaderMap) -> bool {
    let is_known = |text: &str| ProtocolVersion::KNOWN_VERSIONS.iter().any(|v| v.as_str() == text);
    !headers.contains_key(VERSION) || version(headers).is_some_and(is_known)
}

/// Does a request belong to the revision with batches? That one has no header for the revision.
pub(crate) fn has_batches(headers: &HeaderMap) -> bool {
    !headers.contains_key(VERSION) || version(headers) == Some(BATCHES)
}

fn version(headers: &HeaderMap) -> Option<&str> {
    headers.get(VERSION).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (name.parse().unwrap(), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn an_id_is_read_by_every_server_and_nothing_else_is() {
        let random = "0123456789abcdef".repeat(4);
        for (prefix, can_ask) in [(ASKS, true), (PLAIN, false)] {
            let id = format!("{prefix}{random}");
            let Named::Session(session) = Session::named(&headers(&[(HEADER, &id)])) else {
                panic!("{id}")
            };
            assert_eq!(
                (session.header().unwrap().to_str().unwrap(), session.can_ask),
                (&*id, can_ask)
            );
            let modern = headers(&[(HEADER, "anything"), (VERSION, "2026-07-28")]);
            assert_eq!(Session::named(&modern), Named::None);
        }
        assert_eq!(Session::named(&headers(&[])), Named::None);
        let (upper, short, long) = (random.to_uppercase(), &random[1..], format!("{random}0"));
        for wrong in [
            "",
            "asks-",
            "x",
            &random,
            &format!("asks-{upper}"),
            &format!("asks-{short}"),
            &format!("plain-{long}"),
            &format!("asks-{}", "g".repeat(64)),
            &format!(" asks-{random}"),
            &format!("Asks-{random}"),
            "../../etc/passwd",
            &"9".repeat(4_000),
        ] {
            assert_eq!(Session::named(&headers(&[(HEADER, wrong)])), Named::Unknown, "{wrong}");
        }
    }
}
