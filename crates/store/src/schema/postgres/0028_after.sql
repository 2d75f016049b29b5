-- Frozen once applied: a change is a new migration.

-- The tasks that must be settled before this one, as a JSON list of ids; NULL: none. Few tasks have
-- any, and the index has only those.
ALTER TABLE todos ADD COLUMN after_ids TEXT COLLATE "C";
CREATE INDEX todos_chained ON todos (list_id) WHERE after_ids IS NOT NULL;
