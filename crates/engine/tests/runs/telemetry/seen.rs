//! Checks the exported data and makes it readable.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::listener::Sent;

/// One span.
#[derive(Clone, Debug)]
pub(super) struct Seen(Value);

impl Seen {
    fn word(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or_default()
    }

    pub(super) fn name(&self) -> &str {
        self.word("name")
    }

    pub(super) fn trace(&self) -> &str {
        self.word("traceId")
    }

    pub(super) fn id(&self) -> &str {
        self.word("spanId")
    }

    pub(super) fn parent(&self) -> Option<&str> {
        self.0["parentSpanId"].as_str()
    }

    fn at(&self, key: &str) -> u64 {
        self.word(key).parse().unwrap()
    }

    pub(super) fn attribute(&self, key: &str) -> Option<String> {
        let found =
            self.0["attributes"].as_array().unwrap().iter().find(|one| one["key"] == key)?;
        Some(shown(&found["value"]))
    }
}

fn shown(value: &Value) -> String {
    let (kind, value) = value.as_object().unwrap().iter().next().unwrap();
    match (kind.as_str(), value) {
        ("stringValue", Value::String(text)) => text.clone(),
        // 64-bit numbers are strings.
        ("intValue", Value::String(number)) => number.parse::<u64>().unwrap().to_string(),
        ("doubleValue", Value::Number(number)) => number.to_string(),
        ("boolValue", Value::Bool(is)) => is.to_string(),
        ("arrayValue", values) => {
            let values: Vec<String> =
                values["values"].as_array().unwrap().iter().map(shown).collect();
            format!("[{}]", values.join(", "))
        }
        other => panic!("{other:?} is no value"),
    }
}

/// The spans in these requests, in the order they ended. Each must be complete, with a known
/// parent.
pub(super) fn spans(sent: &[Sent]) -> Vec<Seen> {
    let mut spans = Vec::new();
    for one in sent.iter().filter(|one| one.path == "/v1/traces") {
        for scope in one.body["resourceSpans"][0]["scopeSpans"].as_array().unwrap() {
            spans.extend(scope["spans"].as_array().unwrap().iter().cloned().map(Seen));
        }
    }
    let by_id: HashMap<&str, &Seen> = spans.iter().map(|span| (span.id(), span)).collect();
    assert_eq!(by_id.len(), spans.len(), "ids are used once");
    for span in &spans {
        judge(span, span.parent().map(|id| by_id[id]));
    }
    spans
}

fn judge(span: &Seen, parent: Option<&Seen>) {
    let is_hex = |text: &str, length| {
        text.len() == length
            && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
            && text.bytes().any(|b| b != b'0')
    };
    assert!(is_hex(span.trace(), 32) && is_hex(span.id(), 16), "{span:?}");
    let (start, end) = (span.at("startTimeUnixNano"), span.at("endTimeUnixNano"));
    assert!(0 < start && start <= end, "{span:?}");
    assert!(matches!(span.0["kind"].as_u64(), Some(1 | 3)), "{span:?}");
    for event in span.0["events"].as_array().unwrap() {
        let at: u64 = event["timeUnixNano"].as_str().unwrap().parse().unwrap();
        assert!((start..=end).contains(&at), "{span:?}");
    }
    if let Some(parent) = parent {
        assert_eq!(span.trace(), parent.trace());
        assert!(parent.at("startTimeUnixNano") <= start, "{span:?} {parent:?}");
        assert!(end <= parent.at("endTimeUnixNano"), "{span:?} {parent:?}");
    }
}

/// The spans as trees. Ids are numbered in the order they appear, and times are left out.
pub(super) fn trees(spans: &[Seen]) -> String {
    let mut drawing = Drawing { spans, ids: Vec::new(), text: String::new() };
    let roots: Vec<&Seen> = spans.iter().filter(|span| span.parent().is_none()).collect();
    roots.into_iter().for_each(|root| drawing.draw(root, 0));
    drawing.text
}

struct Drawing<'a> {
    spans: &'a [Seen],
    ids: Vec<String>,
    text: String,
}

impl<'a> Drawing<'a> {
    fn draw(&mut self, span: &'a Seen, depth: usize) {
        let indent = "  ".repeat(depth);
        let kind = if span.0["kind"] == 3 { "client" } else { "internal" };
        let status = if span.0["status"]["code"] == 2 { ", error" } else { "" };
        writeln!(self.text, "{indent}{} ({kind}{status})", span.name()).unwrap();
        for attribute in span.0["attributes"].as_array().unwrap() {
            let line = self.line(attribute);
            writeln!(self.text, "{indent}  - {line}").unwrap();
        }
        for event in span.0["events"].as_array().unwrap() {
            let attributes = event["attributes"].as_array().unwrap();
            let lines: Vec<String> = attributes.iter().map(|one| self.line(one)).collect();
            let line = format!("! {} {}", event["name"].as_str().unwrap(), lines.join(", "));
            writeln!(self.text, "{indent}  {}", line.trim_end()).unwrap();
        }
        let spans = self.spans;
        for child in spans.iter().filter(|child| child.parent() == Some(span.id())) {
            self.draw(child, depth + 1);
        }
    }

    fn line(&mut self, attribute: &Value) -> String {
        let key = attribute["key"].as_str().unwrap();
        let mut value = shown(&attribute["value"]);
        if ["conversation.id", "run.id", "delegation.id"].iter().any(|end| key.ends_with(end)) {
            let known = self.ids.iter().position(|id| *id == value);
            let number = known.unwrap_or_else(|| {
                self.ids.push(value);
                self.ids.len() - 1
            });
            value = format!("<{}>", number + 1);
        }
        if key.ends_with("time_to_first_chunk") {
            value = "<seconds>".to_owned();
        }
        format!("{key}: {value}")
    }
}
