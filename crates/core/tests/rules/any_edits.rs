//! After any edit by hand, the list matches what was written.

use proptest::prelude::*;
use punchlist_core::command::EditChecklist;
use punchlist_core::issue::checklist::{HeldFor, Line, Mark, markdown, parse};
use punchlist_core::text::{Body, Content, Title};
use punchlist_core::todo::HoldKind;
use punchlist_core::{Decision, Ids, Role, Snapshot, Time, TodoKind, decide};

use crate::edit_checklist::{notes, shown, world};
use crate::world::actor;

/// Changes one thing, as a person might.
pub(crate) fn touch(lines: &mut Vec<Line>, which: usize, choice: u8) {
    let content = Content::new(&format!("item {}", choice % 8)).unwrap();
    let fresh = |kind| Line {
        at: 0,
        kind,
        phase: None,
        mark: Mark::Pending,
        content: content.clone(),
        notes: vec![Body::new("by hand").unwrap()],
        claimed_by: Some("root:forger".to_owned()),
        hold: None,
    };
    let at = which % (lines.len() + 1);
    if choice.is_multiple_of(8) || at == lines.len() {
        let kind = TodoKind::ALL[usize::from(choice) / 8 % 2];
        lines.insert(at, fresh(kind));
        return;
    }
    match choice % 8 {
        1 => drop(lines.remove(at)),
        2 => {
            let line = lines.remove(at);
            lines.insert(usize::from(choice) / 8 % (lines.len() + 1), line);
        }
        3 => lines[at].content = content,
        4 if lines[at].kind == TodoKind::Step => {
            let name = ["P", "Q", "R"].get(usize::from(choice) / 8 % 4);
            lines[at].phase = name.map(|name| Title::new(name).unwrap());
        }
        _ => {
            lines[at].mark = Mark::ALL[usize::from(choice) / 8 % 6];
            let reason = Body::new("by hand").unwrap();
            let kind = HoldKind::Failed;
            match choice {
                _ if lines[at].mark == Mark::Held => {
                    lines[at].hold.get_or_insert(HeldFor { kind, reason });
                }
                192.. => lines[at].hold = Some(HeldFor { kind, reason }),
                128.. => lines[at].hold = None,
                _ => {}
            }
        }
    }
}

/// An edit that changes nothing, based on this state.
pub(crate) fn edit_of_nothing(state: &Snapshot, now: Time) -> Decision {
    let notes = notes(state);
    let lines = parse(&markdown(state, &notes)).unwrap();
    let command = EditChecklist { lines, notes, basis: None }.into();
    decide(state, &command, &actor(Role::Operator), now, &mut Ids::new(now, 9)).unwrap()
}

/// Where a line is, and what it says.
fn place(line: &Line) -> (TodoKind, Option<String>, String) {
    (line.kind, line.phase.as_ref().map(ToString::to_string), line.content.to_string())
}

/// Does a list show a line as it was written? Which item is in progress, the list decides itself.
fn is_shown(shown: &Line, written: &Line) -> bool {
    let is_open = |mark| matches!(mark, Mark::Pending | Mark::InProgress);
    let is_held = shown.hold.as_ref().map(|hold| hold.kind);
    let wanted = written.hold.as_ref().map(|hold| hold.kind);
    let is_claimed = shown.mark == Mark::Completed && shown.claimed_by.is_some();
    match written.mark {
        Mark::Held => (is_open(shown.mark) || is_claimed) && is_held == wanted,
        Mark::Claimed => is_claimed && is_held == wanted,
        Mark::Pending | Mark::InProgress => is_open(shown.mark) && is_held == wanted,
        // Settling lifts a hold.
        Mark::Completed | Mark::Abandoned => {
            shown.mark == written.mark && (is_held.is_none() || is_held == wanted)
        }
    }
}

/// The lines in the order a list has: criteria, steps without a phase, phases in order of
/// appearance.
fn in_list_order(lines: &[Line]) -> Vec<&Line> {
    let mut sections = vec![(TodoKind::Criterion, None), (TodoKind::Step, None)];
    for line in lines {
        let section = (line.kind, line.phase.as_ref());
        if !sections.contains(&section) {
            sections.push(section);
        }
    }
    let of = |section| lines.iter().filter(move |l| (l.kind, l.phase.as_ref()) == section);
    sections.into_iter().flat_map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// K-29, K-30: after any edits the list reads as it was written, with one step in progress; and
    /// reading it back changes nothing.
    #[test]
    fn the_list_matches_what_was_written(
        edits in prop::collection::vec(
            prop::collection::vec((0..12usize, any::<u8>()), 1..5), 1..8,
        )
    ) {
        let mut world = world();
        for touches in edits {
            let notes = notes(&world.state);
            let mut lines = parse(&shown(&world)).unwrap();
            for (which, choice) in touches {
                touch(&mut lines, which, choice);
            }
            let command = EditChecklist { lines: lines.clone(), notes, basis: None };
            let before = world.state.clone();
            if world.run(&actor(Role::Operator), command).is_err() {
                prop_assert_eq!(&world.state, &before);
                continue;
            }
            let after = parse(&shown(&world)).unwrap();
            let written = in_list_order(&lines);
            let places = |line: &&Line| place(line);
            let expected: Vec<_> = written.iter().map(places).collect();
            prop_assert_eq!(after.iter().map(place).collect::<Vec<_>>(), expected);
            for (shown, written) in after.iter().zip(written) {
                prop_assert!(is_shown(shown, written), "{written:?} is shown as {shown:?}");
            }
            let working = after.iter().filter(|line| line.mark == Mark::InProgress).count();
            let waiting = |line: &&Line| {
                line.kind == TodoKind::Step && line.mark == Mark::Pending && line.hold.is_none()
            };
            prop_assert!(working == 1 || !after.iter().any(|line| waiting(&line)));
            prop_assert_eq!(edit_of_nothing(&world.state, world.now), Decision::default());
            let claims = |state: &Snapshot| state.todos.values().filter(|t| t.claim.is_some()).count();
            let made = lines.iter().filter(|line| line.mark == Mark::Claimed).count();
            prop_assert!(claims(&world.state) <= claims(&before) + made);
        }
    }
}
