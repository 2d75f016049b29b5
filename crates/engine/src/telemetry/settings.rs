//! The settings of telemetry, from OpenTelemetry's environment variables.

use std::time::Duration;

use ureq::http::{HeaderName, HeaderValue, Uri};

use super::span::random;

/// Reads an environment variable.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The only supported protocol.
const PROTOCOL: &str = "http/json";

/// How telemetry is collected and sent. There are no settings without an endpoint.
#[derive(Clone, Debug)]
pub struct Settings {
    pub(super) traces: Option<Target>,
    pub(super) metrics: Option<Target>,
    pub(super) resource: Vec<(String, String)>,
    /// Are the arguments and results of tools sent, too?
    pub(super) content: bool,
    /// How long spans wait to be sent in one batch.
    pub delay: Duration,
    /// How often metrics are sent.
    pub interval: Duration,
    /// How long a process may wait at its end to send what is left.
    pub flush: Duration,
    /// How many spans may wait; more are dropped.
    pub queue_max: usize,
}

/// The target of one signal.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) address: Uri,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) timeout: Duration,
}

/// Headers contain secrets, so they are not shown.
impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        write!(f, "Target({}, {headers:?}, {:?})", self.host(), self.timeout)
    }
}

impl Target {
    /// Its host and port. The whole address may contain a password and is not shown.
    pub(super) fn host(&self) -> String {
        let host = self.address.host().unwrap_or_default();
        self.address.port_u16().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}

impl Settings {
    /// Reads the environment. Returns `None` if no endpoint is named or telemetry is switched off.
    /// Invalid values are ignored with a warning.
    #[must_use]
    pub fn read(env: Environment<'_>, warn: &dyn Fn(&str)) -> Option<Self> {
        let said = ToolOutput { env, warn };
        if said.flag("OTEL_SDK_DISABLED") {
            return None;
        }
        let traces = said.target("TRACES", "v1/traces");
        let metrics = said.target("METRICS", "v1/metrics");
        if traces.is_none() && metrics.is_none() {
            return None;
        }
        said.protocol();
        Some(Self {
            traces,
            metrics,
            resource: said.resource(),
            content: said.flag("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"),
            delay: said.millis("OTEL_BSP_SCHEDULE_DELAY").unwrap_or(Duration::from_secs(5)),
            interval: said.millis("OTEL_METRIC_EXPORT_INTERVAL").unwrap_or(Duration::from_secs(60)),
            flush: Duration::from_secs(2),
            queue_max: 2048,
        })
    }
}

struct ToolOutput<'a> {
    env: Environment<'a>,
    warn: &'a dyn Fn(&str),
}

impl ToolOutput<'_> {
    /// An empty value counts as unset.
    fn get(&self, name: &str) -> Option<String> {
        let value = (self.env)(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    fn millis(&self, name: &str) -> Option<Duration> {
        let value = self.get(name)?;
        let millis = value.parse().ok().map(Duration::from_millis);
        if millis.is_none() {
            (self.warn)(&format!("telemetry: {name} is not a number of milliseconds: {value}"));
        }
        millis
    }

    /// The variable for this signal, otherwise the one for all signals.
    fn of_signal(&self, signal: &str, what: &str) -> Option<(String, String)> {
        let names =
            [format!("OTEL_EXPORTER_OTLP_{signal}_{what}"), format!("OTEL_EXPORTER_OTLP_{what}")];
        names.into_iter().find_map(|name| self.get(&name).map(|value| (name, value)))
    }

    fn target(&self, signal: &str, path: &str) -> Option<Target> {
        if self.get(&format!("OTEL_{signal}_EXPORTER")).is_some_and(|exporter| exporter == "none") {
            return None;
        }
        let (name, value) = self.of_signal(signal, "ENDPOINT")?;
        // An endpoint for one signal is used unchanged; to the common endpoint, the signal's path
        // is added.
        let is_whole = name.contains(signal);
        let address =
            if is_whole { value } else { format!("{}/{path}", value.trim_end_matches('/')) };
        let parsed = address.parse::<Uri>().ok();
        let parsed = parsed.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
        let Some(address) = parsed.filter(|uri| uri.host().is_some()) else {
            (self.warn)(&format!(
                "telemetry: {name} is not an http or https URL; nothing is sent there"
            ));
            return None;
        };
        let timeout = self.of_signal(signal, "TIMEOUT").and_then(|(name, _)| self.millis(&name));
        let timeout = timeout.unwrap_or(Duration::from_secs(10));
        Some(Target { address, headers: self.headers(signal), timeout })
    }

    fn headers(&self, signal: &str) -> Vec<(HeaderName, HeaderValue)> {
        let Some((name, value)) = self.of_signal(signal, "HEADERS") else { return Vec::new() };
        let mut headers = Vec::new();
        for (key, value) in pairs(&value) {
            match (HeaderName::try_from(&key), HeaderValue::try_from(&value)) {
                (Ok(key), Ok(value)) => headers.push((key, value)),
                // The value, and even an invalid key, may be a secret.
                _ => (self.warn)(&format!("telemetry: {name} has something that is not a header")),
            }
        }
        headers
    }

    fn protocol(&self) {
        for signal in ["TRACES", "METRICS"] {
            let Some((name, value)) = self.of_signal(signal, "PROTOCOL") else { continue };
            if value != PROTOCOL {
                (self.warn)(&format!(
                    "telemetry: {name} is {value}, but only {PROTOCOL} is spoken here and is used"
                ));
                return;
            }
        }
    }

    /// The resource attributes. Those of the environment override ours.
    fn resource(&self) -> Vec<(String, String)> {
        let mut resource =
            self.get("OTEL_RESOURCE_ATTRIBUTES").map_or_else(Vec::new, |said| pairs(&said));
        if let Some(name) = self.get("OTEL_SERVICE_NAME") {
            resource.retain(|(key, _)| key != "service.name");
            resource.insert(0, ("service.name".to_owned(), name));
        }
        let version = env!("CARGO_PKG_VERSION");
        let known = [
            ("service.name", "punchlist".to_owned()),
            ("service.version", version.to_owned()),
            // Keeps the sums of parallel processes apart.
            ("service.instance.id", instance()),
            ("telemetry.sdk.name", "punchlist".to_owned()),
            ("telemetry.sdk.language", "rust".to_owned()),
            ("telemetry.sdk.version", version.to_owned()),
        ];
        for (key, value) in known {
            if !resource.iter().any(|(said, _)| said == key) {
                resource.push((key.to_owned(), value));
            }
        }
        resource
    }
}

/// A UUID of version 4.
fn instance() -> String {
    let (high, low) = (random(), random());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        (low >> 48) & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    )
}

/// Parses `a=b,c=d`, with percent-encoded values.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    let pairs = pairs.map(|(key, value)| (key.trim().to_owned(), decoded(value.trim())));
    pairs.filter(|(key, _)| !key.is_empty()).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((next, more)) = rest.split_first() {
        let digit = |at: usize| more.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let byte =
            digit(0).zip(digit(1)).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        let (byte, left) = match byte.filter(|_| *next == b'%') {
            Some(byte) => (byte, &more[2..]),
            None => (*next, more),
        };
        bytes.push(byte);
        rest = left;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
