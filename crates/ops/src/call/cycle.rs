//! One cycle of a mission, whole, in one transaction: of many who try, one has the mission's row.

use punchlist_core::conversation::{MessageKind, SYNTHETIC, Speaker};
use punchlist_core::event::{TodoCancelled, TodoDemoted, TodoEscalated};
use punchlist_core::metric::{self, TREND_READINGS};
use punchlist_core::mission::{
    Escalate, Measured, Pillar, RunCycle, Shared, Standing, called_off, planning, warning,
};
use punchlist_core::{
    ConversationId, Event, Mission, Place, ProjectId, Scope, Snapshot, Status, Todo, TodoId,
};
use punchlist_store::Load;
use punchlist_store::rows::lists::Lock;
use punchlist_store::rows::mission_todos::WantedTodos;

use super::Call;
use crate::Error;
use crate::operations::mission_cycle::Output;
use crate::views::mission::MetricStanding;

/// How many long settled items one cycle puts away in a pillar; the next one takes the rest.
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
        let going = |pillar: &&Pillar| pillar.status == Standing::Active;
        for pillar in mission.pillars.iter().filter(going) {
            self.sweep(&mission, pillar, &mut output)?;
        }
        let open = self.open_todos(&mission)?;
        let claimed = open.iter().filter(|(_, todo)| todo.claim.is_some());
        output.review_queue = claimed.map(|(_, todo)| todo.title.clone()).collect();
        for pillar in mission.pillars.iter().filter(going) {
            self.ask_to_plan(&mission, pillar, &open)?;
            output.planned.push(pillar.slug.clone());
        }
        let mission = self.record_mission(mission, &decision)?;
        output.next_cycle_at = mission.next_cycle_at;
        Ok(output)
    }

    /// Looks after the list of one pillar.
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
        // The words of an escalation tell where the item stood before it was put back.
        let before = list.clone();
        let decision = self.decide(&mut list, sweep)?;
        let titled =
            |id: TodoId| before.todo(id).map(|todo| todo.title.clone()).unwrap_or_default();
        for event in &decision.events {
            match event {
                Event::TodoEscalated(TodoEscalated { todo_id, .. }) => {
                    let settled = list.todo(*todo_id).is_some_and(|todo| todo.status.is_settled());
                    match before.todo(*todo_id) {
                        // There is nothing left to ask.
                        Some(todo) if settled => {
                            let (chat, text) = (mission.conversation_id, called_off(todo));
                            self.write_synthetic(mission.project_id, chat, &text)?;
                        }
                        _ => self.escalate(mission, pillar, &before, *todo_id)?,
                    }
                    output.escalated.push(titled(*todo_id));
                }
                Event::TodoDemoted(TodoDemoted { todo_id, .. }) => {
                    output.demoted.push(titled(*todo_id));
                }
                Event::TodoCancelled(TodoCancelled { todo_id, .. }) => {
                    output.cancelled.push(titled(*todo_id));
                }
                Event::TodoArchived(_) => output.archived += 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// Asks the person in the mission's chat and in the inbox, and warns whoever works on it.
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
        for old in self.tx.open_gates_about(project_id, todo_id)? {
            let decision = old.supersede(&self.envelope.actor);
            self.record_gate(project_id, Some(old), &decision)?;
        }
        let gate = self.record_gate(project_id, None, &decision)?;
        self.write_synthetic(project_id, mission.conversation_id, &gate.text)?;
        if todo.status == Status::InProgress && todo.claim.is_none() {
            self.write_synthetic(project_id, pillar.todos_conversation_id, &warning(&todo))?;
        }
        Ok(())
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
        let counts = self.counts(mission, &pillar.slug)?;
        let counts = (counts.active.unsigned_abs(), counts.backlog.unsigned_abs());
        let now = self.envelope.now;
        let text = planning(mission, pillar, &metrics, &own, &shared, counts, now);
        self.write_synthetic(mission.project_id, pillar.conversation_id, &text)?;
        match self.tx.conversation(mission.project_id, pillar.conversation_id)? {
            Some(chat) => self.call_upon(&chat),
            None => Ok(()),
        }
    }

    fn write_synthetic(
        &mut self,
        project: ProjectId,
        conversation: ConversationId,
        text: &str,
    ) -> Result<(), Error> {
        let said = (Speaker::User, MessageKind::Synthetic);
        let text = if text.starts_with('#') {
            format!("{SYNTHETIC}\n\n{text}")
        } else {
            format!("{SYNTHETIC} {text}")
        };
        self.post(project, conversation, said, text).map(|_| ())
    }

    /// The open items of a mission, each with the slug of its pillar, the oldest first.
    pub(crate) fn open_todos(&mut self, mission: &Mission) -> Result<Vec<(String, Todo)>, Error> {
        let mut open = Vec::new();
        for status in [Status::Backlog, Status::Pending, Status::InProgress] {
            let wanted = WantedTodos { status: Some(status), ..WantedTodos::default() };
            let (project, slug) = (mission.project_id, &mission.slug);
            open.extend(self.tx.mission_todos(project, slug, &wanted, i64::MAX)?);
        }
        open.sort_by_key(|(_, todo)| todo.id);
        Ok(open)
    }

    /// The metrics of a pillar that are still measured, and how they stand.
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
