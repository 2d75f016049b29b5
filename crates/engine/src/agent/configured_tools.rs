//! The configured outside tools, for runs: each agent's tools, behind its guard.
//!
//! A tool runs in the folder of its run's project, never in that of another one. If that folder is not
//! on this machine, the model is told so.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use punchlist_core::conversation::ToolCall;
use punchlist_core::{Run, Time};
use punchlist_ops::config::{Config, Server, outside_name};
use punchlist_ops::input::{Maybe, text};
use punchlist_ops::operations::permission_ask::{self, PermissionAsk, Verdict as Permitted};
use punchlist_ops::{Context, Envelope, Error, Ops};
use serde_json::Value;

use super::tools::{Answer, OutsideTools, ToolOutput};
use crate::model::{Cancel, Tool};
use crate::system::system;
use crate::tools::{AgentTools, Guard, Verdict, Wanted};

/// The outside tools of every configured agent. A server is started when its agent first needs it,
/// and stopped when this is dropped.
pub struct ConfiguredTools<'a> {
    pub ops: &'a Ops,
    pub config: &'a Config,
    pub folders: &'a Folders<'a>,
    pub clock: &'a (dyn Fn() -> Time + Sync),
    /// By project, agent and folder.
    opened: Mutex<HashMap<(String, String, PathBuf), Arc<AgentTools>>>,
}

/// The folder in which programs run for a run of this project; `None` if it is not on this machine.
pub type Folders<'a> = dyn Fn(&str, &Run) -> Option<PathBuf> + Sync + 'a;

impl std::fmt::Debug for ConfiguredTools<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConfiguredTools").finish_non_exhaustive()
    }
}

impl<'a> ConfiguredTools<'a> {
    #[must_use]
    pub fn new(
        ops: &'a Ops,
        config: &'a Config,
        folders: &'a Folders<'a>,
        clock: &'a (dyn Fn() -> Time + Sync),
    ) -> Self {
        Self { ops, config, folders, clock, opened: Mutex::default() }
    }

    /// The tools of a run's agent; `None` if the folder of its project is not on this machine.
    fn tools_of(&self, project: &str, run: &Run) -> Option<Arc<AgentTools>> {
        let name = run.agent.as_str().rsplit('.').next().unwrap_or_default();
        let folder = (self.folders)(project, run)?;
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let open = || {
            let config = self.config.in_project(project);
            Arc::new(AgentTools::new(config, config.agents.of(&run.agent), &folder))
        };
        let key = (project.to_owned(), name.to_owned(), folder.clone());
        Some(Arc::clone(opened.entry(key).or_insert_with(open)))
    }

    /// The tools that a model is offered although they cannot run here: a call says why. Servers are
    /// not started, so theirs are not known.
    fn tools_elsewhere(&self, project: &str, run: &Run, cancel: &Cancel) -> Vec<Tool> {
        let config = self.config.in_project(project);
        let tools = AgentTools::new(config, config.agents.of(&run.agent), Path::new(""));
        tools.list(cancel, &|_, _| false)
    }

    /// May this server be started for this run? An agent can edit a project's file, so the operator
    /// is asked before a program that the file names runs for the first time. Until the operator
    /// answers, the run continues without the server's tools.
    fn may_start(
        &self,
        (project, run, tools): (&str, &Run, &AgentTools),
        name: &str,
        server: &Server,
    ) -> bool {
        if !server.from_project {
            return true;
        }
        let asked = || -> Result<bool, Error> {
            let question = permission_ask::Input {
                tool: text("tool", &outside_name(name, "start"))?,
                input: None,
                definition: tools.placed(server.start()).as_object().cloned(),
                agent: Maybe(Some(text("agent", run.agent.as_str())?)),
                run: text("run", &run.id.to_string())?,
                call: text("call", &format!("start:{name}"))?,
            };
            let asked = self.ops.run::<PermissionAsk>(&self.envelope(project, run), question)?;
            Ok(asked.permission == Permitted::Allowed)
        };
        asked().unwrap_or(false)
    }

    fn envelope(&self, project: &str, run: &Run) -> Envelope {
        let context = Context {
            session: run.session_id.map(|id| id.to_string()),
            run: Some(run.id),
            ..Context::default()
        };
        let agents = Arc::clone(&self.config.in_project(project).agents);
        Envelope { context, agents, ..system("driver", project, (self.clock)()) }
    }
}

impl OutsideTools for ConfiguredTools<'_> {
    fn tools(&self, project: &str, run: &Run, cancel: &Cancel) -> Vec<Tool> {
        let Some(tools) = self.tools_of(project, run) else {
            return self.tools_elsewhere(project, run, cancel);
        };
        let on = (project, run, &*tools);
        tools.list(cancel, &|name, server| self.may_start(on, name, server))
    }

    fn call(
        &self,
        project: &str,
        run: &Run,
        call: &ToolCall,
        input: &Value,
        cancel: &Cancel,
        begin: &dyn Fn() -> Result<(), Error>,
    ) -> Result<Answer, Error> {
        let Some(tools) = self.tools_of(project, run) else {
            return Ok(Answer::Done(ToolOutput::error(no_folder(project, &call.name))));
        };
        let guard = Guard { ops: self.ops, tools: &tools };
        let (id, name) = (run.id.to_string(), call.name.as_str());
        let key = format!("{}:{}", run.counters.calls, call.id);
        let wanted = Wanted { agent: &run.agent, run: &id, call: &key, tool: name, input };
        match guard.judge(&self.envelope(project, run), &wanted)? {
            Verdict::Allowed => {}
            Verdict::Ask(_) => return Ok(Answer::Asked),
            Verdict::Denied(why) => return Ok(Answer::Done(ToolOutput::error(why))),
        }
        begin()?;
        let mutates = tools.about(name).is_some_and(|about| about.mutates);
        let answer = tools.call(name, input, cancel);
        Ok(Answer::Done(ToolOutput {
            changed: mutates && !answer.is_error,
            text: answer.text,
            is_error: answer.is_error,
            touched_list: false,
            outside: true,
        }))
    }
}

/// Tells a model and its reader why a tool does not run here.
fn no_folder(project: &str, tool: &str) -> String {
    format!(
        "{tool} was not run: the folder of the project {project} is not known to this worker; start \
         `punch worker` in that folder"
    )
}
