//! Collectors: their figures, and each way in which they can fail.

use std::time::{Duration, Instant};

use punchlist_core::metric::{Collect, Metric, MetricKind, Source};
use punchlist_core::{Ids, MetricId, Time};
use punchlist_engine::collect::{Fault, read};
use serde_json::{Value, json};

use crate::web::serve;

fn metric(kind: MetricKind) -> Metric {
    Metric {
        id: MetricId::from(Ids::new(Time::from_micros(0), 1).ulid()),
        slug: "m".into(),
        name: "M".into(),
        kind,
        unit: None,
        target: None,
        collect: None,
        cron: None,
        archived_at: None,
    }
}

fn collect(source: Source, pointer: Option<&str>, directory: Option<&str>) -> Collect {
    let (pointer, directory) = (pointer.map(str::to_owned), directory.map(str::to_owned));
    Collect { source, pointer, timeout_s: 20, directory }
}

fn never() -> bool {
    false
}

fn reads(collect: &Collect) -> Result<Value, String> {
    match read(&metric(MetricKind::Numeric), collect, &never) {
        Ok(value) => Ok(value),
        Err(Fault::Failed(error)) => Err(error),
        Err(Fault::Stopped) => Err("stopped".into()),
    }
}

fn command(words: &[&str]) -> Collect {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    collect(Source::Command(words), None, None)
}

fn shell(script: &str) -> Collect {
    command(&["sh", "-c", script])
}

#[test]
fn a_program_prints_the_figure_and_runs_without_a_shell() {
    assert_eq!(reads(&command(&["printf", "  72.5\n"])), Ok(json!("72.5")));
    assert_eq!(reads(&shell("echo '\"12\"'")), Ok(json!("12")));
    let error = reads(&command(&["echo", "$((1+1)) | cat"])).unwrap_err();
    assert_eq!(error, "gave `$((1+1)) | cat` instead of a number, e.g. 4.5");
    let with_pointer =
        Collect { pointer: Some("/a/0".into()), ..command(&["echo", r#"{"a":[{"no":1},3]}"#]) };
    let error = reads(&with_pointer).unwrap_err();
    assert_eq!(error, r#"gave `{"no":1}` instead of a number, e.g. 4.5"#);
    let second = Collect { pointer: Some("/a/1".into()), ..with_pointer };
    assert_eq!(reads(&second), Ok(json!(3)));
}

/// A collector that searches its environment for secrets finds none of ours, although the test
/// runner has set many variables in this process.
#[test]
fn a_program_gets_nothing_of_our_environment() {
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && std::env::var_os("HOME").is_some());
    // The mark, which finds the processes that a program leaves behind, is the only variable of
    // ours.
    let own = "^(PATH|LANG|TZ|PWD|OLDPWD|SHLVL|PUNCH_STARTED_BY|_)=";
    let foreign = shell(&format!("env | grep -Evc '{own}' || true"));
    assert_eq!(reads(&foreign), Ok(json!("0")));
    assert_eq!(reads(&shell("echo ${HOME:-1}${CARGO_MANIFEST_DIR:-2}")), Ok(json!("12")));
    // Standard input is empty, too.
    assert_eq!(reads(&shell("wc -c")), Ok(json!("0")));
}

#[test]
fn each_failure_of_a_program_is_explained() {
    let cases = [
        (command(&["no-such-program-anywhere"]), "there is no program `no-such-program-anywhere`"),
        (shell("exit 3"), "ended with exit code 3"),
        (shell("echo one >&2; echo 'no route' >&2; exit 1"), "ended with exit code 1: no route"),
        (shell("true"), "gave `` instead of a number, e.g. 4.5"),
        (shell("printf '\\377\\376'"), "gave bytes that are not text"),
        (command(&[]), "names no program"),
        (
            collect(Source::Command(vec!["pwd".into()]), None, Some("/no/such/folder")),
            "has no folder `/no/such/folder` on this machine",
        ),
        (
            Collect { pointer: Some("/a".into()), ..shell("echo words") },
            "gave no JSON: expected value at line 1 column 1",
        ),
        (
            Collect { pointer: Some("/b".into()), ..shell("echo '{}'") },
            "has nothing at `/b` in its answer",
        ),
    ];
    for (collect, expected) in cases {
        assert_eq!(reads(&collect), Err(expected.to_owned()));
    }
    let error = reads(&command(&["/"])).unwrap_err();
    assert!(error.starts_with("cannot run `/`"), "{error}");
    let error = reads(&shell("kill -KILL $$")).unwrap_err();
    assert!(error.starts_with("was ended: signal: 9"), "{error}");
}

#[test]
fn a_flood_is_cut_off() {
    let began = Instant::now();
    let flooded = Err("flooded its output: more than 64 KiB".to_owned());
    assert_eq!(reads(&shell("yes")), flooded);
    assert_eq!(reads(&shell("head -c 70000 /dev/zero | tr '\\0' 9")), flooded);
    // Output on standard error does not delay it.
    assert_eq!(reads(&shell("head -c 1000000 /dev/zero >&2; echo 5")), Ok(json!("5")));
    assert!(began.elapsed() < Duration::from_secs(15));
}

/// Is there such a process, and is it not a zombie?
pub(crate) fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.starts_with(" Z"))
}

#[test]
#[cfg(target_os = "linux")]
fn a_hang_is_ended_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().to_str();
    let script = "sleep 600 & echo $! > pid; wait";
    let words = ["sh", "-c", script].map(str::to_owned).to_vec();
    let hangs = Collect { timeout_s: 4, ..collect(Source::Command(words), None, here) };
    assert_eq!(reads(&hangs), Err("took longer than 4s and was stopped".to_owned()));
    let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while lives(&pid) {
        assert!(Instant::now() < until, "{pid} still lives");
        std::thread::yield_now();
    }
}

#[test]
fn children_that_a_program_leaves_behind_are_not_waited_for() {
    let began = Instant::now();
    assert_eq!(reads(&shell("sleep 600 & echo 5")), Ok(json!("5")));
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn stopping_does_not_wait_for_a_program() {
    let stops = read(&metric(MetricKind::Numeric), &shell("sleep 600"), &|| true);
    assert_eq!(stops, Err(Fault::Stopped));
}

/// The worker blocks the signals that ask it to stop. Programs that it starts must not inherit
/// this.
#[test]
#[cfg(unix)]
fn a_program_can_be_killed_by_signals_that_we_block() {
    use nix::sys::signal::{SigSet, Signal};
    let blocked: SigSet = [Signal::SIGTERM].into_iter().collect();
    blocked.thread_block().unwrap();
    let error = reads(&shell("kill -TERM $$; echo 5")).unwrap_err();
    assert!(error.starts_with("was ended: signal: 15"), "{error}");
}

#[test]
#[cfg(unix)]
fn a_file_is_read_inside_the_project_alone() {
    let outside = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    let (outside, root) = (outside.path(), project.path());
    // No random folder name can contain this by chance.
    std::fs::write(outside.join("secret"), "-424242424242").unwrap();
    std::fs::create_dir(root.join("reports")).unwrap();
    std::fs::write(root.join("reports/n.json"), r#"{"total": 17}"#).unwrap();
    std::fs::write(root.join("big"), "9".repeat(70 << 10)).unwrap();
    std::os::unix::fs::symlink(outside.join("secret"), root.join("link")).unwrap();
    std::os::unix::fs::symlink(outside, root.join("folder")).unwrap();
    std::os::unix::fs::symlink("reports/n.json", root.join("inside")).unwrap();
    let file = |path: &str, pointer| {
        reads(&collect(Source::File(path.to_owned()), pointer, root.to_str()))
    };
    assert_eq!(file("reports/n.json", Some("/total")), Ok(json!(17)));
    assert_eq!(file("inside", Some("/total")), Ok(json!(17)));
    let absolute = outside.join("secret");
    for path in ["link", "folder/secret", "../secret-too", absolute.to_str().unwrap()] {
        let error = file(path, None).unwrap_err();
        assert!(error.contains("leads out of") || error.contains("has no file"), "{path}: {error}");
        assert!(!error.contains("-4242"));
    }
    assert_eq!(file("link", None), Err("`link` leads out of the project's folder".into()));
    assert_eq!(file("nothing", None), Err("has no file `nothing`".into()));
    assert_eq!(file("reports", None), Err("`reports` is not a plain file".into()));
    assert_eq!(file("big", None), Err("flooded its output: more than 64 KiB".into()));
    let homeless = collect(Source::File("n".into()), None, None);
    assert_eq!(reads(&homeless), Err("has no folder to look for its file in".into()));
}

#[test]
fn an_address_is_fetched_and_its_response_parsed() {
    let server = serve();
    let get = |path: &str, pointer| {
        reads(&collect(Source::Http(format!("{server}{path}")), pointer, None))
    };
    assert_eq!(get("/plain", None), Ok(json!("72")));
    assert_eq!(get("/moved", None), Ok(json!("72")));
    assert_eq!(get("/json", Some("/stats/n/0")), Ok(json!(3)));
    let host = "127.0.0.1";
    let cases = [
        ("/words", None, "gave `all is well` instead of a number, e.g. 4.5".to_owned()),
        ("/words", Some("/a"), "gave no JSON: expected value at line 1 column 1".to_owned()),
        ("/json", Some("/stats/max"), "has nothing at `/stats/max` in its answer".to_owned()),
        ("/missing", None, format!("{host} answered with HTTP 404")),
        ("/broken", None, format!("{host} answered with HTTP 503")),
        ("/flood", None, "flooded its output: more than 64 KiB".to_owned()),
        ("/round", None, format!("{host} sent us on more than 5 times")),
    ];
    for (path, pointer, expected) in cases {
        assert_eq!(get(path, pointer), Err(expected), "{path}");
    }
    let silent = collect(Source::Http(format!("{server}/silent")), None, None);
    let silent = Collect { timeout_s: 1, ..silent };
    assert_eq!(reads(&silent), Err("took longer than 1s and was stopped".to_owned()));
    let stops = read(&metric(MetricKind::Numeric), &Collect { timeout_s: 600, ..silent }, &|| true);
    assert_eq!(stops, Err(Fault::Stopped));
}

/// The attack: a server that a mission names redirects the worker to a host that only the worker
/// can reach.
#[test]
fn a_redirect_to_another_host_is_not_followed() {
    let inner = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    inner.set_nonblocking(true).unwrap();
    let address = format!("{}/to/{}", serve(), inner.local_addr().unwrap().port());
    let error = reads(&collect(Source::Http(address), None, None)).unwrap_err();
    assert_eq!(error, "127.0.0.1 redirects to another host, which is not followed");
    assert!(inner.accept().is_err(), "nobody asked there");
}

#[test]
fn an_address_that_cannot_be_reached_is_said_without_its_password() {
    // A port that no process listens on: it was ours a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let closed = format!("http://ada:hush@127.0.0.1:{port}/x");
    let error = reads(&collect(Source::Http(closed), None, None)).unwrap_err();
    assert!(error.starts_with("cannot reach 127.0.0.1"), "{error}");
    for address in ["ftp://ada:hush@127.0.0.1/x", "nonsense", "http://", "/a/b"] {
        let error = reads(&collect(Source::Http(address.into()), None, None)).unwrap_err();
        assert_eq!(error, "its address is not an http or https URL", "{address}");
    }
}
