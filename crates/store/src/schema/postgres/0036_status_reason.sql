-- Frozen once applied: a change is a new migration.

-- What was said when an issue's status last changed.
ALTER TABLE issues ADD COLUMN status_reason TEXT COLLATE "C";
