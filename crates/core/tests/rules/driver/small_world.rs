//! A world small enough for an exhaustive search: one run, one item, at most one gate and one
//! delegation, processes that may die, and a person. One commit in `ops` is one step here, and a
//! read outside a commit is a step of its own; the rules are the real ones.

use punchlist_core::driver::{Facts, Finish, Spent, StopReason, Trigger, Verdict, Wait, Work};
use punchlist_core::effect::Effect;
use punchlist_core::run::{
    CancelRun, DriveRun, RecordReply, RecordResult, Run, RunState, WakeRun, apply_run,
};
use punchlist_core::{Actor, AgentPath, Decision, Event, Role, Time};

use super::case::{delegation, gate};
use crate::world::{by_policy, decided};

/// The tools the model may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tool {
    /// Changes nothing.
    Look,
    /// Settles the item.
    Complete,
    /// Asks the person: the gate's id is its result.
    Ask,
    /// Needs the person's permission: it has no result before that.
    Permit,
    /// Delegates work and continues.
    HandOn,
    /// Delegates work, and has no result before that comes back.
    Await,
}

/// What the model may do when it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Behaviour {
    End,
    Fail,
    Call(Tool),
}

/// What a process does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    TakeOver,
    Begin,
    Look,
    Drive(Trigger),
    /// The driver decided to call the model.
    Ask,
    /// The model is being called, with all messages so far.
    Calling {
        heard: u32,
    },
    Execute(Tool),
    Result(Tool),
    Rest,
    /// Gives up its queue entry.
    Finish,
    /// Another process has the run now.
    Lost,
}

/// A process that executes the run, and holds a queue entry for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub(crate) place: Place,
    entry: usize,
    lease: u8,
}

/// An entry of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    held: bool,
    done: bool,
    lease: u8,
}

/// The newest reply in the chat, and what came after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Chat {
    replied: bool,
    called: Option<Tool>,
    has_result: bool,
    news: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asked {
    No,
    Open,
    Answered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Handed {
    No,
    Queued { sync: bool },
    Over,
}

/// How often events from outside may still happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Outside {
    pub(crate) messages: u8,
    pub(crate) pauses: u8,
    pub(crate) cancels: u8,
    pub(crate) crashes: u8,
    /// Leases that end although their holder lives.
    pub(crate) expiries: u8,
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) run: Run,
    pub(crate) queue: Vec<Entry>,
    pub(crate) processes: Vec<Process>,
    chat: Chat,
    pub(crate) asked: Asked,
    pub(crate) handed: Handed,
    pub(crate) paused: bool,
    pub(crate) drained: bool,
    pub(crate) outside: Outside,
    pub(crate) now: Time,
    /// A later run answers messages that this one did not.
    pub(crate) answer_queued: bool,
    // The fields below are only for checks, and decide nothing.
    /// There is a message that no model call has seen.
    pub(crate) unseen: bool,
    /// The last stop has not been continued yet.
    fresh_stop: bool,
    /// Effects of the newest call.
    effects: u8,
    /// What went wrong.
    pub(crate) fault: Option<&'static str>,
}

/// The key that distinguishes worlds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    run: (&'static str, u8, Option<StopReason>, bool),
    used: [u32; 9],
    times: (Time, Option<Time>),
    /// How many entries are free, and how many are held by dead processes: they are
    /// interchangeable.
    free: usize,
    orphaned: usize,
    /// The state of each process, and whether it still holds its entry: processes are
    /// interchangeable.
    processes: Vec<(Place, bool)>,
    around: (Chat, Asked, Handed, Outside),
    flags: [bool; 5],
    effects: u8,
}

/// The script of a small world: what the model may do, and its list when open and when settled.
pub(crate) struct Script<'a> {
    pub(crate) behaviours: &'a [Behaviour],
    pub(crate) open: &'a Work,
    pub(crate) drained: &'a Work,
}

impl World {
    pub(crate) fn new(run: Run, outside: Outside) -> Self {
        Self {
            now: run.created_at,
            run,
            queue: vec![Entry { held: false, done: false, lease: 0 }],
            processes: Vec::new(),
            chat: Chat::default(),
            asked: Asked::No,
            handed: Handed::No,
            paused: false,
            drained: false,
            outside,
            answer_queued: false,
            unseen: true,
            fresh_stop: false,
            effects: 0,
            fault: None,
        }
    }

    pub(crate) fn key(&self) -> Key {
        let (run, counters) = (&self.run, &self.run.counters);
        let waits_for = match &run.waits_for {
            None => 0,
            Some(Wait::Gate(_)) => 1,
            Some(Wait::Delegations(_)) => 2,
            Some(Wait::Cooldown(_)) => 3,
            Some(Wait::Pause) => 4,
        };
        let stands =
            |process: &Process| (process.place, self.queue[process.entry].lease == process.lease);
        let mut processes: Vec<_> = self.processes.iter().map(stands).collect();
        if processes.len() > 1 {
            processes.sort_by_cached_key(|(place, holds)| (format!("{place:?}"), *holds));
        }
        Key {
            run: (run.state.name(), waits_for, run.stop_reason, run.cancelled.is_some()),
            used: [
                counters.calls,
                counters.iterations,
                counters.limit,
                counters.continuations,
                counters.fruitless,
                counters.repeats,
                counters.heard,
                counters.answered,
                u32::from(counters.mutated),
            ],
            times: (self.now, counters.continued_at),
            free: self.queue.iter().filter(|entry| !entry.done && !entry.held).count(),
            orphaned: (0..self.queue.len()).filter(|index| self.is_orphaned(*index)).count(),
            processes,
            around: (self.chat, self.asked, self.handed, self.outside),
            flags: [self.paused, self.drained, self.answer_queued, self.unseen, self.fresh_stop],
            effects: self.effects,
        }
    }

    /// Is its holder dead?
    fn is_orphaned(&self, index: usize) -> bool {
        let entry = &self.queue[index];
        let is_holder = |p: &Process| p.entry == index && p.lease == entry.lease;
        entry.held && !entry.done && !self.processes.iter().any(is_holder)
    }

    fn fold(&mut self, decision: &Decision) {
        let mut run = Some(self.run.clone());
        for event in &decision.events {
            apply_run(&mut run, event, self.now);
            if matches!(event, Event::RunContinued(_)) {
                if !self.fresh_stop {
                    self.fault = Some("a stop was continued twice");
                }
                self.fresh_stop = false;
            }
        }
        self.run = run.unwrap();
        for effect in &decision.effects {
            if matches!(effect, Effect::Drive { .. }) {
                self.queue.push(Entry { held: false, done: false, lease: 0 });
            }
        }
    }

    /// Something wakes the run, with or without a message.
    fn wake(&mut self, by: Trigger, said: bool) {
        if self.run.is_over() {
            // The next run answers this message.
            self.answer_queued |= by == Trigger::UserMessage;
            return;
        }
        if said {
            (self.chat.news, self.unseen) = (true, true);
        }
        if let Some(decision) = by_policy(&WakeRun { by, said }, &self.run).unwrap() {
            self.fold(&decision);
        }
    }

    fn drive(&mut self, script: &Script<'_>, trigger: Trigger) -> Place {
        let in_flight = match self.handed {
            Handed::Queued { .. } => vec![delegation()],
            Handed::No | Handed::Over => Vec::new(),
        };
        let facts = Facts {
            trigger,
            budget: &self.run.settings.budget,
            counters: &self.run.counters,
            cancelled: self.run.cancelled.is_some(),
            enabled: self.run.settings.drives,
            paused: self.paused,
            gate: (self.asked == Asked::Open).then(gate),
            in_flight: &in_flight,
            has_todo_tool: true,
            work: if self.drained { script.drained } else { script.open },
            now: self.now,
        };
        let Ok(driven) = by_policy(&DriveRun::default(), (&self.run, &facts)) else {
            return Place::Finish;
        };
        self.fold(&driven.decision);
        self.answer_queued |= self.run.owes_an_answer();
        match driven.verdict {
            Verdict::Continue { prompted, .. } => {
                self.chat.news |= prompted;
                Place::Ask
            }
            Verdict::Wait(Wait::Cooldown(_)) => Place::Rest,
            Verdict::Wait(_) | Verdict::Stop(_) => Place::Finish,
        }
    }

    /// The next step of a process, from what is stored, as in the runner.
    fn next(&self) -> Place {
        if matches!(self.run.waits_for, Some(Wait::Cooldown(_))) {
            return Place::Rest;
        }
        match (self.chat.replied, self.chat.called) {
            (false, _) => Place::Drive(Trigger::UserMessage),
            (true, Some(tool)) if !self.chat.has_result => Place::Execute(tool),
            (true, Some(_)) => Place::Drive(Trigger::ToolsDone),
            (true, None) if self.chat.news => Place::Drive(Trigger::Resumed),
            (true, None) => Place::Drive(Trigger::Stopped(Finish::EndTurn)),
        }
    }

    /// Makes a call; its effect happens once, however often it is made. Without a result yet, it
    /// returns the question for the driver.
    fn call(&mut self, tool: Tool) -> Result<(), Trigger> {
        let first = self.effects == 0;
        self.effects = 1;
        match tool {
            Tool::Look => Ok(()),
            Tool::Complete => {
                self.drained = true;
                Ok(())
            }
            Tool::Ask | Tool::Permit if first && self.asked == Asked::No => {
                self.asked = Asked::Open;
                if tool == Tool::Ask { Ok(()) } else { Err(Trigger::ToolsDone) }
            }
            Tool::Permit if self.asked == Asked::Open => Err(Trigger::ToolsDone),
            Tool::HandOn | Tool::Await if first && self.handed == Handed::No => {
                let sync = tool == Tool::Await;
                self.handed = Handed::Queued { sync };
                if sync { Err(Trigger::Handed) } else { Ok(()) }
            }
            Tool::Await if matches!(self.handed, Handed::Queued { .. }) => Err(Trigger::Handed),
            Tool::Ask | Tool::Permit | Tool::HandOn | Tool::Await => Ok(()),
        }
    }

    /// One step of a process; several worlds if the model may do several things.
    fn step(&self, script: &Script<'_>, at: usize) -> Vec<Self> {
        let mut world = self.clone();
        let process = world.processes[at];
        let run_over = world.run.is_over();
        world.processes[at].place = match process.place {
            // Only a process that holds its entry takes the run.
            Place::TakeOver if world.queue[process.entry].lease != process.lease => Place::Lost,
            Place::TakeOver => {
                // Whatever other processes are about to do, they will find that they have lost the
                // run.
                for other in &mut world.processes {
                    if !matches!(other.place, Place::TakeOver | Place::Finish) {
                        other.place = Place::Lost;
                    }
                }
                Place::Begin
            }
            Place::Finish | Place::Lost => return vec![world.put_away(at)],
            Place::Begin => match world.run.state {
                RunState::Ended => Place::Finish,
                RunState::Waiting if !matches!(world.run.waits_for, Some(Wait::Cooldown(_))) => {
                    Place::Finish
                }
                RunState::Running | RunState::Waiting => Place::Look,
            },
            Place::Look => world.next(),
            Place::Drive(trigger) => match world.drive(script, trigger) {
                // A call that has no result is made again; the model is not called in between.
                Place::Ask if world.is_open() => Place::Look,
                place => place,
            },
            Place::Ask => {
                if world.is_open() {
                    world.fault = Some("the model is called while a call of it has no result");
                }
                world.unseen = false;
                Place::Calling { heard: world.run.counters.heard }
            }
            Place::Calling { heard } => return self.reply(script, at, heard),
            Place::Execute(_) if world.run.cancelled.is_some() => {
                Place::Drive(Trigger::Stopped(Finish::Cancelled))
            }
            Place::Execute(tool) => match world.call(tool) {
                Ok(()) => Place::Result(tool),
                Err(trigger) => Place::Drive(trigger),
            },
            Place::Result(_) if run_over => Place::Finish,
            Place::Result(tool) => {
                let changed = tool != Tool::Look;
                let result = RecordResult { changed, touched_list: changed, failed_on: None };
                let (decision, _) = by_policy(&result, &world.run).unwrap();
                world.fold(&decision);
                world.chat.has_result = true;
                world.drive(script, Trigger::ToolsDone)
            }
            Place::Rest => {
                let until = match world.run.waits_for {
                    Some(Wait::Cooldown(until)) => until,
                    _ => world.now,
                };
                world.now = world.now.max(until);
                Place::Drive(Trigger::Tick)
            }
        };
        vec![world]
    }

    fn is_open(&self) -> bool {
        self.chat.called.is_some() && !self.chat.has_result
    }

    /// The model has replied: its reply, and after a last reply the driver's verdict, in one
    /// commit.
    fn reply(&self, script: &Script<'_>, at: usize, heard: u32) -> Vec<Self> {
        let mut worlds = Vec::new();
        if self.run.cancelled.is_some() || self.run.is_over() {
            let mut world = self.clone();
            world.processes[at].place = Place::Drive(Trigger::Stopped(Finish::Cancelled));
            return vec![world];
        }
        for behaviour in script.behaviours {
            let mut world = self.clone();
            if *behaviour == Behaviour::Fail {
                world.processes[at].place = Place::Drive(Trigger::Stopped(Finish::Error));
                worlds.push(world);
                continue;
            }
            let called = match behaviour {
                Behaviour::Call(tool) => Some(*tool),
                Behaviour::End | Behaviour::Fail => None,
            };
            let reply = RecordReply {
                spent: Spent::default(),
                calls: called.map(|_| u64::from(world.run.counters.calls)),
                window: None,
                heard: Some(heard),
            };
            let decision = by_policy(&reply, &world.run).unwrap();
            world.fold(&decision);
            world.chat = Chat { replied: true, called, has_result: false, news: false };
            (world.fresh_stop, world.effects) = (called.is_none(), 0);
            world.processes[at].place = match called {
                Some(_) => Place::Look,
                None => world.drive(script, Trigger::Stopped(Finish::EndTurn)),
            };
            worlds.push(world);
        }
        worlds
    }

    /// A process ends and gives up its entry, unless another process holds that by now. A process
    /// that lost the run lost it to one with its own entry. A delegation ends with its run, and is
    /// free again until then.
    fn put_away(mut self, at: usize) -> Self {
        let process = self.processes.remove(at);
        let is_over = self.run.is_over();
        let entry = &mut self.queue[process.entry];
        if entry.lease != process.lease {
            return self;
        }
        let done = match (self.run.delegation_id, process.place) {
            (None, _) => true,
            // Its lease ends by itself.
            (Some(_), Place::Lost) => return self,
            (Some(_), _) => is_over,
        };
        (entry.held, entry.done) = (false, done);
        self
    }

    /// The steps that processes will take by themselves.
    pub(crate) fn goes_on(&self, script: &Script<'_>) -> Vec<(String, Self)> {
        let mut worlds = Vec::new();
        for at in 0..self.processes.len() {
            let name = format!("{:?}", self.processes[at].place);
            worlds.extend(self.step(script, at).into_iter().map(|world| (name.clone(), world)));
        }
        for (index, entry) in self.queue.iter().enumerate() {
            let is_dead = self.is_orphaned(index);
            let waits = self.run.state == RunState::Waiting;
            let is_parked = self.run.delegation_id.is_some() && waits;
            if !entry.done && (!entry.held || is_dead) && !is_parked {
                let mut world = self.clone();
                world.take(index);
                worlds.push(("take".to_owned(), world));
            }
        }
        if let Handed::Queued { sync } = self.handed {
            let mut world = self.clone();
            world.handed = Handed::Over;
            world.wake(Trigger::DelegationReturned, !sync);
            worlds.push(("delegation returns".to_owned(), world));
        }
        worlds
    }

    fn take(&mut self, index: usize) {
        let entry = &mut self.queue[index];
        (entry.held, entry.lease) = (true, entry.lease + 1);
        let lease = entry.lease;
        self.processes.push(Process { place: Place::TakeOver, entry: index, lease });
    }

    /// Optional steps.
    pub(crate) fn may_happen(&self) -> Vec<(String, Self)> {
        let mut worlds = Vec::new();
        let mut add = |name: &str, change: &dyn Fn(&mut Self)| {
            let mut world = self.clone();
            change(&mut world);
            worlds.push((name.to_owned(), world));
        };
        if self.asked == Asked::Open {
            add("gate is answered", &|world| {
                world.asked = Asked::Answered;
                world.wake(Trigger::GateAnswered, true);
            });
        }
        if self.paused {
            add("resume", &|world| {
                world.paused = false;
                world.wake(Trigger::Resumed, false);
            });
        } else if self.outside.pauses > 0 {
            add("pause", &|world| {
                world.paused = true;
                world.outside.pauses -= 1;
            });
        }
        if self.outside.messages > 0 {
            add("somebody speaks", &|world| {
                world.outside.messages -= 1;
                world.wake(Trigger::UserMessage, true);
            });
        }
        if self.outside.cancels > 0 && !self.run.is_over() {
            add("stop", &|world| {
                world.outside.cancels -= 1;
                let executed = world.queue.iter().any(|entry| entry.held && !entry.done);
                let operator = Actor::new(Role::Operator, AgentPath::primary());
                let cancel = CancelRun { reason: "enough".to_owned(), executed };
                let decision =
                    decided(&cancel, &world.run, &operator, Time::from_micros(0)).unwrap();
                world.fold(&decision);
                if let Handed::Queued { .. } = world.handed {
                    world.handed = Handed::Over;
                    world.wake(Trigger::DelegationReturned, false);
                }
            });
        }
        for at in 0..self.processes.len() {
            if self.outside.crashes > 0 {
                add("crash", &|world| {
                    world.outside.crashes -= 1;
                    world.processes.remove(at);
                });
            }
            if self.outside.expiries > 0 {
                let entry = self.processes[at].entry;
                let held = self.queue[entry].lease == self.processes[at].lease;
                if held && !self.queue[entry].done {
                    add("a lease ends too early", &|world| {
                        world.outside.expiries -= 1;
                        world.take(entry);
                    });
                }
            }
        }
        worlds
    }

    /// No process has a step left: is that correct?
    pub(crate) fn is_at_rest(&self) -> Result<(), &'static str> {
        match (&self.run.state, &self.run.waits_for) {
            (RunState::Running, _) => Err("it is running, and nobody will go on with it"),
            (RunState::Waiting, Some(Wait::Gate(_))) if self.asked == Asked::Open => Ok(()),
            (RunState::Waiting, Some(Wait::Pause)) if self.paused => Ok(()),
            (RunState::Waiting, _) => Err("it waits for something that will not come"),
            (RunState::Ended, _) => {
                let cancelled = self.run.stop_reason == Some(StopReason::Cancelled);
                if self.unseen && !cancelled && !self.answer_queued {
                    return Err("something was said that nobody has heard");
                }
                Ok(())
            }
        }
    }
}
