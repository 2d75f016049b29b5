//! The checklist as markdown: what was written is read back, faults are reported by line, and texts
//! are never read as markup.

use proptest::prelude::*;
use punchlist_core::TodoKind;
use punchlist_core::issue::checklist::{
    HeldFor, Line, LineFault, MARKDOWN_LIMIT, Mark, parse, render,
};
use punchlist_core::text::{Body, Content, Title, normalised};
use punchlist_core::todo::HoldKind;

/// Texts that look like markup, or become markup when joined.
const HOSTILE: [&str; 34] = [
    "- [x] ",
    "- [ ] a",
    "* [/] ",
    "[x]",
    "[",
    "]",
    "# ",
    "#",
    "Criteria",
    "sTEPS",
    "# Criteria",
    "<!--",
    "-->",
    "--!>",
    "<",
    "!",
    "-",
    ">",
    "<!-- claimed by root:primary -->",
    "claimed by ",
    "blocked: ",
    "<!-- blocked: key -->",
    "  - note: ",
    "    ",
    "\\",
    "\\\\",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "\u{2028}",
    "\u{202e}אב",
    "🙂\u{200d}",
    "\u{feff}",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => prop::sample::select(&HOSTILE[..]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => "[a-z ]{1,6}",
    ];
    prop::collection::vec(piece, 1..9).prop_map(|pieces| pieces.concat())
}

fn phase() -> impl Strategy<Value = Option<Title>> {
    let reserved = vec!["Criteria", "criteria", "STEPS", "\\Steps", "\\\\Criteria", "Next"];
    let name = prop_oneof![prop::sample::select(reserved).prop_map(str::to_owned), text()];
    name.prop_map(|name| Title::new(&name).ok())
}

fn line() -> impl Strategy<Value = Option<Line>> {
    let hold = prop::option::of((0..3usize, text()));
    let (notes, claim) = (prop::collection::vec(text(), 0..3), prop::option::of(text()));
    (any::<bool>(), phase(), 0..6usize, text(), notes, claim, hold).prop_map(
        |(criterion, phase, mark, content, notes, claim, hold)| {
            let hold = hold.and_then(|(kind, reason)| {
                Some(HeldFor { kind: HoldKind::ALL[kind], reason: Body::new(&reason).ok()? })
            });
            let mark = match Mark::ALL[mark] {
                Mark::InProgress if criterion => Mark::Pending,
                Mark::Held if hold.is_none() => Mark::Pending,
                mark => mark,
            };
            Some(Line {
                at: 0,
                kind: if criterion { TodoKind::Criterion } else { TodoKind::Step },
                phase: phase.filter(|_| !criterion),
                mark,
                content: Content::new(&content).ok()?,
                notes: notes.iter().filter_map(|note| Body::new(note).ok()).collect(),
                claimed_by: claim.filter(|by| !by.trim().is_empty()),
                hold,
            })
        },
    )
}

/// Any valid list: its open texts differ.
fn list() -> impl Strategy<Value = Vec<Line>> {
    prop::collection::vec(line(), 0..12).prop_map(|lines| {
        let mut open = std::collections::BTreeSet::new();
        let fits =
            |line: &Line| !line.mark.is_open() || open.insert(normalised(line.content.as_str()));
        lines.into_iter().flatten().filter(fits).collect()
    })
}

/// A line as it is read back: on one line, ignoring its line number.
fn canonical(line: &Line) -> Line {
    Line {
        at: 0,
        kind: line.kind,
        phase: line.phase.as_ref().map(|p| Title::new(&normalised(p.as_str())).unwrap()),
        mark: line.mark,
        content: Content::new(&normalised(line.content.as_str())).unwrap(),
        notes: line.notes.clone(),
        claimed_by: line.claimed_by.as_deref().map(normalised),
        hold: line.hold.as_ref().map(|hold| HeldFor {
            kind: hold.kind,
            reason: Body::new(&normalised(hold.reason.as_str())).unwrap(),
        }),
    }
}

fn read(markdown: &str) -> Vec<Line> {
    let lines = parse(markdown).unwrap_or_else(|faults| panic!("{faults:?}\n{markdown}"));
    lines.iter().map(canonical).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// K-28: render→parse→render is the identity, and parsing gives back kinds, phases, order,
    /// marks, texts and notes. F-16: and exactly the claims and holds that were written, for any
    /// texts.
    #[test]
    fn what_was_written_is_read_back(list in list()) {
        let markdown = render(&list);
        let again = read(&markdown);
        prop_assert_eq!(&again, &list.iter().map(canonical).collect::<Vec<_>>());
        prop_assert_eq!(render(&again), markdown);
    }

    /// K-28: no text causes a panic, and an accepted text is read the same way again.
    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![text(), prop::collection::vec(
        (prop::sample::select(vec!["", "- [ ] ", "- \\[x\\] ", "# ", "  - note: ", "    ", "* [!] "]), text()),
        0..8,
    ).prop_map(|lines| lines.into_iter().map(|(start, rest)| format!("{start}{rest}\n")).collect())]) {
        if let Ok(lines) = parse(&text) {
            let lines: Vec<Line> = lines.iter().map(canonical).collect();
            prop_assert_eq!(read(&render(&lines)), lines);
        }
    }
}

fn step(at: usize, mark: Mark, text: &str) -> Line {
    Line {
        at,
        kind: TodoKind::Step,
        phase: None,
        mark,
        content: Content::new(text).unwrap(),
        notes: vec![],
        claimed_by: None,
        hold: None,
    }
}

/// K-28: the whole form at once.
#[test]
fn the_form_is_as_documented() {
    let criterion = |mut line: Line| {
        line.kind = TodoKind::Criterion;
        line
    };
    let phased = |mut line: Line, phase: &str| {
        line.phase = Some(Title::new(phase).unwrap());
        line
    };
    let mut claimed = criterion(step(2, Mark::Completed, "it is fast"));
    claimed.claimed_by = Some("root:primary".to_owned());
    let mut noted = step(6, Mark::InProgress, "read the code");
    noted.notes =
        vec![Body::new("begin with the parser,\n\n  the oldest").unwrap(), Body::new("b").unwrap()];
    let mut held = phased(step(14, Mark::Pending, "build it"), "Second phase");
    let reason = Body::new("waiting for the key").unwrap();
    held.hold = Some(HeldFor { kind: HoldKind::Blocked, reason });
    let lines = vec![
        claimed,
        criterion(step(3, Mark::Pending, "C:\\tmp <!-- is --> [x] clean")),
        noted,
        step(11, Mark::Abandoned, "skip"),
        held,
        phased(step(17, Mark::Pending, "a phase of that name"), "criteria"),
    ];
    let markdown = "\
# Criteria
- [x] it is fast <!-- claimed by root:primary -->
- [ ] C:\\\\tmp \\<!-- is --\\> [x] clean

# Steps
- [/] read the code
  - note: begin with the parser,\\
    \\
      the oldest
  - note: b
- [-] skip

# Second phase
- [ ] build it <!-- blocked: waiting for the key -->

# \\criteria
- [ ] a phase of that name
";
    assert_eq!(render(&lines), markdown);
    assert_eq!(parse(markdown), Ok(lines));
}

/// K-28: steps without a phase need a heading only if another heading is above them.
#[test]
fn steps_alone_have_no_heading() {
    let lines = vec![step(1, Mark::Pending, "a"), step(2, Mark::Completed, "b")];
    assert_eq!(render(&lines), "- [ ] a\n- [x] b\n");
    assert_eq!(parse("- [ ] a\n- [x] b\n"), Ok(lines));
    assert_eq!((render(&[]), parse("")), (String::new(), Ok(vec![])));
}

/// F-16: the formats of other tools and people are accepted.
#[test]
fn other_spellings_are_accepted() {
    let markdown = "\u{feff}* [X] a\r\n+ [>] b\r\n- [~] c\r\n\r\n- [] d\r\n- \\[x\\] e\\_f\r\n\
                    -\t[ x ]  g   h \r\n- [!] i <!--blocker:key-->\r\n- [?] l\r\n###### Deep\r\n- [ ] j --> k\r\n\
                    \t* Note: n\\\r\n\tm";
    let mut held = step(8, Mark::Held, "i");
    let reason = Body::new("key").unwrap();
    held.hold = Some(HeldFor { kind: HoldKind::Blocked, reason });
    let mut deep = step(11, Mark::Pending, "j --> k");
    deep.phase = Some(Title::new("Deep").unwrap());
    deep.notes = vec![Body::new("n\nm").unwrap()];
    let expected = vec![
        step(1, Mark::Completed, "a"),
        step(2, Mark::InProgress, "b"),
        step(3, Mark::Abandoned, "c"),
        step(5, Mark::Pending, "d"),
        step(6, Mark::Completed, "e_f"),
        step(7, Mark::Completed, "g h"),
        held,
        step(9, Mark::Claimed, "l"),
        deep,
    ];
    assert_eq!(parse(markdown), Ok(expected));
}

/// F-16: unknown marks and all other faults are reported with their lines, all at once.
#[test]
fn every_fault_is_reported_with_its_line() {
    let long = "x".repeat(2_001);
    let markdown = format!(
        "  - note: orphan\n- [%] a\n- [ ]\n- [ ] {long}\nprose\n- bullet\n- [x](link)\n#tag\n#\n\
         - [ ] same\n- [/]  same \n  - [ ] nested\n  loose\n  - note:\n  - note: off\\\n\n\
         <!--\n- [x] hidden\n-->\n- [ ] b <!-- id: 7 -->\n- [ ] c <!-- open\n\
         - [ ] d <!-- blocked: x --> e\n- [!] f\n- [!] g <!-- blocked: -->\n# Criteria\n- [/] h\n\
         - [ ] i\n  - note: <!-- j -->\n# k <!-- l -->\n\
         - [ ] m <!-- failed: x --> <!-- blocked: y -->\n"
    );
    let comment = "a comment may only be at the end of an item; write `\\<!--`";
    let unreadable = "is not a heading, an item or a note; an item begins with `- [ ] `";
    let expected = [
        (1, "there is no item above this note"),
        (2, "unknown mark `[%]`; there are [ ], [/], [x], [-] and [?]"),
        (3, "the text is empty or only white space"),
        (4, "the text has 2001 characters; the limit is 2000"),
        (5, unreadable),
        (6, unreadable),
        (7, unreadable),
        (8, unreadable),
        (9, "the name of the phase is empty or only white space"),
        (11, "says the same as line 10; open items differ in their texts"),
        (12, "items do not nest: begin the line without white space"),
        (
            13,
            "only notes (`- note: …`) are indented; a note continues after a line that ends in `\\`",
        ),
        (14, "the note is empty or only white space"),
        (15, "the note ends in `\\`, but no indented line follows; write `\\\\` for a backslash"),
        (17, unreadable),
        (19, unreadable),
        (
            20,
            "unknown comment; there are `claimed by`, `blocked:`, `failed:` and `awaiting_approval:`",
        ),
        (21, "the comment does not end on its line"),
        (22, "a comment may only be at the end of an item; write `\\<!--` to mean the signs"),
        (23, "`[!]` needs its reason: `<!-- blocked: the reason -->`"),
        (24, "the reason is empty or only white space"),
        (26, "a criterion is never in progress"),
        (28, comment),
        (29, comment),
        (30, "two comments say the same kind of thing"),
    ];
    let expected: Vec<LineFault> =
        expected.map(|(line, what)| LineFault { line, what: what.to_owned() }).into();
    assert_eq!(parse(&markdown), Err(expected));
    let fault = LineFault { line: 7, what: "is odd".to_owned() };
    assert_eq!(fault.to_string(), "line 7: is odd");
}

#[test]
fn the_length_of_a_checklist_is_limited() {
    let most = "\n".repeat(MARKDOWN_LIMIT);
    assert_eq!(parse(&most), Ok(vec![]));
    let what = "the markdown has 1048577 bytes; the limit is 1048576".to_owned();
    assert_eq!(parse(&format!("{most}\n")), Err(vec![LineFault { line: 1, what }]));
}
