//! Why a command was refused: a closed list of stable codes, each with its facts.
//!
//! The message says what happened and what is true now; the hint says what to do next. How a
//! code becomes an exit code, an HTTP status or an MCP result is the table in `ops::error`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::authority::{Action, Denial, who_may};
use crate::delegation::{DelegationState, ProposalDecision};
use crate::gate::GateState;
use crate::issue::LinkKind;
use crate::issue::checklist::LineFault;
use crate::transition::Move;
use crate::{
    AgentPath, DelegationId, GateId, IssueStatus, ListKind, Role, SessionId, Status, Time, TodoId,
    TodoKind,
};

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
    IssueMoveNotPermitted {
        role: Role,
        number: i64,
        status: IssueStatus,
        to: IssueStatus,
        /// Where the newest sign-off stands, if one was asked for.
        asked: Option<GateState>,
    },
    /// No item says this.
    NoSuchText { text: String, nearest: Vec<String>, is_empty: bool },
    /// Several items could be meant.
    AmbiguousText { text: String, texts: Vec<String> },
    /// The session has no issue, so there is no checklist.
    Unbound,
    /// No such session in the project.
    UnknownSession { session: String },
    /// The session is over.
    SessionEnded { session: SessionId, at: Time },
    /// Another session works on the issue.
    IssueHeld { number: i64, session: SessionId, title: String, take_over: bool },
    /// The session works on an issue already.
    AlreadyBound { number: i64 },
    /// A link to itself says nothing.
    SelfLink { number: i64 },
    /// They are linked this way already.
    AlreadyLinked { number: i64, kind: LinkKind, to: i64 },
    /// They are not linked this way.
    NotLinked { number: i64, kind: LinkKind, to: i64 },
    /// Issues below it are open, and nobody confirmed.
    OpenChildren { number: i64, children: Vec<i64> },
    /// The issue or its checklist has changed since the caller looked.
    StaleRevision { number: i64, expected: i64, revision: i64, checklist: String },
    /// Markdown that is no checklist, line by line.
    BadChecklist { faults: Vec<LineFault> },
    /// This role asks nobody.
    MayNotAsk { role: Role },
    /// This role answers no gates.
    MayNotAnswer { role: Role },
    /// No such gate in the project.
    UnknownGate { gate: String },
    /// A gate is answered once.
    AlreadyAnswered { gate: GateId, state: GateState, by: Option<String>, at: Option<Time> },
    /// A form that cannot be asked.
    BadForm { fault: String },
    /// An answer that does not fit its form.
    BadResponse { faults: Vec<String> },
    /// This role neither hands work on nor takes it.
    MayNotDelegate { role: Role },
    /// The name of a specialist must be one word.
    BadAgentType { name: String },
    /// No such delegation in the project.
    UnknownDelegation { delegation: String },
    /// Returned, failed and cancelled are final.
    DelegationOver { delegation: DelegationId, state: DelegationState },
    /// The report names an epoch that is not the current one.
    StaleDelegation { delegation: DelegationId, epoch: i64, current: i64, holder: Option<String> },
    /// There is no proposal to decide on.
    NoProposal { delegation: DelegationId },
    /// It was decided on before.
    ProposalSettled { delegation: DelegationId, decision: ProposalDecision },
    /// Another agent delegated this.
    NotYourProposal { delegator: AgentPath },
    /// To modify is to say what goes in instead.
    ItemsRequired,
    /// The issue a proposal was meant for is not there.
    NoChecklist,
    /// No such conversation in the project.
    UnknownConversation { conversation: String },
}

impl Refusal {
    /// Every code there is, for the error table and its golden.
    pub const CODES: [&'static str; 49] = [
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
        "no_such_text",
        "ambiguous_text",
        "unbound",
        "unknown_session",
        "session_ended",
        "issue_held",
        "already_bound",
        "self_link",
        "already_linked",
        "not_linked",
        "open_children",
        "stale_revision",
        "bad_checklist",
        "unknown_gate",
        "already_answered",
        "bad_form",
        "bad_response",
        "bad_agent_type",
        "unknown_delegation",
        "delegation_over",
        "no_proposal",
        "proposal_settled",
        "items_required",
        "no_checklist",
        "unknown_conversation",
    ];

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownTodo { .. } => "unknown_todo",
            Self::AlreadySettled { .. } => "already_settled",
            Self::WrongStatus { .. } => "wrong_status",
            Self::NotPermitted { .. }
            | Self::IssueMoveNotPermitted { .. }
            | Self::MayNotAsk { .. }
            | Self::MayNotAnswer { .. }
            | Self::MayNotDelegate { .. }
            | Self::NotYourProposal { .. } => "not_permitted",
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
            Self::StaleEpoch { .. } | Self::StaleDelegation { .. } => "stale_epoch",
            Self::Deferred { .. } => "deferred",
            Self::OutOfReach { .. } => "out_of_reach",
            Self::UnknownToken { .. } => "unknown_token",
            Self::UnknownIssue { .. } => "unknown_issue",
            Self::LookAlike { .. } => "look_alike",
            Self::WrongIssueStatus { .. } => "wrong_issue_status",
            Self::NoSuchText { .. } => "no_such_text",
            Self::AmbiguousText { .. } => "ambiguous_text",
            Self::UnknownSession { .. } => "unknown_session",
            Self::SessionEnded { .. } => "session_ended",
            Self::IssueHeld { .. } => "issue_held",
            Self::AlreadyBound { .. } => "already_bound",
            Self::SelfLink { .. } => "self_link",
            Self::AlreadyLinked { .. } => "already_linked",
            Self::NotLinked { .. } => "not_linked",
            Self::OpenChildren { .. } => "open_children",
            Self::StaleRevision { .. } => "stale_revision",
            Self::BadChecklist { .. } => "bad_checklist",
            Self::UnknownGate { .. } => "unknown_gate",
            Self::AlreadyAnswered { .. } => "already_answered",
            Self::BadForm { .. } => "bad_form",
            Self::BadResponse { .. } => "bad_response",
            Self::BadAgentType { .. } => "bad_agent_type",
            Self::UnknownDelegation { .. } => "unknown_delegation",
            Self::DelegationOver { .. } => "delegation_over",
            Self::NoProposal { .. } => "no_proposal",
            Self::ProposalSettled { .. } => "proposal_settled",
            Self::UnknownConversation { .. } => "unknown_conversation",
            Self::Unbound => "unbound",
            Self::ItemsRequired => "items_required",
            Self::NoChecklist => "no_checklist",
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
                    Denial::Role if *todo_kind == TodoKind::Criterion => {
                        "criteria belong to the operator: claim one with done, or ask".into()
                    }
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
            Self::IssueMoveNotPermitted { role: Role::Root, to, asked, .. } if to.is_closed() => {
                match asked {
                    Some(GateState::Open) => "the operator has not answered your sign-off yet",
                    Some(GateState::Refused) => {
                        "the sign-off was refused: rework it, then ask again with checkpoint"
                    }
                    Some(GateState::Resumed) => {
                        "it has changed since the sign-off: ask again with checkpoint"
                    }
                    _ => "ask for sign-off with checkpoint, purpose sign_off; the operator decides",
                }
                .into()
            }
            Self::IssueMoveNotPermitted { .. } => "ask the operator to move it".into(),
            Self::NoSuchText { is_empty: true, .. } => "the list is empty: add tasks first".into(),
            Self::NoSuchText { text, .. } if looks_like_an_id(text) => {
                "tasks are addressed by their text, not by an id: pass the exact text".into()
            }
            Self::NoSuchText { .. } => {
                "tasks are addressed by their text: pass the exact text of one".into()
            }
            Self::AmbiguousText { .. } => "give more of the text, so that only one fits".into(),
            Self::Unbound => "ask the operator to bind an issue to this session".into(),
            Self::UnknownSession { .. } => "session_list shows the sessions".into(),
            Self::SessionEnded { .. } => "start a new session".into(),
            Self::IssueHeld { take_over: true, .. } => {
                "end that session, or take the issue over with `takeOver`".into()
            }
            Self::IssueHeld { .. } => "ask the operator to take it over".into(),
            Self::AlreadyBound { .. } => "unbind it first, or file an issue below it".into(),
            Self::SelfLink { .. } => "name another issue".into(),
            Self::AlreadyLinked { .. } => "there is nothing left to do".into(),
            Self::NotLinked { .. } => "issue_show shows the links there are".into(),
            Self::OpenChildren { .. } => "give `confirm` to close it all the same".into(),
            Self::StaleRevision { .. } => {
                "make your changes again on the newer text, with its revision".into()
            }
            Self::BadChecklist { .. } => {
                "nothing was changed: mend these lines and save again".into()
            }
            Self::MayNotAsk { .. } => "report back to the agent that delegated".into(),
            Self::MayNotAnswer { .. } => "gates are answered by the operator: wait".into(),
            Self::UnknownGate { .. } => "gate_list shows the gates".into(),
            Self::AlreadyAnswered { .. } => "an answer counts once; ask anew if it is wrong".into(),
            Self::BadForm { .. } => {
                "give a flat object of string, number, integer and boolean fields".into()
            }
            Self::BadResponse { .. } => "answer each field as the form says".into(),
            Self::MayNotDelegate { .. } => "this is not for your role".into(),
            Self::BadAgentType { .. } => "use letters, digits, - and _".into(),
            Self::UnknownDelegation { .. } => "delegation_list shows the delegations".into(),
            Self::DelegationOver { .. } => "delegate anew".into(),
            Self::StaleDelegation { .. } => "stop: somebody else works on it now".into(),
            Self::NoProposal { .. } => "delegation_show shows what came back".into(),
            Self::ProposalSettled { .. } => "there is nothing left to decide".into(),
            Self::NotYourProposal { delegator } => format!("{delegator} decides on it"),
            Self::ItemsRequired => "give `items`, or accept the proposal as it is".into(),
            Self::NoChecklist => "bind an issue before delegating".into(),
            Self::UnknownConversation { .. } => "conversation_list shows the chats".into(),
        }
    }
}

/// `task-3`, `#3`, `3`, a ULID: what a model writes that thinks items have ids.
fn looks_like_an_id(text: &str) -> bool {
    let numbered = text.rsplit(['-', '#', ' ', '_']).next().unwrap_or_default();
    let is_number = !numbered.is_empty() && numbered.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && text.split_whitespace().count() <= 2 && text.len() < 16)
        || TodoId::parse(text).is_some()
}

fn names<'a>(words: impl Iterator<Item = &'a str>, between: &str) -> String {
    words.collect::<Vec<_>>().join(between)
}

/// The words of a caller, cut: an answer need not repeat a page.
fn short(text: &str) -> String {
    match text.char_indices().nth(80) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
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
            Self::NotPermitted { role, action, list, todo_kind, denial } => match denial {
                Denial::NoSuchAct => write!(f, "a {list} list knows no `{action}`"),
                Denial::NotYours => {
                    write!(f, "the role {role} may {action} only what it owns, and this is not its")
                }
                // The tool of an issue's checklist never speaks of issues (K-60).
                Denial::Role if *todo_kind == TodoKind::Criterion => {
                    write!(f, "the role {role} may not {action} a criterion")
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
            Self::IssueMoveNotPermitted { role, number, status, to, .. } => {
                write!(f, "the role {role} may not move issue #{number} from {status} to {to}")
            }
            Self::NoSuchText { text, is_empty: true, .. } => {
                write!(f, "no task says `{}`; there are none", short(text))
            }
            Self::NoSuchText { text, nearest, .. } => {
                let near: Vec<String> = nearest.iter().map(|text| format!("`{text}`")).collect();
                write!(f, "no task says `{}`; the nearest are {}", short(text), near.join(", "))
            }
            Self::AmbiguousText { text, texts } => {
                let texts: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
                write!(f, "`{}` could be {}", short(text), texts.join(" or "))
            }
            Self::Unbound => f.write_str("this session has no issue, so there is no checklist"),
            Self::UnknownSession { session } => {
                write!(f, "there is no session `{}` in this project", short(session))
            }
            Self::SessionEnded { session, at } => write!(f, "session {session} ended at {at}"),
            Self::IssueHeld { number, session, title, .. } => {
                write!(f, "issue #{number} is bound to session {session} (`{title}`)")
            }
            Self::AlreadyBound { number } => {
                write!(f, "the session is bound to issue #{number} already")
            }
            Self::SelfLink { number } => write!(f, "issue #{number} cannot be linked to itself"),
            Self::AlreadyLinked { number, kind, to } => {
                write!(f, "issue #{number} is {} #{to} already", kind.name())
            }
            Self::NotLinked { number, kind, to } => {
                write!(f, "issue #{number} is not {} #{to}", kind.name())
            }
            Self::OpenChildren { number, children } => {
                let children: Vec<String> = children.iter().map(|n| format!("#{n}")).collect();
                write!(f, "issue #{number} has open children: {}", children.join(", "))
            }
            Self::StaleRevision { number, expected, revision, checklist } => write!(
                f,
                "issue #{number} is at revision {revision}, not {expected}; it now reads:\n{checklist}"
            ),
            Self::BadChecklist { faults } => {
                let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
                write!(f, "the checklist cannot be read: {}", lines.join("; "))
            }
            Self::MayNotAsk { role } => write!(f, "the role {role} may not ask a person"),
            Self::MayNotAnswer { role } => write!(f, "the role {role} may not answer a gate"),
            Self::UnknownGate { gate } => {
                write!(f, "there is no gate `{}` in this project", short(gate))
            }
            Self::AlreadyAnswered { gate, state, by, at } => {
                write!(f, "gate {gate} is {} already", state.name())?;
                match (by, at) {
                    (Some(by), Some(at)) => write!(f, ", by {by} at {at}"),
                    _ => Ok(()),
                }
            }
            Self::BadForm { fault } => write!(f, "this form cannot be asked: {fault}"),
            Self::BadResponse { faults } => {
                write!(f, "the response does not fit the form: {}", faults.join("; "))
            }
            Self::MayNotDelegate { role } => {
                write!(f, "the role {role} may not do this to a delegation")
            }
            Self::BadAgentType { name } => write!(f, "`{}` names no agent", short(name)),
            Self::UnknownDelegation { delegation } => {
                write!(f, "there is no delegation `{}` in this project", short(delegation))
            }
            Self::DelegationOver { delegation, state } => {
                write!(f, "delegation {delegation} is {} already", state.name())
            }
            Self::StaleDelegation { epoch, current, holder, .. } => {
                write!(f, "epoch {epoch} is not the current lease (it is at {current}, ")?;
                match holder {
                    Some(holder) => write!(f, "held by {holder})"),
                    None => f.write_str("held by nobody)"),
                }
            }
            Self::NoProposal { delegation } => {
                write!(f, "delegation {delegation} proposes nothing")
            }
            Self::ProposalSettled { delegation, .. } => {
                write!(f, "the proposal of delegation {delegation} was decided on before")
            }
            Self::NotYourProposal { delegator } => {
                write!(f, "this was delegated by {delegator}, not by you")
            }
            Self::ItemsRequired => f.write_str("to modify a proposal, items are required"),
            Self::NoChecklist => f.write_str("no issue was bound when this was delegated"),
            Self::UnknownConversation { conversation } => {
                write!(f, "there is no conversation `{}` in this project", short(conversation))
            }
        }
    }
}
