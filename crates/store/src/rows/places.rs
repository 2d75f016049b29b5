//! The position of an item in its tree: its key in pre-order, and the few rows that determine the
//! current task of a tree.
//!
//! A key is the parent's key, a `/` and the item's own word, so that keys sort in reading order and
//! the items below another are a range. The word contains the position and, because two items may
//! share one, the number. Each number is preceded by its digit count, so that words sort like
//! numbers. Keys are derived from the rest of the row: they are not facts, exports leave them out,
//! and `punch doctor` can rebuild them.

use std::collections::BTreeMap;

use punchlist_core::{ListId, Todo, TodoId};

use super::todos::{self, columns};
use super::word;
use crate::sql::Value;
use crate::{Dialect, Error, Tx, sql};

/// Larger positions are treated as this one.
const FAR: i64 = 999_999_999_999_999_999;

/// A range that contains every key.
const WHOLE: (&str, &str) = ("", "~");

/// An item's own word in its key.
pub(super) fn own_word(todo: &Todo) -> String {
    let place = ordered(todo.position.clamp(-FAR, FAR));
    match todo.seq {
        Some(seq) => place + &ordered(seq.clamp(-FAR, FAR)),
        None => format!("{place}z{}", todo.id),
    }
}

/// A number as a text that sorts like numbers: the number of digits as a letter, then the digits. A
/// negative number uses its complement to the next power of ten.
fn ordered(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let letter = |first: u8, count: usize| char::from(first.saturating_add(count as u8));
    if number >= 0 {
        return format!("{}{digits}", letter(b'`', digits.len()));
    }
    let missing: String = digits.bytes().map(|digit| char::from(b'9' - (digit - b'0'))).collect();
    format!("{}{missing}", char::from(b'Z' - digits.len() as u8))
}

/// The keys of the items of one list. An item without a known parent is at the top level.
pub(crate) fn keys(todos: &BTreeMap<TodoId, Todo>) -> BTreeMap<TodoId, String> {
    let mut keys: BTreeMap<TodoId, String> = BTreeMap::new();
    for start in todos.values() {
        // Walk up to an item that has a key, then down again.
        let mut way: Vec<&Todo> = Vec::new();
        let mut next = Some(start);
        while let Some(todo) = next.filter(|todo| !keys.contains_key(&todo.id)) {
            // A cycle can only come from outside; it must not loop forever.
            if way.len() > todos.len() {
                return keys;
            }
            way.push(todo);
            next = todo.parent_id.and_then(|parent| todos.get(&parent));
        }
        for todo in way.into_iter().rev() {
            let above = todo.parent_id.and_then(|parent| keys.get(&parent));
            let key = match above {
                Some(above) => format!("{above}/{}", own_word(todo)),
                None => own_word(todo),
            };
            keys.insert(todo.id, key);
        }
    }
    keys
}

/// Is an item among its own ancestors?
fn hangs_in_a_circle(todos: &BTreeMap<TodoId, Todo>) -> bool {
    todos.values().any(|todo| {
        let up = |todo: &&Todo| todo.parent_id.and_then(|parent| todos.get(&parent));
        std::iter::successors(Some(todo), up).nth(todos.len()).is_some()
    })
}

/// The first open item of a list with a key in a range.
macro_rules! first_open {
    () => {
        concat!(
            "SELECT id, tree_key FROM (SELECT id, tree_key FROM todos WHERE list_id = $1 \
             AND status = 'pending' AND tree_key >= $2 AND tree_key < $3 \
             ORDER BY tree_key LIMIT 1) AS pending \
             UNION ALL SELECT id, tree_key FROM (SELECT id, tree_key FROM todos \
             WHERE list_id = $1 AND status = 'in_progress' AND tree_key >= $2 AND tree_key < $3 \
             ORDER BY tree_key LIMIT 1) AS in_progress \
             UNION ALL SELECT id, tree_key FROM (SELECT id, tree_key FROM todos \
             WHERE list_id = $1 AND status = 'backlog' AND tree_key >= $2 AND tree_key < $3 \
             ORDER BY tree_key LIMIT 1) AS backlog \
             ORDER BY tree_key LIMIT 1"
        )
    };
}

/// The deepest item that is assigned; of equally deep ones, the first.
macro_rules! deepest_active {
    () => {
        "SELECT tree_key FROM todos WHERE list_id = $1 AND status = 'in_progress' \
         AND tree_key IS NOT NULL \
         ORDER BY length(tree_key) - length(replace(tree_key, '/', '')) DESC, tree_key LIMIT 1"
    };
}

impl Tx<'_> {
    /// The rows that determine the current task of a tree: the open items before it in the active
    /// part, all their ancestors, and one item below it. They are found by key, so the cost does
    /// not depend on the length of the list.
    pub(super) fn standing(&mut self, list: ListId) -> Result<BTreeMap<TodoId, Todo>, Error> {
        let id = list.to_string();
        let active = self.first(sql!(deepest_active!()), &[(&id).into()], |row| row.text(0))?;
        let mut range = match active {
            Some(key) => (key.clone(), key + "0"),
            None => (WHOLE.0.to_owned(), WHOLE.1.to_owned()),
        };
        let mut found: BTreeMap<TodoId, Todo> = BTreeMap::new();
        let mut last = None;
        // An open item is not the current one while an item below it is open.
        while let Some((open, key)) = self.first_open(&id, &range)? {
            self.with_all_above(list, open, &mut found)?;
            last = Some(open);
            range = (format!("{key}/"), format!("{key}0"));
        }
        let other = match last {
            // Shows whether it is a leaf, or all items below it are settled.
            Some(open) => self.first(
                sql!(
                    "SELECT ",
                    columns!(),
                    " FROM todos WHERE parent_id = $1 AND removed_at IS NULL LIMIT 1"
                ),
                &[(&open.to_string()).into()],
                todos::read,
            ),
            // Shows whether the list is empty, or has only settled items.
            None => self.first(
                sql!(
                    "SELECT ",
                    columns!(),
                    " FROM todos WHERE list_id = $1 AND removed_at IS NULL LIMIT 1"
                ),
                &[(&id).into()],
                todos::read,
            ),
        }?;
        found.extend(other.map(|todo| (todo.id, todo)));
        if hangs_in_a_circle(&found) {
            // Keys are wrong in a tree with a cycle, so load the whole list.
            return self.todos_by_id(list);
        }
        Ok(found)
    }

    fn first_open(
        &mut self,
        list: &str,
        (first, end): &(String, String),
    ) -> Result<Option<(TodoId, String)>, Error> {
        self.first(sql!(first_open!()), &[list.into(), first.into(), end.into()], |row| {
            Ok((word("todo id", row.str(0)?, TodoId::parse)?, row.text(1)?))
        })
    }

    /// Adds an item and its ancestors that are still missing.
    fn with_all_above(
        &mut self,
        list: ListId,
        id: TodoId,
        found: &mut BTreeMap<TodoId, Todo>,
    ) -> Result<(), Error> {
        let mut next = Some(id);
        while let Some(id) = next.filter(|id| !found.contains_key(id)) {
            let Some(todo) = self.todo(list, id)? else { break };
            next = todo.parent_id;
            found.insert(id, todo);
        }
        Ok(())
    }

    /// Updates the keys of a moved item and of the items below it.
    pub(super) fn place_again(&mut self, todo: &Todo) -> Result<(), Error> {
        let (list, id) = (todo.list_id.to_string(), todo.id.to_string());
        let keys = sql!(
            "SELECT t.tree_key, p.tree_key FROM todos AS t \
             LEFT JOIN todos AS p ON p.id = t.parent_id WHERE t.id = $1"
        );
        let found =
            self.first(keys, &[(&id).into()], |row| Ok((row.opt_text(0)?, row.opt_text(1)?)))?;
        let Some((old, above)) = found else { return Ok(()) };
        let new = above.map_or_else(String::new, |above| above + "/") + &own_word(todo);
        if old.as_deref() == Some(&new) {
            return Ok(());
        }
        if let Some(old) = old {
            // The part of each key after the old prefix stays the same.
            let (rest, first, end) = (old.len() as i64 + 1, format!("{old}/"), format!("{old}0"));
            let below = sql!(
                "UPDATE todos SET tree_key = $2 || substr(tree_key, CAST(CAST($3 AS BIGINT) AS INTEGER)) \
                 WHERE list_id = $1 AND status IN ('backlog', 'pending', 'in_progress', \
                 'completed', 'cancelled') AND tree_key >= $4 AND tree_key < $5"
            );
            let values: [Value<'_>; 5] =
                [(&list).into(), (&new).into(), rest.into(), (&first).into(), (&end).into()];
            self.write(below, &values)?;
        }
        self.write(
            sql!("UPDATE todos SET tree_key = $2 WHERE id = $1"),
            &[(&id).into(), (&new).into()],
        )
    }

    /// Computes the missing keys of all tasks in the store.
    pub(crate) fn fill_keys(&mut self) -> Result<(), Error> {
        self.migrate(match self.dialect() {
            Dialect::Sqlite => include_str!("../schema/sqlite/tree_keys.sql"),
            Dialect::Postgres => include_str!("../schema/postgres/tree_keys.sql"),
        })
    }

    /// Fills in which assignments were made by taking, as the log says. Exports from before that
    /// column lack it.
    pub(crate) fn fill_taken(&mut self) -> Result<(), Error> {
        self.migrate(match self.dialect() {
            Dialect::Sqlite => include_str!("../schema/sqlite/taken.sql"),
            Dialect::Postgres => include_str!("../schema/postgres/taken.sql"),
        })
    }

    /// The stored keys of a list.
    pub(crate) fn stored_keys(
        &mut self,
        list: ListId,
    ) -> Result<BTreeMap<TodoId, Option<String>>, Error> {
        let list = list.to_string();
        let keys = self.query(
            sql!("SELECT id, tree_key FROM todos WHERE list_id = $1"),
            &[(&list).into()],
            |row| Ok((word("todo id", row.str(0)?, TodoId::parse)?, row.opt_text(1)?)),
        )?;
        Ok(keys.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Store, Target};

    /// D-12: the current task is found with an index, however long the plan is.
    #[test]
    fn the_current_task_is_found_through_an_index() {
        let store = Store::open(&Target::Memory, Options::default()).unwrap();
        for (statement, values) in [
            (sql!("EXPLAIN QUERY PLAN ", first_open!()), 3),
            (sql!("EXPLAIN QUERY PLAN ", deepest_active!()), 1),
        ] {
            let values = vec![Value::Text("a"); values];
            let steps =
                store.read(move |tx| tx.query(statement, &values, |row| row.text(3))).unwrap();
            let looks: Vec<&String> = steps.iter().filter(|step| step.contains("todos")).collect();
            assert!(!looks.is_empty(), "{steps:?}");
            let by_index = |step: &&String| {
                step.starts_with(
                    "SEARCH todos USING COVERING INDEX todos_by_list (list_id=? AND status=?",
                )
            };
            assert!(looks.iter().all(by_index), "{steps:?}");
            assert!(!steps.iter().any(|step| step.starts_with("SCAN todos")), "{steps:?}");
        }
    }

    #[test]
    fn numbers_as_text_sort_as_numbers() {
        let mut numbers = vec![0, 1, 9, 10, 11, 99, 100, 12_345, FAR, -1, -9, -10, -11, -100, -FAR];
        numbers.sort_unstable();
        let texts: Vec<String> = numbers.iter().map(|number| ordered(*number)).collect();
        let mut sorted = texts.clone();
        sorted.sort_unstable();
        assert_eq!(texts, sorted);
        assert!(texts.iter().all(|text| WHOLE.0 < text.as_str() && text.as_str() < WHOLE.1));
    }
}
