//! The envelope of a request: who calls, for which project, in which context.
//!
//! Envelope fields never appear in an operation's input. Turns, conversations or agents that a
//! model writes into its input are dropped; only the envelope counts (T-19).

use std::fmt;
use std::sync::{Arc, OnceLock};

use punchlist_core::gate::ClientAnswer;
use punchlist_core::{Actor, Credential, RunId, Time, TokenId};

use crate::config::Roster;
use crate::place::Place;

/// The facts that a surface knows about a request besides its input.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    pub actor: Actor,
    /// How the actor's identity was proved.
    pub proof: Proof,
    /// The project's name. The project is created on first use.
    pub project: String,
    pub context: Context,
    /// A repeated request with the same key and the same input has one effect.
    pub idempotency_key: Option<String>,
    /// The configured agents of all projects; empty if the surface has not read the files.
    pub agents: Arc<Roster>,
    pub now: Time,
}

impl Envelope {
    /// The agents that apply in this envelope's project. A server holds one roster for all projects, so
    /// operations never read the field itself.
    #[must_use]
    pub fn agents(&self) -> &Roster {
        self.agents.of_project(&self.project)
    }
}

/// The proof of the caller's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A person at a terminal of this machine.
    Terminal,
    /// Only some of the standard streams are a terminal. This proves enough for reading only.
    PartTerminal,
    /// A process of this machine without a token.
    Nothing,
    /// A request over HTTP without a token.
    Http,
    /// A token.
    Token(TokenId),
    /// The agent of a run. The actor who started the run vouches for it.
    Run(RunId),
    /// The engine, acting by policy.
    Engine,
}

impl Proof {
    #[must_use]
    pub const fn is_token(self) -> bool {
        matches!(self, Self::Token(_))
    }

    /// The caller's own credential, as the rules of the core see it.
    #[must_use]
    pub const fn credential(self) -> Option<Credential> {
        match self {
            Self::Token(id) => Some(Credential::Token(id)),
            Self::Run(id) => Some(Credential::Run(id)),
            Self::Terminal | Self::PartTerminal | Self::Nothing | Self::Http | Self::Engine => None,
        }
    }
}

/// The form that is stored in the log.
impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminal | Self::PartTerminal => f.write_str("terminal"),
            Self::Nothing => f.write_str("none"),
            Self::Http => f.write_str("http"),
            Self::Token(id) => write!(f, "token:{id}"),
            Self::Run(id) => write!(f, "run:{id}"),
            Self::Engine => f.write_str("engine"),
        }
    }
}

/// The caller's context: ids that the host assigned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    pub session: Option<String>,
    pub conversation: Option<String>,
    pub turn: Option<String>,
    /// The id that a host gave its session. It may be unknown to us.
    pub host_session: Option<String>,
    /// The processes the caller descends from.
    pub processes: Ancestors,
    /// The name of the session that a server starts for itself when a call names none.
    pub own_session: Option<String>,
    /// The folder the caller runs in; paths are relative to it. It never selects the session.
    pub directory: Option<String>,
    /// The run the caller is in. No surface accepts it from outside.
    pub run: Option<RunId>,
    /// The actor who started the process that executes the run; absent: the engine itself.
    pub executor: Option<Actor>,
    /// The git branch of that folder.
    pub branch: Option<String>,
    /// The folder is in a repository, and no branch is checked out.
    pub detached: bool,
    /// How the project is recognised.
    pub place: Option<Place>,
    /// The names for a new project at that place, best first.
    pub names: Vec<String>,
    /// The issue that the caller names. It overrides the session's issue; if it is not allowed, the
    /// request is refused.
    pub issue: Option<i64>,
    /// The caller's files are on another machine: none of its paths is opened here.
    pub is_remote: bool,
    /// What the user of the caller's client answered to the question that the call asks.
    pub client_answer: Option<ClientAnswer>,
    /// The gate that the call has opened and waits for. It is looked at, and no other is opened.
    pub awaited: Option<String>,
}

impl Context {
    /// Does anything here lead to a session? If not, the caller has none.
    #[must_use]
    pub fn leads_to_session(&self) -> bool {
        let named = [&self.session, &self.host_session, &self.own_session];
        let is_named = named.into_iter().flatten().any(|name| !name.trim().is_empty());
        is_named || self.processes.may_exist()
    }
}

/// The processes a caller descends from, the nearest first. A command looks them up only when a
/// session could be found by them: most commands are not started by a host.
#[derive(Clone, Debug, Default)]
pub struct Ancestors {
    look: Option<fn() -> Vec<String>>,
    known: OnceLock<Vec<String>>,
}

impl Ancestors {
    /// Looks them up when they are needed.
    #[must_use]
    pub fn looked_up_by(look: fn() -> Vec<String>) -> Self {
        Self { look: Some(look), known: OnceLock::new() }
    }

    /// False if there are none for sure. Looks nothing up.
    #[must_use]
    pub fn may_exist(&self) -> bool {
        match self.known.get() {
            Some(known) => !known.is_empty(),
            None => self.look.is_some(),
        }
    }

    /// Looks them up, unless that has been done.
    pub fn get(&self) -> &[String] {
        self.known.get_or_init(|| self.look.map(|look| look()).unwrap_or_default())
    }
}

impl From<Vec<String>> for Ancestors {
    fn from(known: Vec<String>) -> Self {
        Self { look: None, known: known.into() }
    }
}

impl PartialEq for Ancestors {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Ancestors {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ancestors_are_looked_up_when_they_are_needed_and_once() {
        static LOOKS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let look = || {
            let nth = LOOKS.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            vec![format!("look {nth}")]
        };
        let ancestors = Ancestors::looked_up_by(look);
        let context = Context { processes: ancestors.clone(), ..Context::default() };
        assert!(ancestors.may_exist() && context.leads_to_session());
        assert_eq!(LOOKS.load(std::sync::atomic::Ordering::SeqCst), 0);
        assert_eq!(ancestors.get(), ["look 0"]);
        assert_eq!(ancestors.get(), ["look 0"]);
        assert_eq!(ancestors, vec!["look 0".to_owned()].into());
    }

    #[test]
    fn a_caller_without_ancestors_has_no_session_by_them() {
        let none = Ancestors::looked_up_by(Vec::new);
        assert!(none.may_exist());
        assert_eq!(none.get(), [""; 0]);
        for none in [none, Ancestors::default(), Vec::new().into()] {
            let context = Context { processes: none, ..Context::default() };
            assert!(!context.leads_to_session(), "{context:?}");
        }
    }
}
