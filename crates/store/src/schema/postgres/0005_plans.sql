-- Frozen once applied: a change is a new migration.

-- Agents and what they say of themselves. The id is the plan design's: project and path.
CREATE TABLE agents (
    id TEXT COLLATE "C" PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    path TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL
        CHECK (status IN ('idle', 'busy', 'blocked', 'failed', 'complete', 'archived')),
    note TEXT COLLATE "C",
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
    data::json ->> 'todoId' AS todo_id,
    data::json ->> 'assignee' AS agent,
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
    to_char(to_timestamp(t.settled_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
        || '.' || lpad((t.settled_at % 1000000)::text, 6, '0') || 'Z' AS completed_at,
    to_char(to_timestamp(t.created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
        || '.' || lpad((t.created_at % 1000000)::text, 6, '0') || 'Z' AS created_at,
    to_char(to_timestamp(t.updated_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
        || '.' || lpad((t.updated_at % 1000000)::text, 6, '0') || 'Z' AS updated_at,
    t.position AS position
FROM todos AS t
JOIN lists AS l ON l.id = t.list_id
JOIN projects AS r ON r.id = l.project_id
LEFT JOIN todos AS p ON p.id = t.parent_id
WHERE l.kind = 'plan' AND t.removed_at IS NULL;
