-- Frozen once applied: a change is a new migration.

-- When a list was put away with all its items; purged items leave their highest number behind, so
-- that none comes twice.
ALTER TABLE lists ADD COLUMN archived_at BIGINT;
ALTER TABLE lists ADD COLUMN last_seq BIGINT;
CREATE INDEX lists_by_archive ON lists (project_id, archived_at) WHERE archived_at IS NOT NULL;
CREATE INDEX lists_by_last_seq ON lists (last_seq) WHERE last_seq IS NOT NULL;

-- The same view as before, without what was put away.
DROP VIEW tasks;
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
WHERE l.kind = 'plan' AND t.removed_at IS NULL AND l.archived_at IS NULL;
