//! Retries: how many, with which pauses, and when a retry cannot help.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use punchlist_engine::model::{Cancel, Fault, FaultKind, Model, Patience, Patient, Scripted};

use crate::fake::{answer, frames, head, serve};
use crate::{FORMATS, LONG, ask, at, hello, request, short_reply};

type Pauses = Arc<Mutex<Vec<Duration>>>;

/// Waits without delay, and records the requested pauses.
fn patient(model: Box<dyn Model>, patience: Patience) -> (Patient, Pauses) {
    let pauses = Pauses::default();
    let kept = pauses.clone();
    let wait = move |pause, cancel: &Cancel| {
        kept.lock().unwrap().push(pause);
        !cancel.is_cancelled()
    };
    (Patient::new(model, patience).waiting(wait), pauses)
}

fn scripted(steps: &str) -> Box<dyn Model> {
    Box::new(Scripted::read("s", steps).unwrap())
}

fn failing(status: u16) -> Box<dyn Model> {
    scripted(&format!("[[steps]]\nfail = {status}\nrepeat = true\n"))
}

fn fault_of(model: &Patient) -> (Fault, Vec<String>) {
    let (reply, heard) = ask(model, &request(&hello()), &Cancel::default());
    (reply.unwrap_err(), heard)
}

#[test]
fn a_temporary_fault_is_retried_with_growing_pauses_and_observed() {
    let steps = "[[steps]]\nfail = 529\n[[steps]]\nfail = 500\n[[steps]]\nfail = 429\n[[steps]]\ntext = \"Hi.\"\n";
    let (model, pauses) = patient(scripted(steps), Patience::default());
    let (reply, heard) = ask(&model, &request(&hello()), &Cancel::default());
    assert_eq!(reply.unwrap().text, "Hi.");
    let expected = [
        "retry 1: the script s answered 529",
        "retry 2: the script s answered 500",
        "retry 3: the script s answered 429",
        "Hi.",
    ];
    assert_eq!(heard, expected);
    let pauses = pauses.lock().unwrap();
    assert_eq!(pauses.len(), 3);
    for (pause, full_ms) in pauses.iter().zip([500, 1000, 2000]) {
        let full = Duration::from_millis(full_ms);
        assert!(*pause <= full && *pause >= full.mul_f64(0.75), "{pause:?} of {full:?}");
    }
}

#[test]
fn it_gives_up_after_its_last_attempt_and_reports_that() {
    let (model, pauses) = patient(failing(529), Patience::default());
    let (fault, heard) = fault_of(&model);
    assert_eq!(fault.kind, FaultKind::Busy);
    assert_eq!(fault.message, "the script s answered 529 (given up after 4 tries)");
    assert_eq!((heard.len(), pauses.lock().unwrap().len()), (3, 3));
    let once = Patience { attempts: 1, ..Patience::default() };
    let (fault, heard) = fault_of(&patient(failing(529), once).0);
    assert_eq!((fault.message.as_str(), heard.len()), ("the script s answered 529", 0));
}

#[test]
fn no_pause_of_our_own_is_longer_than_the_cap() {
    let patience = Patience { attempts: 100, ..Patience::default() };
    let (model, pauses) = patient(failing(503), patience);
    fault_of(&model);
    let pauses = pauses.lock().unwrap();
    assert_eq!(pauses.len(), 99);
    assert!(pauses.iter().all(|pause| *pause <= Duration::from_secs(30)));
    assert!(pauses.iter().skip(7).all(|pause| *pause >= Duration::from_millis(22_500)));
}

#[test]
fn a_permanent_fault_is_not_retried() {
    for status in [400, 401, 402, 403, 404, 413, 422] {
        let (model, pauses) = patient(failing(status), Patience::default());
        let (fault, heard) = fault_of(&model);
        assert_eq!(fault.message, format!("the script s answered {status}"));
        assert_eq!((fault.status, heard.len()), (Some(status), 0));
        assert!(pauses.lock().unwrap().is_empty());
    }
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        let (model, pauses) = patient(failing(status), Patience::default());
        assert_eq!(fault_of(&model).0.status, Some(status));
        assert_eq!(pauses.lock().unwrap().len(), 3, "{status}");
    }
}

#[test]
fn a_pause_that_the_provider_asks_for_is_kept_up_to_a_limit() {
    for spec in FORMATS {
        let busy = |pause: &str| vec![answer("429 Slow", &[&format!("Retry-After: {pause}")], "")];
        let good = || vec![head(), frames(&short_reply(spec))];
        let fake = serve(vec![busy("90"), good()]);
        let (model, pauses) = patient(at(&fake.address, spec, LONG), Patience::default());
        let (reply, _) = ask(&model, &request(&hello()), &Cancel::default());
        assert_eq!(reply.unwrap().text, "Hi.", "{spec}");
        assert_eq!(*pauses.lock().unwrap(), [Duration::from_secs(90)]);
        let fake = serve(vec![busy("121")]);
        let (model, pauses) = patient(at(&fake.address, spec, LONG), Patience::default());
        let (fault, _) = fault_of(&model);
        let why = "answered 429 (given up: it asks for a pause of 121 s, and 120 s is the longest)";
        assert!(fault.message.ends_with(why), "{fault}");
        assert!(pauses.lock().unwrap().is_empty());
    }
}

#[test]
fn a_broken_reply_is_observed_again_after_the_retry() {
    for spec in FORMATS {
        let reply = short_reply(spec);
        let middle = reply.iter().position(|frame| frame.to_string().contains("Hi.")).unwrap() + 1;
        let fake =
            serve(vec![vec![head(), frames(&reply[..middle])], vec![head(), frames(&reply)]]);
        let (model, _) = patient(at(&fake.address, spec, LONG), Patience::default());
        let (reply, heard) = ask(&model, &request(&hello()), &Cancel::default());
        assert_eq!(reply.unwrap().text, "Hi.", "{spec}");
        assert_eq!((heard[0].as_str(), heard[2].as_str(), heard.len()), ("Hi.", "Hi.", 3));
        assert!(heard[1].starts_with("retry 1: "), "{heard:?}");
    }
}

#[test]
fn stopping_does_not_wait_for_a_pause() {
    // The real wait, with a pause that no test could wait for.
    let patience = Patience { base: LONG * 100, cap: LONG * 100, ..Patience::default() };
    let model = Patient::new(failing(529), patience);
    let cancel = Cancel::default();
    let messages = hello();
    let reply = model.respond(&request(&messages), &cancel, &mut |_| cancel.cancel());
    assert_eq!(reply.unwrap_err().kind, FaultKind::Cancelled);
}

#[test]
fn it_has_the_properties_of_the_model_it_wraps() {
    let (model, _) = patient(failing(500), Patience::default());
    assert_eq!((model.name(), model.provider(), model.window()), ("s", "scripted", 200_000));
}
