//! What happened in the last 24 hours, counted from the log.
//!
//! A day's log may be long, so each project's day is read once and kept; a page then reads only what
//! was added since. A day that is longer than what is read says so.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use maud::{Markup, html};
use punchlist_core::driver::StopReason;
use punchlist_core::{Event, Time};
use punchlist_ops::Error;
use punchlist_ops::input::{Limit, Maybe};
use punchlist_ops::operations::event_list::{self, EventList, EventRow};
use punchlist_ops::operations::run_show::{self, RunShow};

use super::visit::Visit;
use super::{parts, words};

/// How many events are read at a time, and how often at most.
const EVENTS: i64 = 1_000;
const READS: usize = 5;

const DAY_SECONDS: i64 = 24 * 3_600;

/// What is counted, in the order in which it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Accepted,
    Returned,
    Completed,
    Decided,
    IssueFiled,
    IssueClosed,
    RunEnded,
    Failed,
}

impl Deed {
    const ALL: [Self; 8] = [
        Self::Accepted,
        Self::Returned,
        Self::Completed,
        Self::Decided,
        Self::IssueFiled,
        Self::IssueClosed,
        Self::RunEnded,
        Self::Failed,
    ];

    /// What it is called, and the kind of sentence that Activity has for it.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Accepted => ("Claims accepted", "items"),
            Self::Returned => ("Claims returned", "items"),
            Self::Completed => ("Items completed", "items"),
            Self::Decided => ("Decisions answered", "decisions"),
            Self::IssueFiled => ("Issues filed", "issues"),
            Self::IssueClosed => ("Issues closed", "issues"),
            Self::RunEnded => ("Runs ended", "sessions and runs"),
            Self::Failed => ("Runs failed", "sessions and runs"),
        }
    }

    /// What an event counts as. Most events are not parsed.
    fn of(row: &EventRow) -> Option<Self> {
        Some(match row.r#type.as_str() {
            // Accepting a claim is an operation of its own; a sign-off accepts several.
            "todo_completed" => match row.cause.as_str() {
                "todo_accept" | "gate_answer" => Self::Accepted,
                _ => Self::Completed,
            },
            "claim_returned" => Self::Returned,
            "gate_answered" => Self::Decided,
            "issue_created" => Self::IssueFiled,
            "issue_transitioned" => match row.event()? {
                Event::IssueTransitioned(event) if event.status.is_closed() => Self::IssueClosed,
                _ => return None,
            },
            "run_stopped" => match row.event()? {
                Event::RunStopped(event) if event.reason == StopReason::Error => Self::Failed,
                _ => Self::RunEnded,
            },
            _ => return None,
        })
    }
}

/// One deed. Runs that ended have a cost, if their model has a price.
#[derive(Debug)]
struct Happened {
    at: Time,
    deed: Deed,
    cost_usd: Option<f64>,
}

impl Happened {
    fn of(visit: &Visit, project: &str, row: &EventRow) -> Option<Self> {
        let deed = Deed::of(row)?;
        let cost_usd = match deed {
            Deed::RunEnded | Deed::Failed => Self::cost(visit, project, row),
            _ => None,
        };
        Some(Self { at: row.at, deed, cost_usd })
    }

    fn cost(visit: &Visit, project: &str, row: &EventRow) -> Option<f64> {
        let Event::RunStopped(event) = row.event()? else { return None };
        let input = run_show::Input { run: event.run_id.into() };
        visit.run_in::<RunShow>(project, input).ok()?.run.usage.cost_usd
    }
}

/// The last day of a project.
#[derive(Debug, Default)]
struct Day {
    /// The number of the last event that was read.
    last: i64,
    deeds: VecDeque<Happened>,
    /// The time from which on everything was read, if that is not a whole day.
    from: Option<Time>,
}

impl Day {
    /// Reads backwards until the day is over.
    fn begin(visit: &Visit, project: &str, since: Time) -> Result<Self, Error> {
        let mut day = Self::default();
        let mut before = None;
        for _ in 0..READS {
            let page = read(visit, project, None, before)?;
            let is_last = i64::try_from(page.len()).unwrap_or(0) < EVENTS;
            day.last = day.last.max(page.last().map_or(0, |row| row.seq));
            before = page.first().map(|row| row.seq);
            let is_over = page.iter().all(|row| row.at < since);
            day.from = page.first().map(|row| row.at);
            let recent = page.iter().rev().filter(|row| row.at >= since);
            day.deeds.extend(recent.filter_map(|row| Happened::of(visit, project, row)));
            if is_last || is_over {
                day.from = None;
                break;
            }
        }
        Ok(day)
    }

    /// Reads what was added.
    fn go_on(&mut self, visit: &Visit, project: &str) -> Result<(), Error> {
        for _ in 0..READS {
            let page = read(visit, project, Some(self.last), None)?;
            let Some(last) = page.last() else { return Ok(()) };
            self.last = last.seq;
            self.deeds.extend(page.iter().filter_map(|row| Happened::of(visit, project, row)));
        }
        Ok(())
    }
}

fn read(
    visit: &Visit,
    project: &str,
    after: Option<i64>,
    before: Option<i64>,
) -> Result<Vec<EventRow>, Error> {
    let input = event_list::Input {
        after,
        before,
        since: Maybe(None),
        brief: None,
        names: None,
        limit: Limit::of(EVENTS),
        visibility: None,
    };
    Ok(visit.run_in::<EventList>(project, input)?.events)
}

/// The days of the projects that were looked at.
#[derive(Debug, Default)]
pub(crate) struct Days(Mutex<HashMap<String, Day>>);

/// How often each thing happened, and whether that is all of the day.
#[derive(Debug, Default)]
struct Counts {
    counts: [i64; Deed::ALL.len()],
    cost_usd: Option<f64>,
    from: Option<Time>,
}

impl Days {
    fn count(&self, visit: &Visit, project: &str, counts: &mut Counts) -> Result<(), Error> {
        let since = visit.now().plus_seconds(-DAY_SECONDS);
        let mut days = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = days.remove(project).and_then(|mut day| {
            // A log that was replaced is read anew.
            day.go_on(visit, project).is_ok().then_some(day)
        });
        let mut day = match known {
            Some(day) => day,
            None => Day::begin(visit, project, since)?,
        };
        day.deeds.retain(|one| one.at >= since);
        for happened in &day.deeds {
            if let Some(n) = Deed::ALL.iter().position(|one| *one == happened.deed) {
                counts.counts[n] += 1;
            }
            if let Some(cost) = happened.cost_usd {
                *counts.cost_usd.get_or_insert_default() += cost;
            }
        }
        day.from = day.from.filter(|from| *from > since);
        counts.from = counts.from.max(day.from);
        days.insert(project.to_owned(), day);
        Ok(())
    }
}

/// The section of a sidebar.
pub(crate) fn draw(visit: &Visit, projects: &[&str]) -> Result<Markup, Error> {
    // What a narrowed reader sees must not be mixed with what others see.
    if visit.is_narrowed() {
        return Ok(html! {});
    }
    let mut counts = Counts::default();
    for project in projects {
        visit.days().count(visit, project, &mut counts)?;
    }
    let (one, is_one) = (projects.first().copied().unwrap_or_default(), projects.len() == 1);
    let to = |kind: &str| words::address(one, &format!("/activity?{}", words::pair("kind", kind)));
    let happened: Vec<(Deed, i64)> =
        Deed::ALL.into_iter().zip(counts.counts).filter(|(_, count)| *count > 0).collect();
    Ok(html! {
        details.rail-part id="since" {
            (parts::rail_head("since-title", "Since yesterday", &html! {}))
            @if happened.is_empty() { p.hint { "Nothing was completed or decided." } }
            dl.sums {
                @for (deed, count) in happened {
                    @let (name, kind) = deed.words();
                    dt { @if is_one { a href=(to(kind)) { (name) } } @else { (name) } }
                    dd { (words::grouped(count)) }
                }
                @if let Some(cost) = counts.cost_usd { dt { "Cost of ended runs" } dd { (words::dollars(cost)) } }
            }
            @if let Some(from) = counts.from { p.hint { "Counted from " (words::clock(from)) " on." } }
        }
    })
}
