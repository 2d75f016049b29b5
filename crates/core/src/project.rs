//! Merge two projects: FROM's work moves into INTO, and FROM's issues get INTO's next numbers.
//!
//! The rule is decided on facts about both projects. Nothing is renamed or dropped to make them
//! fit: where both have the same plan, turn, mission or session of a host, or where somebody works
//! in FROM, the merge is refused. [`Merges`] says where merges moved things, as the log has it.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::authority::{Action, Subject, may};
use crate::event::ProjectMerged;
use crate::naming;
use crate::text::counted;
use crate::{
    Agent, By, Decide, DelegationId, Issue, IssueId, ProjectId, Refusal, Refused, RunId, Time,
    TodoId,
};

/// Move everything of one project into another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeProjects {
    pub confirm: bool,
}

/// A project of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    pub id: ProjectId,
    pub name: String,
}

/// What a merge depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merging {
    pub from: Side,
    pub into: Side,
    /// The issues of FROM, by number.
    pub issues: Vec<(IssueId, i64)>,
    /// The highest number that INTO ever gave to an issue.
    pub last_issue: i64,
    /// What both have, and only one can keep.
    pub clashes: Vec<Clash>,
    /// Who works in FROM now.
    pub at_work: Vec<AtWork>,
    pub counts: MergeCounts,
}

/// Something that both projects have and a project has once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Clash {
    /// A plan of this file on this branch.
    Plan { plan_file: String, branch: String },
    /// The list of this turn.
    Turn { conversation: String, turn: String },
    /// A mission of this slug.
    Mission { mission: String },
    /// A session with this id of its host.
    Session { external_id: String },
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan { plan_file, branch } => write!(f, "the plan `{plan_file}` on {branch}"),
            Self::Turn { conversation, turn } => {
                write!(f, "the turn `{turn}` of conversation `{conversation}`")
            }
            Self::Mission { mission } => write!(f, "the mission `{mission}`"),
            Self::Session { external_id } => write!(f, "the session `{external_id}` of a host"),
        }
    }
}

/// Somebody who works in a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AtWork {
    /// An item is held.
    Todo { todo_id: TodoId, title: String, holder: String, until: Time },
    /// Delegated work is in progress.
    Delegation { delegation_id: DelegationId, agent: String },
    /// A run has not stopped.
    Run { run_id: RunId, agent: String },
}

impl fmt::Display for AtWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Todo { title, holder, until, .. } => {
                write!(f, "{holder} holds `{title}` until {until}")
            }
            Self::Delegation { delegation_id, agent } => {
                let id = delegation_id.to_string();
                write!(f, "{agent} works on delegation {}", naming::short(&id))
            }
            Self::Run { run_id, agent } => {
                let id = run_id.to_string();
                write!(f, "run {} of {agent} is running", naming::short(&id))
            }
        }
    }
}

/// The old and the new number of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NewNumberView")]
pub struct NewNumber {
    /// Its number in the project that was merged.
    pub from: i64,
    /// Its number now.
    pub to: i64,
}

/// How much a merge moves, besides issues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MergeCountsView")]
pub struct MergeCounts {
    /// Plans, and lists of turns, sessions, issues and pillars.
    pub lists: u64,
    pub missions: u64,
    pub sessions: u64,
    pub conversations: u64,
    pub gates: u64,
    pub delegations: u64,
    pub runs: u64,
    /// Those with a path that both projects know are one agent from now on.
    pub agents: u64,
    /// Valid tokens that reach only the project that was merged. They reach nothing from now on.
    pub tokens: u64,
}

impl MergeCounts {
    /// What is moved, in words; kinds without any are left out.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let all = [
            (self.lists, "list", "lists"),
            (self.missions, "mission", "missions"),
            (self.sessions, "session", "sessions"),
            (self.conversations, "conversation", "conversations"),
            (self.gates, "gate", "gates"),
            (self.delegations, "delegation", "delegations"),
            (self.runs, "run", "runs"),
            (self.agents, "agent", "agents"),
        ];
        let some = all.into_iter().filter(|(count, _, _)| *count > 0);
        some.map(|(count, one, many)| counted(count, one, many)).collect()
    }
}

/// An issue that a merge moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MovedIssue {
    pub issue_id: IssueId,
    /// Its old number.
    pub from: i64,
    /// Its new number.
    pub to: i64,
}

impl From<&MovedIssue> for NewNumber {
    fn from(moved: &MovedIssue) -> Self {
        Self { from: moved.from, to: moved.to }
    }
}

impl Decide for MergeProjects {
    type On<'a> = &'a Merging;
    type Out = ProjectMerged;

    fn decide(&self, on: Self::On<'_>, By { actor, .. }: By<'_>) -> Result<Self::Out, Refused> {
        let (from, into) = (on.from.name.clone(), on.into.name.clone());
        if !may(actor, Subject::Project, Action::Merge, || false) {
            return Err(Refusal::MayNotMerge { role: actor.role }.into());
        }
        if !on.clashes.is_empty() {
            let conflicts = on.clashes.clone();
            return Err(Refusal::MergeConflict { from, into, conflicts }.into());
        }
        if !on.at_work.is_empty() {
            let (project, at_work) = (from, on.at_work.clone());
            return Err(Refusal::ProjectBusy { project, at_work }.into());
        }
        let numbers = on.last_issue + 1..;
        let issues: Vec<MovedIssue> = on
            .issues
            .iter()
            .zip(numbers)
            .map(|(&(issue_id, from), to)| MovedIssue { issue_id, from, to })
            .collect();
        if !self.confirm {
            let issues = issues.iter().map(NewNumber::from).collect();
            let counts = Box::new(on.counts);
            return Err(Refusal::MergeUnconfirmed { from, into, issues, counts }.into());
        }
        let last_issue = issues.last().map_or(on.last_issue, |last| last.to);
        let (from_id, into_id) = (on.from.id, on.into.id);
        Ok(ProjectMerged { from_id, from, into_id, into, issues, last_issue })
    }
}

/// Two records of one agent become one: what was reported last, and everything it was heard.
#[must_use]
pub fn joined(one: &Agent, other: &Agent) -> Agent {
    let (newer, older) =
        if other.updated_at > one.updated_at { (other, one) } else { (one, other) };
    Agent {
        kind: newer.kind.clone().or_else(|| older.kind.clone()),
        heartbeat_at: one.heartbeat_at.max(other.heartbeat_at),
        created_at: one.created_at.min(other.created_at),
        ..newer.clone()
    }
}

/// Where merges moved projects and issues, folded from the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merges {
    projects: BTreeMap<ProjectId, ProjectId>,
    numbers: BTreeMap<IssueId, i64>,
}

impl Merges {
    /// Adds a merge. Merges come in the order of the log; the same one may come twice.
    pub fn take(&mut self, merged: &ProjectMerged) {
        for into in self.projects.values_mut().filter(|into| **into == merged.from_id) {
            *into = merged.into_id;
        }
        self.projects.insert(merged.from_id, merged.into_id);
        self.numbers.extend(merged.issues.iter().map(|moved| (moved.issue_id, moved.to)));
    }

    /// The projects that were merged, each with the one that has its work now.
    #[must_use]
    pub const fn projects(&self) -> &BTreeMap<ProjectId, ProjectId> {
        &self.projects
    }

    /// The project that has the work of this one now.
    #[must_use]
    pub fn home(&self, project: ProjectId) -> ProjectId {
        self.projects.get(&project).copied().unwrap_or(project)
    }

    /// The number of an issue now; `number` is what its own events say.
    #[must_use]
    pub fn number(&self, issue: IssueId, number: i64) -> i64 {
        self.numbers.get(&issue).copied().unwrap_or(number)
    }

    /// Moves an issue that was folded from its own events.
    pub fn follow(&self, issue: &mut Issue) {
        issue.project_id = self.home(issue.project_id);
        issue.number = self.number(issue.id, issue.number);
    }
}
