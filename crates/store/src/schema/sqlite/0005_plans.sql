-- Frozen once applied: a change is a new migration.
-- Checks are spelled with OR: for IN, SQLite fills a temporary table at every insert.

-- Agents and what they say of themselves. The id is the plan design's: project and path.
CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    type TEXT,
    status TEXT NOT NULL
        CHECK (status = 'idle' OR status = 'busy' OR status = 'blocked' OR status = 'failed'
            OR status = 'complete' OR status = 'archived'),
    note TEXT,
    heartbeat_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX agents_by_path ON agents (project_id, path);

-- Who was given a task, when and by whom; no agent: it was taken away. The log has it already,
-- and taking work should not write it twice.
CREATE VIEW assignments AS
SELECT
    seq,
    json_extract(data, '$.todoId') AS todo_id,
    json_extract(data, '$.assignee') AS agent,
    actor AS assigned_by,
    at AS assigned_at
FROM events
WHERE type = 'todo_assigned';

-- The plan design's own columns and words; writing goes through operations only. What was
-- cancelled is as over as what was completed.
CREATE VIEW tasks AS
SELECT
    t.seq AS id,
    p.seq AS parent_id,
    l.scope_inner AS plan_file,
    r.name AS project,
    l.scope_outer AS branch,
    t.title AS content,
    r.name || '/' || t.assignee AS assigned_agent,
    strftime('%Y-%m-%dT%H:%M:%S', t.settled_at / 1000000, 'unixepoch')
        || printf('.%06dZ', t.settled_at % 1000000) AS completed_at,
    strftime('%Y-%m-%dT%H:%M:%S', t.created_at / 1000000, 'unixepoch')
        || printf('.%06dZ', t.created_at % 1000000) AS created_at,
    strftime('%Y-%m-%dT%H:%M:%S', t.updated_at / 1000000, 'unixepoch')
        || printf('.%06dZ', t.updated_at % 1000000) AS updated_at,
    t.position AS position
FROM todos AS t
JOIN lists AS l ON l.id = t.list_id
JOIN projects AS r ON r.id = l.project_id
LEFT JOIN todos AS p ON p.id = t.parent_id
WHERE l.kind = 'plan' AND t.removed_at IS NULL;
