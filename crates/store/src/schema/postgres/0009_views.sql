-- Frozen once applied: a change is a new migration.

-- Taking a task gives it to somebody too, and is one event.
DROP VIEW assignments;
CREATE VIEW assignments AS
SELECT
    seq,
    data::json ->> 'todoId' AS todo_id,
    data::json ->> 'assignee' AS agent,
    actor AS assigned_by,
    at AS assigned_at
FROM events
WHERE type = 'todo_assigned' OR (type = 'todo_taken' AND data::json ->> 'assignee' IS NOT NULL);
