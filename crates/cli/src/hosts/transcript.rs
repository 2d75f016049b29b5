//! The end of a transcript: did the model change anything since it was last spoken to?
//!
//! A transcript may be long, written late, or hold a line of any length: only its last part is
//! read, and what cannot be read says nothing.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use punchlist_store::outside;
use serde_json::Value;

/// How much of the end is read.
const TAIL: u64 = 256 << 10;

/// Was one of these tools called after the last message of a user?
pub(super) fn changed(path: &str, tools: &[&str]) -> bool {
    tail(Path::new(path)).is_some_and(|text| calls_any(&text, tools))
}

fn tail(path: &Path) -> Option<String> {
    let mut file = outside::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn calls_any(text: &str, tools: &[&str]) -> bool {
    for line in text.lines().rev() {
        // The first line may be cut in two.
        let Ok(entry) = serde_json::from_str::<Value>(line) else { continue };
        // Claude Code has messages, Codex has items.
        let item = if entry["message"].is_object() { &entry["message"] } else { &entry["payload"] };
        let content = item["content"].as_array();
        let parts = || content.into_iter().flatten();
        if item["role"] == "user" && !parts().any(|part| part["type"] == "tool_result") {
            return false;
        }
        let is_call = |part: &Value| {
            part["name"].as_str().is_some_and(|name| tools.contains(&name))
                || part["type"] == "local_shell_call"
        };
        if is_call(item) || parts().any(is_call) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: &str = r#"{"type":"user","message":{"role":"user","content":"Do it"}}"#;
    const EDIT: &str =
        r#"{"message":{"role":"assistant","content":[{"type":"tool_use","name":"Edit"}]}}"#;
    const DONE: &str = r#"{"message":{"role":"user","content":[{"type":"tool_result"}]}}"#;

    #[test]
    fn a_change_counts_since_the_last_word_of_a_user() {
        assert!(calls_any(&[USER, EDIT, DONE].join("\n"), &["Edit"]));
        assert!(!calls_any(&[EDIT, DONE, USER].join("\n"), &["Edit"]));
        assert!(!calls_any(&[USER, EDIT, DONE].join("\n"), &["Write"]));
        let codex = r#"{"type":"response_item","payload":{"type":"function_call","name":"shell"}}"#;
        assert!(calls_any(codex, &["shell"]));
        assert!(!calls_any("not json\n{\"half\":", &["shell"]));
    }

    /// Only the end of a line of 10 MB is read, and it is no JSON any more.
    #[test]
    fn a_line_of_ten_megabytes_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transcript.jsonl");
        let line = format!(
            r#"{{"message":{{"content":[{{"name":"Edit"}}],"x":"{}"}}}}"#,
            "y".repeat(10 << 20)
        );
        std::fs::write(&path, line).unwrap();
        assert!(!changed(path.to_str().unwrap(), &["Edit"]));
        assert!(!changed("/nowhere/at/all", &["Edit"]));
    }
}
