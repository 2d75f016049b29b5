//! Who a process is when it brings no token.
//!
//! A person at a terminal is the operator; everything else is an agent: `root`, or `worker` when
//! its path is dotted (ADR 0005). The surface collects the facts, this file judges them, and the
//! catalogue never sees how.

use punchlist_core::{Actor, AgentPath, Role};

use crate::Error;

/// Variables that known agent hosts set for what they start.
pub const AGENT_HOSTS: [&str; 9] = [
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "OPENCODE",
    "GEMINI_CLI",
    "CURSOR_AGENT",
    "COPILOT_CLI",
    "GOOSE_TERMINAL",
];

/// What a surface saw of its caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Standard input and standard output are both terminals.
    pub terminal: bool,
    /// A variable of a known agent host is set.
    pub agent_host: bool,
    /// The name of the person, for the log.
    pub user: Option<String>,
    /// `--agent`.
    pub agent: Option<AgentPath>,
    /// `--as`.
    pub carry: Option<Role>,
    /// `--mission` and `--pillar`.
    pub mission: Option<String>,
    pub pillar: Option<String>,
}

/// The actor these facts prove.
pub fn prove(facts: Facts) -> Result<Actor, Error> {
    let person = facts.terminal && !facts.agent_host && facts.agent.is_none();
    let agent = facts.agent.unwrap_or_else(AgentPath::primary);
    let proved = match (person, agent.is_subagent()) {
        (true, _) => Role::Operator,
        (false, true) => Role::Worker,
        (false, false) => Role::Root,
    };
    let role = match facts.carry {
        None => proved,
        Some(wanted) if may_carry(proved, wanted) => wanted,
        Some(wanted) => return Err(Error::RoleNotYours { wanted, proved }),
    };
    let principal = match (proved, facts.user) {
        (Role::Operator, Some(user)) => format!("operator:{user}"),
        (Role::Operator, None) => "operator".to_owned(),
        (proved, _) => format!("{proved}:{agent}"),
    };
    let (mission, pillar) = (facts.mission, facts.pillar);
    Ok(Actor { principal, role, proved, agent, mission, pillar })
}

/// The operator may carry any role; an agent its own, and root also that of a worker.
fn may_carry(proved: Role, wanted: Role) -> bool {
    proved == Role::Operator || proved == wanted || (proved == Role::Root && wanted == Role::Worker)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(terminal: bool, agent_host: bool, agent: Option<&str>) -> Facts {
        let agent = agent.map(|path| AgentPath::parse(path).unwrap());
        Facts { terminal, agent_host, agent, user: Some("ada".into()), ..Facts::default() }
    }

    fn role(facts: Facts) -> (Role, String) {
        let actor = prove(facts).unwrap();
        (actor.role, actor.principal)
    }

    #[test]
    fn a_person_at_a_terminal_is_the_operator_and_all_else_an_agent() {
        let sub = "primary.subagents.w";
        assert_eq!(role(facts(true, false, None)), (Role::Operator, "operator:ada".into()));
        assert_eq!(role(facts(true, true, None)), (Role::Root, "root:primary".into()));
        assert_eq!(role(facts(false, false, None)), (Role::Root, "root:primary".into()));
        assert_eq!(role(facts(true, false, Some("coder"))), (Role::Root, "root:coder".into()));
        assert_eq!(role(facts(false, false, Some(sub))), (Role::Worker, format!("worker:{sub}")));
    }

    #[test]
    fn a_role_is_carried_downwards_only() {
        let carry = |facts: Facts, wanted| prove(Facts { carry: Some(wanted), ..facts });
        for wanted in Role::ALL {
            let actor = carry(facts(true, false, None), wanted).unwrap();
            assert_eq!((actor.role, actor.proved), (wanted, Role::Operator));
            let agent = carry(facts(false, false, None), wanted);
            assert_eq!(agent.is_ok(), matches!(wanted, Role::Root | Role::Worker), "{wanted}");
            let worker = carry(facts(false, false, Some("a.b")), wanted);
            assert_eq!(worker.is_ok(), wanted == Role::Worker, "{wanted}");
        }
    }
}
