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

/// Puts an element into the array at a path, once: a hook that runs these words is replaced, and
/// the hooks of others beside it stay.
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
        return Err(format!("`{}` is not an array", path.join(".")));
    };
    let Some(known) = ours(&array, words).into_iter().next() else {
        array.append(input(value));
        return Ok(finished(&root));
    };
    let (array, value) = match known.group {
        Some(group) => (group, &value[HOOKS][0]),
        None => (array, value),
    };
    if plain(&known.node).as_ref() == Some(value) {
        return Ok(text.to_owned());
    }
    let at = known.node.element_index().unwrap_or_default();
    known.node.remove();
    array.insert(at, input(value));
    Ok(finished(&root))
}

/// Removes the hooks that run these words from the array at a path.
pub(super) fn take(text: &str, path: &[&str], words: [&str; 2]) -> Result<String, String> {
    let root = parse(text)?;
    let array = known_at(&root, above(path)).and_then(|parent| parent.array_value(last(path)));
    let Some(array) = array else { return Ok(text.to_owned()) };
    let found = ours(&array, words);
    if found.is_empty() {
        return Ok(text.to_owned());
    }
    found.into_iter().for_each(|known| known.node.remove());
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
        return Err("the file does not contain a JSON object".to_owned());
    };
    for name in path {
        object.ensure_multiline();
        let Some(below) = object.object_value_or_create(name) else {
            return Err(format!("`{name}` is not an object"));
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

/// The hooks of a group.
const HOOKS: &str = "hooks";

/// A hook of ours.
struct Ours {
    /// The hook, or the group that has no other hook.
    node: CstNode,
    /// The hooks of its group, if others are among them.
    group: Option<CstArray>,
}

/// The elements of an array that run these words: hooks, or groups of hooks.
fn ours(array: &CstArray, words: [&str; 2]) -> Vec<Ours> {
    let runs = |node: &CstNode| plain(node).is_some_and(|value| runs(&value, words));
    let mut found = Vec::new();
    for node in array.elements() {
        let group = node.as_object().and_then(|group| group.array_value(HOOKS));
        let hooks = group.as_ref().map(CstArray::elements).unwrap_or_default();
        if runs(&node) || (!hooks.is_empty() && hooks.iter().all(runs)) {
            found.push(Ours { node, group: None });
        } else {
            let own = hooks.into_iter().filter(runs);
            found.extend(own.map(|node| Ours { node, group: group.clone() }));
        }
    }
    found
}

/// Does this hook run these words, one after the other?
fn runs(hook: &Value, words: [&str; 2]) -> bool {
    let has = |all: &[&str]| all.windows(words.len()).any(|some| some == words);
    let line = |name: &str| hook[name].as_str().unwrap_or_default().split_whitespace();
    let args = hook["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    has(&line("command").collect::<Vec<_>>()) || has(&args.collect::<Vec<_>>())
}

/// Is there a hook in this text that runs these words?
pub(super) fn has_hook(text: &str, words: [&str; 2]) -> bool {
    fn is_in(value: &Value, words: [&str; 2]) -> bool {
        match value {
            Value::Object(fields) => {
                runs(value, words) || fields.values().any(|field| is_in(field, words))
            }
            Value::Array(items) => items.iter().any(|item| is_in(item, words)),
            _ => false,
        }
    }
    let parsed = jsonc_parser::parse_to_serde_value::<Value>(text, &ParseOptions::default());
    parsed.is_ok_and(|value| is_in(&value, words))
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
        let words = ["hook", "claude"];
        let with = put(OWN, &["hooks", "Stop"], &element, words).unwrap();
        assert!(with.starts_with("{\n  // mine\n  \"b\": 1, // one\n"), "{with}");
        assert!(with.contains("\"other\"") && with.contains("\"punch\""), "{with}");
        assert_eq!(put(&with, &["hooks", "Stop"], &element, words).unwrap(), with);
        let taken = take(&with, &["hooks", "Stop"], words).unwrap();
        assert_eq!(plain_text(&taken), plain_text(OWN));
        assert!(taken.contains("// mine") && taken.contains("// one"), "{taken}");
    }

    /// The hooks of others stay, although their folders have the names of the hosts, and also if a
    /// person has moved ours into their group.
    #[test]
    fn hooks_of_others_are_not_taken_for_ours() {
        const WORDS: [&str; 2] = ["hook", "claude"];
        let path = ["hooks", "Stop"];
        let theirs = json!({ "type": "command", "command": "\"$D\"/.claude/hooks/lint.sh" });
        let ours = |event: &str| json!({ "command": "punch", "args": ["hook", "claude", event] });
        let group = |hooks: &[Value]| json!({ "hooks": hooks });
        let own = json!({ "hooks": { "Stop": [group(std::slice::from_ref(&theirs))] } });
        let with = put(&own.to_string(), &path, &group(&[ours("stop")]), WORDS).unwrap();
        let stop = |text: &str| plain_text(text)["hooks"]["Stop"].clone();
        assert_eq!(
            stop(&with),
            json!([group(std::slice::from_ref(&theirs)), group(&[ours("stop")])])
        );
        assert_eq!(plain_text(&take(&with, &path, WORDS).unwrap()), own);
        let mixed = json!({ "hooks": { "Stop": [group(&[theirs.clone(), ours("old")])] } });
        let new = put(&mixed.to_string(), &path, &group(&[ours("stop")]), WORDS).unwrap();
        assert_eq!(stop(&new), json!([group(&[theirs, ours("stop")])]));
        assert_eq!(put(&new, &path, &group(&[ours("stop")]), WORDS).unwrap(), new);
        assert_eq!(plain_text(&take(&new, &path, WORDS).unwrap()), own);
        assert!(has_hook(&new, WORDS) && !has_hook(&own.to_string(), WORDS));
        assert!(has_hook(r#"{"hooks":[{"command":"punch --db x hook claude stop"}]}"#, WORDS));
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
