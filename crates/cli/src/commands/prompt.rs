//! Asking a person at a terminal, line by line.

use std::io::{BufRead, Read};
use std::sync::OnceLock;

use punchlist_core::text::yes_or_no;

use crate::failure::Failure;
use crate::output;
use crate::stop::Stop;

/// Receives Ctrl-C if that does not end the process by itself.
static STOP: OnceLock<Stop> = OnceLock::new();

/// The longest answer that is read, in bytes.
const LINE_MAX: u64 = 1 << 20;

/// From here on a question also ends when somebody asks to stop.
pub(super) fn heed(stop: &Stop) {
    drop(STOP.set(stop.clone()));
}

/// The text typed after a question, trimmed; `None` if the input has ended.
pub(super) fn ask(question: &str) -> Result<Option<String>, Failure> {
    output::print(question)?;
    if !is_answered() {
        output::print("\n")?;
        return Ok(None);
    }
    let mut line = String::new();
    if std::io::stdin().lock().take(LINE_MAX).read_line(&mut line)? == 0 {
        output::print("\n")?;
        return Ok(None);
    }
    Ok(Some(line.trim().to_owned()))
}

/// Waits until something is typed; false: somebody asked to stop instead.
#[cfg(unix)]
fn is_answered() -> bool {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;
    let Some(stop) = STOP.get() else { return true };
    let input = std::io::stdin();
    while !stop.asked() {
        let mut watched = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        match poll(&mut watched, PollTimeout::from(100_u8)) {
            Ok(0) => {}
            // Something was typed, or the input ended or failed: reading shows which.
            _ => return true,
        }
    }
    false
}

#[cfg(not(unix))]
fn is_answered() -> bool {
    true
}

/// Yes or no; `None` for any other text, and if the input has ended.
pub(super) fn yes(question: &str) -> Result<Option<bool>, Failure> {
    Ok(ask(question)?.as_deref().and_then(yes_or_no))
}

/// An empty line is yes. Any other text than yes or no is asked again. The end of the input is no.
pub(super) fn yes_unless_no(question: &str) -> Result<bool, Failure> {
    loop {
        match ask(question)? {
            None => return Ok(false),
            Some(said) if said.is_empty() => return Ok(true),
            Some(said) => match yes_or_no(&said) {
                Some(yes) => return Ok(yes),
                None => output::print("Please answer yes or no.\n")?,
            },
        }
    }
}
