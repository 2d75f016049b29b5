-- Frozen once applied: a change is a new migration.

-- The project that this one was merged into, and that has its work; the row stays, because its log
-- does and its name and place must not make a new project.
ALTER TABLE projects ADD COLUMN merged_into TEXT;
