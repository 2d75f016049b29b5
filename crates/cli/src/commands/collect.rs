//! `punch metric collect` at a person's terminal: what was queued is followed until every metric was
//! read or has failed.
//!
//! The command only queues: collectors run in a worker, with the worker's folder and environment, so
//! that a metric is read in the same way for every caller. Only at a terminal does the command follow
//! the readings.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use clap::Command;
use punchlist_core::{Event, MetricId};
use punchlist_ops::catalogue::Define;
use punchlist_ops::follow::Follow;
use punchlist_ops::operations::metric_collect::MetricCollect;
use punchlist_ops::{Envelope, Operation, Ops, Proof};

use crate::args::Globals;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::render::events::Form;
use crate::stop::Stop;
use crate::{caller, output, render};

/// How long to wait for events before checking whether to stop.
const PATIENCE: Duration = Duration::from_millis(200);

/// A worker that runs takes queued work at once.
const WORKER_MAY_BE_MISSING: Duration = Duration::from_secs(3);

/// Says in the help of `collect` what happens at a terminal.
pub(super) fn explained(group: Command) -> Command {
    if group.find_subcommand("collect").is_none() {
        return group;
    }
    group.mut_subcommand("collect", |collect| {
        let about = collect.get_about().cloned().unwrap_or_default();
        collect.long_about(format!(
            "{about}\n\nAt a terminal it then shows each reading, until every metric was read or has \
             failed. Ctrl-C stops waiting; the metrics stay queued."
        ))
    })
}

/// Follows the log from before the collection is queued, if a person wants to see its end.
pub(super) fn begin<'o>(
    globals: &Globals,
    operation: &Operation,
    ops: &'o Ops,
    envelope: &Envelope,
) -> Result<Option<Follow<'o>>, Failure> {
    let is_shown = !globals.json && !globals.compact && !globals.quiet;
    if operation.name != MetricCollect::NAME || envelope.proof != Proof::Terminal || !is_shown {
        return Ok(None);
    }
    Ok(Some(Follow::named_after(ops, envelope, None)?))
}

/// Shows each reading and each failure of what was queued, until nothing is left or Ctrl-C.
pub(super) fn follow(globals: &Globals, mut follow: Follow<'_>) -> Result<(), Failure> {
    let stop = Stop::on_signals();
    let mut queued = Queued::default();
    let bar = Progress::of(globals, "Collecting", 0);
    let since = Instant::now();
    let mut has_hinted = false;
    while !stop.asked() && !queued.is_over() {
        let mut events = follow.next(PATIENCE)?;
        events.retain(|row| row.event().is_some_and(|event| queued.ends(&event)));
        bar.at_of(queued.done(), queued.total);
        if !events.is_empty() {
            let form = Form { all: true, ..Form::default() };
            let rows = render::events::rows(&events, &follow.names(), form, caller::ticking());
            bar.aside(|| output::print(&rows))?;
        }
        if !has_hinted && queued.done() == 0 && since.elapsed() > WORKER_MAY_BE_MISSING {
            has_hinted = true;
            let hint = "Nothing was read yet. Collectors run in `punch worker` or `punch serve`; \
                        Ctrl-C stops waiting, and the metrics stay queued.\n";
            bar.aside(|| output::remark(hint));
        }
    }
    Ok(())
}

/// The metrics that were queued and have not been read since.
#[derive(Default)]
struct Queued {
    left: Option<BTreeSet<MetricId>>,
    total: u64,
}

impl Queued {
    /// Does this event end the collection of one of them? The first event names them.
    fn ends(&mut self, event: &Event) -> bool {
        match (event, &mut self.left) {
            (Event::CollectionQueued(e), None) => {
                let left: BTreeSet<MetricId> = e.metric_ids.iter().copied().collect();
                self.total = left.len() as u64;
                self.left = Some(left);
                false
            }
            (Event::ReadingRecorded(e), Some(left)) => left.remove(&e.reading.metric_id),
            (Event::CollectionFailed(e), Some(left)) => left.remove(&e.metric_id),
            _ => false,
        }
    }

    fn done(&self) -> u64 {
        self.left.as_ref().map_or(0, |left| self.total - left.len() as u64)
    }

    fn is_over(&self) -> bool {
        self.left.as_ref().is_some_and(BTreeSet::is_empty)
    }
}
