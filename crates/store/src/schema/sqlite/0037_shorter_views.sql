-- Frozen once applied: a change is a new migration.

-- The designs' views in fewer words. SQLite parses every view each time a process opens the file,
-- so what they share is said once, and a name that only one table has needs no prefix.
DROP VIEW IF EXISTS turn_todos;
DROP VIEW IF EXISTS issue_todos;
DROP VIEW IF EXISTS tasks;
DROP VIEW IF EXISTS mission_todos;
DROP VIEW IF EXISTS todo_times;
DROP VIEW IF EXISTS listed_todos;

-- Items with their list, and with their times as people read them.
CREATE VIEW listed_todos AS
SELECT
    todos.*,
    lists.kind AS list_kind,
    lists.archived_at AS list_archived_at,
    scope_outer,
    scope_inner,
    project_id,
    pillar_id,
    strftime('%Y-%m-%dT%H:%M:%S', todos.created_at / 1000000, 'unixepoch')
        || printf('.%06dZ', todos.created_at % 1000000) AS created,
    strftime('%Y-%m-%dT%H:%M:%S', updated_at / 1000000, 'unixepoch')
        || printf('.%06dZ', updated_at % 1000000) AS updated,
    strftime('%Y-%m-%dT%H:%M:%S', started_at / 1000000, 'unixepoch')
        || printf('.%06dZ', started_at % 1000000) AS started,
    strftime('%Y-%m-%dT%H:%M:%S', settled_at / 1000000, 'unixepoch')
        || printf('.%06dZ', settled_at % 1000000) AS settled
FROM todos
JOIN lists ON lists.id = list_id;

CREATE VIEW turn_todos AS
SELECT
    id,
    scope_outer AS conversationId,
    scope_inner AS turnId,
    title,
    description AS context,
    completion_criteria AS completionCriteria,
    agent_type AS agentType,
    status,
    position AS priority,
    outcome,
    created AS createdAt,
    started AS startedAt,
    settled AS completedAt
FROM listed_todos
WHERE list_kind = 'turn';

CREATE VIEW issue_todos AS
SELECT
    id,
    scope_outer AS issue_id,
    title AS content,
    CASE status WHEN 'cancelled' THEN 'abandoned' ELSE status END AS status,
    kind,
    origin_agent,
    phase,
    position,
    (SELECT json_group_array(text) FROM
        (SELECT text FROM todo_notes WHERE todo_id = id ORDER BY n)) AS notes,
    created AS created_at,
    updated AS updated_at,
    settled AS completed_at
FROM listed_todos
WHERE list_kind = 'issue' AND removed_at IS NULL;

CREATE VIEW tasks AS
SELECT
    seq AS id,
    (SELECT seq FROM todos WHERE id = listed_todos.parent_id) AS parent_id,
    scope_inner AS plan_file,
    name AS project,
    scope_outer AS branch,
    title AS content,
    name || '/' || assignee AS assigned_agent,
    settled AS completed_at,
    created AS created_at,
    updated AS updated_at,
    position
FROM listed_todos
JOIN projects ON projects.id = project_id
WHERE list_kind = 'plan' AND removed_at IS NULL AND list_archived_at IS NULL;

CREATE VIEW mission_todos AS
SELECT
    listed_todos.id,
    pillar_id AS pillarId,
    mission_id AS missionId,
    title,
    listed_todos.description,
    justification,
    completion_criteria AS completionCriteria,
    deadline,
    listed_todos.status,
    priority,
    agent_type AS assignedAgent,
    CASE listed_todos.status WHEN 'completed' THEN outcome END AS outcome,
    created AS createdAt,
    started AS startedAt,
    CASE listed_todos.status WHEN 'completed' THEN settled END AS completedAt
FROM listed_todos
JOIN pillars ON pillars.id = pillar_id
WHERE removed_at IS NULL;
