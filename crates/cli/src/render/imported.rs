//! What an import has brought in, and what it has not.

use serde_json::Value;

use super::columns::hanging;
use super::{list, number, text};
use crate::output::{BOLD, DIM, GREEN, YELLOW, clean, line, width};

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

/// The missions of an old file.
pub(super) fn missions(answer: &Value) -> String {
    let missions = list(answer, "missions");
    if missions.is_empty() {
        return "The file holds no missions and no todos; nothing changed.\n".to_owned();
    }
    missions.iter().map(mission).collect()
}

fn mission(mission: &Value) -> String {
    let counted = |field: &str| number(mission, field);
    let todos = match counted("created") {
        1 => "1 todo".to_owned(),
        n => format!("{n} todos"),
    };
    let of_them: Vec<String> =
        [("claimed", "to be reviewed"), ("completed", "completed"), ("cancelled", "cancelled")]
            .into_iter()
            .filter(|(field, _)| counted(field) > 0)
            .map(|(field, words)| format!("{} {words}", counted(field)))
            .collect();
    let of_them = match of_them.as_slice() {
        [] => String::new(),
        parts => format!(" ({})", parts.join(", ")),
    };
    let slug = text(mission, "slug");
    let mut shown =
        format!("{GREEN}Imported{GREEN:#} {todos}{of_them} into {BOLD}{slug}{BOLD:#}.\n");
    for change in list(mission, "changes").iter().filter_map(Value::as_str) {
        shown.push_str(&format!("  {}\n", line(change)));
    }
    if counted("skipped") > 0 {
        let skipped = counted("skipped");
        shown.push_str(&format!("  {DIM}here already: {skipped}{DIM:#}\n"));
    }
    for warning in list(mission, "warnings").iter().filter_map(Value::as_str) {
        shown.push_str(&hanging(
            "  ! ",
            &format!("  {YELLOW}!{YELLOW:#} "),
            &clean(warning),
            width(),
        ));
    }
    shown
}
