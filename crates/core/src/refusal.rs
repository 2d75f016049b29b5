//! Why a command was refused: a closed list of stable codes, each with its facts.
//!
//! The message says what happened and what is true now; the hint says what to do next. How a
//! code becomes an exit code, an HTTP status or an MCP result is the table in `ops::error`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::authority::{Action, Denial, who_may};
use crate::transition::Move;
use crate::{IssueStatus, ListKind, Role, Status, Time, TodoId, TodoKind};

/// A refusal. It changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Refusal {
    /// No such todo within reach of the caller.
    UnknownTodo { todo_id: String, list: Option<ListKind> },
    /// Completed or cancelled is final.
    AlreadySettled {
        todo_id: TodoId,
        title: String,
        status: Status,
        settled_at: Option<Time>,
        outcome: Option<String>,
    },
    /// The move does not start from where the item stands.
    WrongStatus { action: Move, current: Status, expected: Vec<Status> },
    /// The authority table says no.
    NotPermitted { role: Role, action: Action, list: ListKind, todo_kind: TodoKind, denial: Denial },
    /// Only one item may be in progress, and another is.
    OneInProgress { todo_id: TodoId, title: String },
    /// The active tier is full.
    ActiveFull { limit: u32, active: u64 },
    /// The backlog is full.
    BacklogFull { limit: u32, backlog: u64 },
    /// A completion or cancellation here must say what came of it.
    OutcomeRequired,
    /// The act must say why.
    ReasonRequired { action: Action },
    /// Another open item has this text, or the request says it twice.
    DuplicateText { text: String },
    /// The item is held; it must be let go first.
    Held { title: String, reason: String },
    /// There is no claim to judge.
    NoClaim { title: String },
    /// The item has been claimed and waits for its reviewer.
    AlreadyClaimed { title: String, by: String, at: Time },
    /// The operator has confirmed it before.
    AlreadyRatified { title: String, at: Time },
    /// A criterion is claimed and accepted, never started.
    CriterionNotStartable { title: String },
    /// Somebody else holds it.
    AlreadyTaken { todo_id: TodoId, title: String, holder: String, until: Time },
    /// The write named an epoch that is not the caller's current lease.
    StaleEpoch { todo_id: TodoId, epoch: i64, current: i64, holder: Option<String> },
    /// The item rests until a date.
    Deferred { title: String, until: Time },
    /// The token was narrowed to less than this.
    OutOfReach { missing: String },
    /// There is no such token.
    UnknownToken { id: String },
    /// The new parent is not in this list, or would close a circle.
    BadParent { todo_id: TodoId },
    /// No issue of this number in the project.
    UnknownIssue { number: i64 },
    /// An open issue says the same already.
    LookAlike { number: i64, title: String, status: IssueStatus },
    /// No move leads there from where the issue stands.
    WrongIssueStatus {
        number: i64,
        status: IssueStatus,
        to: IssueStatus,
        allowed: Vec<IssueStatus>,
    },
    /// There is such a move, but not for this role.
    IssueMoveNotPermitted { role: Role, number: i64, status: IssueStatus, to: IssueStatus },
}

impl Refusal {
    /// Every code there is, for the error table and its golden.
    pub const CODES: [&'static str; 24] = [
        "unknown_todo",
        "already_settled",
        "wrong_status",
        "not_permitted",
        "one_in_progress",
        "active_full",
        "backlog_full",
        "outcome_required",
        "reason_required",
        "duplicate_text",
        "held",
        "no_claim",
        "already_claimed",
        "already_ratified",
        "criterion_not_startable",
        "bad_parent",
        "already_taken",
        "stale_epoch",
        "deferred",
        "out_of_reach",
        "unknown_token",
        "unknown_issue",
        "look_alike",
        "wrong_issue_status",
    ];

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownTodo { .. } => "unknown_todo",
            Self::AlreadySettled { .. } => "already_settled",
            Self::WrongStatus { .. } => "wrong_status",
            Self::NotPermitted { .. } | Self::IssueMoveNotPermitted { .. } => "not_permitted",
            Self::OneInProgress { .. } => "one_in_progress",
            Self::ActiveFull { .. } => "active_full",
            Self::BacklogFull { .. } => "backlog_full",
            Self::OutcomeRequired => "outcome_required",
            Self::ReasonRequired { .. } => "reason_required",
            Self::DuplicateText { .. } => "duplicate_text",
            Self::Held { .. } => "held",
            Self::NoClaim { .. } => "no_claim",
            Self::AlreadyClaimed { .. } => "already_claimed",
            Self::AlreadyRatified { .. } => "already_ratified",
            Self::CriterionNotStartable { .. } => "criterion_not_startable",
            Self::BadParent { .. } => "bad_parent",
            Self::AlreadyTaken { .. } => "already_taken",
            Self::StaleEpoch { .. } => "stale_epoch",
            Self::Deferred { .. } => "deferred",
            Self::OutOfReach { .. } => "out_of_reach",
            Self::UnknownToken { .. } => "unknown_token",
            Self::UnknownIssue { .. } => "unknown_issue",
            Self::LookAlike { .. } => "look_alike",
            Self::WrongIssueStatus { .. } => "wrong_issue_status",
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownTodo { list: Some(ListKind::Turn), .. } => {
                "call list_todo for the ids of this turn; other turns are out of reach".into()
            }
            Self::UnknownTodo { .. } => "list the items to see their ids".into(),
            Self::AlreadySettled { .. } => "settled is final; create a new item instead".into(),
            Self::WrongStatus { expected, .. } => {
                format!("it must be {}", names(expected.iter().map(|s| s.name()), " or "))
            }
            Self::NotPermitted { action, list, todo_kind, denial, .. } => {
                let may = who_may(*list, *todo_kind, *action);
                match denial {
                    Denial::NoSuchAct => "nobody can do this on this kind of list".into(),
                    Denial::NotYours => "ask its owner, or whoever leads".into(),
                    Denial::Role
                        if matches!(list, ListKind::Turn | ListKind::Issue)
                            && may.contains(&Role::Root) =>
                    {
                        "workers report back to the agent that delegated; it keeps the list".into()
                    }
                    Denial::Role => {
                        format!("this is for: {}", names(may.iter().map(|r| r.name()), ", "))
                    }
                }
            }
            Self::OneInProgress { .. } => "complete, cancel or release that one first".into(),
            Self::ActiveFull { .. } => "complete or cancel an active item first".into(),
            Self::BacklogFull { .. } => "cancel or complete existing items first".into(),
            Self::OutcomeRequired => {
                "say in `outcome` what was done, or why it was cancelled".into()
            }
            Self::ReasonRequired { .. } => "give a `reason`".into(),
            Self::DuplicateText { .. } => "items are told apart by their text: reword one".into(),
            Self::Held { .. } => "unhold it first".into(),
            Self::NoClaim { .. } => "wait until its maker claims it is done".into(),
            Self::AlreadyClaimed { .. } => "its reviewer accepts or returns it".into(),
            Self::AlreadyRatified { .. } => "there is nothing left to do about it".into(),
            Self::CriterionNotStartable { .. } => "claim it with `done` when it holds".into(),
            Self::AlreadyTaken { .. } => "take another, or wait until its lease ends".into(),
            Self::StaleEpoch { holder: Some(_), .. } => {
                "stop working on it: somebody else holds it now".into()
            }
            Self::StaleEpoch { .. } => "take it again; the lease has ended".into(),
            Self::Deferred { .. } => "wait, or defer it to null first".into(),
            Self::OutOfReach { .. } => "use a token that reaches there".into(),
            Self::UnknownToken { .. } => "token_list shows the tokens".into(),
            Self::BadParent { .. } => "choose another parent in the same list".into(),
            Self::UnknownIssue { .. } => "list the issues to see their numbers".into(),
            Self::LookAlike { number, .. } => {
                format!("work on #{number}, or give `forceNew` if this is another matter")
            }
            Self::WrongIssueStatus { allowed, .. } if allowed.is_empty() => {
                "the operator may reopen it".into()
            }
            Self::WrongIssueStatus { allowed, .. } => {
                format!("it can become {}", names(allowed.iter().map(|s| s.name()), " or "))
            }
            Self::IssueMoveNotPermitted { to, .. } if to.is_closed() => {
                "the operator closes issues: leave it in_progress and say that it is ready".into()
            }
            Self::IssueMoveNotPermitted { .. } => "ask the operator to move it".into(),
        }
    }
}

fn names<'a>(words: impl Iterator<Item = &'a str>, between: &str) -> String {
    words.collect::<Vec<_>>().join(between)
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTodo { todo_id, list } => {
                let shown: String = todo_id.chars().take(60).collect();
                match list {
                    Some(list) => write!(f, "no todo `{shown}` in this {list} list"),
                    None => write!(f, "there is no todo `{shown}` in this project"),
                }
            }
            Self::AlreadySettled { title, status, settled_at, .. } => {
                write!(f, "`{title}` is already {status}")?;
                settled_at.map_or(Ok(()), |at| write!(f, " since {at}"))
            }
            Self::WrongStatus { action, current, .. } => {
                write!(f, "cannot {action}: the item is {current}")
            }
            Self::NotPermitted { role, action, list, denial, .. } => match denial {
                Denial::NoSuchAct => write!(f, "a {list} list knows no `{action}`"),
                Denial::NotYours => {
                    write!(f, "the role {role} may {action} only what it owns, and this is not its")
                }
                Denial::Role => write!(f, "the role {role} may not {action} on a {list} list"),
            },
            Self::OneInProgress { title, .. } => {
                write!(f, "only one item may be in progress, and `{title}` is")
            }
            Self::ActiveFull { limit, active } => {
                write!(f, "Active TODO limit ({limit}) reached; {active} are active.")
            }
            Self::BacklogFull { limit, .. } => write!(
                f,
                "Backlog limit ({limit}) reached. Cancel or complete existing items first."
            ),
            Self::OutcomeRequired => f.write_str("an outcome is required"),
            Self::ReasonRequired { action } => write!(f, "a reason is required to {action}"),
            Self::DuplicateText { text } => write!(f, "there is already an open item `{text}`"),
            Self::Held { title, reason } => write!(f, "`{title}` is on hold: {reason}"),
            Self::NoClaim { title } => write!(f, "`{title}` has not been claimed"),
            Self::AlreadyClaimed { title, by, at } => {
                write!(f, "`{title}` was claimed by {by} at {at} and waits for its reviewer")
            }
            Self::AlreadyRatified { title, at } => write!(f, "`{title}` was ratified at {at}"),
            Self::CriterionNotStartable { title } => {
                write!(f, "`{title}` is a criterion, which is never in progress")
            }
            Self::AlreadyTaken { title, holder, until, .. } => {
                write!(f, "`{title}` is held by {holder} until {until}")
            }
            Self::StaleEpoch { epoch, current, holder, .. } => {
                write!(f, "epoch {epoch} is not your current lease (it is at {current}, ")?;
                match holder {
                    Some(holder) => write!(f, "held by {holder})"),
                    None => f.write_str("held by nobody)"),
                }
            }
            Self::Deferred { title, until } => write!(f, "`{title}` rests until {until}"),
            Self::OutOfReach { missing } => write!(f, "your token does not reach {missing}"),
            Self::UnknownToken { id } => {
                let shown: String = id.chars().take(60).collect();
                write!(f, "there is no token `{shown}`")
            }
            Self::BadParent { todo_id } => write!(f, "{todo_id} cannot be the parent here"),
            Self::UnknownIssue { number } => write!(f, "there is no issue #{number} here"),
            Self::LookAlike { number, title, status } => {
                write!(f, "issue #{number} says the same and is {status}: `{title}`")
            }
            Self::WrongIssueStatus { number, status, to, .. } if status == to => {
                write!(f, "issue #{number} is already {status}")
            }
            Self::WrongIssueStatus { number, status, to, .. } => {
                write!(f, "issue #{number} is {status} and cannot become {to}")
            }
            Self::IssueMoveNotPermitted { role, number, status, to } => {
                write!(f, "the role {role} may not move issue #{number} from {status} to {to}")
            }
        }
    }
}
