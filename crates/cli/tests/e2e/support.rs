//! Runs the real binary: a clean environment, bytes in, bytes and an exit code out.
//!
//! The clock of every process is fixed at [`NOW`] unless a test changes it, so that whole answers
//! can be compared. Only ids differ, and [`Names`] gives them stable names.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use punchlist_store::sql;
use punchlist_testkit::{Backend, TestStore};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The fixed time.
pub(crate) const NOW: &str = "2026-11-15T08:00:00.000000Z";

/// The path of the binary under test.
pub(crate) const PUNCH: &str = env!("CARGO_BIN_EXE_punch");

/// An empty home of a user, and a store that may not exist yet.
#[derive(Debug)]
pub(crate) struct Place {
    home: TempDir,
    store: TestStore,
}

impl Place {
    pub(crate) fn new(backend: Backend) -> Self {
        Self::on(TestStore::new(backend))
    }

    pub(crate) fn on(store: TestStore) -> Self {
        Self { home: tempfile::tempdir().unwrap(), store }
    }

    pub(crate) fn sqlite() -> Self {
        Self::new(Backend::SqliteFile)
    }

    /// The value of `--db`.
    pub(crate) fn db(&self) -> String {
        self.store.url()
    }

    pub(crate) fn target(&self) -> punchlist_store::Target {
        self.store.target().clone()
    }

    /// The store itself, for actions that no command does.
    pub(crate) fn open(&self) -> punchlist_store::Store {
        self.store.open()
    }

    /// The file of a SQLite store.
    pub(crate) fn file(&self) -> PathBuf {
        self.store.file()
    }

    pub(crate) fn home(&self) -> &std::path::Path {
        self.home.path()
    }

    /// `punch` with only these words: the store is the user's default.
    pub(crate) fn bare<W: Into<OsString>>(&self, words: impl IntoIterator<Item = W>) -> Punch {
        Punch {
            words: words.into_iter().map(Into::into).collect(),
            environment: BTreeMap::from([
                ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
                ("HOME".into(), self.home.path().into()),
                ("XDG_DATA_HOME".into(), self.home.path().join("data").into()),
                ("PUNCHLIST_NOW".into(), NOW.into()),
            ]),
            folder: self.home.path().to_owned(),
            stdin: Vec::new(),
        }
    }

    /// `punch` on the store of this place, in the project `test`.
    pub(crate) fn punch<W: Into<OsString>>(&self, words: impl IntoIterator<Item = W>) -> Punch {
        self.bare(words).words(["--db", &self.db()]).env("PUNCHLIST_PROJECT", "test")
    }

    /// `punch call` as `root` in the turn `t1` of the conversation `c1`, with JSON output.
    pub(crate) fn call(&self, operation: &str, input: &Value) -> Punch {
        self.call_in("c1", "t1", operation, &input.to_string())
    }

    pub(crate) fn call_in(
        &self,
        conversation: &str,
        turn: &str,
        operation: &str,
        input: &str,
    ) -> Punch {
        let call = self.punch(["call", operation, input, "--json"]);
        call.words(["--conversation", conversation, "--turn", turn])
    }

    /// Creates one item in the default turn. Returns its id.
    pub(crate) fn create(&self, title: &str) -> String {
        let answer = self.call("create_todo", &json!({ "items": [{ "title": title }] })).answer();
        answer["created"][0]["id"].as_str().unwrap().to_owned()
    }

    /// The secret of the first operator's token, on a store that has none yet. The store stays open
    /// for callers without a token, even on a server.
    pub(crate) fn operator(&self) -> String {
        let made = self.punch(["token", "new", "--role", "operator", "--json"]).answer();
        let secret = made["token"].as_str().unwrap().to_owned();
        self.punch(["store", "identity", "open", "--json"])
            .env("PUNCHLIST_TOKEN", &secret)
            .answer();
        secret
    }

    /// The number of events in the project's log. On PostgreSQL the table is counted, because a
    /// concurrent test may hold back the horizon for a moment and hide the newest events.
    pub(crate) fn log_length(&self) -> usize {
        if !self.db().starts_with("postgres") {
            return self.log_told();
        }
        let count = sql!(
            "SELECT count(*) FROM events AS e JOIN projects AS p ON p.id = e.project_id \
             WHERE p.name = 'test'"
        );
        let found = self.open().read(move |tx| tx.first(count, &[], |row| row.int(0)));
        usize::try_from(found.unwrap().unwrap_or_default()).unwrap()
    }

    /// Waits, for a limited time, until the log shows every event. On PostgreSQL a concurrent test
    /// may hide the newest events for a moment.
    pub(crate) fn wait_for_log(&self) {
        let store = self.open();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        loop {
            let is_whole: Result<bool, punchlist_store::Error> = store.read(|tx| {
                let newest = sql!("SELECT coalesce(max(seq), 0) FROM events");
                let newest = tx.first(newest, &[], |row| row.int(0))?;
                Ok(newest == Some(tx.last_event()?))
            });
            if is_whole.unwrap() {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "the log hides its newest events");
            std::thread::yield_now();
        }
    }

    /// The number of visible events in the project's log.
    fn log_told(&self) -> usize {
        let log = self.punch(["call", "event_list", r#"{"after":0,"limit":1000}"#, "--json"]);
        log.answer()["events"].as_array().unwrap().len()
    }

    /// Waits, for a limited time, until the log shows at least `count` events. Returns their
    /// number.
    pub(crate) fn log_of(&self, count: usize) -> usize {
        for _ in 0..200 {
            let length = self.log_told();
            if length >= count {
                return length;
            }
            std::thread::yield_now();
        }
        self.log_told()
    }
}

/// One run of `punch` that has not started yet.
#[derive(Clone, Debug)]
pub(crate) struct Punch {
    words: Vec<OsString>,
    environment: BTreeMap<OsString, OsString>,
    folder: PathBuf,
    stdin: Vec<u8>,
}

impl Punch {
    pub(crate) fn words<W: Into<OsString>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.words.extend(words.into_iter().map(Into::into));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.insert(name.into(), value.as_ref().into());
        self
    }

    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.environment.remove(OsStr::new(name));
        self
    }

    /// In another folder than the home.
    pub(crate) fn at(mut self, folder: &std::path::Path) -> Self {
        folder.clone_into(&mut self.folder);
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// With a token, by its secret.
    pub(crate) fn with(self, secret: &str) -> Self {
        self.env("PUNCHLIST_TOKEN", secret)
    }

    /// Runs it and returns its text: exit 0, only notes on stderr.
    pub(crate) fn said(&self) -> String {
        let ran = self.run();
        assert_eq!((ran.exit, ran.remarks().as_str()), (Some(0), ""), "{}", self.shown());
        ran.stdout
    }

    /// The same, without the short ids of items.
    pub(crate) fn said_without_ids(&self) -> String {
        let said = self.said();
        let bare = |line: &str| match line.split_once("] ") {
            Some((mark, rest)) if mark.trim_start().len() == 2 => {
                let id = rest.split(' ').next().unwrap_or_default();
                assert!(id.len() == 4 && !id.contains(char::is_lowercase), "no short id: {line}");
                format!("{mark}] {}\n", &rest[5..])
            }
            _ => format!("{line}\n"),
        };
        said.lines().map(bare).collect()
    }

    /// The given words, for the message of an assertion.
    pub(crate) fn shown(&self) -> String {
        let words: Vec<String> = self
            .words
            .iter()
            .map(|word| word.to_string_lossy().chars().take(80).collect())
            .collect();
        words.join(" ")
    }

    /// The command with its environment; the caller sets the streams.
    pub(crate) fn command(&self) -> Command {
        self.command_of(PUNCH, &self.words)
    }

    /// Runs another program in the same environment, which starts `punch` with these words.
    pub(crate) fn under<'a>(&self, program: &str, words: impl IntoIterator<Item = &'a str>) -> Ran {
        let before = words.into_iter().map(OsString::from).chain([PUNCH.into()]);
        let words: Vec<OsString> = before.chain(self.words.iter().cloned()).collect();
        run(self.command_of(program, &words), &self.stdin)
    }

    /// Runs it on its own pseudo-terminal, like a person or an agent that imitates one. Both output
    /// streams are returned as one.
    pub(crate) fn on_terminal(&self) -> Ran {
        run(self.terminal_command(), &self.stdin)
    }

    /// Runs it on a terminal of this width.
    pub(crate) fn on_terminal_of(&self, columns: u16) -> Ran {
        let line = format!("stty cols {columns} rows 50 -echo; exec {}", self.line());
        run(self.script(&line), &self.stdin)
    }

    /// Starts it on a terminal; standard input is what is typed.
    pub(crate) fn spawn_on_terminal(&self) -> Child {
        spawn(self.terminal_command())
    }

    /// Runs it on a terminal with its output in a pipe: `punch … | cat`.
    pub(crate) fn piped_on_terminal(&self) -> Ran {
        run(self.script(&format!("{} | cat", self.line())), &self.stdin)
    }

    fn terminal_command(&self) -> Command {
        self.script(&format!("exec {}", self.line()))
    }

    fn line(&self) -> String {
        let quoted =
            |word: &OsString| format!("'{}'", word.to_str().unwrap().replace('\'', r"'\''"));
        let words: Vec<String> = self.words.iter().map(quoted).collect();
        format!("{PUNCH} {}", words.join(" "))
    }

    fn script(&self, line: &str) -> Command {
        self.command_of("script", &["-qec".into(), line.into(), "/dev/null".into()])
    }

    fn command_of(&self, program: &str, words: &[OsString]) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.environment).current_dir(&self.folder).args(words);
        command
    }

    pub(crate) fn run(&self) -> Ran {
        run(self.command(), &self.stdin)
    }

    /// Starts it with all its streams piped.
    pub(crate) fn spawn(&self) -> Child {
        spawn(self.command())
    }

    /// Runs it and returns its answer: exit 0, one JSON object on stdout, only notes on stderr.
    pub(crate) fn answer(&self) -> Value {
        let ran = self.run();
        assert_eq!(ran.exit, Some(0), "{}\n{ran:?}", self.shown());
        assert_eq!(ran.remarks(), "", "{}", self.shown());
        ran.json()
    }

    /// Runs it and returns the error object of its refusal, which must have this exit code.
    pub(crate) fn refusal(&self, exit: i32) -> Value {
        let ran = self.run();
        assert_eq!(ran.exit, Some(exit), "{}\n{ran:?}", self.shown());
        assert_eq!(ran.remarks(), "", "{}", self.shown());
        let mut answer = ran.json();
        let error = answer["error"].take();
        assert_eq!(answer, json!({ "error": null }), "{}", self.shown());
        error
    }
}

fn spawn(mut command: Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn run(command: Command, stdin: &[u8]) -> Ran {
    let mut child = spawn(command);
    let mut pipe = child.stdin.take().unwrap();
    let written = stdin.to_owned();
    // A child that does not read its input closes the pipe, which is not an error.
    let writer = std::thread::spawn(move || drop(pipe.write_all(&written)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output.into()
}

/// The result of a run.
#[derive(Debug)]
#[must_use]
pub(crate) struct Ran {
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            exit: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// The one line of JSON on stdout.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.matches('\n').count(), 1, "one line: {self:?}");
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// The text on stderr, without notes.
    pub(crate) fn remarks(&self) -> String {
        let lines = self.stderr.lines().filter(|line| !line.starts_with("note: "));
        lines.map(|line| format!("{line}\n")).collect()
    }
}

/// Stable names for ids: the first one seen is `<id 1>`, the next `<id 2>`.
#[derive(Debug, Default)]
pub(crate) struct Names {
    ids: Vec<String>,
}

impl Names {
    /// The value with each id replaced by its name, alone or inside a text.
    pub(crate) fn hide(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.hide_text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.hide(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), self.hide(value))).collect()
            }
            other => other.clone(),
        }
    }

    fn hide_text(&mut self, text: &str) -> String {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        for id in words.filter(|word| is_id(word)) {
            if !self.ids.iter().any(|known| known == id) {
                self.ids.push(id.to_owned());
            }
        }
        let named = self.ids.iter().enumerate();
        named.fold(text.to_owned(), |text, (n, id)| text.replace(id, &name(n)))
    }

    /// The value with the names replaced by the ids they stand for.
    pub(crate) fn reveal(&self, value: &Value) -> Value {
        let text = self
            .ids
            .iter()
            .enumerate()
            .fold(value.to_string(), |text, (n, id)| text.replace(&name(n), id));
        serde_json::from_str(&text).unwrap()
    }
}

fn name(number: usize) -> String {
    format!("<id {}>", number + 1)
}

/// Is this one of our ids? (X-9)
fn is_id(word: &str) -> bool {
    word.len() == 26 && punchlist_core::TodoId::parse(word).is_some()
}
