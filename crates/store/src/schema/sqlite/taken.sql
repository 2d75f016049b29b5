-- Says of every assigned task what the log says: was it taken last, or assigned? Frozen as
-- migrations are.
UPDATE todos SET assigned_by_taking = 1 WHERE assignee IS NOT NULL AND id IN (
    SELECT todo_id FROM (
        SELECT
            json_extract(data, '$.todoId') AS todo_id, type,
            row_number() OVER (PARTITION BY json_extract(data, '$.todoId') ORDER BY seq DESC) AS n
        FROM events
        WHERE type = 'todo_assigned'
            OR (type = 'todo_taken' AND json_extract(data, '$.assignee') IS NOT NULL)
    ) AS last WHERE n = 1 AND type = 'todo_taken'
);
