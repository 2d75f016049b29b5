//! Edge cases of delegated work, most of them found by a surviving mutant: which work can be taken,
//! what becomes of a proposal, and how the end of the work is reported.

use punchlist_core::command::NewTodo;
use punchlist_core::delegation::{
    DecideProposal, Delegation, DelegationState, Proposal, ProposalDecision, ProposedItem,
    free_from, is_free,
};
use punchlist_core::driver::Budget;
use punchlist_core::event::ProposalDecided;
use punchlist_core::run::{Run, RunState};
use punchlist_core::text::{Body, Content, Title};
use punchlist_core::{
    Actor, AgentPath, Decision, Event, Ids, Lease, ProjectId, Refusal, Role, Time, TodoKind,
};

use crate::driver::case::run;
use crate::world::decided;

fn delegator() -> Actor {
    Actor::new(Role::Root, AgentPath::primary())
}

pub(crate) fn delegated() -> Delegation {
    let now = Time::from_micros(1);
    let command = crate::world::order("do it");
    let project = ProjectId::from(Ids::new(now, 2).ulid());
    let decision = decided(&command, (project, None, 1), &delegator(), now).unwrap();
    let [Event::DelegationQueued(queued)] = &*decision.events else { panic!("{decision:?}") };
    Delegation::clone(&queued.delegation)
}

fn item(text: &str, phase: Option<&str>, kind: TodoKind) -> ProposedItem {
    let (content, phase) = (Content::new(text).unwrap(), phase.map(|p| Title::new(p).unwrap()));
    ProposedItem { content, phase, kind }
}

/// Every limit is finite (P-10): agents that only delegate to each other end.
#[test]
fn delegations_nest_eight_deep_at_most() {
    let now = Time::from_micros(1);
    let project = ProjectId::from(Ids::new(now, 2).ulid());
    let at = |depth| {
        let made =
            decided(&crate::world::order("do it"), (project, None, depth), &delegator(), now);
        made.map(drop).map_err(|refused| refused.refusal)
    };
    assert_eq!(at(8), Ok(()));
    assert_eq!(at(9), Err(Refusal::DelegationTooDeep { limit: 8 }));
}

/// K-48: nothing of a proposed item is lost when it becomes an item of the checklist.
#[test]
fn a_proposed_item_keeps_its_kind_and_phase() {
    let criterion = item("it is fast", Some("Measure"), TodoKind::Criterion);
    let mut expected = NewTodo::titled(Content::new("it is fast").unwrap());
    expected.kind = TodoKind::Criterion;
    expected.phase = Some(Title::new("Measure").unwrap());
    assert_eq!(NewTodo::from(criterion), expected);
    let step = NewTodo::from(item("a step", None, TodoKind::Step));
    assert_eq!(step, NewTodo::titled(Content::new("a step").unwrap()));
}

/// K-49: the decision is recorded with exactly the items that it adds.
#[test]
fn a_decision_on_a_proposal_is_recorded_with_its_items() {
    let proposed = vec![item("measure", None, TodoKind::Step)];
    let other = vec![item("estimate", Some("Later"), TodoKind::Criterion)];
    let proposal = Some(Proposal { items: proposed.clone() });
    let delegation = Delegation { proposal, ..delegated() };
    let delegation_id = delegation.id;
    let decide = |delegation: &Delegation, decision, items: Option<&Vec<ProposedItem>>| {
        let reason = Some(Body::new("Not this way.").unwrap());
        let command = DecideProposal { decision, items: items.cloned(), reason };
        decided(&command, delegation, &delegator(), Time::from_micros(2))
            .map_err(|refused| refused.refusal)
    };
    use ProposalDecision::{Accept, Modify, Reject};
    for (decision, given, added) in
        [(Accept, None, &proposed), (Modify, Some(&other), &other), (Reject, None, &vec![])]
    {
        let reason = Some("Not this way.".to_owned());
        let recorded = ProposalDecided { delegation_id, decision, items: added.clone(), reason };
        let events = vec![recorded.into()];
        let expected = (Decision { events, ..Decision::default() }, added.clone());
        assert_eq!(decide(&delegation, decision, given), Ok(expected), "{decision:?}");
    }
    // Items with another decision would be dropped without a word.
    for wrong in [Accept, Reject] {
        for items in [&other, &vec![]] {
            let refusal = Refusal::ItemsNotTaken { decision: wrong };
            assert_eq!(decide(&delegation, wrong, Some(items)), Err(refusal));
        }
    }
    for none in [None, Some(&vec![])] {
        assert_eq!(decide(&delegation, Modify, none), Err(Refusal::ItemsRequired));
    }
    let settled = Delegation { decision: Some(Reject), ..delegation.clone() };
    let refusal = Refusal::ProposalSettled { delegation: delegation_id, decision: Reject };
    assert_eq!(decide(&settled, Accept, None), Err(refusal));
    let bare = Delegation { proposal: None, ..delegation };
    let refusal = Refusal::NoProposal { delegation: delegation_id };
    assert_eq!(decide(&bare, Accept, None), Err(refusal));
}

/// M-60, M-62: the chat gets the title of the item, or else the kind of work, and the result or the
/// error.
#[test]
fn the_report_names_the_work_and_says_how_it_ended() {
    let (result, error) = (Some("it works".to_owned()), Some("it broke".to_owned()));
    let ended =
        |state| Delegation { state, result: result.clone(), error: error.clone(), ..delegated() };
    for (state, title, text) in [
        (DelegationState::Returned, Some("Build"), "Worker completed TODO “Build”\n\nit works"),
        (DelegationState::Returned, None, "Worker completed TODO “coder”\n\nit works"),
        (
            DelegationState::Queued,
            Some("Build"),
            "Worker failed TODO “Build”; it is tried once more.\n\nit broke",
        ),
        (DelegationState::Failed, None, "Worker failed TODO “coder”\n\nit broke"),
        (DelegationState::Cancelled, Some("Build"), "Worker failed TODO “Build”\n\nit broke"),
    ] {
        assert_eq!(ended(state).report_text(title), text);
    }
}

/// A worker takes work that nobody holds, unless its run waits for an answer.
#[test]
fn work_is_free_until_it_is_held_and_while_nothing_is_awaited() {
    let clock = Time::from_micros(50);
    let lease = |micros| Lease {
        holder: Some("system:worker".to_owned()),
        epoch: 1,
        until: Time::from_micros(micros),
    };
    let (over, ends, held) = (lease(40), lease(50), lease(60));
    for (state, lease, expected) in [
        (DelegationState::Queued, None, true),
        (DelegationState::Queued, Some(&held), true),
        (DelegationState::Running, None, false),
        (DelegationState::Running, Some(&over), true),
        (DelegationState::Running, Some(&ends), true),
        (DelegationState::Running, Some(&held), false),
        (DelegationState::Returned, Some(&over), false),
        (DelegationState::Failed, Some(&over), false),
        (DelegationState::Cancelled, Some(&over), false),
    ] {
        let delegation = Delegation { state, ..delegated() };
        assert_eq!(is_free(&delegation, lease, None, clock), expected, "{state:?} {lease:?}");
        let from = match state {
            DelegationState::Queued => Some(Time::from_micros(0)),
            DelegationState::Running => lease.map(|lease| lease.until),
            _ => None,
        };
        assert_eq!(free_from(&delegation, lease, None), from, "{state:?} {lease:?}");
        for state in RunState::ALL {
            let run = Run { state, ..run(Budget::default()) };
            let free = is_free(&delegation, lease, Some(&run), clock);
            assert_eq!(free, expected && state != RunState::Waiting, "{state:?}");
        }
    }
}
