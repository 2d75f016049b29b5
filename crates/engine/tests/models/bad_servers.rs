//! Servers that fail, in every way and every format: each gives the right kind of fault, with a
//! message, in time.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use punchlist_engine::model::{Cancel, FaultKind, Settings, Stop, Usage};
use serde_json::{Value, json};

use crate::fake::{Act, Fake, answer, frames, head, serve};
use crate::{FORMATS, KEY, LONG, ask, asked, at, hello, request, short_reply, with};

const SHORT: Duration = Duration::from_millis(150);

/// Short, but enough for a server on a busy machine to respond.
const ENOUGH: Duration = Duration::from_secs(3);

fn fault_of(spec: &str, scene: Vec<Act>) -> (FaultKind, String) {
    let fault = asked(spec, scene).0.unwrap_err();
    assert!(!fault.message.contains(KEY), "{fault}");
    assert!(!fault.message.contains('\n'), "{fault}");
    // Without the port, which differs every time.
    let rest = fault.message.strip_prefix("127.0.0.1:").unwrap_or(&fault.message);
    (fault.kind, rest.trim_start_matches(|sign: char| sign.is_ascii_digit()).trim().to_owned())
}

#[test]
fn a_short_reply_is_parsed_in_every_format_however_it_is_split() {
    for spec in FORMATS {
        let Act::Send(bytes) = frames(&short_reply(spec)) else { panic!() };
        for size in [1, 7, bytes.len()] {
            let mut scene = vec![head()];
            scene.extend(bytes.chunks(size).map(|part| Act::Send(part.to_vec())));
            let (reply, heard) = asked(spec, scene);
            let reply = reply.unwrap();
            assert_eq!((reply.text.as_str(), reply.stop), ("Hi.", Stop::EndTurn), "{spec}");
            let usage = Usage { input: 5, output: 2, ..Usage::default() };
            assert_eq!((reply.usage, heard), (usage, vec!["Hi.".to_owned()]), "{spec}");
        }
    }
}

#[test]
fn a_reply_ends_with_its_last_event_not_with_the_connection() {
    for spec in FORMATS {
        let reply = asked(spec, vec![head(), frames(&short_reply(spec)), Act::Hang]).0;
        assert_eq!(reply.unwrap().text, "Hi.", "{spec}");
    }
}

#[test]
fn a_stream_that_is_cut_anywhere_is_a_fault_of_the_server() {
    let expected = (FaultKind::Server, "broke off before its reply was whole".to_owned());
    let chunked =
        || answer("200 OK", &["Content-Type: text/event-stream", "Transfer-Encoding: chunked"], "");
    for spec in FORMATS {
        let reply = short_reply(spec);
        // A chat reply is complete with its finish reason, which is in its third frame.
        let enough = if spec.starts_with("anthropic") { reply.len() } else { 3 };
        for count in 0..enough {
            let scene = vec![head(), frames(&reply[..count])];
            assert_eq!(fault_of(spec, scene), expected, "{spec} after {count} frames");
        }
        let Act::Send(bytes) = frames(&reply[..1]) else { panic!() };
        let scene = vec![head(), Act::Send(bytes[..bytes.len() - 5].to_vec())];
        assert_eq!(fault_of(spec, scene), expected, "{spec} in the middle of a frame");
        let scene = vec![chunked(), Act::Send(b"40\r\nevent: x".to_vec())];
        assert_eq!(fault_of(spec, scene), expected, "{spec} in the middle of a chunk");
        let length = &["Content-Type: application/json", "Content-Length: 100"];
        let scene = vec![answer("200 OK", length, "{\"id\":")];
        assert_eq!(fault_of(spec, scene), expected, "{spec} in the middle of a body");
        assert_eq!(fault_of(spec, vec![]), expected, "{spec} before any answer");
    }
}

#[test]
fn broken_frames_are_garbled() {
    let cases: [(&[u8], &str); 6] = [
        (b"data: {\"type\": \"mess\n\n", "sent an event that is no JSON object: {\"type\": \"mess"),
        (b"data: [1]\n\n", "sent an event that is no JSON object: [1]"),
        (b"event: x\ndata:\n\n", "sent an event that is no JSON object:"),
        (b"data: \xff\xfe\n\n", "sent bytes that are not text"),
        (b"garbage without an end", "broke off before its reply was whole"),
        (b"<html>\n\n", "broke off before its reply was whole"),
    ];
    for spec in FORMATS {
        for (bytes, said) in cases {
            let scene = vec![head(), Act::Send(bytes.to_vec())];
            let kind =
                if said.starts_with("sent") { FaultKind::Garbled } else { FaultKind::Server };
            assert_eq!(fault_of(spec, scene), (kind, said.to_owned()), "{spec} {bytes:?}");
        }
        let flood = [b"data: ".to_vec(), vec![b'a'; 9 << 20]].concat();
        let expected = (FaultKind::Garbled, "sent more than a reply may hold".to_owned());
        assert_eq!(fault_of(spec, vec![head(), Act::Send(flood)]), expected, "{spec}");
    }
}

#[test]
fn unexpected_responses_are_explained() {
    let page = "<!DOCTYPE html><html><head><title>Sign in</title></head></html>";
    let web = "a web page titled `Sign in`; is there a proxy in between?";
    let html = &["Content-Type: text/html"];
    let json = &["Content-Type: application/json"];
    let cases = [
        (
            answer("200 OK", html, page),
            FaultKind::Garbled,
            format!("answered with no reply but {web}"),
        ),
        (answer("502 Bad Gateway", html, page), FaultKind::Server, format!("answered 502: {web}")),
        (
            answer("200 OK", json, "{\"a"),
            FaultKind::Garbled,
            "answered with JSON that cannot be read".into(),
        ),
        (
            answer("200 OK", json, "[]"),
            FaultKind::Garbled,
            "answered with JSON that cannot be read".into(),
        ),
        (
            answer("200 OK", json, "{\"error\":{\"code\":\"slow_down\",\"message\":\"Sorry\"}}"),
            FaultKind::Busy,
            "broke off its reply with an error: Sorry".into(),
        ),
        (
            answer("200 OK", &["Content-Type: text/plain"], "hi"),
            FaultKind::Server,
            "broke off before its reply was whole".into(),
        ),
        (
            Act::Send(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()),
            FaultKind::Garbled,
            "answered with something that is no HTTP".into(),
        ),
        (
            answer("307 Temporary Redirect", &["Location: http://127.0.0.1:1/"], ""),
            FaultKind::BadRequest,
            "answered 307: it sends us elsewhere; set the base URL to that address".into(),
        ),
        (
            answer("404 Not Found", json, "{\"error\":\"model 'm' not found\"}"),
            FaultKind::BadRequest,
            "answered 404: model 'm' not found; check the model's name and the base URL".into(),
        ),
        (
            answer(
                "429 Too Many Requests",
                json,
                "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"Empty\"}}",
            ),
            FaultKind::Spend,
            "answered 429: Empty; asking again does not help".into(),
        ),
    ];
    for (scene, kind, said) in cases {
        let Act::Send(bytes) = scene else { panic!() };
        for spec in FORMATS {
            let scene = vec![Act::Send(bytes.clone())];
            assert_eq!(fault_of(spec, scene), (kind, said.clone()), "{spec}");
        }
    }
    // An object that is not a reply.
    for spec in FORMATS {
        let scene = vec![answer("200 OK", json, "{\"a\":1}")];
        assert_eq!(fault_of(spec, scene).0, FaultKind::Garbled, "{spec}");
    }
}

#[test]
fn a_refused_key_is_named_by_its_variable_and_never_shown() {
    let body = json!({"error": {"message": format!("Incorrect key {KEY} or {}***", &KEY[..8])}});
    for (spec, variable) in
        [("anthropic:m", "ANTHROPIC"), ("openai:m", "OPENAI"), ("openai-chat:m", "OPENAI")]
    {
        let scene = vec![answer("401 Unauthorized", &[], &body.to_string())];
        let said = format!(
            "answered 401: Incorrect key [key] or [key]; set {variable}_API_KEY to a key that it accepts"
        );
        assert_eq!(fault_of(spec, scene), (FaultKind::Key, said));
    }
}

#[test]
fn the_providers_retry_delay_is_kept() {
    let scene = vec![answer("529 Overloaded", &["Retry-After: 7"], "")];
    let fault = asked("anthropic:m", scene).0.unwrap_err();
    let seen = (fault.kind, fault.status, fault.retry_after);
    assert_eq!(seen, (FaultKind::Busy, Some(529), Some(Duration::from_secs(7))));
}

#[test]
fn a_megabyte_of_text_is_a_reply_like_any_other() {
    let text = "é".repeat(1 << 19);
    for spec in FORMATS {
        let mut reply = short_reply(spec);
        put(&mut reply, &text);
        let (reply, heard) = asked(spec, vec![head(), frames(&reply)]);
        assert_eq!(reply.unwrap().text.len(), 1 << 20, "{spec}");
        assert_eq!(heard.concat().len(), 1 << 20, "{spec}");
    }
}

/// Replaces the text of the short reply.
fn put(frames: &mut [Value], text: &str) {
    for frame in frames {
        *frame = serde_json::from_str(&frame.to_string().replace("Hi.", text)).unwrap();
    }
}

#[test]
fn a_silent_server_times_out_after_the_idle_limit() {
    for spec in FORMATS {
        let reply = short_reply(spec);
        let scenes = [
            vec![Act::Hang],
            vec![head(), Act::Hang],
            vec![head(), frames(&reply[..2]), Act::Hang],
            vec![answer("200 OK", &["Content-Type: application/json"], "{"), Act::Hang],
        ];
        for (at_scene, scene) in scenes.into_iter().enumerate() {
            let fake = serve(vec![scene]);
            let model = at(&fake.address, spec, SHORT);
            let fault = ask(model.as_ref(), &request(&hello()), &Cancel::default()).0.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Network, "{spec} {at_scene}: {fault}");
            assert!(
                fault.message.ends_with(" fell silent for 0.15 s"),
                "{spec} {at_scene}: {fault}"
            );
        }
    }
}

#[test]
fn an_error_without_a_body_is_explained_by_its_status() {
    let fake = serve(vec![vec![answer("503 Busy", &["Content-Length: 9"], "so"), Act::Hang]]);
    let model = at(&fake.address, "anthropic:m", ENOUGH);
    let fault = ask(model.as_ref(), &request(&hello()), &Cancel::default()).0.unwrap_err();
    assert_eq!((fault.kind, fault.status), (FaultKind::Busy, Some(503)));
    assert!(fault.message.ends_with(" answered 503: so"), "{fault}");
}

#[test]
fn stopping_does_not_wait_for_a_server() {
    for spec in FORMATS {
        let reply = short_reply(spec);
        for scene in [vec![Act::Hang], vec![head(), frames(&reply[..2]), Act::Hang]] {
            let Fake { address, asked, over: _over } = serve(vec![scene]);
            let cancel = Cancel::default();
            let (model, stop) = (at(&address, spec, LONG), cancel.clone());
            let stopper = thread::spawn(move || {
                // The server has received the request and sends nothing more.
                drop(asked.recv());
                stop.cancel();
                Instant::now()
            });
            let fault = ask(model.as_ref(), &request(&hello()), &cancel).0.unwrap_err();
            let after = stopper.join().unwrap().elapsed();
            assert_eq!(fault.kind, FaultKind::Cancelled, "{spec}: {fault}");
            assert!(after < LONG / 2, "{spec}: {after:?}");
        }
        // After a cancellation, no server is called.
        let cancel = Cancel::default();
        cancel.cancel();
        let model = at("http://127.0.0.1:1", spec, LONG);
        let fault = ask(model.as_ref(), &request(&hello()), &cancel).0.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Cancelled);
    }
}

#[test]
fn an_abandoned_call_ends_by_its_own_timeout() {
    for begun in [vec![], vec![head()]] {
        let (gone, has_gone) = channel();
        let scene = begun.into_iter().chain([Act::Gone(gone)]).collect();
        let Fake { address, asked, over: _over } = serve(vec![scene]);
        let cancel = Cancel::default();
        let (model, stop) = (at(&address, "anthropic:m", ENOUGH), cancel.clone());
        let stopper = thread::spawn(move || {
            drop(asked.recv());
            stop.cancel();
        });
        let fault = ask(model.as_ref(), &request(&hello()), &cancel).0.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Cancelled, "{fault}");
        stopper.join().unwrap();
        has_gone.recv().unwrap();
    }
}

#[test]
fn a_server_that_only_sends_signs_of_life_times_out() {
    for spec in FORMATS {
        let fake = serve(vec![vec![head(), Act::Drip]]);
        let settings = Settings { idle: Some(LONG), whole: SHORT, ..Settings::default() };
        let model = with(&fake.address, spec, &settings);
        let fault = ask(model.as_ref(), &request(&hello()), &Cancel::default()).0.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Network, "{spec}: {fault}");
        let said = "had not finished its reply when its time was over";
        assert!(fault.message.ends_with(said), "{spec}: {fault}");
    }
}

#[test]
fn text_is_observed_before_the_reply_is_complete() {
    for spec in FORMATS {
        let reply = short_reply(spec);
        let middle = reply.iter().position(|frame| frame.to_string().contains("Hi.")).unwrap() + 1;
        let (go_on, waits) = channel();
        let scene =
            vec![head(), frames(&reply[..middle]), Act::Await(waits), frames(&reply[middle..])];
        let fake = serve(vec![scene]);
        let model = at(&fake.address, spec, LONG);
        let messages = hello();
        let mut heard = 0;
        let reply = model.respond(&request(&messages), &Cancel::default(), &mut |_| {
            heard += 1;
            go_on.send(()).unwrap();
        });
        // Without the cancellation, the server would wait forever.
        assert_eq!((reply.unwrap().text.as_str(), heard), ("Hi.", 1), "{spec}");
    }
}

#[test]
fn an_unreachable_server_is_reported_with_what_to_check() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for spec in FORMATS {
        let model = at(&address, spec, LONG);
        let fault = ask(model.as_ref(), &request(&hello()), &Cancel::default()).0.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Network);
        assert!(fault.message.contains(" cannot be reached: "), "{fault}");
        assert!(fault.message.ends_with("is it running, and is the base URL right?"), "{fault}");
    }
}
