//! Asking a person at a terminal, line by line.

use std::io::BufRead;

use crate::failure::Failure;
use crate::output;

/// What is typed after a question, trimmed; none when the input has ended.
pub(super) fn ask(question: &str) -> Result<Option<String>, Failure> {
    output::print(question)?;
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line)? == 0 {
        output::print("\n")?;
        return Ok(None);
    }
    Ok(Some(line.trim().to_owned()))
}

/// Yes or no; none for anything that is neither, and when the input has ended.
pub(super) fn yes(question: &str) -> Result<Option<bool>, Failure> {
    Ok(ask(question)?.as_deref().and_then(read_yes))
}

/// `y`, `yes`, `true`, and their opposites.
pub(super) fn read_yes(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}
