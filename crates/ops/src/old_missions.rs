//! Converts the rows of an old mission file to the input of `mission_import`.
//!
//! The first program changed its tables more than once, so missing values are derived from others:
//! a slug from a name, a name from an id. Only a todo's status must be a known one.

use std::collections::BTreeMap;
use std::path::Path;

use punchlist_core::command::OldStatus;
use punchlist_core::mission::slug_of;
use punchlist_core::todo::Priority;
use punchlist_store::care::old_missions::{OldMissions, OldRow, read};
use serde_json::{Map, Value, json};

use crate::Error;
use crate::explain::Fault;

/// Reads a file. `mission` selects one of its missions, or renames the only one.
pub fn input(file: &Path, mission: Option<&str>) -> Result<Value, Error> {
    let found = read(file)?;
    let Some(todos) = &found.todos else {
        let (path, found) = ("FILE".to_owned(), "a database without a table mission_todos".into());
        let expected = "a SQLite file with the tables missions, pillars and mission_todos".into();
        return Err(Fault::BadValue { path, found, expected }.into());
    };
    let mut missions = Missions::of(&found);
    for row in todos {
        missions.add(row)?;
    }
    missions.input(mission)
}

#[derive(Default)]
struct Missions {
    /// By old id, in the order of the file.
    all: Vec<(String, Entry)>,
    /// The mission of each pillar, by the pillar's old id.
    pillars: BTreeMap<String, String>,
}

struct Entry {
    fields: Map<String, Value>,
    slug: String,
    pillars: Vec<(String, Map<String, Value>, Vec<Value>)>,
}

impl Missions {
    fn of(found: &OldMissions) -> Self {
        let mut missions = Self::default();
        for row in &found.missions {
            let id = text(row, "id").unwrap_or_default();
            let mut fields = named(row, &id);
            let todo = limits(row);
            fields.extend((!todo.is_empty()).then(|| ("todo".to_owned(), Value::Object(todo))));
            missions.all.push((id, Entry::new(fields)));
        }
        for row in &found.pillars {
            let (id, mission) = (text(row, "id").unwrap_or_default(), text(row, "missionid"));
            let mission = mission.unwrap_or_default();
            let pillar = named(row, &id);
            missions.entry(&mission).pillars.push((id.clone(), pillar, Vec::new()));
            missions.pillars.insert(id, mission);
        }
        missions
    }

    /// The mission with an old id. If no table describes it, the id is its name.
    fn entry(&mut self, id: &str) -> &mut Entry {
        let at = self.all.iter().position(|(known, _)| known == id).unwrap_or_else(|| {
            let fields = named(&OldRow::new(), if id.is_empty() { "imported" } else { id });
            self.all.push((id.to_owned(), Entry::new(fields)));
            self.all.len() - 1
        });
        &mut self.all[at].1
    }

    fn add(&mut self, row: &OldRow) -> Result<(), Error> {
        let item = item(row)?;
        let pillar = text(row, "pillarid").unwrap_or_default();
        let mission = text(row, "missionid").or_else(|| self.pillars.get(&pillar).cloned());
        let entry = self.entry(&mission.unwrap_or_default());
        let at = entry.pillars.iter().position(|(id, ..)| *id == pillar).unwrap_or_else(|| {
            let called = if pillar.is_empty() { "imported" } else { &pillar };
            entry.pillars.push((pillar.clone(), named(&OldRow::new(), called), Vec::new()));
            entry.pillars.len() - 1
        });
        entry.pillars[at].2.push(item);
        Ok(())
    }

    fn input(mut self, wanted: Option<&str>) -> Result<Value, Error> {
        // Pillars without a mission are imported only if they have todos.
        let holds = |entry: &Entry| entry.pillars.iter().any(|(_, _, todos)| !todos.is_empty());
        self.all.retain(|(id, entry)| !id.is_empty() || holds(entry));
        if let Some(wanted) = wanted {
            if let [(_, only)] = &mut self.all[..] {
                only.fields.insert("slug".to_owned(), wanted.into());
            } else {
                let slugs: Vec<String> = self.all.iter().map(|(_, e)| e.slug.clone()).collect();
                self.all.retain(|(_, entry)| entry.slug == wanted);
                if self.all.is_empty() {
                    let (path, found) = ("mission".to_owned(), format!("`{wanted}`"));
                    let expected = format!("one that the file holds: {}", slugs.join(", "));
                    return Err(Fault::BadValue { path, found, expected }.into());
                }
            }
        }
        let missions = self.all.into_iter().map(|(_, mut entry)| {
            let pillars = entry.pillars.into_iter().map(|(_, mut pillar, todos)| {
                pillar.insert("todos".to_owned(), todos.into());
                Value::Object(pillar)
            });
            entry.fields.insert("pillars".to_owned(), pillars.collect());
            Value::Object(entry.fields)
        });
        Ok(json!({ "missions": missions.collect::<Vec<_>>() }))
    }
}

impl Entry {
    fn new(fields: Map<String, Value>) -> Self {
        let slug = fields["slug"].as_str().unwrap_or_default().to_owned();
        Self { fields, slug, pillars: Vec::new() }
    }
}

fn text(row: &OldRow, column: &str) -> Option<String> {
    row.get(column).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The contents of the column `jsonConfig`, if it exists and parses.
fn config(row: &OldRow) -> Value {
    let config = row.get("jsonconfig").and_then(|text| serde_json::from_str(text).ok());
    config.unwrap_or_default()
}

/// Name, slug and description of a mission or pillar, from its columns or its `jsonConfig`.
fn named(row: &OldRow, id: &str) -> Map<String, Value> {
    let config = config(row);
    let said = |name: &str| {
        let configured =
            || config[name].as_str().map(str::to_owned).filter(|s| !s.trim().is_empty());
        text(row, name).or_else(configured)
    };
    let name = said("name").or_else(|| said("title")).or_else(|| said("slug"));
    let name = name.unwrap_or_else(|| id.to_owned());
    let slug = said("slug").or_else(|| Some(name.clone())).and_then(|slug| slug_of(&slug));
    let slug = slug.or_else(|| slug_of(id)).unwrap_or_else(|| "imported".to_owned());
    let mut fields = Map::new();
    fields.insert("name".to_owned(), name.into());
    fields.insert("slug".to_owned(), slug.into());
    fields.extend(said("description").map(|said| ("description".to_owned(), said.into())));
    fields
}

/// The limits of a mission, which are in its `jsonConfig` (M-4).
fn limits(row: &OldRow) -> Map<String, Value> {
    let config = config(row);
    let said = |name: &str| {
        let limit = config["todo"][name].as_u64().filter(|limit| *limit <= u64::from(u32::MAX));
        limit.map(|limit| (name.to_owned(), limit.into()))
    };
    ["activeTodoLimit", "backlogTodoLimit"].into_iter().filter_map(said).collect()
}

fn item(row: &OldRow) -> Result<Value, Error> {
    let id = text(row, "id").unwrap_or_default();
    let at = |column: &str| format!("mission_todos[{id}].{column}");
    let missing = |column: &str| Error::from(Fault::MissingField { path: at(column) });
    if id.is_empty() {
        return Err(missing("id"));
    }
    let mut item = Map::new();
    item.insert("title".to_owned(), text(row, "title").ok_or_else(|| missing("title"))?.into());
    for field in [
        "description",
        "justification",
        "completionCriteria",
        "deadline",
        "assignedAgent",
        "outcome",
        "createdAt",
        "startedAt",
        "completedAt",
    ] {
        let said = text(row, &field.to_ascii_lowercase());
        item.extend(said.map(|said| (field.to_owned(), said.into())));
    }
    let one_of = |column: &str, said: &str, names: &[&str]| {
        let found = format!("`{}`", said.chars().take(60).collect::<String>());
        Error::from(Fault::BadValue { path: at(column), found, expected: names.join(", ") })
    };
    let status = text(row, "status").unwrap_or_else(|| "pending".to_owned());
    if OldStatus::parse(&status).is_none() {
        return Err(one_of("status", &status, &OldStatus::ALL.map(OldStatus::name)));
    }
    item.insert("status".to_owned(), status.into());
    if let Some(priority) = text(row, "priority") {
        if Priority::parse(&priority).is_none() {
            return Err(one_of("priority", &priority, &Priority::ALL.map(Priority::name)));
        }
        item.insert("priority".to_owned(), priority.into());
    }
    item.insert("externalId".to_owned(), id.clone().into());
    Ok(Value::Object(item))
}
