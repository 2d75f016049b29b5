//! Tests that run on every operation of the catalogue.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use punchlist_core::{Refusal, Role};
use punchlist_ops::Error;
use punchlist_ops::catalogue::{CATALOGUE, Effect, Operation, find};
use punchlist_ops::error::TABLE;
use punchlist_ops::schema::generate;
use punchlist_testkit::examples::{caller, working_input};
use punchlist_testkit::{Backend, World};
use serde_json::{Value, json};

fn properties(schema: &Value) -> Vec<String> {
    let of = schema["properties"].as_object();
    of.map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
}

#[test]
fn every_example_is_accepted_and_its_answer_fits_the_output_schema() {
    for operation in CATALOGUE {
        let world = World::new(Backend::SqliteMemory);
        let input = working_input(&world, operation);
        let answer = world.ops.answer(operation, &caller(&world, operation), input).unwrap();
        let text = answer.to_text().unwrap();
        let answer = answer.to_json().unwrap();
        // A field that is written twice would be there once.
        assert_eq!(text, answer.to_string(), "{}", operation.name);
        let schema = operation.output_schema();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let faults: Vec<String> = validator.iter_errors(&answer).map(|e| e.to_string()).collect();
        assert_eq!(faults, Vec::<String>::new(), "{}: {answer}", operation.name);
        assert_eq!(
            answer.as_object().unwrap().keys().find(|k| schema["properties"].get(k).is_none()),
            None
        );
        let example: Value = serde_json::from_str(operation.example).unwrap();
        assert!(jsonschema::is_valid(&operation.input_schema(), &example), "{}", operation.name);
    }
}

#[test]
fn every_operation_and_every_field_has_a_description() {
    fn undescribed(schema: &Value, path: &str, found: &mut Vec<String>) {
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            let plain = inner["type"] == "array" || inner["type"] == "object";
            if inner["description"].as_str().unwrap_or_default().is_empty() && !plain {
                found.push(path.clone());
            }
            undescribed(inner, &path, found);
            undescribed(&inner["items"], &path, found);
        }
    }
    for operation in CATALOGUE {
        assert!(operation.description().len() > 20, "{}", operation.name);
        let mut found = Vec::new();
        undescribed(&operation.input_schema(), operation.name, &mut found);
        assert_eq!(found, Vec::<String>::new());
    }
}

/// P-6: the schemas that hosts show to models stay short. They have no number formats, because
/// clients warn about them; only the format of times remains, which the contract asks for.
#[test]
fn schemas_are_plain_and_small() {
    for operation in CATALOGUE {
        let schema = operation.input_schema().to_string();
        let schema = schema.replace("\"format\":\"date-time\"", "");
        for unwanted in ["$ref", "$defs", "\"format\"", "\"null\"", "anyOf", "oneOf"] {
            assert!(!schema.contains(unwanted), "{}: {unwanted} in {schema}", operation.name);
        }
        if operation.surfaces.profiles.is_empty() {
            // No host shows this operation to a model.
            continue;
        }
        let cost = (operation.name.len() + operation.description().len() + schema.len()) / 4;
        assert!(cost < 400, "{} costs {cost} tokens", operation.name);
    }
}

#[test]
fn envelope_fields_never_appear_in_an_input() {
    let envelope: BTreeSet<&str> = ["principal", "idempotencyKey", "turnId", "agentId"].into();
    for operation in CATALOGUE {
        let fields = properties(&operation.input_schema());
        let both = fields.iter().find(|name| envelope.contains(name.as_str()));
        assert_eq!(both, None, "{}", operation.name);
    }
}

#[test]
fn an_unknown_field_is_refused_everywhere_and_the_nearest_is_named() {
    for operation in CATALOGUE {
        let world = World::new(Backend::SqliteMemory);
        let mut input = working_input(&world, operation);
        let known = properties(&operation.input_schema());
        let wrong = known.first().map_or("zzz".to_owned(), |name| format!("{name}x"));
        input[&wrong] = json!(1);
        let error = world.ops.call(operation, &caller(&world, operation), input).unwrap_err();
        assert_eq!(error.code(), "unknown_field", "{}", operation.name);
        let error = error.to_json();
        let nearest = known.first().cloned();
        assert_eq!(error["error"]["nearest"], json!(nearest), "{}", operation.name);
    }
}

/// Copies of a value, in each of which one object inside became the list of its fields' values.
fn with_lists_for_objects(value: &Value) -> Vec<Value> {
    let mut copies = Vec::new();
    match value {
        Value::Object(fields) => {
            copies.push(fields.values().cloned().collect());
            for (name, inner) in fields {
                for changed in with_lists_for_objects(inner) {
                    let mut copy = value.clone();
                    copy[name] = changed;
                    copies.push(copy);
                }
            }
        }
        Value::Array(items) => {
            for (n, inner) in items.iter().enumerate() {
                for changed in with_lists_for_objects(inner) {
                    let mut copy = value.clone();
                    copy[n] = changed;
                    copies.push(copy);
                }
            }
        }
        _ => {}
    }
    copies
}

/// The order of fields is not part of the contract: an object is not read from a list, neither the
/// whole input nor one inside.
#[test]
fn a_list_is_no_object_anywhere() {
    let mut tried = 0;
    for operation in CATALOGUE {
        let world = World::new(Backend::SqliteMemory);
        let input = working_input(&world, operation);
        let before = world.log().len();
        let schema = operation.input_schema();
        let copies = with_lists_for_objects(&input).into_iter().chain([json!([])]);
        // Some fields take any value.
        for wrong in copies.filter(|copy| !jsonschema::is_valid(&schema, copy)) {
            let by = caller(&world, operation);
            let error = world.ops.call(operation, &by, wrong.clone()).unwrap_err();
            let is_malformed = error.meaning().exit == 2;
            assert!(is_malformed, "{} {wrong}: {error}", operation.name);
            if wrong.is_array() {
                let said = error.to_string();
                assert_eq!(said, "`input` should be an object, not an array", "{}", operation.name);
            }
            tried += 1;
        }
        assert_eq!(world.log().len(), before, "{}", operation.name);
    }
    assert!(tried > 2 * CATALOGUE.len(), "{tried}");
}

/// An empty page for such a cursor would look like the end of the list.
#[test]
fn an_unreadable_cursor_is_refused_everywhere() {
    let world = World::new(Backend::SqliteMemory);
    let has_cursor = |operation: &&Operation| {
        properties(&operation.input_schema()).iter().any(|field| field == "cursor")
    };
    let lists: Vec<&Operation> = CATALOGUE.iter().filter(has_cursor).collect();
    assert!(lists.len() >= 12, "{}", lists.len());
    for operation in lists {
        for cursor in ["zz", "-1", "1 or 2", "01ARZ3NDEKTSV4RRFFQ69G5FA", "ü"] {
            let mut input: Value = serde_json::from_str(operation.example).unwrap();
            input["cursor"] = json!(cursor);
            let error = world.ops.call(operation, &caller(&world, operation), input).unwrap_err();
            assert_eq!(
                (error.code(), error.meaning().exit),
                ("bad_value", 2),
                "{}",
                operation.name
            );
            let expected = format!("`cursor` cannot be `{cursor}`");
            assert_eq!(error.to_string(), expected, "{}", operation.name);
        }
    }
}

/// T-19: context that a model writes into its input is dropped silently and never used.
#[test]
fn context_fields_of_a_model_are_dropped_everywhere() {
    for operation in CATALOGUE {
        let world = World::new(Backend::SqliteMemory);
        let mut input = working_input(&world, operation);
        let known = properties(&operation.input_schema());
        for name in ["turnId", "conversationId", "sessionId", "agentId"] {
            if !known.iter().any(|field| field == name) {
                input[name] = json!("a-model-made-this-up");
            }
        }
        let answer = world.ops.call(operation, &caller(&world, operation), input);
        assert!(answer.is_ok(), "{}: {answer:?}", operation.name);
    }
}

#[test]
fn only_writes_append_events() {
    for operation in CATALOGUE {
        let world = World::new(Backend::SqliteMemory);
        let input = working_input(&world, operation);
        let before = world.log().len();
        world.ops.call(operation, &caller(&world, operation), input).unwrap();
        let grew = world.log().len() > before;
        // A heartbeat only extends a lease, taking a run only moves its epoch, and setting the current
        // rule again changes nothing, so none of them is logged.
        let leaves_a_line = !operation.name.ends_with("_heartbeat")
            && !["store_identity", "run_take"].contains(&operation.name);
        let expected = operation.effect == Effect::Write && leaves_a_line;
        assert_eq!(grew, expected, "{}", operation.name);
    }
}

/// O-1, O-3: TODO.md belongs to a person. No operation on plans, tasks or agents writes to it or to
/// any other file.
#[test]
fn no_operation_on_plans_writes_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let backlog = "# Backlog\n- [ ] Auth\n- [x] Done by hand\r\n\tno newline at the end";
    let todo = folder.path().join("TODO.md");
    std::fs::write(&todo, backlog).unwrap();
    std::fs::create_dir(folder.path().join(".git")).unwrap();
    let before = std::fs::metadata(&todo).unwrap().modified().unwrap();
    let about_plans = |operation: &&Operation| {
        let groups = ["plan", "task_", "agent_", "todo_"];
        groups.iter().any(|group| operation.name.starts_with(group))
    };
    let mut tried = 0;
    for operation in CATALOGUE.iter().filter(about_plans) {
        let world = World::new(Backend::SqliteMemory);
        // The file TODO.md itself can be imported as a plan, too.
        let plan = json!({ "planFile": "TODO.md", "action": "import" });
        let mut me = caller(&world, operation);
        me.context.directory = Some(folder.path().display().to_string());
        let mut root = world.envelope(Role::Root);
        root.context.directory.clone_from(&me.context.directory);
        let mut input = working_input(&world, operation);
        world.call_in(&root, "plan", plan).unwrap();
        world.ops.call(operation, &me, input.clone()).unwrap();
        if input.get("planFile").is_some() && input.get("markdown").is_none() {
            input["planFile"] = json!("TODO.md");
            world.ops.call(operation, &me, input).unwrap();
        }
        let files = std::fs::read_dir(folder.path()).unwrap().count();
        let modified = std::fs::metadata(&todo).unwrap().modified().unwrap();
        let text = std::fs::read_to_string(&todo).unwrap();
        assert_eq!((text.as_str(), modified, files), (backlog, before, 2), "{}", operation.name);
        tried += 1;
    }
    assert!(tried > 20, "{tried}");
}

/// P-25: the same key with the same input has one effect and one answer; with another input it is a
/// conflict.
#[test]
fn the_same_key_twice_has_one_effect() {
    for operation in CATALOGUE.iter().filter(|o| o.effect == Effect::Write && o.keeps_answers) {
        let world = World::new(Backend::SqliteMemory);
        let input = working_input(&world, operation);
        let mut envelope = caller(&world, operation);
        envelope.idempotency_key = Some("key-1".to_owned());
        let first = world.ops.call(operation, &envelope, input.clone()).unwrap();
        let after_first = world.log().len();
        let again = world.ops.answer(operation, &envelope, input.clone()).unwrap();
        assert_eq!(again.to_json(), Ok(first));
        // The stored answer reads back as the operation's own type.
        assert!(again.output::<Value>().is_none(), "{}", operation.name);
        assert_eq!(world.log().len(), after_first, "{}", operation.name);
    }
}

/// Step 3 checks role × operation before any transaction. The golden is the whole matrix.
#[test]
fn the_access_matrix_is_as_the_golden_file_says() {
    let mut matrix = String::new();
    for operation in CATALOGUE {
        let roles: Vec<&str> = Role::ALL
            .into_iter()
            .filter(|role| operation.access.allows(*role))
            .map(Role::name)
            .collect();
        matrix.push_str(&format!("{}: {}\n", operation.name, roles.join(", ")));
        for role in Role::ALL.into_iter().filter(|role| !operation.access.allows(*role)) {
            let world = World::new(Backend::SqliteMemory);
            let input = serde_json::from_str(operation.example).unwrap();
            let error = world.ops.call(operation, &world.envelope(role), input).unwrap_err();
            assert_eq!((error.code(), error.meaning().exit), ("not_permitted", 4));
        }
    }
    insta::assert_snapshot!("access", matrix);
}

/// One file per operation, and one for the shared types, so that a change shows where it matters.
#[test]
fn the_schemas_match_their_golden_files() {
    let shared = generate::shared();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots/schemas");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| {
        for (name, input, output) in shared.operations {
            insta::assert_json_snapshot!(name, json!({ "input": input, "output": output }));
        }
        insta::assert_json_snapshot!("shared.inputs", shared.inputs);
        insta::assert_json_snapshot!("shared.outputs", shared.outputs);
    });
}

/// The schemas in the program are text: the files in `schemas`. Accepting goldens writes them.
#[test]
fn the_schemas_in_the_program_are_those_of_its_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let written: BTreeMap<String, String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| (name.clone(), std::fs::read_to_string(folder.join(name)).unwrap()))
        .collect();
    let files = generate::files();
    let differ: BTreeSet<&String> = files
        .keys()
        .chain(written.keys())
        .filter(|name| files.get(*name) != written.get(*name))
        .collect();
    if std::env::var_os("INSTA_UPDATE").is_some_and(|how| how == "always") {
        for name in &differ {
            match files.get(*name) {
                Some(text) => std::fs::write(folder.join(name), text).unwrap(),
                None => std::fs::remove_file(folder.join(name)).unwrap(),
            }
        }
        assert!(differ.is_empty(), "these are written now, so build and run again: {differ:?}");
    }
    assert!(differ.is_empty(), "accept these with INSTA_UPDATE=always: {differ:?}");
}

/// The files name the parts that schemas share, and what is read is whole again.
#[test]
fn the_schemas_that_are_read_are_those_of_their_types() {
    for (name, schemas) in generate::whole() {
        let operation = find(name).unwrap();
        let read =
            [operation.input_schema(), operation.request_schema(), operation.output_schema()];
        assert_eq!(read, schemas, "{name}");
    }
}

/// The golden file of a removed operation must be removed, too.
#[test]
fn every_golden_schema_belongs_to_an_operation() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/operations/snapshots/schemas");
    let found: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let shared = ["shared.inputs", "shared.outputs"];
    let names = CATALOGUE.iter().map(|operation| operation.name).chain(shared);
    assert_eq!(found, names.map(|name| format!("{name}.snap")).collect());
}

#[test]
fn a_code_has_one_meaning_in_the_error_table() {
    let distinct: BTreeSet<&str> = TABLE.iter().map(|meaning| meaning.code).collect();
    assert_eq!(distinct.len(), TABLE.len(), "no code twice");
    // Rows of refusals that share a code also share its class.
    let rows: BTreeSet<(&str, String)> =
        Refusal::CODES.iter().map(|(code, class)| (*code, format!("{class:?}"))).collect();
    let codes: BTreeSet<&str> = rows.iter().map(|(code, _)| *code).collect();
    assert_eq!(rows.len(), codes.len(), "{rows:?}");
    insta::assert_debug_snapshot!("errors", *TABLE);
}

#[test]
fn names_are_unique_and_an_unknown_one_suggests_the_closest() {
    let names: BTreeSet<&str> = CATALOGUE.iter().map(|operation| operation.name).collect();
    assert_eq!(names.len(), CATALOGUE.len());
    let error = find("create_todos").unwrap_err();
    let (name, nearest) = ("create_todos".to_owned(), Some("create_todo"));
    assert_eq!(error, Error::UnknownOperation { name, nearest });
}
