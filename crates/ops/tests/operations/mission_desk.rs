//! A mission with two pillars for tests, and calls on it by each of its roles.

use punchlist_core::{Role, Time};
use punchlist_ops::{Envelope, Error};
use punchlist_testkit::{Backend, World};
use serde_json::{Value, json};

pub(crate) const MISSION: &str = "developer-experience";
pub(crate) const BUILD: &str = "build-performance";

/// A mission with two pillars, and calls on it by each of its roles.
pub(crate) struct Desk {
    pub(crate) world: World,
    /// The mission, as returned when it was created.
    pub(crate) mission: Value,
}

impl Desk {
    pub(crate) fn new(backend: Backend, todo: Value) -> Self {
        let world = World::new(backend);
        let operator = world.envelope(Role::Operator);
        let made = world.call_in(&operator, "mission_init", file(MISSION, todo)).unwrap();
        Self { world, mission: made["mission"].clone() }
    }

    pub(crate) fn operator(&self) -> Envelope {
        self.world.envelope(Role::Operator)
    }

    /// The lead of this mission, with a token that reaches only this mission.
    pub(crate) fn lead(&self) -> Envelope {
        self.tied(Role::Lead, MISSION, None)
    }

    pub(crate) fn owner(&self, pillar: &str) -> Envelope {
        self.tied(Role::Owner, MISSION, Some(pillar))
    }

    pub(crate) fn tied(&self, role: Role, mission: &str, pillar: Option<&str>) -> Envelope {
        let mut envelope = self.world.envelope(role);
        let actor = &mut envelope.actor;
        actor.mission = Some(mission.to_owned());
        actor.pillar = pillar.map(str::to_owned);
        (actor.reach.mission, actor.reach.pillar) = (actor.mission.clone(), actor.pillar.clone());
        envelope
    }

    pub(crate) fn call(&self, who: &Envelope, name: &str, input: Value) -> Value {
        let shown = format!("{name} {input}");
        self.world.call_in(who, name, input).unwrap_or_else(|e| panic!("{shown}: {e:?}"))
    }

    /// The error of a call, which must not have changed anything in the mission.
    pub(crate) fn refused(&self, who: &Envelope, name: &str, input: Value) -> Error {
        let before = self.todos();
        let shown = format!("{name} {input}");
        let answer = self.world.call_in(who, name, input);
        assert_eq!(self.todos(), before, "{shown}");
        match answer {
            Ok(answer) => panic!("{shown}: {answer}"),
            Err(refused) => refused,
        }
    }

    /// All items in full, oldest first.
    pub(crate) fn todos(&self) -> Vec<Value> {
        let input = json!({ "missionSlug": MISSION, "includeArchived": true, "limit": 1000 });
        let list = self.call(&self.operator(), "mission_todo_list", input);
        list["todos"].as_array().unwrap().clone()
    }

    pub(crate) fn todo(&self, id: &Value) -> Value {
        self.todos().into_iter().find(|todo| todo["id"] == *id).unwrap()
    }

    /// Creates an item as the pillar's owner, with more fields; returns its id.
    pub(crate) fn create(&self, title: &str, more: Value) -> Value {
        self.call(&self.owner(BUILD), "mission_todo_create", new(title, more))["todo"]["id"].clone()
    }

    pub(crate) fn update(&self, who: &Envelope, id: &Value, action: &str) -> Value {
        self.call(who, "mission_todo_update", update(id, action))
    }

    /// Creates an item that is in progress.
    pub(crate) fn started(&self, title: &str) -> Value {
        let id = self.create(title, json!({}));
        self.update(&self.lead(), &id, "start");
        id
    }

    pub(crate) fn status(&self) -> Value {
        self.call(&self.lead(), "mission_status", json!({ "mission": MISSION }))
    }

    /// Sets the clock.
    pub(crate) fn at(&mut self, time: &str) {
        self.world.now = Time::parse(time).unwrap();
    }
}

/// The file of a mission with two pillars and two metrics, one of which has a collector.
pub(crate) fn file(slug: &str, todo: impl Into<Value>) -> Value {
    json!({
        "name": "Developer Experience", "slug": slug, "todo": todo.into(),
        "pillars": [
            {
                "name": "Build Performance",
                "metrics": [
                    { "name": "Local build time", "collect": { "command": ["true"] } },
                    { "name": "Morale" },
                ],
            },
            { "name": "Onboarding" },
        ],
    })
}

pub(crate) fn with(mut input: Value, more: impl Into<Value>) -> Value {
    let Value::Object(more) = more.into() else { panic!("fields") };
    for (name, value) in more {
        input[name] = value;
    }
    input
}

pub(crate) fn new(title: &str, more: Value) -> Value {
    let input = json!({
        "missionSlug": MISSION, "pillarSlug": BUILD, "title": title,
        "justification": "the metric says so", "completionCriteria": "it is measured",
    });
    with(input, more)
}

pub(crate) fn update(id: &Value, action: &str) -> Value {
    json!({ "missionSlug": MISSION, "todoId": id, "action": action, "reason": "because of it" })
}

/// The field that an action of `mission_todo_update` sets.
pub(crate) fn sets(action: &str) -> Value {
    match action {
        "extend" => json!({ "deadline": "2027-01-01" }),
        "reprioritize" => json!({ "priority": "low" }),
        _ => json!({}),
    }
}

pub(crate) fn complete(id: &Value, more: Value) -> Value {
    with(json!({ "missionSlug": MISSION, "todoId": id, "outcome": "measured and cut" }), more)
}

pub(crate) fn strings(value: &Value, field: &str) -> Vec<String> {
    value.as_array().unwrap().iter().map(|v| v[field].as_str().unwrap().to_owned()).collect()
}
