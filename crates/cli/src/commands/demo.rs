//! `punch demo`: a turn list from plan to drained, on a store of its own.
//!
//! Everything goes through the same operations an agent uses; nothing is staged.

use std::sync::Arc;

use clap::Command;
use punchlist_core::{Actor, AgentPath, Role};
use punchlist_ops::catalogue::find;
use punchlist_ops::{Context, Envelope, Error, Ops, Proof, clock};
use punchlist_store::{Options, Target};
use serde_json::{Value, json};

use crate::args::Globals;
use crate::failure::Failure;
use crate::output::{BOLD, CYAN, DIM, RED, print};
use crate::render;

pub(crate) fn command() -> Command {
    Command::new("demo")
        .about("Watch a turn list go from plan to drained, with no set-up")
        .long_about(
            "Watch a turn list go from plan to drained, with no set-up.\n\n\
         Plays an agent that plans, works, and is refused where it should be, through the same \
         operations a real one calls. It uses a temporary store and touches nothing of yours.",
        )
}

pub(crate) fn run(_: &Globals) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("demo.db");
    let demo = Demo { ops: Ops::new(Target::File(file.clone()), Options::default()) };

    say("An agent gets a request with several parts. It plans before it works:")?;
    let plan = demo.call(
        "primary",
        "create_todo",
        &json!({ "items": [
            { "title": "Measure the build", "completionCriteria": "A table of the slowest steps" },
            { "title": "Find what can be cached", "agentType": "researcher" },
            { "title": "Write up the proposal" },
        ]}),
    )?;
    let id = |n: usize| plan["created"][n]["id"].clone();

    say("A subagent tries to settle an item of that plan. It may not, however it asks:")?;
    demo.refused(
        "primary.subagents.researcher",
        "complete_todo",
        &json!({
            "todoId": id(0), "outcome": "I say it is done", "turnId": "another-turn",
        }),
    )?;

    say("The agent works its items and says what came of each:")?;
    demo.call(
        "primary",
        "complete_todo",
        &json!({
            "todoId": id(0), "outcome": "Linking takes 61 %, code generation 22 %",
        }),
    )?;
    demo.call(
        "primary",
        "complete_todo",
        &json!({
            "todoId": id(1), "status": "cancelled", "outcome": "Linking cannot be cached",
        }),
    )?;

    say("The session ends here. A new one opens the same file, and the plan is still there:")?;
    let Demo { ops } = demo;
    drop(ops);
    let demo = Demo { ops: Ops::new(Target::File(file), Options::default()) };
    demo.call("primary", "list_todo", &json!({}))?;

    say("It goes on where it stood, and the list is drained:")?;
    demo.call(
        "primary",
        "complete_todo",
        &json!({
            "todoId": id(2), "outcome": "Proposal: a faster linker",
        }),
    )?;
    demo.call("primary", "list_todo", &json!({ "status": "all" }))?;

    say("Settled is final:")?;
    demo.refused(
        "primary",
        "complete_todo",
        &json!({ "todoId": id(1), "outcome": "done after all" }),
    )?;

    say("And the log kept who did what:")?;
    demo.call("primary", "event_list", &json!({ "after": 0 }))?;

    print(&format!(
        "\n{BOLD}Try next{BOLD:#}\n  \
         punch call create_todo '{{\"items\":[{{\"title\":\"Your first item\"}}]}}' --conversation c1 --turn t1\n  \
         punch status\n  punch log\n  punch authority --list turn\n  \
         punch mcp --profile turn --conversation c1 --turn t1   # the same tools for an MCP host\n"
    ))?;
    Ok(())
}

struct Demo {
    ops: Ops,
}

impl Demo {
    fn attempt(&self, agent: &str, name: &str, input: &Value) -> Result<Value, Error> {
        let path = AgentPath::parse(agent).unwrap_or_else(AgentPath::primary);
        let role = if path.is_subagent() { Role::Worker } else { Role::Root };
        let turn = Some("turn-1".to_owned());
        let conversation = Some("conversation-1".to_owned());
        let envelope = Envelope {
            actor: Actor::new(role, path),
            proof: Proof::Local,
            project: "demo".to_owned(),
            context: Context { conversation, turn, ..Context::default() },
            idempotency_key: None,
            agents: Arc::default(),
            now: clock::now(),
        };
        self.ops.call(find(name)?, &envelope, input.clone())
    }

    fn call(&self, agent: &str, name: &str, input: &Value) -> Result<Value, Failure> {
        print(&format!("{DIM}{agent} → {name} {input}{DIM:#}\n"))?;
        let answer = self.attempt(agent, name, input)?;
        print(&render::answer(name, &answer, clock::now()))?;
        Ok(answer)
    }

    fn refused(&self, agent: &str, name: &str, input: &Value) -> Result<(), Failure> {
        print(&format!("{DIM}{agent} → {name} {input}{DIM:#}\n"))?;
        match self.attempt(agent, name, input) {
            Ok(_) => Err(Failure::Io("the demo expected a refusal and got none".to_owned())),
            Err(error) => {
                let (code, hint) = (error.code(), error.hint().unwrap_or_default());
                print(&format!(
                    "{RED}refused{RED:#} [{code}]: {error}\n  {CYAN}next{CYAN:#}: {hint}\n"
                ))?;
                Ok(())
            }
        }
    }
}

fn say(text: &str) -> Result<(), Failure> {
    Ok(print(&format!("\n{BOLD}{text}{BOLD:#}\n"))?)
}
