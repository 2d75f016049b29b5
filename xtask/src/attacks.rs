//! Which tests `cargo xtask attack` runs, and the tests that SECURITY.md names.

use anyhow::Result;

use crate::test_command;

/// Parts of the names of the attack tests. Each must occur in the repository.
const ATTACKS: [&str; 17] = [
    "attack",
    "bad_hooks::",
    "bad_servers::",
    "identity::",
    "mcp_servers::",
    "mcp_wire::",
    "nonsense::",
    "outside_files::",
    "own_work::",
    "permissions::",
    "poison::",
    "postgres_line::",
    "projects::a_hostile_git",
    "protection::",
    "terminal_text::",
    "user_tools::",
    "users::",
];

/// `cargo xtask attack`: only the attack tests, which are also part of `test`.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let filter = ATTACKS.map(|part| format!("test({part})")).join(" or ");
    test_command::only_tests(&filter, args)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::repository;

    /// The documents whose claims name tests.
    const DOCUMENTS: [&str; 2] = ["SECURITY.md", "docs/security-review.md"];

    /// The Rust files of the crates, with their paths.
    fn sources() -> Vec<(String, String)> {
        let root = repository::root().unwrap();
        let files = repository::files(&root).unwrap();
        let rust = files.into_iter().filter(|p| p.starts_with("crates/") && p.ends_with(".rs"));
        rust.map(|path| (fs::read_to_string(root.join(&path)).unwrap(), path))
            .map(|(text, path)| (path, text))
            .collect()
    }

    /// Is there a test with this path of modules and the beginning of this name, below a folder?
    fn exists(sources: &[(String, String)], below: &str, name: &str) -> bool {
        let (modules, function) = name.rsplit_once("::").unwrap_or(("", name));
        let mut modules: Vec<&str> = modules.split("::").filter(|part| !part.is_empty()).collect();
        let function = function.trim_end_matches('*');
        // `sqlite::` and `postgres::` are made by a macro.
        modules.retain(|module| !["sqlite", "postgres"].contains(module));
        sources.iter().filter(|(path, _)| path.starts_with(below)).any(|(path, text)| {
            let is_in = |module: &&str| {
                path.contains(&format!("/{module}.rs")) || path.contains(&format!("/{module}/"))
            };
            modules.iter().all(is_in) && text.contains(&format!("fn {function}"))
        })
    }

    /// The tests that a text names: `crate: name` between backticks.
    fn named(text: &str) -> Vec<(String, String)> {
        let parts = text.split('`').filter_map(|part| part.split_once(": "));
        let crates = ["core", "store", "ops", "engine", "server", "cli"];
        let tests = parts.filter(|(of, name)| crates.contains(of) && !name.contains(' '));
        tests.map(|(of, name)| (of.to_owned(), name.to_owned())).collect()
    }

    #[test]
    fn every_part_of_the_filter_finds_tests() {
        let sources = sources();
        for part in ATTACKS {
            let name = if part.ends_with("::") { format!("{part}*") } else { part.to_owned() };
            let finds = match part {
                "attack" => exists(&sources, "crates/", "attack::no_role_gets_around"),
                _ => exists(&sources, "crates/", &name),
            };
            assert!(finds, "`cargo xtask attack` names {part}, which is in no test");
        }
        assert!(!exists(&sources, "crates/", "bad_servers::no_such_test"));
        assert!(!exists(&sources, "crates/", "no_such_module::*"));
    }

    #[test]
    fn every_test_that_the_documents_name_exists() {
        let sources = sources();
        let root = repository::root().unwrap();
        let mut missing = Vec::new();
        for document in DOCUMENTS {
            let text = fs::read_to_string(root.join(document)).unwrap();
            let tests = named(&text);
            assert!(tests.len() > 20, "{document} names {} tests", tests.len());
            for (of, name) in tests {
                if !exists(&sources, &format!("crates/{of}/"), &name) {
                    missing.push(format!("{document}: `{of}: {name}`"));
                }
            }
        }
        assert_eq!(missing, Vec::<String>::new());
    }

    /// The table of attacks names only tests that `cargo xtask attack` runs.
    #[test]
    fn every_test_in_the_table_of_attacks_is_run() {
        let root = repository::root().unwrap();
        let text = fs::read_to_string(root.join("SECURITY.md")).unwrap();
        let (_, table) = text.split_once("\n## The attacks\n").unwrap();
        let (table, _) = table.split_once("\n## ").unwrap();
        let tests = named(table);
        assert!(tests.len() > 20, "{}", tests.len());
        for (of, name) in tests {
            assert!(ATTACKS.iter().any(|part| name.contains(part)), "`{of}: {name}` is not run");
        }
    }
}
