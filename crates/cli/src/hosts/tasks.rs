//! The task files of Claude Code: a folder for each list, with one JSON file for each task.
//!
//! They are not documented, so anything unexpected means that the list is not known.

use std::path::{Component, Path, PathBuf};
use std::{env, fs};

use punchlist_ops::operations::session_hook::NativeTodo;
use punchlist_store::outside;
use serde_json::Value;

use super::claude::native;

/// The longest task file that is read.
const FILE_MAX: usize = 256 << 10;

/// The most tasks that are read.
const TASKS_MAX: usize = 1000;

/// The tasks of a session, in order. `None` if there is no list.
pub(super) fn of(session: &str) -> Option<Vec<NativeTodo>> {
    let var = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
    let home = || var("HOME").map(|home| Path::new(&home).join(".claude"));
    let folder = var("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(home)?;
    let list = var("CLAUDE_CODE_TASK_LIST_ID").unwrap_or_else(|| session.to_owned());
    read(&folder.join("tasks"), &list)
}

fn read(tasks: &Path, list: &str) -> Option<Vec<NativeTodo>> {
    // The name comes from outside, and must not lead to another folder.
    let mut parts = Path::new(list).components();
    let (Some(Component::Normal(name)), None) = (parts.next(), parts.next()) else { return None };
    let entries = fs::read_dir(tasks.join(name)).ok()?;
    let paths = entries.flatten().map(|entry| entry.path());
    let numbered = paths.filter_map(|path| {
        let is_task = path.extension().is_some_and(|extension| extension == "json");
        let number = path.file_stem()?.to_str()?.parse::<u64>().ok()?;
        is_task.then_some((number, path))
    });
    let mut numbered: Vec<(u64, PathBuf)> = numbered.take(TASKS_MAX + 1).collect();
    if numbered.len() > TASKS_MAX {
        return None;
    }
    numbered.sort_unstable();
    // A file may be half written. Without it, the list would lack a task.
    numbered.iter().map(|(_, path)| task(path)).collect()
}

fn task(path: &Path) -> Option<NativeTodo> {
    let text = outside::text(path, FILE_MAX).ok()?;
    let value: Value = serde_json::from_str(&text).ok()?;
    value["subject"].as_str()?;
    Some(native(&value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("s1")).unwrap();
        for (name, text) in files {
            fs::write(folder.path().join("s1").join(name), text).unwrap();
        }
        folder
    }

    fn shown(folder: &Path, list: &str) -> Option<Vec<(String, String)>> {
        let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
        let row = |todo: NativeTodo| {
            let todo = serde_json::to_value(todo).unwrap();
            (text(todo["content"].clone()), text(todo["status"].clone()))
        };
        Some(read(folder, list)?.into_iter().map(row).collect())
    }

    #[test]
    fn tasks_are_read_in_the_order_of_their_numbers() {
        let task = |subject: &str, status: &str| {
            format!(r#"{{"id":"x","subject":"{subject}","description":"d","status":"{status}"}}"#)
        };
        let (two, ten) = (task("Second", "in_progress"), task("Tenth", "completed"));
        let folder = folder(&[("10.json", &ten), ("2.json", &two), (".lock", ""), ("x.json", "{")]);
        let row = |content: &str, status: &str| (content.to_owned(), status.to_owned());
        let expected = vec![row("Second", "in_progress"), row("Tenth", "completed")];
        assert_eq!(shown(folder.path(), "s1"), Some(expected));
    }

    #[test]
    fn what_cannot_be_read_is_not_an_empty_list() {
        let half = folder(&[("1.json", r#"{"subject":"On"#)]);
        assert_eq!(shown(half.path(), "s1"), None);
        let odd = folder(&[("1.json", r#"{"subject":7}"#)]);
        assert_eq!(shown(odd.path(), "s1"), None);
        for list in ["unknown", "..", "s1/..", "", "/", "../s1"] {
            assert_eq!(shown(half.path(), list), None, "{list}");
        }
        assert_eq!(shown(folder(&[]).path(), "s1"), Some(Vec::new()));
    }
}
