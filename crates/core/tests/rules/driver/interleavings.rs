//! Every interleaving of stops, tools, gates, wake-ups, messages, pauses and crashes in a small
//! world: none loses a continuation, and none runs forever.
//!
//! The search is exhaustive. The steps of the processes must form no cycle, and where they end, the
//! run is over or waits for something that is really open.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;

use punchlist_core::driver::{Budget, Work};
use punchlist_core::run::Run;

use super::case::{delegation, list, run, settle, with};
use super::small_world::{Behaviour, Key, Outside, Script, Tool, World};

const NOTHING: Outside = Outside { messages: 0, pauses: 0, cancels: 0, crashes: 0, expiries: 0 };

/// The state of a world in the search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// Its successors are being searched.
    Entered,
    Left,
}

/// A world, and the steps that led to it.
struct Node {
    world: World,
    path: Path,
}

/// The newest step, and those before it.
#[derive(Clone)]
struct Path(Option<Rc<(String, Path)>>);

impl Path {
    fn and(&self, step: String) -> Self {
        Self(Some(Rc::new((step, self.clone()))))
    }

    fn told(&self, fault: &str, world: &World) -> String {
        let mut steps = Vec::new();
        let mut path = &self.0;
        while let Some(step) = path {
            steps.push(step.0.as_str());
            path = &step.1.0;
        }
        steps.reverse();
        let mut text = format!("{fault}:\n{}\n", steps.join("\n"));
        let _ = write!(text, "{:?}", world.run);
        text
    }
}

/// Searches all successors of a world; returns the number of worlds.
fn search(start: Run, outside: Outside, behaviours: &[Behaviour]) -> usize {
    let now = start.created_at;
    let mut settled = list(&["write"]);
    with(&mut settled, 0, settle);
    let (open, drained) = (Work::of(&[list(&["write"])], now), Work::of(&[settled], now));
    let script = Script { behaviours, open: &open, drained: &drained };
    let mut marks: HashMap<Key, Mark> = HashMap::new();
    // Optional steps are searched later: they are not part of what processes do by themselves.
    let mut later = vec![Node { world: World::new(start, outside), path: Path(None) }];
    while let Some(root) = later.pop() {
        let key = root.world.key();
        if marks.contains_key(&key) {
            continue;
        }
        marks.insert(key.clone(), Mark::Entered);
        assert!(marks.len() < 1_000_000, "too large to be searched");
        let mut stack = vec![(key, expand(&script, root, &mut later))];
        while let Some((key, following)) = stack.last_mut() {
            let Some(node) = following.pop() else {
                marks.insert(key.clone(), Mark::Left);
                stack.pop();
                continue;
            };
            let key = node.world.key();
            match marks.get(&key) {
                Some(Mark::Left) => {}
                Some(Mark::Entered) => {
                    panic!("{}", node.path.told("it goes round in circles", &node.world))
                }
                None => {
                    marks.insert(key.clone(), Mark::Entered);
                    stack.push((key, expand(&script, node, &mut later)));
                }
            }
        }
    }
    marks.len()
}

/// The successors by the processes' own steps; optional steps go to `later`.
fn expand(script: &Script<'_>, node: Node, later: &mut Vec<Node>) -> Vec<Node> {
    let Node { world, path } = node;
    let on = |(name, world): (String, World)| Node { world, path: path.and(name) };
    if let Some(fault) = world.fault {
        panic!("{}", path.told(fault, &world));
    }
    let following = world.goes_on(script);
    if following.is_empty()
        && let Err(fault) = world.is_at_rest()
    {
        panic!("{}", path.told(fault, &world));
    }
    later.extend(world.may_happen().into_iter().map(on));
    following.into_iter().map(on).collect()
}

fn small(max_continuations: u32, max_iterations: u32) -> Run {
    run(Budget { max_continuations, max_iterations, ..Budget::default() })
}

const PLAIN: [Behaviour; 3] =
    [Behaviour::End, Behaviour::Call(Tool::Look), Behaviour::Call(Tool::Complete)];

/// S-21, S-35: stops and continuations, with a process that dies anywhere and a lease that ends too
/// early: no continuation is lost or made twice.
#[test]
fn a_crash_anywhere_loses_no_continuation() {
    let outside = Outside { crashes: 2, expiries: 1, ..NOTHING };
    let worlds = search(small(2, 2), outside, &PLAIN);
    assert!(worlds > 1_000, "{worlds}");
}

/// S-31: a question answered at any time, even while the process is about to suspend the run.
#[test]
fn a_gate_answered_at_any_time_wakes_the_run() {
    let asks = [Behaviour::End, Behaviour::Call(Tool::Ask), Behaviour::Call(Tool::Permit)];
    let outside = Outside { crashes: 1, expiries: 1, ..NOTHING };
    let worlds = search(small(1, 3), outside, &asks);
    assert!(worlds > 1_000, "{worlds}");
}

/// T-30, X-15: delegated work that comes back at any time, waited for or not.
#[test]
fn work_that_returns_at_any_time_is_seen() {
    let hands = [Behaviour::End, Behaviour::Call(Tool::HandOn), Behaviour::Call(Tool::Await)];
    let outside = Outside { crashes: 1, expiries: 1, ..NOTHING };
    let worlds = search(small(1, 3), outside, &hands);
    assert!(worlds > 1_000, "{worlds}");
}

/// S-19: a person's message at any time is seen by a model call of this run, or answered by the
/// next run.
#[test]
fn a_message_at_any_time_is_seen() {
    let behaviours = [Behaviour::End, Behaviour::Fail, Behaviour::Call(Tool::Complete)];
    let outside = Outside { messages: 2, crashes: 1, ..NOTHING };
    let worlds = search(small(1, 2), outside, &behaviours);
    assert!(worlds > 1_000, "{worlds}");
}

/// P-10, S-27: pauses, messages and stops, in any order.
#[test]
fn pauses_and_stops_at_any_time() {
    let outside = Outside { messages: 1, pauses: 2, cancels: 1, crashes: 1, ..NOTHING };
    let behaviours = [Behaviour::End, Behaviour::Call(Tool::Ask), Behaviour::Call(Tool::Complete)];
    let worlds = search(small(1, 2), outside, &behaviours);
    assert!(worlds > 1_000, "{worlds}");
}

/// S-27, F-2: a stop while delegated work is open.
#[test]
fn a_stop_at_any_time_ends_the_run() {
    let hands = [Behaviour::End, Behaviour::Call(Tool::HandOn), Behaviour::Call(Tool::Await)];
    let outside = Outside { cancels: 1, crashes: 1, expiries: 1, ..NOTHING };
    let worlds = search(small(1, 2), outside, &hands);
    assert!(worlds > 1_000, "{worlds}");
}

/// Q-S1: the pause between two continuations survives its process.
#[test]
fn a_crash_during_a_pause_loses_nothing() {
    let budget = Budget { max_continuations: 2, max_iterations: 2, ..Budget::default() };
    let resting = run(Budget { check_interval_ms: 5_000, ..budget });
    let outside = Outside { crashes: 2, messages: 1, cancels: 1, ..NOTHING };
    let worlds = search(resting, outside, &PLAIN);
    assert!(worlds > 1_000, "{worlds}");
}

/// A run of delegated work survives crashes, too. Its queue entry is the delegation itself, which
/// nobody takes while the run waits. Such a run has no list, so it has no pauses.
#[test]
fn a_delegated_run_survives_crashes_too() {
    let mut delegated = small(1, 2);
    delegated.delegation_id = Some(delegation());
    let behaviours = [Behaviour::End, Behaviour::Call(Tool::Permit), Behaviour::Call(Tool::Await)];
    let outside = Outside { crashes: 1, expiries: 1, ..NOTHING };
    let worlds = search(delegated, outside, &behaviours);
    assert!(worlds > 1_000, "{worlds}");
}
