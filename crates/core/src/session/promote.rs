//! Make an issue of what a session is about.

use super::{Session, going, keeper};
use crate::{Actor, Issue, Refusal, Refused};

/// File an issue and bind the session to it. One that works on an issue already keeps it: what it
/// found beside that is another issue, or one below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromoteSession;

impl PromoteSession {
    /// May it be done at all? What is filed and bound is decided by the commands for that.
    /// `issue`: what the session points to.
    pub fn decide(
        self,
        session: &Session,
        issue: Option<&Issue>,
        actor: &Actor,
    ) -> Result<(), Refused> {
        keeper(actor)?;
        going(session)?;
        match issue {
            Some(issue) => Err(Refusal::AlreadyBound { number: issue.number }.into()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::tests::issue;
    use crate::session::tests::session;
    use crate::{AgentPath, Role, Time};

    #[test]
    fn a_session_without_an_issue_is_promoted_by_its_keeper() {
        let ended = Session { ended_at: Some(Time::from_micros(3)), ..session(5) };
        let bound = issue(7);
        for (role, session, issue, code) in [
            (Role::Operator, session(5), None, None),
            (Role::Root, session(5), None, None),
            (Role::Root, session(5), Some(&bound), Some("already_bound")),
            (Role::Operator, session(5), Some(&bound), Some("already_bound")),
            (Role::Root, ended, None, Some("session_ended")),
            (Role::Worker, session(5), None, Some("not_permitted")),
        ] {
            let actor = Actor::new(role, AgentPath::primary());
            let decided = PromoteSession.decide(&session, issue, &actor);
            assert_eq!(decided.err().map(|refused| refused.refusal.code()), code, "{role}");
        }
    }
}
