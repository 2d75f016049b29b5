//! What happened: a closed list of facts in the past tense, with full new values.
//!
//! Events are what the log keeps and what `apply` folds. A stored event is never changed; when a
//! shape grows, its version goes up and the old one is upcast on reading, here.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::authority::Action;
use crate::conversation::{Conversation, MessageKind, Speaker};
use crate::deadline::Deadline;
use crate::delegation::{Delegation, Proposal, ProposalDecision, ProposedItem};
use crate::driver::{Counters, StopReason, Trigger, Wait};
use crate::evidence::Evidence;
use crate::gate::{Gate, GateState};
use crate::host::{Happened, Host};
use crate::issue::{Issue, IssueStatus, IssueUpdate, Link, LinkKind, Part};
use crate::list::{ArchiveReason, List, Scope};
use crate::metric::Reading;
use crate::mission::{Mission, Standing};
use crate::project::MovedIssue;
use crate::run::Settings;
use crate::session::Session;
use crate::todo::{Claim, Hold, Note, Priority, SettledBy, Todo, Wish};
use crate::{
    AgentPath, AgentStatus, ConversationId, DelegationId, GateId, IssueId, Lease, LinkId,
    MessageId, MetricId, MissionId, ProjectId, Reach, Refusal, Role, Run, RunId, SessionId, Time,
    TodoId, TokenId,
};

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident = $wire:literal { $($(#[$fdoc:meta])* $field:ident: $type:ty),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(rename_all = "camelCase")]
            pub struct $name { $($(#[$fdoc])* pub $field: $type),* }

            impl From<$name> for Event {
                fn from(event: $name) -> Self {
                    Self::$name(event)
                }
            }
        )*

        /// One thing that happened.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Event { $($name($name)),* }

        impl Event {
            /// The names of all event types, as stored in the log.
            pub const TYPES: &'static [&'static str] = &[$($wire),*];

            /// The name the log keeps.
            #[must_use]
            pub const fn type_name(&self) -> &'static str {
                match self { $(Self::$name(_) => $wire),* }
            }

            /// Reads the data of a stored event; `None` for a type this build does not know.
            pub fn read(type_name: &str, data: &str) -> serde_json::Result<Option<Self>> {
                match type_name {
                    $($wire => serde_json::from_str(data).map(|event| Some(Self::$name(event))),)*
                    _ => Ok(None),
                }
            }
        }

        /// Only the data; the type is stored beside it.
        impl Serialize for Event {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$name(event) => event.serialize(serializer)),* }
            }
        }
    };
}

events! {
    /// A project was created, on first use.
    ProjectOpened = "project_opened" { project_id: ProjectId, name: String, created_at: Time }
    /// A project was merged into another, with all its work. It is in the log of both. From here
    /// on the issues have these numbers, and everything of FROM is INTO's.
    ProjectMerged = "project_merged" {
        from_id: ProjectId,
        from: String,
        into_id: ProjectId,
        into: String,
        issues: Vec<MovedIssue>,
        /// The highest number that INTO has given to an issue now.
        last_issue: i64,
    }
    /// A list was created, on first use.
    ListOpened = "list_opened" { list: List }
    /// A list was archived, with all its items.
    ListArchived = "list_archived" { scope: Scope, archived_at: Time, reason: ArchiveReason }
    /// An archived list was brought back.
    ListUnarchived = "list_unarchived" { scope: Scope }
    /// The items of an archived list were deleted; `todos` is their number. From here on the list
    /// is empty; only earlier log entries still describe the items.
    ListPurged = "list_purged" { scope: Scope, todos: u64, last_seq: Option<i64> }
    /// An item was created.
    TodoCreated = "todo_created" { todo: Box<Todo> }
    /// Work began.
    TodoStarted = "todo_started" {
        todo_id: TodoId,
        started_at: Time,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }
    /// Back to pending: released, or yielded to another item.
    TodoYielded = "todo_yielded" { todo_id: TodoId, reason: Option<String> }
    /// Done, by an actor that may complete it.
    TodoCompleted = "todo_completed" {
        todo_id: TodoId,
        outcome: Option<String>,
        evidence: Vec<Evidence>,
        started_at: Time,
        settled_at: Time,
        settled_by: SettledBy,
        /// An agent accepted what it had claimed itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        self_accepted: bool,
    }
    /// It will not be done.
    TodoCancelled = "todo_cancelled" {
        todo_id: TodoId,
        outcome: Option<String>,
        settled_at: Time,
        settled_by: SettledBy,
    }
    /// Backlog to pending.
    TodoPromoted = "todo_promoted" { todo_id: TodoId, reason: Option<String> }
    /// Pending to backlog.
    TodoDemoted = "todo_demoted" { todo_id: TodoId, reason: Option<String> }
    /// Settled to pending, by the operator.
    TodoReopened = "todo_reopened" { todo_id: TodoId, reason: Option<String> }
    /// Out of view; the row stays.
    TodoRemoved = "todo_removed" { todo_id: TodoId, removed_at: Time }
    /// The operator confirmed a criterion.
    TodoRatified = "todo_ratified" { todo_id: TodoId, ratified_at: Time }
    /// A note was added.
    TodoNoted = "todo_noted" { note: Note }
    /// The text or the place of an item changed; all fields are new values.
    TodoRevised = "todo_revised" {
        todo_id: TodoId,
        title: String,
        phase: Option<String>,
        priority: Priority,
        position: i64,
        deadline: Option<Deadline>,
        reason: Option<String>,
    }
    /// Open, but not actionable.
    TodoHeld = "todo_held" { todo_id: TodoId, hold: Hold }
    /// Actionable again.
    TodoUnheld = "todo_unheld" { todo_id: TodoId }
    /// Deferred until a date; `None` ends the deferral.
    TodoDeferred = "todo_deferred" { todo_id: TodoId, until: Option<Time> }
    /// The maker claims that it is done.
    TodoClaimed = "todo_claimed" { todo_id: TodoId, claim: Claim }
    /// The reviewer returned the claim.
    ClaimReturned = "claim_returned" { todo_id: TodoId, feedback: String }
    /// Given to an agent, or to nobody.
    TodoAssigned = "todo_assigned" { todo_id: TodoId, assignee: Option<AgentPath> }
    /// Somebody holds it now, until the lease ends.
    TodoTaken = "todo_taken" {
        todo_id: TodoId,
        lease: Lease,
        /// The assignee, if taking the item also assigns it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assignee: Option<AgentPath>,
        /// When the work began, if taking the item also started it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<Time>,
    }
    /// It moved to another place in its tree, with all items below it.
    TodoMoved = "todo_moved" { todo_id: TodoId, parent_id: Option<TodoId>, position: i64 }
    /// It comes after these tasks now; if empty, it waits for nothing.
    TodoChained = "todo_chained" { todo_id: TodoId, after: Vec<TodoId> }
    /// Its description changed.
    TodoDescribed = "todo_described" { todo_id: TodoId, description: String }
    /// A token was created; its secret is not stored.
    TokenIssued = "token_issued" {
        token_id: TokenId,
        role: Role,
        agent: Option<AgentPath>,
        reach: Reach,
        expires_at: Option<Time>,
    }
    /// A token was revoked.
    TokenRevoked = "token_revoked" { token_id: TokenId }
    /// A link was made that signs a browser in, until this time.
    SignInLinkMade = "sign_in_link_made" { expires_at: Time }
    /// The identity rule of the store changed: `open` or `tokens`.
    StoreIdentitySet = "store_identity_set" { rule: String }
    /// A backup replaced the store. `lost`: number of events lost; `None` if unknown. The log
    /// entries after the previous event are gone.
    StoreRestored = "store_restored" { file: String, lost: Option<i64> }
    /// A recommendation by an actor that may not do it itself, with the command that would do it.
    ChangeRecommended = "change_recommended" { todo_id: TodoId, wish: Wish }
    /// A person was asked about an item that is overdue for this deadline.
    TodoEscalated = "todo_escalated" { todo_id: TodoId, deadline: Deadline }
    /// Hidden from the usual lists; the row stays.
    TodoArchived = "todo_archived" { todo_id: TodoId, archived_at: Time }
    /// A serious command was refused; nothing changed.
    CommandRefused = "command_refused" {
        todo_id: TodoId,
        action: Action,
        refusal: Refusal,
        /// The result that the caller reported too late, which is kept (Q-O3).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    }
    /// An issue was filed.
    IssueCreated = "issue_created" { issue: Box<Issue> }
    /// The status of an issue changed.
    IssueTransitioned = "issue_transitioned" {
        issue_id: IssueId,
        number: i64,
        from: IssueStatus,
        status: IssueStatus,
        reason: Option<String>,
        revision: i64,
        /// What of it a sign-off covers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<Part>,
    }
    /// The checklist of an issue changed.
    ChecklistChanged = "checklist_changed" {
        issue_id: IssueId,
        revision: i64,
        /// What of it a sign-off covers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<Part>,
    }
    /// An issue was assigned, or unassigned.
    IssueAssigned = "issue_assigned" {
        issue_id: IssueId,
        number: i64,
        assignment: Option<String>,
        revision: i64,
    }
    /// An issue was deferred until a date; `None` ends the deferral.
    IssueDeferred = "issue_deferred" {
        issue_id: IssueId,
        number: i64,
        until: Option<Time>,
        revision: i64,
    }
    /// The operator changed fields of an issue: the new values.
    IssueRevised = "issue_revised" {
        issue_id: IssueId,
        number: i64,
        title: String,
        body: String,
        labels: Vec<String>,
        priority: Option<Priority>,
        assignee: Option<String>,
        revision: i64,
        parts: Vec<Part>,
    }
    /// A line was added to an issue's ledger.
    IssueUpdated = "issue_updated" { update: IssueUpdate }
    /// Two issues were linked.
    IssueLinked = "issue_linked" { link: Link, number: i64, to: i64 }
    /// A link was removed.
    IssueUnlinked = "issue_unlinked" { link_id: LinkId, kind: LinkKind, number: i64, to: i64 }
    /// An attempt to close or reopen an issue was refused; nothing changed.
    IssueTransitionRefused = "issue_transition_refused" {
        issue_id: IssueId,
        number: i64,
        refusal: Refusal,
    }
    /// A session began.
    SessionStarted = "session_started" { session: Box<Session> }
    /// A session was bound to an issue.
    SessionBound = "session_bound" { session_id: SessionId, issue_id: IssueId, number: i64 }
    /// A session was unbound from its issue.
    SessionUnbound = "session_unbound" {
        session_id: SessionId,
        issue_id: IssueId,
        number: i64,
        taken_over_by: Option<SessionId>,
    }
    /// A session is over.
    SessionEnded = "session_ended" { session_id: SessionId }
    /// The host continued a session that was over.
    SessionReopened = "session_reopened" { session_id: SessionId }
    /// A session that waited for its host began there.
    SessionAdopted = "session_adopted" {
        session_id: SessionId,
        external_id: String,
        directory: Option<String>,
    }
    /// A session of a host got the beginning of its first prompt as its title.
    SessionTitled = "session_titled" { session_id: SessionId, title: String }
    /// A hook of a host was answered: `allow`, `continue` or `context`, and why.
    HookAnswered = "hook_answered" {
        /// Absent: no such session is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<SessionId>,
        host: Host,
        happened: Happened,
        answer: String,
        reason: String,
    }
    /// A chat began.
    ConversationOpened = "conversation_opened" { conversation: Conversation }
    /// Somebody wrote into a chat; the text is stored beside the log.
    MessagePosted = "message_posted" {
        message_id: MessageId,
        conversation_id: ConversationId,
        role: Speaker,
        kind: MessageKind,
    }
    /// A person is asked.
    GateOpened = "gate_opened" { gate: Box<Gate> }
    /// A person answered.
    GateAnswered = "gate_answered" {
        gate_id: GateId,
        state: GateState,
        response: Option<Value>,
        answered_by: String,
        revision: Option<i64>,
    }
    /// It was asked again before anybody answered.
    GateSuperseded = "gate_superseded" { gate_id: GateId, by: GateId }
    /// The asker has received the answer.
    GateCollected = "gate_collected" { gate_id: GateId }
    /// A standing permission was revoked; the response says by whom.
    PermissionRevoked = "permission_revoked" { gate_id: GateId, response: Value }
    /// An attempt to answer was refused; nothing changed.
    GateAnswerRefused = "gate_answer_refused" { gate_id: GateId, refusal: Refusal }
    /// Work was delegated to another agent.
    DelegationQueued = "delegation_queued" { delegation: Box<Delegation> }
    /// Somebody works on it now.
    DelegationStarted = "delegation_started" {
        delegation_id: DelegationId,
        by: String,
        attempts: i64,
    }
    /// The work came back.
    DelegationReturned = "delegation_returned" {
        delegation_id: DelegationId,
        result: String,
        proposal: Option<Proposal>,
    }
    /// The work failed.
    DelegationFailed = "delegation_failed" {
        delegation_id: DelegationId,
        error: String,
        /// It is queued for another attempt.
        again: bool,
    }
    /// The work was cancelled.
    DelegationCancelled = "delegation_cancelled" {
        delegation_id: DelegationId,
        reason: Option<String>,
    }
    /// A write without the current lease of a delegation was refused; nothing changed.
    DelegationRefused = "delegation_refused" {
        delegation_id: DelegationId,
        refusal: Refusal,
        /// The result that was reported too late, which is kept (Q-O3).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    }
    /// An agent was registered, or its status changed.
    AgentChanged = "agent_changed" {
        agent: AgentPath,
        kind: Option<String>,
        status: AgentStatus,
        note: Option<String>,
    }
    /// A mission was created, or changed to match its file.
    MissionInitialised = "mission_initialised" { mission: Box<Mission> }
    /// A mission or one of its pillars was paused or resumed.
    MissionStandingChanged = "mission_standing_changed" {
        mission_id: MissionId,
        pillar: Option<String>,
        status: Standing,
        next_cycle_at: Option<Time>,
    }
    /// A cycle of a mission was run.
    CycleRun = "cycle_run" { mission_id: MissionId, next_cycle_at: Option<Time> }
    /// A metric was read.
    ReadingRecorded = "reading_recorded" { mission_id: MissionId, reading: Reading }
    /// Metrics were queued to be read.
    CollectionQueued = "collection_queued" { mission_id: MissionId, metric_ids: Vec<MetricId> }
    /// A metric could not be read.
    CollectionFailed = "collection_failed" {
        mission_id: MissionId,
        metric_id: MetricId,
        error: String,
        attempt: i64,
        /// It is not retried before its next scheduled time.
        gives_up: bool,
    }
    /// A line of a backlog was ticked: the plan that came from it is done.
    TodoLineTicked = "todo_line_ticked" {
        plan_file: String,
        file: String,
        line: String,
    }
    /// An agent begins to answer.
    RunStarted = "run_started" { run: Box<Run> }
    /// The executing process set its own settings.
    RunConfigured = "run_configured" { run_id: RunId, settings: Box<Settings> }
    /// The model was called, or a tool has its result.
    RunStepped = "run_stepped" { run_id: RunId, counters: Counters }
    /// The driver asked it to go on, with this item.
    RunContinued = "run_continued" {
        run_id: RunId,
        todo_id: Option<TodoId>,
        trigger: Trigger,
        counters: Counters,
    }
    /// It waits.
    RunWaited = "run_waited" { run_id: RunId, waits_for: Wait, counters: Counters }
    /// It was resumed.
    RunWoken = "run_woken" { run_id: RunId, by: Trigger, counters: Counters }
    /// Somebody asked it to end.
    RunCancelled = "run_cancelled" { run_id: RunId, reason: String }
    /// It ended.
    RunStopped = "run_stopped" {
        run_id: RunId,
        reason: StopReason,
        detail: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        counters: Counters,
    }
    /// A session was paused: it does not continue by itself.
    SessionPaused = "session_paused" {
        session_id: SessionId,
        reason: Option<String>,
        /// The role that paused it; absent in logs of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Role>,
    }
    /// A paused session was resumed.
    SessionResumed = "session_resumed" { session_id: SessionId }
    /// A worker's proposal was decided.
    ProposalDecided = "proposal_decided" {
        delegation_id: DelegationId,
        decision: ProposalDecision,
        items: Vec<ProposedItem>,
        /// Why; absent in logs of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }
}

impl Event {
    /// The version new events are written with.
    pub const VERSION: i64 = 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ids;

    #[test]
    fn an_event_is_read_back_from_its_type_and_data() {
        let todo_id = TodoId::from(Ids::new(Time::from_micros(0), 7).ulid());
        let event =
            Event::from(TodoStarted { todo_id, started_at: Time::from_micros(1), reason: None });
        let data = serde_json::to_string(&event).unwrap();
        assert_eq!(
            data,
            format!(r#"{{"todoId":"{todo_id}","startedAt":"1970-01-01T00:00:00.000001Z"}}"#)
        );
        assert_eq!(Event::read(event.type_name(), &data).unwrap(), Some(event));
        assert_eq!(Event::read("todo_dreamt", "{}").unwrap(), None);
    }
}
