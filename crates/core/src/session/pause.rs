//! Pause and resume a session: an explicit pause survives messages and restarts (P-10).

use serde::{Deserialize, Serialize};

use super::{Session, SessionState, going, keeper};
use crate::authority::{Action, Subject, may_any};
use crate::event::{SessionPaused, SessionResumed};
use crate::{Actor, By, Decide, Decision, Refusal, Refused};

/// Pause a session, so that it does not continue by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseSession {
    pub reason: Option<String>,
}

/// Resume a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumeSession;

impl Decide for PauseSession {
    type On<'a> = &'a Session;
    type Out = Decision;

    /// Pausing a paused session changes nothing, unless the operator pauses it after an agent.
    fn decide(
        &self,
        session: Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        keeper(actor, Action::Pause)?;
        going(session)?;
        let same = session.paused_by == Some(actor.role) || !lifts(actor, session);
        if session.state == SessionState::Paused && same {
            return Ok(Decision::default());
        }
        let (session_id, reason) = (session.id, self.reason.clone());
        let paused = SessionPaused { session_id, reason, by: Some(actor.role) };
        Ok(Decision { events: vec![paused.into()], ..Decision::default() })
    }
}

/// May this actor lift the pause? An agent may not lift the operator's pause.
fn lifts(actor: &Actor, session: &Session) -> bool {
    !session.paused_by.is_some_and(|by| may_any(by, Subject::Session, Action::Resume))
        || may_any(actor.role, Subject::Session, Action::Resume)
}

impl Decide for ResumeSession {
    type On<'a> = &'a Session;
    type Out = Decision;

    fn decide(
        &self,
        session: Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        keeper(actor, Action::Resume)?;
        if !lifts(actor, session) {
            return Err(Refusal::PausedByOperator { role: actor.role }.into());
        }
        going(session)?;
        if session.state == SessionState::Active {
            return Ok(Decision::default());
        }
        let resumed = SessionResumed { session_id: session.id };
        Ok(Decision { events: vec![resumed.into()], ..Decision::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::tests::decided;
    use crate::session::apply_session;
    use crate::session::tests::session;
    use crate::{AgentPath, Role, Time};

    fn actor(role: Role) -> Actor {
        Actor::new(role, AgentPath::primary())
    }

    fn after(session: &Session, decision: &Decision) -> Session {
        let mut state = Some(session.clone());
        for event in &decision.events {
            assert!(apply_session(&mut state, event, Time::from_micros(5)));
        }
        state.unwrap()
    }

    /// P-10: the operator lifts any pause; an agent lifts only an agent's pause.
    #[test]
    fn only_the_operator_lifts_an_operators_pause() {
        let pause = PauseSession { reason: None };
        let (root, operator) = (actor(Role::Root), actor(Role::Operator));
        for (by, lifter, lifted) in [
            (&root, &root, true),
            (&root, &operator, true),
            (&operator, &operator, true),
            (&operator, &root, false),
        ] {
            let paused = after(&session(1), &decided(&pause, &session(1), by).unwrap());
            assert_eq!((paused.state, paused.paused_by), (SessionState::Paused, Some(by.role)));
            match decided(&ResumeSession, &paused, lifter) {
                Ok(decision) => {
                    assert!(lifted);
                    let resumed = after(&paused, &decision);
                    assert_eq!((resumed.state, resumed.paused_by), (SessionState::Active, None));
                }
                Err(refused) => {
                    assert!(!lifted);
                    let role = lifter.role;
                    assert_eq!(refused.refusal, Refusal::PausedByOperator { role });
                    assert_eq!(refused.refusal.code(), "not_permitted");
                }
            }
        }
        let by_agent = after(&session(1), &decided(&pause, &session(1), &root).unwrap());
        let by_operator = after(&by_agent, &decided(&pause, &by_agent, &operator).unwrap());
        assert_eq!(by_operator.paused_by, Some(Role::Operator));
        assert_eq!(decided(&pause, &by_operator, &root).unwrap(), Decision::default());
        assert_eq!(decided(&pause, &by_operator, &operator).unwrap(), Decision::default());
        // A session paused by an older version does not record who paused it.
        let old = Session { paused_by: None, ..by_operator };
        assert!(decided(&ResumeSession, &old, &root).is_ok());
    }
}
