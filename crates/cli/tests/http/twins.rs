//! Two equal stores, one used directly and one through a server: the same commands give the same
//! output, as text and as JSON, and the same exit codes.

use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::Value;

use crate::serving::Served;
use crate::support::{Names, Place, Ran};

/// The commands for both, in order, each with its exit code, so that a misspelt command does not
/// compare two refusals. Those that begin with `!` are run by the operator.
const COMMANDS: &[(i32, &[&str])] = &[
    (0, &["status"]),
    (0, &["issue", "new", "Alpha fails", "--criteria", "A test covers it", "--body", "It does."]),
    (0, &["!", "issue", "new", "Beta is slow"]),
    (1, &["issue", "new", "Alpha fails"]),
    (0, &["issue", "list"]),
    (0, &["issue", "show", "1"]),
    (0, &["issue", "show", "#2"]),
    (1, &["issue", "show", "99"]),
    (1, &["issue", "show", "x"]),
    (0, &["issue", "comment", "1", "Żółć 😀 \"quoted\""]),
    (0, &["issue", "link", "1", "relates_to", "2"]),
    (1, &["issue", "link", "1", "relates_to", "2"]),
    (0, &["issue", "transition", "1", "triaged"]),
    (4, &["issue", "transition", "1", "resolved"]),
    (2, &["!", "issue", "transition", "1", "nonsense"]),
    (0, &["call", "issue_list", "{\"limit\":1}"]),
    (2, &["call", "issue_list", "{\"limit\":"]),
    (2, &["call", "nonsense"]),
    (2, &["call", "issue_create", "{\"titel\":\"x\"}"]),
    (0, &["session", "start", "Work", "--external-id", "host-1"]),
    (0, &["session", "bind", "1", "--session", "host-1"]),
    (0, &["session", "show", "--session", "host-1"]),
    (1, &["session", "show", "--session", "nobody"]),
    (0, &["todo", "set", "Read", "Write", "--session", "host-1"]),
    (0, &["todo", "start", "Read", "--session", "host-1"]),
    (0, &["todo", "done", "Read", "--session", "host-1"]),
    (0, &["todo", "done", "A test covers it", "--session", "host-1"]),
    (0, &["todo", "view", "--issue", "1"]),
    (1, &["todo", "set", "Lost"]),
    (0, &["call", "checkpoint", "{\"reason\":\"ready\"}", "--session", "host-1"]),
    (4, &["inbox"]),
    (0, &["!", "inbox"]),
    (0, &["!", "criterion", "ratify", "1", "A test covers it"]),
    (0, &["plan", "import", "plan.md"]),
    (0, &["plan", "import", "./plan.md"]),
    (3, &["plan", "import", "missing.md"]),
    (2, &["plan", "import", "../outside.md"]),
    (0, &["plan", "tree", "plan.md"]),
    (0, &["plan", "current", "plan.md"]),
    (0, &["agent", "register", "coder"]),
    (0, &["plan", "assign", "t1", "--to", "coder"]),
    (0, &["todo", "next", "--plan-file", "plan.md"]),
    (0, &["!", "mission", "init", "mission.json"]),
    (4, &["mission", "list"]),
    (0, &["!", "mission", "status", "dx"]),
    (0, &["!", "mission", "pause", "dx"]),
    (1, &["!", "mission", "pause", "nowhere"]),
    (0, &["log", "--limit", "1000"]),
    (1, &["log", "--after", "999999999"]),
    (0, &["digest", "--since", "2020-01-01T00:00:00Z"]),
    (0, &["audit", "closes", "--since", "2020-01-01T00:00:00Z"]),
    (0, &["authority"]),
    (0, &["!", "token", "list"]),
    (4, &["token", "list"]),
    (0, &["runs"]),
    (0, &["export", "project"]),
    (0, &["wait", "--timeout", "1s", "--after", "0", "--types", "issue_linked"]),
    (1, &["wait", "--timeout", "1s"]),
    (0, &["issue", "new", "Once", "--idempotency-key", "k"]),
    (0, &["issue", "new", "Once", "--idempotency-key", "k"]),
    (1, &["issue", "new", "Twice", "--idempotency-key", "k"]),
    (0, &["issue", "new", "As another", "--agent", "coder"]),
    (4, &["issue", "new", "As a worker", "--as", "worker"]),
    (4, &["issue", "new", "As the operator", "--as", "operator"]),
];

/// One side: a place, and its value of `--db`.
struct Twin {
    place: Place,
    served: Option<Served>,
    operator: String,
    names: Names,
}

impl Twin {
    fn new(backend: Backend, is_remote: bool) -> Self {
        let place = Place::new(backend);
        let operator = place.operator();
        std::fs::write(place.home().join("plan.md"), "# Plan\n- [ ] one\n- [ ] two\n").unwrap();
        let mission = r#"{"name":"DX","pillars":[{"name":"Speed","description":"fast"}]}"#;
        std::fs::write(place.home().join("mission.json"), mission).unwrap();
        let served =
            is_remote.then(|| Served::with(&place, &["--listen", "127.0.0.1:0", "--rate", "0"]));
        Self { place, served, operator, names: Names::default() }
    }

    fn run(&mut self, words: &[&str], json: bool) -> (Option<i32>, String, String) {
        let db = self.served.as_ref().map_or_else(|| self.place.db(), |served| served.url.clone());
        let (is_operator, words) = match words {
            ["!", rest @ ..] => (true, rest),
            words => (false, words),
        };
        if words.first() == Some(&"log") {
            self.place.wait_for_log();
        }
        let mut punch = self.place.bare(words.iter().copied()).words(["--db", &db]);
        punch = punch.env("PUNCHLIST_PROJECT", "test");
        if json {
            punch = punch.words(["--json"]);
        }
        if is_operator {
            punch = punch.with(&self.operator);
        }
        let Ran { exit, stdout, stderr } = punch.run();
        let mut same = |text: String| {
            let hidden = self.names.hide(&Value::String(text));
            let text = hidden.as_str().unwrap().to_owned();
            text.replace(self.place.home().to_str().unwrap(), "HOME")
        };
        // The proof of a caller without a token differs, and so do the recording times.
        let stdout =
            without_clock(&same(stdout)).replace("\"proof\":\"http\"", "\"proof\":\"none\"");
        let stderr = same(stderr);
        match json {
            true => (exit, stdout, stderr),
            // On one PostgreSQL, two stores have different numbers of events.
            false if ["log", "wait"].contains(&words[0]) => {
                let hidden = |text: &str| without_numbers(&without_short_ids(&without_clock(text)));
                (exit, hidden(&stdout), hidden(&stderr))
            }
            false => (exit, without_short_ids(&stdout), without_short_ids(&stderr)),
        }
    }
}

/// The text with every possible short id hidden, because the two stores create different ids.
fn without_short_ids(text: &str) -> String {
    let is_short = |word: &str| {
        word.len() == 4 && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
    };
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        match is_short(bare) {
            true => out.push_str(&word.replacen(bare, "SHID", 1)),
            false => out.push_str(word),
        }
    }
    out
}

/// The text with the number that begins a line hidden.
fn without_numbers(text: &str) -> String {
    let line = |line: &str| {
        let rest =
            line.trim_start_matches([' ', '#']).trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() == line.len() { line.to_owned() } else { format!("N {}", rest.trim_start()) }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The text without real times and event numbers, which differ between two stores on one
/// PostgreSQL.
fn without_clock(text: &str) -> String {
    let mut out = text.to_owned();
    if let Some((before, after)) = text.split_once("with --after ") {
        let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
        out = format!("{before}with --after N{rest}");
    }
    for field in
        ["recordedAt", "expiresAt", "leaseUntil", "until", "seq", "cursor", "after", "lastSeq"]
    {
        let start = format!("\"{field}\":");
        let mut rest = out.as_str();
        let mut cleaned = String::new();
        while let Some(at) = rest.find(&start) {
            let end = at + start.len();
            cleaned.push_str(&rest[..end]);
            let value = rest[end..].find([',', '}']).unwrap_or(0);
            rest = &rest[end + value..];
        }
        cleaned.push_str(rest);
        out = cleaned;
    }
    out
}

fn twins_answer_alike(backend: Backend) {
    for json in [true, false] {
        let (mut near, mut far) = (Twin::new(backend, false), Twin::new(backend, true));
        assert!(COMMANDS.len() >= 40);
        for (exit, words) in COMMANDS {
            let (near, far) = (near.run(words, json), far.run(words, json));
            assert_eq!(near.0, Some(*exit), "{words:?}: {near:?}");
            let (near, far) = (format!("{near:?}"), format!("{far:?}"));
            assert!(near == far, "{words:?}:\n{}\n{}", around(&near, &far), around(&far, &near));
        }
    }
}

/// The part of a long text where it starts to differ from another.
fn around(text: &str, other: &str) -> String {
    let same = text.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    text.chars().skip(same.saturating_sub(200)).take(400).collect()
}

on_every_lasting_store!(twins_answer_alike);
