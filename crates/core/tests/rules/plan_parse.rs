//! Plan files: what is a task, what is a description, what is refused, and that any text is safe.

use proptest::prelude::*;
use punchlist_core::plan::{LEVELS_MAX, LINES_MAX, Mark, Node, Plan, PlanFault, parse};
use punchlist_core::text::{Body, Content};

/// The tree of the tasks design, written as a plan.
pub(crate) const WORKED_EXAMPLE: &str = "\
# Implement authentication

- [ ] Brainstorm design
- [ ] Set up worktree
- [ ] Write implementation plan
- [ ] Execute plan
    - [x] Task 1: Add user model
    - [ ] Task 2: Add login endpoint
        - [x] Implementation
        - [ ] Spec review
        - [ ] Code quality review
    - [ ] Task 3: Add JWT middleware
- [ ] Finish branch
";

/// A short form of a tree: mark and text, indented by level, with the description after a bar.
fn outline(node: &Node) -> String {
    let mut text = String::new();
    let mut open = vec![(0, node)];
    while let Some((level, node)) = open.pop() {
        let mark = match node.mark {
            Mark::Open => ' ',
            Mark::Done => 'x',
            Mark::Dropped => '-',
        };
        let bar = if node.description.is_empty() { "" } else { " | " };
        let description = node.description.replace('\n', "⏎");
        let indent = "  ".repeat(level);
        text.push_str(&format!("{indent}[{mark}] {}{bar}{description}\n", node.content));
        open.extend(node.children.iter().rev().map(|child| (level + 1, child)));
    }
    text
}

fn read(markdown: &str) -> String {
    outline(&parse(markdown, "stem").unwrap().root)
}

fn fault(markdown: &str) -> PlanFault {
    parse(markdown, "stem").unwrap_err()
}

fn node(line: usize, mark: Mark, text: &str, children: Vec<Node>) -> Node {
    let content = Content::new(text).unwrap();
    Node { content, description: String::new(), mark, children, line }
}

/// O-14, O-19: the worked example becomes exactly that tree.
#[test]
fn the_worked_example_is_the_tree_it_shows() {
    use Mark::{Done, Open};
    let task_2 = vec![
        node(9, Done, "Implementation", vec![]),
        node(10, Open, "Spec review", vec![]),
        node(11, Open, "Code quality review", vec![]),
    ];
    let tasks = vec![
        node(7, Done, "Task 1: Add user model", vec![]),
        node(8, Open, "Task 2: Add login endpoint", task_2),
        node(12, Open, "Task 3: Add JWT middleware", vec![]),
    ];
    let steps = vec![
        node(3, Open, "Brainstorm design", vec![]),
        node(4, Open, "Set up worktree", vec![]),
        node(5, Open, "Write implementation plan", vec![]),
        node(6, Open, "Execute plan", tasks),
        node(13, Open, "Finish branch", vec![]),
    ];
    let root = node(1, Open, "Implement authentication", steps);
    assert_eq!(parse(WORKED_EXAMPLE, "auth"), Ok(Plan { front_matter: None, root }));
}

/// O-14: the same tree, however it is written.
#[test]
fn headings_numbers_tabs_and_bare_brackets_nest_the_same_way() {
    let expected = "[ ] stem\n  [ ] a\n    [x] b\n      [ ] c\n    [-] d\n  [ ] e\n";
    for markdown in [
        "- [ ] a\n  - [x] b\n    - [/] c\n  - [-] d\n- [ ] e\n",
        "- [ ] a\r\n\t- [X] b\r\n\t\t- [ ] c\r\n\t- [-] d\r\n- [ ] e",
        "[ ] a\n    [x] b\n        [ ] c\n    [-] d\n[ ] e\n",
        "1. a\n   1. [x] b\n      1) c\n   2. [-] d\n2. e\n",
        "## a\n### [x] b\n1. c\n### [-] d\n## [ ] e\n",
        "## a\n- [x] b\n  * [ ] c\n- [-] d\n\n## [ ] e\n",
        "\u{feff}+ [ ] a\n\n    + [x] b\n\n        1. c\n    + [-] d\n+ [ ] e\n",
    ] {
        assert_eq!(read(markdown), expected, "{markdown}");
    }
}

/// O-14: a heading is a task if it has tasks below it, or if its name says so.
#[test]
fn a_heading_is_a_task_if_it_holds_one_or_is_named_as_one() {
    let markdown = "\
# Feature
Why we do it.

## Background
It was slow.
### Numbers
12 s

## Execute plan
### Task 1: Model
Do it well.
### Task 2: Endpoint
- [ ] write
#### Remarks
None.
## Phase 3
";
    let expected = "\
[ ] Feature | Why we do it.⏎⏎## Background⏎It was slow.⏎⏎### Numbers⏎12 s
  [ ] Execute plan
    [ ] Task 1: Model | Do it well.
    [ ] Task 2: Endpoint | #### Remarks⏎None.
      [ ] write
  [ ] Phase 3
";
    assert_eq!(read(markdown), expected);
}

/// O-14: text never becomes a task, and stays with the task above it.
#[test]
fn bullets_paragraphs_fences_and_comments_describe_the_task_above() {
    let markdown = "\
Preamble.
# **Feature**
1. one
   in words
   - detail
     - [ ] nested
- plain
- [ ] two
  ```
  - [ ] no task

  # nor this
  ```
  ~~~md
  ```
  - [x] nor that
  ~~~
<!--
- [ ] hidden
-->
<!-- - [ ] hidden --> - [ ] too
---
- [link](http://example.org)
- [ ]
in the year
1984. A book
";
    let expected = "\
[ ] **Feature** | Preamble.
  [ ] one | in words⏎- detail
    [ ] nested | - plain
  [ ] two | ```⏎- [ ] no task⏎⏎# nor this⏎```⏎~~~md⏎```⏎- [x] nor that⏎~~~⏎<!--⏎- [ ] hidden⏎-->⏎\
<!-- - [ ] hidden --> - [ ] too⏎- [link](http://example.org)⏎- [ ]⏎in the year
  [ ] A book
";
    assert_eq!(read(markdown), expected);
    assert_eq!(read("# T\nin the year\n1984. A book"), "[ ] T | in the year⏎1984. A book\n");
}

#[test]
fn a_plain_bullet_has_its_place_in_the_list() {
    let markdown = "# T\n- [ ] a\n- plain\n  - [ ] b\n - [ ] c\n";
    assert_eq!(read(markdown), "[ ] T\n  [ ] a | - plain\n  [ ] b\n  [ ] c\n");
}

#[test]
fn the_first_title_is_the_root_wherever_it_is() {
    let expected = "[ ] T\n  [ ] a\n  [ ] U\n    [ ] b\n";
    assert_eq!(read("- [ ] a\n# T\n# U\n- [ ] b\n"), expected);
    assert_eq!(read("# Only a title #\n"), "[ ] Only a title\n");
    assert_eq!(parse("1. a", " the  stem ").unwrap().root.content.as_str(), "the stem");
    assert_eq!(parse("1. a", " "), Err(PlanFault::Untitled));
}

#[test]
fn front_matter_is_kept_and_unclosed_front_matter_is_a_rule() {
    let plan = parse("---\nowner: ada\n\ntags: [x]\n---\n# T\n", "stem").unwrap();
    assert_eq!(plan.front_matter.as_deref(), Some("owner: ada\n\ntags: [x]"));
    assert_eq!((plan.root.line, plan.root.content.as_str()), (6, "T"));
    let plan = parse("---\n# T\n- [ ] a\n", "stem").unwrap();
    assert_eq!((plan.front_matter, plan.root.children.len()), (None, 1));
    assert_eq!(parse("---\n---\n# T", "stem").unwrap().front_matter.as_deref(), Some(""));
}

/// O-20: siblings are identified by their text, so equal texts are refused, with their lines.
#[test]
fn equal_siblings_are_refused_and_equal_cousins_are_not() {
    let markdown = "# T\n- [ ] a  b\n- [ ] c\n- [x] a b\n";
    let text = "a b".to_owned();
    assert_eq!(fault(markdown), PlanFault::Duplicate { first: 2, line: 4, text });
    assert_eq!(fault(markdown).to_string(), "line 4: `a b` says the same as line 2, its sibling");
    assert_eq!(read("1. a\n   - [ ] t\n2. b\n   - [ ] t\n").lines().count(), 5);
}

#[test]
fn an_invalid_plan_is_refused_with_its_line() {
    for nothing in ["", " \n\n", "Just words.\n\n- a bullet\n\n## A heading\n", "```\n- [ ] a\n"] {
        assert_eq!(fault(nothing), PlanFault::Empty, "{nothing:?}");
    }
    assert_eq!(fault("# T\n- [ ] a\0b\n"), PlanFault::Binary { line: 2 });
    let lines = "\n".repeat(LINES_MAX) + "# T";
    let (lines_max, limit) = (LINES_MAX + 1, LINES_MAX);
    assert_eq!(fault(&lines), PlanFault::TooManyLines { lines: lines_max, limit });
    assert_eq!(read(&lines[1..]), "[ ] T\n");
    let long = format!("# T\n\n1. {}", "ä".repeat(Content::LIMIT + 1));
    let (length, limit) = (Content::LIMIT + 1, Content::LIMIT);
    assert_eq!(fault(&long), PlanFault::LongText { line: 3, length, limit });
    let long = format!("# T\n1. a\n{}", "b".repeat(Body::LIMIT + 1));
    let (length, limit) = (Body::LIMIT + 1, Body::LIMIT);
    assert_eq!(fault(&long), PlanFault::LongDescription { line: 2, length, limit });
}

fn ladder(levels: usize) -> String {
    (1..levels).map(|level| format!("{}- [ ] a\n", "  ".repeat(level - 1))).collect()
}

/// O-19: any depth up to the limit is accepted, and such a tree can be serialised in a command.
#[test]
fn fifty_levels_are_accepted_and_one_more_is_refused() {
    let root = parse(&ladder(LEVELS_MAX), "stem").unwrap().root;
    assert_eq!(outline(&root).lines().count(), LEVELS_MAX);
    let text = serde_json::to_string(&root).unwrap();
    assert_eq!(serde_json::from_str::<Node>(&text).unwrap(), root);
    let (line, limit) = (LEVELS_MAX, LEVELS_MAX);
    assert_eq!(fault(&ladder(LEVELS_MAX + 1)), PlanFault::TooDeep { line, limit });
    // Bullets that are not tasks do not count, however deep they are.
    let bullets: String = (0..200).map(|level| format!("{}- a\n", "  ".repeat(level))).collect();
    assert_eq!(read(&(bullets + "# T")).lines().count(), 1);
}

/// Texts that look like markup, or become markup when joined.
const PIECES: [&str; 36] = [
    "- [ ] ",
    "- [x] ",
    "* [-] ",
    "[/] ",
    "[X]",
    "[",
    "]",
    "- ",
    "* ",
    "+ ",
    "1. ",
    "2) ",
    "9",
    "# ",
    "## ",
    "### ",
    "#",
    "Task 1",
    "Phase 2: ",
    "```",
    "~~~",
    "`",
    "<!--",
    "-->",
    "---",
    "***",
    "\n",
    "\n",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "    ",
    "  ",
    "\u{2028}",
    "🙂\u{200d}",
];

fn any_plan() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        2 => "[a-z]{1,4}",
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Every task once, with its line.
fn tasks(root: &Node) -> Vec<&Node> {
    let (mut found, mut open) = (Vec::new(), vec![root]);
    while let Some(node) = open.pop() {
        found.push(node);
        open.extend(node.children.iter().rev());
    }
    found
}

/// The plan file of this tree.
fn written(root: &Node) -> String {
    let mut text = String::new();
    let mut open: Vec<(usize, &Node)> = vec![(0, root)];
    while let Some((level, node)) = open.pop() {
        let mark = match node.mark {
            Mark::Open => ' ',
            Mark::Done => 'x',
            Mark::Dropped => '-',
        };
        let sign = if level == 0 { "# " } else { "- " };
        let indent = "  ".repeat(level.saturating_sub(1));
        text.push_str(&format!("{indent}{sign}[{mark}] {}\n", node.content));
        open.extend(node.children.iter().rev().map(|child| (level + 1, child)));
    }
    text
}

fn bare(mut root: Node) -> Node {
    let mut open = vec![&mut root];
    while let Some(node) = open.pop() {
        (node.line, node.description) = (0, String::new());
        open.extend(node.children.iter_mut());
    }
    root
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// O-14: any text is read or refused; line numbers rise, siblings differ, and the depth limit
    /// is kept.
    #[test]
    fn any_text_is_read_or_refused(markdown in any_plan()) {
        if let Ok(plan) = parse(&markdown, "stem") {
            let tasks = tasks(&plan.root);
            let lines: Vec<usize> = tasks[1..].iter().map(|node| node.line).collect();
            prop_assert!(lines.is_sorted_by(|a, b| a < b), "{lines:?}");
            for node in &tasks {
                let texts: std::collections::BTreeSet<_> =
                    node.children.iter().map(|child| child.content.as_str()).collect();
                prop_assert_eq!(texts.len(), node.children.len());
            }
        }
    }

    #[test]
    fn any_characters_are_read_or_refused(markdown in any::<String>()) {
        let _ = parse(&markdown, &markdown);
    }

    /// O-14: a tree written in the plain format is read back as that tree.
    #[test]
    fn a_tree_written_plainly_reads_back(markdown in any_plan()) {
        if let Ok(plan) = parse(&markdown, "stem") {
            let root = bare(plan.root);
            let plain = |node: &&Node| {
                let text = node.content.as_str();
                !text.starts_with(['[', '#', '`', '~', '<']) && !text.ends_with('#')
            };
            prop_assume!(tasks(&root).iter().all(plain));
            prop_assert_eq!(parse(&written(&root), "stem").map(|plan| bare(plan.root)), Ok(root));
        }
    }
}
