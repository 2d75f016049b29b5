//! Identifies the caller: by a token if there is one, otherwise by the facts the surface collected.
//!
//! Without a token, a person at a terminal is the operator; every other caller is an agent: `root`,
//! or `worker` if its path is dotted (ADR 0005). `--agent` alone plays that agent, even at a
//! terminal; with `--as` the operator acts for it, and the log keeps both. The surface collects the
//! facts and this file judges them; the catalogue sees only the result.

use punchlist_core::authority::may_carry;
use punchlist_core::{Actor, AgentPath, Role};
use punchlist_store::rows::tokens::Token;

use crate::{Error, Proof};

/// Environment variables that known agent hosts set for the processes they start.
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

/// Which of the standard streams are terminals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Terminal {
    /// Input and output are terminals: a person is there.
    Person,
    /// Some are, but not both input and output: `punch inbox | less`, `watch punch status`.
    Part,
    #[default]
    None,
}

/// The facts a surface collected about its caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Which of the standard streams are terminals.
    pub terminal: Terminal,
    /// A variable of a known agent host is set.
    pub agent_host: bool,
    /// The person's name, for the log.
    pub user: Option<String>,
    /// `--agent`.
    pub agent: Option<AgentPath>,
    /// `--as`.
    pub carry: Option<Role>,
    /// `--mission` and `--pillar`.
    pub mission: Option<String>,
    pub pillar: Option<String>,
}

/// The actor that these facts prove without a token.
pub fn prove(facts: Facts) -> Result<(Actor, Proof), Error> {
    let named = facts.agent.is_some() || facts.carry.is_some();
    let person = match facts.terminal {
        _ if facts.agent_host => false,
        Terminal::Person => facts.agent.is_none() || facts.carry.is_some(),
        // A caller that names an agent or a role acts as that agent, not as a person.
        Terminal::Part => !named,
        Terminal::None => false,
    };
    // The principal of an operator who acts for an agent has the agent's name, as with a token.
    let acts_for = facts.agent.is_some();
    let agent = facts.agent.unwrap_or_else(AgentPath::primary);
    let proved = match (person, agent.is_subagent()) {
        (true, _) => Role::Operator,
        (false, true) => Role::Worker,
        (false, false) => Role::Root,
    };
    let role = carried(proved, facts.carry)?;
    let principal = match (person && !acts_for, facts.user) {
        (true, Some(user)) => format!("operator:{user}"),
        (true, None) => "operator".to_owned(),
        (false, _) => format!("{proved}:{agent}"),
    };
    let (mission, pillar) = (facts.mission, facts.pillar);
    let proof = match (person, facts.terminal) {
        (true, Terminal::Part) => Proof::PartTerminal,
        (true, _) => Proof::Terminal,
        (false, _) => Proof::Nothing,
    };
    let actor = Actor { principal, role, mission, pillar, ..Actor::new(proved, agent) };
    Ok((actor, proof))
}

/// The actor that a token proves. The token's limits override what the caller says. A caller may
/// name only an agent below the token's own; the operator may name any.
pub fn prove_by(token: &Token, facts: Facts) -> Result<Actor, Error> {
    let own = token.agent.clone().unwrap_or_else(AgentPath::primary);
    let agent = match facts.agent {
        None => own,
        Some(path) if path.is_within(&own) || may_carry(token.role, Role::Operator) => path,
        Some(path) => return Err(Error::AgentNotYours { wanted: path, own }),
    };
    let subagent = token.role == Role::Root && agent.is_subagent();
    let proved = if subagent { Role::Worker } else { token.role };
    let role = carried(proved, facts.carry)?;
    Ok(Actor {
        role,
        mission: token.reach.mission.clone().or(facts.mission),
        pillar: token.reach.pillar.clone().or(facts.pillar),
        reach: token.reach.clone(),
        fixed: true,
        ..Actor::new(proved, agent)
    })
}

fn carried(proved: Role, carry: Option<Role>) -> Result<Role, Error> {
    match carry {
        None => Ok(proved),
        Some(wanted) if may_carry(proved, wanted) => Ok(wanted),
        Some(wanted) => Err(Error::RoleNotYours { wanted, proved }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punchlist_core::Reach;

    fn facts(terminal: bool, agent_host: bool, agent: Option<&str>) -> Facts {
        let terminal = if terminal { Terminal::Person } else { Terminal::None };
        let agent = agent.map(|path| AgentPath::parse(path).unwrap());
        Facts { terminal, agent_host, agent, user: Some("ada".into()), ..Facts::default() }
    }

    fn role(facts: Facts) -> (Role, String) {
        let (actor, _) = prove(facts).unwrap();
        (actor.role, actor.principal)
    }

    #[test]
    fn a_person_at_a_terminal_is_the_operator_and_every_other_caller_is_an_agent() {
        let sub = "primary.subagents.w";
        assert_eq!(role(facts(true, false, None)), (Role::Operator, "operator:ada".into()));
        assert_eq!(role(facts(true, true, None)), (Role::Root, "root:primary".into()));
        assert_eq!(role(facts(false, false, None)), (Role::Root, "root:primary".into()));
        assert_eq!(role(facts(true, false, Some("coder"))), (Role::Root, "root:coder".into()));
        assert_eq!(role(facts(false, false, Some(sub))), (Role::Worker, format!("worker:{sub}")));
    }

    /// `punch inbox | less` reads as the operator; a caller that names an agent or a role is that
    /// agent.
    #[test]
    fn a_terminal_on_some_streams_only_allows_reading() {
        let part = |agent, carry| {
            let facts = Facts { terminal: Terminal::Part, carry, ..facts(false, false, agent) };
            prove(facts).map(|(actor, proof)| (actor.role, proof))
        };
        assert_eq!(part(None, None).unwrap(), (Role::Operator, Proof::PartTerminal));
        assert_eq!(part(Some("coder"), None).unwrap(), (Role::Root, Proof::Nothing));
        assert_eq!(part(None, Some(Role::Worker)).unwrap(), (Role::Worker, Proof::Nothing));
        assert!(part(None, Some(Role::Operator)).is_err());
        let hosted = Facts { terminal: Terminal::Part, ..facts(false, true, None) };
        assert_eq!(prove(hosted).unwrap().1, Proof::Nothing);
    }

    #[test]
    fn a_caller_can_only_take_a_lower_role() {
        let carry = |facts: Facts, wanted| prove(Facts { carry: Some(wanted), ..facts });
        for wanted in Role::ALL {
            let (actor, proof) = carry(facts(true, false, None), wanted).unwrap();
            assert_eq!(proof, Proof::Terminal);
            assert_eq!((actor.role, actor.proved), (wanted, Role::Operator));
            let agent = carry(facts(false, false, None), wanted);
            assert_eq!(agent.is_ok(), matches!(wanted, Role::Root | Role::Worker), "{wanted}");
            let worker = carry(facts(false, false, Some("a.b")), wanted);
            assert_eq!(worker.is_ok(), wanted == Role::Worker, "{wanted}");
        }
    }

    /// Contract, Context: an operator may name any agent, and the log keeps both.
    #[test]
    fn an_operator_at_a_terminal_may_act_for_any_role_and_agent() {
        for wanted in Role::ALL {
            for agent in ["own1", "lead.subagents.x"] {
                let named = Facts { carry: Some(wanted), ..facts(true, false, Some(agent)) };
                let (actor, proof) = prove(named).unwrap();
                assert_eq!((actor.role, actor.proved), (wanted, Role::Operator));
                assert_eq!((actor.agent.as_str(), proof), (agent, Proof::Terminal));
                assert_eq!(actor.principal, format!("operator:{agent}"));
            }
        }
        // Neither a host's agent nor one without a terminal is a person.
        let lead = |facts: Facts| prove(Facts { carry: Some(Role::Lead), ..facts });
        assert!(lead(facts(true, true, Some("own1"))).is_err());
        assert!(lead(facts(false, false, Some("own1"))).is_err());
        let part = Facts { terminal: Terminal::Part, ..facts(false, false, Some("own1")) };
        assert!(lead(part).is_err());
    }

    fn token(role: Role, agent: &str, reach: Reach) -> Token {
        let now = punchlist_core::Time::from_micros(0);
        Token {
            id: punchlist_core::TokenId::from(punchlist_core::Ids::new(now, 1).ulid()),
            role,
            agent: AgentPath::parse(agent),
            reach,
            created_by: "operator".into(),
            created_at: now,
            expires_at: None,
            revoked_at: None,
            used_at: None,
        }
    }

    #[test]
    fn a_token_decides_and_a_caller_can_only_narrow_it() {
        let lead = token(Role::Lead, "boss", Reach::default());
        let at_terminal = facts(true, false, None);
        let actor = prove_by(&lead, at_terminal.clone()).unwrap();
        assert_eq!((actor.role, actor.principal.as_str()), (Role::Lead, "lead:boss"));
        let upwards = Facts { carry: Some(Role::Operator), ..at_terminal };
        assert!(matches!(prove_by(&lead, upwards), Err(Error::RoleNotYours { .. })));

        let root = token(Role::Root, "coder", Reach::default());
        let below = prove_by(&root, facts(false, false, Some("coder.subagents.x"))).unwrap();
        assert_eq!((below.role, below.proved), (Role::Worker, Role::Worker));
        let beside = prove_by(&root, facts(false, false, Some("coder2")));
        assert!(matches!(beside, Err(Error::AgentNotYours { .. })));
        let operator = token(Role::Operator, "ada", Reach::default());
        let named = Facts { carry: Some(Role::Worker), ..facts(false, false, Some("own1")) };
        let acting = prove_by(&operator, named).unwrap();
        assert_eq!((acting.role, acting.agent.as_str()), (Role::Worker, "own1"));
        assert!(acting.fixed);

        let reach = Reach { mission: Some("m".into()), ..Reach::default() };
        let narrow = token(Role::Owner, "o", reach);
        let claims = Facts { mission: Some("other".into()), ..facts(false, false, None) };
        assert_eq!(prove_by(&narrow, claims).unwrap().mission.as_deref(), Some("m"));
    }
}
