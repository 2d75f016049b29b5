//! Goldens of the driver's messages in every state.

use std::fmt::Write as _;

use punchlist_core::driver::{
    Counters, StopReason, Ways, Work, context, continuation, incomplete, planning_section, system,
};
use punchlist_core::{ListKind, Role, Snapshot, Status, Time};

use super::case::{claim, hold, list, settle, with};
use crate::world::World;

const WAYS: [Ways; 4] = [
    Ways { hold: true, ask: true },
    Ways { hold: true, ask: false },
    Ways { hold: false, ask: true },
    Ways { hold: false, ask: false },
];

fn now() -> Time {
    Time::parse("2026-11-15T09:00:00Z").unwrap()
}

/// One item of every sort.
fn every_sort() -> Snapshot {
    let mut list = list(&["begun", "open", "held", "claimed", "resting", "done", "cancelled"]);
    with(&mut list, 0, |todo| todo.status = Status::InProgress);
    with(&mut list, 2, hold);
    with(&mut list, 3, claim);
    with(&mut list, 4, |todo| todo.defer_until = Some(now().plus_seconds(60)));
    with(&mut list, 5, settle);
    with(&mut list, 6, |todo| todo.status = Status::Cancelled);
    list
}

/// S-15, S-16, D-16: the seed's sentences, or a template, and the available ways out.
#[test]
fn s_15_the_continuation_in_every_state() {
    let open = Work::of(&[list(&["write the report", "send it"])], now());
    let nothing = Work::default();
    let mut told = String::new();
    for ways in WAYS {
        let _ = writeln!(told, "{ways:?}");
        let _ = writeln!(told, "  an item: {}", continuation(&open, None, ways));
        let _ = writeln!(told, "  none: {}", continuation(&nothing, None, ways));
        let template = Some("{count} left; next: {title}.");
        let _ = writeln!(told, "  a template: {}", continuation(&open, template, ways));
        let _ = writeln!(told, "  a template, none: {}", continuation(&nothing, template, ways));
    }
    insta::assert_snapshot!("continuations", told);
}

/// P-5: at most 120 tokens (of four characters) beside the item, whatever the item is called.
#[test]
fn p_5_the_continuation_is_short() {
    for title in ["a", &"long ".repeat(80), &"ä漢🦀".repeat(120)] {
        let title: String = title.chars().take(500).collect();
        let mut list = list(&["x"]);
        with(&mut list, 0, |todo| todo.title.clone_from(&title));
        let work = Work::of(&[list], now());
        for ways in WAYS {
            let text = continuation(&work, None, ways);
            let shown: String = title.split_whitespace().collect::<Vec<_>>().join(" ");
            let item: usize = shown.chars().count().min(201);
            let beside = text.chars().count() - item;
            assert!(beside <= 4 * 120, "{beside} characters: {text}");
        }
    }
}

/// F-13: a long title is cut between two characters, on one line.
#[test]
fn f_13_a_title_is_cut_between_characters() {
    let cut = |title: &str| {
        let mut list = list(&["x"]);
        with(&mut list, 0, |todo| title.clone_into(&mut todo.title));
        let text = continuation(&Work::of(&[list], now()), None, Ways::default());
        let start = text.find('\'').unwrap() + 1;
        text[start..text.rfind('\'').unwrap()].to_owned()
    };
    assert_eq!(cut("two\n  lines\tof it"), "two lines of it");
    assert_eq!(cut(&"ä".repeat(200)), "ä".repeat(200));
    assert_eq!(cut(&"ä".repeat(201)), format!("{}…", "ä".repeat(200)));
    assert_eq!(cut(&"🦀".repeat(300)), format!("{}…", "🦀".repeat(200)));
}

/// T-31, T-38, P-7: what is open with the next one marked, what is held and why, and what is closed.
#[test]
fn t_31_the_context_shows_the_current_lists() {
    let text = context(&[every_sort()], &Counters::default(), now()).unwrap();
    let mut ids: Vec<String> = every_sort().todos.keys().map(ToString::to_string).collect();
    ids.sort();
    let mut plain = text;
    for (index, id) in ids.iter().enumerate() {
        plain = plain.replace(id, &format!("ID{index}"));
    }
    insta::assert_snapshot!("context", plain);
}

/// P-5: without content there is no message; a long list is cut short.
#[test]
fn there_is_no_message_without_content() {
    let counters = Counters::default();
    assert_eq!(context(&[], &counters, now()), None);
    assert_eq!(context(&[list(&[])], &counters, now()), None);
    let titles: Vec<String> = (0..100).map(|n| format!("item {n}")).collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let text = context(&[list(&titles)], &counters, now()).unwrap();
    assert_eq!(text.lines().count(), 1 + 30 + 1, "{text}");
    assert!(text.ends_with("- … and 70 more"), "{text}");
}

/// F-15: after twelve changes without using the list the agent is reminded, at most twice.
#[test]
fn f_15_it_is_reminded_of_its_list_twice() {
    let list = list(&["write"]);
    let reminded = |untouched: u32| {
        let counters = Counters { untouched, ..Counters::default() };
        let text = context(std::slice::from_ref(&list), &counters, now()).unwrap();
        text.ends_with("1 open; if you finished one, mark it now.")
    };
    let when: Vec<u32> = (0..100).filter(|n| reminded(*n)).collect();
    assert_eq!(when, [12, 24]);
}

/// T-23, T-24: the section is shown only to agents with the tool.
#[test]
fn t_24_the_section_on_planning_goes_with_the_tool() {
    let section = planning_section(&["create_todo"]).unwrap();
    insta::assert_snapshot!("planning", section);
    assert_eq!(planning_section(&["list_todo", "create_todos"]), None);
    assert_eq!(planning_section(&[] as &[&str]), None);
    let with = system("primary", Role::Root, None, &["ask", "create_todo"]);
    assert!(with.ends_with(section));
    let without = system("primary", Role::Root, None, &["ask"]);
    assert!(!without.contains("Task Planning"));
}

/// The system prompt of each role.
#[test]
fn every_role_has_its_system_prompt() {
    let roles = [Role::Root, Role::Lead, Role::Owner, Role::Worker];
    let told = roles.map(|role| system("ada", role, Some(" Be brief. "), &["ask"]));
    insta::assert_snapshot!("system", told.join("\n---\n"));
}

/// T-32, S-20: the final message names what is left and why, and the limit if that is the reason.
#[test]
fn t_32_the_end_names_what_is_left() {
    let mut told = String::new();
    for reason in StopReason::ALL {
        let text = incomplete(&[list(&["write"])], *reason, (10, 10)).unwrap();
        let _ = writeln!(told, "{reason}: {}", text.replace('\n', " / "));
    }
    let every = incomplete(&[every_sort()], StopReason::NoProgress, (2, 10)).unwrap();
    insta::assert_snapshot!("incomplete", format!("{told}\n{every}"));
    let mut done = list(&["write"]);
    with(&mut done, 0, settle);
    assert_eq!(incomplete(&[done], StopReason::Drained, (0, 10)), None);
    assert_eq!(incomplete(&[], StopReason::NoPlan, (0, 10)), None);
}

/// Every kind of list has its heading.
#[test]
fn every_list_has_its_heading() {
    let kinds =
        [ListKind::Turn, ListKind::Plan, ListKind::Session, ListKind::Issue, ListKind::Pillar];
    let headings = kinds.map(|kind| {
        let mut world = World::new(kind);
        world.create(&["a"]);
        let text = context(&[world.state], &Counters::default(), now()).unwrap();
        text.lines().next().unwrap().to_owned()
    });
    insta::assert_snapshot!("headings", headings.join("\n"));
}
