//! Agents: how runs are executed.
//!
//! A [`Runtime`] executes runs. It records every step before it acts on it: the next step follows
//! from the stored messages alone, so another process can continue where this one was killed. The
//! core's driver decides; no rule is in this folder.

mod calls;
mod configured_tools;
mod delegations;
mod effects;
mod history;
mod live;
mod records;
mod runner;
mod tools;

pub use configured_tools::{ConfiguredTools, Folders};
pub use effects::EffectHandler;
pub use live::Live;
pub use records::code_of;
pub use runner::Outcome;
pub use tools::{Answer, OutsideTools, ToolOutput};

use std::sync::Arc;

use punchlist_core::{Actor, Role, Run, Time};
use punchlist_ops::config::Roster;
use punchlist_ops::{Envelope, Ops};

use crate::model::{Fault, FaultKind, Model};
use crate::system::system;

/// Opens models by their configured names.
pub trait Models: Sync {
    fn open(&self, spec: &str, effort: Option<&str>) -> Result<Arc<dyn Model>, Fault>;
}

/// No models at all.
impl Models for () {
    fn open(&self, spec: &str, _: Option<&str>) -> Result<Arc<dyn Model>, Fault> {
        let message = format!("no models are configured; cannot use {spec}");
        Err(Fault { kind: FaultKind::BadRequest, message, status: None, retry_after: None })
    }
}

/// Executes runs and works on delegations.
#[derive(Clone, Copy)]
pub struct Runtime<'a> {
    pub ops: &'a Ops,
    pub agents: &'a Arc<Roster>,
    /// The actor that started this process. No run may do more than this actor may. `None`: the
    /// engine itself.
    pub executor: Option<&'a Actor>,
    pub models: &'a dyn Models,
    /// Tools that are not part of punchlist.
    pub outside: &'a dyn OutsideTools,
    pub clock: &'a (dyn Fn() -> Time + Sync),
    pub is_stopped: &'a (dyn Fn() -> bool + Sync),
    pub observer: &'a (dyn Fn(&Live<'_>) + Sync),
}

impl std::fmt::Debug for Runtime<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("agents", self.agents).finish_non_exhaustive()
    }
}

impl Runtime<'_> {
    /// The driver's envelope in a project.
    fn system(&self, project: &str) -> Envelope {
        let mut envelope = system("driver", project, (self.clock)());
        envelope.agents = self.agents.in_project(project);
        envelope.context.executor = self.executor.cloned();
        envelope
    }

    fn open_model(&self, run: &Run) -> Result<Arc<dyn Model>, Fault> {
        self.models.open(&run.settings.model, run.settings.effort.as_deref())
    }

    /// The agent that plays a role in chats, if one is configured.
    #[must_use]
    pub fn player(&self, role: Role) -> Option<String> {
        self.agents.player(role)
    }
}
