//! Bind a session to an issue, or unbind it. One session at a time works on an issue (K-2).

use serde::{Deserialize, Serialize};

use super::{Session, going, keeper};
use crate::authority::{Action, Subject, may_any};
use crate::event::{SessionBound, SessionUnbound};
use crate::{By, Decide, Decision, Issue, Refusal, Refused};

/// Bind a session to an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindSession {
    /// Take the issue from the session that has it; only the operator may (D-27).
    pub take_over: bool,
}

/// Unbind a session from its issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnbindSession;

/// The session, the issue, and their present bindings.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    pub session: &'a Session,
    pub issue: &'a Issue,
    /// The issue the session is bound to now.
    pub before: Option<&'a Issue>,
    /// Another session, not ended, that is bound to this issue.
    pub holder: Option<&'a Session>,
}

/// The decisions for the two sessions that a binding may affect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    pub session: Decision,
    /// For the session that had the issue.
    pub holder: Decision,
}

impl Decide for BindSession {
    type On<'a> = Binding<'a>;
    type Out = Bound;

    fn decide(
        &self,
        Binding { session, issue, before, holder }: Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        keeper(actor, Action::Bind)?;
        going(session)?;
        let mut bound = Bound::default();
        if session.bound_issue == Some(issue.id) {
            return Ok(bound);
        }
        if let Some(holder) = holder {
            let may_take_over = may_any(actor.role, Subject::Session, Action::TakeOver);
            if !self.take_over || !may_take_over {
                let refusal = Refusal::IssueHeld {
                    number: issue.number,
                    session: holder.id,
                    title: holder.title.clone(),
                    take_over: may_take_over,
                };
                return Err(refusal.into());
            }
            let gone = SessionUnbound {
                session_id: holder.id,
                issue_id: issue.id,
                number: issue.number,
                taken_over_by: Some(session.id),
            };
            bound.holder.events.push(gone.into());
        }
        if let Some(before) = before {
            bound.session.events.push(unbound(session, before).into());
        }
        let (session_id, issue_id, number) = (session.id, issue.id, issue.number);
        bound.session.events.push(SessionBound { session_id, issue_id, number }.into());
        Ok(bound)
    }
}

impl Decide for UnbindSession {
    type On<'a> = (&'a Session, Option<&'a Issue>);
    type Out = Decision;

    /// `issue`: the one the session is bound to; `None` means there is nothing to unbind.
    fn decide(
        &self,
        (session, issue): Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        keeper(actor, Action::Unbind)?;
        let events = issue.map(|issue| unbound(session, issue).into()).into_iter().collect();
        Ok(Decision { events, ..Decision::default() })
    }
}

pub(super) fn unbound(session: &Session, issue: &Issue) -> SessionUnbound {
    let (session_id, issue_id, number) = (session.id, issue.id, issue.number);
    SessionUnbound { session_id, issue_id, number, taken_over_by: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;
    use crate::decide::tests::decided;
    use crate::issue::tests::issue;
    use crate::session::apply_session;
    use crate::session::tests::session;
    use crate::{Actor, AgentPath, Time};

    fn actor(role: Role) -> Actor {
        Actor::new(role, AgentPath::primary())
    }

    const fn on<'a>(
        session: &'a Session,
        issue: &'a Issue,
        before: Option<&'a Issue>,
        holder: Option<&'a Session>,
    ) -> Binding<'a> {
        Binding { session, issue, before, holder }
    }

    /// D-27, K-2: a second session is refused with the holder's name; the operator may take over.
    #[test]
    fn one_session_at_a_time_works_on_an_issue() {
        let (mine, other, issue) = (session(5), session(6), issue(7));
        let holder = Some(&other);
        let plain = BindSession { take_over: false };
        let forced = BindSession { take_over: true };
        for (bind, role) in [(plain, Role::Root), (plain, Role::Operator), (forced, Role::Root)] {
            let refused =
                decided(&bind, on(&mine, &issue, None, holder), &actor(role)).unwrap_err();
            let take_over = role == Role::Operator;
            let (number, session, title) = (7, other.id, other.title.clone());
            assert_eq!(refused.refusal, Refusal::IssueHeld { number, session, title, take_over });
        }
        let bound =
            decided(&forced, on(&mine, &issue, None, holder), &actor(Role::Operator)).unwrap();
        let mut taken = Some(Session { bound_issue: Some(issue.id), ..other });
        let mut mine = Some(mine);
        for event in bound.holder.events.iter().chain(&bound.session.events) {
            apply_session(&mut taken, event, Time::from_micros(9));
            apply_session(&mut mine, event, Time::from_micros(9));
        }
        assert_eq!(taken.unwrap().bound_issue, None);
        assert_eq!(mine.unwrap().bound_issue, Some(issue.id));
    }

    /// K-1: at most one issue; binding to another unbinds the first. Binding again changes nothing.
    #[test]
    fn binding_moves_the_one_pointer() {
        let (first, second) = (issue(1), issue(2));
        let bind = BindSession { take_over: false };
        let mut state = Some(Session { bound_issue: Some(first.id), ..session(5) });
        let again = decided(
            &bind,
            on(state.as_ref().unwrap(), &first, Some(&first), None),
            &actor(Role::Root),
        );
        assert_eq!(again.unwrap(), Bound::default());
        let moved = decided(
            &bind,
            on(state.as_ref().unwrap(), &second, Some(&first), None),
            &actor(Role::Root),
        )
        .unwrap();
        assert_eq!(moved.session.events.len(), 2);
        for event in &moved.session.events {
            apply_session(&mut state, event, Time::from_micros(9));
        }
        assert_eq!(state.unwrap().bound_issue, Some(second.id));
    }

    /// K-47: a worker has no session; and an ended session binds to nothing.
    #[test]
    fn workers_and_ended_sessions_bind_nothing() {
        let bind = BindSession { take_over: false };
        assert!(
            decided(&bind, on(&session(5), &issue(1), None, None), &actor(Role::Worker)).is_err()
        );
        let ended = Session { ended_at: Some(Time::from_micros(3)), ..session(5) };
        let refused =
            decided(&bind, on(&ended, &issue(1), None, None), &actor(Role::Root)).unwrap_err();
        let (session, at) = (ended.id, Time::from_micros(3));
        assert_eq!(refused.refusal, Refusal::SessionEnded { session, at });
    }
}
