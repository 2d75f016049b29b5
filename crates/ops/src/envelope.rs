//! The envelope of a request: who asks, for which project, in which context.
//!
//! Envelope fields never appear in an operation's input. Whatever a model writes into its input
//! about turns, conversations or agents is dropped; only the envelope counts (T-19).

use std::fmt;
use std::sync::Arc;

use punchlist_core::{Actor, RunId, Time, TokenId};
use serde::{Deserialize, Serialize};

use crate::config::Roster;

/// What a surface knows about a request besides its input.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    pub actor: Actor,
    /// How the actor was proved.
    pub proof: Proof,
    /// The project's name; it is made on first use.
    pub project: String,
    pub context: Context,
    /// The same key with the same input has one effect.
    pub idempotency_key: Option<String>,
    /// The agents that are configured, where the surface has read the files.
    pub agents: Arc<Roster>,
    pub now: Time,
}

/// What a project is recognised by, wherever its folder lies: a repository, or else a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// Host and path of the repository's `origin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_commit: Option<String>,
    /// The git directory that all its worktrees share; outside git the folder.
    pub folder: String,
}

impl Place {
    /// Are both the same project? The first mark that both have decides.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        if let (Some(one), Some(other)) = (&self.origin, &other.origin) {
            return one == other;
        }
        match (&self.root_commit, &other.root_commit) {
            (Some(one), Some(other)) => one == other,
            _ => self.folder == other.folder,
        }
    }
}

/// What a claim to be somebody rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A person at a terminal of this machine.
    Terminal,
    /// Some streams are a person's terminal and others are not: good for looking alone.
    PartTerminal,
    /// A process of this machine without a token.
    Nothing,
    /// A token.
    Token(TokenId),
    /// The agent of a run, which its starter answers for.
    Run(RunId),
    /// What the engine does by policy.
    Engine,
}

impl Proof {
    #[must_use]
    pub const fn is_token(self) -> bool {
        matches!(self, Self::Token(_))
    }
}

/// As the log keeps it.
impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminal | Self::PartTerminal => f.write_str("terminal"),
            Self::Nothing => f.write_str("none"),
            Self::Token(id) => write!(f, "token:{id}"),
            Self::Run(id) => write!(f, "run:{id}"),
            Self::Engine => f.write_str("engine"),
        }
    }
}

/// Where the caller stands: ids of the host, which are its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    pub session: Option<String>,
    pub conversation: Option<String>,
    pub turn: Option<String>,
    /// The id a host gives the session it runs, known to us or not.
    pub host_session: Option<String>,
    /// The processes the caller descends from, the nearest first.
    pub processes: Vec<String>,
    /// The name of the session that a server starts for itself where nothing says which is meant.
    pub own_session: Option<String>,
    /// The folder the caller runs in: what paths are relative to. It never says which session is
    /// meant.
    pub directory: Option<String>,
    /// The run the caller is in. No surface takes it from outside.
    pub run: Option<RunId>,
    /// Whoever started the process that executes the run; absent: nobody but the engine itself.
    pub executor: Option<Actor>,
    /// The git branch of that folder.
    pub branch: Option<String>,
    /// The folder is a repository's, and no branch is checked out in it.
    pub detached: bool,
    /// What the project is recognised by.
    pub place: Option<Place>,
    /// The issue the caller names. It is obeyed or refused, and goes before the session's.
    pub issue: Option<i64>,
}
