//! Why a command was refused: a closed list of stable codes, each with its facts.
//!
//! The facts are here; the table in `rows` says of each refusal its class, its code, what happened
//! and what to do next.

mod rows;
mod words;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::authority::{Action, Denial};
use crate::delegation::{DelegationState, ProposalDecision};
use crate::driver::StopReason;
use crate::evidence::EvidenceKind;
use crate::gate::GateState;
use crate::issue::checklist::LineFault;
use crate::issue::{LinkKind, Part, Void};
use crate::plan::{PurgedPlan, TodoLineFault};
use crate::project::{AtWork, Clash, MergeCounts, NewNumber};
use crate::transition::Move;
use crate::{
    AgentPath, ConversationId, DelegationId, GateId, IssueStatus, ListKind, Role, RunId, SessionId,
    Status, Time, Todo, TodoId, TodoKind,
};

/// Why an item cannot be moved to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Misplaced {
    BeforeItself,
    OtherList,
    /// A criterion among steps, or a step among criteria.
    OtherKind,
}

/// A refusal. It changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Refusal {
    /// No such todo within reach of the caller.
    UnknownTodo {
        todo_id: String,
        list: Option<ListKind>,
    },
    /// Completed or cancelled is final.
    AlreadySettled {
        todo_id: TodoId,
        title: String,
        status: Status,
        settled_at: Option<Time>,
        outcome: Option<String>,
        /// It is a task of a plan, which the root agent may reopen.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_task: bool,
    },
    /// The same in the words of a checklist, which shows no ids (K-19, X-1).
    AlreadyClosed {
        title: String,
        /// `completed` or `abandoned`.
        status: String,
        settled_at: Option<Time>,
        outcome: Option<String>,
    },
    /// The move does not start from the item's status.
    WrongStatus {
        action: Move,
        current: Status,
        expected: Vec<Status>,
    },
    /// The date is over, where only a later one makes sense.
    PastDate {
        given: String,
    },
    /// The authority table says no.
    NotPermitted {
        role: Role,
        action: Action,
        list: ListKind,
        todo_kind: TodoKind,
        denial: Denial,
    },
    /// Only one item may be in progress, and another is.
    OneInProgress {
        todo_id: TodoId,
        title: String,
    },
    /// Only one item may be in progress, and the request marks several.
    SeveralInProgress {
        titles: Vec<String>,
    },
    /// The active tier is full.
    ActiveFull {
        limit: u32,
        active: u64,
    },
    /// The backlog is full.
    BacklogFull {
        limit: u32,
        backlog: u64,
    },
    /// The list would have too many open items, or one call adds too many.
    ListFull {
        limit: u64,
        open: u64,
        added: u64,
    },
    /// A completion or cancellation needs an outcome here.
    OutcomeRequired,
    /// The act needs a reason.
    ReasonRequired {
        action: Action,
    },
    /// Another open item has this text, or the request contains it twice.
    DuplicateText {
        text: String,
    },
    /// Two items of the request have the same id.
    DuplicateId {
        id: String,
    },
    /// The item is held; its hold must be lifted first.
    Held {
        title: String,
        reason: String,
    },
    /// There is no claim to judge.
    NoClaim {
        title: String,
    },
    /// The item has been claimed and waits for its reviewer.
    AlreadyClaimed {
        title: String,
        by: String,
        at: Time,
    },
    /// The operator has confirmed it before.
    AlreadyRatified {
        title: String,
        at: Time,
    },
    /// A criterion is claimed and accepted, never started.
    CriterionNotStartable {
        title: String,
    },
    /// Somebody else holds it.
    AlreadyTaken {
        todo_id: TodoId,
        title: String,
        holder: String,
        until: Time,
    },
    /// Another agent was assigned it.
    AssignedToAnother {
        todo_id: TodoId,
        title: String,
        agent: AgentPath,
    },
    /// The write named an epoch that is not the caller's current lease.
    StaleEpoch {
        todo_id: TodoId,
        epoch: i64,
        current: i64,
        holder: Option<String>,
        /// The caller holds it itself, by the current lease.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_own: bool,
    },
    /// The item is deferred until a date.
    Deferred {
        title: String,
        until: Time,
    },
    /// The sign-off would cover changes that the operator has not seen.
    ChangedSinceAsked {
        number: i64,
        changed: Vec<Part>,
        revision: i64,
    },
    /// A sign-off would accept criteria that nobody claimed.
    UnclaimedCriteria {
        number: i64,
        criteria: Vec<String>,
    },
    /// Only the operator names the model of a run that another process executes.
    MayNotChooseModel {
        role: Role,
    },
    /// The token does not reach this.
    OutOfReach {
        missing: String,
    },
    /// Without an operator's token nobody could change the rule back.
    NoOperatorToken,
    /// There is no such token.
    UnknownToken {
        id: String,
    },
    /// The new parent is not in this list, or would make a cycle.
    BadParent {
        todo_id: TodoId,
    },
    /// The parent is at the deepest level of a plan.
    PlanTooDeep {
        limit: usize,
    },
    /// Other tasks must be settled first.
    Waiting {
        title: String,
        waits_for: Vec<String>,
    },
    /// A task above it is cancelled.
    BelowCancelled {
        title: String,
        above: String,
    },
    /// Tasks would wait for each other.
    AfterItself {
        tasks: Vec<String>,
    },
    /// The plan's file has other tasks than the plan.
    PlanChanged {
        new: Vec<String>,
        missing: Vec<String>,
    },
    /// The item cannot be moved there.
    BadPlace {
        title: String,
        why: Misplaced,
    },
    /// No issue of this number in the project.
    UnknownIssue {
        number: i64,
    },
    /// An open issue is a duplicate.
    LookAlike {
        number: i64,
        title: String,
        status: IssueStatus,
    },
    /// No move leads there from the issue's status.
    WrongIssueStatus {
        number: i64,
        status: IssueStatus,
        to: IssueStatus,
        allowed: Vec<IssueStatus>,
    },
    /// There is such a move, but not for this role.
    IssueMoveNotPermitted {
        role: Role,
        number: i64,
        status: IssueStatus,
        to: IssueStatus,
        /// The state of the newest sign-off, if one was asked for.
        asked: Option<GateState>,
        /// Why a sign-off that was given does not count here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        void: Option<Void>,
    },
    /// No item has this text.
    NoSuchText {
        text: String,
        nearest: Vec<String>,
        is_empty: bool,
    },
    /// Several items match.
    AmbiguousText {
        text: String,
        texts: Vec<String>,
    },
    /// A sign-off lets the session that asked close the issue, and there is no such session.
    SignOffNeedsSession {
        number: i64,
    },
    /// The session has no issue, so there is no checklist.
    Unbound,
    /// The caller names no issue and has no session, so no checklist is meant.
    NoSession,
    /// The operator paused the session, and an agent wants to resume it.
    PausedByOperator {
        role: Role,
    },
    /// No such session in the project.
    UnknownSession {
        session: String,
    },
    /// One host process has several live sessions, and the call does not say which one.
    SessionAmbiguous {
        sessions: Vec<SessionId>,
    },
    /// A host executes the run, so no other process does.
    HostedRun {
        run: RunId,
        model: String,
    },
    /// The issue that was named is not the one the session is bound to.
    OtherIssue {
        number: i64,
        bound: Option<i64>,
    },
    /// The session is over.
    SessionEnded {
        session: SessionId,
        at: Time,
    },
    /// Another session works on the issue.
    IssueHeld {
        number: i64,
        session: SessionId,
        title: String,
        take_over: bool,
    },
    /// The session works on an issue already.
    AlreadyBound {
        number: i64,
    },
    /// The session works on an issue, whose checklist is its list.
    HasChecklist {
        number: i64,
    },
    /// Lists of sessions are switched off.
    SessionListsOff,
    /// An issue cannot be linked to itself.
    SelfLink {
        number: i64,
    },
    /// The other issue was closed as a duplicate of this one, or of one that was: all would be
    /// closed, and no issue left.
    DuplicateCircle {
        number: i64,
        of: i64,
        /// The issues between the two.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        via: Vec<i64>,
    },
    /// They are linked this way already.
    AlreadyLinked {
        number: i64,
        kind: LinkKind,
        to: i64,
    },
    /// They are not linked this way.
    NotLinked {
        number: i64,
        kind: LinkKind,
        to: i64,
    },
    /// Child issues are open, and nobody confirmed.
    OpenChildren {
        number: i64,
        children: Vec<i64>,
    },
    /// Tasks below it are open: completing it would hide them.
    OpenSubtasks {
        todo_id: TodoId,
        title: String,
        children: Vec<String>,
        action: Action,
    },
    /// The issue or its checklist has changed since the caller looked.
    StaleRevision {
        number: i64,
        expected: i64,
        revision: i64,
        /// The checklist as it is now, where it was edited.
        #[serde(skip_serializing_if = "Option::is_none")]
        checklist: Option<String>,
    },
    /// The markdown is not a checklist; the faults by line.
    BadChecklist {
        faults: Vec<LineFault>,
    },
    /// This role may not ask a person.
    MayNotAsk {
        role: Role,
    },
    /// This role may not answer gates.
    MayNotAnswer {
        role: Role,
    },
    /// No such permission in the project.
    UnknownPermission {
        permission: String,
    },
    /// No such gate in the project.
    UnknownGate {
        gate: String,
    },
    OtherQuestion {
        gate: String,
    },
    /// A gate is answered once.
    AlreadyAnswered {
        gate: GateId,
        state: GateState,
        by: Option<String>,
        at: Option<Time>,
        /// What was answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response: Option<Box<Value>>,
    },
    /// Nothing was permitted for good by this gate.
    NoPermission {
        gate: GateId,
    },
    /// A form that cannot be asked.
    BadForm {
        fault: String,
    },
    /// An answer that does not fit its form, or is not one of the options.
    BadResponse {
        faults: Vec<String>,
    },
    /// The answer to an escalation is none that it knows.
    UnknownAnswer {
        expected: String,
    },
    /// This role neither delegates nor takes delegated work.
    MayNotDelegate {
        role: Role,
    },
    /// The name of a specialist must be one word.
    BadAgentType {
        name: String,
    },
    /// No such delegation in the project.
    UnknownDelegation {
        delegation: String,
    },
    /// Returned, failed and cancelled are final.
    DelegationOver {
        delegation: DelegationId,
        state: DelegationState,
    },
    /// Runs are not for this role.
    MayNotRun {
        role: Role,
    },
    /// No model is configured for the agent.
    NoModel {
        agent: String,
    },
    /// No such run in the project.
    UnknownRun {
        run: String,
    },
    /// The run has ended.
    RunOver {
        run: RunId,
        reason: StopReason,
    },
    /// Somebody else executes the run now.
    StaleRun {
        run: RunId,
        epoch: i64,
        current: i64,
    },
    /// The report names an epoch that is not the current one.
    StaleDelegation {
        delegation: DelegationId,
        epoch: i64,
        current: i64,
        holder: Option<String>,
        /// The caller holds it itself, by the current lease.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_own: bool,
        /// How it ended, if it is over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        over: Option<DelegationState>,
    },
    /// Too many delegations are nested.
    DelegationTooDeep {
        limit: u32,
    },
    /// There is no proposal to decide on.
    NoProposal {
        delegation: DelegationId,
    },
    /// It was decided on before.
    ProposalSettled {
        delegation: DelegationId,
        decision: ProposalDecision,
    },
    /// Another agent delegated this.
    NotYourProposal {
        delegator: AgentPath,
    },
    /// To modify a proposal, the new items are required.
    ItemsRequired,
    /// Only `modify` takes other items.
    ItemsNotTaken {
        decision: ProposalDecision,
    },
    /// The proposal has no issue to go to.
    NoChecklist,
    /// The file is not a plan.
    BadPlan {
        fault: String,
    },
    /// No such plan in the project.
    UnknownPlan {
        plan_file: String,
        branch: String,
    },
    /// The plan is not on this branch, but on these.
    PlanElsewhere {
        plan_file: String,
        branch: String,
        branches: Vec<String>,
    },
    /// No branch is checked out, and none was named.
    NoBranch {
        plan_file: String,
    },
    /// The list is archived; its items cannot be changed.
    Archived {
        at: Time,
    },
    /// Tasks are open, and nobody confirmed.
    OpenTasks {
        open: u64,
    },
    /// Tasks would be deleted, and nobody confirmed.
    Unconfirmed {
        plans: Vec<PurgedPlan>,
        tasks: u64,
    },
    /// No line of the backlog could be chosen.
    BadTodoLine {
        file: String,
        line: String,
        fault: TodoLineFault,
    },
    /// The plan has tasks already.
    PlanExists {
        plan_file: String,
    },
    /// The plan did not come from a line of the backlog, or is not there.
    NoTodoLine {
        plan_file: String,
    },
    /// No such agent in the project.
    UnknownAgent {
        agent: AgentPath,
    },
    /// A worker may report only its own status.
    NotYourself {
        agent: AgentPath,
    },
    /// A claim needs these kinds of evidence here.
    EvidenceRequired {
        missing: Vec<EvidenceKind>,
    },
    /// This role may not set up or run missions.
    MayNotLead {
        role: Role,
    },
    /// No mission of this slug in the project.
    UnknownMission {
        slug: String,
        known: Vec<String>,
    },
    /// No pillar of this slug in the mission.
    UnknownPillar {
        mission: String,
        slug: String,
        known: Vec<String>,
    },
    /// No metric of this slug in the mission.
    UnknownMetric {
        mission: String,
        slug: String,
        known: Vec<String>,
    },
    /// No template of this name.
    UnknownTemplate {
        name: String,
        known: Vec<String>,
    },
    /// The item belongs to another mission.
    OtherMission {
        todo_id: TodoId,
        mission: String,
    },
    /// The mission, or the pillar, is over.
    MissionArchived {
        slug: String,
    },
    /// A figure that this kind of metric cannot have.
    BadFigure {
        metric: String,
        found: String,
        expected: String,
    },
    /// The metric has no collector.
    NoCollector {
        metric: String,
    },
    /// The agent is at work in this chat: people may only read until it is done.
    AgentAtWork {
        conversation: ConversationId,
        agent: AgentPath,
        /// Its run, if the caller wanted to continue the chat with another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
    },
    /// No such conversation in the project.
    UnknownConversation {
        conversation: String,
    },
    /// No message of this id in the conversation.
    UnknownMessage {
        message: String,
    },
    /// No project of this name in the store.
    UnknownProject {
        project: String,
        known: Vec<String>,
    },
    /// The name belongs to the project of another repository or folder.
    ProjectTaken {
        project: String,
    },
    /// The project was merged into another, which has its work now.
    ProjectMerged {
        project: String,
        into: String,
    },
    /// This role may not join projects.
    MayNotMerge {
        role: Role,
    },
    /// Both projects have something that a project has once.
    MergeConflict {
        from: String,
        into: String,
        conflicts: Vec<Clash>,
    },
    /// Somebody works in the project that would be merged.
    ProjectBusy {
        project: String,
        at_work: Vec<AtWork>,
    },
    /// A project would be merged, and nobody confirmed.
    MergeUnconfirmed {
        from: String,
        into: String,
        issues: Vec<NewNumber>,
        counts: Box<MergeCounts>,
    },
}

/// The kind of problem a refusal is. Surfaces know it as an exit code and an HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// What is true now does not allow it.
    Conflict,
    /// As `Conflict`, but it may pass by itself: the same request could succeed later.
    Later,
    /// What was named does not exist, or is out of reach.
    Unknown,
    /// The request itself is wrong.
    Malformed,
    /// The caller may not.
    Forbidden,
}

/// What there is to say about a refusal.
struct Row {
    code: &'static str,
    words: Cow<'static, str>,
    hint: Cow<'static, str>,
}

impl Refusal {
    /// The refusal of a change to a settled item.
    #[must_use]
    pub fn settled(todo: &Todo) -> Self {
        Self::AlreadySettled {
            todo_id: todo.id,
            title: todo.title.clone(),
            status: todo.status,
            settled_at: todo.settled_at,
            outcome: todo.outcome.clone(),
            // Only the tasks of plans have numbers.
            is_task: todo.seq.is_some(),
        }
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.row().code
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        self.row().hint.into_owned()
    }

    /// The refusal in the words of a checklist, for the agent that keeps it.
    #[must_use]
    pub fn on_checklist(self) -> Self {
        match self {
            Self::AlreadySettled { title, status, settled_at, outcome, .. } => {
                let status = match status {
                    Status::Cancelled => "abandoned",
                    other => other.name(),
                };
                Self::AlreadyClosed { title, status: status.to_owned(), settled_at, outcome }
            }
            other => other,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.row().words)
    }
}
