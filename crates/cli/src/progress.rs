//! How far a long piece of work is: a bar on a terminal's standard error, and nothing elsewhere.

use std::io::{self, BufRead, BufReader, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::Globals;

/// How often it is drawn, in a second.
const DRAWN_HZ: u8 = 8;

/// A bar, which goes away at the end.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// For work of a known size, in bytes or parts.
    pub(crate) fn of(globals: &Globals, word: &'static str, total: u64) -> Self {
        Self::shown_as(
            globals,
            ProgressBar::new(total),
            word,
            "{msg} {wide_bar} {percent:>3} %  {eta} left",
        )
    }

    /// For work whose size nobody knows: what was done so far is counted.
    pub(crate) fn counting(globals: &Globals, word: &'static str) -> Self {
        Self::shown_as(
            globals,
            ProgressBar::no_length(),
            word,
            "{spinner} {human_pos} {msg}  {elapsed}",
        )
    }

    fn shown_as(globals: &Globals, bar: ProgressBar, word: &'static str, form: &str) -> Self {
        if globals.quiet || globals.json || !io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(DRAWN_HZ));
        // The form is ours, so it is a good one; a bad one would only look plain.
        if let Ok(style) = ProgressStyle::with_template(form) {
            bar.set_style(style);
        }
        bar.set_message(word);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    pub(crate) fn at(&self, done: u64) {
        self.0.set_position(done);
    }

    /// The same where the size is known by now.
    pub(crate) fn at_of(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }

    /// Prints something else without drawing over it.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.0.suspend(print)
    }

    /// A reader that moves it on.
    pub(crate) fn reading<'r>(&self, from: impl io::Read + 'r) -> Box<dyn BufRead + 'r> {
        Box::new(BufReader::new(self.0.wrap_read(from)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
