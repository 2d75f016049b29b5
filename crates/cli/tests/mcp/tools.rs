//! The list of tools: annotations, schemas, its cost, and the instructions that come with it.

use punchlist_core::Role;
use punchlist_ops::CATALOGUE;
use punchlist_ops::catalogue::Effect;
use punchlist_ops::tools::{Choice, DESTRUCTIVE, IDEMPOTENT, instructions, listed, shown};
use punchlist_server::mcp::tools::tool;
use serde_json::{Value, json};

use crate::serving::{Served, token};
use crate::support::Place;
use crate::talk::{ERAS, Talk};

/// P-6: names, descriptions and input schemas of each role's own list; a token is counted as four
/// characters.
#[test]
fn the_default_list_of_every_role_costs_at_most_1200_tokens() {
    for role in Role::ALL {
        let cost: usize = listed(role, Choice::Default)
            .into_iter()
            .map(|operation| {
                let (description, input) = shown(operation);
                operation.name.len() + description.len() + input.to_string().len()
            })
            .sum();
        assert!(cost / 4 <= 1_200, "{role}: {} tokens", cost / 4);
        assert!(cost > 0, "{role} has no tools");
        let words = instructions(role, Choice::Default);
        assert!((100..=2_048).contains(&words.len()), "{role}: {words}");
    }
}

/// The instructions name tools that the caller has, in backticks, and no others.
#[test]
fn the_instructions_fit_the_profile() {
    let choices = ["turn", "issue", "plan", "session", "mission", "inbox", "all"];
    for name in choices {
        let choice = Choice::parse(name).unwrap();
        let tools: Vec<&str> =
            listed(Role::Operator, choice).iter().map(|operation| operation.name).collect();
        let words = instructions(Role::Operator, choice);
        let (mut named, mut plain) = (Vec::new(), Vec::new());
        for (n, part) in words.split('`').enumerate() {
            if n % 2 == 1 { named.push(part) } else { plain.push(part) }
        }
        assert_eq!(named.is_empty(), name == "all", "{name}: {words}");
        for tool in named {
            assert!(tools.contains(&tool), "{name}: {tool} is named and not listed");
        }
        // What can only be the name of a tool is in backticks.
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        for word in plain.iter().flat_map(|part| part.split(|c| !is_word(c))) {
            assert!(!word.contains('_'), "{name}: {word} is not in backticks");
        }
    }
}

/// The annotations, which say what a host may do without asking, are right for every operation.
#[test]
fn annotations_are_right_about_every_operation() {
    for name in DESTRUCTIVE.iter().chain(&IDEMPOTENT) {
        let operation = CATALOGUE.iter().find(|operation| operation.name == *name);
        let operation = operation.unwrap_or_else(|| panic!("there is no operation {name}"));
        assert_eq!(operation.effect, Effect::Write, "{name}");
    }
    for operation in CATALOGUE {
        let tool = serde_json::to_value(tool(operation)).unwrap();
        let hints = &tool["annotations"];
        let reads = operation.effect != Effect::Write;
        assert_eq!(hints["readOnlyHint"], reads, "{}", operation.name);
        assert_eq!(hints["destructiveHint"], DESTRUCTIVE.contains(&operation.name));
        let is_idempotent = reads || IDEMPOTENT.contains(&operation.name);
        assert_eq!(hints["idempotentHint"], is_idempotent, "{}", operation.name);
        for schema in ["inputSchema", "outputSchema"] {
            jsonschema::meta::validate(&tool[schema]).unwrap();
            for (name, property) in tool[schema]["properties"].as_object().into_iter().flatten() {
                assert!(property.is_object(), "{} {schema} {name}", operation.name);
            }
        }
        // A refusal matches the schema of every tool, like its own answers.
        let refusal = json!({ "error": { "code": "x", "message": "y" } });
        let fits = jsonschema::is_valid(&tool["outputSchema"], &refusal);
        assert!(fits, "{}", operation.name);
    }
    // An answer may also have a field of that name.
    let delegate = CATALOGUE.iter().find(|operation| operation.name == "delegate").unwrap();
    let schema = serde_json::to_value(tool(delegate)).unwrap()["outputSchema"].take();
    let failed = json!({ "delegationId": "x", "mode": "sync", "state": "failed", "error": "no" });
    assert!(jsonschema::is_valid(&schema, &failed), "{schema}");
}

/// Over HTTP, each role has its own list and its own instructions, in both eras.
#[test]
fn every_role_gets_its_own_list_over_http() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    for role in [Role::Operator, Role::Lead, Role::Root, Role::Worker] {
        let secret = token(&place, &operator, &["--role", role.name()]);
        let bearer = format!("Bearer {secret}");
        for era in ERAS {
            let mut talk = Talk::http(&served, era, &[("Authorization", &bearer)]);
            let answer = talk.request("tools/list", &json!({}));
            let tools = answer["result"]["tools"].as_array().unwrap();
            let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
            let expected: Vec<&str> =
                listed(role, Choice::Default).iter().map(|operation| operation.name).collect();
            assert_eq!(names, expected, "{role} {era:?}");
        }
    }
}
