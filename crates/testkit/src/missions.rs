//! Missions for tests, made as operations make them: by command and event.

use punchlist_core::mission::{InitMission, MissionSpec, SetStanding, Standing};
use punchlist_core::{Mission, Role};
use punchlist_ops::Error;
use punchlist_store::Stamp;
use punchlist_store::rows::lists::Lock;
use serde_json::{Value, json};

use crate::World;

/// The mission that the examples of the catalogue speak of, with one metric of each standing.
#[must_use]
pub fn developer_experience() -> Value {
    json!({
        "name": "Developer Experience",
        "pillars": [
            {
                "name": "Build Performance",
                "metrics": [
                    {
                        "name": "Local build time", "type": "duration",
                        "target": { "operator": "<", "value": 60, "warningThreshold": 90 },
                        "collect": { "command": ["echo", "72"] },
                    },
                    { "name": "Morale", "type": "rating" },
                ],
            },
            { "name": "Test Quality", "metrics": [{ "name": "Flaky tests", "type": "count" }] },
        ],
    })
}

impl World {
    /// Makes a mission, or brings it up to this file, in the project `test`.
    pub fn mission(&self, file: Value, directory: Option<&str>) -> Mission {
        self.call("create_todo", json!({ "items": [{ "title": "first" }] }))
            .expect("the project opens");
        let spec: MissionSpec = serde_json::from_value(file).expect("a mission's file");
        assert_eq!(spec.faults(), [], "the file has no faults");
        let command = InitMission { spec, directory: directory.map(str::to_owned) };
        let (now, actor) = (self.now, self.envelope(Role::Operator).actor);
        let made = self.ops.store().expect("the store opens").write(move |tx| {
            let mut ids = punchlist_ops::clock::ids(now).expect("randomness");
            let project = tx.project("test")?.expect("the project");
            let slug = command.spec.slug().unwrap_or_default();
            let mut state = tx.mission(project, &slug, Lock::Row)?;
            let decided = command.decide(project, state.as_ref(), &actor, now, &mut ids);
            let decision = decided.expect("the operator may").decision;
            let stamp = Stamp { project, actor: actor.clone(), cause: "testkit", at: now };
            tx.record_mission(&mut state, &decision, &stamp)?;
            Ok::<_, Error>(state.expect("the mission"))
        });
        made.expect("the mission is made")
    }

    /// Lets a mission, or one pillar of it, rest or go on.
    pub fn stand(&self, slug: &str, pillar: Option<&str>, status: Standing) {
        let (slug, pillar) = (slug.to_owned(), pillar.map(str::to_owned));
        let (now, actor) = (self.now, self.envelope(Role::Operator).actor);
        let changed = self.ops.store().expect("the store opens").write(move |tx| {
            let project = tx.project("test")?.expect("the project");
            let mut state = tx.mission(project, &slug, Lock::Row)?;
            let mission = state.as_ref().expect("the mission");
            let command = SetStanding { pillar: pillar.clone(), status };
            let decision = command.decide(mission, &actor, now).expect("the operator may");
            let stamp = Stamp { project, actor: actor.clone(), cause: "testkit", at: now };
            tx.record_mission(&mut state, &decision, &stamp)?;
            Ok::<_, Error>(())
        });
        changed.expect("it stands so");
    }
}
