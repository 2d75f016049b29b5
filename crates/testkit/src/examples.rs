//! An input of every operation that works: its example, in a world where what it names exists.

use punchlist_core::Role;
use punchlist_ops::Envelope;
use punchlist_ops::catalogue::{Operation, find};
use punchlist_ops::config::{Origin, Roster};
use serde_json::{Map, Value};

use crate::World;

/// What happens before the example of an operation works: operations, called with their own
/// examples, or with the input that is given.
pub const BEFORE: &[(&[&str], &[&str])] = &[
    (&["complete_todo"], &["create_todo"]),
    (&["todo_move"], &["issue_create", "todo"]),
    (
        &["todo_show", "todo_take", "todo_next", "todo_claim", "todo_hold", "todo_defer"],
        &["plan_import"],
    ),
    (&["todo_heartbeat", "todo_release"], &["plan_import", "todo_take"]),
    (&["todo_accept", "todo_return"], &["plan_import", "todo_claim"]),
    (&["todo_unhold"], &["plan_import", "todo_hold"]),
    (&["task_add", "task_after", "task_complete", "task_cancel"], &["plan_import"]),
    (&["task_assign"], &["plan_import", "agent_register"]),
    (&["task_release"], &["plan_import", "agent_register", "task_assign"]),
    (&["task_reopen"], &["plan_import", "task_complete"]),
    (
        &["plan_tree", "plan_current", "plan_render", "plan_sync", "plan_archive", "plan_finish"],
        &["plan_import"],
    ),
    (&["plan_purge"], &["plan_import", "plan_archive"]),
    (&["plan_tick"], &["plan_from_todo"]),
    (&["agent_status"], &["agent_register"]),
    (&["todo"], &["issue_create"]),
    (
        &[
            "issue_show",
            "issue_transition",
            "issue_comment",
            "issue_update",
            "issue_defer",
            "issue_checklist_edit",
            "issue_checklist_import",
            "criterion_drop",
            "criterion_ratify",
            "session_send_to_agent",
        ],
        &["issue_create"],
    ),
    (&["issue_link", "issue_close_as_duplicate"], &["issue_create", "issue"]),
    (&["issue_unlink"], &["issue_create", "issue", "issue_link"]),
    (
        &[
            "session_show",
            "session_end",
            "session_promote",
            "conversation_show",
            "conversation_post",
            "todo_write",
            "todo_read",
            "drive_pause",
        ],
        &["session_start"],
    ),
    (&["session_bind"], &["session_start", "issue_create"]),
    (&["session_context", "session_unbind"], &["session_start", "issue_create", "session_bind"]),
    (&["drive_resume"], &["session_start", "drive_pause"]),
    (&["run_show", "run_stop", "run_take", "run_step"], &["run_start"]),
    (&["run_begin"], &["session_start", "conversation_post"]),
    (&["gate_answer"], &["ask"]),
    (
        &["permission_revoke"],
        &[
            "permission_ask",
            r#"gate_answer {"gateId":"01JCQ0000000000000000000AB","decision":"resume","response":{"allow":"always"}}"#,
        ],
    ),
    (
        &["delegation_show", "delegation_list", "delegation_take", "delegation_cancel"],
        &["session_start", "issue_create", "session_bind", "delegate"],
    ),
    (
        &["delegation_heartbeat", "delegation_report"],
        &["session_start", "issue_create", "session_bind", "delegate", "delegation_take"],
    ),
    (
        &["proposal_decide"],
        &[
            "session_start",
            "issue_create",
            "session_bind",
            "delegate",
            "delegation_take",
            "delegation_report",
        ],
    ),
    (
        &["mission_status", "mission_pause", "mission_cycle", "mission_todo_create"],
        &["mission_init"],
    ),
    (&["mission_list", "mission_todo_list"], &["mission_init"]),
    (&["conversation_list"], &["mission_init"]),
    (&["mission_resume"], &["mission_init", "mission_pause"]),
    (&["mission_todo_update"], &["mission_init", "mission_todo_create"]),
    (&["mission_todo_complete"], &["mission_init", "mission_todo_create", "mission_todo_update"]),
    (&["metric_record", "metric_collect", "metric_failed", "metric_history"], &["mission_init"]),
    (
        &["status", "event_list"],
        &["issue_create", "plan_import", "session_start", "run_start", "ask"],
    ),
    (&["digest", "audit_closes"], &["plan_import", "task_complete"]),
    (&["run_list"], &["run_start"]),
    (&["plan_list"], &["plan_import"]),
    (&["project_merge"], &["issue_create", "plan_import"]),
    (&["token_list"], &["token_new"]),
    (&["token_revoke"], &["token_new"]),
];

/// Ids are made by the store, so examples have this one in their place.
const SOME_ID: &str = "01JCQ0000000000000000000AB";

/// A valid input of this operation in this world: its example, with ids that exist here.
#[must_use]
pub fn working_input(world: &World, operation: &Operation) -> Value {
    let mut ids = Map::new();
    let before = BEFORE.iter().find(|(names, _)| names.contains(&operation.name));
    for step in before.map_or(&[][..], |(_, steps)| steps) {
        let (name, input) = step
            .split_once(' ')
            .unwrap_or_else(|| (step, find(step).expect("an operation").example));
        let answer = done_before(world, operation, name, &with_ids(input, &ids));
        remember(&answer, &mut ids);
    }
    with_ids(operation.example, &ids)
}

/// Calls it as root; where root may not, as the caller of the operation or as the operator.
fn done_before(world: &World, operation: &Operation, step: &str, input: &Value) -> Value {
    let own = caller(world, operation);
    let actors = [&world.envelope(Role::Root), &own, &world.envelope(Role::Operator)];
    let mut answers = actors.into_iter().map(|by| {
        // Plans are removed days after they were archived.
        let days_ago = if operation.name == "plan_purge" { 8 } else { 0 };
        let now = world.now.plus_seconds(-days_ago * 86_400);
        // The other project of a merge.
        let project = match (operation.name, step) {
            ("project_merge", "issue_create") => "clients.api".to_owned(),
            _ => own.project.clone(),
        };
        let envelope = Envelope { actor: by.actor.clone(), now, project, ..own.clone() };
        world.call_in(&envelope, step, input.clone())
    });
    answers.find_map(Result::ok).unwrap_or_else(|| panic!("{step} before {}", operation.name))
}

/// Keeps the ids of an answer, by the fields that other operations take them in.
pub fn remember(answer: &Value, ids: &mut Map<String, Value>) {
    for (field, places) in [
        ("todoId", &["/created/0/id", "/todo/id"][..]),
        ("conversationId", &["/session/conversationId", "/mission/conversationId"]),
        ("gateId", &["/gateId"]),
        ("delegationId", &["/delegationId"]),
        ("run", &["/run/id"]),
        // A token, or the gate that a standing permission came from.
        ("id", &["/id", "/gateId"]),
    ] {
        let found = places.iter().find_map(|place| answer.pointer(place));
        ids.extend(found.map(|id| (field.to_owned(), id.clone())));
    }
}

pub fn with_ids(input: &str, ids: &Map<String, Value>) -> Value {
    let mut input: Value = serde_json::from_str(input).expect("an example is JSON");
    for (field, value) in input.as_object_mut().expect("an example is an object") {
        if value == SOME_ID
            && let Some(id) = ids.get(field)
        {
            value.clone_from(id);
        }
    }
    input
}

/// A caller that may call it: root if it may.
#[must_use]
pub fn caller(world: &World, operation: &Operation) -> Envelope {
    let mut roles = std::iter::once(Role::Root).chain(Role::ALL);
    let role = roles.find(|role| operation.access.allows(*role)).expect("a role");
    let mut envelope = world.envelope(role);
    // As with `--issue` on the command line.
    if matches!(operation.name, "todo" | "todo_move") {
        envelope.context.issue = Some(1);
    }
    let agents = "[agents.lead]\nmodel = \"scripted:x\"\nrole = \"lead\"";
    envelope.agents = Roster::default().read(agents, Origin::User).expect("a roster").into();
    let in_session = ["todo_write", "todo_read", "drive_pause", "drive_resume", "proposal_decide"];
    if in_session.contains(&operation.name) || operation.name.starts_with("delegation_") {
        envelope.context.session = Some("abc-123".to_owned());
    }
    envelope
}
