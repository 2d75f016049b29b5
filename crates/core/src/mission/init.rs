//! Create a mission from its file, or update it to match the file. The same file again changes
//! nothing.

use serde::{Deserialize, Serialize};

use super::cadence::next_cycle;
use super::{
    Cadence, CollectSpec, MetricSpec, Mission, MissionSpec, Pillar, PillarSpec, Settings, Standing,
    Strategy, Template, TodoSpec,
};
use crate::authority::{Action, Subject, may_any};
use crate::capacity::Limits;
use crate::conversation::{About, Channel, Conversation};
use crate::event::MissionInitialised;
use crate::metric::{Collect, Metric, Source, Target};
use crate::text::{Body, Title, or_empty};
use crate::{
    By, ConversationId, Decide, Decision, Ids, MetricId, MissionId, PillarId, ProjectId, Refusal,
    Refused, StrategyId, Time,
};

/// Create or update a mission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitMission {
    pub spec: MissionSpec,
    /// The folder where collectors run: the project's folder, where the file was read.
    pub directory: Option<String>,
    /// Only create what is missing: an import does not change existing settings.
    pub only_missing: bool,
}

/// The result of [`InitMission`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initialised {
    pub mission: Mission,
    /// The chats that did not exist yet (M-53).
    pub conversations: Vec<Conversation>,
    /// What changed, in words; empty if nothing did.
    pub changes: Vec<String>,
    pub decision: Decision,
}

impl Decide for InitMission {
    type On<'a> = (ProjectId, Option<&'a Mission>);
    type Out = Initialised;

    /// The caller must have validated `spec`.
    fn decide(
        &self,
        (project_id, existing): Self::On<'_>,
        By { actor, now, ids }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        let may_import = may_any(actor.role, Subject::Mission, Action::Import);
        if let Some(existing) = existing.filter(|_| self.only_missing && may_import) {
            return Ok(self.add_missing(project_id, existing, now, ids));
        }
        if !may_any(actor.role, Subject::Mission, Action::Init) {
            return Err(Refusal::MayNotLead { role: actor.role }.into());
        }
        let mut making = Making {
            project_id,
            now,
            ids,
            directory: self.directory.as_deref(),
            conversations: Vec::new(),
            changes: Vec::new(),
        };
        let mut mission = making.mission(&self.spec, existing);
        let (conversations, changes) = (making.conversations, making.changes);
        if let Some(existing) = existing {
            mission.updated_at = existing.updated_at;
            if mission == *existing {
                let decision = Decision::default();
                return Ok(Initialised { mission, conversations, changes: Vec::new(), decision });
            }
            mission.updated_at = now;
        }
        let event = MissionInitialised { mission: Box::new(mission.clone()) };
        let decision = Decision { events: vec![event.into()], ..Decision::default() };
        Ok(Initialised { mission, conversations, changes, decision })
    }
}

impl InitMission {
    fn add_missing(
        &self,
        project_id: ProjectId,
        existing: &Mission,
        now: Time,
        ids: &mut Ids,
    ) -> Initialised {
        let (conversations, changes) = (Vec::new(), Vec::new());
        let directory = self.directory.as_deref();
        let mut making = Making { project_id, now, ids, directory, conversations, changes };
        let mut mission = existing.clone();
        for spec in &self.spec.pillars {
            let slug = spec.slug().unwrap_or_default();
            if mission.pillar(&slug).is_none() {
                making.changes.push(format!("added pillar `{slug}`"));
                let pillar = making.pillar(spec, slug, None, (existing.id, &existing.slug));
                mission.pillars.push(pillar);
            }
        }
        let (conversations, changes) = (making.conversations, making.changes);
        let mut decision = Decision::default();
        if !changes.is_empty() {
            mission.updated_at = now;
            let event = MissionInitialised { mission: Box::new(mission.clone()) };
            decision.events.push(event.into());
        }
        Initialised { mission, conversations, changes, decision }
    }
}

struct Making<'a> {
    project_id: ProjectId,
    now: Time,
    ids: &'a mut Ids,
    directory: Option<&'a str>,
    conversations: Vec<Conversation>,
    changes: Vec<String>,
}

impl Making<'_> {
    fn mission(&mut self, spec: &MissionSpec, existing: Option<&Mission>) -> Mission {
        let slug = spec.slug().unwrap_or_default();
        let id = existing.map_or_else(|| MissionId::from(self.ids.ulid()), |mission| mission.id);
        let name = spec.name.as_str().to_owned();
        let about = About { mission_id: id, mission_slug: slug.clone(), pillar: None };
        let conversation_id = match existing {
            Some(mission) => mission.conversation_id,
            None => self.conversation(Channel::Mission, name.clone(), about),
        };
        let cadence = spec.cadence.as_ref().map(|given| Cadence {
            cron: given.cron.trim().to_owned(),
            timezone: given.timezone.as_deref().unwrap_or("UTC").trim().to_owned(),
        });
        let status = spec.status.or(existing.map(|mission| mission.status)).unwrap_or_default();
        let kept =
            existing.filter(|mission| mission.cadence == cadence && mission.status == status);
        let next_cycle_at = match kept {
            Some(mission) => mission.next_cycle_at,
            None => next_cycle(cadence.as_ref(), status, self.now),
        };
        match existing {
            None => self.changes.push(format!("created mission `{slug}`")),
            Some(mission) => {
                let changed = mission.name != name
                    || mission.description != or_empty(spec.description.clone())
                    || mission.status != status
                    || mission.cadence != cadence
                    || mission.todo != settings(spec.todo.as_ref());
                if changed {
                    self.changes.push(format!("updated mission `{slug}`"));
                }
            }
        }
        Mission {
            id,
            project_id: self.project_id,
            pillars: self.pillars(spec, existing, (id, &slug)),
            slug,
            name,
            description: or_empty(spec.description.clone()),
            status,
            cadence,
            todo: settings(spec.todo.as_ref()),
            conversation_id,
            last_cycle_at: existing.and_then(|mission| mission.last_cycle_at),
            next_cycle_at,
            created_at: existing.map_or(self.now, |mission| mission.created_at),
            updated_at: self.now,
        }
    }

    /// The pillars of the file in its order, then archived ones that the file no longer has.
    fn pillars(
        &mut self,
        spec: &MissionSpec,
        existing: Option<&Mission>,
        mission: (MissionId, &str),
    ) -> Vec<Pillar> {
        let mut pillars: Vec<Pillar> = Vec::new();
        for given in &spec.pillars {
            let slug = given.slug().unwrap_or_default();
            let before = existing.and_then(|mission| mission.pillar(&slug));
            let pillar = self.pillar(given, slug, before, mission);
            match before {
                None => self.changes.push(format!("added pillar `{}`", pillar.slug)),
                Some(before) if *before != pillar => {
                    self.changes.push(format!("updated pillar `{}`", pillar.slug));
                }
                Some(_) => {}
            }
            pillars.push(pillar);
        }
        for before in existing.map(|mission| &mission.pillars[..]).unwrap_or_default() {
            if pillars.iter().any(|pillar| pillar.slug == before.slug) {
                continue;
            }
            if before.status != Standing::Archived {
                self.changes.push(format!("archived pillar `{}`", before.slug));
            }
            pillars.push(Pillar { status: Standing::Archived, ..before.clone() });
        }
        pillars
    }

    fn pillar(
        &mut self,
        spec: &PillarSpec,
        slug: String,
        before: Option<&Pillar>,
        (mission_id, mission_slug): (MissionId, &str),
    ) -> Pillar {
        let id = before.map_or_else(|| PillarId::from(self.ids.ulid()), |pillar| pillar.id);
        let name = spec.name.as_str().to_owned();
        let about = About {
            mission_id,
            mission_slug: mission_slug.to_owned(),
            pillar: Some((id, slug.clone())),
        };
        let (conversation_id, todos_conversation_id) = match before {
            Some(pillar) => (pillar.conversation_id, pillar.todos_conversation_id),
            None => (
                self.conversation(Channel::Pillar, name.clone(), about.clone()),
                self.conversation(Channel::PillarTodo, format!("[TODOs] {name}"), about),
            ),
        };
        // A pillar that was archived and is in the file again starts like a new one.
        let kept = before.map(|pillar| pillar.status).filter(|kept| *kept != Standing::Archived);
        Pillar {
            id,
            slug,
            name,
            description: or_empty(spec.description.clone()),
            status: spec.status.or(kept).unwrap_or_default(),
            conversation_id,
            todos_conversation_id,
            metrics: self.metrics(&spec.metrics, before),
            strategies: self.strategies(spec, before),
        }
    }

    fn conversation(&mut self, channel: Channel, title: String, about: About) -> ConversationId {
        let id = ConversationId::from(self.ids.ulid());
        let (project_id, created_at) = (self.project_id, self.now);
        let about = Some(about);
        self.conversations.push(Conversation { id, project_id, channel, title, about, created_at });
        id
    }

    fn metrics(&mut self, specs: &[MetricSpec], before: Option<&Pillar>) -> Vec<Metric> {
        let known = before.map(|pillar| &pillar.metrics[..]).unwrap_or_default();
        let mut metrics: Vec<Metric> = Vec::new();
        for spec in specs {
            let slug = spec.slug().unwrap_or_default();
            let known = known.iter().find(|metric| metric.slug == slug);
            let fresh = || MetricId::from(self.ids.ulid());
            metrics.push(Metric {
                id: known.map_or_else(fresh, |metric| metric.id),
                slug,
                name: spec.name.as_str().to_owned(),
                kind: spec.kind.unwrap_or_default(),
                unit: spec.unit.clone().map(Title::into_string),
                target: spec.target.as_ref().map(|target| Target {
                    operator: target.operator,
                    value: target.value,
                    warning_threshold: target.warning_threshold,
                    desired_direction: target.desired_direction,
                }),
                collect: spec.collect.as_ref().and_then(|collect| self.collect(collect)),
                cron: spec.cron.as_deref().map(|cron| cron.trim().to_owned()),
                archived_at: None,
            });
        }
        for gone in known {
            if !metrics.iter().any(|metric| metric.slug == gone.slug) {
                let archived_at = gone.archived_at.or(Some(self.now));
                metrics.push(Metric { archived_at, ..gone.clone() });
            }
        }
        metrics
    }

    fn collect(&self, spec: &CollectSpec) -> Option<Collect> {
        let source = match (&spec.command, &spec.http, &spec.file) {
            (Some(command), ..) => Source::Command(command.clone()),
            (None, Some(address), _) => Source::Http(address.trim().to_owned()),
            (None, None, Some(file)) => Source::File(file.trim().to_owned()),
            (None, None, None) => return None,
        };
        let local = !matches!(source, Source::Http(_));
        Some(Collect {
            source,
            pointer: spec.pointer.clone(),
            timeout_s: spec.timeout_s()?,
            directory: self.directory.filter(|_| local).map(str::to_owned),
        })
    }

    /// Strategies are matched by their text.
    fn strategies(&mut self, spec: &PillarSpec, before: Option<&Pillar>) -> Vec<Strategy> {
        let mut known = before.map(|pillar| pillar.strategies.clone()).unwrap_or_default();
        let mut strategies = Vec::new();
        for given in &spec.strategies {
            let description = given.description.as_str();
            let found = known.iter().position(|strategy| strategy.description == description);
            let id = match found {
                Some(at) => known.remove(at).id,
                None => StrategyId::from(self.ids.ulid()),
            };
            let (description, status) = (description.to_owned(), given.status.unwrap_or_default());
            strategies.push(Strategy { id, description, status });
        }
        strategies
    }
}

fn settings(spec: Option<&TodoSpec>) -> Settings {
    let defaults = Settings::default();
    let Some(spec) = spec else { return defaults };
    let Limits { active, backlog, active_soft_margin } = defaults.limits;
    let text = |text: &Option<Body>| or_empty(text.clone());
    let templates = spec.templates.iter().map(|template| Template {
        name: template.name.as_str().to_owned(),
        description: text(&template.description),
        justification: text(&template.justification),
        completion_criteria: text(&template.completion_criteria),
    });
    Settings {
        limits: Limits {
            active: spec.active_todo_limit.unwrap_or(active),
            backlog: spec.backlog_todo_limit.unwrap_or(backlog),
            active_soft_margin: spec.active_soft_margin.unwrap_or(active_soft_margin),
        },
        limit_scope: spec.limit_scope.unwrap_or_default(),
        archive_after_days: spec.archive_after_days.unwrap_or(defaults.archive_after_days),
        backlog_stale_days: spec.backlog_stale_days.unwrap_or(defaults.backlog_stale_days),
        auto_cancel_stale_backlog: spec.auto_cancel_stale_backlog.unwrap_or_default(),
        overdue_pending: spec.overdue_pending.unwrap_or_default(),
        owner_may_rebalance: spec.owner_may_rebalance.unwrap_or_default(),
        claim_evidence: spec.claim_evidence.clone().unwrap_or_default(),
        templates: templates.collect(),
    }
}
