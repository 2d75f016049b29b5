//! What agents do, one line for each event: the output of a worker, for people and programs.

use anstyle::Style;
use punchlist_core::Run;
use punchlist_core::conversation::SYNTHETIC;
use punchlist_engine::agent::Live;
use serde_json::{Value, json};

use crate::args::Globals;
use crate::output::{CYAN, DIM, GREEN, RED, YELLOW};
use crate::render::columns::cut;
use crate::{caller, output};

/// Prints an event in the requested form.
pub(super) fn tell(globals: &Globals, live: &Live<'_>) -> std::io::Result<()> {
    if globals.json {
        let Some(mut line) = object(live) else { return Ok(()) };
        line["at"] = caller::ticking().to_string().into();
        return output::print_json_line(&line);
    }
    if globals.quiet {
        return Ok(());
    }
    match words(live) {
        Some((style, word, rest)) => {
            let rest = cut(output::line(&rest).trim_end(), output::width().saturating_sub(11));
            output::print(&format!("{style}{word:<9}{style:#}  {rest}\n"))
        }
        None => Ok(()),
    }
}

/// The agent's own name.
pub(super) fn name(run: &Run) -> &str {
    run.agent.as_str().rsplit('.').next().unwrap_or_default()
}

/// The style, a word for what happened, and the rest of the line.
fn words(live: &Live<'_>) -> Option<(Style, &'static str, String)> {
    Some(match live {
        Live::Begins { run } => {
            let what = if run.counters.calls == 0 { "begins" } else { "continues" };
            (CYAN, what, format!("{} ({}, {})", name(run), run.role, run.settings.model))
        }
        Live::Calls { run, tool, input, .. } => {
            (DIM, "calls", format!("{}: {tool} {}", name(run), brief(input)))
        }
        Live::Returned { run, tool, text, is_error: true, .. } => {
            (RED, "failed", format!("{}: {tool}: {}", name(run), fault(text)))
        }
        Live::Continues { run, said } => {
            (YELLOW, "continues", format!("{}: {}", name(run), why(said)))
        }
        Live::Retries { run, attempt, error, .. } => {
            (YELLOW, "retries", format!("{}: try {attempt}: {error}", name(run)))
        }
        Live::Waits { run, kind } => (YELLOW, "waits", format!("{}: for its {kind}", name(run))),
        Live::Ends { run, reason, project, issue, .. } => {
            let style = if reason.is_drained() { GREEN } else { YELLOW };
            let why = run.stop_detail.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            let of = match issue {
                _ if reason.is_drained() => String::new(),
                Some(number) => format!(" (project {project}, issue #{number}, run {})", run.id),
                None => format!(" (project {project}, run {})", run.id),
            };
            (style, "ends", format!("{}{of}: {}{why}", name(run), reason.words()))
        }
        _ => return None,
    })
}

/// The event as JSON, for programs.
fn object(live: &Live<'_>) -> Option<Value> {
    let of = |run: &Run, did: &str, more: Value| {
        let mut line =
            json!({ "did": did, "runId": run.id.to_string(), "agent": run.agent.as_str() });
        if let (Some(line), Value::Object(more)) = (line.as_object_mut(), more) {
            line.extend(more);
        }
        Some(line)
    };
    match live {
        Live::Begins { run } => {
            let (role, model) = (run.role.name(), &run.settings.model);
            of(run, "run_begins", json!({ "role": role, "model": model }))
        }
        Live::Calls { run, tool, .. } => of(run, "tool_called", json!({ "tool": tool })),
        Live::Returned { run, tool, is_error: true, text, .. } => {
            of(run, "tool_failed", json!({ "tool": tool, "error": fault(text) }))
        }
        Live::Replied { run, text, .. } if !text.trim().is_empty() => {
            of(run, "said", json!({ "text": text }))
        }
        Live::Continues { run, said } => of(run, "run_continued", json!({ "reason": why(said) })),
        Live::Retries { run, attempt, error, .. } => {
            of(run, "model_retried", json!({ "attempt": attempt, "error": error }))
        }
        Live::Waits { run, kind } => of(run, "run_waits", json!({ "for": kind })),
        Live::Ends { run, reason, project, issue, .. } => {
            let mut more = json!({ "stopReason": reason.code(), "project": project });
            if let Some(number) = issue {
                more["number"] = (*number).into();
            }
            if let Some(message) = &run.stop_detail {
                let code = run.stop_code.as_deref().unwrap_or(reason.code());
                more["error"] = json!({ "code": code, "message": message });
            }
            of(run, "run_ended", more)
        }
        _ => None,
    }
}

/// The driver's message, without the mark of a synthetic message.
pub(super) fn why(said: &str) -> &str {
    said.strip_prefix(SYNTHETIC).unwrap_or(said).trim()
}

/// The most informative fields of a call, in order.
const TELLING: [&str; 14] = [
    "action", "type", "items", "todos", "title", "content", "mission", "question", "reason",
    "text", "feedback", "outcome", "prompt", "status",
];

/// A short form of a tool's input: its most informative field, or all its texts.
pub(super) fn brief(input: &Value) -> String {
    fn texts<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::String(text) if !is_id(text) => found.push(text),
            Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
            Value::Object(fields) => {
                let telling = || TELLING.iter().filter_map(|name| fields.get(*name));
                let before = found.len();
                telling().for_each(|value| texts(value, found));
                if found.len() == before {
                    fields.values().for_each(|value| texts(value, found));
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    texts(input, &mut found);
    found.join(", ")
}

fn is_id(text: &str) -> bool {
    punchlist_core::RunId::parse(text).is_some()
}

/// The message of a refusal, or the tool's text.
pub(super) fn fault(text: &str) -> String {
    let error: Option<Value> = serde_json::from_str(text).ok();
    let message = error.as_ref().and_then(|error| error["error"]["message"].as_str());
    message.unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_shown_by_its_texts() {
        let input = json!({
            "items": [{ "title": "look", "why": "so" }, { "title": "write" }], "n": 3,
            "todoId": "01JCQ0000000000000000000AB", "slug": "x",
        });
        assert_eq!(brief(&input), "look, write");
        assert_eq!(brief(&json!({ "path": "a", "deep": { "line": "b" } })), "a, b");
        let refused = json!({ "error": { "code": "x", "message": "not so" } }).to_string();
        assert_eq!((fault(&refused), fault("plain")), ("not so".into(), "plain".into()));
    }
}
