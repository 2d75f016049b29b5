//! The capacity of a mission: no commands on several pillars that share its limits exceed them.

use proptest::prelude::*;
use punchlist_core::capacity::Limits;
use punchlist_core::command::{
    CancelTodo, Command, CompleteTodo, CreateTodos, DemoteTodo, NewTodo, PromoteTodo, StartTodo,
};
use punchlist_core::deadline::Deadline;
use punchlist_core::mission::{LimitScope, Mission, OverduePending, Settings};
use punchlist_core::text::Title;
use punchlist_core::{ListKind, Refusal, Role, Snapshot, Status, Tally, TodoId, Warning};

use crate::mission_init::mission;
use crate::world::{World, actor};

fn limits(active: u32, backlog: u32, active_soft_margin: u32) -> Limits {
    Limits { active, backlog, active_soft_margin }
}

fn sum<'a>(lists: impl Iterator<Item = &'a Snapshot>) -> Tally {
    let mut tally = Tally::default();
    for todo in lists.flat_map(|list| list.todos.values()) {
        *tally.of(todo.status) += 1;
    }
    tally
}

/// The pillars of one mission. Each decision gets the counts that the limits apply to, as in a real
/// call.
struct Pillars {
    mission: Mission,
    lists: Vec<World>,
}

impl Pillars {
    fn new(limits: Limits, scope: LimitScope) -> Self {
        let todo = Settings { limits, limit_scope: scope, ..Settings::default() };
        let mission = Mission { todo, ..mission() };
        let lists = (0..3).map(|_| World::new(ListKind::Pillar)).collect();
        Self { mission, lists }
    }

    /// The counts that the limits apply to, for this pillar.
    fn counted(&self, pillar: usize) -> Tally {
        match self.mission.counted("this one") {
            None => sum(self.lists.iter().map(|list| &list.state)),
            Some(_) => sum([&self.lists[pillar].state].into_iter()),
        }
    }

    fn run(
        &mut self,
        pillar: usize,
        role: Role,
        command: impl Into<Command>,
    ) -> Result<Vec<Warning>, Refusal> {
        let (tally, limits) = (self.counted(pillar), self.mission.todo.limits);
        let world = &mut self.lists[pillar];
        (world.state.tally, world.state.limits) = (tally, Some(limits));
        let decided = world.run(&actor(role), command);
        decided.map(|decision| decision.warnings).map_err(|refused| refused.refusal)
    }

    fn create(&mut self, pillar: usize, status: Status) -> Result<Vec<Warning>, Refusal> {
        let new = NewTodo { status, ..NewTodo::titled(Title::new("item").unwrap()) };
        self.run(pillar, Role::Lead, CreateTodos { items: vec![new] })
    }

    fn of(&self, pillar: usize, status: Status) -> Vec<TodoId> {
        let todos = self.lists[pillar].state.todos.values();
        todos.filter(|todo| todo.status == status).map(|todo| todo.id).collect()
    }

    fn stands(&self) -> (u64, u64) {
        let tally = sum(self.lists.iter().map(|list| &list.state));
        (tally.active(), tally.backlog)
    }
}

fn why() -> Option<String> {
    Some("because".to_owned())
}

fn complete(todo_id: TodoId) -> CompleteTodo {
    CompleteTodo { todo_id, outcome: why(), evidence: vec![], metrics_impacted: vec![] }
}

/// M-2, M-3, M-5, M-7, M-8, M-9, D-3: ten active, fifty in the backlog, over all pillars; then new
/// items are refused.
#[test]
fn a_full_mission_spills_and_then_refuses() {
    let mut pillars = Pillars::new(Settings::default().limits, LimitScope::Mission);
    for n in 0..10 {
        assert_eq!(pillars.create(n % 2, Status::Pending), Ok(vec![]));
    }
    // Two pillars with five each: neither has ten, but the mission has.
    let spilled = pillars.create(2, Status::Pending).unwrap();
    assert_eq!(
        spilled.iter().map(Warning::to_string).collect::<Vec<_>>(),
        ["Active TODO limit (10) reached. Created in backlog instead."]
    );
    for _ in 1..50 {
        assert_eq!(pillars.create(1, Status::Backlog), Ok(vec![]));
    }
    for wanted in [Status::Backlog, Status::Pending] {
        let refused = pillars.create(0, wanted).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "Backlog limit (50) reached. Cancel or complete existing items first."
        );
        assert_eq!(refused.hint(), "cancel or complete existing items first", "M-14");
    }
    assert_eq!(pillars.stands(), (10, 50));
}

/// M-1, M-6, M-10, M-11, M-28, M-29: each move frees a place in one tier and takes one in the
/// other; settled items do not count.
#[test]
fn each_move_frees_a_place_in_one_tier_and_takes_one_in_the_other() {
    let mut pillars = Pillars::new(limits(2, 2, 0), LimitScope::Mission);
    for _ in 0..2 {
        pillars.create(0, Status::Pending).unwrap();
        pillars.create(1, Status::Backlog).unwrap();
    }
    let (own, waiting) = (pillars.of(0, Status::Pending), pillars.of(1, Status::Backlog));
    let promote = |todo_id| PromoteTodo { todo_id, reason: why() };
    let demote = |todo_id| DemoteTodo { todo_id, reason: why() };
    let full = pillars.run(1, Role::Lead, promote(waiting[0])).unwrap_err();
    assert_eq!(full, Refusal::ActiveFull { limit: 2, active: 2 });
    assert!(full.to_string().contains("limit (2) reached; 2 are active"), "M-14: {full}");
    assert_eq!(full.hint(), "complete or cancel an active item first");
    let full = pillars.run(0, Role::Lead, demote(own[0])).unwrap_err();
    assert_eq!(full, Refusal::BacklogFull { limit: 2, backlog: 2 });
    assert_eq!(pillars.stands(), (2, 2), "refused, nothing changed");

    let cancel = |todo_id| CancelTodo { todo_id, outcome: why() };
    pillars.run(1, Role::Lead, cancel(waiting[1])).unwrap();
    assert_eq!(pillars.stands(), (2, 1));
    pillars.run(0, Role::Lead, demote(own[0])).unwrap();
    assert_eq!(pillars.stands(), (1, 2));
    pillars.run(1, Role::Lead, promote(waiting[0])).unwrap();
    assert_eq!(pillars.stands(), (2, 1));
    pillars.run(0, Role::Lead, StartTodo { todo_id: own[1], reason: why() }).unwrap();
    assert_eq!(pillars.stands(), (2, 1), "in progress is active as well");
    pillars.run(0, Role::Lead, complete(own[1])).unwrap();
    assert_eq!(pillars.stands(), (1, 1));
    pillars.run(1, Role::Lead, cancel(waiting[0])).unwrap();
    assert_eq!(pillars.stands(), (0, 1));
}

/// Q-M1: with a margin of two it warns at ten and refuses at twelve, for promotions too.
#[test]
fn the_margin_warns_first() {
    let mut pillars = Pillars::new(limits(10, 50, 2), LimitScope::Mission);
    for _ in 0..10 {
        assert_eq!(pillars.create(0, Status::Pending), Ok(vec![]));
    }
    pillars.create(1, Status::Backlog).unwrap();
    pillars.create(1, Status::Backlog).unwrap();
    let over = |active| vec![Warning::OverActiveLimit { limit: 10, active }];
    assert_eq!(pillars.create(0, Status::Pending), Ok(over(11)));
    let waiting = pillars.of(1, Status::Backlog);
    let promote = |todo_id| PromoteTodo { todo_id, reason: why() };
    assert_eq!(pillars.run(1, Role::Lead, promote(waiting[0])), Ok(over(12)));
    let refused = pillars.run(1, Role::Lead, promote(waiting[1])).unwrap_err();
    assert_eq!(refused, Refusal::ActiveFull { limit: 10, active: 12 });
    let spilled = pillars.create(0, Status::Pending).unwrap();
    assert_eq!(spilled, [Warning::SpilledToBacklog { limit: 10 }]);
    assert_eq!(pillars.stands(), (12, 2));
}

/// F-1: if limits are for each pillar, a full pillar does not affect the others.
#[test]
fn limits_can_be_per_pillar() {
    let mut pillars = Pillars::new(limits(1, 1, 0), LimitScope::Pillar);
    for pillar in 0..3 {
        assert_eq!(pillars.create(pillar, Status::Pending), Ok(vec![]));
        assert_eq!(
            pillars.create(pillar, Status::Pending),
            Ok(vec![Warning::SpilledToBacklog { limit: 1 }])
        );
        assert!(pillars.create(pillar, Status::Pending).is_err());
    }
    assert_eq!(pillars.stands(), (3, 3));
}

/// M-13: a limit below the present count changes no items, and blocks new ones.
#[test]
fn a_lowered_limit_only_blocks_new_items() {
    let mut pillars = Pillars::new(limits(3, 3, 0), LimitScope::Mission);
    for _ in 0..3 {
        pillars.create(0, Status::Pending).unwrap();
        pillars.create(1, Status::Backlog).unwrap();
    }
    pillars.mission.todo.limits = limits(1, 1, 0);
    assert_eq!(pillars.stands(), (3, 3));
    assert_eq!(
        pillars.create(2, Status::Pending),
        Err(Refusal::BacklogFull { limit: 1, backlog: 3 })
    );
    let (own, waiting) = (pillars.of(0, Status::Pending), pillars.of(1, Status::Backlog));
    let promote = PromoteTodo { todo_id: waiting[0], reason: why() };
    assert!(pillars.run(1, Role::Lead, promote).is_err());
    let demote = DemoteTodo { todo_id: own[0], reason: why() };
    assert!(pillars.run(0, Role::Lead, demote).is_err());
    // Existing items continue.
    pillars.run(0, Role::Lead, StartTodo { todo_id: own[0], reason: why() }).unwrap();
    pillars.run(0, Role::Lead, complete(own[0])).unwrap();
    assert_eq!(pillars.stands(), (2, 3));
    assert!(pillars.create(2, Status::Pending).is_err(), "still two of one");
}

/// One attempt: the pillar, the actor, the command and the item; or a new limit.
type Try = (usize, usize, u8, usize);

fn command(list: &World, (_, _, what, which): Try) -> Option<Command> {
    let overdue = Deadline::parse("2026-11-01");
    let ids: Vec<TodoId> = list.state.todos.keys().copied().collect();
    let picked = (!ids.is_empty()).then(|| ids[which % ids.len()]);
    let new = |status, deadline| {
        let new = NewTodo { status, deadline, ..NewTodo::titled(Title::new("item").unwrap()) };
        Some(CreateTodos { items: vec![new] }.into())
    };
    match what {
        0..=3 => return new(Status::Pending, overdue.filter(|_| which.is_multiple_of(2))),
        4 | 5 => return new(Status::Backlog, None),
        6 => {
            let overdue_pending = [OverduePending::Demote, OverduePending::Cancel][which % 2];
            let todo = Settings { overdue_pending, ..Settings::default() };
            return Some(Mission { todo, ..mission() }.sweep().into());
        }
        _ => {}
    }
    let (todo_id, reason) = (picked?, why());
    Some(match what {
        7 | 8 => PromoteTodo { todo_id, reason }.into(),
        9 => DemoteTodo { todo_id, reason }.into(),
        10 => StartTodo { todo_id, reason }.into(),
        11 => complete(todo_id).into(),
        _ => CancelTodo { todo_id, outcome: reason }.into(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// M-12, M-13, F-1, Q-M1: for any commands by any actors, with changing limits, a tier never
    /// grows above its limit.
    #[test]
    fn capacity_holds_under_any_interleaving(
        per_pillar in any::<bool>(),
        first in (0..5u32, 0..4u32, 0..3u32),
        tries in proptest::collection::vec((0..3usize, 0..Role::ALL.len(), 0..14u8, 0..12usize), 1..60),
    ) {
        let scope = if per_pillar { LimitScope::Pillar } else { LimitScope::Mission };
        let mut pillars = Pillars::new(limits(first.0, first.1, first.2), scope);
        for t in tries {
            let (pillar, role, what, which) = t;
            if what == 13 {
                let n = u32::try_from(which).unwrap();
                pillars.mission.todo.limits = limits(n % 5, n % 4, n % 3);
                continue;
            }
            let Some(command) = command(&pillars.lists[pillar], t) else { continue };
            let before = pillars.counted(pillar);
            let rows = pillars.lists[pillar].state.todos.clone();
            let limits = pillars.mission.todo.limits;
            let taken = pillars.run(pillar, Role::ALL[role], command).is_ok();
            let after = pillars.counted(pillar);
            let room = u64::from(limits.active + limits.active_soft_margin);
            prop_assert!(after.active() <= room.max(before.active()));
            prop_assert!(after.backlog <= u64::from(limits.backlog).max(before.backlog));
            if !taken {
                prop_assert_eq!(&rows, &pillars.lists[pillar].state.todos);
            }
        }
    }
}
