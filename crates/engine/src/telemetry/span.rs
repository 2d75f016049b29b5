//! A span: an action with its start, its end and its attributes.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest name that is sent: a model may call a tool by any name.
const NAME_MAX: usize = 128;

/// The attributes of a span. They never contain a secret, and contain content only if that is
/// switched on.
pub(super) type Attributes = Vec<(&'static str, Value)>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Int(u64),
    Double(f64),
    Bool(bool),
    Texts(Vec<String>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// The numbers are the protocol's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Internal = 1,
    Client = 3,
}

/// An event within a span.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) at: u64,
    pub(super) name: &'static str,
    pub(super) attributes: Attributes,
}

/// Times are nanoseconds since 1970.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) trace: u128,
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) attributes: Attributes,
    pub(super) events: Vec<Event>,
    pub(super) is_error: bool,
}

impl Span {
    /// A span that starts now, by its trace's clock.
    pub(super) fn begin(place: Place, kind: Kind, what: &str, whom: &str) -> Self {
        let start = place.clock.now();
        Self {
            trace: place.trace,
            id: nonzero(random()),
            parent: place.parent,
            name: format!("{what} {}", cut(whom, NAME_MAX)),
            kind,
            start,
            end: start,
            attributes: vec![("gen_ai.operation.name", what.into())],
            events: Vec::new(),
            is_error: false,
        }
    }

    pub(super) fn put(&mut self, key: &'static str, value: impl Into<Value>) {
        self.attributes.push((key, value.into()));
    }

    pub(super) fn put_some(&mut self, key: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// Adds a count, unless it is zero.
    pub(super) fn count(&mut self, key: &'static str, count: u64) {
        if count > 0 {
            self.put(key, Value::Int(count));
        }
    }

    pub(super) fn happened(&mut self, at: u64, name: &'static str, attributes: Attributes) {
        self.events.push(Event { at, name, attributes });
    }

    /// Marks it as failed, with an error type; the first one counts.
    pub(super) fn failed(&mut self, error: &str) {
        if !std::mem::replace(&mut self.is_error, true) {
            self.put("error.type", error);
        }
    }
}

/// The trace and the parent of a span.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) trace: u128,
    pub(super) parent: Option<u64>,
    pub(super) clock: Clock,
}

impl Place {
    /// A new trace.
    pub(super) fn root() -> Self {
        let trace = u128::from(random()) << 64 | u128::from(nonzero(random()));
        Self { trace, parent: None, clock: Clock::start() }
    }

    pub(super) const fn below(self, span: &Span) -> Self {
        Self { parent: Some(span.id), ..self }
    }
}

/// The clock of one trace. It starts at the system time and never goes back, so no span ends before
/// it starts or after its parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    wall: u64,
    since: Instant,
}

impl Clock {
    fn start() -> Self {
        Self { wall: wall(), since: Instant::now() }
    }

    pub(super) fn now(self) -> u64 {
        self.wall.saturating_add(nanos(self.since.elapsed()))
    }
}

/// The system time.
pub(super) fn wall() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, nanos)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Ids must be unique, not secret: without randomness the time is used.
pub(super) fn random() -> u64 {
    getrandom::u64().unwrap_or_else(|_| wall())
}

/// An id of zeros is invalid.
const fn nonzero(id: u64) -> u64 {
    if id == 0 { 1 } else { id }
}

/// The beginning of a text, up to a limit in bytes.
pub(super) fn cut(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
