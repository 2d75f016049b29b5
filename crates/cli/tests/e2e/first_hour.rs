//! The first hour with punchlist, typed in terminals of 100 and 60 columns; the screens are goldens.

use serde_json::json;

use crate::support::{Place, Punch};

const SESSION: &str = "first";

/// A person's terminal of a given width, and the ids seen in it.
struct Desk {
    place: Place,
    columns: u16,
    screens: String,
    ids: Vec<String>,
}

impl Desk {
    fn new(columns: u16) -> Self {
        Self { place: Place::sqlite(), columns, screens: String::new(), ids: Vec::new() }
    }

    fn punch(&self, words: &[&str]) -> Punch {
        self.place.punch(words.iter().copied())
    }

    /// Types a command and records the screen.
    fn types(&mut self, words: &[&str], typed: &str) {
        let punch = self.punch(words).words(["--no-color"]).stdin(typed);
        let ran = punch.on_terminal_of(self.columns);
        assert_eq!(ran.exit, Some(0), "{}\n{ran:?}", punch.shown());
        let screen = ran.stdout.replace('\r', "");
        // A terminal may echo the input before the command reads it.
        let is_echo = |line: &&str| !typed.is_empty() && typed.lines().any(|typed| typed == *line);
        let seen: Vec<&str> = screen
            .lines()
            .filter(|line| !line.starts_with("note: "))
            .map(str::trim_end)
            .skip_while(is_echo)
            .collect();
        // If something is typed, question and answer are on one line.
        for line in seen.iter().filter(|_| typed.is_empty()) {
            let width = unicode_width::UnicodeWidthStr::width(*line);
            assert!(width <= usize::from(self.columns), "{width} columns: {line}");
        }
        self.screens.push_str(&format!("$ punch {}\n{}\n\n", words.join(" "), seen.join("\n")));
    }

    /// Changes the repository that the person is in, at a time of that morning.
    fn git(&self, at: &str, words: &[&str]) {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]).args(words);
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            git.env(name, format!("2026-11-15T{at}:00Z"));
        }
        let git = git
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", self.place.home())
            .current_dir(self.place.home());
        assert!(git.status().unwrap().success(), "{words:?}");
    }

    fn commit(&self, at: &str, file: &str, message: &str) {
        let path = self.place.home().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, message).unwrap();
        self.git(at, &["add", file]);
        self.git(at, &["commit", "--quiet", "--message", message]);
    }

    /// What an agent does meanwhile, without a terminal.
    fn agent(&mut self, operation: &str, input: &serde_json::Value) -> serde_json::Value {
        let call = self.punch(&["call", operation, &input.to_string(), "--json"]);
        let answer = call.env("PUNCHLIST_SESSION", SESSION).answer();
        for id in ["gateId", "id"] {
            self.ids.extend(answer[id].as_str().map(str::to_owned));
        }
        self.ids.extend(answer["session"]["id"].as_str().map(str::to_owned));
        let items = ["criteria", "steps"].into_iter().filter_map(|list| answer[list].as_array());
        for item in items.flatten() {
            self.ids.extend(item["id"].as_str().map(str::to_owned));
        }
        answer
    }

    /// The screens, with stable names instead of short ids.
    fn seen(&self) -> String {
        let names = self.ids.iter().enumerate();
        names.fold(self.screens.clone(), |text, (n, id)| {
            text.replace(&id[id.len() - 4..], &format!("ID{n:02}"))
        })
    }
}

fn first_hour(columns: u16) -> String {
    let mut desk = Desk::new(columns);
    desk.types(&[], "");
    let criteria = ["--criteria", "A test covers it", "--criteria", "It works on Safari"];
    desk.types(&[&["issue", "new", "Log in fails on Safari"][..], &criteria].concat(), "");
    desk.types(&["issue", "new", "Cookie banner is ugly"], "");
    desk.types(&["issue", "set", "1", "--label", "login", "--priority", "high"], "");
    desk.types(&["issue", "defer", "banner", "2030-01-31"], "");
    desk.git("07:00", &["init", "--quiet", "--initial-branch=main"]);
    // What the test itself keeps in this folder is not part of the repository.
    std::fs::write(desk.place.home().join(".git/info/exclude"), "/*\n!/src\n").unwrap();
    desk.commit("07:00", "src/login.rs", "The page that fails");
    let file = desk.place.home().join("plan.md");
    std::fs::write(&file, "# Release\n\n- [ ] Write the notes\n- [ ] Tag it\n").unwrap();
    desk.types(&["plan", "import", "plan.md"], "");
    desk.agent("session_start", &json!({ "title": "Fix it", "externalId": SESSION }));
    desk.agent("session_bind", &json!({ "number": 1 }));
    desk.commit("08:05", "src/header.rs", "Send the header that Safari wants");
    desk.agent("todo", &json!({ "action": "add", "items": ["Read the log", "Fix the header"] }));
    desk.agent("todo", &json!({ "action": "done", "content": "Read the log" }));
    for (content, evidence) in
        [("A test covers it", "test:login"), ("It works on Safari", "note:tried")]
    {
        let done = json!({ "action": "done", "content": content, "evidence": [evidence] });
        desk.agent("todo", &done);
    }
    let asked = desk.agent("checkpoint", &json!({ "reason": "All criteria are met" }));
    let gate = asked["gateId"].as_str().unwrap().to_owned();
    desk.types(&[], "");
    desk.types(&["issue", "list"], "");
    desk.agent("issue_show", &json!({ "number": 1 }));
    desk.types(&["issue", "show", "1"], "");
    desk.types(&["inbox"], "");
    let short = gate[gate.len() - 4..].to_owned();
    desk.types(&["inbox", "answer", &short], "y\n\ny\n");
    desk.types(&["ready"], "");
    desk.types(&["plan", "tree"], "");
    desk.types(&["plan", "complete", "Write the notes", "Written"], "");
    desk.types(&["log"], "");
    // Its names are on earlier pages.
    desk.types(&["log", "--limit", "3"], "");
    desk.types(&[], "");
    desk.types(&["help"], "");
    desk.seen()
}

#[test]
fn the_first_hour_at_a_hundred_columns_matches_its_golden() {
    insta::assert_snapshot!("first_hour_100", first_hour(100));
}

#[test]
fn the_first_hour_at_sixty_columns_matches_its_golden() {
    insta::assert_snapshot!("first_hour_60", first_hour(60));
}
