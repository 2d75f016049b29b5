//! The hints of errors in the words of HTTP: headers and parameters in place of flags and variables.
//!
//! [`Error::hint`] has the words of the command line. Only what differs is here.

use serde_json::Value;

use crate::Error;
use crate::error::TokenFault;
use crate::explain::Fault;
use crate::remote::RemoteError;

/// The flags that name a missing context: `--project ID and --session ID`.
pub(crate) fn flags(missing: &[&str]) -> String {
    let flags: Vec<String> =
        missing.iter().map(|name| format!("--{name} {}", called(name))).collect();
    format!("pass {}", flags.join(" and "))
}

/// What a context is given by: a project by its name, everything else by its id.
fn called(context: &str) -> &'static str {
    if context == "project" { "NAME" } else { "ID" }
}

/// The header of a context: `Punchlist-Project: NAME`.
fn header(context: &str) -> String {
    let (first, rest) = context.split_at_checked(1).unwrap_or((context, ""));
    format!("Punchlist-{}{rest}: {}", first.to_uppercase(), called(context))
}

impl Error {
    /// What a client over HTTP can do next.
    #[must_use]
    pub fn hint_over_http(&self) -> Option<String> {
        Some(match self {
            Self::MissingContext { missing } => {
                let headers: Vec<String> = missing.iter().map(|name| header(name)).collect();
                let word = if headers.len() == 1 { "header" } else { "headers" };
                format!("send the {word} {}", headers.join(" and "))
            }
            Self::UnknownOperation { nearest: Some(nearest), .. } => {
                format!("did you mean `{nearest}`? /openapi.json lists all")
            }
            Self::UnknownOperation { .. } => "/openapi.json lists all".into(),
            Self::BadToken { .. } => {
                "ask the operator for a new token and send it as Authorization: Bearer".into()
            }
            Self::TokenRequired => {
                "send Authorization: Bearer with a token that the operator made with \
                 `punch token new`"
                    .into()
            }
            Self::AgentNotYours { own, .. } => {
                format!("leave out the header Punchlist-Agent, or name one below {own}")
            }
            Self::RoleNotYours { .. } => {
                "leave out the header Punchlist-As, or use a token of that role".into()
            }
            Self::ResetRequired { last_seq: Some(last), .. } => {
                format!("read the state again, then the log with after={last}")
            }
            Self::Input(fault) if matches!(**fault, Fault::Json { .. }) => {
                "send one JSON object".into()
            }
            _ => return self.hint(),
        })
    }
}

impl RemoteError {
    /// A server answers in the words of HTTP. Here the caller is a command line again.
    pub(crate) fn in_flags(mut self) -> Self {
        let text = |name: &str| self.facts.get(name).and_then(Value::as_str);
        let hint = match self.code {
            "missing_context" => {
                let missing = self.facts.get("missing").and_then(Value::as_array);
                let missing: Vec<&str> =
                    missing.into_iter().flatten().filter_map(Value::as_str).collect();
                Some(flags(&missing))
            }
            "token_invalid" => Self::local(&Error::BadToken { fault: TokenFault::Unknown }),
            "token_required" => Self::local(&Error::TokenRequired),
            "reset_required" => {
                let last_seq = self.facts.get("lastSeq").and_then(Value::as_i64);
                Self::local(&Error::ResetRequired { after: 0, last_seq })
            }
            "not_permitted" => match (text("wanted"), text("agent"), text("role")) {
                (Some(_), Some(own), _) => {
                    Some(format!("leave out --agent, or name one below {own}"))
                }
                (Some(_), None, Some(_)) => {
                    Some("leave out --as, or use a terminal or a token of that role".to_owned())
                }
                _ => None,
            },
            _ => None,
        };
        if hint.is_some() {
            self.hint = hint;
        }
        self
    }

    fn local(error: &Error) -> Option<String> {
        error.hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_http_a_hint_names_headers_and_on_the_command_line_flags() {
        let missing = Error::MissingContext { missing: vec!["project", "turn"] };
        assert_eq!(missing.hint().as_deref(), Some("pass --project NAME and --turn ID"));
        let said = "send the headers Punchlist-Project: NAME and Punchlist-Turn: ID";
        assert_eq!(missing.to_problem()["hint"], said);
        let unknown = Error::UnknownOperation { name: "x".to_owned(), nearest: None };
        assert_eq!(unknown.to_problem()["hint"], "/openapi.json lists all");
    }

    #[test]
    fn a_command_line_gets_its_own_words_from_a_server() {
        for error in [
            Error::MissingContext { missing: vec!["session"] },
            Error::BadToken { fault: TokenFault::Unknown },
            Error::TokenRequired,
            Error::ResetRequired { after: 7, last_seq: Some(3) },
            Error::RoleNotYours {
                wanted: punchlist_core::Role::Lead,
                proved: punchlist_core::Role::Root,
            },
        ] {
            let back = Error::from_problem(error.to_problem()).unwrap();
            assert_eq!(back.hint(), error.hint(), "{error}");
            assert_ne!(error.hint_over_http(), error.hint(), "{error}");
        }
    }
}
