//! The agent of a session: the one that works in it, not the person who started it.

use super::Session;
use crate::{Role, Run, Time};

/// Somebody did something in a session: the principal, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    pub by: String,
    pub at: Time,
}

impl Act {
    /// What the newest run of a session did.
    #[must_use]
    pub fn of_run(run: &Run) -> Self {
        Self { by: run.actor().principal, at: run.updated_at }
    }
}

/// Is this the principal of an agent, not of the person or the engine?
#[must_use]
pub fn is_agent(principal: &str) -> bool {
    let role = principal.split_once(':').map_or(principal, |(role, _)| role);
    Role::parse(role).is_some_and(Role::is_agent)
}

/// The agent that last acted in a session; otherwise the one that started it. `None`: a person
/// started it, and no agent has acted yet.
#[must_use]
pub fn agent_of(session: &Session, acts: &[Act]) -> Option<String> {
    let started = Act { by: session.started_by.clone(), at: session.created_at };
    let acts = [&started].into_iter().chain(acts).filter(|act| is_agent(&act.by));
    acts.max_by_key(|act| act.at).map(|act| act.by.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::session;

    #[test]
    fn the_agent_that_acted_last_is_the_agent_of_a_session_and_a_person_never_is() {
        let act = |by: &str, at| Act { by: by.to_owned(), at: Time::from_micros(at) };
        let of = |started_by: &str, acts: &[Act]| {
            agent_of(&Session { started_by: started_by.to_owned(), ..session(1) }, acts)
        };
        assert_eq!(of("operator:ada", &[]), None);
        assert_eq!(of("operator", &[act("operator", 5), act("system:primary", 6)]), None);
        assert_eq!(of("root:primary", &[]).as_deref(), Some("root:primary"));
        let acts = [act("root:coder", 3), act("worker:primary.x", 2), act("operator:ada", 9)];
        assert_eq!(of("operator:ada", &acts).as_deref(), Some("root:coder"));
        assert_eq!(of("root:primary", &acts).as_deref(), Some("root:coder"));
    }
}
