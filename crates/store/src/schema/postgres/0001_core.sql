-- Frozen once applied: a change is a new migration.
-- Ids are ULIDs in text, times microseconds since 1970 in UTC, JSON is text.

CREATE TABLE projects (
    id TEXT COLLATE "C" PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

CREATE TABLE lists (
    id TEXT COLLATE "C" PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('turn', 'plan', 'session', 'issue', 'pillar')),
    -- What the list hangs on: conversation and turn, branch and plan file, mission and pillar.
    scope_outer TEXT COLLATE "C" NOT NULL,
    scope_inner TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX lists_by_scope ON lists (project_id, kind, scope_outer, scope_inner);
CREATE INDEX lists_by_age ON lists (project_id, id);
CREATE INDEX lists_by_turn ON lists (kind, scope_inner);
CREATE INDEX lists_by_conversation ON lists (kind, scope_outer, scope_inner);

CREATE TABLE todos (
    id TEXT COLLATE "C" PRIMARY KEY,
    list_id TEXT COLLATE "C" NOT NULL REFERENCES lists (id) ON DELETE CASCADE,
    seq BIGINT,
    parent_id TEXT COLLATE "C",
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('step', 'criterion')),
    title TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL DEFAULT '',
    justification TEXT COLLATE "C" NOT NULL DEFAULT '',
    completion_criteria TEXT COLLATE "C" NOT NULL DEFAULT '',
    agent_type TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL DEFAULT 'pending'
        CHECK (status IN ('backlog', 'pending', 'in_progress', 'completed', 'cancelled')),
    priority TEXT COLLATE "C" NOT NULL DEFAULT 'medium'
        CHECK (priority IN ('critical', 'high', 'medium', 'low')),
    position BIGINT NOT NULL DEFAULT 0,
    phase TEXT COLLATE "C",
    deadline TEXT COLLATE "C",
    origin_agent TEXT COLLATE "C" NOT NULL,
    external_id TEXT COLLATE "C",
    assignee TEXT COLLATE "C",
    claim TEXT COLLATE "C",
    hold TEXT COLLATE "C",
    defer_until BIGINT,
    outcome TEXT COLLATE "C",
    evidence TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    settled_by TEXT COLLATE "C",
    settled_role TEXT COLLATE "C",
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
    todo_id TEXT COLLATE "C" NOT NULL REFERENCES todos (id) ON DELETE CASCADE,
    n BIGINT NOT NULL,
    author TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (todo_id, n)
);

-- The log. seq = transaction id << 20 | n; readers stay below the snapshot's horizon (ADR 0004).
CREATE TABLE events (
    seq BIGINT PRIMARY KEY,
    v BIGINT NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    project_id TEXT COLLATE "C" NOT NULL,
    aggregate TEXT COLLATE "C" NOT NULL,
    actor TEXT COLLATE "C" NOT NULL,
    acting_as TEXT COLLATE "C",
    cause TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    data TEXT COLLATE "C" NOT NULL
);
CREATE INDEX events_by_project ON events (project_id, seq);

CREATE TABLE outbox (
    id TEXT COLLATE "C" PRIMARY KEY,
    kind TEXT COLLATE "C" NOT NULL,
    payload TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    epoch BIGINT NOT NULL DEFAULT 0,
    lease_until BIGINT,
    done_at BIGINT,
    last_error TEXT COLLATE "C"
);
CREATE INDEX outbox_by_due ON outbox (due_at) WHERE done_at IS NULL;

CREATE TABLE answers (
    principal TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    request TEXT COLLATE "C" NOT NULL,
    answer TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (principal, key)
);
CREATE INDEX answers_by_age ON answers (created_at);

-- The turn design's own columns and words; writing goes through operations only.
CREATE VIEW turn_todos AS
SELECT
    t.id AS id,
    l.scope_outer AS "conversationId",
    l.scope_inner AS "turnId",
    t.title AS title,
    t.description AS context,
    t.completion_criteria AS "completionCriteria",
    t.agent_type AS "agentType",
    t.status AS status,
    t.position AS priority,
    t.outcome AS outcome,
    to_char(to_timestamp(t.created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
        || '.' || lpad((t.created_at % 1000000)::text, 6, '0') || 'Z' AS "createdAt",
    to_char(to_timestamp(t.started_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
        || '.' || lpad((t.started_at % 1000000)::text, 6, '0') || 'Z' AS "startedAt",
    to_char(to_timestamp(t.settled_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
        || '.' || lpad((t.settled_at % 1000000)::text, 6, '0') || 'Z' AS "completedAt"
FROM todos AS t
JOIN lists AS l ON l.id = t.list_id
WHERE l.kind = 'turn';
