//! The end of a transcript: did the model change anything since it was last spoken to? And its
//! beginning, where Codex names its version.
//!
//! A transcript may be long, written late, or hold a line of any length: only a part of it is read,
//! and what cannot be read says nothing.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use punchlist_store::outside;
use serde_json::Value;

/// How much of the end is read.
const TAIL: u64 = 256 << 10;

/// How much of the beginning is read.
const HEAD: u64 = 64 << 10;

/// The version of Codex that wrote a transcript, which its first line names. The line is long and may
/// not be read to its end, so it is not parsed.
pub(super) fn codex_version(path: &str) -> Option<String> {
    let file = outside::open(Path::new(path)).ok()?;
    let mut bytes = Vec::new();
    file.take(HEAD).read_to_end(&mut bytes).ok()?;
    let head = String::from_utf8_lossy(&bytes);
    let (_, after) = head.lines().next()?.split_once(r#""cli_version":""#)?;
    let (version, _) = after.split_once('"')?;
    let is_version = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    (!version.is_empty() && version.chars().all(is_version)).then(|| version.to_owned())
}

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

    #[test]
    fn codex_names_its_version_in_the_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rollout.jsonl");
        let version = |text: &str| {
            std::fs::write(&path, text).unwrap();
            codex_version(path.to_str().unwrap())
        };
        let long = "y".repeat(1 << 20);
        let meta = r#"{"type":"session_meta","payload":{"cli_version":"0.166.0","x":""#;
        assert_eq!(version(&format!("{meta}{long}\"}}}}\n")).as_deref(), Some("0.166.0"));
        assert_eq!(version(&format!("{{}}\n{meta}\"}}}}\n")), None);
        assert_eq!(version(r#"{"cli_version":"a b"}"#), None);
        assert_eq!(codex_version("/nowhere/at/all"), None);
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
