//! What an import has added, and what it has not.

use punchlist_core::text::counted;
use punchlist_ops::operations::{
    issue_checklist_import, mission_import, overview, project_export, project_list, project_merge,
};

use super::columns::hanging;
use crate::output::{BOLD, DIM, GREEN, YELLOW, clean, line, width};

pub(super) fn checklist(output: &issue_checklist_import::Output) -> String {
    let items = counted(output.created, "item", "items");
    let (number, claimed, cancelled) = (output.number, output.claimed, output.cancelled);
    let mut shown = format!(
        "{GREEN}Imported{GREEN:#} {items} into issue #{number} ({claimed} claimed, {cancelled} \
         cancelled).\n",
    );
    for text in &output.skipped {
        shown.push_str(&format!("{DIM}on the list already: {}{DIM:#}\n", line(text)));
    }
    shown
}

/// The missions of an old file.
pub(super) fn missions(output: &mission_import::Output) -> String {
    if output.missions.is_empty() {
        return "The file holds no missions and no todos; nothing changed.\n".to_owned();
    }
    output.missions.iter().map(mission).collect()
}

fn mission(mission: &mission_import::Imported) -> String {
    let todos = counted(mission.created, "todo", "todos");
    let of_them: Vec<String> = [
        (mission.claimed, "to be reviewed"),
        (mission.completed, "completed"),
        (mission.cancelled, "cancelled"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, words)| format!("{count} {words}"))
    .collect();
    let of_them = match of_them.as_slice() {
        [] => String::new(),
        parts => format!(" ({})", parts.join(", ")),
    };
    let slug = line(&mission.slug);
    let mut shown =
        format!("{GREEN}Imported{GREEN:#} {todos}{of_them} into {BOLD}{slug}{BOLD:#}.\n");
    for change in &mission.changes {
        shown.push_str(&format!("  {}\n", line(change)));
    }
    if mission.skipped > 0 {
        shown.push_str(&format!("  {DIM}here already: {}{DIM:#}\n", mission.skipped));
    }
    for warning in &mission.warnings {
        let lead = format!("  {YELLOW}!{YELLOW:#} ");
        shown.push_str(&hanging("  ! ", &lead, &clean(warning), width()));
    }
    shown
}

/// The projects of a store, and which is the caller's.
pub(super) fn projects(output: &project_list::Output) -> String {
    let line = |row: &project_list::ProjectRow| {
        let here = if row.current { "  (this one)" } else { "" };
        format!("{}{here}\n", line(&row.name))
    };
    if output.projects.is_empty() {
        return "There are no projects in this store yet.\n".to_owned();
    }
    let shown: String = output.projects.iter().map(line).collect();
    shown + &super::more(output.next_cursor.as_ref())
}

/// What was moved from one project into another, and the new numbers of its issues.
pub(super) fn merged(output: &project_merge::Output) -> String {
    let (from, into, counts) = (line(&output.from), line(&output.into), &output.counts);
    let mut shown = format!("{GREEN}Merged{GREEN:#} {from} into {into}.\n");
    for moved in &output.issues {
        shown.push_str(&format!("#{} is now #{}\n", moved.from, moved.to));
    }
    let others = counts.words();
    if !others.is_empty() {
        shown.push_str(&format!("Moved too: {}.\n", others.join(", ")));
    }
    if counts.tokens > 0 {
        let tokens = counted(counts.tokens, "token that reaches", "tokens that reach");
        shown.push_str(&format!(
            "{YELLOW}{tokens} only {from} will be refused:{YELLOW:#} make new ones for {into}, and \
             see `punch token list`.\n"
        ));
    }
    shown
}

/// What waits for a person, one line for each project.
pub(super) fn waiting(output: &overview::Output) -> String {
    let row = |row: &overview::ProjectCount| {
        let here = if row.current { " (this one)" } else { "" };
        let decisions = counted(row.waiting, "decision waits", "decisions wait");
        format!("{}{here}: {decisions}\n", line(&row.name))
    };
    match output.projects.is_empty() {
        true => "There are no projects in this store yet.\n".to_owned(),
        false => output.projects.iter().map(row).collect(),
    }
}

/// The portable part of a project; it is made to be read by programs.
pub(super) fn portable(output: &project_export::Output) -> String {
    serde_json::to_string_pretty(output).map(|text| format!("{text}\n")).unwrap_or_default()
}
