//! The authority table, one block per subject.

use punchlist_core::Role;
use punchlist_ops::operations::authority_show::Output;

use super::columns::aligned;
use crate::output::{BOLD, DIM, line, width};

pub(super) fn render(output: &Output) -> String {
    let mut shown = String::new();
    let roles = output.roles.iter().copied().map(Role::name);
    let heading: Vec<String> = std::iter::once("action").chain(roles).map(str::to_owned).collect();
    for table in &output.tables {
        let mut rows = vec![heading.clone()];
        for row in &table.rows {
            let action = std::iter::once(&row.action);
            rows.push(action.chain(&row.cells).map(|cell| line(cell)).collect());
        }
        let rows = aligned(rows, width().max(60));
        shown.push_str(&format!("{BOLD}{}{BOLD:#}\n{rows}", line(&table.subject)));
        if let Some(own) = table.own.as_deref().filter(|own| !own.is_empty()) {
            let what = if own.starts_with("granted: ") { "" } else { "own: " };
            shown.push_str(&format!("{DIM}{what}{}{DIM:#}\n", line(own)));
        }
        shown.push('\n');
    }
    for legend in &output.legend {
        shown.push_str(&format!("{DIM}{}{DIM:#}\n", line(legend)));
    }
    shown
}
