//! Missions for tests, created by the operations.

use punchlist_core::mission::Standing;
use punchlist_core::{Mission, Role};
use punchlist_store::rows::lists::Lock;
use serde_json::{Value, json};

use crate::World;

/// The mission of the catalogue's examples, with one metric of each status.
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
    /// Creates a mission, or updates it to this file, in the project `test`.
    pub fn mission(&self, file: Value, directory: Option<&str>) -> Mission {
        let mut operator = self.envelope(Role::Operator);
        operator.context.directory = directory.map(str::to_owned);
        let made = self.call_in(&operator, "mission_init", file).expect("the mission is made");
        let slug = made["mission"]["slug"].as_str().expect("its slug").to_owned();
        let found = self.ops.store().expect("the store opens").read(move |tx| {
            let project = tx.project("test")?.expect("the project");
            tx.mission(project, &slug, Lock::No)
        });
        found.expect("the mission reads").expect("the mission")
    }

    /// Pauses or resumes a mission or one of its pillars.
    pub fn stand(&self, slug: &str, pillar: Option<&str>, status: Standing) {
        let name = match status {
            Standing::Paused => "mission_pause",
            _ => "mission_resume",
        };
        let input = json!({ "mission": slug, "pillar": pillar });
        self.call_in(&self.envelope(Role::Operator), name, input).expect("it stands so");
    }
}
