//! Checks the invariant of the whole store: folding the log gives the tables.
//!
//! The log is read in the order of its aggregates, so that only one list or issue is in memory at a
//! time. A merge of projects is one event about many aggregates, so merges are read first, and each
//! aggregate is moved when it is compared (ADR 0032). Leases, the outbox, stored answers and
//! everything else without events are not checked.

mod missions;

use std::collections::BTreeMap;

use punchlist_core::delegation::apply_delegation;
use punchlist_core::gate::apply_gate;
use punchlist_core::issue::{IssueUpdate, Link, apply_issue};
use punchlist_core::policy::policy;
use punchlist_core::project::Merges;
use punchlist_core::run::apply_run;
use punchlist_core::session::apply_session;
use punchlist_core::text::counted;
use punchlist_core::todo::Note;
use punchlist_core::{
    Delegation, Event, Gate, Issue, ListId, Run, Session, Snapshot, Todo, TodoId, apply,
};
use serde::Serialize;
use serde_json::Value;

use self::missions::MissionFold;
use super::doctor::{Check, named};
use crate::rows::lists::Lock;
use crate::rows::places;
use crate::{Error, Recorded, Tx};

/// How many differences are reported; more would add nothing.
const DIFFERENCES_MAX: usize = 100;

pub(super) fn check(tx: &mut Tx<'_>) -> Result<Check, Error> {
    let mut fold = Fold { merges: merges(tx)?, ..Fold::default() };
    fold.compare_merges(tx)?;
    tx.each_event(&mut |tx, event| fold.take(tx, &event))?;
    fold.close(tx)?;
    for list in tx.lists_without_events()? {
        fold.differs(format!("list {list} is in the tables, but not in the log"));
    }
    for mission in tx.missions_without_events()? {
        fold.differs(format!("mission {mission} is in the tables, but not in the log"));
    }
    let Fold { lists, issues, missions, todos, events, differences, .. } = fold;
    if differences.is_empty() {
        let counted = [
            counted(issues, "issue", "issues"),
            counted(missions, "mission", "missions"),
            counted(lists, "list", "lists"),
            counted(todos, "todo", "todos"),
            counted(events, "event", "events"),
        ];
        let detail = format!("the log gives the tables: {}", counted.join(", "));
        return Ok(Check::good("fold", detail));
    }
    let detail = format!("the tables differ from the log: {}", named(&differences));
    let hint = "the log is the truth: put a backup back with `punch restore FILE`, and report how \
                it came about";
    Ok(Check::bad("fold", detail, hint))
}

/// The merges of the log. Those that cannot be decoded are reported with the other events.
fn merges(tx: &mut Tx<'_>) -> Result<Merges, Error> {
    let mut merges = Merges::default();
    for recorded in tx.merges()? {
        if let Ok(Some(Event::ProjectMerged(merged))) = recorded.event() {
            merges.take(&merged);
        }
    }
    Ok(merges)
}

/// The state of the fold, and the aggregate that is being folded.
#[derive(Default)]
struct Fold {
    merges: Merges,
    aggregate: String,
    open: Option<Snapshot>,
    issue: Option<Issue>,
    /// The updates and links of the issue, according to the log.
    updates: Vec<IssueUpdate>,
    links: Vec<Link>,
    session: Option<Session>,
    gate: Option<Gate>,
    delegation: Option<Delegation>,
    run: Option<Run>,
    mission: MissionFold,
    lists: u64,
    issues: u64,
    missions: u64,
    todos: u64,
    events: u64,
    differences: Vec<String>,
}

impl Fold {
    fn differs(&mut self, what: String) {
        if self.differences.len() < DIFFERENCES_MAX {
            self.differences.push(what);
        }
    }

    /// Compares which projects were merged.
    fn compare_merges(&mut self, tx: &mut Tx<'_>) -> Result<(), Error> {
        let rows: BTreeMap<_, _> = tx.merged_projects()?.into_iter().collect();
        if rows != *self.merges.projects() {
            self.differs("the merged projects are not those of the log".to_owned());
        }
        Ok(())
    }

    fn take(&mut self, tx: &mut Tx<'_>, recorded: &Recorded) -> Result<(), Error> {
        self.events += 1;
        if recorded.aggregate != self.aggregate {
            self.close(tx)?;
            self.aggregate.clone_from(&recorded.aggregate);
            self.open = self.list_of(tx, &recorded.aggregate)?;
        }
        let event = match recorded.event() {
            Ok(Some(event)) => event,
            // An event type of a newer version, which the schema check reports.
            Ok(None) => return Ok(()),
            Err(error) => {
                let (seq, kind) = (recorded.seq, &recorded.type_name);
                self.differs(format!("event {seq} ({kind}) cannot be decoded: {}", error.detail));
                return Ok(());
            }
        };
        if let (None, Event::ListOpened(opened)) = (&self.open, &event) {
            self.differs(format!("list {} is in the log, but not in the tables", opened.list.id));
            self.open = Some(Snapshot::empty(opened.list.clone()));
        }
        match &mut self.open {
            Some(snapshot) => {
                apply(snapshot, &event, recorded.at);
            }
            None => self.apart(&event, recorded),
        }
        Ok(())
    }

    /// Folds an event of an aggregate that is not a list. Each event belongs to one of them.
    fn apart(&mut self, event: &Event, recorded: &Recorded) {
        apply_issue(&mut self.issue, event, recorded.at);
        apply_session(&mut self.session, event, recorded.at);
        apply_gate(&mut self.gate, event, recorded.at);
        apply_delegation(&mut self.delegation, event, recorded.at);
        apply_run(&mut self.run, event, recorded.at);
        self.mission.take(event, recorded);
        match event {
            Event::IssueUpdated(e) => self.updates.push(e.update.clone()),
            Event::IssueLinked(e) => self.links.push(e.link.clone()),
            Event::IssueUnlinked(e) => self.links.retain(|link| link.id != e.link_id),
            _ => {}
        }
    }

    /// The snapshot to fold into. `None` for projects and other aggregates that are not lists.
    fn list_of(&mut self, tx: &mut Tx<'_>, id: &str) -> Result<Option<Snapshot>, Error> {
        match ListId::parse(id) {
            Some(id) => Ok(tx.list_by_id(id)?.map(Snapshot::empty)),
            None => Ok(None),
        }
    }

    /// Compares the folded list or issue with its rows.
    fn close(&mut self, tx: &mut Tx<'_>) -> Result<(), Error> {
        if let Some(mut folded) = self.issue.take() {
            self.issues += 1;
            self.merges.follow(&mut folded);
            let number = folded.number;
            match tx.issue(folded.project_id, number, Lock::No)? {
                Some(row) if row == folded => {}
                Some(_) => self.differs(format!("issue #{number} is not as the log says")),
                None => {
                    self.differs(format!("issue #{number} is in the log, but not in the tables"));
                }
            }
            // Rows and log may be in a different order if transactions overlapped.
            let mut updates = std::mem::take(&mut self.updates);
            updates.sort_unstable_by_key(|update| update.id);
            let mut rows = tx.updates(folded.id)?;
            rows.sort_unstable_by_key(|update| update.id);
            if rows != updates {
                self.differs(format!("the ledger of issue #{number} is not as the log says"));
            }
            let mut links = std::mem::take(&mut self.links);
            links.sort_unstable_by_key(|link| link.id);
            links.iter_mut().for_each(|link| link.project_id = self.merges.home(link.project_id));
            if tx.links_from(folded.id)? != links {
                self.differs(format!("the links of issue #{number} are not as the log says"));
            }
        }
        self.close_apart(tx)?;
        let Some(mut folded) = self.open.take() else {
            return Ok(());
        };
        folded.list.project_id = self.merges.home(folded.list.project_id);
        self.lists += 1;
        self.todos += folded.todos.len() as u64;
        let id = folded.list.id;
        match tx.list_by_id(id)? {
            Some(row) if row != folded.list => {
                self.differs(format!("list {id} is not the one the log opened"));
            }
            _ => {}
        }
        match tx.todos(id) {
            Ok(rows) => self.compare_todos(&folded.todos, rows),
            Err(error) => self.differs(format!("rows of list {id} do not read: {}", error.detail)),
        }
        if policy(folded.list.kind()).nests {
            self.compare_places(tx, id, &folded.todos)?;
        }
        let mut notes = folded.notes;
        let key = |note: &Note| (note.todo_id, note.at, note.author.clone(), note.text.clone());
        notes.sort_unstable_by_key(key);
        let mut rows = tx.notes_of_list(id)?;
        rows.sort_unstable_by_key(key);
        if notes != rows {
            let (log, tables) = (notes.len(), rows.len());
            self.differs(format!("list {id} has {tables} notes that are not the {log} of the log"));
        }
        Ok(())
    }

    /// Compares the folded mission, session, gate, delegation or run with its row.
    fn close_apart(&mut self, tx: &mut Tx<'_>) -> Result<(), Error> {
        if let Some(differences) = self.mission.close(tx, &self.merges)? {
            self.missions += 1;
            for what in differences {
                self.differs(what);
            }
        }
        if let Some(mut folded) = self.session.take() {
            folded.project_id = self.merges.home(folded.project_id);
            if tx.session_by_id(folded.id)?.as_ref() != Some(&folded) {
                self.differs(format!("session {} is not as the log says", folded.id));
            }
        }
        if let Some(mut folded) = self.gate.take() {
            folded.project_id = self.merges.home(folded.project_id);
            if tx.gate(folded.project_id, folded.id, Lock::No)?.as_ref() != Some(&folded) {
                self.differs(format!("gate {} is not as the log says", folded.id));
            }
        }
        if let Some(mut folded) = self.delegation.take() {
            folded.project_id = self.merges.home(folded.project_id);
            let row = tx.delegation(folded.project_id, folded.id, Lock::No)?;
            if row.map(|(row, _)| row).as_ref() != Some(&folded) {
                self.differs(format!("delegation {} is not as the log says", folded.id));
            }
        }
        if let Some(mut folded) = self.run.take() {
            folded.project_id = self.merges.home(folded.project_id);
            let row = tx.run(folded.project_id, folded.id, Lock::No)?;
            if row.map(|(row, _)| row).as_ref() != Some(&folded) {
                self.differs(format!("run {} is not as the log says", folded.id));
            }
        }
        Ok(())
    }

    /// Rebuilds the keys that order tasks in their tree, and compares them with the stored ones.
    fn compare_places(
        &mut self,
        tx: &mut Tx<'_>,
        list: ListId,
        folded: &BTreeMap<TodoId, Todo>,
    ) -> Result<(), Error> {
        let stored = tx.stored_keys(list)?;
        for (id, key) in places::keys(folded) {
            match stored.get(&id) {
                Some(Some(found)) if *found == key => {}
                // A missing row is reported elsewhere.
                None => {}
                Some(found) => {
                    let found = found.as_deref().unwrap_or("nothing");
                    self.differs(format!("todo {id}: its place is {found}, the log says {key}"));
                }
            }
        }
        Ok(())
    }

    fn compare_todos(&mut self, folded: &BTreeMap<TodoId, Todo>, rows: Vec<Todo>) {
        let rows: BTreeMap<TodoId, Todo> = rows.into_iter().map(|todo| (todo.id, todo)).collect();
        for (id, todo) in folded {
            match rows.get(id) {
                None => self.differs(format!("todo {id} is in the log, but not in the tables")),
                Some(row) if row == todo => {}
                Some(row) => {
                    for what in fields(&format!("todo {id}"), row, todo) {
                        self.differs(what);
                    }
                }
            }
        }
        for id in rows.keys().filter(|id| !folded.contains_key(id)) {
            self.differs(format!("todo {id} is in the tables, but not in the log"));
        }
    }
}

/// The fields that differ, with both values.
fn fields<T: Serialize>(named: &str, row: &T, folded: &T) -> Vec<String> {
    let (row, folded) = (serde_json::to_value(row), serde_json::to_value(folded));
    let (Ok(Value::Object(row)), Ok(Value::Object(folded))) = (row, folded) else {
        return vec![format!("{named} differs")];
    };
    let differ = row.iter().filter(|(name, value)| folded.get(*name) != Some(value));
    differ
        .map(|(name, value)| {
            let said = folded.get(name).map_or("nothing".to_owned(), short);
            format!("{named}: {name} is {}, the log says {said}", short(value))
        })
        .collect()
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
