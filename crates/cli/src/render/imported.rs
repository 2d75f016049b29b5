//! What an imported checklist has brought in, and what it has not.

use serde_json::Value;

use super::number;
use crate::output::{DIM, GREEN, line};

pub(crate) fn render(answer: &Value) -> String {
    let counted = |field: &str| number(answer, field);
    let items = match counted("created") {
        1 => "1 item".to_owned(),
        n => format!("{n} items"),
    };
    let mut shown = format!(
        "{GREEN}Imported{GREEN:#} {items} into issue #{} ({} claimed, {} cancelled).\n",
        counted("number"),
        counted("claimed"),
        counted("cancelled"),
    );
    for text in answer["skipped"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let text = line(text.as_str().unwrap_or_default());
        shown.push_str(&format!("{DIM}on the list already: {text}{DIM:#}\n"));
    }
    shown
}
