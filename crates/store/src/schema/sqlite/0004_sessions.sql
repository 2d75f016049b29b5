-- Frozen once applied: a change is a new migration.
-- Checks are spelled with OR: for IN, SQLite fills a temporary table at every insert.

-- When the operator took an item out of view; the row stays.
ALTER TABLE todos ADD COLUMN removed_at BIGINT;
-- What waits for its reviewer.
CREATE INDEX todos_claimed ON todos (list_id) WHERE claim IS NOT NULL;

-- A chat. What hangs on it is named by its channel: a session, a mission, a pillar.
CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    channel TEXT NOT NULL
        CHECK (channel = 'session' OR channel = 'mission' OR channel = 'pillar'
            OR channel = 'pillar-todo'),
    title TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX conversations_by_project ON conversations (project_id, id);

CREATE TABLE messages (
    -- The order in which they came; ids of several machines only tell the millisecond.
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,
    author TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX messages_by_conversation ON messages (conversation_id, row);

CREATE TABLE sessions (
    -- The order in which they came; ids of several machines only tell the millisecond.
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    title TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state = 'active' OR state = 'paused' OR state = 'ended'),
    -- The one issue it works on; its checklist is in reach as long as this points to it.
    bound_issue TEXT REFERENCES issues (id) ON DELETE SET NULL,
    conversation_id TEXT NOT NULL,
    -- The host it runs in, and the host's own id for it.
    host TEXT,
    external_id TEXT,
    directory TEXT,
    started_by TEXT NOT NULL,
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
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    issue_id TEXT NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    bound_at BIGINT NOT NULL,
    unbound_at BIGINT,
    PRIMARY KEY (issue_id, session_id, bound_at)
) WITHOUT ROWID;

-- A pause for a person, whatever it is about.
CREATE TABLE gates (
    -- The order in which they came; ids of several machines only tell the millisecond.
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    kind TEXT NOT NULL
        CHECK (kind = 'checkpoint' OR kind = 'ask' OR kind = 'form' OR kind = 'permission'
            OR kind = 'escalation'),
    purpose TEXT CHECK (purpose = 'pause' OR purpose = 'sign_off'),
    state TEXT NOT NULL
        CHECK (state = 'open' OR state = 'resumed' OR state = 'refused' OR state = 'superseded'),
    session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE,
    issue_id TEXT REFERENCES issues (id) ON DELETE CASCADE,
    -- What is asked, and the options or the form that goes with it, as JSON.
    text TEXT NOT NULL,
    details TEXT NOT NULL,
    asked_by TEXT NOT NULL,
    agent TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- The issue's revision this was asked at, and, once answered, holds for.
    revision BIGINT,
    response TEXT,
    answered_by TEXT,
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
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    issue_id TEXT NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind = 'comment' OR kind = 'system_note'),
    author TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX issue_updates_by_issue ON issue_updates (issue_id, row);

CREATE TABLE issue_links (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    from_issue TEXT NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    to_issue TEXT NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    kind TEXT NOT NULL
        CHECK (kind = 'child_of' OR kind = 'duplicate_of' OR kind = 'blocked_by'
            OR kind = 'relates_to'),
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX issue_links_once ON issue_links (from_issue, to_issue, kind);
CREATE INDEX issue_links_back ON issue_links (to_issue);

-- Work handed to another agent: the one queue.
CREATE TABLE delegations (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- The specialist it is for, what is to be done, and why.
    type TEXT NOT NULL,
    mission TEXT NOT NULL,
    rationale TEXT,
    mode TEXT NOT NULL CHECK (mode = 'sync' OR mode = 'async'),
    state TEXT NOT NULL
        CHECK (state = 'queued' OR state = 'running' OR state = 'returned' OR state = 'failed'
            OR state = 'cancelled'),
    -- What becomes of a proposal in its return: `auto` or `review`, as it was when it was made.
    review TEXT NOT NULL CHECK (review = 'auto' OR review = 'review'),
    todo_id TEXT,
    session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE,
    issue_id TEXT REFERENCES issues (id) ON DELETE CASCADE,
    delegated_by TEXT NOT NULL,
    -- The path of whoever delegated; the worker's hangs under it.
    parent_agent TEXT NOT NULL,
    agent TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    result TEXT,
    error TEXT,
    -- What the worker proposes for the checklist, and what was decided, as JSON.
    proposal TEXT,
    decision TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    finished_at BIGINT,
    -- Outside the fold: who holds it, until when.
    holder TEXT,
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
    (SELECT json_group_array(n.text) FROM
        (SELECT text FROM todo_notes WHERE todo_id = t.id ORDER BY n) AS n) AS notes,
    strftime('%Y-%m-%dT%H:%M:%S', t.created_at / 1000000, 'unixepoch')
        || printf('.%06dZ', t.created_at % 1000000) AS created_at,
    strftime('%Y-%m-%dT%H:%M:%S', t.updated_at / 1000000, 'unixepoch')
        || printf('.%06dZ', t.updated_at % 1000000) AS updated_at,
    strftime('%Y-%m-%dT%H:%M:%S', t.settled_at / 1000000, 'unixepoch')
        || printf('.%06dZ', t.settled_at % 1000000) AS completed_at
FROM todos AS t
JOIN lists AS l ON l.id = t.list_id
WHERE l.kind = 'issue' AND t.removed_at IS NULL;
