//! `scripted:` models: the script is played in order, even across processes, and parsed strictly.

use punchlist_engine::model::{
    Call, CallResult, Cancel, Fault, FaultKind, Input, Message, Reply, Scripted, Settings, Stop,
    Usage, open,
};
use serde_json::{Value, json};

use crate::{ask, hello, request};

/// The example of the contract, with a last step.
const PLAN: &str = r#"
[[steps]]
text = "I will plan this."
calls = [ { tool = "create_todo", input = { items = [ { title = "a" } ] }, save = "plan" } ]
usage = { input = 1200, output = 40 }
[[steps]]
calls = [
  { tool = "complete_todo", input = { todoId = "{{plan.created.0.id}}", outcome = "as {{plan.created.0.n}}" } },
  { tool = "list_todo" },
]
[[steps]]
text = "All {{plan.created}} done."
"#;

fn play(model: &Scripted, messages: &[Message]) -> Result<Reply, Fault> {
    ask(model, &request(messages), &Cancel::default()).0
}

/// Plays the next step and extends the history. `results` are the structured results of the calls.
fn go_on(model: &Scripted, messages: &mut Vec<Message>, results: &[Value]) -> Reply {
    let reply = play(model, messages).unwrap();
    let Reply { text, calls, raw, .. } = reply.clone();
    assert_eq!(calls.len(), results.len());
    messages.push(Message::Assistant { text, calls: calls.clone(), raw });
    if !calls.is_empty() {
        messages.push(Message::Results(answered(&calls, results)));
    }
    reply
}

fn answered(calls: &[Call], results: &[Value]) -> Vec<CallResult> {
    let result = |(call, result): (&Call, &Value)| CallResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: result.to_string(),
        is_error: false,
    };
    calls.iter().zip(results).map(result).collect()
}

fn script(text: &str) -> Scripted {
    Scripted::read("s", text).unwrap()
}

fn plan_result() -> Value {
    json!({"created": [{"id": "01J", "n": 7}]})
}

#[test]
fn steps_are_played_in_order_with_saved_results() {
    let (model, mut messages) = (script(PLAN), hello());
    let first = go_on(&model, &mut messages, &[plan_result()]);
    assert_eq!((first.text.as_str(), first.stop), ("I will plan this.", Stop::ToolUse));
    assert_eq!(first.usage, Usage { input: 1200, output: 40, ..Usage::default() });
    let input = Input::Json(json!({"items": [{"title": "a"}]}));
    assert_eq!(first.calls, [Call { id: "call_1_1".into(), name: "create_todo".into(), input }]);
    let second = go_on(&model, &mut messages, &[json!({}), json!({})]);
    let input = Input::Json(json!({"todoId": "01J", "outcome": "as 7"}));
    assert_eq!(second.calls[0].input, input);
    assert_eq!(second.calls[1].input, Input::Json(json!({})));
    assert_eq!(
        (second.calls[0].id.as_str(), second.calls[1].id.as_str()),
        ("call_2_1", "call_2_2")
    );
    let third = go_on(&model, &mut messages, &[]);
    assert_eq!(third.text, r#"All [{"id":"01J","n":7}] done."#);
    assert_eq!((third.stop, third.usage), (Stop::EndTurn, Usage::default()));
    let fault = play(&model, &messages).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Script);
    let said = "the script s is used up: all 3 of its steps have been played; add a step, or `repeat = true`";
    assert_eq!(fault.message, said);
}

#[test]
fn another_process_continues_even_with_a_trimmed_history() {
    let mut messages = hello();
    go_on(&script(PLAN), &mut messages, &[plan_result()]);
    go_on(&script(PLAN), &mut messages, &[json!({}), json!({})]);
    // Only the newest turn is left; its note contains what the last step needs.
    messages.drain(..messages.len() - 2);
    let last = go_on(&script(PLAN), &mut messages, &[]);
    assert_eq!(last.text, r#"All [{"id":"01J","n":7}] done."#);
    // Another script in the same conversation starts at its own beginning.
    let other = script("[[steps]]\ntext = \"other\"\n");
    assert_eq!(go_on(&other, &mut messages, &[]).text, "other");
    assert_eq!(play(&script(PLAN), &messages).unwrap_err().kind, FaultKind::Script);
}

#[test]
fn one_script_serves_many_conversations_at_once() {
    let (model, mut one, mut two) = (script(PLAN), hello(), hello());
    go_on(&model, &mut one, &[plan_result()]);
    go_on(&model, &mut two, &[json!({"created": [{"id": "other", "n": 1}]})]);
    let call = |reply: &Reply| reply.calls[0].input.clone();
    let second = go_on(&model, &mut one, &[json!({}), json!({})]);
    assert_eq!(call(&second), Input::Json(json!({"todoId": "01J", "outcome": "as 7"})));
    let second = go_on(&model, &mut two, &[json!({}), json!({})]);
    assert_eq!(call(&second), Input::Json(json!({"todoId": "other", "outcome": "as 1"})));
}

#[test]
fn json_and_toml_scripts_are_equivalent() {
    let steps = json!({"steps": [
        {"text": "a", "calls": [{"tool": "f", "input": {"x": 1}, "save": "f"}]},
        {"text": "{{f.y}}", "stop": "max_tokens", "delay_ms": 0},
    ]});
    let (model, mut messages) = (script(&steps.to_string()), hello());
    go_on(&model, &mut messages, &[json!({"y": "b"})]);
    let reply = go_on(&model, &mut messages, &[]);
    assert_eq!((reply.text.as_str(), reply.stop), ("b", Stop::MaxTokens));
}

#[test]
fn a_step_that_does_not_match_is_skipped_and_one_with_repeat_is_used_again() {
    let steps = r#"
[[steps]]
when = "^(?i)red"
text = "It is red."
repeat = true
[[steps]]
when = "blue$"
text = "It is blue."
"#;
    let model = script(steps);
    let say = |messages: &mut Vec<Message>, text: &str| {
        messages.push(Message::User { text: text.into() });
        go_on(&model, messages, &[]).text
    };
    let mut messages = Vec::new();
    assert_eq!(say(&mut messages, "Red wine"), "It is red.");
    assert_eq!(say(&mut messages, "red wine"), "It is red.");
    assert_eq!(say(&mut messages, "sky blue"), "It is blue.");
    messages.push(Message::User { text: "red wine".into() });
    assert!(play(&model, &messages).unwrap_err().message.contains("all 2 of its steps"));
    let fresh = [Message::User { text: "green".into() }];
    let said = play(&model, &fresh).unwrap_err().message;
    assert!(said.contains("none of its steps from 1 on fits the newest message"), "{said}");
    // Tool results are matched like any other message.
    let results = vec![CallResult {
        id: "x".into(),
        name: "f".into(),
        text: "sky\nblue".into(),
        is_error: false,
    }];
    assert_eq!(play(&model, &[Message::Results(results)]).unwrap().text, "It is blue.");
}

#[test]
fn calls_of_a_repeated_step_have_different_ids() {
    let model = script("[[steps]]\ncalls = [ { tool = \"f\" } ]\nrepeat = true\n");
    let mut messages = hello();
    let mut id = || go_on(&model, &mut messages, &[json!({})]).calls[0].id.clone();
    assert_eq!([id(), id(), id()], ["call_1_1", "call_2_1", "call_3_1"]);
}

#[test]
fn a_failing_step_fails_once_and_the_retry_continues() {
    let model = script("[[steps]]\nfail = 529\n[[steps]]\nfail = 401\n[[steps]]\ntext = \"a\"\n");
    let mut messages = hello();
    let first = play(&model, &messages).unwrap_err();
    assert_eq!((first.kind, first.status), (FaultKind::Busy, Some(529)));
    assert_eq!(play(&model, &messages).unwrap_err().kind, FaultKind::Key);
    assert_eq!(go_on(&model, &mut messages, &[]).text, "a");
    assert_eq!(play(&model, &messages).unwrap_err().kind, FaultKind::Script);
    // In another conversation, the step fails again.
    assert_eq!(play(&model, &hello()).unwrap_err().kind, FaultKind::Busy);
}

#[test]
fn each_stop_word_is_known() {
    let stop = |word: &str| {
        let model = script(&format!("[[steps]]\ntext = \"So.\"\nstop = \"{word}\"\n"));
        play(&model, &hello()).map(|reply| reply.stop)
    };
    assert_eq!(stop("end_turn"), Ok(Stop::EndTurn));
    assert_eq!(stop("max_tokens"), Ok(Stop::MaxTokens));
    assert_eq!(stop("refusal"), Ok(Stop::Refusal));
    let fault = stop("error").unwrap_err();
    assert!(!fault.kind.is_passing());
    assert_eq!(fault.message, "step 1 of the script s is an error: So.");
}

#[test]
fn an_input_given_as_text_is_parsed_like_a_models_text() {
    let input = |text: &str| {
        let model =
            script(&format!("[[steps]]\ncalls = [ {{ tool = \"f\", input = '{text}' }} ]\n"));
        play(&model, &hello()).unwrap().calls[0].input.clone()
    };
    assert_eq!(input("{\"a\": "), Input::Broken("{\"a\": ".into()));
    assert_eq!(input("{\"a\": 1}"), Input::Json(json!({"a": 1})));
}

#[test]
fn a_long_pause_ends_when_it_is_cancelled() {
    let model = script("[[steps]]\ntext = \"a\"\ndelay_ms = 3600000\n");
    let cancel = Cancel::default();
    let stop = cancel.clone();
    let stopper = std::thread::spawn(move || stop.cancel());
    let fault = ask(&model, &request(&hello()), &cancel).0.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Cancelled);
    stopper.join().unwrap();
}

#[test]
fn a_missing_place_is_named_with_the_existing_ones() {
    let steps = |place: &str| {
        format!(
            "[[steps]]\ncalls = [ {{ tool = \"f\", save = \"plan\" }}, {{ tool = \"g\", save = \"more\" }} ]\n\
             [[steps]]\ntext = \"{{{{{place}}}}}\"\n"
        )
    };
    let said = |place: &str| {
        let (model, mut messages) = (script(&steps(place)), hello());
        go_on(&model, &mut messages, &[plan_result(), json!(null)]);
        play(&model, &messages).unwrap_err().message
    };
    let expected = "step 2 of the script s: `plan.created.1.id` is not in what was saved as `plan`";
    assert_eq!(said("plan.created.1.id"), expected);
    let expected = "step 2 of the script s: nothing was saved as `plna`; saved so far: more, plan";
    assert_eq!(said("plna.id"), expected);
    let fault = play(&script("[[steps]]\ntext = \"{{plan}}\"\n"), &hello()).unwrap_err();
    let expected = "step 1 of the script s: nothing was saved as `plan`; saved so far: nothing";
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Script, expected));
}

#[test]
fn a_result_that_is_not_json_is_saved_as_text() {
    let model = script(
        "[[steps]]\ncalls = [ { tool = \"f\", save = \"f\" } ]\n[[steps]]\ntext = \"{{f}}\"\n",
    );
    let mut messages = hello();
    go_on(&model, &mut messages, &[json!({})]);
    let Some(Message::Results(results)) = messages.last_mut() else { panic!() };
    results[0].text = "plain words".into();
    assert_eq!(go_on(&model, &mut messages, &[]).text, "plain words");
}

#[test]
fn a_megabyte_of_text_is_a_step_like_any_other() {
    let text = "é".repeat(1 << 19);
    let model = script(&format!("[[steps]]\ntext = \"{text}\"\n"));
    let (reply, heard) = ask(&model, &request(&hello()), &Cancel::default());
    assert_eq!(reply.unwrap().text, text);
    assert_eq!(heard, [text]);
}

#[test]
fn errors_in_a_script_are_reported_with_their_line() {
    let keys = "`when`, `text`, `calls`, `stop`, `usage`, `delay_ms`, `fail`, `repeat`";
    let cases = [
        ("", "missing field `steps`"),
        ("steps = []\n", "it has no steps"),
        ("[[steps]]\ntext = \"a\"\n[[steps]\n", "line 3, column"),
        (
            "[[steps]]\ntext = \"a\"\n\n[[steps]]\ntxt = \"b\"\n",
            &format!(
                "line 5, column 1: unknown field `txt`, expected one of {keys}; did you mean `text`?"
            ),
        ),
        (
            "[[step]]\ntext = \"a\"\n",
            "line 1, column 3: unknown field `step`, expected `steps`; did you mean `steps`?",
        ),
        (
            "[[steps]]\ntext = \"a\"\n[[steps]]\nrepeat = true\n",
            "line 3, column 1: a step needs `text`, `calls`, `stop` or `fail`",
        ),
        (
            "[[steps]]\nwhen = \"(\"\ntext = \"a\"\n",
            "line 2, column 8: `(` is not a regular expression: ",
        ),
        (
            "[[steps]]\ntext = \"a\"\nstop = \"endturn\"\n",
            "line 3, column 8: unknown variant `endturn`, expected one of `end_turn`, `max_tokens`, \
             `refusal`, `error`; did you mean `end_turn`?",
        ),
        ("[[steps]]\ntext = \"a {{b\"\n", "line 2, column 8: a `{{` is never closed with `}}`"),
        (
            "[[steps]]\ncalls = [\n  { tool = \"f\", input = { a = [\"{{b\"] } },\n]\n",
            "line 3, column 25: a `{{` is never closed",
        ),
        (
            "[[steps]]\ntext = \"{{a b}}\"\n",
            "line 2, column 8: `{{a b}}` is not a placeholder: write {{name.path}}",
        ),
        (
            "[[steps]]\ncalls = [ { tol = \"f\" } ]\n",
            "line 2, column 13: unknown field `tol`, expected one of `tool`, `input`, `save`; did you mean `tool`?",
        ),
        ("[[steps]]\ncalls = [ { tool = \" \" } ]\n", "line 2, column 20: an empty name"),
        ("[[steps]]\ncalls = [ { input = {} } ]\n", "line 2, column 11: missing field `tool`"),
        (
            "[[steps]]\ncalls = [ { tool = \"f\", save = \"a.b\" } ]\n",
            "line 2, column 32: `a.b` cannot be a name to save under",
        ),
        (
            "[[steps]]\nfail = 200\n",
            "line 2, column 8: 200 is no HTTP error: `fail` takes 400 to 599",
        ),
        ("[[steps]]\nfail = -1\n", "line 2, column 8: invalid value: integer `-1`, expected u16"),
        ("[[steps]]\ntext = 5\n", "line 2, column 8: invalid type: integer `5`, expected a string"),
        (
            "[[steps]]\ntext = \"a\"\nusage = { inputs = 1 }\n",
            "line 3, column 11: unknown field `inputs`, expected `input` or `output`; did you mean `input`?",
        ),
        (
            "[[steps]]\ntext = \"a\"\ndelay_ms = -5\n",
            "line 3, column 12: invalid value: integer `-5`, expected u32",
        ),
        (
            "{\"steps\": [\n  {\"text\": \"a\"},\n  {\"txt\": \"b\"}\n]}",
            &format!(
                "line 3, column 8: unknown field `txt`, expected one of {keys}; did you mean `text`?"
            ),
        ),
        ("{\"steps\": [\n  {\"text\": \"a\",}\n]}", "line 2, column 16: trailing comma"),
        (
            "{\"steps\": [\n  {\"when\": \"(\", \"text\": \"a\"}\n]}",
            "line 2, column 14: `(` is not a regular expression: ",
        ),
        (
            "{\"steps\": [\n  {\n  \"repeat\": true }\n]}",
            "line 3, column 18: a step needs `text`, `calls`, `stop` or `fail`",
        ),
    ];
    for (text, expected) in cases {
        let fault = Scripted::read("s", text).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Script);
        assert!(fault.message.starts_with("the script s, "), "{fault}");
        assert!(fault.message.contains(expected), "{text}\n{fault}\n{expected}");
        assert!(!fault.message.contains('\n'), "{fault}");
    }
}

#[test]
fn a_script_is_found_in_the_folder_and_an_unreadable_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let settings =
        Settings { folder: folder.path().to_owned(), window: Some(9), ..Settings::default() };
    let opened = |file: &str| open(&format!("scripted:{file}"), &settings, &|_| None);
    let write = |file: &str, bytes: &[u8]| std::fs::write(folder.path().join(file), bytes).unwrap();
    write("a.toml", b"[[steps]]\ntext = \"a\"\n");
    write("a.json", b" [1");
    write("b.toml", b"[[steps]]\ntext = \"\xff\"\n");
    let model = opened("a.toml").unwrap();
    assert_eq!(
        (model.name(), model.provider(), model.window()),
        ("scripted:a.toml", "scripted", 9)
    );
    let said = |file: &str| {
        let fault = opened(file).err().unwrap();
        assert_eq!(fault.kind, FaultKind::Script);
        fault.message.replace(&folder.path().display().to_string(), "")
    };
    assert!(said("gone.toml").starts_with("cannot read the script /gone.toml: No such file"));
    assert_eq!(said("b.toml"), "the script /b.toml, line 2: this is not UTF-8 text");
    assert!(said("a.json").starts_with("the script /a.json, line 1, column"), "{}", said("a.json"));
    assert!(said(".").starts_with("cannot read the script /."));
}
