//! Forms (K-38): which are asked, how a field is read from its schema, which answers fit, and what a
//! person's typing means.

use punchlist_core::gate::form::{Bounds, Choice, Field, FieldKind, Form, Format};
use serde_json::{Number, Value, json};

/// A form of one field that may be left out.
fn of_one(name: &str, schema: &Value) -> Form {
    Form(json!({ "properties": { name: schema } }))
}

fn read(schema: &Value, typed: &str) -> Option<Value> {
    let form = of_one("it", schema);
    let fields = form.fields();
    fields[0].read(typed)
}

#[test]
fn flat_form_is_accepted_and_other_forms_are_refused_with_the_reason() {
    let form = Form(json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "minLength": 2}, "age": {"type": "integer", "maximum": 9},
        "size": {"type": "string", "enum": ["s", "m"]}, "sure": {"type": "boolean"}}}));
    assert_eq!(form.check(), Ok(()));
    for (bad, word) in [
        (json!("x"), "object"),
        (json!({"type": "array"}), "type"),
        (json!({"properties": {}}), "no fields"),
        (json!({"properties": {"a": 1}}), "`a`"),
        (json!({"properties": {"a": {"type": "object"}}}), "`a`"),
        (json!({"properties": {"a": {"type": "array", "items": {}}}}), "`a`"),
        (json!({"properties": {"a": {"type": "string", "$ref": "#"}}}), "$ref"),
        (json!({"properties": {"a": {"type": "string"}}, "required": ["b"]}), "\"b\""),
        (json!({"properties": {"a": {"type": "string"}}, "required": "a"}), "list"),
        (json!({"properties": {"a": {"type": "string", "enum": []}}}), "enum"),
        (json!({"properties": {"a": {"type": "string"}}, "allOf": []}), "allOf"),
        (json!({"properties": {"a": {"type": "string"}}, "title": 7}), "title of the schema"),
        (json!({"properties": {"a": {"type": "string", "title": 7}}}), "title of field `a`"),
        (json!({"properties": {"a": {"type": "string", "format": 7}}}), "format of field `a`"),
        (json!({"properties": {"a": {"type": "number", "minimum": "x"}}}), "minimum"),
        (json!({"properties": {"a": {"type": "string", "minLength": -4}}}), "minLength"),
        (json!({"properties": {"a": {"type": "string", "enumNames": [1]}}}), "enumNames"),
        // Nobody could answer these.
        (json!({"properties": {"a": {"type": "string", "enum": ["s", 1]}}}), "1 in the enum"),
        (
            json!({"properties": {"a": {"type": "integer", "minimum": 9, "maximum": 1}}}),
            "at least 9",
        ),
        (
            json!({"properties": {"a": {"type": "string", "minLength": 9, "maxLength": 1}}}),
            "at least 9",
        ),
        (json!({"properties": {"a": {"type": "string", "default": 7}}}), "default"),
        (
            json!({"properties": {"a": {"type": "integer", "enum": [1, 2], "default": 3}}}),
            "default",
        ),
    ] {
        let fault = Form(bad.clone()).check().unwrap_err();
        assert!(fault.contains(word), "{bad}: {fault}");
    }
    assert_eq!(form.check_response(&json!({"name": "Ada", "age": 3, "size": "m"})), Ok(()));
    assert_eq!(
        form.check_response(&json!({"age": 10, "size": "xl", "sure": "yes", "more": 1})),
        Err(vec![
            "`name` is required".to_owned(),
            "`age` must be at most 9".to_owned(),
            "`size` must be one of \"s\", \"m\"".to_owned(),
            "`sure` must be of type boolean".to_owned(),
            "`more` is not a field of the form".to_owned(),
        ])
    );
    assert!(form.check_response(&json!("Ada")).is_err());
    assert!(Form(json!({})).check_response(&json!({})).is_err(), "without fields");
}

#[test]
fn schema_of_a_field_is_read_in_the_order_of_the_form() {
    let (two, nine) = (Number::from(2), Number::from(9));
    let (eu, us) = (json!("eu"), json!("us"));
    let form = Form(json!({ "description": "Where to", "required": ["where"], "properties": {
        "where": { "type": "string", "title": "Region", "enum": ["eu", "us"],
            "enumNames": ["Europe"], "default": "eu", "minLength": 2 },
        "size": { "type": "integer", "description": "In GB", "minimum": 2, "maximum": 9 },
        "load": { "type": "number", "minimum": "2", "minLength": 2, "default": null, "format": "date" },
        "day": { "type": "string", "format": "date" },
        "colour": { "type": "string", "format": "colour" },
        "canary": { "type": "boolean", "minimum": 2 } } }));
    let field = |name: &'static str, kind| Field {
        name,
        title: None,
        description: None,
        is_required: false,
        kind,
        format: None,
        choices: Vec::new(),
        default: None,
    };
    let first = Field {
        title: Some("Region"),
        is_required: true,
        choices: vec![
            Choice { value: &eu, title: Some("Europe") },
            Choice { value: &us, title: None },
        ],
        default: Some(&eu),
        ..field("where", FieldKind::Text(Bounds { least: Some(&two), most: None }))
    };
    let second = Field {
        description: Some("In GB"),
        ..field("size", FieldKind::Integer(Bounds { least: Some(&two), most: Some(&nine) }))
    };
    let third = field("load", FieldKind::Number(Bounds::default()));
    let any_text = FieldKind::Text(Bounds::default());
    let day = Field { format: Some(Format::Date), ..field("day", any_text) };
    let colour = field("colour", any_text);
    let last = field("canary", FieldKind::Boolean);
    assert_eq!(form.fields(), [first, second, third, day, colour, last]);
    assert_eq!(form.description(), Some("Where to"));
    assert_eq!(Form(json!({})).fields(), []);
}

#[test]
fn client_gets_the_fields_without_the_words_about_the_form() {
    let fields = json!({ "a": { "type": "string", "format": "email" } });
    let form = json!({ "title": "T", "description": "D", "additionalProperties": false });
    assert_eq!(Form(form.clone()).only_fields(), None);
    let mut form = form;
    form["properties"] = fields.clone();
    let only = json!({ "type": "object", "properties": fields });
    assert_eq!(Form(form.clone()).only_fields(), Some(only.clone()));
    form["required"] = json!(["a"]);
    let mut only = only;
    only["required"] = json!(["a"]);
    assert_eq!(Form(form).only_fields(), Some(only));
}

/// The formats that MCP has for a text are checked; any other one is only a word for people.
#[test]
fn a_text_with_a_format_must_have_it() {
    for (format, fits, other, must) in [
        (
            "date",
            &["2026-11-18"][..],
            &["soon", "2026-13-01", "2026-11-18T09:00:00Z", ""][..],
            "a date",
        ),
        (
            "date-time",
            &["2026-11-18T09:00:00Z", "2026-11-18T09:00:00+01:00"],
            &["2026-11-18", "now"],
            "a time",
        ),
        (
            "email",
            &["ada@example.org"],
            &["nobody", "a@", "@b", "a b@c", "a@b@c"],
            "an e-mail address",
        ),
        (
            "uri",
            &["https://example.org/?a=b", "urn:isbn:1", "mailto:a@b"],
            &["example.org", "1:a", "https:", "a b:c"],
            "an address",
        ),
        ("colour", &["anything"], &[], ""),
    ] {
        let form = of_one("it", &json!({ "type": "string", "format": format }));
        assert_eq!(form.check(), Ok(()));
        for text in fits {
            assert_eq!(form.check_response(&json!({ "it": text })), Ok(()), "{format}: {text}");
        }
        for text in other {
            let [fault] = &form.check_response(&json!({ "it": text })).unwrap_err()[..] else {
                panic!("{text}")
            };
            assert!(fault.contains(must), "{format}: {text}: {fault}");
        }
    }
}

/// What fits, and the words for what does not.
#[test]
fn field_says_what_is_wrong_with_an_answer() {
    let number = json!({ "type": "number", "minimum": 2, "maximum": 5.0 });
    let whole = json!({ "type": "integer" });
    let text = json!({ "type": "string", "minLength": 2, "maxLength": 3 });
    let switch = json!({ "type": "boolean" });
    let choice = json!({ "type": "integer", "enum": [1, 2] });
    for (schema, given, expected) in [
        (&number, json!(2), None),
        (&number, json!(2.5), None),
        (&number, json!(5), None),
        (&number, json!(1.99), Some("`it` must be at least 2")),
        (&number, json!(5.01), Some("`it` must be at most 5")),
        (&number, json!("3"), Some("`it` must be of type number")),
        (&whole, json!(-7), None),
        (&whole, json!(u64::MAX), None),
        (&whole, json!(3.0), None),
        (&whole, json!(2.5), Some("`it` must be of type integer")),
        (&text, json!("ab"), None),
        (&text, json!("abc"), None),
        (&text, json!("äöü"), None),
        (&text, json!("a"), Some("`it` must have at least 2 characters")),
        (&text, json!("abcd"), Some("`it` must have at most 3 characters")),
        (&text, json!(12), Some("`it` must be of type string")),
        (&switch, json!(false), None),
        (&switch, json!(0), Some("`it` must be of type boolean")),
        (&choice, json!(2), None),
        (&choice, json!(2.0), None),
        (&choice, json!(3), Some("`it` must be one of 1, 2")),
        (&choice, json!("2"), Some("`it` must be of type integer")),
        (&choice, Value::Null, None),
    ] {
        let form = of_one("it", schema);
        let fault = form.fields()[0].fault(Some(&given));
        assert_eq!(fault.as_deref(), expected, "{schema}: {given}");
        let whole = form.check_response(&json!({ "it": given }));
        assert_eq!(whole.err(), expected.map(|fault| vec![fault.to_owned()]));
    }
    let required =
        Form(json!({ "properties": { "it": { "type": "boolean" } }, "required": ["it"] }));
    for given in [None, Some(&Value::Null)] {
        let fault = required.fields()[0].fault(given);
        assert_eq!(fault.as_deref(), Some("`it` is required"));
    }
}

#[test]
fn typed_text_is_converted_to_the_kind_of_the_field() {
    let text = json!({ "type": "string" });
    let whole = json!({ "type": "integer" });
    let number = json!({ "type": "number" });
    let switch = json!({ "type": "boolean" });
    let email = json!({ "type": "string", "format": "email" });
    let sizes = json!({ "type": "string", "enum": ["small", "", "2"] });
    let counts = json!({ "type": "integer", "enum": [1, 2] });
    for (schema, typed, expected) in [
        (&text, "12", Some(json!("12"))),
        (&text, " two words ", Some(json!(" two words "))),
        (&text, "  ", None),
        (&email, " ada@x.org ", Some(json!("ada@x.org"))),
        (&whole, " 12 ", Some(json!(12))),
        (&whole, "", None),
        (&whole, "a dozen", Some(json!("a dozen"))),
        (&whole, "[1]", Some(json!("[1]"))),
        (&number, "-1.5e3", Some(json!(-1500.0))),
        (&switch, "Yes", Some(json!(true))),
        (&switch, "true", Some(json!(true))),
        (&switch, "n", Some(json!(false))),
        (&switch, "perhaps", Some(json!("perhaps"))),
        (&switch, "", None),
        (&sizes, "small", Some(json!("small"))),
        (&sizes, "", Some(json!(""))),
        (&sizes, "2", Some(json!("2"))),
        (&sizes, "large", Some(json!("large"))),
        (&counts, "2", Some(json!(2))),
    ] {
        assert_eq!(read(schema, typed), expected, "{schema}: {typed:?}");
    }
}
