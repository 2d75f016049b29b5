//! MCP servers: a real process, and each way in which it can fail.

use std::path::Path;
use std::time::{Duration, Instant};

use punchlist_engine::model::Cancel;
use punchlist_engine::tools::{AgentTools, ToolAnswer};
use serde_json::json;
use tempfile::TempDir;

use crate::user_tools::{gone, toolbox};

/// A server in a few lines of shell. Each start and each cancellation adds a line to a file.
const SERVER: &str = r#"
echo "$$" >> starts
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
one() { printf '{"name":"%s","description":"Does %s.","inputSchema":{"type":"object"}%s}' "$1" "$1" "$2"; }
hello='"protocolVersion":"2025-06-18","capabilities":{"tools":{}}'
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      reply "{$hello,\"serverInfo\":{\"name\":\"t\",\"version\":\"1\"}}";;
    *'"method":"tools/list"'*)
      tools=$(one say ',"annotations":{"readOnlyHint":true}')
      for name in fail crash hang rich odd.name refuse; do tools="$tools,$(one $name)"; done
      reply "{\"tools\":[$tools]}";;
    *notifications/cancelled*) echo x >> cancelled;;
    *'"name":"say"'*) reply '{"content":[{"type":"text","text":"hello"}]}';;
    *'"name":"odd.name"'*) reply '{"content":[{"type":"text","text":"odd"}]}';;
    *'"name":"fail"'*) reply '{"content":[{"type":"text","text":"no such file"}],"isError":true}';;
    *'"name":"rich"'*)
      image='{"type":"image","data":"AAAA","mimeType":"image/png"}'
      reply "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},$image],\"structuredContent\":{\"n\":1}}";;
    *'"name":"refuse"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"bad path"}}\n' "$id";;
    *'"name":"crash"'*) echo 'out of cheese' >&2; exit 7;;
  esac
done
"#;

fn server(folder: &Path, more: &str) -> AgentTools {
    std::fs::write(folder.join("server.sh"), SERVER).unwrap();
    toolbox(&format!("{more}\n"), folder)
}

const TABLE: &str = "[mcp.s]\ncommand = [\"sh\", \"server.sh\"]\n";

fn place() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn names(boxed: &AgentTools) -> Vec<String> {
    boxed.list(&Cancel::default(), &|_, _| true).into_iter().map(|tool| tool.name).collect()
}

fn call(boxed: &AgentTools, tool: &str) -> ToolAnswer {
    boxed.call(&format!("mcp__s__{tool}"), &json!({}), &Cancel::default())
}

fn starts(folder: &TempDir) -> Vec<String> {
    let starts = std::fs::read_to_string(folder.path().join("starts")).unwrap_or_default();
    starts.lines().map(str::to_owned).collect()
}

/// An agent uses the tools of a server, each under the server's name.
#[test]
fn a_servers_tools_are_listed_and_called() {
    let folder = place();
    let boxed = server(folder.path(), TABLE);
    assert_eq!(starts(&folder), Vec::<String>::new(), "it is not started before it is needed");
    assert_eq!(boxed.about("mcp__s__say"), None, "nothing is known of it yet");
    let listed = boxed.list(&Cancel::default(), &|_, _| true);
    assert_eq!(boxed.faults(), Vec::<String>::new());
    assert_eq!(listed[0].name, "mcp__s__say");
    assert_eq!(listed[0].description, "Does say.");
    assert_eq!(listed[0].input, json!({ "type": "object" }));
    let said = ToolAnswer { text: "hello".to_owned(), ..ToolAnswer::default() };
    assert_eq!(call(&boxed, "say"), said);
    assert_eq!(call(&boxed, "odd_name").text, "odd", "a name that models cannot say is spelt anew");
    assert_eq!(call(&boxed, "fail"), ToolAnswer::error("no such file"));
    assert_eq!(call(&boxed, "refuse"), ToolAnswer::error("the server s refused it: bad path"));
    let rich = call(&boxed, "rich");
    assert_eq!(rich.text, "a\n[an image of type image/png, 4 bytes of base64, left out]");
    assert!(call(&boxed, "nothing").is_error);
    let odd = boxed.call("mcp__s__say", &json!("text"), &Cancel::default());
    assert!(odd.is_error && odd.text.contains("not an object"), "{odd:?}");
    let about = |tool: &str| boxed.about(&format!("mcp__s__{tool}")).unwrap();
    assert_eq!((about("say").mutates, about("fail").mutates), (false, true));
    let definition =
        json!({ "command": ["sh", "server.sh"], "tool": "say", "directory": folder.path() });
    assert_eq!(about("say").definition, definition);
    let [pid] = starts(&folder).try_into().unwrap();
    drop(boxed);
    gone(&pid);
}

/// F-6: a tool must be in the server's list and in the agent's list, by its full name.
#[test]
fn only_tools_in_both_lists_are_offered() {
    let folder = place();
    let boxed = server(folder.path(), &format!("{TABLE}tools = [\"sa*\", \"fail\", \"hang\"]\n"));
    assert_eq!(names(&boxed), ["mcp__s__say", "mcp__s__fail", "mcp__s__hang"]);
    assert!(call(&boxed, "rich").is_error);
    let agent = "[agents.a]\ntools = [\"mcp__s__fail\", \"mcp__s__h*\"]\n";
    let boxed = server(folder.path(), &format!("{agent}{TABLE}"));
    assert_eq!(names(&boxed), ["mcp__s__fail", "mcp__s__hang"]);
    assert_eq!(call(&boxed, "say"), ToolAnswer::error("there is no tool `mcp__s__say`"));
    let before = starts(&folder).len();
    for table in [
        format!("[agents.a]\ntools = [\"mcp__other__*\"]\n{TABLE}"),
        format!("{TABLE}permission = \"deny\"\n"),
    ] {
        let boxed = server(folder.path(), &table);
        assert_eq!(names(&boxed), Vec::<String>::new());
        assert!(call(&boxed, "say").is_error);
    }
    assert_eq!(starts(&folder).len(), before, "a server that nobody may use is not started");
}

/// A server that crashes is restarted once, then given up. A call that was in progress is not
/// repeated.
#[test]
fn a_server_that_crashes_is_restarted_once() {
    let folder = place();
    let boxed = server(folder.path(), TABLE);
    boxed.list(&Cancel::default(), &|_, _| true);
    let crashed = ToolAnswer::error(
        "the server s ended with exit code 7: out of cheese; whether the call was carried out is \
         not known",
    );
    assert_eq!(call(&boxed, "crash"), crashed);
    assert_eq!(starts(&folder).len(), 1, "it is not called again by itself");
    assert_eq!(call(&boxed, "say").text, "hello");
    assert_eq!(starts(&folder).len(), 2);
    assert_eq!(call(&boxed, "crash"), crashed);
    let given_up = call(&boxed, "say");
    let expected =
        "the server s ended with exit code 7: out of cheese, twice: it is not started again";
    assert_eq!(given_up, ToolAnswer::error(expected));
    assert_eq!(starts(&folder).len(), 2);
    assert_eq!(names(&boxed), Vec::<String>::new());
    assert_eq!(boxed.faults(), [expected]);
}

#[test]
fn a_server_that_does_not_answer_is_not_waited_for() {
    let folder = place();
    let boxed = server(folder.path(), &format!("{TABLE}timeout = \"5s\"\n"));
    boxed.list(&Cancel::default(), &|_, _| true);
    let begun = Instant::now();
    let answer = call(&boxed, "hang");
    assert_eq!(answer, ToolAnswer::error("the server s took longer than 5s and was stopped"));
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(call(&boxed, "say").text, "hello", "it goes on for others");
    was_told(&folder);
}

/// Waits, for a limited time, until the server has received the cancellation of a call.
fn was_told(folder: &TempDir) {
    let until = Instant::now() + Duration::from_secs(20);
    while !folder.path().join("cancelled").exists() {
        assert!(Instant::now() < until, "the server is not told");
        std::thread::yield_now();
    }
}

#[test]
fn a_cancelled_call_ends() {
    let folder = place();
    let boxed = server(folder.path(), TABLE);
    boxed.list(&Cancel::default(), &|_, _| true);
    let cancel = Cancel::default();
    let answer = std::thread::scope(|scope| {
        let call = scope.spawn(|| boxed.call("mcp__s__hang", &json!({}), &cancel));
        // Another call is answered meanwhile, so the first one is in progress.
        assert_eq!(self::call(&boxed, "say").text, "hello");
        cancel.cancel();
        call.join().unwrap()
    });
    assert_eq!(answer, ToolAnswer::error("the call of the server s was stopped"));
}

#[test]
fn a_server_that_does_not_start_is_reported_and_the_others_work() {
    let folder = place();
    for (table, why) in [
        ("[mcp.x]\ncommand = [\"no-such-program\"]\n", "the server x there is no program"),
        ("[mcp.x]\ncommand = [\"sh\", \"-c\", \"echo sorry >&2; exit 4\"]\n", "exit code 4: sorry"),
        ("[mcp.x]\ncommand = [\"cat\"]\ntimeout = \"2s\"\n", "the server x "),
        ("[mcp.x]\ncommand = [\"sleep\", \"600\"]\ntimeout = \"1s\"\n", "took longer than 1s"),
    ] {
        let boxed = server(folder.path(), &format!("{TABLE}{table}"));
        let listed = names(&boxed);
        assert!(listed.iter().all(|name| name.starts_with("mcp__s__")), "{listed:?}");
        assert_eq!(listed.len(), 7, "{table}");
        let [fault] = boxed.faults().try_into().unwrap();
        assert!(fault.contains(why), "{table}: {fault}");
    }
    let cancel = Cancel::default();
    cancel.cancel();
    let boxed = server(folder.path(), "[mcp.x]\ncommand = [\"sleep\", \"600\"]\n");
    assert_eq!(
        boxed.list(&cancel, &|_, _| true),
        Vec::new(),
        "nor is it waited for when nobody wants it"
    );
}

/// An answer that is too long is cut.
#[test]
fn a_long_answer_is_cut() {
    let folder = place();
    let long = "é".repeat(900_000);
    std::fs::write(folder.path().join("long"), &long).unwrap();
    let script = SERVER.replace(
        r#"reply '{"content":[{"type":"text","text":"hello"}]}'"#,
        r#"reply "{\"content\":[{\"type\":\"text\",\"text\":\"$(cat long)\"}]}""#,
    );
    assert_ne!(script, SERVER);
    std::fs::write(folder.path().join("long.sh"), script).unwrap();
    let boxed = toolbox("[mcp.s]\ncommand = [\"sh\", \"long.sh\"]\n", folder.path());
    boxed.list(&Cancel::default(), &|_, _| true);
    let answer = call(&boxed, "say");
    let (text, note) = answer.text.split_once('\n').unwrap();
    assert!(text.len() <= 1 << 20 && text.ends_with('é') && note.contains("cut here"), "{note}");
}

/// An endless list and an endless answer are both read up to a limit.
#[test]
fn an_endless_list_or_answer_is_read_up_to_a_limit() {
    let folder = place();
    let list = "reply \"{\\\"tools\\\":[$tools]}\";;";
    let endless = "reply \"{\\\"tools\\\":[$(one again)],\\\"nextCursor\\\":\\\"more\\\"}\";;";
    let say = "reply '{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}';;";
    let flood = "head -c 40000000 /dev/zero | tr '\\0' x; echo;;";
    assert!(SERVER.contains(list) && SERVER.contains(say));
    let script = SERVER.replace(list, endless).replacen(say, flood, 1);
    std::fs::write(folder.path().join("server.sh"), script).unwrap();
    let boxed = toolbox(&format!("{TABLE}timeout = \"20s\"\n"), folder.path());
    assert_eq!(names(&boxed), ["mcp__s__again"], "{:?}", boxed.faults());
    let boxed = toolbox(&format!("{TABLE}timeout = \"10s\"\n"), folder.path());
    std::fs::write(folder.path().join("server.sh"), SERVER.replacen(say, flood, 1)).unwrap();
    assert!(names(&boxed).contains(&"mcp__s__fail".to_owned()));
    assert!(call(&boxed, "say").is_error);
    assert_eq!(call(&boxed, "fail"), ToolAnswer::error("no such file"), "it still answers");
}
