-- Frozen once applied: a change is a new migration.
-- Checks are spelled with OR: for IN, SQLite fills a temporary table at every insert.
-- Ids are ULIDs in text, times microseconds since 1970 in UTC, JSON is text.

CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

CREATE TABLE lists (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    kind TEXT NOT NULL
        CHECK (kind = 'turn' OR kind = 'plan' OR kind = 'session' OR kind = 'issue'
            OR kind = 'pillar'),
    -- What the list hangs on: conversation and turn, branch and plan file, mission and pillar.
    scope_outer TEXT NOT NULL,
    scope_inner TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX lists_by_scope ON lists (project_id, kind, scope_outer, scope_inner);
CREATE INDEX lists_by_age ON lists (project_id, id);
CREATE INDEX lists_by_turn ON lists (kind, scope_inner);
CREATE INDEX lists_by_conversation ON lists (kind, scope_outer, scope_inner);

CREATE TABLE todos (
    id TEXT PRIMARY KEY,
    list_id TEXT NOT NULL REFERENCES lists (id) ON DELETE CASCADE,
    seq BIGINT,
    -- No foreign key to the own table: SQLite scans for children at every insert then.
    parent_id TEXT,
    kind TEXT NOT NULL CHECK (kind = 'step' OR kind = 'criterion'),
    title TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    justification TEXT NOT NULL DEFAULT '',
    completion_criteria TEXT NOT NULL DEFAULT '',
    agent_type TEXT,
    status TEXT NOT NULL DEFAULT 'pending'
        CHECK (status = 'backlog' OR status = 'pending' OR status = 'in_progress'
            OR status = 'completed' OR status = 'cancelled'),
    priority TEXT NOT NULL DEFAULT 'medium'
        CHECK (priority = 'critical' OR priority = 'high' OR priority = 'medium'
            OR priority = 'low'),
    position BIGINT NOT NULL DEFAULT 0,
    phase TEXT,
    deadline TEXT,
    origin_agent TEXT NOT NULL,
    external_id TEXT,
    assignee TEXT,
    claim TEXT,
    hold TEXT,
    defer_until BIGINT,
    outcome TEXT,
    evidence TEXT NOT NULL DEFAULT '[]',
    settled_by TEXT,
    settled_role TEXT,
    ratified_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    started_at BIGINT,
    settled_at BIGINT
);
CREATE INDEX todos_by_list ON todos (list_id, status, position, id);
CREATE INDEX todos_by_parent ON todos (parent_id) WHERE parent_id IS NOT NULL;
CREATE UNIQUE INDEX todos_by_seq ON todos (seq) WHERE seq IS NOT NULL;

CREATE TABLE todo_notes (
    todo_id TEXT NOT NULL REFERENCES todos (id) ON DELETE CASCADE,
    n BIGINT NOT NULL,
    author TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (todo_id, n)
) WITHOUT ROWID;

-- The log. Numbered by the one writer; the newest row is never deleted, so no number comes twice.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    v BIGINT NOT NULL,
    type TEXT NOT NULL,
    project_id TEXT NOT NULL,
    aggregate TEXT NOT NULL,
    actor TEXT NOT NULL,
    acting_as TEXT,
    cause TEXT NOT NULL,
    at BIGINT NOT NULL,
    data TEXT NOT NULL
);
CREATE INDEX events_by_project ON events (project_id, seq);

CREATE TABLE outbox (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    epoch BIGINT NOT NULL DEFAULT 0,
    lease_until BIGINT,
    done_at BIGINT,
    last_error TEXT
);
CREATE INDEX outbox_by_due ON outbox (due_at) WHERE done_at IS NULL;

CREATE TABLE answers (
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    request TEXT NOT NULL,
    answer TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (principal, key)
) WITHOUT ROWID;
CREATE INDEX answers_by_age ON answers (created_at);

-- The turn design's own columns and words; writing goes through operations only.
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
    strftime('%Y-%m-%dT%H:%M:%S', t.created_at / 1000000, 'unixepoch')
        || printf('.%06dZ', t.created_at % 1000000) AS createdAt,
    strftime('%Y-%m-%dT%H:%M:%S', t.started_at / 1000000, 'unixepoch')
        || printf('.%06dZ', t.started_at % 1000000) AS startedAt,
    strftime('%Y-%m-%dT%H:%M:%S', t.settled_at / 1000000, 'unixepoch')
        || printf('.%06dZ', t.settled_at % 1000000) AS completedAt
FROM todos AS t
JOIN lists AS l ON l.id = t.list_id
WHERE l.kind = 'turn';
