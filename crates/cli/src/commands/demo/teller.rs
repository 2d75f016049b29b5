//! Tells the story of the demo: a line for each thing that happens, with the seconds since it began.
//!
//! On a terminal it leaves time to read; in a pipe it does not.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anstyle::Style;
use punchlist_core::{Role, Run};
use punchlist_engine::Done;
use punchlist_engine::agent::Live;
use punchlist_ops::input::{Limit, Maybe};
use punchlist_ops::operations::conversation_show::{self, ConversationShow};
use punchlist_ops::operations::mission_status::Output;
use punchlist_ops::views::MissionView;
use punchlist_ops::{Envelope, Ops};
use serde_json::{Value, json};

use super::super::live::{brief, fault, name, why};
use crate::args::Globals;
use crate::output;
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};
use crate::render::columns::hanging;
use crate::render::runs::grouped;

/// Pause after each line on a terminal, so that a person can read along.
const PAUSE: Duration = Duration::from_millis(350);

/// The indentation of lines without seconds.
const INDENT: &str = "       ";

pub(super) struct Teller<'a> {
    ops: &'a Ops,
    envelope: Envelope,
    json: bool,
    quiet: bool,
    since: Instant,
    pause: Duration,
    chats: Mutex<HashMap<String, String>>,
}

impl<'a> Teller<'a> {
    pub(super) fn new(globals: &Globals, ops: &'a Ops, envelope: Envelope) -> Self {
        let is_watched = std::io::stdout().is_terminal() && !globals.json && !globals.quiet;
        Self {
            ops,
            envelope,
            json: globals.json,
            quiet: globals.quiet,
            since: Instant::now(),
            pause: if is_watched { PAUSE } else { Duration::ZERO },
            chats: Mutex::default(),
        }
    }

    /// Prints an event as JSON, for programs.
    fn happening(&self, what: &str, more: Value) {
        if !self.json {
            return;
        }
        let mut line = json!({ "happened": what, "ms": self.elapsed_ms() });
        if let (Some(line), Value::Object(more)) = (line.as_object_mut(), more) {
            line.extend(more);
        }
        // If the reader is gone, the line is dropped.
        drop(output::print(&format!("{line}\n")));
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn print(&self, text: &str) {
        if !self.json && !self.quiet {
            drop(output::print(text));
        }
    }

    /// A line of the story.
    fn line(&self, style: Style, text: &str) {
        if self.json || self.quiet {
            return;
        }
        let seconds = self.since.elapsed().as_secs_f64();
        let text = hanging(INDENT, "", &output::clean(text), output::width());
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let mut shown = format!("{DIM}{seconds:>5.1}s{DIM:#} {style}{first}{style:#}\n");
        for line in lines {
            shown.push_str(&format!("{style}{line}{style:#}\n"));
        }
        self.print(&shown);
        std::thread::sleep(self.pause);
    }

    fn paragraph(&self, text: &str) {
        self.print(&hanging("", "", text, output::width()));
    }

    pub(super) fn opens(&self, folder: &Path) {
        let shown = folder.display().to_string();
        self.happening("opened", json!({ "folder": shown }));
        self.paragraph(&format!(
            "Scripted models play the agents; everything else is real. No key, no network. Files \
             and store are in {shown}"
        ));
    }

    pub(super) fn chapter(&self, title: &str) {
        self.happening("chapter", json!({ "title": title }));
        self.print("\n");
        for line in hanging("", "", title, output::width()).lines() {
            self.print(&format!("{BOLD}{line}{BOLD:#}\n"));
        }
    }

    pub(super) fn made(&self, mission: &MissionView) {
        self.happening("mission_made", json!({ "mission": mission.slug }));
        for pillar in &mission.pillars {
            self.line(Style::new(), &format!("{}: {}", pillar.name, pillar.description));
        }
    }

    pub(super) fn says(&self, who: &str, text: &str) {
        self.happening("said", json!({ "by": who, "text": text }));
        self.line(Style::new(), &format!("{who}: “{text}”"));
    }

    /// A figure was read.
    pub(super) fn did(&self, done: &Done) {
        match done {
            Done::MetricCollected { metric, value, .. } => {
                self.happening("metric_collected", json!({ "metric": metric, "value": value }));
                self.line(GREEN, &format!("measured: {metric} = {value}"));
            }
            Done::MetricFailed { metric, error, .. } => {
                self.happening("metric_failed", json!({ "metric": metric, "error": error }));
                self.line(RED, &format!("{metric} could not be read: {error}"));
            }
            _ => {}
        }
    }

    pub(super) fn observe(&self, live: &Live<'_>) {
        match live {
            Live::Begins { run } => {
                let chat = self.chat(run);
                let more = json!({ "agent": name(run), "role": run.role.name(), "chat": chat });
                self.happening("run_begins", more);
                let place = match run.role {
                    Role::Worker => "gets a piece of work, and sees nothing else".to_owned(),
                    _ => format!("in “{chat}”"),
                };
                self.line(BOLD, &format!("▸ {} {place}", name(run)));
            }
            Live::Calls { run, tool, input, .. } => {
                self.happening("tool_called", json!({ "agent": name(run), "tool": tool }));
                let words = format!("{} → {tool} {}", name(run), brief(input));
                self.line(CYAN, words.trim_end());
            }
            Live::Returned { run, tool, text, is_error, .. } => {
                let error = is_error.then(|| fault(text));
                let more = json!({ "agent": name(run), "tool": tool, "error": error });
                self.happening("tool_returned", more);
                if let Some(error) = error {
                    self.line(RED, &format!("{} ✗ {tool}: {error}", name(run)));
                }
            }
            Live::Replied { run, text, .. } if !text.trim().is_empty() => {
                self.says(name(run), text);
            }
            Live::Continues { run, said } => {
                let more = json!({ "agent": name(run), "reason": why(said) });
                self.happening("run_continued", more);
                self.line(YELLOW, &format!("↻ the driver: “{}”", why(said)));
            }
            Live::Waits { run, kind } => {
                self.happening("run_waits", json!({ "agent": name(run), "for": kind }));
            }
            Live::Ends { run, reason, .. } => {
                let (code, agent) = (reason.code(), name(run));
                self.happening("run_ended", json!({ "agent": agent, "stopReason": code }));
                if *reason == punchlist_core::driver::StopReason::Drained {
                    self.line(GREEN, &format!("{agent} is done: {}", reason.words()));
                } else if !reason.is_drained() {
                    self.line(RED, &format!("{agent} stopped: {}", reason.words()));
                }
            }
            _ => {}
        }
    }

    /// The title of the chat a run is in.
    fn chat(&self, run: &Run) -> String {
        let id = run.conversation_id.to_string();
        let mut chats = self.chats.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(title) = chats.get(&id) {
            return title.clone();
        }
        let (conversation_id, after) = (id.as_str().into(), Maybe::default());
        let input = conversation_show::Input {
            conversation_id,
            after,
            before: Default::default(),
            newest: None,
            limit: Limit::of(1),
        };
        let shown = self.ops.run::<ConversationShow>(&self.envelope, input);
        let title = shown.map_or_else(|_| String::new(), |shown| shown.conversation.title);
        chats.insert(id, title.clone());
        title
    }

    pub(super) fn stands(&self, status: &Output, words: &str) {
        self.happening("status", json!({ "status": status }));
        self.print(words);
    }

    pub(super) fn broken_off(&self, store: &Path) {
        let shown = store.display().to_string();
        self.happening("broken_off", json!({ "store": shown }));
        self.paragraph(&format!("Stopped. What happened until then is in {shown}"));
    }

    pub(super) fn closes(&self, folder: &Path, store: &Path) {
        let shown = store.display().to_string();
        let ms = self.elapsed_ms();
        let sound = json!({ "store": shown, "folder": folder.display().to_string() });
        self.happening("closed", sound);
        let ms = grouped(ms);
        self.paragraph(&format!("The store is sound (punch doctor), after {ms} ms."));
        self.print(&format!("\n{BOLD}Try next{BOLD:#}\n"));
        // A command is copied whole, so it is not broken into lines.
        self.print(&format!(
            "  export PUNCHLIST_DB={shown} PUNCHLIST_PROJECT={}\n  \
             punch log          # who did what, and who decided\n  \
             punch chat list    # what they said to each other\n  \
             punch run \"…\" --model anthropic:claude-sonnet-5   # an agent of your own\n",
            super::PROJECT
        ));
    }

    /// Where to look, before there is anything to see.
    pub(super) fn invites(&self, url: &str, sign_in: &str, store: &Path) {
        let shown = store.display().to_string();
        self.happening("serving", json!({ "url": url, "signIn": sign_in, "store": shown }));
        self.print("\nOpen this link in your browser. It works once, for five minutes:\n");
        // A link is copied whole, so it is not broken into lines.
        self.print(&format!("  {BOLD}{sign_in}{BOLD:#}\n"));
    }

    pub(super) fn stays_open(&self) {
        self.happening("open", json!({}));
        self.chapter(
            "Now it is your turn: agents continue to work, and their questions are on the first page",
        );
        self.paragraph("Ctrl-C ends it.");
    }

    pub(super) fn ends(&self, store: &Path) {
        let shown = store.display().to_string();
        self.happening("ended", json!({ "store": shown }));
        self.paragraph(&format!("Ended. Everything is in {shown}"));
    }
}
