//! Every error that a caller can get, and the one table that maps a code to each surface.
//!
//! Surfaces match on nothing but this table. What a refusal's code means and says is in
//! `core::refusal`. A message says what happened, a hint says what to do next, and the facts say
//! what is true now.

use std::fmt;
use std::path::PathBuf;
use std::sync::LazyLock;

use punchlist_core::refusal::Class;
use punchlist_core::{AgentPath, Refusal, Role, Span, Time};
use punchlist_store as store;
use punchlist_store::ErrorKind;
use punchlist_store::care::Loss;
use punchlist_store::care::doctor::UNFINISHED;
use punchlist_store::care::portable::BadImport;
use serde_json::{Map, Value, json};

use crate::explain::Fault;
use crate::hints::flags;
use crate::remote::RemoteError;
use crate::web_fault::WebFault;

/// Why an operation failed. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A rule refused it.
    Refused(Box<Refusal>),
    /// The caller's role may not call this operation.
    OperationNotPermitted {
        operation: &'static str,
        role: Role,
    },
    UnknownOperation {
        name: String,
        nearest: Option<&'static str>,
    },
    /// The input does not match the operation's schema.
    Input(Box<Fault>),
    /// The operation needs context, such as a turn, that the caller did not give.
    MissingContext {
        missing: Vec<&'static str>,
    },
    /// A file could not be read.
    Unreadable {
        file: String,
        why: String,
    },
    /// The key was used before with another input.
    IdempotencyConflict {
        key: String,
    },
    /// The token is invalid.
    BadToken {
        fault: TokenFault,
    },
    /// The store requires a token, and none was given.
    TokenRequired,
    /// Only some of the standard streams are a terminal, so it is unclear who is writing.
    IdentityUnclear,
    /// `--agent` names an agent that the token does not cover.
    AgentNotYours {
        wanted: AgentPath,
        own: AgentPath,
    },
    /// `--as` names a role above the caller's own.
    RoleNotYours {
        wanted: Role,
        proved: Role,
    },
    /// Not available on PostgreSQL, which has its own tools for this.
    NotForPostgres {
        what: &'static str,
    },
    /// The file exists and is not overwritten; `instead` says what to do.
    FileExists {
        file: PathBuf,
        instead: &'static str,
    },
    /// The import failed; nothing was imported.
    Import(Box<BadImport>),
    /// The store has events that the backup does not contain.
    WouldLose {
        loss: Loss,
    },
    /// No matching event arrived in time.
    Timeout {
        after: Span,
        cursor: i64,
    },
    /// The log does not continue from the caller's position. `last_seq` is its newest event, if
    /// known.
    ResetRequired {
        after: i64,
        last_seq: Option<i64>,
    },
    /// A request over HTTP that was refused before it reached an operation.
    Web(Box<WebFault>),
    /// An error of a remote store that is none of the above.
    Remote(Box<RemoteError>),
    /// The store is behind a server, and this needs the database itself.
    NeedsDatabase,
    /// The store failed.
    Store(Box<store::Error>),
    /// A bug in punchlist; nothing was stored.
    Internal {
        detail: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenFault {
    Empty,
    Malformed,
    Unknown,
    Expired { at: Time },
    Revoked { at: Time },
}

/// How a code appears on each surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    pub code: &'static str,
    /// The exit code of the command line.
    pub exit: u8,
    /// The HTTP status.
    pub http: u16,
    /// Could the same request succeed later?
    pub retryable: bool,
}

const fn meaning(code: &'static str, exit: u8, http: u16, retryable: bool) -> Meaning {
    Meaning { code, exit, http, retryable }
}

/// Every code of a refusal, and then every other code.
pub static TABLE: LazyLock<Vec<Meaning>> = LazyLock::new(|| {
    let mut table: Vec<Meaning> = Vec::new();
    for &(code, class) in Refusal::CODES {
        if table.iter().all(|known| known.code != code) {
            table.push(of_class(code, class));
        }
    }
    table.extend(OTHERS);
    table
});

/// Exit codes: 1 refused by a rule, 2 malformed, 3 store or I/O, 4 not permitted.
const fn of_class(code: &'static str, class: Class) -> Meaning {
    match class {
        Class::Conflict => meaning(code, 1, 409, false),
        Class::Later => meaning(code, 1, 409, true),
        Class::Unknown => meaning(code, 1, 404, false),
        Class::Malformed => meaning(code, 2, 400, false),
        Class::Forbidden => meaning(code, 4, 403, false),
    }
}

/// Codes of errors that are not refusals.
const OTHERS: &[Meaning] = &[
    meaning("token_invalid", 4, 401, false),
    meaning("token_required", 4, 401, false),
    meaning("identity_unclear", 4, 403, false),
    meaning("idempotency_conflict", 1, 409, false),
    meaning("not_for_postgres", 1, 409, false),
    meaning("file_exists", 1, 409, false),
    meaning("would_lose_events", 1, 409, false),
    meaning("store_not_empty", 1, 409, false),
    meaning("not_an_export", 2, 400, false),
    meaning("bad_export", 2, 400, false),
    meaning("export_newer", 3, 503, false),
    meaning("timeout", 1, 409, true),
    meaning("reset_required", 1, 409, false),
    meaning("unknown_operation", 2, 404, false),
    meaning("missing_context", 2, 400, false),
    meaning("invalid_json", 2, 400, false),
    meaning("invalid_toml", 2, 400, false),
    meaning("invalid_utf8", 2, 400, false),
    meaning("input_too_large", 2, 413, false),
    meaning("invalid_input", 2, 400, false),
    meaning("unknown_field", 2, 400, false),
    meaning("missing_field", 2, 400, false),
    meaning("wrong_type", 2, 400, false),
    meaning("bad_value", 2, 400, false),
    meaning("too_long", 2, 400, false),
    meaning("usage", 2, 400, false),
    meaning("needs_database", 2, 400, false),
    meaning("unknown_path", 2, 404, false),
    meaning("method_not_allowed", 2, 405, false),
    meaning("request_too_slow", 2, 408, false),
    meaning("not_json", 2, 415, false),
    meaning("headers_too_large", 2, 431, false),
    meaning("foreign_host", 4, 403, false),
    meaning("cross_site", 4, 403, false),
    meaning("forwarded", 4, 403, false),
    meaning("stale_form", 4, 403, false),
    meaning("rate_limited", 1, 429, true),
    meaning("too_many_streams", 1, 429, true),
    meaning("server_stopping", 3, 503, true),
    meaning("stopped", 1, 503, true),
    meaning("io", 3, 503, false),
    meaning("store_busy", 3, 503, true),
    meaning("store_conflict", 3, 503, true),
    meaning("store_corrupt", 3, 503, false),
    meaning("store_not_ours", 3, 503, false),
    meaning("store_newer", 3, 503, false),
    meaning("store_unfinished", 3, 503, false),
    meaning("store_read_only", 3, 503, false),
    meaning("store_full", 3, 503, false),
    meaning("store_unreachable", 3, 503, true),
    meaning("store_failed", 3, 503, false),
    meaning("internal", 3, 500, false),
];

impl Error {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::OperationNotPermitted { .. }
            | Self::RoleNotYours { .. }
            | Self::AgentNotYours { .. } => "not_permitted",
            Self::BadToken { .. } => "token_invalid",
            Self::TokenRequired => "token_required",
            Self::IdentityUnclear => "identity_unclear",
            Self::UnknownOperation { .. } => "unknown_operation",
            Self::Input(fault) => fault.code(),
            Self::MissingContext { .. } => "missing_context",
            Self::Unreadable { .. } => "io",
            Self::IdempotencyConflict { .. } => "idempotency_conflict",
            Self::NotForPostgres { .. } => "not_for_postgres",
            Self::FileExists { .. } => "file_exists",
            Self::Import(bad) => match **bad {
                BadImport::NotOurs => "not_an_export",
                BadImport::Newer { .. } => "export_newer",
                BadImport::NotEmpty => "store_not_empty",
                BadImport::OtherCopy { .. } => "store_unfinished",
                BadImport::Line { .. } | BadImport::Unsound { .. } => "bad_export",
                BadImport::Store(_) => "store_failed",
            },
            Self::WouldLose { .. } => "would_lose_events",
            Self::Timeout { .. } => "timeout",
            Self::ResetRequired { .. } => "reset_required",
            Self::Web(fault) => fault.code(),
            Self::Remote(error) => error.code,
            Self::NeedsDatabase => "needs_database",
            Self::Internal { .. } => "internal",
            Self::Store(error) => match error.kind {
                ErrorKind::Busy => "store_busy",
                ErrorKind::Conflict => "store_conflict",
                ErrorKind::Corrupt => "store_corrupt",
                ErrorKind::NotOurs => "store_not_ours",
                ErrorKind::Newer => "store_newer",
                ErrorKind::Unfinished => "store_unfinished",
                ErrorKind::ReadOnly => "store_read_only",
                ErrorKind::Full => "store_full",
                ErrorKind::Unreachable => "store_unreachable",
                ErrorKind::Stopped => "stopped",
                ErrorKind::Backend => "store_failed",
            },
        }
    }

    /// The row of the table for this error's code.
    #[must_use]
    pub fn meaning(&self) -> Meaning {
        let code = self.code();
        let found = TABLE.iter().find(|meaning| meaning.code == code);
        found.copied().unwrap_or(meaning(code, 1, 500, false))
    }

    /// The hint: what to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Refused(refusal) => refusal.hint(),
            Self::OperationNotPermitted { .. } => "ask the operator, or use a token".into(),
            Self::BadToken { .. } => {
                "ask the operator for a new token and set PUNCHLIST_TOKEN to it".into()
            }
            Self::TokenRequired => {
                "set PUNCHLIST_TOKEN to a token that the operator made with `punch token new`"
                    .into()
            }
            Self::IdentityUnclear => {
                "run it with input and output at your terminal, name the actor with --agent or \
                 --as, or set PUNCHLIST_TOKEN"
                    .into()
            }
            Self::AgentNotYours { own, .. } => {
                format!("leave out --agent, or name one below {own}")
            }
            Self::RoleNotYours { .. } => {
                "leave out --as, or use a terminal or a token of that role".into()
            }
            Self::UnknownOperation { nearest: Some(nearest), .. } => {
                format!("did you mean `{nearest}`? `punch call --list` shows all")
            }
            Self::UnknownOperation { .. } => "`punch call --list` shows all".into(),
            Self::Input(fault) => return fault.hint(),
            Self::MissingContext { missing } => flags(missing),
            Self::Unreadable { .. } => "check the path and its permissions".into(),
            Self::Internal { .. } => "please report it, with the command that caused it".into(),
            Self::IdempotencyConflict { .. } => "use a new key for a new request".into(),
            Self::NotForPostgres { what: "restore" } => {
                "restore a dump with pg_restore --clean --if-exists --dbname=URL FILE, then run \
                 `punch doctor`"
                    .into()
            }
            Self::NotForPostgres { .. } => {
                "use pg_dump --format=custom --file=FILE --dbname=URL".into()
            }
            Self::Timeout { cursor, .. } => {
                format!("wait again with --after {cursor}, or longer with --timeout")
            }
            Self::ResetRequired { last_seq: Some(last), .. } => {
                format!("read the state again, then the log with --after {last}")
            }
            Self::ResetRequired { .. } => {
                "read the state again, then the log from the start".into()
            }
            Self::FileExists { instead, .. } => (*instead).into(),
            Self::Web(fault) => return fault.hint(),
            Self::Remote(error) => return error.hint.clone(),
            Self::NeedsDatabase => "run it where the database is, and name the database".into(),
            Self::Import(bad) => match **bad {
                BadImport::NotOurs => {
                    "give it what `punch export store` wrote; restore a backup with \
                     `punch restore`"
                        .into()
                }
                BadImport::Newer { .. } => "update punch".into(),
                BadImport::NotEmpty => "name an empty or new store with --db".into(),
                BadImport::OtherCopy { .. } => {
                    "empty TO, or name another one, and copy again; or use that version of punch"
                        .into()
                }
                BadImport::Line { .. } | BadImport::Unsound { .. } => {
                    "nothing was imported; export the store again".into()
                }
                BadImport::Store(_) => return None,
            },
            Self::WouldLose { .. } => {
                "use --yes to lose them; the current store is kept next to it".into()
            }
            Self::Store(error) => match error.kind {
                ErrorKind::Busy | ErrorKind::Conflict => "try again".into(),
                ErrorKind::Corrupt => "restore a backup, or name another store with --db".into(),
                ErrorKind::NotOurs => "name another store with --db".into(),
                ErrorKind::Newer => "update punch".into(),
                ErrorKind::Unfinished => UNFINISHED.into(),
                ErrorKind::ReadOnly => {
                    "check the permissions, or name another store with --db".into()
                }
                ErrorKind::Full => "free some space and try again; nothing was lost".into(),
                ErrorKind::Unreachable => "check --db (PUNCHLIST_DB)".into(),
                ErrorKind::Stopped => "nothing was changed; start it again".into(),
                ErrorKind::Backend => return None,
            },
        })
    }

    /// What is true now, as far as it explains the error.
    #[must_use]
    pub fn facts(&self) -> Map<String, Value> {
        let facts = match self {
            Self::Refused(refusal) => match serde_json::to_value(refusal) {
                // The refusal is tagged with its code; its fields are the facts.
                Ok(Value::Object(tagged)) => tagged.into_iter().next().map(|(_, facts)| facts),
                _ => None,
            },
            Self::OperationNotPermitted { operation, role } => {
                Some(json!({ "operation": operation, "role": role }))
            }
            Self::UnknownOperation { name, nearest } => {
                Some(json!({ "operation": name, "nearest": nearest }))
            }
            Self::Input(fault) => Some(fault.facts()),
            Self::MissingContext { missing } => Some(json!({ "missing": missing })),
            Self::Unreadable { file, .. } => Some(json!({ "file": file })),
            Self::IdempotencyConflict { key } => Some(json!({ "idempotencyKey": key })),
            Self::BadToken { fault: TokenFault::Expired { at } } => {
                Some(json!({ "expiredAt": at }))
            }
            Self::BadToken { fault: TokenFault::Revoked { at } } => {
                Some(json!({ "revokedAt": at }))
            }
            Self::BadToken { .. } | Self::TokenRequired | Self::IdentityUnclear => None,
            Self::AgentNotYours { wanted, own } => Some(json!({ "wanted": wanted, "agent": own })),
            Self::RoleNotYours { wanted, proved } => {
                Some(json!({ "wanted": wanted, "role": proved }))
            }
            Self::Timeout { after, cursor } => {
                Some(json!({ "after": after.to_string(), "cursor": cursor }))
            }
            Self::ResetRequired { after, last_seq } => {
                Some(json!({ "after": after, "lastSeq": last_seq }))
            }
            Self::FileExists { file, .. } => Some(json!({ "file": file.display().to_string() })),
            Self::Import(bad) => match **bad {
                BadImport::Line { first, last, .. } => {
                    Some(json!({ "line": first, "lastLine": last }))
                }
                _ => None,
            },
            Self::WouldLose { loss: Loss::Events { count, since } } => {
                Some(json!({ "events": count, "since": since }))
            }
            Self::Web(fault) => Some(fault.facts()),
            Self::Remote(error) => Some(Value::Object(error.facts.clone())),
            Self::WouldLose { .. }
            | Self::NeedsDatabase
            | Self::NotForPostgres { .. }
            | Self::Store(_)
            | Self::Internal { .. } => None,
        };
        match facts {
            Some(Value::Object(facts)) => facts,
            _ => Map::new(),
        }
    }

    /// The error object on every surface: code, message and hint, with the facts as further fields.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut error = Map::new();
        error.insert("code".into(), self.code().into());
        error.insert("message".into(), self.to_string().into());
        error.extend(self.hint().map(|hint| ("hint".to_owned(), hint.into())));
        for (name, fact) in self.facts() {
            error.entry(name).or_insert(fact);
        }
        json!({ "error": error })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::OperationNotPermitted { operation, role } => {
                write!(f, "the role {role} may not call `{operation}`")
            }
            Self::UnknownOperation { name, .. } => {
                let shown: String = name.chars().take(60).collect();
                write!(f, "there is no operation `{shown}`")
            }
            Self::Input(fault) => fault.fmt(f),
            Self::MissingContext { missing } => {
                let verb = if missing.len() == 1 { "is" } else { "are" };
                write!(f, "the {} of the caller {verb} missing", missing.join(" and the "))
            }
            Self::Unreadable { file, why } => write!(f, "cannot read `{file}`: {why}"),
            Self::IdempotencyConflict { key } => {
                write!(f, "the idempotency key `{key}` was used before with another input")
            }
            Self::TokenRequired => f.write_str("this store works with tokens only"),
            Self::IdentityUnclear => f.write_str(
                "only some of input, output and error are a terminal, so it is unclear who writes",
            ),
            Self::BadToken { fault } => match fault {
                TokenFault::Empty => f.write_str("the token is set but empty"),
                TokenFault::Malformed => f.write_str("the token is malformed"),
                TokenFault::Unknown => f.write_str("the token is unknown to this store"),
                TokenFault::Expired { at } => write!(f, "the token expired at {at}"),
                TokenFault::Revoked { at } => write!(f, "the token was revoked at {at}"),
            },
            Self::AgentNotYours { wanted, own } => {
                write!(f, "your token is for the agent {own}, not for {wanted}")
            }
            Self::RoleNotYours { wanted, proved } => {
                write!(f, "you act as {proved} and may not take the role {wanted}")
            }
            Self::NotForPostgres { what } => {
                write!(f, "`punch {what}` is for SQLite files; this store is on PostgreSQL")
            }
            Self::Timeout { after, .. } => {
                write!(f, "timed out after {after}: no matching event")
            }
            Self::ResetRequired { after, .. } => write!(
                f,
                "the log does not continue from event {after}: the store was restored, or its log \
                 cut, since then"
            ),
            Self::FileExists { file, .. } => write!(f, "{} exists already", file.display()),
            Self::Import(bad) => bad.fmt(f),
            Self::WouldLose { loss } => match loss {
                Loss::Events { count: 1, since } => {
                    write!(
                        f,
                        "the backup lacks 1 event of the store, from {}",
                        since.to_the_second()
                    )
                }
                Loss::Events { count, since } => {
                    let since = since.to_the_second();
                    write!(f, "the backup lacks {count} events of the store, since {since}")
                }
                Loss::Unknown { why } => {
                    write!(
                        f,
                        "the store cannot be read, so it is unknown what would be lost ({why})"
                    )
                }
                Loss::Nothing => f.write_str("nothing would be lost"),
            },
            Self::Web(fault) => fault.fmt(f),
            Self::Remote(error) => f.write_str(&error.message),
            Self::NeedsDatabase => {
                f.write_str("this needs the database itself, and the address is that of a server")
            }
            Self::Store(error) => error.fmt(f),
            Self::Internal { detail } => write!(f, "internal error: {detail}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Store(Box::new(error))
    }
}

impl From<BadImport> for Error {
    fn from(bad: BadImport) -> Self {
        match bad {
            BadImport::Store(error) => error.into(),
            bad => Self::Import(Box::new(bad)),
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<WebFault> for Error {
    fn from(fault: WebFault) -> Self {
        Self::Web(Box::new(fault))
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Input(Box::new(fault))
    }
}

impl store::Failure for Error {
    fn store(&self) -> Option<&store::Error> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}
