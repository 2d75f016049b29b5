//! Edits of TOML files that people also edit: comments, order and formatting stay as they are.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::edits::line_break;

/// Sets a table of two names.
pub(super) fn set(text: &str, path: [&str; 2], content: &Value) -> Result<String, String> {
    let mut document = parse(text)?;
    let [outer, inner] = path;
    let made = document.get(outer).is_none();
    let parent = document.entry(outer).or_insert_with(|| Item::Table(Table::new()));
    let Some(parent) = parent.as_table_like_mut() else {
        return Err(format!("`{outer}` is not a table"));
    };
    let table = table(content);
    if parent.get(inner).is_some_and(|known| same(known, &table)) {
        return Ok(text.to_owned());
    }
    parent.insert(inner, Item::Table(table));
    if made && let Some(parent) = document.get_mut(outer).and_then(Item::as_table_mut) {
        parent.set_implicit(true);
    }
    Ok(finished(&document, text))
}

/// Removes it, and the outer table if that is empty then.
pub(super) fn unset(text: &str, path: [&str; 2]) -> Result<String, String> {
    let mut document = parse(text)?;
    let [outer, inner] = path;
    let Some(parent) = document.get_mut(outer).and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    if parent.remove(inner).is_none() {
        return Ok(text.to_owned());
    }
    if parent.is_empty() {
        document.remove(outer);
    }
    Ok(finished(&document, text))
}

/// The edited file with its own line breaks: the editor writes `\n`.
fn finished(document: &DocumentMut, text: &str) -> String {
    let edited = document.to_string();
    match line_break(text) {
        "\n" => edited,
        end => edited.replace("\r\n", "\n").replace('\n', end),
    }
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text[..at.min(text.len())].matches('\n').count() + 1;
        format!("line {line}: {}", error.message())
    })
}

fn table(content: &Value) -> Table {
    let mut table = Table::new();
    for (name, field) in content.as_object().into_iter().flatten() {
        let item = match field {
            Value::Array(items) => value(items.iter().filter_map(Value::as_str).collect::<Array>()),
            Value::Number(number) => value(number.as_i64().unwrap_or_default()),
            Value::Bool(flag) => value(*flag),
            other => value(other.as_str().unwrap_or_default()),
        };
        table.insert(name, item);
    }
    table
}

fn same(known: &Item, ours: &Table) -> bool {
    let text = |item: &Item| item.to_string().split_whitespace().collect::<String>();
    let Some(known) = known.as_table_like() else { return false };
    known.iter().count() == ours.iter().count()
        && ours.iter().all(|(name, item)| known.get(name).is_some_and(|k| text(k) == text(item)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const OWN: &str = "# mine\nmodel = \"x\" # the best\n\n[mcp_servers.other]\ncommand = \"o\"\n";

    #[test]
    fn comments_stay_and_a_second_time_changes_nothing() {
        let ours = json!({ "command": "punch", "args": ["mcp", "--db", "x"] });
        let path = ["mcp_servers", "punchlist"];
        let with = set(OWN, path, &ours).unwrap();
        assert!(with.starts_with(OWN), "{with}");
        assert!(with.contains("[mcp_servers.punchlist]\ncommand = \"punch\""), "{with}");
        assert_eq!(set(&with, path, &ours).unwrap(), with);
        assert_eq!(unset(&with, path).unwrap().trim_end(), OWN.trim_end());
        let alone = set("", path, &ours).unwrap();
        assert!(alone.starts_with("[mcp_servers.punchlist]\n"), "{alone}");
        assert_eq!(unset(&alone, path).unwrap(), "");
        assert_eq!(unset(OWN, path).unwrap(), OWN);
    }

    #[test]
    fn the_line_breaks_of_the_file_stay() {
        let own = OWN.replace('\n', "\r\n");
        let path = ["mcp_servers", "punchlist"];
        let with = set(&own, path, &json!({ "command": "punch" })).unwrap();
        assert!(with.starts_with(&own), "{with:?}");
        assert!(!with.replace("\r\n", "").contains('\n'), "{with:?}");
        assert_eq!(unset(&with, path).unwrap().trim_end(), own.trim_end());
    }

    #[test]
    fn a_file_that_does_not_parse_names_its_line() {
        let fault = set("a = 1\nb = = 2\n", ["m", "p"], &json!({})).unwrap_err();
        assert!(fault.starts_with("line 2: "), "{fault}");
        assert!(set("m = 1\n", ["m", "p"], &json!({})).is_err());
    }
}
