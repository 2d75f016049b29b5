//! The rules of punchlist, and nothing else.
//!
//! Here live the types, the transition table, the authority table, the five list policies,
//! and `decide`/`apply`. Everything is pure: no I/O, no async, no SQL, no clock, no randomness,
//! no logging. Time and ids come in as parameters; what happened goes out as events.
//!
//! Invariant: a rule lives here or nowhere. Surfaces and the store hold none.

pub mod actor;
pub mod agent;
pub mod audit;
pub mod authority;
pub mod briefing;
pub mod capacity;
pub mod change;
pub mod command;
pub mod conversation;
pub mod deadline;
pub mod decide;
pub mod decision;
pub mod delegation;
pub mod driver;
pub mod duration;
pub mod effect;
pub mod event;
pub mod evidence;
pub mod follow;
pub mod gate;
pub mod host;
pub mod id;
pub mod issue;
pub mod lease;
pub mod list;
pub mod metric;
pub mod mission;
mod named;
pub mod naming;
pub mod plan;
pub mod policy;
pub mod project;
pub mod reach;
pub mod refusal;
pub mod run;
mod schema;
pub mod select;
pub mod session;
pub mod snapshot;
pub mod text;
pub mod time;
pub mod todo;
pub mod transition;

pub use actor::{Actor, AgentPath, Credential, Role};
pub use agent::{Agent, AgentStatus, Agents};
pub use command::{Command, decide};
pub use decide::{By, Decide};
pub use decision::{Decision, Refused, Warning};
pub use delegation::Delegation;
pub use duration::Span;
pub use event::Event;
pub use gate::Gate;
pub use id::{
    ConversationId, DelegationId, GateId, Ids, IssueId, LinkId, ListId, MessageId, MetricId,
    MissionId, PillarId, ProjectId, RunId, SessionId, StrategyId, TodoId, TokenId, UpdateId,
};
pub use issue::{Issue, IssueStatus};
pub use lease::Lease;
pub use list::{ArchiveReason, List, ListKind, Scope};
pub use mission::Mission;
pub use reach::{Place, Reach};
pub use refusal::Refusal;
pub use run::Run;
pub use session::Session;
pub use snapshot::{Snapshot, Tally, Touched, apply};
pub use time::Time;
pub use todo::{Status, Todo, TodoKind};
