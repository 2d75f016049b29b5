//! A plan as text for an agent that resumes (O-24 to O-28, F-11): three forms, each within a budget
//! of characters.
//!
//! ```markdown
//! ## Current Tasks
//! - [x] Task 1: Add user model (@backend, completed)
//! - [ ] Task 2: Add login endpoint (@backend, in spec review)  <-- current
//! - [ ] Task 3: Add JWT middleware (pending)
//! ```
//!
//! `tasks` shows the level on which work is assigned, `tree` everything, `line` only the current
//! task. A task is always one line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget::{Entry, cut, fit};
use super::position::{Position, Reason, badge, position, waits_for};
use super::state::{Need, State, need, state};
use super::tree::{Branch, Tree};
use crate::text::normalised;
use crate::{Agents, Scope, Snapshot, Status, Time};

/// How much of a plan is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The current task and its siblings.
    #[default]
    Tasks,
    /// The whole tree.
    Tree,
    /// One line: the current task.
    Line,
}

/// A plan as text, and how many tasks the budget left out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    pub left_out: usize,
}

const HEADING: &str = "## Current Tasks";
const CURRENT: &str = "  <-- current";

/// Renders a plan within a budget of characters. Tasks that do not fit are left out and counted:
/// settled ones first, then the farthest from the current one.
#[must_use]
pub fn render(
    snapshot: &Snapshot,
    agents: &Agents,
    form: Form,
    budget: Option<usize>,
    now: Time,
) -> Rendered {
    let tree = Tree::of(snapshot);
    let place = position(&tree, now);
    let file = plan_file(&snapshot.list.scope);
    let teller = Teller { tree: &tree, agents, place, file, now };
    match form {
        Form::Tasks => teller.tasks(budget),
        Form::Tree => teller.whole(budget),
        Form::Line => Rendered { text: cut(teller.line(), budget), left_out: 0 },
    }
}

/// Renders a whole plan from its tree and position.
#[must_use]
pub fn render_whole(
    tree: &Tree<'_>,
    place: Position,
    agents: &Agents,
    scope: &Scope,
    now: Time,
) -> String {
    Teller { tree, agents, place, file: plan_file(scope), now }.whole(None).text
}

fn plan_file(scope: &Scope) -> &str {
    match scope {
        Scope::Plan { plan_file, .. } => plan_file,
        _ => "",
    }
}

struct Teller<'a> {
    tree: &'a Tree<'a>,
    agents: &'a Agents,
    place: Position,
    file: &'a str,
    now: Time,
}

impl<'a> Teller<'a> {
    fn branch(&self, index: usize) -> &'a Branch<'a> {
        &self.tree.branches()[index]
    }

    fn tasks(&self, budget: Option<usize>) -> Rendered {
        let Some(current) = self.place.current else {
            let text = format!("{HEADING}\n{}", self.nothing());
            return Rendered { text: cut(text, budget), left_out: 0 };
        };
        let shown = self.shown(current);
        let siblings: Vec<usize> = self.tree.children(self.branch(shown).parent).collect();
        let at = siblings.iter().position(|index| *index == shown).unwrap_or(0);
        let entries = siblings.iter().enumerate().map(|(place, index)| {
            let branch = self.branch(*index);
            let mark = if *index == shown { self.mark(current) } else { self.waits(*index) };
            let text = format!("- {}{}{mark}", head(branch), self.activity_note(*index));
            Entry {
                text,
                is_settled: !branch.is_open,
                is_settled_below: !branch.is_open && !branch.open_below,
                leads_there: *index == shown,
                distance: place.abs_diff(at),
            }
        });
        fit(Some(HEADING), &entries.collect::<Vec<_>>(), at, budget)
    }

    fn whole(&self, budget: Option<usize>) -> Rendered {
        if self.tree.is_empty() {
            return Rendered { text: cut(self.nothing(), budget), left_out: 0 };
        }
        let current = self.place.current.unwrap_or(0);
        let (distances, leads_there) = self.distances(current);
        let handed_out = self.handed_out();
        let entries = self.tree.branches().iter().enumerate().map(|(index, branch)| {
            let mut text = "    ".repeat(branch.depth);
            text.push_str(&head(branch));
            if branch.depth == 0 {
                text.push_str(&format!(" (plan: {})", self.file));
            }
            let peers = handed_out[branch.parent.map_or(0, |parent| parent + 1)];
            text.push_str(&self.state_note(branch, peers));
            let is_current = self.place.current == Some(index);
            text.push_str(&if is_current { self.mark(index) } else { self.waits(index) });
            Entry {
                text,
                is_settled: !branch.is_open,
                is_settled_below: !branch.is_open && !branch.open_below,
                leads_there: leads_there[index],
                distance: distances[index],
            }
        });
        fit(None, &entries.collect::<Vec<_>>(), current, budget)
    }

    fn line(&self) -> String {
        let Some(current) = self.place.current else {
            return format!("Plan {}: {}", self.file, self.nothing());
        };
        let word = match self.place.reason {
            Reason::ReadyToClose => "ready to close",
            _ => "current",
        };
        let (settled, total) = self.tree.settled();
        let noun = if total == 1 { "task" } else { "tasks" };
        let title = normalised(&self.branch(current).todo.title);
        let mut line =
            format!("Plan {}: {settled} of {total} {noun} settled; {word}: {title}", self.file);
        let shown = self.shown(current);
        if shown != current {
            let above = normalised(&self.branch(shown).todo.title);
            line.push_str(&format!(", in {above}"));
        }
        line + &self.state_note(self.branch(shown), true) + &self.badge(current)
    }

    /// The mark of the current task, and why nobody can work on it, if so.
    fn mark(&self, current: usize) -> String {
        format!("{CURRENT}{}", self.badge(current))
    }

    /// What an open task itself waits for.
    fn waits(&self, index: usize) -> String {
        let first = if self.branch(index).is_open { self.tree.first(index) } else { Vec::new() };
        waits_for(&first).map(|words| format!(" ({words})")).unwrap_or_default()
    }

    fn badge(&self, index: usize) -> String {
        let badge = badge(self.tree, index, self.now);
        badge.map(|badge| format!(" ({badge})")).unwrap_or_default()
    }

    fn nothing(&self) -> String {
        match self.place.reason {
            Reason::NoTasks => "nothing is current, there are no tasks".to_owned(),
            _ => match self.tree.settled().1 {
                1 => "nothing is current, the task is settled".to_owned(),
                total => format!("nothing is current, all {total} tasks are settled"),
            },
        }
    }

    /// The task whose level is shown: the nearest assigned one above the current task, else the
    /// current task itself.
    fn shown(&self, current: usize) -> usize {
        self.tree.above(current).find(|at| self.branch(*at).is_active).unwrap_or(current)
    }

    /// The agent and the state of a task; empty for an unassigned task among unassigned ones.
    fn state_note(&self, branch: &Branch<'_>, among_assigned: bool) -> String {
        let state = state(branch.todo, self.agents);
        match &branch.todo.assignee {
            Some(agent) => format!(" (@{agent}, {})", self.word(branch, state)),
            None if !branch.is_open => String::new(),
            None if state == State::Pending && !among_assigned => String::new(),
            None => format!(" ({state})"),
        }
    }

    /// Like [`Self::state_note`], but for an active task with the work going on in it (O-28).
    fn activity_note(&self, index: usize) -> String {
        let branch = self.branch(index);
        let (Some(agent), State::Active) = (&branch.todo.assignee, state(branch.todo, self.agents))
        else {
            return self.state_note(branch, true);
        };
        if need(branch.todo, self.agents) == Some(Need::Reassignment) {
            return self.state_note(branch, true);
        }
        let child = self.tree.children(Some(index)).find(|child| self.branch(*child).is_open);
        match (child, self.agents.status.get(agent)) {
            (Some(child), _) => {
                let text = normalised(&self.branch(child).todo.title).to_lowercase();
                format!(" (@{agent}, in {text})")
            }
            (None, Some(status)) => format!(" (@{agent}, {status})"),
            (None, None) => self.state_note(branch, true),
        }
    }

    /// A state that looks good is replaced if the agent is silent or gone.
    fn word(&self, branch: &Branch<'_>, state: State) -> &'static str {
        match (state, need(branch.todo, self.agents)) {
            (State::Active, Some(Need::Reassignment)) => "needs reassignment",
            (State::Failed, Some(Need::Reassignment)) => "failed, needs reassignment",
            (State::Blocked, Some(Need::Reassignment)) => "blocked, needs reassignment",
            _ => state.name(),
        }
    }

    /// Is a child assigned? First for the top level, then for each task.
    fn handed_out(&self) -> Vec<bool> {
        let mut handed_out = vec![false; self.tree.len() + 1];
        for branch in self.tree.branches() {
            handed_out[branch.parent.map_or(0, |parent| parent + 1)] |=
                branch.todo.assignee.is_some();
        }
        handed_out
    }

    /// For each task its distance from the current one, and whether it is above it.
    fn distances(&self, current: usize) -> (Vec<usize>, Vec<bool>) {
        let branches = self.tree.branches();
        let mut leads_there = vec![false; branches.len()];
        leads_there[current] = true;
        for above in self.tree.above(current) {
            leads_there[above] = true;
        }
        // For each task, how many of its ancestors are also ancestors of the current one.
        let mut shared = vec![0; branches.len()];
        let mut distances = Vec::with_capacity(branches.len());
        for (index, branch) in branches.iter().enumerate() {
            shared[index] = match (leads_there[index], branch.parent) {
                (true, _) => branch.depth + 1,
                (false, Some(parent)) => shared[parent],
                (false, None) => 0,
            };
            distances.push(branch.depth + branches[current].depth + 2 - 2 * shared[index]);
        }
        (distances, leads_there)
    }
}

/// The mark and the text of a task.
fn head(branch: &Branch<'_>) -> String {
    let mark = match branch.todo.status {
        Status::Completed => "[x] ",
        Status::Cancelled => "[-] ",
        Status::Backlog | Status::Pending | Status::InProgress => "[ ] ",
    };
    [mark, &normalised(&branch.todo.title)].concat()
}
