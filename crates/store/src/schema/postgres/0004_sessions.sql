-- Frozen once applied: a change is a new migration.

-- When the operator took an item out of view; the row stays.
ALTER TABLE todos ADD COLUMN removed_at BIGINT;
-- What waits for its reviewer.
CREATE INDEX todos_claimed ON todos (list_id) WHERE claim IS NOT NULL;

-- A chat. What hangs on it is named by its channel: a session, a mission, a pillar.
CREATE TABLE conversations (
    id TEXT COLLATE "C" PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    channel TEXT COLLATE "C" NOT NULL
        CHECK (channel IN ('session', 'mission', 'pillar', 'pillar-todo')),
    title TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX conversations_by_project ON conversations (project_id, id);

CREATE TABLE messages (
    -- The order in which they came; ids of several machines only tell the millisecond.
    row BIGSERIAL NOT NULL,
    id TEXT COLLATE "C" PRIMARY KEY,
    conversation_id TEXT COLLATE "C" NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    role TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    author TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX messages_by_conversation ON messages (conversation_id, row);

CREATE TABLE sessions (
    -- The order in which they came; ids of several machines only tell the millisecond.
    row BIGSERIAL NOT NULL,
    id TEXT COLLATE "C" PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    title TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('active', 'paused', 'ended')),
    -- The one issue it works on; its checklist is in reach as long as this points to it.
    bound_issue TEXT COLLATE "C" REFERENCES issues (id) ON DELETE SET NULL,
    conversation_id TEXT COLLATE "C" NOT NULL,
    -- The host it runs in, and the host's own id for it.
    host TEXT COLLATE "C",
    external_id TEXT COLLATE "C",
    directory TEXT COLLATE "C",
    started_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE UNIQUE INDEX sessions_by_external_id ON sessions (project_id, external_id)
    WHERE external_id IS NOT NULL;
CREATE UNIQUE INDEX sessions_by_issue ON sessions (bound_issue)
    WHERE bound_issue IS NOT NULL AND state <> 'ended';
CREATE INDEX sessions_by_project ON sessions (project_id, state, id);
CREATE INDEX sessions_by_directory ON sessions (project_id, directory, state, row);

-- Which sessions have worked on an issue, for its history.
CREATE TABLE bindings (
    session_id TEXT COLLATE "C" NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    issue_id TEXT COLLATE "C" NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    bound_at BIGINT NOT NULL,
    unbound_at BIGINT,
    PRIMARY KEY (issue_id, session_id, bound_at)
);

-- A pause for a person, whatever it is about.
CREATE TABLE gates (
    -- The order in which they came; ids of several machines only tell the millisecond.
    row BIGSERIAL NOT NULL,
    id TEXT COLLATE "C" PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    kind TEXT COLLATE "C" NOT NULL
        CHECK (kind IN ('checkpoint', 'ask', 'form', 'permission', 'escalation')),
    purpose TEXT COLLATE "C" CHECK (purpose IN ('pause', 'sign_off')),
    state TEXT COLLATE "C" NOT NULL
        CHECK (state IN ('open', 'resumed', 'refused', 'superseded')),
    session_id TEXT COLLATE "C" REFERENCES sessions (id) ON DELETE CASCADE,
    issue_id TEXT COLLATE "C" REFERENCES issues (id) ON DELETE CASCADE,
    -- What is asked, and the options or the form that goes with it, as JSON.
    text TEXT COLLATE "C" NOT NULL,
    details TEXT COLLATE "C" NOT NULL,
    asked_by TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    -- The issue's revision this was asked at, and, once answered, holds for.
    revision BIGINT,
    response TEXT COLLATE "C",
    answered_by TEXT COLLATE "C",
    answered_at BIGINT,
    -- When whoever asked got the answer.
    collected_at BIGINT
);
CREATE INDEX gates_by_state ON gates (project_id, state, id);
CREATE INDEX gates_by_session ON gates (session_id, row) WHERE session_id IS NOT NULL;
CREATE INDEX gates_by_issue ON gates (issue_id, row) WHERE issue_id IS NOT NULL;

-- The ledger of an issue: comments, and the few decisions that must be seen. Only ever added to.
CREATE TABLE issue_updates (
    -- The order in which they came; ids of several machines only tell the millisecond.
    row BIGSERIAL NOT NULL,
    id TEXT COLLATE "C" PRIMARY KEY,
    issue_id TEXT COLLATE "C" NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('comment', 'system_note')),
    author TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX issue_updates_by_issue ON issue_updates (issue_id, row);

CREATE TABLE issue_links (
    id TEXT COLLATE "C" PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    from_issue TEXT COLLATE "C" NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    to_issue TEXT COLLATE "C" NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    kind TEXT COLLATE "C" NOT NULL
        CHECK (kind IN ('child_of', 'duplicate_of', 'blocked_by', 'relates_to')),
    created_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX issue_links_once ON issue_links (from_issue, to_issue, kind);
CREATE INDEX issue_links_back ON issue_links (to_issue);

-- Work handed to another agent: the one queue.
CREATE TABLE delegations (
    id TEXT COLLATE "C" PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- The specialist it is for, what is to be done, and why.
    type TEXT COLLATE "C" NOT NULL,
    mission TEXT COLLATE "C" NOT NULL,
    rationale TEXT COLLATE "C",
    mode TEXT COLLATE "C" NOT NULL CHECK (mode IN ('sync', 'async')),
    state TEXT COLLATE "C" NOT NULL
        CHECK (state IN ('queued', 'running', 'returned', 'failed', 'cancelled')),
    -- What becomes of a proposal in its return: `auto` or `review`, as it was when it was made.
    review TEXT COLLATE "C" NOT NULL CHECK (review IN ('auto', 'review')),
    todo_id TEXT COLLATE "C",
    session_id TEXT COLLATE "C" REFERENCES sessions (id) ON DELETE CASCADE,
    issue_id TEXT COLLATE "C" REFERENCES issues (id) ON DELETE CASCADE,
    delegated_by TEXT COLLATE "C" NOT NULL,
    -- The path of whoever delegated; the worker's hangs under it.
    parent_agent TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    attempts BIGINT NOT NULL,
    result TEXT COLLATE "C",
    error TEXT COLLATE "C",
    -- What the worker proposes for the checklist, and what was decided, as JSON.
    proposal TEXT COLLATE "C",
    decision TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    finished_at BIGINT,
    -- Outside the fold: who holds it, until when.
    holder TEXT COLLATE "C",
    epoch BIGINT NOT NULL DEFAULT 0,
    lease_until BIGINT
);
CREATE INDEX delegations_by_state ON delegations (project_id, state, id);
CREATE INDEX delegations_by_session ON delegations (session_id, id) WHERE session_id IS NOT NULL;

-- The issue design's own columns and words; writing goes through operations only.
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
    (SELECT coalesce(json_agg(n.text ORDER BY n.n), '[]'::json)::text
        FROM todo_notes AS n WHERE n.todo_id = t.id) AS notes,
    to_char(to_timestamp(t.created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
        || '.' || lpad((t.created_at % 1000000)::text, 6, '0') || 'Z' AS created_at,
    to_char(to_timestamp(t.updated_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
        || '.' || lpad((t.updated_at % 1000000)::text, 6, '0') || 'Z' AS updated_at,
    to_char(to_timestamp(t.settled_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
        || '.' || lpad((t.settled_at % 1000000)::text, 6, '0') || 'Z' AS completed_at
FROM todos AS t
JOIN lists AS l ON l.id = t.list_id
WHERE l.kind = 'issue' AND t.removed_at IS NULL;
