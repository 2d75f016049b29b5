//! The facts of one decision, as a value that a test changes as needed.

use punchlist_core::driver::{self, Budget, Counters, Facts, Finish, Trigger, Verdict, Work};
use punchlist_core::run::{Completion, Run, RunState, Settings};
use punchlist_core::todo::{Claim, Hold, HoldKind};
use punchlist_core::{
    Actor, AgentPath, ConversationId, DelegationId, GateId, Ids, ListKind, ProjectId, Role, RunId,
    Snapshot, Status, Time, Todo,
};

use crate::world::World;

/// All facts that a decision depends on.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) trigger: Trigger,
    pub(crate) budget: Budget,
    pub(crate) counters: Counters,
    pub(crate) cancelled: bool,
    pub(crate) enabled: bool,
    pub(crate) paused: bool,
    pub(crate) gate: Option<GateId>,
    pub(crate) in_flight: Vec<DelegationId>,
    pub(crate) has_todo_tool: bool,
    pub(crate) work: Work,
    pub(crate) now: Time,
}

impl Case {
    /// The model ended its reply, one item is open, and nothing prevents a continuation.
    pub(crate) fn new() -> Self {
        let now = Time::parse("2026-11-15T09:00:00Z").unwrap();
        let budget = Budget::default();
        Self {
            trigger: Trigger::Stopped(Finish::EndTurn),
            counters: Counters::new(&budget),
            budget,
            cancelled: false,
            enabled: true,
            paused: false,
            gate: None,
            in_flight: Vec::new(),
            has_todo_tool: true,
            work: Work::of(&[list(&["write"])], now),
            now,
        }
    }

    pub(crate) fn after(trigger: Trigger) -> Self {
        Self { trigger, ..Self::new() }
    }

    pub(crate) fn decide(&self) -> (Verdict, Counters) {
        driver::decide(&Facts {
            trigger: self.trigger,
            budget: &self.budget,
            counters: &self.counters,
            cancelled: self.cancelled,
            enabled: self.enabled,
            paused: self.paused,
            gate: self.gate,
            in_flight: &self.in_flight,
            has_todo_tool: self.has_todo_tool,
            work: &self.work,
            now: self.now,
        })
    }

    pub(crate) fn verdict(&self) -> Verdict {
        self.decide().0
    }

    /// Decides, and keeps the counters for the next time.
    pub(crate) fn step(&mut self, trigger: Trigger) -> Verdict {
        self.trigger = trigger;
        let (verdict, counters) = self.decide();
        self.counters = counters;
        verdict
    }
}

/// A turn's list with these items.
pub(crate) fn list(titles: &[&str]) -> Snapshot {
    let mut world = World::new(ListKind::Turn);
    world.create(titles);
    world.state
}

/// Changes an item directly, without the rules.
pub(crate) fn with(list: &mut Snapshot, index: usize, change: impl FnOnce(&mut Todo)) {
    let todo = list.todos.values_mut().nth(index).unwrap();
    change(todo);
    let mut tally = punchlist_core::Tally::default();
    for todo in list.todos.values() {
        *tally.of(todo.status) += 1;
    }
    list.tally = tally;
}

pub(crate) fn hold(todo: &mut Todo) {
    let (reason, at, by) = ("no key".to_owned(), todo.created_at, "root:primary".to_owned());
    todo.hold = Some(Box::new(Hold {
        kind: HoldKind::Blocked,
        reason,
        at,
        by,
        conflicts_with: None,
        until: None,
    }));
}

pub(crate) fn claim(todo: &mut Todo) {
    let root = Actor::new(Role::Root, AgentPath::primary());
    todo.claim = Some(Box::new(Claim::new(&root, todo.created_at, None, Vec::new())));
}

pub(crate) fn settle(todo: &mut Todo) {
    todo.status = Status::Completed;
}

pub(crate) fn gate() -> GateId {
    GateId::from(Ids::new(Time::from_micros(1), 1).ulid())
}

pub(crate) fn delegation() -> DelegationId {
    DelegationId::from(Ids::new(Time::from_micros(2), 2).ulid())
}

/// A run that has just begun.
pub(crate) fn run(budget: Budget) -> Run {
    let now = Time::parse("2026-11-15T09:00:00Z").unwrap();
    let mut ids = Ids::new(now, 3);
    Run {
        id: RunId::from(ids.ulid()),
        project_id: ProjectId::from(ids.ulid()),
        agent: AgentPath::primary(),
        role: Role::Root,
        mission: None,
        pillar: None,
        conversation_id: ConversationId::from(ids.ulid()),
        turn_id: "t1".to_owned(),
        session_id: None,
        plan: None,
        delegation_id: None,
        counters: Counters::new(&budget),
        reach: punchlist_core::Reach::default(),
        settings_of: punchlist_core::run::SettingsOf::Run,
        settings: Settings {
            effort: None,
            completion: Completion::default(),
            model: "scripted:a".to_owned(),
            drives: true,
            budget,
            max_tokens: 1000,
            tools: None,
            instructions: None,
            history: 50,
            continuation: None,
        },
        state: RunState::Running,
        waits_for: None,
        cancelled: None,
        stop_reason: None,
        stop_detail: None,
        stop_code: None,
        started_by: "operator".to_owned(),
        created_at: now,
        updated_at: now,
        ended_at: None,
    }
}
