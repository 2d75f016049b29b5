//! The file of a mission: `mission.json`, or the same in TOML.
//!
//! The doc comments are product text: they become the schema that editors use. What the parser does
//! not check (slugs, crons, time zones, what a target needs) is checked here; each fault has the
//! path of its field.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::slug::{self, is_slug, slug_of};
use super::{LimitScope, OverduePending, Standing, StrategyStatus, cadence};
use crate::capacity::Limits;
use crate::duration::Span;
use crate::evidence::EvidenceKind;
use crate::metric::{Direction, Figure, MetricKind, Operator};
use crate::text::{Body, NOT_BLANK, Title};

/// A mission: its goal, its pillars, and its limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct MissionSpec {
    /// What people call it.
    pub name: Title,
    /// Its name for tools; made from the name if absent. The same slug again updates the mission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = slug::PATTERN))]
    pub slug: Option<String>,
    /// Its goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Body>,
    /// Default active; absent in an update: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Standing>,
    /// When its cycles run; absent: only on request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cadence: Option<CadenceSpec>,
    /// Limits and rules for its todos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo: Option<TodoSpec>,
    /// Its parts. A pillar that is left out later is archived, and nothing of it is lost.
    #[serde(default, deserialize_with = "or_none")]
    #[schemars(with = "Option<Vec<PillarSpec>>")]
    pub pillars: Vec<PillarSpec>,
}

/// A cron expression of five fields, alone or with a time zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CadenceSpec {
    pub cron: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
}

/// Limits and rules for the todos of a mission.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TodoSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(description = format!(
        "How many may be pending or in progress; default {}.", Limits::DEFAULT.active
    ))]
    #[schemars(range(max = u32::MAX))]
    pub active_todo_limit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(description = format!(
        "How many may wait in the backlog; default {}.", Limits::DEFAULT.backlog
    ))]
    #[schemars(range(max = u32::MAX))]
    pub backlog_todo_limit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(description = format!(
        "How many over the active limit are still accepted, with a warning; default {}.",
        Limits::DEFAULT.active_soft_margin
    ))]
    #[schemars(range(max = u32::MAX))]
    pub active_soft_margin: Option<u32>,
    /// Are the limits for the whole mission, or for each pillar? Default: mission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_scope: Option<LimitScope>,
    /// Settled todos leave the usual lists after this many days; default 30, 0: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = u32::MAX))]
    pub archive_after_days: Option<u32>,
    /// A backlog todo older than this many days is marked stale; default 30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = u32::MAX))]
    pub backlog_stale_days: Option<u32>,
    /// Cancel stale backlog todos at the cycle; default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_cancel_stale_backlog: Option<bool>,
    /// What happens to an overdue todo that was never started; default demote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overdue_pending: Option<OverduePending>,
    /// May an owner promote, demote and reprioritize without the lead? Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_may_rebalance: Option<bool>,
    /// The kinds of evidence a claim must have; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_evidence: Option<Vec<EvidenceKind>>,
    /// Templates for common todos, besides the built-in profiling, audit and migration-eval.
    #[serde(default, deserialize_with = "or_none", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<TemplateSpec>>")]
    pub templates: Vec<TemplateSpec>,
}

/// Texts for a new todo, used where its creator gives none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TemplateSpec {
    /// The name that new todos refer to.
    pub name: Title,
    /// What needs to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Body>,
    /// Why it is worth doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub justification: Option<Body>,
    /// How to judge that it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_criteria: Option<Body>,
}

/// A part of a mission, with an owner of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PillarSpec {
    /// What people call it.
    pub name: Title,
    /// Made from the name if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = slug::PATTERN))]
    pub slug: Option<String>,
    /// Its goals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Body>,
    /// Default active; absent in an update: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Standing>,
    /// What it is measured by.
    #[serde(default, deserialize_with = "or_none")]
    #[schemars(with = "Option<Vec<MetricSpec>>")]
    pub metrics: Vec<MetricSpec>,
    /// Its strategies.
    #[serde(default, deserialize_with = "or_none")]
    #[schemars(with = "Option<Vec<StrategySpec>>")]
    pub strategies: Vec<StrategySpec>,
}

/// Something a pillar is measured by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct MetricSpec {
    /// What people call it.
    pub name: Title,
    /// Made from the name if absent; unique in the mission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = slug::PATTERN))]
    pub slug: Option<String>,
    /// Default numeric. Durations are in seconds.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<MetricKind>,
    /// Its unit, e.g. s or %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Title>,
    /// The wanted value; absent: it is only watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetSpec>,
    /// How to read it; absent: somebody records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collect: Option<CollectSpec>,
    /// When to read it; absent: on request, and when a completed todo may have changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
}

/// What a metric should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TargetSpec {
    /// On which side of the value it should be.
    pub operator: Operator,
    /// The figure itself.
    pub value: Figure,
    /// A figure beyond the value but not beyond this is a warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning_threshold: Option<Figure>,
    /// The direction it should move in; if absent, the operator field decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_direction: Option<Direction>,
}

/// How to read a metric: exactly one of command, http and file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("anyOf" = [
    only("command", &json!({ "type": "array", "prefixItems": [{ "pattern": NOT_BLANK }], "minItems": 1 })),
    only("http", &json!({ "type": "string" })),
    only("file", &json!({ "type": "string", "pattern": NOT_BLANK })),
]))]
pub struct CollectSpec {
    /// A program and its arguments, run without a shell; it prints the figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// An address to GET.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^https?://"))]
    pub http: Option<String>,
    /// A file to read, in the project's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// JSON pointer to the figure in a JSON answer, e.g. /stats/mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^(/|$)"))]
    pub pointer: Option<String>,
    /// How long it may take; default 60s, at most 1h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = TIMEOUT))]
    pub timeout: Option<String>,
}

/// The pattern of a timeout for a JSON Schema: 1s to 1h.
const TIMEOUT: &str = concat!(
    "^([1-9][0-9]{0,2}|[12][0-9]{3}|3[0-5][0-9]{2}|3600)s$",
    "|^([1-9]|[1-5][0-9]|60)m$|^1h$",
);

/// The schema of an object with only this source of a metric; the others are absent or null.
fn only(source: &str, schema: &Value) -> Value {
    let mut properties = json!({
        "command": { "type": "null" }, "http": { "type": "null" }, "file": { "type": "null" },
    });
    properties[source] = schema.clone();
    json!({ "required": [source], "properties": properties })
}

/// A strategy of a pillar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct StrategySpec {
    /// What to try.
    pub description: Body,
    /// Default active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StrategyStatus>,
}

/// An invalid value, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecFault {
    /// E.g. `pillars[0].metrics[1].cron`.
    pub path: String,
    pub found: String,
    pub expected: String,
}

/// The longest a collector may take.
const TIMEOUT_MAX: Span = Span::hours(1);

/// Limit for each list of a mission: its pillars, the metrics of a pillar, and so on.
const PARTS_MAX: usize = 500;

impl MissionSpec {
    /// The given slug, or the one made from the name.
    #[must_use]
    pub fn slug(&self) -> Option<String> {
        self.slug.clone().or_else(|| slug_of(self.name.as_str()))
    }

    /// Every fault of a value.
    #[must_use]
    pub fn faults(&self) -> Vec<SpecFault> {
        let mut faults = Faults::default();
        faults.slug("slug", self.slug.as_deref(), &self.name);
        if let Some(cadence) = &self.cadence {
            faults.cron("cadence.cron", &cadence.cron);
            let zone = cadence.timezone.as_deref().unwrap_or("UTC");
            if cadence::time_zone(zone).is_none() {
                faults.add("cadence.timezone", zone, "a time zone, e.g. Europe/Berlin or UTC");
            }
        }
        if let Some(todo) = &self.todo {
            let names = todo.templates.iter().map(|t| Some(t.name.as_str().to_owned()));
            faults.unique("todo.templates", "name", names);
        }
        faults.count("pillars", self.pillars.len());
        faults.unique("pillars", "slug", self.pillars.iter().map(PillarSpec::slug));
        let mut slugs = BTreeSet::new();
        for (n, pillar) in self.pillars.iter().enumerate() {
            let path = format!("pillars[{n}]");
            faults.slug(&format!("{path}.slug"), pillar.slug.as_deref(), &pillar.name);
            faults.count(&format!("{path}.metrics"), pillar.metrics.len());
            faults.count(&format!("{path}.strategies"), pillar.strategies.len());
            for (n, metric) in pillar.metrics.iter().enumerate() {
                let path = format!("{path}.metrics[{n}]");
                faults.metric(&path, metric);
                let slug = metric.slug();
                if slug.clone().is_some_and(|slug| !slugs.insert(slug)) {
                    let slug = slug.unwrap_or_default();
                    let wanted = "a slug that no other metric of the mission has";
                    faults.add(&format!("{path}.slug"), &slug, wanted);
                }
            }
        }
        faults.0
    }
}

impl PillarSpec {
    #[must_use]
    pub fn slug(&self) -> Option<String> {
        self.slug.clone().or_else(|| slug_of(self.name.as_str()))
    }
}

impl MetricSpec {
    #[must_use]
    pub fn slug(&self) -> Option<String> {
        self.slug.clone().or_else(|| slug_of(self.name.as_str()))
    }
}

impl CollectSpec {
    /// How long it may take, in seconds.
    pub(super) fn timeout_s(&self) -> Option<u64> {
        let span = self.timeout.as_deref().map_or(Some(Span::seconds(60)), Span::parse)?;
        (span <= TIMEOUT_MAX && span.as_seconds() > 0).then_some(span.as_seconds())
    }
}

#[derive(Default)]
struct Faults(Vec<SpecFault>);

impl Faults {
    fn add(&mut self, path: &str, found: &str, expected: &str) {
        let found = format!("`{}`", found.chars().take(60).collect::<String>());
        self.0.push(SpecFault { path: path.to_owned(), found, expected: expected.to_owned() });
    }

    fn slug(&mut self, path: &str, given: Option<&str>, name: &Title) {
        let made = given.map(str::to_owned).or_else(|| slug_of(name.as_str()));
        match made {
            None => self.add(path, name.as_str(), "a slug, for the name makes none"),
            Some(slug) if !is_slug(&slug) => {
                self.add(path, &slug, "lower-case letters, digits, - and _, at most 80");
            }
            Some(_) => {}
        }
    }

    fn cron(&mut self, path: &str, text: &str) {
        if let Err(why) = cadence::check(text) {
            let expected = format!("a cron expression, e.g. 0 9 * * 1 ({why})");
            self.add(path, text, &expected);
        }
    }

    fn count(&mut self, path: &str, length: usize) {
        if length > PARTS_MAX {
            self.add(path, &length.to_string(), &format!("at most {PARTS_MAX}"));
        }
    }

    fn unique(&mut self, path: &str, field: &str, texts: impl Iterator<Item = Option<String>>) {
        let mut seen = BTreeSet::new();
        for (n, text) in texts.enumerate() {
            let Some(text) = text else { continue };
            if !seen.insert(text.clone()) {
                let wanted = format!("a {field} that no other has");
                self.add(&format!("{path}[{n}].{field}"), &text, &wanted);
            }
        }
    }

    fn metric(&mut self, path: &str, metric: &MetricSpec) {
        self.slug(&format!("{path}.slug"), metric.slug.as_deref(), &metric.name);
        if let Some(cron) = &metric.cron {
            self.cron(&format!("{path}.cron"), cron);
            if metric.collect.is_none() {
                self.add(&format!("{path}.cron"), cron, "a `collect` beside it, to be run then");
            }
        }
        let Some(collect) = &metric.collect else { return };
        let path = format!("{path}.collect");
        let empty = |texts: &Vec<String>| texts.first().is_none_or(|text| text.trim().is_empty());
        let sources = [
            collect.command.as_ref().map(empty),
            collect.http.as_ref().map(|text| text.trim().is_empty()),
            collect.file.as_ref().map(|text| text.trim().is_empty()),
        ];
        match sources.into_iter().flatten().collect::<Vec<bool>>()[..] {
            [false] => {}
            [] => self.add(&path, "nothing", "one of command, http and file"),
            [true] => self.add(&path, "an empty one", "one of command, http and file"),
            _ => self.add(&path, "several", "only one of command, http and file"),
        }
        if let Some(address) = &collect.http
            && !address.starts_with("http://")
            && !address.starts_with("https://")
        {
            self.add(&format!("{path}.http"), address, "an address with http:// or https://");
        }
        if let Some(pointer) = &collect.pointer
            && !pointer.is_empty()
            && !pointer.starts_with('/')
        {
            self.add(&format!("{path}.pointer"), pointer, "a JSON pointer, e.g. /stats/mean");
        }
        if collect.timeout_s().is_none() {
            let found = collect.timeout.as_deref().unwrap_or_default();
            self.add(&format!("{path}.timeout"), found, "1s to 1h, e.g. 60s");
        }
    }
}

/// Reads a list; null is read as an empty list.
fn or_none<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Option::<Vec<T>>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A plain string is read as a cron expression in UTC.
impl<'de> Deserialize<'de> for CadenceSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Full {
            cron: String,
            #[serde(default)]
            timezone: Option<String>,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = CadenceSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a cron expression, or an object with `cron` and `timezone`")
            }

            fn visit_str<E>(self, text: &str) -> Result<CadenceSpec, E> {
                Ok(CadenceSpec { cron: text.to_owned(), timezone: None })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CadenceSpec, A::Error> {
                let Full { cron, timezone } = Full::deserialize(MapAccessDeserializer::new(map))?;
                Ok(CadenceSpec { cron, timezone })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for CadenceSpec {
    fn schema_name() -> Cow<'static, str> {
        "CadenceSpec".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "object"],
            "properties": {
                "cron": { "type": "string", "description": "e.g. 0 9 * * 1" },
                "timezone": { "type": "string", "description": "e.g. Europe/Berlin" }
            },
            "required": ["cron"],
            "additionalProperties": false
        })
    }
}
