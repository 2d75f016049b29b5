-- Frozen once applied: a change is a new migration. What fills the column stands beside this.

-- The place of a task in its plan, as the plan is read from top to bottom; no other list has it.
ALTER TABLE todos ADD COLUMN tree_key TEXT;
DROP INDEX todos_by_list;
CREATE INDEX todos_by_list ON todos (list_id, status, tree_key, position, id);
