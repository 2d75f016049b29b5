-- Frozen once applied: a change is a new migration.

-- Other pillars an item concerns and changes somebody wishes for, as JSON; the deadline a person was
-- asked about already; when it left the usual lists.
ALTER TABLE todos ADD COLUMN related_pillars TEXT;
ALTER TABLE todos ADD COLUMN wishes TEXT;
ALTER TABLE todos ADD COLUMN overdue_notified_for TEXT;
ALTER TABLE todos ADD COLUMN archived_at BIGINT;

-- What was settled and is still among the usual items.
CREATE INDEX todos_settled ON todos (list_id, settled_at)
    WHERE settled_at IS NOT NULL AND archived_at IS NULL;

CREATE TABLE missions (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL CHECK (status = 'active' OR status = 'paused' OR status = 'archived'),
    -- Cadence, limits and whatever else its file says, so that a new setting needs no column.
    "jsonConfig" TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    last_cycle_at BIGINT,
    next_cycle_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX missions_by_slug ON missions (project_id, slug);
CREATE INDEX missions_due ON missions (next_cycle_at) WHERE next_cycle_at IS NOT NULL;

CREATE TABLE pillars (
    id TEXT PRIMARY KEY,
    mission_id TEXT NOT NULL REFERENCES missions (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL CHECK (status = 'active' OR status = 'paused' OR status = 'archived'),
    position BIGINT NOT NULL,
    conversation_id TEXT NOT NULL,
    todos_conversation_id TEXT NOT NULL
);
CREATE UNIQUE INDEX pillars_by_slug ON pillars (mission_id, slug);

CREATE TABLE strategies (
    id TEXT PRIMARY KEY,
    pillar_id TEXT NOT NULL REFERENCES pillars (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    description TEXT NOT NULL,
    status TEXT NOT NULL
);
CREATE INDEX strategies_by_pillar ON strategies (pillar_id, position);

CREATE TABLE metrics (
    id TEXT PRIMARY KEY,
    pillar_id TEXT NOT NULL REFERENCES pillars (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    unit TEXT,
    -- What it should be and how to read it, as JSON.
    target TEXT,
    collect TEXT,
    cron TEXT,
    archived_at BIGINT,
    -- Outside the fold: when it is read next, and how the last tries went.
    next_collect_at BIGINT,
    failures BIGINT NOT NULL DEFAULT 0,
    last_error TEXT,
    last_error_at BIGINT
);
CREATE UNIQUE INDEX metrics_by_slug ON metrics (pillar_id, slug);
CREATE INDEX metrics_due ON metrics (next_collect_at) WHERE next_collect_at IS NOT NULL;

-- What a metric was, and when. Only ever added to.
CREATE TABLE readings (
    row INTEGER PRIMARY KEY,
    metric_id TEXT NOT NULL REFERENCES metrics (id) ON DELETE CASCADE,
    value DOUBLE PRECISION NOT NULL,
    at BIGINT NOT NULL,
    source TEXT NOT NULL
);
CREATE INDEX readings_by_metric ON readings (metric_id, at, row);

-- A pillar's list goes with its pillar.
ALTER TABLE lists ADD COLUMN pillar_id TEXT REFERENCES pillars (id) ON DELETE CASCADE;
CREATE INDEX lists_by_pillar ON lists (pillar_id) WHERE pillar_id IS NOT NULL;

ALTER TABLE conversations ADD COLUMN mission_id TEXT REFERENCES missions (id) ON DELETE CASCADE;
ALTER TABLE conversations ADD COLUMN mission_slug TEXT;
ALTER TABLE conversations ADD COLUMN pillar_id TEXT;
ALTER TABLE conversations ADD COLUMN pillar_slug TEXT;
CREATE INDEX conversations_by_mission ON conversations (mission_id) WHERE mission_id IS NOT NULL;

-- The item an escalation is about, and the chat a delegation is worked in.
ALTER TABLE gates ADD COLUMN todo_id TEXT;
CREATE INDEX gates_by_todo ON gates (todo_id, row) WHERE todo_id IS NOT NULL;
ALTER TABLE delegations ADD COLUMN conversation_id TEXT;
CREATE INDEX delegations_by_conversation ON delegations (conversation_id, state)
    WHERE conversation_id IS NOT NULL;

-- The mission design's own columns and words; writing goes through operations only.
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
    strftime('%Y-%m-%dT%H:%M:%S', t.created_at / 1000000, 'unixepoch')
        || printf('.%06dZ', t.created_at % 1000000) AS createdAt,
    strftime('%Y-%m-%dT%H:%M:%S', t.started_at / 1000000, 'unixepoch')
        || printf('.%06dZ', t.started_at % 1000000) AS startedAt,
    CASE t.status WHEN 'completed' THEN
        strftime('%Y-%m-%dT%H:%M:%S', t.settled_at / 1000000, 'unixepoch')
        || printf('.%06dZ', t.settled_at % 1000000) END AS completedAt
FROM todos AS t
JOIN lists AS l ON l.id = t.list_id
JOIN pillars AS p ON p.id = l.pillar_id
JOIN missions AS m ON m.id = p.mission_id
WHERE t.removed_at IS NULL;
