//! The log, one line per event.

use std::collections::BTreeMap;

use punchlist_core::Time;
use punchlist_ops::operations::event_list::{EventRow, NOISE, Output};
use unicode_width::UnicodeWidthStr;

use super::columns::{aligned, hanging};
use super::event_words::Names;
use super::times::{relative, to_the_second};
use crate::output::{DIM, line, whole_width};

/// The least width for what an event is about, in columns beside the rest.
const SUBJECT_MIN: usize = 20;

/// How the log is shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Form {
    /// Each step of a run and each message, too.
    pub(crate) all: bool,
    /// Absolute times instead of relative ones.
    pub(crate) absolute: bool,
    /// Only a part of the log was asked for.
    pub(crate) is_part: bool,
    /// What happened is on lines of its own, whether or not there is room beside it.
    pub(crate) is_narrow: bool,
}

impl Form {
    pub(crate) fn shows(self, event: &EventRow) -> bool {
        self.all || !NOISE.contains(&event.r#type.as_str())
    }

    /// Rows in columns. Where that would leave little room for what an event is about, what happened
    /// is on lines of its own, then and later.
    fn laid_out(&mut self, rows: Vec<[String; 5]>, width: usize) -> String {
        self.is_narrow |= leaves_little_room(&rows, width);
        if !self.is_narrow {
            return aligned(rows.into_iter().map(Vec::from).collect(), width);
        }
        let shown = rows.iter().map(|[seq, when, who, what, about]| {
            let head = hanging("", "", &format!("{seq}  {when}  {who}"), width);
            head + &hanging("  ", "  ", format!("{what}  {about}").trim_end(), width)
        });
        shown.collect()
    }
}

pub(super) fn render(output: &Output, now: Time) -> String {
    page(output, Form { all: true, ..Form::default() }, now)
}

/// A page of the log.
pub(crate) fn page(output: &Output, form: Form, now: Time) -> String {
    let mut shown = rows(&output.events, &output.names, form, now);
    if let Some(cursor) = output.next_cursor {
        shown.push_str(&format!("{DIM}… more: punch log --after {cursor}{DIM:#}\n"));
    }
    shown
}

/// What happened, as people say it. The names of the log are for programs.
fn happened(kind: &str) -> String {
    let words = match kind {
        "gate_opened" => "asked",
        "gate_answered" => "answered",
        "gate_superseded" => "asked anew",
        "gate_collected" => "answer received",
        "gate_answer_refused" => "answer refused",
        "todo_chained" => "todo waits",
        kind => return line(kind).replace('_', " "),
    };
    words.to_owned()
}

/// Its time, marked if the clock of its writer was set.
fn when(event: &EventRow, form: Form, now: Time) -> String {
    let time = if form.absolute { to_the_second(event.at) } else { relative(event.at, now) };
    if event.is_under_set_clock() { format!("{time} (clock set)") } else { time }
}

/// Events, with what ids in them are called.
pub(crate) fn rows(
    events: &[EventRow],
    known: &BTreeMap<String, String>,
    mut form: Form,
    now: Time,
) -> String {
    more_rows(events, known, &mut form, now)
}

/// Further events of a log that is followed. Once it is laid out for a narrow terminal it stays so, or
/// each part of it could look different.
pub(crate) fn more_rows(
    events: &[EventRow],
    known: &BTreeMap<String, String>,
    form: &mut Form,
    now: Time,
) -> String {
    if events.is_empty() {
        let nothing = match form.is_part {
            true => "No events match.\n",
            false => "Nothing has happened in this project yet.\n",
        };
        return nothing.to_owned();
    }
    let names = Names::of(events, known);
    let told = events.iter().filter(|event| form.shows(event));
    let rows = told.map(|event| {
        let who = match &event.r#as {
            Some(role) => line(&format!("{} as {role}", event.actor)),
            None => line(&event.actor),
        };
        let (seq, when) = (event.seq.to_string(), when(event, *form, now));
        [seq, when, who, happened(&event.r#type), line(&names.about(event))]
    });
    let rows = rows.collect();
    form.laid_out(rows, whole_width())
}

/// Would columns leave little room for what an event is about?
fn leaves_little_room(rows: &[[String; 5]], width: usize) -> bool {
    let widest = |column: usize| rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
    let before: usize = (0..4).map(|column| widest(column) + 2).sum();
    before.saturating_add(SUBJECT_MIN) > width
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of events on PostgreSQL have ten digits.
    #[test]
    fn in_a_narrow_terminal_the_subject_stays() {
        let cells =
            ["2269118464", "20 min ago", "root:primary", "issue created", "#1 Log in fails"];
        let row = || cells.map(str::to_owned);
        let laid_out = |rows, width| Form::default().laid_out(rows, width);
        let wide = "2269118464  20 min ago  root:primary  issue created  #1 Log in fails\n";
        assert_eq!(laid_out(vec![row()], usize::MAX), wide);
        assert_eq!(laid_out(vec![row()], 80), wide);
        assert_eq!(
            laid_out(vec![row()], 40),
            "2269118464  20 min ago  root:primary\n  issue created  #1 Log in fails\n"
        );
    }

    #[test]
    fn a_followed_log_that_was_narrow_once_stays_so() {
        let row = |who: &str, what: &str| ["7", "now", who, what, "#1"].map(str::to_owned);
        let mut form = Form::default();
        let short = || vec![row("me", "asked")];
        assert_eq!(form.laid_out(short(), 40), "7  now  me  asked  #1\n");
        let long = vec![row("root:primary.subagents.w", "asked")];
        let narrow = "7  now  root:primary.subagents.w\n  asked  #1\n";
        assert_eq!(form.laid_out(long, 40), narrow);
        assert_eq!(form.laid_out(short(), 40), "7  now  me\n  asked  #1\n");
    }
}
