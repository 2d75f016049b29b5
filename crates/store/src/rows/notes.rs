//! Notes on items: numbered per item, only ever added.

use punchlist_core::todo::Note;
use punchlist_core::{ListId, TodoId};

use super::{time, word};
use crate::{Error, Tx, sql};

impl Tx<'_> {
    pub fn insert_note(&mut self, note: &Note) -> Result<(), Error> {
        let todo = note.todo_id.to_string();
        self.write(
            sql!(
                "INSERT INTO todo_notes (todo_id, n, author, text, created_at) \
                 SELECT CAST($1 AS TEXT), coalesce(max(n), 0) + 1, CAST($2 AS TEXT), \
                 CAST($3 AS TEXT), CAST($4 AS BIGINT) FROM todo_notes WHERE todo_id = $1"
            ),
            &[(&todo).into(), (&note.author).into(), (&note.text).into(), note.at.micros().into()],
        )?;
        Ok(())
    }

    /// The notes of a whole list, in order for each item.
    pub fn notes_of_list(&mut self, list: ListId) -> Result<Vec<Note>, Error> {
        let list = list.to_string();
        self.query(
            sql!(
                "SELECT n.todo_id, n.author, n.text, n.created_at FROM todo_notes AS n \
                 JOIN todos AS t ON t.id = n.todo_id WHERE t.list_id = $1 \
                 ORDER BY n.todo_id, n.n"
            ),
            &[(&list).into()],
            |row| {
                let todo_id = word("todo id", row.str(0)?, TodoId::parse)?;
                let (author, text) = (row.text(1)?, row.text(2)?);
                Ok(Note { todo_id, author, text, at: time(row, 3)? })
            },
        )
    }

    /// The notes of an item, oldest first.
    pub fn notes(&mut self, todo_id: TodoId) -> Result<Vec<Note>, Error> {
        let todo = todo_id.to_string();
        self.query(
            sql!("SELECT author, text, created_at FROM todo_notes WHERE todo_id = $1 ORDER BY n"),
            &[(&todo).into()],
            |row| {
                let (author, text) = (row.text(0)?, row.text(1)?);
                Ok(Note { todo_id, author, text, at: time(row, 2)? })
            },
        )
    }
}
