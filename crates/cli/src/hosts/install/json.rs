//! Edits of JSON files that people also edit: comments, order and formatting stay as they are.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

/// Sets a property at a path.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    let root = parse(text)?;
    let (parent, name) = (object_at(&root, above(path))?, last(path));
    match parent.get(name) {
        Some(known) if known.value().and_then(|v| plain(&v)) == Some(value.clone()) => {
            return Ok(text.to_owned());
        }
        Some(known) => known.set_value(input(value)),
        None => drop(parent.append(name, input(value))),
    }
    Ok(finished(&root))
}

/// Sets a property at a path, if it is not set yet.
pub(super) fn set_default(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    let root = parse(text)?;
    match object_at(&root, above(path))?.get(last(path)) {
        Some(_) => Ok(text.to_owned()),
        None => set(text, path, value),
    }
}

/// Removes a property, and objects that are empty without it.
pub(super) fn unset(text: &str, path: &[&str]) -> Result<String, String> {
    let root = parse(text)?;
    let Some(parent) = known_at(&root, above(path)) else { return Ok(text.to_owned()) };
    let Some(property) = parent.get(last(path)) else { return Ok(text.to_owned()) };
    property.remove();
    prune(&root, above(path));
    Ok(finished(&root))
}

/// Puts an element into the array at a path, once: an element with these words is replaced.
pub(super) fn put(
    text: &str,
    path: &[&str],
    value: &Value,
    words: [&str; 2],
) -> Result<String, String> {
    let root = parse(text)?;
    let parent = object_at(&root, above(path))?;
    let name = last(path);
    let Some(array) = parent.array_value_or_create(name) else {
        return Err(format!("`{}` is no array", path.join(".")));
    };
    match ours(&array, words).first() {
        Some(known) if plain(known).as_ref() == Some(value) => return Ok(text.to_owned()),
        Some(known) => {
            let at = known.element_index().unwrap_or_default();
            known.clone().remove();
            array.insert(at, input(value));
        }
        None => drop(array.append(input(value))),
    }
    Ok(finished(&root))
}

/// Removes the elements with these words from the array at a path.
pub(super) fn take(text: &str, path: &[&str], words: [&str; 2]) -> Result<String, String> {
    let root = parse(text)?;
    let array = known_at(&root, above(path)).and_then(|parent| parent.array_value(last(path)));
    let Some(array) = array else { return Ok(text.to_owned()) };
    let found = ours(&array, words);
    if found.is_empty() {
        return Ok(text.to_owned());
    }
    found.into_iter().for_each(CstNode::remove);
    if array.elements().is_empty()
        && let Some(parent) = known_at(&root, above(path))
        && let Some(property) = parent.get(last(path))
    {
        property.remove();
        prune(&root, above(path));
    }
    Ok(finished(&root))
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| {
        let (line, column) = (error.line_display(), error.column_display());
        format!("line {line}, column {column}: {}", error.kind())
    })
}

/// The object at a path, created if missing.
fn object_at(root: &CstRootNode, path: &[&str]) -> Result<CstObject, String> {
    let Some(mut object) = root.object_value_or_create() else {
        return Err("the file holds no object".to_owned());
    };
    for name in path {
        object.ensure_multiline();
        let Some(below) = object.object_value_or_create(name) else {
            return Err(format!("`{name}` is no object"));
        };
        object = below;
    }
    object.ensure_multiline();
    Ok(object)
}

fn known_at(root: &CstRootNode, path: &[&str]) -> Option<CstObject> {
    path.iter().try_fold(root.object_value()?, |object, name| object.object_value(name))
}

/// Removes empty objects, the deepest first.
fn prune(root: &CstRootNode, path: &[&str]) {
    for depth in (1..=path.len()).rev() {
        let is_empty = known_at(root, &path[..depth]).is_some_and(|o| o.properties().is_empty());
        if let (true, Some(parent)) = (is_empty, known_at(root, &path[..depth - 1]))
            && let Some(property) = parent.get(path[depth - 1])
        {
            property.remove();
        }
    }
}

fn ours(array: &CstArray, words: [&str; 2]) -> Vec<CstNode> {
    let is_ours = |node: &CstNode| {
        let text = node.to_string();
        words.iter().all(|word| text.contains(word))
    };
    array.elements().into_iter().filter(is_ours).collect()
}

fn above<'a>(path: &'a [&'a str]) -> &'a [&'a str] {
    &path[..path.len().saturating_sub(1)]
}

fn last<'a>(path: &[&'a str]) -> &'a str {
    path.last().copied().unwrap_or_default()
}

/// The value of a node, without its comments.
fn plain(node: &CstNode) -> Option<Value> {
    let parsed = jsonc_parser::parse_to_serde_value(&node.to_string(), &ParseOptions::default());
    parsed.ok()
}

fn finished(root: &CstRootNode) -> String {
    root.to_string()
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields.iter().map(|(name, value)| (name.clone(), input(value))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const OWN: &str = "{\n  // mine\n  \"b\": 1, // one\n  \"hooks\": {\n    \
                       \"Stop\": [{\"command\": \"other\"}]\n  }\n}\n";

    #[test]
    fn comments_and_order_stay_and_a_second_time_changes_nothing() {
        let element = json!({ "command": "punch", "args": ["hook", "claude"] });
        let words = ["punch", "claude"];
        let with = put(OWN, &["hooks", "Stop"], &element, words).unwrap();
        assert!(with.starts_with("{\n  // mine\n  \"b\": 1, // one\n"), "{with}");
        assert!(with.contains("\"other\"") && with.contains("\"punch\""), "{with}");
        assert_eq!(put(&with, &["hooks", "Stop"], &element, words).unwrap(), with);
        let taken = take(&with, &["hooks", "Stop"], words).unwrap();
        assert_eq!(plain_text(&taken), plain_text(OWN));
        assert!(taken.contains("// mine") && taken.contains("// one"), "{taken}");
    }

    #[test]
    fn objects_made_for_our_edits_are_removed_with_them() {
        let made = set("", &["mcpServers", "punchlist"], &json!({ "command": "punch" })).unwrap();
        let expected = json!({ "mcpServers": { "punchlist": { "command": "punch" } } });
        assert_eq!(plain_text(&made), expected);
        assert_eq!(plain_text(&unset(&made, &["mcpServers", "punchlist"]).unwrap()), json!({}));
        assert_eq!(set_default("{\"v\":2}", &["v"], &json!(1)).unwrap(), "{\"v\":2}");
    }

    #[test]
    fn a_file_that_does_not_parse_names_its_line() {
        let fault = set("{\n  \"a\": ,\n}", &["b"], &json!(1)).unwrap_err();
        assert!(fault.starts_with("line 2, column "), "{fault}");
        assert!(set("[1]", &["b"], &json!(1)).is_err());
        assert!(set("{\"a\": 1}", &["a", "b"], &json!(1)).is_err());
    }

    fn plain_text(text: &str) -> Value {
        jsonc_parser::parse_to_serde_value(text, &ParseOptions::default()).unwrap()
    }
}
