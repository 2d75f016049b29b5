//! Two Unix users: one runs the server, the other is the agent, which tries every way to cheat that
//! SECURITY.md names.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::serving::{Served, token};
use crate::support::{PUNCH, Place};

/// User ids that exist only in this test.
const SERVER: u32 = 42_001;
const AGENT: u32 = 42_002;

/// A folder that only one user can use.
fn folder_of(base: &Path, name: &str, user: u32) -> PathBuf {
    let folder = base.join(name);
    std::fs::create_dir(&folder).unwrap();
    chown(&folder, Some(user), Some(user)).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    folder
}

/// Runs a program as the agent, with only this environment.
fn as_agent(
    home: &Path,
    program: &Path,
    words: &[&str],
    variables: &[(&str, &str)],
) -> (Option<i32>, String) {
    let output = Command::new(program)
        .args(words)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home)
        .env("PUNCHLIST_PROJECT", "test")
        .envs(variables.iter().copied())
        .current_dir(home)
        .stdin(Stdio::null())
        .uid(AGENT)
        .gid(AGENT)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// The store belongs to its own user; the agent has a narrowed token and the server's address.
#[test]
fn agent_with_a_token_and_its_own_unix_user_cannot_cheat() {
    let me = std::fs::metadata("/proc/self").unwrap().uid();
    assert_eq!(me, 0, "two users need a test that runs as root");
    let base = tempfile::tempdir().unwrap();
    std::fs::set_permissions(base.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (server_home, home) =
        (folder_of(base.path(), "server", SERVER), folder_of(base.path(), "agent", AGENT));
    // The binary is in a folder where both may run it.
    let punch = base.path().join("punch");
    std::fs::copy(PUNCH, &punch).unwrap();
    std::fs::set_permissions(&punch, std::fs::Permissions::from_mode(0o755)).unwrap();
    let db = server_home.join("store.db");
    let file = db.to_str().unwrap().to_owned();
    let as_server = |words: &[&str], secret: Option<&str>| -> Value {
        let mut command = Command::new(&punch);
        command.args(words).args(["--db", &file, "--json"]).env_clear().env("HOME", &server_home);
        command.env("PATH", "/usr/bin:/bin").env("PUNCHLIST_PROJECT", "test");
        command.envs(secret.map(|secret| ("PUNCHLIST_TOKEN", secret)));
        command.current_dir(&server_home).stdin(Stdio::null()).uid(SERVER).gid(SERVER);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let made = as_server(&["token", "new", "--role", "operator"], None);
    let operator = made["token"].as_str().unwrap().to_owned();
    as_server(&["store", "identity", "tokens"], Some(&operator));
    let new = ["issue", "new", "Alpha fails", "--criteria", "A test covers it"];
    as_server(&new, Some(&operator));
    as_server(&["issue", "new", "Beta", "--body", "the secret of Beta"], Some(&operator));
    as_server(&["session", "start", "Work", "--external-id", "host-1"], Some(&operator));
    as_server(&["session", "bind", "1", "--session", "host-1"], Some(&operator));
    let narrow = [
        "token",
        "new",
        "--role",
        "root",
        "--agent",
        "coder",
        "--only-project",
        "test",
        "--only-issue",
        "1",
        "--expires",
        "1h",
    ];
    let secret = as_server(&narrow, Some(&operator))["token"].as_str().unwrap().to_owned();
    let system = as_server(&["token", "new", "--role", "system"], Some(&operator));
    let system = system["token"].as_str().unwrap().to_owned();
    let mut serve = Command::new(&punch);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--jobs", "0", "--json", "--db", &file]);
    serve.env_clear().env("HOME", &server_home).env("PATH", "/usr/bin:/bin");
    serve.env("PUNCHLIST_TOKEN", &system).env("PUNCHLIST_PROJECT", "test");
    serve.current_dir(&server_home).uid(SERVER).gid(SERVER);
    let served = Served::of(serve);
    let with = |secret: &str, words: &[&str]| {
        let variables = [("PUNCHLIST_DB", served.url.as_str()), ("PUNCHLIST_TOKEN", secret)];
        as_agent(&home, &punch, words, &variables)
    };
    // The agent's own work succeeds.
    assert_eq!(with(&secret, &["issue", "show", "1"]).0, Some(0));
    assert_eq!(with(&secret, &["issue", "comment", "1", "On it."]).0, Some(0));
    // It asks a question, and cannot answer it.
    let question = ["call", "ask", r#"{"question":"May I?"}"#, "--session", "host-1", "--json"];
    let (exit, asked) = with(&secret, &question);
    assert_eq!(exit, Some(0), "{asked}");
    let asked: Value = serde_json::from_str(&asked).unwrap();
    let answer = json!({ "gateId": asked["gateId"], "decision": "resume", "response": "yes" });
    let answer = answer.to_string();
    // It cannot close, read, create or answer what it may not.
    for words in [
        &["call", "gate_answer", &answer][..],
        &["call", "gate_answer", &answer, "--as", "operator"],
        &["issue", "transition", "1", "resolved"],
        &["issue", "show", "2"],
        &["issue", "comment", "2", "I was here"],
        &["issue", "new", "Another"],
        &["criterion", "ratify", "1", "A test covers it"],
        &["inbox"],
        &["issue", "list", "--as", "operator"],
        &["issue", "show", "1", "--agent", "someone"],
        &["token", "new", "--role", "operator"],
        &["token", "list"],
        &["store", "identity", "open"],
    ] {
        let (exit, said) = with(&secret, words);
        assert!(matches!(exit, Some(1 | 4)), "{words:?}: {exit:?} {said}");
        assert!(!said.contains("the secret of Beta"), "{words:?}: {said}");
    }
    // Nor with requests of its own making.
    let bearer = format!("Bearer {secret}");
    let own = ("Authorization", bearer.as_str());
    let tool = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "gate_answer", "arguments": serde_json::from_str::<Value>(&answer).unwrap(),
        "_meta": { "punchlist/role": "operator" } } });
    for (path, headers, body) in [
        ("/v1/gate_answer", vec![own], answer.clone()),
        ("/v1/gate_answer", vec![own, ("Punchlist-As", "operator")], answer.clone()),
        ("/v1/gate_answer", vec![own, ("Punchlist-Agent", "primary")], answer.clone()),
        ("/v1/gate_answer", vec![("X-Forwarded-For", "10.0.0.1")], answer.clone()),
        ("/v1/gate_answer", vec![("Cookie", "punchlist_session=guess")], answer.clone()),
        ("/v1/gate_answer", Vec::new(), answer),
        ("/v1/issue_show", vec![own], json!({ "number": 2 }).to_string()),
        ("/v1/issue_transition", vec![own], r#"{"number":1,"status":"resolved"}"#.to_owned()),
        ("/v1/token_new", vec![own], r#"{"role":"operator"}"#.to_owned()),
        ("/remote/caller", Vec::new(), "{}".to_owned()),
    ] {
        let reply = served.ask("POST", path, &headers, &body);
        let said = String::from_utf8_lossy(&reply.body).into_owned();
        assert!(matches!(reply.status, 401 | 403 | 409), "{path} {headers:?}: {reply:?}");
        assert!(!said.contains("the secret of Beta"), "{path} {headers:?}: {said}");
    }
    let page = served.ask("GET", "/p/test/inbox", &[own], "");
    assert_eq!((page.status, page.header("location")), (303, Some("/sign-in")), "{page:?}");
    let accept = ("Accept", "application/json, text/event-stream");
    let called = served.ask("POST", "/mcp", &[own, accept], &tool.to_string());
    let result = called.json();
    assert_eq!(result["result"]["isError"], true, "{result}");
    let gates = as_server(&["call", "gate_list", "{}"], Some(&operator));
    assert_eq!(gates["gates"][0]["state"], "open", "{gates}");
    // Leaving the token out, or inventing one, gives no rights.
    let bare = [("PUNCHLIST_DB", served.url.as_str())];
    assert_eq!(as_agent(&home, &punch, &["issue", "show", "1"], &bare).0, Some(4));
    let guessed = format!("punch_{}", "0".repeat(64));
    assert_eq!(with(&guessed, &["issue", "show", "1"]).0, Some(4));
    // A terminal of the agent proves nothing to a server.
    let line = format!("{} issue transition 1 resolved", punch.display());
    let (exit, said) =
        as_agent(&home, Path::new("/usr/bin/script"), &["-qec", &line, "/dev/null"], &bare);
    assert_eq!(exit, Some(4), "{said}");
    // It cannot open, copy, replace or remove the file, with our program or any other.
    let stolen = home.join("stolen.db");
    let stolen = stolen.to_str().unwrap();
    for (program, words) in [
        ("/bin/cat", vec![file.as_str()]),
        ("/bin/cp", vec![file.as_str(), stolen]),
        ("/bin/rm", vec!["-f", file.as_str()]),
        ("/bin/mv", vec![file.as_str(), stolen]),
        ("/bin/ls", vec![server_home.to_str().unwrap()]),
        (punch.to_str().unwrap(), vec!["issue", "list", "--db", file.as_str()]),
        (punch.to_str().unwrap(), vec!["backup", stolen, "--db", file.as_str()]),
        (punch.to_str().unwrap(), vec!["worker", "--once", "--db", file.as_str()]),
    ] {
        let (exit, said) = as_agent(&home, Path::new(program), &words, &[]);
        assert_ne!(exit, Some(0), "{program} {words:?}: {said}");
    }
    // Nor can it read the server's memory, or its environment, which contains the system token.
    for part in ["environ", "mem", "maps", "fd"] {
        let path = format!("/proc/{}/{part}", served.pid());
        let (exit, said) = as_agent(&home, Path::new("/bin/cat"), &[&path], &[]);
        assert_ne!(exit, Some(0), "{part}: {said}");
    }
    // A server on its own store changes nothing here.
    let (_, said) = with(&secret, &["serve", "--listen", "127.0.0.1:0"]);
    assert!(said.contains("needs the database"), "{said}");
    let shown = as_server(&["issue", "show", "1"], Some(&operator));
    assert_eq!(shown["issue"]["status"], "open");
    assert_eq!(shown["criteria"][0]["claim"], Value::Null);
    let beta = as_server(&["issue", "show", "2"], Some(&operator));
    assert_eq!(beta["updates"], json!([]));
    // A stolen token is useless once it is revoked.
    let listed = as_server(&["token", "list"], Some(&operator));
    let tokens = listed["tokens"].as_array().unwrap();
    let id = tokens.iter().find(|token| token["agent"] == "coder").unwrap()["id"].clone();
    as_server(&["token", "revoke", id.as_str().unwrap()], Some(&operator));
    assert_eq!(with(&secret, &["issue", "show", "1"]).0, Some(4));
}

/// The counterpart: the same token on the same server works for the user it belongs to.
#[test]
fn narrowed_token_does_its_work_over_http() {
    let place = Place::sqlite();
    let operator = place.operator();
    let served = Served::start(&place);
    place.punch(["issue", "new", "Alpha", "--json"]).answer();
    let words =
        ["--role", "root", "--agent", "coder", "--only-project", "test", "--only-issue", "1"];
    let secret = token(&place, &operator, &words);
    let shown = served.post_as(&secret, "issue_show", &json!({ "number": 1 })).answer();
    assert_eq!(shown["issue"]["title"], "Alpha");
}
