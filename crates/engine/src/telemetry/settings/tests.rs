//! Valid and invalid settings in the environment.

use std::cell::RefCell;

use super::*;

fn read(vars: &[(&str, &str)]) -> (Option<Settings>, Vec<String>) {
    let said = RefCell::new(Vec::new());
    let env =
        |name: &str| vars.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned());
    let settings = Settings::read(&env, &|line| said.borrow_mut().push(line.to_owned()));
    (settings, said.into_inner())
}

fn addresses(vars: &[(&str, &str)]) -> [Option<String>; 2] {
    let settings = read(vars).0.unwrap();
    [settings.traces, settings.metrics]
        .map(|target| target.map(|target| target.address.to_string()))
}

const ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";

#[test]
fn it_is_off_unless_an_endpoint_is_named() {
    let off: [&[(&str, &str)]; 5] = [
        &[],
        &[("OTEL_SERVICE_NAME", "x"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
        &[(ALL, " ")],
        &[(ALL, "http://c:4318"), ("OTEL_SDK_DISABLED", "True")],
        &[
            (ALL, "http://c:4318"),
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_METRICS_EXPORTER", "none"),
        ],
    ];
    for vars in off {
        let (settings, said) = read(vars);
        assert!(settings.is_none(), "{vars:?}");
        assert_eq!(said, [""; 0], "{vars:?}");
    }
    assert!(read(&[(ALL, "http://c:4318"), ("OTEL_SDK_DISABLED", "false")]).0.is_some());
}

#[test]
fn a_common_endpoint_gets_a_path_and_one_for_a_signal_is_used_unchanged() {
    let whole = |text: &str| Some(text.to_owned());
    let [traces, metrics] = addresses(&[(ALL, "https://c.example/otlp/")]);
    assert_eq!(traces, whole("https://c.example/otlp/v1/traces"));
    assert_eq!(metrics, whole("https://c.example/otlp/v1/metrics"));
    assert_eq!(addresses(&[(TRACES, "http://c:1/in")]), [whole("http://c:1/in"), None]);
    let both = addresses(&[(TRACES, "http://c:1/in"), (ALL, "http://d:2")]);
    assert_eq!(both, [whole("http://c:1/in"), whole("http://d:2/v1/metrics")]);
}

#[test]
fn headers_are_decoded_and_never_shown() {
    let key =
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20c2VjcmV0, x-a = 100%,,=b,c d=secret");
    let (settings, said) = read(&[(TRACES, "http://me:secret@c:1"), key]);
    let settings = settings.unwrap();
    let target = settings.traces.as_ref().unwrap();
    let headers: Vec<(&str, &str)> = target
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
        .collect();
    assert_eq!(headers, [("authorization", "Basic c2VjcmV0"), ("x-a", "100%")]);
    assert_eq!(said, ["telemetry: OTEL_EXPORTER_OTLP_HEADERS has something that is not a header"]);
    let shown = format!("{settings:?}");
    assert!(!shown.contains("secret") && !shown.contains("c2VjcmV0"), "{shown}");
}

#[test]
fn resource_attributes_can_be_overridden() {
    let vars = [
        (ALL, "http://c:4318"),
        ("OTEL_SERVICE_NAME", "nightly"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,team=a%2Cb,service.version=9"),
    ];
    let mut resource = read(&vars).0.unwrap().resource;
    let at = resource.iter().position(|(key, _)| key == "service.instance.id").unwrap();
    let (_, instance) = resource.remove(at);
    let shape: Vec<usize> = instance.split('-').map(str::len).collect();
    assert_eq!((shape, instance.as_bytes()[14]), (vec![8, 4, 4, 4, 12], b'4'));
    let version = env!("CARGO_PKG_VERSION");
    let expected = [
        ("service.name", "nightly"),
        ("team", "a,b"),
        ("service.version", "9"),
        ("telemetry.sdk.name", "punchlist"),
        ("telemetry.sdk.language", "rust"),
        ("telemetry.sdk.version", version),
    ];
    assert_eq!(resource, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    let plain = read(&[(ALL, "http://c:4318")]).0.unwrap().resource;
    assert_eq!(plain[0], ("service.name".to_owned(), "punchlist".to_owned()));
}

#[test]
fn each_invalid_setting_gives_one_warning() {
    let (settings, said) = read(&[(ALL, "c:4318")]);
    assert!(settings.is_none());
    let why =
        "telemetry: OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https URL; nothing is sent there";
    assert_eq!(said, [why, why]);
    let (settings, said) = read(&[
        (ALL, "http://c:4317"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "250"),
        ("OTEL_BSP_SCHEDULE_DELAY", "soon"),
    ]);
    let settings = settings.unwrap();
    assert_eq!(
        said,
        [
            "telemetry: OTEL_EXPORTER_OTLP_PROTOCOL is grpc, but only http/json is spoken here and is used",
            "telemetry: OTEL_BSP_SCHEDULE_DELAY is not a number of milliseconds: soon",
        ]
    );
    let timeouts = [settings.traces, settings.metrics].map(|target| target.unwrap().timeout);
    assert_eq!(timeouts, [Duration::from_millis(250), Duration::from_secs(10)]);
    assert_eq!(settings.delay, Duration::from_secs(5));
}
