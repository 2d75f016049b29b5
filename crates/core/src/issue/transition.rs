//! Move an issue to another status. Only this command does; a completed checklist or an ended
//! session does not.
//!
//! An agent may close an issue only with a sign-off from the operator for the issue's current state
//! (D-23). The move raises the revision, so a sign-off is valid once.

use serde::{Deserialize, Serialize};

use super::{Issue, IssueStatus, MoveVerdict, Part, ledger, may_move, ways};
use crate::authority::{Action, Subject, may_any};
use crate::event::{IssueTransitionRefused, IssueTransitioned};
use crate::gate::{Gate, GateState, Purpose};
use crate::named::named;
use crate::session::{Session, SessionState};
use crate::text::Body;
use crate::{Actor, By, Decide, Decision, Refusal, Refused, Snapshot, Status, Todo, TodoKind};

named! {
    /// Why a sign-off that the operator gave does not count for a move.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Void {
        /// A part that it covers has changed since.
        Changed = "changed",
        /// It is for the other way to close the issue.
        OtherEnd = "other_end",
        /// It is for another session, or its session was unbound, paused or ended.
        OtherSession = "other_session",
    }
}

/// Move an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransitionIssue {
    pub status: IssueStatus,
    pub reason: Option<Body>,
    /// Close it even if child issues are open.
    pub confirm: bool,
}

/// The facts for a move that closes an issue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Closing<'a> {
    /// The session the caller is in.
    pub session: Option<&'a Session>,
    /// The newest sign-off that was asked for on this issue.
    pub sign_off: Option<&'a Gate>,
    pub checklist: Option<&'a Snapshot>,
    /// The numbers of the open issues below this one, which closing it does not touch (Q-K6).
    pub open_children: &'a [i64],
}

impl Closing<'_> {
    /// Has the operator signed off the issue's current state, for this session and this end?
    fn is_signed_off(&self, issue: &Issue, to: IssueStatus, actor: &Actor) -> bool {
        self.sign_off.is_some_and(|gate| {
            gate.purpose == Some(Purpose::SignOff)
                && gate.asked_by == actor.principal
                && gate.state == GateState::Resumed
                && gate.issue_id == Some(issue.id)
                && gate.end.is_none_or(|end| end == to)
                && gate.is_current(issue)
                && self.session.is_some_and(|session| {
                    // When the operator unbinds, ends or pauses the session, the sign-off is void.
                    gate.session_id == Some(session.id)
                        && session.state != SessionState::Ended
                        && session.paused_by.is_none()
                        && session.bound_issue == Some(issue.id)
                })
        })
    }
}

impl Closing<'_> {
    /// Why a sign-off that was given does not let this actor close the issue.
    fn void(&self, issue: &Issue, to: IssueStatus, actor: &Actor) -> Option<Void> {
        let gate = self.sign_off.filter(|gate| gate.state == GateState::Resumed)?;
        if !gate.is_current(issue) {
            return Some(Void::Changed);
        }
        if gate.end.is_some_and(|end| end != to) {
            return Some(Void::OtherEnd);
        }
        (!self.is_signed_off(issue, to, actor)).then_some(Void::OtherSession)
    }
}

impl Decide for TransitionIssue {
    type On<'a> = (&'a Issue, Closing<'a>);
    type Out = Decision;

    fn decide(
        &self,
        (issue, closing): Self::On<'_>,
        By { actor, now, ids }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        let (number, from, to, role) = (issue.number, issue.status, self.status, actor.role);
        let granted = closing.is_signed_off(issue, to, actor);
        match may_move(role, from, to, granted) {
            MoveVerdict::Deny => {
                let asked = closing.sign_off.map(|gate| gate.state);
                let void = closing.void(issue, to, actor);
                let refusal =
                    Refusal::IssueMoveNotPermitted { role, number, status: from, to, asked, void };
                // Closing and reopening are judgements: a denied attempt is logged.
                let audit = (from.is_closed() || to.is_closed()).then(|| {
                    let refusal = refusal.clone();
                    Box::new(IssueTransitionRefused { issue_id: issue.id, number, refusal }.into())
                });
                Err(Refused { refusal, audit })
            }
            MoveVerdict::NoSuchMove => {
                let allowed = ways(role, from);
                Err(Refusal::WrongIssueStatus { number, status: from, to, allowed }.into())
            }
            MoveVerdict::Allow => {
                let closes = to.is_closed() && !from.is_closed();
                // A person must confirm; for an agent, the sign-off has listed the open children.
                let by_right = may_any(role, Subject::Issue, Action::Close);
                let is_asked = closes && by_right && !self.confirm;
                if is_asked && !closing.open_children.is_empty() {
                    let children = closing.open_children.to_vec();
                    return Err(Refusal::OpenChildren { number, children }.into());
                }
                let moved = IssueTransitioned {
                    issue_id: issue.id,
                    number,
                    from,
                    status: to,
                    reason: self.reason.as_ref().map(|reason| reason.as_str().to_owned()),
                    revision: issue.revision + 1,
                    parts: if closes { vec![Part::Status] } else { Vec::new() },
                };
                let mut decision = Decision { events: vec![moved.into()], ..Decision::default() };
                let line = closing
                    .checklist
                    .filter(|_| to == IssueStatus::Resolved)
                    .and_then(closing_line);
                decision.events.extend(line.map(|text| ledger::note(issue, text, actor, now, ids)));
                Ok(decision)
            }
        }
    }
}

/// The ledger line about the criteria an issue was closed against (K-27).
fn closing_line(checklist: &Snapshot) -> Option<String> {
    let (accepted, count) = accepted(checklist);
    let left = left_open(checklist).map(|left| format!("{left} ({accepted} of {count} are)."));
    (count > 0).then(|| left.unwrap_or_else(|| format!("Closed: {}.", all(count))))
}

/// All criteria are accepted, in words.
fn all(count: usize) -> String {
    match count {
        1 => "the criterion is accepted".to_owned(),
        _ => format!("{count} of {count} criteria accepted"),
    }
}

/// A remark about open criteria for the person who closes an issue; `None` if all are accepted.
#[must_use]
pub fn left_open(checklist: &Snapshot) -> Option<String> {
    let (accepted, count) = accepted(checklist);
    match count - accepted {
        0 => None,
        1 => Some("Closed although 1 criterion is not accepted".to_owned()),
        left => Some(format!("Closed although {left} criteria are not accepted")),
    }
}

/// The number of accepted criteria, and of all criteria.
fn accepted(checklist: &Snapshot) -> (usize, usize) {
    let stands = |todo: &&Todo| {
        todo.kind == TodoKind::Criterion
            && todo.removed_at.is_none()
            && todo.status != Status::Cancelled
    };
    let criteria: Vec<&Todo> = checklist.todos.values().filter(stands).collect();
    let accepted = criteria.iter().filter(|todo| todo.status == Status::Completed).count();
    (accepted, criteria.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::apply_issue;
    use crate::session::tests::session;
    use crate::{AgentPath, Event, Ids, IssueId, Role, SessionId, Time};

    fn issue(status: IssueStatus) -> Issue {
        let at = Time::from_micros(1);
        let base = crate::issue::tests::issue(3);
        Issue { status, revision: 5, created_at: at, updated_at: at, ..base }
    }

    fn sign_off(issue: &Issue, state: GateState, session: SessionId) -> Gate {
        let mut ids = Ids::new(Time::from_micros(0), 77);
        Gate {
            id: crate::GateId::from(ids.ulid()),
            project_id: issue.project_id,
            details: crate::gate::Details::Checkpoint {},
            purpose: Some(Purpose::SignOff),
            state,
            session_id: Some(session),
            issue_id: Some(issue.id),
            todo_id: None,
            run_id: None,
            text: "met".into(),
            asked_by: "root:primary".into(),
            reach: crate::Reach::default(),
            agent: AgentPath::primary(),
            created_at: Time::from_micros(2),
            revision: Some(issue.revision),
            end: Some(IssueStatus::Resolved),
            response: None,
            answered_by: None,
            answered_at: None,
            collected_at: None,
        }
    }

    fn close(issue: &Issue, closing: Closing<'_>, role: Role) -> Result<Decision, Refused> {
        let command =
            TransitionIssue { status: IssueStatus::Resolved, reason: None, confirm: false };
        let (now, mut ids) = (Time::from_micros(9), Ids::new(Time::from_micros(9), 5));
        {
            let actor = &Actor::new(role, AgentPath::primary());
            command.decide((issue, closing), By { actor, now, ids: &mut ids })
        }
    }

    /// K-35, K-36, D-23: only a granted sign-off of the same session and issue, for the issue's
    /// current state, lets the agent close it.
    #[test]
    fn an_agent_closes_only_with_a_sign_off() {
        let issue = issue(IssueStatus::InProgress);
        let bound = |n| Session { bound_issue: Some(issue.id), ..session(n) };
        let (session, other) = (bound(8), bound(9));
        let good = sign_off(&issue, GateState::Resumed, session.id);
        fn closing<'a>(gate: Option<&'a Gate>, session: Option<&'a Session>) -> Closing<'a> {
            Closing { session, sign_off: gate, ..Closing::default() }
        }
        assert!(close(&issue, closing(Some(&good), Some(&session)), Role::Root).is_ok());
        let reject = |gate: Option<&Gate>, session: Option<&Session>, hint: &str| {
            let refused = close(&issue, closing(gate, session), Role::Root).unwrap_err();
            assert!(refused.audit.is_some());
            assert!(refused.refusal.hint().contains(hint), "{}", refused.refusal.hint());
        };
        let asked = |state| sign_off(&issue, state, session.id);
        reject(None, Some(&session), "ask for sign-off with checkpoint");
        reject(Some(&asked(GateState::Open)), Some(&session), "not answered");
        reject(Some(&asked(GateState::Refused)), Some(&session), "rework");
        let unversioned = Gate { revision: Some(4), end: None, ..good.clone() };
        reject(Some(&unversioned), Some(&session), "has changed");
        reject(Some(&good), Some(&other), "ask again");
        reject(Some(&good), None, "ask again");
        let pause = Gate { purpose: Some(Purpose::Pause), ..good.clone() };
        reject(Some(&pause), Some(&session), "ask again");
        // The operator made the sign-off void by unbinding, pausing or ending the session.
        let unbound = Session { bound_issue: None, ..session.clone() };
        let paused = Session { paused_by: Some(Role::Operator), ..session.clone() };
        let ended = Session { state: SessionState::Ended, ..session.clone() };
        for stopped in [unbound, paused, ended] {
            reject(Some(&good), Some(&stopped), "ask again");
        }
        for role in [Role::Worker, Role::Lead, Role::Owner, Role::System] {
            assert!(close(&issue, closing(Some(&good), Some(&session)), role).is_err(), "{role}");
        }
    }

    /// A granted sign-off is for the end it asked for. Changes of steps do not affect it; a change
    /// of a covered part makes it void. Sign-offs of older versions name no end.
    #[test]
    fn a_sign_off_is_for_one_end_of_the_issue_as_it_was_judged() {
        let before = issue(IssueStatus::InProgress);
        let session = Session { bound_issue: Some(before.id), ..session(8) };
        let granted = sign_off(&before, GateState::Resumed, session.id);
        let attempt = |gate: &Gate, issue: &Issue, status| {
            let command = TransitionIssue { status, reason: None, confirm: false };
            let closing =
                Closing { session: Some(&session), sign_off: Some(gate), ..Closing::default() };
            let (now, actor) = (Time::from_micros(9), Actor::new(Role::Root, AgentPath::primary()));
            command
                .decide((issue, closing), By { actor: &actor, now, ids: &mut Ids::new(now, 5) })
                .is_ok()
        };
        let (resolved, rejected) = (IssueStatus::Resolved, IssueStatus::Rejected);
        assert!(attempt(&granted, &before, resolved));
        assert!(!attempt(&granted, &before, rejected));
        let old = Gate { end: None, ..granted.clone() };
        assert!(attempt(&old, &before, resolved) && attempt(&old, &before, rejected));
        let steps_changed = Issue { revision: 9, ..before.clone() };
        assert!(attempt(&granted, &steps_changed, resolved));
        assert!(!attempt(&old, &steps_changed, resolved));
        for part in [Part::Title, Part::Body, Part::Criteria, Part::Claims, Part::Evidence] {
            let changed = Issue { judged: [(part, 6)].into(), ..steps_changed.clone() };
            assert!(!attempt(&granted, &changed, resolved), "{}", part.name());
        }
        // Another agent that names the session is not the one that asked.
        let asked_by = "root:other".to_owned();
        assert!(!attempt(&Gate { asked_by, ..granted.clone() }, &before, resolved));
        // It was used, and the operator reopened the issue: it is not valid a second time.
        let used = Issue { judged: [(Part::Status, 6)].into(), ..steps_changed };
        assert!(!attempt(&granted, &used, resolved));
    }

    /// Every move that the table allows changes the row and nothing else; every other changes
    /// nothing and says why.
    #[test]
    fn a_move_happens_whole_or_not_at_all() {
        let later = Time::from_micros(9);
        for from in IssueStatus::ALL {
            for to in IssueStatus::ALL {
                for role in Role::ALL {
                    let before = issue(from);
                    let reason = Body::new("because").ok();
                    let command = TransitionIssue { status: to, reason, confirm: false };
                    let actor = Actor::new(role, AgentPath::primary());
                    let (closing, mut ids) = (Closing::default(), Ids::new(later, 5));
                    match command
                        .decide((&before, closing), By { actor: &actor, now: later, ids: &mut ids })
                    {
                        Ok(decision) => {
                            assert_eq!(may_move(role, from, to, false), MoveVerdict::Allow);
                            let mut state = Some(before.clone());
                            for event in &decision.events {
                                assert!(apply_issue(&mut state, event, later));
                            }
                            let judged = match to.is_closed() {
                                true => [(Part::Status, 6)].into(),
                                false => before.judged.clone(),
                            };
                            let expected = Issue {
                                status: to,
                                revision: 6,
                                judged,
                                updated_at: later,
                                status_reason: Some("because".to_owned()),
                                ..before
                            };
                            assert_eq!(state, Some(expected));
                        }
                        Err(refused) => {
                            let code = refused.refusal.code();
                            let judged = from.is_closed() || to.is_closed();
                            let denied = may_move(role, from, to, false) == MoveVerdict::Deny;
                            let expected =
                                if denied { "not_permitted" } else { "wrong_issue_status" };
                            assert_eq!(code, expected);
                            assert_eq!(refused.audit.is_some(), denied && judged);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn an_event_of_another_issue_changes_nothing() {
        let before = issue(IssueStatus::Open);
        let other = IssueTransitioned {
            issue_id: IssueId::from(Ids::new(Time::from_micros(0), 99).ulid()),
            number: 4,
            from: IssueStatus::Open,
            status: IssueStatus::Triaged,
            reason: None,
            revision: 2,
            parts: vec![Part::Status],
        };
        let mut state = Some(before.clone());
        assert!(!apply_issue(&mut state, &Event::from(other), Time::from_micros(9)));
        assert_eq!(state, Some(before));
    }

    /// Q-K6: closing an issue with open children needs a person's confirmation; nothing else does.
    #[test]
    fn a_person_is_asked_before_open_children_are_left_behind() {
        use IssueStatus::{InProgress, Open, Rejected, Resolved, Triaged};
        for (role, from, to, confirm, children, asked) in [
            (Role::Operator, Open, Resolved, false, &[7, 9][..], true),
            (Role::Operator, InProgress, Rejected, false, &[7][..], true),
            (Role::Operator, Open, Resolved, true, &[7][..], false),
            (Role::Operator, Open, Resolved, false, &[][..], false),
            (Role::Operator, Open, Triaged, false, &[7][..], false),
            (Role::Operator, Resolved, Open, false, &[7][..], false),
            (Role::Root, Open, Resolved, false, &[7][..], false),
        ] {
            let issue = issue(from);
            let session = Session { bound_issue: Some(issue.id), ..session(9) };
            let gate = sign_off(&issue, GateState::Resumed, session.id);
            let (session, sign_off, open_children) = (Some(&session), Some(&gate), children);
            let closing = Closing { session, sign_off, open_children, checklist: None };
            let actor = Actor::new(role, AgentPath::primary());
            let command = TransitionIssue { status: to, reason: None, confirm };
            let now = Time::from_micros(9);
            let decided = command
                .decide((&issue, closing), By { actor: &actor, now, ids: &mut Ids::new(now, 3) });
            let refusal = decided.map(|_| ()).map_err(|refused| refused.refusal);
            let open = Refusal::OpenChildren { number: 3, children: children.to_vec() };
            assert_eq!(refusal, if asked { Err(open) } else { Ok(()) }, "{role} {from} {to}");
        }
    }

    /// K-27: the ledger names the criteria an issue was closed against; without valid criteria it
    /// has no such line.
    #[test]
    fn only_valid_criteria_are_counted_in_the_ledger() {
        use crate::command::{CreateTodos, NewTodo};
        use crate::text::Title;
        use crate::{List, ListId, ProjectId, Scope, apply, decide};
        let (now, mut ids) = (Time::from_micros(9), Ids::new(Time::from_micros(9), 5));
        let (id, project) = (ListId::from(ids.ulid()), ProjectId::from(ids.ulid()));
        let scope = Scope::Issue { issue_id: "i".to_owned() };
        let mut checklist = Snapshot::empty(List::new(id, project, scope, now));
        let notes = |checklist: &Snapshot| -> Vec<String> {
            let closing = Closing { checklist: Some(checklist), ..Closing::default() };
            let decided = close(&issue(IssueStatus::InProgress), closing, Role::Operator).unwrap();
            decided.events[1..].iter().map(|event| format!("{event:?}")).collect()
        };
        assert_eq!(notes(&checklist), Vec::<String>::new(), "no criteria, no word");
        let mut add = |checklist: &mut Snapshot, kind, status, removed_at| {
            let title = Title::new(&format!("item {}", checklist.todos.len())).unwrap();
            let item = NewTodo { kind, ..NewTodo::titled(title) };
            let command = CreateTodos { items: vec![item] }.into();
            let operator = Actor::new(Role::Operator, AgentPath::primary());
            let made = decide(checklist, &command, &operator, now, &mut ids).unwrap();
            apply(checklist, &made.events[0], now);
            let todo = checklist.todos.values_mut().last().unwrap();
            (todo.status, todo.removed_at) = (status, removed_at);
        };
        add(&mut checklist, TodoKind::Step, Status::Completed, None);
        add(&mut checklist, TodoKind::Criterion, Status::Cancelled, None);
        add(&mut checklist, TodoKind::Criterion, Status::Completed, Some(now));
        assert_eq!(notes(&checklist), Vec::<String>::new(), "none of these stands");
        add(&mut checklist, TodoKind::Criterion, Status::Completed, None);
        add(&mut checklist, TodoKind::Criterion, Status::Pending, None);
        let lines = notes(&checklist);
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].contains("Closed although 1 criterion is not accepted (1 of 2 are)."),
            "{lines:?}"
        );
    }
}
