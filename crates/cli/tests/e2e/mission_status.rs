//! `punch mission status` in a pipe, on a terminal, and on a narrow terminal.

use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::mission_file::Desk;

/// A full mission, with an overdue item that was escalated.
fn full(backend: Backend) -> Desk {
    let desk = Desk::with_mission(backend);
    let late = ["--deadline", "2026-11-01"];
    desk.punch(&["mission", "add", "docs", "説明を書いて、だれにでも読めるようにする"]).said();
    let started = desk.punch(&["mission", "add", "docs", "Draw it", "--json"]).words(late).answer();
    let id = started["todo"]["id"].as_str().unwrap();
    desk.punch(&["mission", "update", id, "start", "--reason", "now"]).said();
    desk.punch(&["mission", "cycle"]).said();
    desk
}

fn the_dashboard_tells_where_a_mission_stands(backend: Backend) {
    let desk = full(backend);
    let said = desk.punch(&["mission", "status"]).said();
    for part in [
        "Developer Experience  active  next cycle in 1 d\n",
        "  active  ████████████████████ 2/2 full\n",
        "  backlog ░░░░░░░░░░░░░░░░░░░░ 0/3\n",
        "Build Performance  0 active, 0 in backlog\n",
        "  ○ Local build time  no reading  target < 60s\n",
        "  → strategy (active): Cache what does not change\n",
        "\nOverdue\n  ! Draw it (in_progress, medium, due 2026-11-01, overdue) docs [",
        "\nWaiting for your answer\n  ? TODO overdue: Draw it.",
        "    punch inbox answer ",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let narrow = desk.punch(&["mission", "status"]).env("COLUMNS", "44").said();
    for line in narrow.lines() {
        assert!(line.width() <= 44, "{line}\n{narrow}");
    }
    let answer = desk.punch(&["mission", "status", "--json"]).answer();
    assert_eq!(answer["escalations"][0]["todoId"], answer["overdue"][0]["id"]);
    assert_eq!(answer["escalations"].as_array().unwrap().len(), 1);
    desk.punch(&["inbox", "answer", "--cancel"]).said();
    let answer = desk.punch(&["mission", "status", "--json"]).answer();
    assert_eq!((&answer["escalations"], &answer["overdue"]), (&json!([]), &json!([])));
}

/// Colours are used on a terminal, unless they are switched off.
#[test]
fn colours_are_for_a_terminal() {
    let desk = full(Backend::SqliteFile);
    let status = desk.punch(&["mission", "status"]).env("TERM", "xterm");
    assert!(!status.said().contains('\u{1b}'));
    let ran = status.on_terminal();
    assert!(ran.stdout.contains("\u{1b}["), "{ran:?}");
    let ran = status.words(["--no-color"]).on_terminal();
    assert!(!ran.stdout.contains('\u{1b}'), "{ran:?}");
    assert!(ran.stdout.contains("2/2 full"), "{ran:?}");
}

on_every_lasting_store!(the_dashboard_tells_where_a_mission_stands);
