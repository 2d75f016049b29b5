//! The authority table, one block per subject.

use serde_json::Value;

use super::columns::aligned;
use super::text;
use crate::output::{BOLD, DIM, width};

pub(super) fn render(answer: &Value) -> String {
    let strings = |value: &Value| -> Vec<String> {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut shown = String::new();
    for table in answer["tables"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let kind = text(table, "subject");
        let mut rows = vec![[vec!["action".to_owned()], strings(&answer["roles"])].concat()];
        for row in table["rows"].as_array().map(Vec::as_slice).unwrap_or_default() {
            rows.push([vec![text(row, "action").into_owned()], strings(&row["cells"])].concat());
        }
        let rows = aligned(rows, width().max(60));
        shown.push_str(&format!("{BOLD}{kind}{BOLD:#}\n{rows}"));
        let own = text(table, "own");
        if !own.is_empty() {
            let what = if own.starts_with("granted: ") { "" } else { "own: " };
            shown.push_str(&format!("{DIM}{what}{own}{DIM:#}\n"));
        }
        shown.push('\n');
    }
    for line in strings(&answer["legend"]) {
        shown.push_str(&format!("{DIM}{line}{DIM:#}\n"));
    }
    shown
}
