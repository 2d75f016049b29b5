//! The checklist edited by hand: what each change of a line does to its row, and what an unchanged
//! line keeps.

use std::collections::BTreeMap;

use punchlist_core::command::{
    Basis, CancelTodo, ClaimTodo, CompleteTodo, CreateTodos, EditChecklist, HoldTodo, NewTodo,
    NoteTodo, ReopenTodo,
};
use punchlist_core::evidence::Evidence;
use punchlist_core::issue::checklist::{Mark, Notes, markdown, parse};
use punchlist_core::text::{Body, Title};
use punchlist_core::todo::HoldKind;
use punchlist_core::{
    Decision, Event, ListKind, Refusal, Refused, Role, Snapshot, Status, Todo, TodoId, TodoKind,
    select,
};

use crate::any_edits::edit_of_nothing;
use crate::world::{World, actor};

const SHOWN: &str = "\
# Criteria
- [ ] works
- [x] fast <!-- claimed by root:primary -->

# Steps
- [/] read
  - note: slowly,\\
    twice
- [-] skip
- [x] plan

# Build
- [ ] code
- [ ] ship <!-- blocked: no key yet -->
";

fn item(text: &str, kind: TodoKind, phase: Option<&str>) -> NewTodo {
    let phase = phase.map(|phase| Title::new(phase).unwrap());
    NewTodo { kind, phase, ..NewTodo::titled(Title::new(text).unwrap()) }
}

fn body(text: &str) -> Body {
    Body::new(text).unwrap()
}

/// The row with a text; the newest if there are several.
fn id(world: &World, text: &str) -> TodoId {
    let same = |todo: &&Todo| todo.title == text;
    world.state.todos.values().rfind(same).map(|todo| todo.id).unwrap()
}

fn row<'a>(world: &'a World, text: &str) -> &'a Todo {
    &world.state.todos[&id(world, text)]
}

/// All notes by item, as the store would give them.
pub(crate) fn notes(state: &Snapshot) -> Notes {
    let mut notes = Notes::new();
    for note in &state.notes {
        notes.entry(note.todo_id).or_default().push(note.clone());
    }
    notes
}

/// The issue of [`SHOWN`].
pub(crate) fn world() -> World {
    let mut world = World::new(ListKind::Issue);
    let (step, criterion) = (TodoKind::Step, TodoKind::Criterion);
    let items = vec![
        item("read", step, None),
        item("code", step, Some("Build")),
        item("works", criterion, None),
        item("skip", step, None),
        item("fast", criterion, None),
        item("plan", step, None),
        item("ship", step, Some("Build")),
    ];
    let root = actor(Role::Root);
    world.run(&root, CreateTodos { items }).unwrap();
    let outcome = || Some("so".to_owned());
    let evidence = vec![Evidence::parse("url:https://ci.example/7").unwrap()];
    let claim =
        ClaimTodo { todo_id: id(&world, "fast"), outcome: outcome(), evidence, clock: None };
    world.run(&root, claim).unwrap();
    let cancel = CancelTodo { todo_id: id(&world, "skip"), outcome: outcome() };
    world.run(&root, cancel).unwrap();
    let (todo_id, evidence, metrics_impacted) = (id(&world, "plan"), vec![], vec![]);
    let done = CompleteTodo { todo_id, outcome: outcome(), evidence, metrics_impacted };
    world.run(&root, done).unwrap();
    let (todo_id, kind) = (id(&world, "ship"), HoldKind::Blocked);
    world.run(&root, HoldTodo { todo_id, kind, reason: body("no key\nyet"), until: None }).unwrap();
    let note = NoteTodo { todo_id: id(&world, "read"), text: body("slowly,\ntwice") };
    world.run(&root, note).unwrap();
    world
}

pub(crate) fn shown(world: &World) -> String {
    markdown(&world.state, &notes(&world.state))
}

fn edit(world: &mut World, text: &str) -> Result<Decision, Refused> {
    let lines = parse(text).unwrap();
    let notes = notes(&world.state);
    world.run(&actor(Role::Operator), EditChecklist { lines, notes, basis: None })
}

/// The rows of the world, without those that were touched since.
fn others(world: &World, touched: &[&str]) -> Vec<Todo> {
    let left = |todo: &&Todo| !touched.contains(&todo.title.as_str());
    world.state.todos.values().filter(left).cloned().collect()
}

/// The events, by name and row.
fn names(world: &World, decision: &Decision) -> Vec<String> {
    decision
        .events
        .iter()
        .map(|event| {
            let data = serde_json::to_value(event).unwrap();
            let todo_id = [&data["todoId"], &data["todo"]["id"], &data["note"]["todoId"]];
            let todo_id = todo_id.into_iter().find_map(|id| id.as_str()).unwrap();
            let todo_id = TodoId::parse(todo_id).unwrap();
            format!("{} {}", event.type_name(), world.state.todos[&todo_id].title)
        })
        .collect()
}

/// K-28, D-25: the markdown of a real list; an edit without changes emits no event.
#[test]
fn an_unchanged_list_emits_no_event() {
    let mut world = world();
    assert_eq!(shown(&world), SHOWN);
    let before = world.state.clone();
    assert_eq!(edit(&mut world, SHOWN).unwrap(), Decision::default());
    let other_hand = SHOWN.replace("\n", "\r\n").replace("- [", "*  [").replace("# ", "### ");
    assert_eq!(edit(&mut world, &other_hand).unwrap(), Decision::default());
    assert_eq!(world.state, before);
}

/// K-29: each change of one line and its events; other rows do not change. K-30: one step stays in
/// progress, or the next one is started.
#[test]
fn a_changed_mark_is_a_move_by_the_operator() {
    let cases: [(&str, &str, &str, &[&str]); 26] = [
        ("works", "[ ] works", "[x] works", &["todo_completed works"]),
        ("works", "[ ] works", "[-] works", &["todo_cancelled works"]),
        ("works", "[ ] works", "[!] works <!-- failed: red -->", &["todo_held works"]),
        ("fast", "[x] fast", "[ ] fast", &["claim_returned fast"]),
        ("fast", "[x] fast", "[-] fast", &["todo_cancelled fast"]),
        ("fast", "[x] fast", "[!] fast <!-- awaiting_approval: ada -->", &["todo_held fast"]),
        ("skip", "[-] skip", "[ ] skip", &["todo_reopened skip"]),
        ("skip", "[-] skip", "[x] skip", &["todo_reopened skip", "todo_completed skip"]),
        ("plan", "[x] plan", "[ ] plan", &["todo_reopened plan"]),
        ("plan", "[x] plan", "[~] plan", &["todo_reopened plan", "todo_cancelled plan"]),
        (
            "plan",
            "[x] plan",
            "[!] plan <!-- blocked: a -->",
            &["todo_reopened plan", "todo_held plan"],
        ),
        (
            "plan",
            "[x] plan",
            "[/] plan",
            &["todo_reopened plan", "todo_yielded read", "todo_started plan"],
        ),
        ("code", "[ ] code", "[/] code", &["todo_yielded read", "todo_started code"]),
        ("read", "[/] read", "[x] read", &["todo_completed read", "todo_started code"]),
        ("read", "[/] read", "[-] read", &["todo_cancelled read", "todo_started code"]),
        ("works", "[ ] works", "[?] works", &["todo_claimed works"]),
        ("fast", "[x] fast", "[?] fast", &[]),
        ("plan", "[x] plan", "[?] plan", &["todo_reopened plan", "todo_claimed plan"]),
        (
            "read",
            "[/] read",
            "[/] read <!-- blocked: no key -->",
            &["todo_held read", "todo_yielded read", "todo_started code"],
        ),
        ("ship", "[ ] ship", "[!] ship", &[]),
        ("ship", "[ ] ship <!-- blocked: no key yet -->", "[ ] ship", &["todo_unheld ship"]),
        (
            "ship",
            "[ ] ship <!-- blocked: no key yet -->",
            "[>] ship",
            &["todo_unheld ship", "todo_yielded read", "todo_started ship"],
        ),
        ("ship", "[ ] ship", "[x] ship", &["todo_completed ship"]),
        ("ship", "[ ] ship", "[-] ship", &["todo_cancelled ship"]),
        ("ship", "no key yet", "the key is late", &["todo_held ship"]),
        ("ship", "blocked: no", "failed: no", &["todo_held ship"]),
    ];
    for (text, from, to, expected) in cases {
        let mut world = world();
        let touched = [text, "read", "code"];
        let before = others(&world, &touched);
        let changed = SHOWN.replacen(from, to, 1);
        assert_ne!(changed, SHOWN);
        let decision = edit(&mut world, &changed).unwrap();
        assert_eq!(names(&world, &decision), expected, "{from} to {to}");
        assert_eq!(others(&world, &touched), before, "{from} to {to}");
        assert_eq!(edit_of_nothing(&world.state, world.now), Decision::default());
    }
}

/// K-29: the full values of the events of an edit by hand.
#[test]
fn the_log_says_who_did_it_by_hand() {
    let mut world = world();
    let changed = SHOWN
        .replace("[ ] works", "[x] works")
        .replace("[x] fast", "[ ] fast")
        .replace("[ ] ship <!-- blocked: no key yet -->", "[!] ship <!-- failed: red -->");
    let events = edit(&mut world, &changed).unwrap().events;
    let (works, now) = (row(&world, "works"), world.now);
    assert_eq!((works.status, works.settled_at), (Status::Completed, Some(now)));
    let judge = works.settled_by.clone().unwrap();
    assert_eq!((judge.principal.as_str(), judge.role), ("operator:primary", Role::Operator));
    let hold = row(&world, "ship").hold.clone().unwrap();
    assert_eq!(
        (hold.kind, hold.reason.as_str(), hold.at, hold.by.as_str()),
        (HoldKind::Failed, "red", now, "operator:primary")
    );
    let returned = events.iter().find_map(|event| match event {
        Event::ClaimReturned(returned) => Some(returned.feedback.as_str()),
        _ => None,
    });
    assert_eq!(returned, Some("unticked by hand"));
    assert_eq!(row(&world, "fast").claim, None);
}

/// K-28, K-29: a claimed step is ticked, with its claimant in a comment, as a claimed criterion is.
/// The tick alone accepts nothing.
#[test]
fn a_claim_of_a_step_is_a_tick_and_is_returned_by_another_mark() {
    for (mark, expected) in [
        ('x', vec![]),
        ('?', vec![]),
        (' ', vec!["claim_returned code"]),
        ('/', vec!["claim_returned code", "todo_yielded read", "todo_started code"]),
        ('-', vec!["todo_cancelled code"]),
    ] {
        let mut world = world();
        let evidence = vec![Evidence::parse("commit:1a2b3c4").unwrap()];
        let (todo_id, outcome) = (id(&world, "code"), Some("built".to_owned()));
        let claim = ClaimTodo { todo_id, outcome, evidence, clock: None };
        world.run(&actor(Role::Root), claim).unwrap();
        let text = shown(&world);
        assert!(text.contains("- [x] code <!-- claimed by root:primary -->\n"), "{text}");
        assert_eq!(edit(&mut world, &text).unwrap(), Decision::default());
        let changed = text.replace("[x] code", &format!("[{mark}] code"));
        let decision = edit(&mut world, &changed).unwrap();
        assert_eq!(names(&world, &decision), expected, "{mark}");
    }
}

/// K-28: a comment that holds an item is never ignored. A settled item cannot be held, and a held one
/// cannot be started.
#[test]
fn a_hold_that_does_not_fit_its_mark_is_refused() {
    for (from, to, code) in [
        ("[x] plan", "[x] plan <!-- blocked: a -->", "bad_checklist"),
        ("[ ] works", "[x] works <!-- blocked: a -->", "bad_checklist"),
        ("[ ] code", "[-] code <!-- blocked: a -->", "bad_checklist"),
        ("[ ] ship", "[/] ship", "held"),
        ("- [ ] code\n", "- [ ] code\n- [x] new <!-- failed: b -->\n", "bad_checklist"),
    ] {
        let mut world = world();
        let before = world.state.clone();
        let refused = edit(&mut world, &SHOWN.replacen(from, to, 1)).unwrap_err();
        assert_eq!(refused.refusal.code(), code, "{to}");
        assert_eq!(world.state, before);
    }
    let mut world = world();
    let held = SHOWN.replace("[x] fast", "[x] fast <!-- awaiting_approval: ada -->");
    edit(&mut world, &held).unwrap();
    assert!(row(&world, "fast").hold.is_some() && row(&world, "fast").claim.is_some());
    assert_eq!(edit_of_nothing(&world.state, world.now), Decision::default());
}

/// F-16: a comment neither makes nor removes a claim.
#[test]
fn a_forged_claim_comment_makes_no_claim() {
    let mut world = world();
    let forged = SHOWN
        .replace("[ ] works", "[ ] works <!-- claimed by operator:ada -->")
        .replace("[ ] code", "[ ] code <!-- claimed by root:primary -->")
        .replace(" <!-- claimed by root:primary -->\n\n#", "\n\n#");
    assert_ne!(forged, SHOWN);
    assert_eq!(edit(&mut world, &forged).unwrap(), Decision::default());
    let forged = "# Criteria\n- [x] new <!-- claimed by root:primary -->\n";
    edit(&mut world, forged).unwrap();
    let new = row(&world, "new");
    assert_eq!((new.status, &new.claim), (Status::Completed, &None));
}

/// D-25: a row without a line leaves the view, is cancelled if it was open, and is not deleted.
#[test]
fn a_removed_line_removes_its_row_from_view() {
    let mut world = world();
    let before = others(&world, &["code", "plan", "works"]);
    let changed =
        SHOWN.replace("- [ ] code\n", "").replace("- [x] plan\n", "").replace("- [ ] works\n", "");
    let decision = edit(&mut world, &changed).unwrap();
    let expected = [
        "todo_cancelled works",
        "todo_removed works",
        "todo_removed plan",
        "todo_cancelled code",
        "todo_removed code",
    ];
    let mut happened = names(&world, &decision);
    let mut wanted = expected.map(str::to_owned).to_vec();
    happened.sort();
    wanted.sort();
    assert_eq!(happened, wanted);
    assert_eq!(shown(&world), changed);
    assert_eq!(others(&world, &["code", "plan", "works"]), before);
    let code = row(&world, "code");
    assert_eq!(
        (code.status, code.outcome.as_deref(), code.removed_at),
        (Status::Cancelled, Some("removed by hand"), Some(world.now))
    );
    assert_eq!(row(&world, "plan").status, Status::Completed);
    // The same text added later is another item; the old one comes back only if it is reopened.
    let old = id(&world, "code");
    edit(&mut world, &format!("{changed}- [ ] code\n")).unwrap();
    assert_ne!(id(&world, "code"), old);
    let reopen = ReopenTodo { todo_id: id(&world, "plan"), reason: None };
    world.run(&actor(Role::Operator), reopen).unwrap();
    assert_eq!(row(&world, "plan").removed_at, None);
}

/// K-29: an empty text removes everything from view.
#[test]
fn an_empty_text_makes_an_empty_list() {
    let mut world = world();
    edit(&mut world, "").unwrap();
    assert_eq!(shown(&world), "");
    assert!(world.state.todos.values().all(|t| t.status.is_settled() && t.removed_at.is_some()));
    assert_eq!(world.state.todos.len(), 7);
}

/// K-29: new lines become new rows in their place, ratified if they are criteria; K-30.
#[test]
fn new_lines_are_created_in_their_place() {
    let mut world = world();
    let before = world.state.todos.clone();
    let changed = SHOWN
        .replace("- [ ] works\n", "- [x] first\n- [ ] works\n")
        .replace("- [-] skip\n", "- [ ] between\n- [ ] too\n- [-] skip\n")
        .replace("# Build\n", "# Design\n- [ ] draw <!-- blocked: ink -->\n\n# Build\n- [-] dig\n")
        + "- [ ] last\n\n# Criteria of others\n- [ ] ask\n  - note: kindly\n";
    edit(&mut world, &changed).unwrap();
    assert_eq!(shown(&world), changed);
    for (id, todo) in before {
        assert_eq!(world.state.todos[&id], todo);
    }
    let first = row(&world, "first");
    assert_eq!((first.ratified_at, first.status), (Some(world.now), Status::Completed));
    assert_eq!(row(&world, "draw").phase.as_deref(), Some("Design"));
    let asked: Vec<_> =
        world.state.notes.iter().map(|note| (note.todo_id, note.text.as_str())).collect();
    let expected = [(id(&world, "read"), "slowly,\ntwice"), (id(&world, "ask"), "kindly")];
    assert_eq!(asked, expected);
}

/// K-29: moved items are revised, and as few others as possible.
#[test]
fn moved_lines_are_revised_and_their_neighbours_are_not() {
    let two = |a: &str, b: &str| {
        let (a, b) = (a.to_owned() + "\n", b.to_owned() + "\n");
        SHOWN.replace(&a, "\u{1}").replace(&b, &(b.clone() + &a)).replace('\u{1}', "")
    };
    for (changed, expected) in [
        (two("- [-] skip", "- [x] plan"), 1),
        (two("- [ ] code", "- [ ] ship <!-- blocked: no key yet -->"), 1),
        (two("- [ ] code", "- [x] plan"), 1),
        (two("- [x] plan", "- [ ] code"), 1),
        (SHOWN.replace("# Build", "# Make"), 2),
        (SHOWN.replace("# Build\n", "").replace("plan\n\n", "plan\n"), 2),
    ] {
        let mut world = world();
        let decision = edit(&mut world, &changed).unwrap();
        assert_eq!(shown(&world), changed);
        assert!(decision.events.iter().all(|e| e.type_name() == "todo_revised"), "{decision:?}");
        assert_eq!(decision.events.len(), expected, "{changed}");
    }
}

/// K-29: phases are in the order of their headings.
#[test]
fn phases_can_change_places() {
    let mut world = World::new(ListKind::Issue);
    let text = "# A\n- [/] a\n- [ ] b\n\n# B\n- [ ] c\n- [ ] d\n\n# C\n- [ ] e\n";
    edit(&mut world, text).unwrap();
    assert_eq!(shown(&world), text);
    for text in [
        "# B\n- [ ] c\n- [ ] d\n\n# A\n- [/] a\n- [ ] b\n\n# C\n- [ ] e\n",
        "# C\n- [ ] e\n\n# B\n- [ ] c\n- [ ] d\n\n# A\n- [/] a\n- [ ] b\n",
        "# New\n- [ ] f\n\n# C\n- [ ] e\n\n# Mid\n- [ ] g\n\n# B\n- [ ] d\n\n# A\n- [/] a\n- [ ] b\n",
    ] {
        edit(&mut world, text).unwrap();
        assert_eq!(shown(&world), text);
    }
}

/// K-29: notes are added, never removed, and a known one is not added again.
#[test]
fn only_new_notes_are_added() {
    let mut world = world();
    let more =
        SHOWN.replace("    twice\n", "    twice\n  - note: then again\n  - note: slowly, twice\n");
    edit(&mut world, &more).unwrap();
    let texts: Vec<_> = world.state.notes.iter().map(|note| note.text.clone()).collect();
    assert_eq!(texts, ["slowly,\ntwice", "then again", "slowly, twice"]);
    let none = SHOWN.replace("  - note: slowly,\\\n    twice\n", "");
    assert_eq!(edit(&mut world, &none).unwrap(), Decision::default());
    assert_eq!(world.state.notes.len(), 3);
}

/// K-29: a settled text may come again; each line finds the row that is rendered like it.
#[test]
fn an_unchanged_line_finds_its_own_row_among_equal_texts() {
    let mut world = World::new(ListKind::Issue);
    edit(&mut world, "- [x] a\n- [/] a\n- [-] a\n\n# P\n- [x] a\n").unwrap();
    let ids = |world: &World| -> Vec<TodoId> {
        select::ordered(&world.state).iter().map(|todo| todo.id).collect()
    };
    let first = ids(&world);
    assert_eq!(first.len(), 4);
    edit(&mut world, "- [/] a\n- [-] a\n\n# P\n- [x] a\n").unwrap();
    assert_eq!(ids(&world), first[1..]);
    edit(&mut world, "- [x] a\n- [-] a\n\n# P\n- [x] a\n").unwrap();
    assert_eq!(ids(&world), first[1..]);
    // Moved into another phase, they are still distinguished by their marks.
    edit(&mut world, "- [ ] b\n- [x] b\n").unwrap();
    let pair = ids(&world);
    edit(&mut world, "# P\n- [x] b\n- [/] b\n").unwrap();
    assert_eq!(ids(&world), [pair[1], pair[0]]);
}

/// K-29, D-26: an invalid edit is refused as a whole, whatever its source.
#[test]
fn an_invalid_edit_is_refused_as_a_whole() {
    let mut world = world();
    let before = world.state.clone();
    let lines = |text: &str| parse(text).unwrap();
    let mut started = lines("- [x] gone\n# Criteria\n- [ ] works\n");
    started[1].mark = Mark::InProgress;
    let mut held = lines(SHOWN);
    held[0].mark = Mark::Held;
    let mut twice = lines(SHOWN);
    twice.extend(lines("- [ ] fast\n"));
    let operator = actor(Role::Operator);
    for (lines, code) in
        [(started, "criterion_not_startable"), (held, "reason_required"), (twice, "duplicate_text")]
    {
        let edit = EditChecklist { lines, notes: BTreeMap::new(), basis: None };
        assert_eq!(world.run(&operator, edit).unwrap_err().refusal.code(), code);
        assert_eq!(world.state, before);
    }
    for role in Role::ALL.into_iter().filter(|role| *role != Role::Operator) {
        let edit = EditChecklist { lines: lines(SHOWN), notes: BTreeMap::new(), basis: None };
        let refused = world.run(&actor(role), edit).unwrap_err();
        assert_eq!(refused.refusal.code(), "not_permitted", "{role}");
    }
}

/// No change is overwritten: an edit of an older text is refused, with the newer text.
#[test]
fn an_edit_of_an_older_revision_is_refused_with_the_newer_text() {
    for (expected, revision, is_taken) in [(3, 3, true), (2, 3, false), (4, 3, false)] {
        let mut world = world();
        let before = world.state.clone();
        let (lines, notes) = (parse("- [ ] read\n").unwrap(), notes(&world.state));
        let basis = Some(Basis { number: 7, expected, revision });
        let edited = world.run(&actor(Role::Operator), EditChecklist { lines, notes, basis });
        if is_taken {
            assert!(edited.is_ok());
            continue;
        }
        let checklist = Some(SHOWN.to_owned());
        let refusal = Refusal::StaleRevision { number: 7, expected, revision, checklist };
        assert_eq!((edited.unwrap_err().refusal, &world.state), (refusal, &before));
    }
}
