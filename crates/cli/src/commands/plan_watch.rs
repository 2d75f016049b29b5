//! `punch plan tree --watch`: the tree of a plan, redrawn whenever it changes.
//!
//! It follows the log as `punch log -f` does. On a terminal the tree uses the second screen until
//! the end; elsewhere each tree is printed after the last.

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};
use punchlist_ops::catalogue::find;
use punchlist_ops::follow::Follow;
use punchlist_ops::operations::event_list::EventRow;
use punchlist_ops::views::PlanView;
use punchlist_ops::{Envelope, Error};

use super::{operation, plan};
use crate::args::Globals;
use crate::failure::Failure;
use crate::output::{Screen, json_text};
use crate::stop::Stop;
use crate::{caller, output, render};

/// How long to wait for events before checking whether to stop.
const PATIENCE: Duration = Duration::from_millis(200);

/// Adds `--watch` to `plan tree`, the operation's own command.
pub(crate) fn with_flag(plan: Command) -> Command {
    if plan.find_subcommand("tree").is_none() {
        return plan;
    }
    plan.mut_subcommand("tree", |tree| {
        tree.arg(
            Arg::new("watch")
                .long("watch")
                .short('w')
                .help("Redraw the tree whenever it changes, until stopped")
                .action(ArgAction::SetTrue),
        )
    })
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let operation = find("plan_tree")?;
    let mut input = operation::input(operation, &mut globals.clone(), matches);
    let stop = Stop::on_signals();
    let ops = caller::ops(globals)?;
    let envelope = caller::envelope(&ops, globals, false)?;
    plan::fill_in(&ops, &envelope, &mut input)?;
    // Starts before the first read, so that no event is missed in between.
    let mut follow = Follow::after(&ops, &envelope, None)?;
    let look = || {
        let now = Envelope { now: caller::ticking(), ..envelope.clone() };
        ops.answer(operation, &now, input.clone())?.into_output::<PlanView>()
    };
    let mut drawing = Drawing::new(globals);
    drawing.draw(&look()?)?;
    let mut is_lost = false;
    while !stop.asked() && !output::nobody_reads() {
        let seen = follow.next(PATIENCE).and_then(|events| {
            if events.iter().any(may_show) { look().map(Some) } else { Ok(None) }
        });
        match seen {
            Ok(answer) => {
                is_lost = false;
                answer.map_or(Ok(()), |answer| drawing.draw(&answer))?;
            }
            // If the server restarts, following continues, with one message.
            Err(error) if error.meaning().retryable => {
                if !is_lost {
                    drawing.say(&error);
                }
                is_lost = true;
                stop.wait(PATIENCE);
            }
            Err(error) => return Err(error.into()),
        }
    }
    drawing.end()
}

/// Can this event change the drawn tree? The tree shows tasks and the agents that hold them.
fn may_show(event: &EventRow) -> bool {
    let kind = &event.r#type;
    kind.starts_with("todo_") || kind.starts_with("list_") || kind == "agent_changed"
}

/// The last drawing, and the screen.
struct Drawing<'g> {
    globals: &'g Globals,
    screen: Option<Screen>,
    last: Option<String>,
}

impl<'g> Drawing<'g> {
    fn new(globals: &'g Globals) -> Self {
        let screen = (!globals.json).then(Screen::open).flatten();
        Self { globals, screen, last: None }
    }

    /// Draws the plan, if it differs from the last drawing.
    fn draw(&mut self, plan: &PlanView) -> Result<(), Failure> {
        let text = match self.globals.json {
            true => json_text(plan)?,
            false => render::plans::tree(plan),
        };
        if self.last.as_ref() == Some(&text) {
            return Ok(());
        }
        match &self.screen {
            Some(screen) => screen.show(&text, render::plans::CURRENT)?,
            // An empty line between two drawings; JSON is one line each.
            None if self.last.is_some() && !self.globals.json => {
                output::print(&format!("\n{text}"))?;
            }
            None => output::print(&text)?,
        }
        self.last = Some(text);
        Ok(())
    }

    fn say(&self, error: &Error) {
        if self.screen.is_none() {
            output::warn(&format!("{error}; trying again"));
        }
    }

    /// Closes the screen, and prints the last drawing.
    fn end(mut self) -> Result<(), Failure> {
        if self.screen.take().is_some() {
            output::print(self.last.as_deref().unwrap_or_default())?;
        }
        Ok(())
    }
}
