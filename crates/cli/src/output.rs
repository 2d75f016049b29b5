//! Writing for people and programs: the only place that touches the standard streams.
//!
//! Colours appear on a terminal only, and never with `--no-color` or NO_COLOR. Text that came
//! from users or models is stripped of control characters before it reaches a terminal.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde::Serialize;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// Prints to standard output; colours are removed where they are not wanted.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = AutoStream::auto(io::stdout().lock());
    if io::stdout().is_terminal() {
        out.write_all(shown(text).as_bytes())?;
    } else {
        out.write_all(text.as_bytes())?;
    }
    out.flush()
}

/// Prints one line of JSON, even at a terminal: one of many.
pub(crate) fn print_json_line(line: &impl Serialize) -> io::Result<()> {
    print(&format!("{}\n", escaped(&serde_json::to_string(line)?)))
}

/// Prints JSON: in one line for programs, indented at a terminal.
pub(crate) fn print_json(answer: &impl Serialize) -> io::Result<()> {
    print(&json_text(answer)?)
}

/// Prints bytes to standard output as they are: for programs, not for people.
pub(crate) fn print_raw(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Standard output as a stream of lines of JSON, for output that is too long for memory.
pub(crate) fn stream() -> Lines {
    let is_terminal = io::stdout().is_terminal();
    Lines { out: io::BufWriter::new(io::stdout().lock()), is_terminal, line: Vec::new() }
}

/// See [`stream`].
pub(crate) struct Lines {
    out: io::BufWriter<io::StdoutLock<'static>>,
    is_terminal: bool,
    /// The unfinished line.
    line: Vec<u8>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.out.write(bytes);
        }
        self.line.extend_from_slice(bytes);
        if let Some(end) = self.line.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.line.split_off(end + 1);
            let whole = std::mem::replace(&mut self.line, rest);
            self.out.write_all(escaped(&String::from_utf8_lossy(&whole)).as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Has the reader of our output closed it? Needed while we write nothing: a write would fail and
/// show it.
pub(crate) fn nobody_reads() -> bool {
    #[cfg(unix)]
    {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        use std::os::fd::AsFd;
        let out = io::stdout();
        let mut watched = [PollFd::new(out.as_fd(), PollFlags::empty())];
        let found = poll(&mut watched, PollTimeout::ZERO);
        found.is_ok()
            && watched[0]
                .revents()
                .is_some_and(|seen| seen.intersects(PollFlags::POLLERR | PollFlags::POLLHUP))
    }
    #[cfg(not(unix))]
    false
}

/// Turns colours off for the rest of the process.
pub(crate) fn without_color() {
    ColorChoice::Never.write_global();
}

/// Text on standard error as it is.
pub(crate) fn remark(text: &str) {
    let mut err = AutoStream::auto(io::stderr().lock());
    drop(err.write_all(shown(text).as_bytes()));
}

/// Bytes on standard error as they are.
pub(crate) fn remark_raw(bytes: &[u8]) {
    drop(io::stderr().lock().write_all(bytes));
}

/// Is standard error a terminal that can draw over what it shows?
pub(crate) fn remarks_on_terminal() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

/// How many columns there are on standard error.
pub(crate) fn remark_width() -> usize {
    columns(io::stderr().is_terminal(), || terminal_size::terminal_size_of(io::stderr()))
}

/// Turns remarks off: a shell asks for completions while a person types.
pub(crate) fn be_silent() {
    SILENT.store(true, Ordering::Relaxed);
}

static SILENT: AtomicBool = AtomicBool::new(false);

/// A remark on standard error; a write error is ignored.
pub(crate) fn warn(text: &str) {
    if SILENT.load(Ordering::Relaxed) {
        return;
    }
    let mut err = AutoStream::auto(io::stderr().lock());
    drop(writeln!(err, "{YELLOW}note{YELLOW:#}: {}", shown(text)));
}

/// An error on standard error: what happened, and what to do next.
pub(crate) fn fail(code: &str, message: &str, hint: &str) {
    let mut err = AutoStream::auto(io::stderr().lock());
    // A message quotes texts of others: their lines are marked, so that none looks like ours.
    let message = clean(message).trim_end().replace('\n', "\n│ ");
    drop(writeln!(err, "{RED}error{RED:#} [{code}]: {message}"));
    if !hint.is_empty() {
        drop(writeln!(err, "{}", indent(&clean(hint))));
    }
}

fn indent(hint: &str) -> String {
    let mut lines = hint.lines();
    let first = format!("  {CYAN}next{CYAN:#}: {}", lines.next().unwrap_or_default());
    lines.fold(first, |text, line| format!("{text}\n        {}", line.trim_start()))
}

/// Text safe for a terminal: control characters except line breaks are replaced by a visible sign.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if is_harmful(c) && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// Characters that a terminal obeys instead of showing: C0, DEL and C1. Also those that change the
/// direction of text or break a line, which make a text look different.
fn is_harmful(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
}

/// JSON that is safe for a terminal: inside its strings the same characters are escaped. Parsing it
/// gives the same value.
pub(crate) fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        // JSON itself has line breaks, and escapes every other control character below a space.
        if is_harmful(c) && c != '\n' {
            let _ = write!(text, "\\u{:04x}", u32::from(c));
        } else {
            text.push(c);
        }
    }
    text
}

/// The last filter before a terminal: only text and colours pass, whatever their source.
fn shown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| is_harmful(c) && c != '\n') {
        safe.push_str(&rest[..at]);
        rest = &rest[at..];
        let colour = rest.strip_prefix("\u{1b}[").and_then(|code| {
            let end = code.find(|c: char| !(c.is_ascii_digit() || c == ';'))?;
            code[end..].starts_with('m').then_some(end + 3)
        });
        let length = match colour {
            Some(length) => {
                safe.push_str(&rest[..length]);
                length
            }
            None => {
                safe.push('\u{fffd}');
                rest.chars().next().map_or(0, char::len_utf8)
            }
        };
        rest = &rest[length..];
    }
    safe.push_str(rest);
    safe
}

/// The text on one line, safe for a terminal.
pub(crate) fn line(text: &str) -> String {
    clean(&text.replace(['\n', '\t'], " "))
}

/// Is there a person at the terminal who can read and answer a question?
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The width in columns: from COLUMNS, else the terminal's, else 100.
pub(crate) fn width() -> usize {
    columns(io::stdout().is_terminal(), terminal_size::terminal_size)
}

/// Like [`width`], but unlimited without a terminal: programs get whole lines.
pub(crate) fn whole_width() -> usize {
    let is_terminal = io::stdout().is_terminal() || std::env::var_os("COLUMNS").is_some();
    if is_terminal { width() } else { usize::MAX }
}

fn columns(
    is_terminal: bool,
    size: impl FnOnce() -> Option<(terminal_size::Width, terminal_size::Height)>,
) -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    if let Some(said) = said.filter(|said: &usize| *said > 0) {
        said.max(20)
    } else if is_terminal {
        size().map_or(80, |(width, _)| usize::from(width.0)).max(20)
    } else {
        100
    }
}

/// A terminal's second screen, for output that is redrawn; closed on drop.
#[derive(Debug)]
pub(crate) struct Screen(());

impl Screen {
    /// `None` if there is no terminal.
    pub(crate) fn open() -> Option<Self> {
        // The second screen, and no cursor on it.
        io::stdout().is_terminal().then(|| print_raw(b"\x1b[?1049h\x1b[?25l").ok())??;
        Some(Self(()))
    }

    /// Shows a text from the top. If it is too long, shows the part around `here`.
    pub(crate) fn show(&self, text: &str, here: &str) -> io::Result<()> {
        let height = terminal_size::terminal_size().map_or(24, |(_, height)| usize::from(height.0));
        print_raw(b"\x1b[H\x1b[2J")?;
        print(&window(text, here, height))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        drop(print_raw(b"\x1b[?25h\x1b[?1049l"));
    }
}

/// As many lines as fit, with the one that contains `here` in the middle.
fn window(text: &str, here: &str, height: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let height = height.max(1);
    let at = lines.iter().position(|line| line.contains(here)).unwrap_or(0);
    let first = at.saturating_sub(height / 2).min(lines.len().saturating_sub(height));
    let shown = &lines[first..lines.len().min(first + height)];
    // Without a line break at the end, which would scroll the first line away.
    shown.join("\n")
}

/// JSON in one line for programs, indented at a terminal.
pub(crate) fn json_text(answer: &impl Serialize) -> io::Result<String> {
    let text = if io::stdout().is_terminal() {
        serde_json::to_string_pretty(answer)?
    } else {
        serde_json::to_string(answer)?
    };
    Ok(escaped(&text) + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_shows_what_is_around_the_current_line() {
        let text: String =
            (0..9).map(|n| format!("{n}{}\n", if n == 6 { "<" } else { "" })).collect();
        assert_eq!(window(&text, "<", 3), "5\n6<\n7");
        assert_eq!(window(&text, "none", 2), "0\n1");
        assert_eq!(window("a\nb\n", "b", 5), "a\nb");
        assert_eq!(window(&text, "<", 5), "4\n5\n6<\n7\n8");
    }

    /// Text that changes the direction of writing can look like another text (CVE-2021-42574).
    #[test]
    fn text_for_a_terminal_does_not_change_direction() {
        let bidi = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
        for nasty in bidi.chars().chain(('\u{7f}'..='\u{9f}').chain(['\u{2028}', '\u{2029}'])) {
            assert_eq!(clean(&format!("a{nasty}b")), "a\u{fffd}b", "{nasty:?}");
            assert_eq!(shown(&format!("a{nasty}b")), "a\u{fffd}b", "{nasty:?}");
            let json = serde_json::json!({ "t": format!("a{nasty}b\n\u{1b}") });
            for text in [json.to_string(), format!("{json:#}\n")] {
                let text = escaped(&text);
                assert!(!text.contains(|c: char| is_harmful(c) && c != '\n'), "{text:?}");
                assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), json);
            }
        }
        assert_eq!(clean("שלום, café ✓"), "שלום, café ✓");
    }

    #[test]
    fn only_colours_pass_the_last_filter() {
        let text = format!("{RED}a{RED:#}\u{1b}[2J\u{1b}]0;x\u{7}\u{1b}[\nb\u{1b}[1;31");
        let colour = format!("{RED}a{RED:#}");
        let expected = "\u{fffd}[2J\u{fffd}]0;x\u{fffd}\u{fffd}[\nb\u{fffd}[1;31";
        assert_eq!(shown(&text), format!("{colour}{expected}"));
        assert_eq!(shown(""), "");
    }

    #[test]
    fn text_for_a_terminal_carries_no_control_characters() {
        let nasty = "a\u{1b}[2Jb\u{9b}31mc\r\u{7}\nd\te";
        assert_eq!(clean(nasty), "a\u{fffd}[2Jb\u{fffd}31mc\u{fffd}\u{fffd}\nd\u{fffd}e");
        assert_eq!(line(nasty), "a\u{fffd}[2Jb\u{fffd}31mc\u{fffd}\u{fffd} d e");
    }
}
