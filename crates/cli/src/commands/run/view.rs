//! Shows a run while it is executed: the model's text on standard output, everything else on
//! standard error.
//!
//! On a terminal the plan is at the bottom as a checklist with a bar, and is redrawn with each
//! change; elsewhere each change is a line.

use std::sync::{Mutex, MutexGuard, PoisonError};

use punchlist_core::text::counted;
use punchlist_core::{Run, RunId, Status};
use punchlist_engine::agent::Live;
use punchlist_ops::operations::run_show::{self, RunItem, RunShow};
use punchlist_ops::{Envelope, Ops};

use super::super::live::{self, brief, fault, name};
use crate::args::Globals;
use crate::output::{CYAN, DIM, GREEN, RED, YELLOW};
use crate::render::columns::{cut, hanging};
use crate::render::runs::item_line;
use crate::{caller, output};

/// How many items are drawn at once.
const ITEMS_MAX: usize = 8;

/// The widest bar.
const BAR_MAX: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Nothing is shown during the run.
    Silent,
    /// One line for each change.
    Lines,
    /// Drawn at the bottom of a terminal.
    Drawn,
}

/// Shows a run.
pub(super) struct View<'a> {
    ops: &'a Ops,
    envelope: &'a Envelope,
    id: RunId,
    form: Form,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// How many lines are drawn at the bottom.
    drawn: usize,
    /// The model's last text has no line break after it yet.
    is_open: bool,
    items: Vec<RunItem>,
    /// Remarks that were made already.
    said: Vec<String>,
}

impl<'a> View<'a> {
    pub(super) fn new(globals: &Globals, ops: &'a Ops, envelope: &'a Envelope, id: RunId) -> Self {
        let form = if globals.json || globals.quiet {
            Form::Silent
        } else if output::remarks_on_terminal() {
            Form::Drawn
        } else {
            Form::Lines
        };
        Self { ops, envelope, id, form, seen: Mutex::default() }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the model, and whether the agent continues by itself (S-26).
    pub(super) fn announce(&self) {
        let envelope = self.envelope_now();
        let Ok(look) = self.ops.look_at_run(&envelope, self.id, 1, None) else { return };
        let Run { agent, settings, .. } = &look.run;
        let how = if settings.drives {
            let most = counted(settings.budget.max_continuations, "time", "times");
            format!("auto mode: it continues while items are open (at most {most})")
        } else {
            "auto mode is off: it may stop with items left (--until-done)".to_owned()
        };
        self.passage(&format!("{agent} · {} · {how}", settings.model), DIM);
        self.refresh();
    }

    /// A remark that need not be made twice.
    pub(super) fn once(&self, text: &str) {
        let mut seen = self.seen();
        if !seen.said.iter().any(|said| said == text) {
            seen.said.push(text.to_owned());
            drop(seen);
            self.remark(text);
        }
    }

    pub(super) fn remark(&self, text: &str) {
        self.line(&format!("{DIM}{}{DIM:#}", self.fit(text)));
    }

    /// Shows an event of the run as it happens.
    pub(super) fn observe(&self, live: &Live<'_>) {
        if self.form == Form::Silent {
            return;
        }
        match live {
            Live::Text { run, text } if self.is_own(run) => self.text(text),
            Live::Replied { run, text, .. } => {
                if self.is_own(run) {
                    self.end_text();
                } else if !text.trim().is_empty() {
                    let said = format!("{}: {text}", name(run));
                    self.line(&format!("{DIM}  {}{DIM:#}", self.fit_to(&said, 2)));
                }
            }
            Live::Calls { run, tool, input, .. } => {
                let words = format!("→ {tool} {}", brief(input));
                self.step(run, &words, CYAN);
            }
            Live::Returned { run, tool, text, is_error, .. } => {
                if *is_error {
                    self.step(run, &format!("✗ {tool}: {}", fault(text)), RED);
                }
                self.refresh();
            }
            Live::Retries { run, attempt, pause, error } => {
                let pause = pause.as_secs_f64();
                let words = format!("… no answer (try {attempt}): {error}; again in {pause:.1} s");
                self.step(run, &words, YELLOW);
            }
            Live::Continues { run, said } => self.continues(run, said),
            Live::Compacted { run, .. } => {
                self.step(run, "… what was said before was summed up", YELLOW);
            }
            Live::Begins { run } if !self.is_own(run) => {
                self.step(run, &format!("begins ({})", run.settings.model), DIM);
            }
            Live::Ends { run, reason, .. } if !self.is_own(run) => {
                let words = format!("ends: {}", reason.words());
                self.step(run, &words, if reason.is_drained() { GREEN } else { YELLOW });
            }
            Live::Waits { .. } | Live::Ends { .. } | Live::Asks { .. } => self.refresh(),
            Live::Text { .. }
            | Live::Begins { .. }
            | Live::Fails { .. }
            | Live::Delegates { .. }
            | Live::Leaves { .. } => {}
        }
    }

    /// Shows each continuation and its reason (S-26).
    fn continues(&self, run: &Run, said: &str) {
        let why = live::why(said);
        let (n, most) = (run.counters.continuations + 1, run.settings.budget.max_continuations);
        self.passage(&format!("↻ continuation {n} of {most}: {why}"), YELLOW);
    }

    /// Prints a text in full, in as many lines as needed.
    fn passage(&self, text: &str, style: anstyle::Style) {
        let width = output::remark_width().saturating_sub(1);
        let lines = hanging("  ", "", &output::line(text), width);
        let lines = lines.lines().map(|line| format!("{style}{line}{style:#}"));
        self.line(&lines.collect::<Vec<_>>().join("\n"));
    }

    fn is_own(&self, run: &Run) -> bool {
        run.id == self.id
    }

    /// One short line about a step; for another agent's run, with its name.
    fn step(&self, run: &Run, words: &str, style: anstyle::Style) {
        let words = match self.is_own(run) {
            true => words.to_owned(),
            false => format!("  {} {words}", name(run)),
        };
        self.line(&format!("{style}{}{style:#}", self.fit(&words)));
    }

    fn fit(&self, text: &str) -> String {
        self.fit_to(text, 0)
    }

    fn fit_to(&self, text: &str, less: usize) -> String {
        cut(output::line(text).trim_end(), output::remark_width().saturating_sub(less + 1))
    }

    fn line(&self, text: &str) {
        if self.form == Form::Silent {
            return;
        }
        let mut seen = self.seen();
        seen.make_room();
        output::remark(&format!("{text}\n"));
        self.draw(&mut seen);
    }

    fn text(&self, text: &str) {
        let mut seen = self.seen();
        seen.erase();
        // The reader may be gone; the run continues.
        drop(output::print(&output::clean(&text.replace('\t', "    "))));
        seen.is_open = !text.ends_with('\n');
    }

    fn end_text(&self) {
        let mut seen = self.seen();
        seen.make_room();
        self.draw(&mut seen);
    }

    /// Reads the lists again and shows what changed.
    fn refresh(&self) {
        let input = run_show::Input { run: self.id.into() };
        let Ok(shown) = self.ops.run::<RunShow>(&self.envelope_now(), input) else { return };
        let mut items = [shown.done, shown.left].concat();
        items.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        let mut seen = self.seen();
        if seen.items == items {
            return;
        }
        let before = std::mem::replace(&mut seen.items, items);
        match self.form {
            Form::Silent => {}
            Form::Drawn => {
                seen.make_room();
                self.draw(&mut seen);
            }
            Form::Lines => {
                seen.make_room();
                let settled = seen.items.iter().filter(|item| is_settled(item)).count();
                let total = seen.items.len();
                for item in seen.items.iter().filter(|item| !before.contains(item)) {
                    let line = format!("{} ({settled} of {total})", item_line(item));
                    output::remark(&format!("{}\n", self.fit(&line)));
                }
            }
        }
    }

    fn draw(&self, seen: &mut Seen) {
        if self.form != Form::Drawn || seen.items.is_empty() || seen.is_open {
            return;
        }
        seen.erase();
        let lines = block(&seen.items, output::remark_width());
        seen.drawn = lines.len();
        output::remark(&lines.concat());
    }

    /// Clears the drawn plan and the ^C that the terminal echoed below it.
    pub(super) fn interrupted(&self) {
        let mut seen = self.seen();
        seen.erase();
        if self.form == Form::Drawn && !seen.is_open {
            output::remark_raw(b"\r\x1b[0J");
        }
    }

    /// Removes the drawn plan, for the next output.
    pub(super) fn close(&self) {
        self.seen().make_room();
    }

    fn envelope_now(&self) -> Envelope {
        let now = caller::ticking();
        Envelope { idempotency_key: None, now, ..self.envelope.clone() }
    }
}

impl Seen {
    fn erase(&mut self) {
        if self.drawn > 0 {
            // From the left edge: the terminal echoes Ctrl-C as ^C and leaves the cursor behind it.
            output::remark_raw(format!("\r\x1b[{}A\x1b[0J", self.drawn).as_bytes());
            self.drawn = 0;
        }
    }

    /// The next line begins at the left.
    fn make_room(&mut self) {
        self.erase();
        if std::mem::take(&mut self.is_open) {
            drop(output::print("\n"));
        }
    }
}

const fn is_settled(item: &RunItem) -> bool {
    item.status.is_settled()
}

/// The plan with its bar, no line wider than this.
fn block(items: &[RunItem], width: usize) -> Vec<String> {
    let width = width.saturating_sub(1);
    let settled = items.iter().filter(|item| is_settled(item)).count();
    let length = BAR_MAX.min(width.saturating_sub(16)).max(4);
    let full = settled * length / items.len().max(1);
    let bar = format!("{}{}", "█".repeat(full), "░".repeat(length - full));
    let mut lines = vec![format!("{GREEN}{bar}{GREEN:#} {settled} of {}\n", items.len())];
    let open = items.iter().position(|item| !is_settled(item)).unwrap_or(items.len());
    let first = open.saturating_sub(2).min(items.len().saturating_sub(ITEMS_MAX));
    if first > 0 {
        lines.push(format!("{DIM}… {first} before{DIM:#}\n"));
    }
    for item in items.iter().skip(first).take(ITEMS_MAX) {
        let style = match item.status {
            Status::InProgress => CYAN,
            _ if is_settled(item) => DIM,
            _ if item.hold.is_some() => YELLOW,
            _ => anstyle::Style::new(),
        };
        lines.push(format!("{style}{}{style:#}\n", cut(&item_line(item), width)));
    }
    let rest = items.len().saturating_sub(first + ITEMS_MAX);
    if rest > 0 {
        lines.push(format!("{DIM}… {rest} more{DIM:#}\n"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn plain(lines: &[String]) -> Vec<String> {
        let plain = |line: &String| anstream::adapter::strip_str(line).to_string();
        lines.iter().map(plain).collect()
    }

    fn items(statuses: &[Status]) -> Vec<RunItem> {
        let item = |(n, status): (usize, &Status)| RunItem {
            id: n.to_string(),
            title: format!("item {n} 漢字"),
            status: *status,
            outcome: None,
            hold: None,
            claimed: false,
        };
        statuses.iter().enumerate().map(item).collect()
    }

    #[test]
    fn the_plan_is_drawn_with_a_bar_around_what_is_open() {
        let drawn =
            plain(&block(&items(&[Status::Completed, Status::InProgress, Status::Pending]), 40));
        let expected = [
            "███████░░░░░░░░░░░░░░░░ 1 of 3\n",
            "[x] item 0 漢字\n",
            "[/] item 1 漢字\n",
            "[ ] item 2 漢字\n",
        ];
        assert_eq!(drawn, expected);
        let many = [&[Status::Completed; 20][..], &[Status::Pending; 10]].concat();
        let drawn = plain(&block(&items(&many), 24));
        assert_eq!(drawn.len(), ITEMS_MAX + 3);
        assert_eq!((drawn[1].as_str(), drawn[10].as_str()), ("… 18 before\n", "… 4 more\n"));
        for width in [20, 24, 40] {
            for line in plain(&block(&items(&many), width)) {
                assert!(line.trim_end().width() < width, "{width}: {line}");
            }
        }
    }
}
