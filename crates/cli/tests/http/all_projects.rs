//! One server works for all projects of its store, each by its own configuration.

use std::fs;
use std::time::{Duration, Instant};

use punchlist_store::sql;
use serde_json::{Value, json};

use crate::serving::{PATIENCE, Served};
use crate::support::Place;

const COMMENTS: &str = "[[steps]]\n[[steps.calls]]\ntool = \"issue\"\n\
                        input = { action = \"comment\", number = 1, text = \"written by a run\" }\n\
                        [[steps]]\ntext = \"Done.\"\n";

fn write(place: &Place, name: &str, text: &str) -> String {
    let path = place.home().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// The server is started in the folder of `alpha`, whose file an agent can edit.
fn serve(place: &Place, secret: &str) -> Served {
    let words = ["serve", "--listen", "127.0.0.1:0", "--jobs", "2", "--json"];
    let punch = place.punch(words).env("PUNCHLIST_PROJECT", "alpha").without_env("PUNCHLIST_NOW");
    Served::run(&punch.with(secret))
}

/// F04: neither the worker of a server nor a request uses a project's file in another project.
#[test]
fn a_projects_file_does_not_act_in_another_project() {
    let place = Place::sqlite();
    let operator = place.operator();
    let good = write(&place, "good.toml", "[[steps]]\ntext = \"good\"\n");
    let evil = write(&place, "evil.toml", COMMENTS);
    let agent = |model: &str| format!("[agents.primary]\nmodel = \"scripted:{model}\"\n");
    write(&place, ".config/punchlist/punchlist.toml", &agent(&good));
    write(&place, "punchlist.toml", &format!("session_lists = false\n{}", agent(&evil)));
    let served = serve(&place, &operator);
    let bearer = format!("Bearer {operator}");
    let ask = |project: &str, session: &str, operation: &str, input: Value| {
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Punchlist-Project", project),
            ("Punchlist-Session", session),
        ];
        served.ask("POST", &format!("/v1/{operation}"), &headers, &input.to_string())
    };
    for project in ["alpha", "beta"] {
        let ask = |operation: &str, input: Value| ask(project, "", operation, input).answer();
        ask("session_start", json!({ "title": "s", "externalId": "s" }));
        ask("issue_create", json!({ "title": "One" }));
        ask("session_send_to_agent", json!({ "number": 1, "message": "please look" }));
        let until = Instant::now() + PATIENCE;
        while ask("run_list", json!({}))["runs"][0]["state"] != "ended" {
            assert!(Instant::now() < until, "{}", ask("run_list", json!({})));
            // Slower than the limit of requests per second.
            std::thread::park_timeout(Duration::from_millis(20));
        }
        let updates = ask("issue_show", json!({ "number": 1 }))["updates"].to_string();
        assert_eq!(updates.contains("written by a run"), project == "alpha", "{updates}");
    }
    let list = json!({ "todos": [{ "content": "a", "status": "pending" }] });
    assert_eq!(ask("alpha", "s", "todo_write", list.clone()).refusal().1, "session_lists_off");
    ask("beta", "s", "todo_write", list).answer();
}

/// Without its worker a server would look healthy, but do nothing that is queued.
#[test]
fn a_server_ends_with_its_worker() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = serve(&place, &operator);
    served.get("/readyz").answer();
    let broken = sql!("ALTER TABLE outbox RENAME TO gone");
    place.open().write(|tx| tx.execute(broken, &[])).unwrap();
    let (status, said) = served.ended();
    assert_eq!(status.code(), Some(3), "{said}");
    assert!(said.contains("the worker has failed, so the server stops"), "{said}");
}
