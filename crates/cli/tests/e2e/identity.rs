//! Who a process is, and every known way to pose as somebody else: none of them works.
//!
//! `script` (util-linux) gives a command a pseudo-terminal, the way an agent would.

use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::support::{Place, Punch};

/// Runs it on a pseudo-terminal and reads the JSON it prints there.
pub(crate) fn at_terminal(punch: &Punch) -> (Option<i32>, Value) {
    let ran = punch.on_terminal();
    let json: String = ran.stdout.lines().filter(|line| !line.contains("note: ")).collect();
    (ran.exit, serde_json::from_str(&json).unwrap_or_else(|_| panic!("{ran:?}")))
}

fn role(punch: &Punch) -> Value {
    let (exit, mut answer) = at_terminal(punch);
    assert_eq!(exit, Some(0), "{answer}");
    answer["role"].take()
}

fn token_new(place: &Place, role: &str) -> Punch {
    place.punch(["token", "new", "--role", role, "--json"])
}

/// The secret of an operator's token on a new store.
pub(crate) fn first_operator(place: &Place) -> String {
    let made = token_new(place, "operator").answer();
    made["token"].as_str().unwrap().to_owned()
}

pub(crate) fn with(punch: Punch, secret: &str) -> Punch {
    punch.env("PUNCHLIST_TOKEN", secret)
}

#[test]
fn a_person_at_a_terminal_is_the_operator_and_an_agent_with_one_is_not() {
    let place = Place::sqlite();
    let status = || place.punch(["status", "--json"]);
    assert_eq!(role(&status()), "operator");
    assert_eq!(status().answer()["role"], "root", "no terminal, no operator");
    for host in ["CLAUDECODE", "CODEX_SANDBOX", "CURSOR_AGENT", "GEMINI_CLI"] {
        assert_eq!(role(&status().env(host, "1")), "root", "{host}");
    }
    assert_eq!(role(&status().words(["--agent", "coder"])), "root");
    assert_eq!(role(&status().words(["--agent", "coder.subagents.x"])), "worker");
    // With --as, an operator can take any role.
    assert_eq!(role(&status().words(["--as", "lead"])), "lead");
}

/// Contract, Context: an operator may name any agent; the log keeps both.
#[test]
fn an_operator_at_a_terminal_acts_for_an_agent() {
    let place = Place::sqlite();
    for (number, taken) in ["operator", "worker", "root"].into_iter().enumerate() {
        let agent = format!("own{number}");
        let input = json!({ "agent": agent }).to_string();
        let register = place.punch(["call", "agent_register", &input, "--json"]);
        let (exit, answer) = at_terminal(&register.words(["--as", taken, "--agent", &agent]));
        assert_eq!(exit, Some(0), "{taken}: {answer}");
        let log = place.punch(["call", "event_list", r#"{"after":0,"limit":1000}"#, "--json"]);
        let event = log.answer()["events"].as_array().unwrap().last().unwrap().clone();
        let carried = if taken == "operator" { Value::Null } else { json!(taken) };
        assert_eq!(event["actor"], format!("operator:{agent}"));
        assert_eq!((&event["as"], &event["proof"]), (&carried, &json!("terminal")), "{event}");
    }
    let lead = place.punch(["status", "--json", "--as", "lead", "--agent", "boss"]);
    assert_eq!(role(&lead), "lead");
    // Alone, `--agent` plays that agent.
    let (_, refused) = at_terminal(&place.punch(["token", "list", "--json", "--agent", "own1"]));
    assert_eq!(refused["error"]["code"], "not_permitted");
}

#[test]
fn a_file_in_the_project_grants_nothing() {
    let place = Place::sqlite();
    let file = place.home().join("punchlist.toml");
    for (grants, code) in [
        ("role = \"operator\"\n", "unknown_field"),
        ("[agents.primary]\nrole = \"operator\"\n", "bad_value"),
    ] {
        std::fs::write(&file, grants).unwrap();
        let refused = place.punch(["status", "--json"]).refusal(2);
        assert_eq!(refused["code"], code, "{grants}: {refused}");
    }
    std::fs::write(&file, "[agents.primary]\nrole = \"root\"\n").unwrap();
    assert_eq!(place.punch(["status", "--json"]).answer()["role"], "root");
    let refused = place.punch(["status", "--json", "--as", "operator"]).refusal(4);
    assert_eq!(refused["code"], "not_permitted");
}

fn the_bootstrap_is_open_once(backend: Backend) {
    let place = Place::new(backend);
    // Not for another role; after that refusal the bootstrap is still open.
    assert_eq!(token_new(&place, "lead").refusal(4)["code"], "not_permitted");
    let secret = first_operator(&place);
    // On a server, the first operator's token closes the store to callers without a token.
    let code = if backend == Backend::Postgres { "token_required" } else { "not_permitted" };
    assert_eq!(token_new(&place, "operator").refusal(4)["code"], code);
    assert_eq!(with(place.punch(["status", "--json"]), &secret).answer()["role"], "operator");
    let more = with(token_new(&place, "lead"), &secret).answer();
    assert_eq!(more["role"], "lead");
}

#[test]
fn the_bootstrap_is_open_once_on_sqlite() {
    the_bootstrap_is_open_once(Backend::SqliteFile);
}

#[test]
fn the_bootstrap_is_open_once_on_postgres() {
    the_bootstrap_is_open_once(Backend::Postgres);
}

#[test]
fn the_first_command_at_a_terminal_closes_the_bootstrap() {
    let place = Place::sqlite();
    assert_eq!(role(&place.punch(["status", "--json"])), "operator");
    assert_eq!(token_new(&place, "operator").refusal(4)["code"], "not_permitted");
    let (exit, made) = at_terminal(&token_new(&place, "operator"));
    assert_eq!((exit, &made["role"]), (Some(0), &json!("operator")));
}

#[test]
fn a_stolen_token_is_worth_nothing_once_it_is_revoked() {
    let place = Place::sqlite();
    let operator = first_operator(&place);
    let made = with(token_new(&place, "root").words(["--agent", "coder"]), &operator).answer();
    let (id, secret) = (made["id"].as_str().unwrap(), made["token"].as_str().unwrap());
    let create = || {
        let input = json!({ "items": [{ "title": "x" }] });
        with(place.call("create_todo", &input), secret)
    };
    create().answer();
    let upwards = create().words(["--as", "operator"]).refusal(4);
    assert_eq!(upwards["code"], "not_permitted");
    let list = with(place.punch(["token", "list", "--json"]), secret).refusal(4);
    assert_eq!(list["code"], "not_permitted");
    with(place.punch(["token", "revoke", id, "--json"]), &operator).answer();
    let before = place.log_length();
    let refused = create().refusal(4);
    assert_eq!(
        (&refused["code"], refused["revokedAt"].is_string()),
        (&json!("token_invalid"), true)
    );
    assert_eq!(place.log_length(), before);
    for nonsense in ["hello", "punch_1234"] {
        let refused = with(place.punch(["status", "--json"]), nonsense).refusal(4);
        assert_eq!(refused["message"], "the token is malformed");
    }
}

/// P-28: the secret is written directly to a file that only its owner can read.
#[cfg(unix)]
#[test]
fn a_secret_can_go_straight_into_a_file() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::sqlite();
    let file = place.home().join("token");
    let words = ["--secret-file", file.to_str().unwrap()];
    let made = token_new(&place, "operator").words(words).answer();
    let secret = std::fs::read_to_string(&file).unwrap();
    assert!(!made.to_string().contains(secret.trim()));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(with(place.punch(["status", "--json"]), &secret).answer()["role"], "operator");
    // An existing file is not overwritten, and no token is created in vain.
    let again = with(token_new(&place, "lead").words(words), &secret).refusal(3);
    assert_eq!(again["code"], "io");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), secret);
    let list = with(place.punch(["token", "list", "--json"]), &secret).answer();
    assert_eq!(list["tokens"].as_array().unwrap().len(), 1);
    // No file is left behind when the token is refused.
    let other = place.home().join("other");
    let words = ["--secret-file", other.to_str().unwrap()];
    token_new(&place, "lead").words(words).refusal(4);
    assert!(!other.exists());
}

#[test]
fn a_narrowed_token_says_what_it_is_missing() {
    let place = Place::sqlite();
    let operator = first_operator(&place);
    let call = json!({ "role": "root", "project": "elsewhere" });
    let call = with(place.call("token_new", &call), &operator).answer();
    let secret = call["token"].as_str().unwrap();
    let refused = with(place.call("list_todo", &json!({})), secret).refusal(4);
    let said = (&refused["code"], &refused["missing"]);
    assert_eq!(said, (&json!("out_of_reach"), &json!("project `test`")));
    // On `token new` the flag narrows the new token; it does not describe the caller.
    let words = ["token", "new", "--role", "owner", "--agent", "o", "--mission", "m", "--json"];
    let words = place.punch(words).words(["--only-project", "elsewhere"]);
    let id = with(words, &operator).answer()["id"].clone();
    let list = with(place.punch(["token", "list", "--json"]), &operator).answer();
    let row = list["tokens"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap();
    assert_eq!(row["reach"], json!({ "project": "elsewhere", "mission": "m" }));
    assert_eq!((&row["agent"], &row["createdBy"]), (&json!("o"), &json!("operator:primary")));
}

/// A backup contains its own tokens and operator, so a caller that may restore one may do anything.
#[test]
fn an_agent_cannot_put_a_store_of_its_own_in_place_of_the_operators() {
    let (place, forged) = (Place::sqlite(), Place::sqlite());
    let operator = first_operator(&place);
    place.create("the operator's");
    let narrow = with(token_new(&place, "operator").words(["--only-project", "test"]), &operator);
    let narrow = narrow.answer()["token"].as_str().unwrap().to_owned();
    let lead = with(token_new(&place, "lead"), &operator).answer();
    let lead = lead["token"].as_str().unwrap();
    // In its own store, an agent can take any role.
    let own = first_operator(&forged);
    let copy = place.home().join("forged");
    forged.punch(["backup", copy.to_str().unwrap(), "--json"]).answer();

    let restore = || place.punch(["restore", copy.to_str().unwrap(), "--yes", "--json"]);
    let before = std::fs::read(place.file()).unwrap();
    for (attempt, code) in [
        (restore(), "not_permitted"),
        (restore().words(["--as", "operator"]), "not_permitted"),
        (restore().words(["--agent", "coder"]), "not_permitted"),
        (with(restore(), lead), "not_permitted"),
        (with(restore(), &own), "token_invalid"),
        (with(restore(), "punch_1234"), "token_invalid"),
        (with(restore(), &narrow), "out_of_reach"),
    ] {
        assert_eq!(attempt.refusal(4)["code"], code, "{}", attempt.shown());
    }
    let hosted = at_terminal(&restore().env("CLAUDECODE", "1"));
    assert_eq!((hosted.0, &hosted.1["error"]["code"]), (Some(4), &json!("not_permitted")));
    assert_eq!(std::fs::read(place.file()).unwrap(), before);
    assert_eq!(with(place.punch(["status", "--json"]), &operator).answer()["role"], "operator");

    with(restore(), &operator).answer();
    let after = with(place.punch(["status", "--json"]), &own).answer();
    assert_eq!(after["role"], "operator", "what was put there is there, with its tokens");
}

/// If there is no store, nothing can be lost, so anybody may restore. A store that is too damaged
/// to know its tokens is restored at a terminal.
#[test]
fn a_restore_is_free_where_there_is_no_store_and_the_terminals_where_it_is_damaged() {
    let place = Place::sqlite();
    let operator = first_operator(&place);
    let copy = place.home().join("copy");
    place.punch(["backup", copy.to_str().unwrap(), "--json"]).answer();
    let restore = || place.punch(["restore", copy.to_str().unwrap(), "--yes", "--json"]);
    for nothing in [None, Some("")] {
        std::fs::remove_file(place.file()).unwrap();
        if let Some(text) = nothing {
            std::fs::write(place.file(), text).unwrap();
        }
        restore().answer();
    }
    std::fs::write(place.file(), "Dear diary,\n".repeat(1_000)).unwrap();
    assert_eq!(restore().refusal(4)["code"], "not_permitted");
    assert_eq!(with(restore(), &operator).refusal(4)["code"], "not_permitted");
    assert_eq!(at_terminal(&restore()).0, Some(0));
    assert_eq!(with(place.punch(["status", "--json"]), &operator).answer()["role"], "operator");
}
