//! Faults of a request over HTTP that are found before an operation runs.
//!
//! The messages are here because every code is in the one error table. The server finds the faults.

use std::fmt;

use serde_json::{Value, json};

/// Why a request did not reach an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebFault {
    UnknownPath {
        path: String,
    },
    Method {
        allowed: &'static str,
    },
    /// The body is not JSON.
    MediaType {
        found: String,
    },
    HeadersTooLarge {
        limit: usize,
    },
    /// The request took too long to arrive.
    TooSlow {
        limit_s: u64,
    },
    ForeignHost {
        host: String,
    },
    CrossSite {
        origin: String,
    },
    /// A proxy forwarded it, and it has no token.
    Forwarded,
    /// It comes from another machine, or the server listens for others, and it has no token.
    FromAfar,
    TooManyRequests {
        limit: u32,
    },
    TooManyFailures,
    TooManyStreams {
        limit: usize,
    },
    /// A form that was not made for this page session.
    StaleForm,
    /// The server is stopping and accepts no new requests.
    Stopping,
}

impl WebFault {
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownPath { .. } => "unknown_path",
            Self::Method { .. } => "method_not_allowed",
            Self::MediaType { .. } => "not_json",
            Self::HeadersTooLarge { .. } => "headers_too_large",
            Self::TooSlow { .. } => "request_too_slow",
            Self::ForeignHost { .. } => "foreign_host",
            Self::CrossSite { .. } => "cross_site",
            Self::Forwarded => "forwarded",
            Self::FromAfar => "token_required",
            Self::TooManyRequests { .. } | Self::TooManyFailures => "rate_limited",
            Self::TooManyStreams { .. } => "too_many_streams",
            Self::StaleForm => "stale_form",
            Self::Stopping => "server_stopping",
        }
    }

    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::UnknownPath { .. } => {
                "operations are at /v1/OPERATION; /openapi.json lists them".into()
            }
            Self::Method { allowed } => format!("use {allowed}"),
            Self::MediaType { .. } => "send Content-Type: application/json".into(),
            Self::HeadersTooLarge { .. } => "send less in headers".into(),
            Self::TooSlow { .. } => "send the request again, in one go".into(),
            Self::ForeignHost { .. } => {
                "call the server by its own address; behind a proxy start it with --public-url"
                    .into()
            }
            Self::CrossSite { .. } => {
                "call the API from a program, or from the server's own pages".into()
            }
            Self::Forwarded | Self::FromAfar => "send Authorization: Bearer with a token".into(),
            Self::TooManyRequests { .. } => "wait a second and send it again".into(),
            Self::TooManyFailures => "wait a minute, and check the token".into(),
            Self::TooManyStreams { .. } => "close a stream, or share one".into(),
            Self::StaleForm => "what you typed is still there: send it again".into(),
            Self::Stopping => "try again in a moment".into(),
        })
    }

    pub(crate) fn facts(&self) -> Value {
        match self {
            Self::UnknownPath { path } => json!({ "path": path }),
            Self::Method { allowed } => json!({ "allowed": allowed }),
            Self::TooManyRequests { limit } => json!({ "perSecond": limit }),
            Self::TooManyStreams { limit } => json!({ "limit": limit }),
            _ => json!({}),
        }
    }
}

impl fmt::Display for WebFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |text: &str| text.chars().take(80).collect::<String>();
        match self {
            Self::UnknownPath { path } => write!(f, "there is nothing at `{}`", short(path)),
            Self::Method { .. } => f.write_str("this method is not available here"),
            Self::MediaType { found } => write!(f, "the body is `{}`, not JSON", short(found)),
            Self::HeadersTooLarge { limit } => {
                write!(f, "the headers have more than {} KiB", limit >> 10)
            }
            Self::TooSlow { limit_s } => write!(f, "the request did not arrive within {limit_s} s"),
            Self::ForeignHost { host } => {
                write!(f, "`{}` is not a name of this server", short(host))
            }
            Self::CrossSite { origin } => {
                write!(f, "the request comes from another site, `{}`", short(origin))
            }
            Self::Forwarded => f.write_str("a request that a proxy passed on needs a token"),
            Self::FromAfar => f.write_str(
                "this server listens beyond its own machine, where every request needs a token",
            ),
            Self::TooManyRequests { limit } => {
                write!(f, "more than {limit} requests in a second")
            }
            Self::TooManyFailures => f.write_str("too many invalid tokens from this address"),
            Self::TooManyStreams { limit } => {
                let noun = if *limit == 1 { "stream is" } else { "streams are" };
                write!(f, "{limit} event {noun} open already, which is the most")
            }
            Self::StaleForm => f.write_str("this form is from before you signed in"),
            Self::Stopping => f.write_str("the server is shutting down"),
        }
    }
}
