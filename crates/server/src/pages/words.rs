//! How pages write names, times, counts and errors.

use jiff::tz::Offset;
use jiff::{Timestamp, civil};
use maud::{Markup, PreEscaped, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use punchlist_core::Time;
use punchlist_core::host::{self, Host};
use punchlist_ops::Error;
use punchlist_ops::views::SessionView;
use punchlist_ops::views::run::RunView;

/// The characters that are not encoded in a part of a path.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Encodes a part of a path.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PATH).to_string()
}

/// `name=value` of a query.
pub(crate) fn pair(name: &str, value: &str) -> String {
    format!("{}={}", encoded(name), encoded(value))
}

/// The address of a page below a project.
pub(crate) fn address(project: &str, below: &str) -> String {
    format!("/p/{}{below}", encoded(project))
}

/// The name in a principal: `root:primary` is primary, `operator:ada` is ada.
pub(crate) fn name(principal: &str) -> &str {
    principal.split_once(':').map_or(principal, |(_, name)| name)
}

/// Who does the work: the host that executes a run, otherwise our agent.
pub(crate) fn worker(agent: &str, host: Option<Host>) -> &str {
    host.map_or(agent, |host| host.label())
}

/// Who executes a run.
pub(crate) fn of_run(run: &RunView) -> &str {
    worker(&run.agent, host::of_model(&run.model))
}

/// The agent of a session; `None` if none has acted in it. A run of a host has the host's name.
pub(crate) fn agent_of<'a>(
    session: &'a SessionView,
    newest: Option<&'a RunView>,
) -> Option<&'a str> {
    let agent = name(session.agent.as_deref()?);
    Some(newest.filter(|run| run.agent == agent).map_or(agent, of_run))
}

/// What a run waits for, in words.
pub(crate) fn waits(kind: &str) -> &'static str {
    match kind {
        "gate" => "paused until you answer",
        "delegations" => "waits for work that it delegated",
        "cooldown" => "waits before it continues",
        "pause" => "paused",
        "worker" => "waits for a worker",
        _ => "waits",
    }
}

/// "1 decision", "5 decisions".
pub(crate) fn count(n: i64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// Formats 1204 as 1,204.
pub(crate) fn grouped(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if n < 0 { format!("−{text}") } else { text }
}

/// A sum in dollars.
pub(crate) fn dollars(usd: f64) -> String {
    match usd {
        usd if usd > 0.0 && usd < 0.01 => "under $0.01".to_owned(),
        usd => format!("${usd:.2}"),
    }
}

fn seconds(from: Time, to: Time) -> i64 {
    (to.micros() - from.micros()).max(0) / 1_000_000
}

/// "26 min", "2 h", "3 days".
pub(crate) fn span(from: Time, to: Time) -> String {
    let (n, unit) = match seconds(from, to) {
        s if s < 60 => (s, " s"),
        s if s < 3_600 => (s / 60, " min"),
        s if s < 48 * 3_600 => (s / 3_600, " h"),
        s => (s / 86_400, " days"),
    };
    let mut text = n.to_string();
    text.push_str(unit);
    text
}

fn civil(time: Time) -> Option<civil::DateTime> {
    let at = Timestamp::from_microsecond(time.micros()).ok()?;
    Some(Offset::UTC.to_datetime(at))
}

/// "14 Dec", with the year if it is not the current one.
pub(crate) fn date(time: Time, now: Time) -> String {
    let (Some(at), Some(today)) = (civil(time), civil(now)) else { return time.to_string() };
    match at.year() == today.year() {
        true => at.strftime("%-d %b").to_string(),
        false => at.strftime("%-d %b %Y").to_string(),
    }
}

fn ago_words(time: Time, now: Time) -> String {
    match seconds(time, now) {
        s if s < 10 => "just now".to_owned(),
        s if s < 24 * 3_600 => span(time, now) + " ago",
        s if s < 48 * 3_600 => "yesterday".to_owned(),
        s if s < 7 * 86_400 => format!("{} days ago", s / 86_400),
        _ => date(time, now),
    }
}

/// A page has many times, and none of these texts has a character to escape.
fn shown(time: Time, words: &str, style: &'static str) -> Markup {
    let (datetime, title) = (PreEscaped(time.to_string()), PreEscaped(exact(time)));
    html! { time datetime=(datetime) title=(title) data-time=(style) { (PreEscaped(words)) } }
}

/// The months as dates name them.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The exact time, for a tooltip. A page has one for each of its times, so it is put together without
/// a pattern that would have to be read each time.
fn exact(time: Time) -> String {
    let Some(at) = civil(time) else { return String::new() };
    let month = usize::try_from(at.month() - 1).ok().and_then(|month| MONTHS.get(month));
    let mut text = at.day().to_string();
    text.reserve_exact("31 Dec 2026, 23:59:59 UTC".len());
    for part in [" ", month.copied().unwrap_or_default(), " ", &at.year().to_string(), ","] {
        text.push_str(part);
    }
    for (before, n) in [(' ', at.hour()), (':', at.minute()), (':', at.second())] {
        text.push(before);
        text.extend([n / 10, n % 10].map(|digit| char::from(b'0' + digit.unsigned_abs())));
    }
    text.push_str(" UTC");
    text
}

/// The time of the day: "10:42 UTC".
pub(crate) fn clock(time: Time) -> Markup {
    let words = civil(time).map_or_else(String::new, |at| at.strftime("%H:%M UTC").to_string());
    shown(time, &words, "on")
}

/// A day: "Today", "Yesterday", "14 Nov".
pub(crate) fn day(time: Time, now: Time) -> String {
    let days = |time: Time| time.micros().div_euclid(86_400_000_000);
    match days(now) - days(time) {
        0 => "Today".to_owned(),
        1 => "Yesterday".to_owned(),
        _ => date(time, now),
    }
}

/// When something happened, relative to now.
pub(crate) fn ago(time: Time, now: Time) -> Markup {
    shown(time, &ago_words(time, now), "ago")
}

/// How long something has lasted.
pub(crate) fn since(time: Time, now: Time) -> Markup {
    shown(time, &span(time, now), "for")
}

/// A future time: "until 14 Dec".
pub(crate) fn until(time: Time, now: Time) -> Markup {
    shown(time, &date(time, now), "on")
}

/// An error as sentences: what happened, and what to do.
pub(crate) fn said(error: &Error) -> Markup {
    quoted(&told(error))
}

/// The same as plain text.
pub(crate) fn told(error: &Error) -> String {
    let mut said = error.to_string();
    if let Error::Input(fault) = error
        && let Some(path) = fault.path()
    {
        said = said.replacen(&format!("`{path}`"), &field(path), 1);
    }
    said = sentence(&said);
    if let Some(hint) = error.hint().filter(|hint| is_for_people(hint)) {
        said.push(' ');
        said.push_str(&sentence(&hint));
    }
    said
}

/// A field of a request, as people call it: "entry 2 of criteria" for `criteria[1]`.
fn field(path: &str) -> String {
    let spaced = |name: &str| {
        let mut words = String::new();
        for letter in name.chars() {
            if letter.is_uppercase() || letter == '_' {
                words.push(' ');
            }
            words.extend(letter.to_lowercase().filter(|letter| *letter != '_'));
        }
        words
    };
    let at = path.strip_suffix(']').and_then(|path| path.rsplit_once('['));
    match at.and_then(|(name, at)| Some((name, at.parse::<usize>().ok()?))) {
        Some((name, at)) => format!("entry {} of {}", at + 1, spaced(name)),
        None => spaced(path),
    }
}

/// A text in which words between backticks are names, as in the error table. A single backtick stays.
pub(crate) fn quoted(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    let last = parts.len() - 1;
    html! {
        @for (n, part) in parts.iter().enumerate() {
            @match n % 2 == 1 {
                true if n < last => code { (part) },
                true => { "`" (part) },
                false => (part),
            }
        }
    }
}

/// Is this hint for people? Hints that name operations, fields or commands are for programs and
/// terminals.
fn is_for_people(hint: &str) -> bool {
    !hint.contains(['_', '`']) && !hint.contains("--")
}

/// A line of the error table as a sentence.
pub(crate) fn sentence(line: &str) -> String {
    let mut letters = line.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let rest = letters.as_str();
    let end = if rest.ends_with(['.', '!', '?', '”', ':']) { "" } else { "." };
    format!("{first}{rest}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_people_write_them() {
        let now = Time::parse("2026-11-16T12:00:00Z").unwrap();
        let before = |seconds: i64| ago_words(now.plus_seconds(-seconds), now);
        assert_eq!(before(2), "just now");
        assert_eq!(before(40), "40 s ago");
        assert_eq!(before(26 * 60), "26 min ago");
        assert_eq!(before(2 * 3_600), "2 h ago");
        assert_eq!(before(30 * 3_600), "yesterday");
        assert_eq!(before(3 * 86_400), "3 days ago");
        assert_eq!(before(20 * 86_400), "27 Oct");
        assert_eq!(before(400 * 86_400), "12 Oct 2025");
        assert_eq!(before(-60), "just now");
    }

    #[test]
    fn a_tooltip_has_the_exact_time() {
        let shown = |text: &str| exact(Time::parse(text).unwrap());
        assert_eq!(shown("2026-01-01T00:00:09Z"), "1 Jan 2026, 00:00:09 UTC");
        assert_eq!(shown("2025-12-31T23:59:59.9Z"), "31 Dec 2025, 23:59:59 UTC");
    }

    #[test]
    fn counts_agree_and_large_ones_are_grouped() {
        assert_eq!(count(1, "decision", "decisions"), "1 decision");
        assert_eq!(count(0, "decision", "decisions"), "0 decisions");
        assert_eq!(grouped(1_204), "1,204");
        assert_eq!(grouped(1_000_000), "1,000,000");
        assert_eq!(grouped(-48), "−48");
    }

    #[test]
    fn names_between_backticks_become_code() {
        let shown = |text: &str| quoted(text).into_string();
        assert_eq!(shown("no plan `a<b.md` here"), "no plan <code>a&lt;b.md</code> here");
        assert_eq!(shown("`a` and `b`"), "<code>a</code> and <code>b</code>");
        assert_eq!(shown("a ` alone"), "a ` alone");
        assert_eq!(shown(""), "");
    }

    #[test]
    fn error_lines_become_sentences() {
        assert_eq!(sentence("there is no issue #9"), "There is no issue #9.");
        assert_eq!(sentence("what is missing?"), "What is missing?");
    }
}
