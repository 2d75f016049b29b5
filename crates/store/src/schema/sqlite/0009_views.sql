-- Frozen once applied: a change is a new migration.

-- Taking a task gives it to somebody too, and is one event.
DROP VIEW assignments;
CREATE VIEW assignments AS
SELECT
    seq,
    json_extract(data, '$.todoId') AS todo_id,
    json_extract(data, '$.assignee') AS agent,
    actor AS assigned_by,
    at AS assigned_at
FROM events
WHERE type = 'todo_assigned' OR (type = 'todo_taken' AND json_extract(data, '$.assignee') IS NOT NULL);

-- The times of items as people read them, said once: SQLite reads the text of every view each time
-- a process opens the file.
CREATE VIEW todo_times AS
SELECT
    id AS todo_id,
    strftime('%Y-%m-%dT%H:%M:%S', created_at / 1000000, 'unixepoch')
        || printf('.%06dZ', created_at % 1000000) AS created,
    strftime('%Y-%m-%dT%H:%M:%S', updated_at / 1000000, 'unixepoch')
        || printf('.%06dZ', updated_at % 1000000) AS updated,
    strftime('%Y-%m-%dT%H:%M:%S', started_at / 1000000, 'unixepoch')
        || printf('.%06dZ', started_at % 1000000) AS started,
    strftime('%Y-%m-%dT%H:%M:%S', settled_at / 1000000, 'unixepoch')
        || printf('.%06dZ', settled_at % 1000000) AS settled
FROM todos;

DROP VIEW turn_todos;
CREATE VIEW turn_todos AS
SELECT
    t.id AS id,
    l.scope_outer AS conversationId,
    l.scope_inner AS turnId,
    t.title AS title,
    t.description AS context,
    t.completion_criteria AS completionCriteria,
    t.agent_type AS agentType,
    t.status AS status,
    t.position AS priority,
    t.outcome AS outcome,
    s.created AS createdAt,
    s.started AS startedAt,
    s.settled AS completedAt
FROM todos AS t
JOIN todo_times AS s ON s.todo_id = t.id
JOIN lists AS l ON l.id = t.list_id
WHERE l.kind = 'turn';

DROP VIEW issue_todos;
CREATE VIEW issue_todos AS
SELECT
    t.id AS id,
    l.scope_outer AS issue_id,
    t.title AS content,
    CASE t.status WHEN 'cancelled' THEN 'abandoned' ELSE t.status END AS status,
    t.kind AS kind,
    t.origin_agent AS origin_agent,
    t.phase AS phase,
    t.position AS position,
    (SELECT json_group_array(n.text) FROM
        (SELECT text FROM todo_notes WHERE todo_id = t.id ORDER BY n) AS n) AS notes,
    s.created AS created_at,
    s.updated AS updated_at,
    s.settled AS completed_at
FROM todos AS t
JOIN todo_times AS s ON s.todo_id = t.id
JOIN lists AS l ON l.id = t.list_id
WHERE l.kind = 'issue' AND t.removed_at IS NULL;

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
    s.settled AS completed_at,
    s.created AS created_at,
    s.updated AS updated_at,
    t.position AS position
FROM todos AS t
JOIN todo_times AS s ON s.todo_id = t.id
JOIN lists AS l ON l.id = t.list_id
JOIN projects AS r ON r.id = l.project_id
LEFT JOIN todos AS p ON p.id = t.parent_id
WHERE l.kind = 'plan' AND t.removed_at IS NULL AND l.archived_at IS NULL;

DROP VIEW mission_todos;
CREATE VIEW mission_todos AS
SELECT
    t.id AS id,
    p.id AS pillarId,
    m.id AS missionId,
    t.title AS title,
    t.description AS description,
    t.justification AS justification,
    t.completion_criteria AS completionCriteria,
    t.deadline AS deadline,
    t.status AS status,
    t.priority AS priority,
    t.agent_type AS assignedAgent,
    CASE t.status WHEN 'completed' THEN t.outcome END AS outcome,
    s.created AS createdAt,
    s.started AS startedAt,
    CASE t.status WHEN 'completed' THEN
        s.settled END AS completedAt
FROM todos AS t
JOIN todo_times AS s ON s.todo_id = t.id
JOIN lists AS l ON l.id = t.list_id
JOIN pillars AS p ON p.id = l.pillar_id
JOIN missions AS m ON m.id = p.mission_id
WHERE t.removed_at IS NULL;
