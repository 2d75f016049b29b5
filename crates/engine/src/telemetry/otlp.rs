//! The wire format: OTLP as JSON. Ids are hex, 64-bit numbers are strings, enums are numbers.

use serde_json::{Value as Json, json};

use super::metrics::{Measure, Metrics};
use super::span::{Attributes, Event, Span, Value, wall};

/// The protocol's number for delta temporality.
const DELTA: u8 = 1;

/// The protocol's number for a failure.
const ERROR: u8 = 2;

/// The resource in the protocol's format.
pub(super) fn resource(attributes: &[(String, String)]) -> Json {
    let attributes: Vec<Json> = attributes
        .iter()
        .map(|(key, value)| json!({ "key": key, "value": { "stringValue": value } }))
        .collect();
    json!({ "attributes": attributes })
}

fn scope() -> Json {
    json!({ "name": "punchlist", "version": env!("CARGO_PKG_VERSION") })
}

pub(super) fn traces(resource: &Json, spans: &[Span]) -> String {
    let spans: Vec<Json> = spans.iter().map(span).collect();
    let scopes = json!([{ "scope": scope(), "spans": spans }]);
    json!({ "resourceSpans": [{ "resource": resource, "scopeSpans": scopes }] }).to_string()
}

pub(super) fn metrics(resource: &Json, taken: &Metrics) -> String {
    let until = wall().max(taken.since).to_string();
    let mut metrics = Vec::new();
    for measure in Measure::ALL {
        let series = taken.series.iter().filter(|((of, _), _)| *of == measure);
        let points: Vec<Json> = series
            .map(|((_, labels), histogram)| {
                let labels =
                    labels.iter().map(|(key, value)| attribute(key, &value.as_str().into()));
                json!({
                    "attributes": labels.collect::<Vec<_>>(),
                    "startTimeUnixNano": taken.since.to_string(), "timeUnixNano": until,
                    "count": histogram.count.to_string(), "sum": histogram.sum,
                    "min": histogram.min, "max": histogram.max,
                    "bucketCounts": histogram.buckets.map(|count| count.to_string()),
                    "explicitBounds": measure.bounds(),
                })
            })
            .collect();
        if !points.is_empty() {
            metrics.push(json!({
                "name": measure.name(), "unit": measure.unit(), "description": measure.description(),
                "histogram": { "aggregationTemporality": DELTA, "dataPoints": points },
            }));
        }
    }
    let scopes = json!([{ "scope": scope(), "metrics": metrics }]);
    json!({ "resourceMetrics": [{ "resource": resource, "scopeMetrics": scopes }] }).to_string()
}

fn span(span: &Span) -> Json {
    let mut json = json!({
        "traceId": format!("{:032x}", span.trace), "spanId": format!("{:016x}", span.id),
        "name": span.name, "kind": span.kind as u8,
        "startTimeUnixNano": span.start.to_string(), "endTimeUnixNano": span.end.to_string(),
        "attributes": attributes(&span.attributes),
        "events": span.events.iter().map(event).collect::<Vec<_>>(),
        "status": if span.is_error { json!({ "code": ERROR }) } else { json!({}) },
    });
    if let Some(parent) = span.parent {
        json["parentSpanId"] = Json::String(format!("{parent:016x}"));
    }
    json
}

fn event(event: &Event) -> Json {
    json!({
        "timeUnixNano": event.at.to_string(), "name": event.name,
        "attributes": attributes(&event.attributes),
    })
}

fn attributes(attributes: &Attributes) -> Vec<Json> {
    attributes.iter().map(|(key, value)| attribute(key, value)).collect()
}

fn attribute(key: &str, value: &Value) -> Json {
    let text = |text: &String| json!({ "stringValue": text });
    let value = match value {
        Value::Text(said) => text(said),
        Value::Int(number) => json!({ "intValue": number.to_string() }),
        Value::Double(number) => json!({ "doubleValue": number }),
        Value::Bool(is) => json!({ "boolValue": is }),
        Value::Texts(texts) => {
            json!({ "arrayValue": { "values": texts.iter().map(text).collect::<Vec<_>>() } })
        }
    };
    json!({ "key": key, "value": value })
}
