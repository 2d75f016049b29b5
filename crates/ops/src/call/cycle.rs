//! One whole cycle of a mission in one transaction. It locks the mission's row, so only one process
//! runs it at a time.

use punchlist_core::follow::Then;
use punchlist_core::follow::mission::{self as follow, Notice};
use punchlist_core::metric::{self, TREND_READINGS};
use punchlist_core::mission::{Escalate, Measured, Pillar, RunCycle, Shared, planning};
use punchlist_core::{Mission, Place, Scope, Snapshot, Status, Todo, TodoId};
use punchlist_store::Load;
use punchlist_store::rows::lists::Lock;
use punchlist_store::rows::mission_todos::WantedTodos;

use super::Call;
use crate::Error;
use crate::operations::mission_cycle::Output;
use crate::views::mission::MetricStanding;

/// How many long settled items one cycle archives in a pillar; the next cycle takes the rest.
const ARCHIVED_AT_ONCE: i64 = 1000;

impl Call<'_, '_> {
    pub(crate) fn run_cycle(&mut self, slug: &str, if_due: bool) -> Result<Output, Error> {
        let mission = self.mission(slug, Lock::Row)?;
        self.reach(&Place::mission(&mission.slug))?;
        let aggregate = (mission.project_id, &mission.id as _);
        let decided = self.decided(&RunCycle { if_due }, &mission, aggregate)?;
        let next_cycle_at = mission.next_cycle_at;
        let Some(decision) = decided else {
            return Ok(Output { next_cycle_at, ..Output::default() });
        };
        let mut output = Output { ran: true, ..Output::default() };
        for pillar in mission.pillars_at_work() {
            self.sweep(&mission, pillar, &mut output)?;
        }
        let open = self.open_todos(&mission)?;
        let claimed = open.iter().filter(|(_, todo)| todo.claim.is_some());
        output.review_queue = claimed.map(|(_, todo)| todo.title.clone()).collect();
        for pillar in mission.pillars_at_work() {
            self.ask_to_plan(&mission, pillar, &open)?;
            output.planned.push(pillar.slug.clone());
        }
        let mission = self.record_mission(mission, &decision)?;
        output.next_cycle_at = mission.next_cycle_at;
        Ok(output)
    }

    /// Maintains the list of one pillar.
    fn sweep(
        &mut self,
        mission: &Mission,
        pillar: &Pillar,
        output: &mut Output,
    ) -> Result<(), Error> {
        let scope = Scope::Pillar { mission: mission.slug.clone(), pillar: pillar.slug.clone() };
        let Some(mut list) = self.lock(&scope, Load::Open)? else { return Ok(()) };
        let sweep = mission.sweep();
        if sweep.archive_after_days > 0 {
            let days = -i64::from(sweep.archive_after_days);
            let until = self.envelope.now.plus_seconds(days * 86_400);
            let past = self.tx.settled_until(list.list.id, until, ARCHIVED_AT_ONCE)?;
            list.todos.extend(past.into_iter().map(|todo| (todo.id, todo)));
        }
        let before = list.clone();
        let decision = self.decide(&mut list, sweep)?;
        let swept = follow::swept(&before, &list, &decision, mission.conversation_id);
        for notice in swept.notices {
            match notice {
                Notice::Asked(id) => self.escalate(mission, pillar, &before, id)?,
                Notice::Said(then) => self.then(mission.project_id, [then])?,
            }
        }
        output.escalated.extend(swept.escalated);
        output.demoted.extend(swept.demoted);
        output.cancelled.extend(swept.cancelled);
        output.archived += swept.archived;
        Ok(())
    }

    /// Asks the person in the mission's chat and in the inbox, and warns the agent that works on
    /// the item.
    fn escalate(
        &mut self,
        mission: &Mission,
        pillar: &Pillar,
        list: &Snapshot,
        todo_id: TodoId,
    ) -> Result<(), Error> {
        let Some(todo) = list.todo(todo_id).cloned() else { return Ok(()) };
        let project_id = mission.project_id;
        let ask = Escalate { mission: mission.slug.clone(), pillar: pillar.slug.clone() };
        let decision = self.decided(&ask, (project_id, &todo), (project_id, &mission.id))?;
        let actor = Box::new(self.envelope.actor.clone());
        self.then(project_id, [Then::CloseQuestions { actor, todo_id }])?;
        let gate = self.record_gate(project_id, None, &decision)?;
        let then = follow::escalated(&todo, &gate.text, mission.conversation_id, pillar);
        self.then(project_id, then)
    }

    /// Writes the planning prompt into the chat of a pillar (M-65).
    fn ask_to_plan(
        &mut self,
        mission: &Mission,
        pillar: &Pillar,
        open: &[(String, Todo)],
    ) -> Result<(), Error> {
        let standings = self.metric_standings(pillar)?;
        let active = pillar.metrics.iter().filter(|metric| metric.archived_at.is_none());
        let metrics: Vec<Measured<'_>> = active
            .zip(&standings)
            .map(|(metric, standing)| Measured {
                metric,
                current: standing.current,
                status: standing.status,
                trend: standing.trend,
            })
            .collect();
        let own: Vec<&Todo> =
            open.iter().filter(|(of, _)| *of == pillar.slug).map(|(_, todo)| todo).collect();
        let shared: Vec<Shared<'_>> = open
            .iter()
            .filter(|(of, todo)| *of != pillar.slug && todo.related_pillars.contains(&pillar.slug))
            .map(|(of, todo)| {
                let owner = mission.pillar(of).map_or(of.as_str(), |pillar| &pillar.name);
                Shared { todo, owner }
            })
            .collect();
        let counts = self.counts(mission, Some(&pillar.slug))?;
        let counts = (counts.active.unsigned_abs(), counts.backlog.unsigned_abs());
        let now = self.envelope.now;
        let text = planning(mission, pillar, &metrics, &own, &shared, counts, now);
        self.then(mission.project_id, follow::asked_to_plan(pillar, &text))
    }

    /// The open items of a mission, oldest first, each with the slug of its pillar.
    pub(crate) fn open_todos(&mut self, mission: &Mission) -> Result<Vec<(String, Todo)>, Error> {
        let mut open = Vec::new();
        for status in [Status::Backlog, Status::Pending, Status::InProgress] {
            let wanted = WantedTodos { status: Some(status), ..WantedTodos::default() };
            let (project, slug) = (mission.project_id, &mission.slug);
            open.extend(self.tx.mission_todos(project, slug, &wanted, i64::MAX)?);
        }
        open.sort_unstable_by_key(|(_, todo)| todo.id);
        Ok(open)
    }

    /// The metrics of a pillar that are still measured, with their status.
    pub(crate) fn metric_standings(
        &mut self,
        pillar: &Pillar,
    ) -> Result<Vec<MetricStanding>, Error> {
        let mut standings = Vec::new();
        for metric in pillar.metrics.iter().filter(|metric| metric.archived_at.is_none()) {
            let limit = i64::try_from(TREND_READINGS).unwrap_or(i64::MAX);
            let readings = self.tx.readings(metric.id, limit)?;
            let last_error = match &metric.collect {
                Some(_) => self.tx.collection(metric.id)?.last_error,
                None => None,
            };
            let figures: Vec<_> = readings.iter().map(|reading| reading.value).collect();
            let current = figures.last().copied();
            standings.push(MetricStanding {
                slug: metric.slug.clone(),
                name: metric.name.clone(),
                unit: metric.unit.clone(),
                current,
                target: metric.target,
                status: metric::status(metric.target.as_ref(), current),
                trend: metric::trend(metric.target.as_ref(), &figures),
                readings: figures,
                last_error,
            });
        }
        Ok(standings)
    }
}
