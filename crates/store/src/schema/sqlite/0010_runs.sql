-- Frozen once applied: a change is a new migration.

-- One execution of an agent's loop. What queries look for are columns; all of it stands in `data`, so
-- that a new setting or counter needs no column.
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    conversation_id TEXT NOT NULL,
    session_id TEXT,
    delegation_id TEXT,
    state TEXT NOT NULL CHECK (state = 'running' OR state = 'waiting' OR state = 'ended'),
    data TEXT NOT NULL,
    -- Outside the fold: grows with every process that takes it over.
    epoch BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX runs_by_project ON runs (project_id, id);
CREATE INDEX runs_by_conversation ON runs (conversation_id, id);
CREATE INDEX runs_by_session ON runs (session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX runs_by_delegation ON runs (delegation_id, id) WHERE delegation_id IS NOT NULL;

CREATE INDEX sessions_by_conversation ON sessions (conversation_id);

-- Who wrote a message, asked a person or handed work on in a run, and what the loop needs of it.
ALTER TABLE messages ADD COLUMN run_id TEXT;
ALTER TABLE messages ADD COLUMN part TEXT;
ALTER TABLE gates ADD COLUMN run_id TEXT;
CREATE INDEX gates_by_run ON gates (run_id) WHERE run_id IS NOT NULL;
ALTER TABLE delegations ADD COLUMN run_id TEXT;
CREATE INDEX delegations_by_run ON delegations (run_id) WHERE run_id IS NOT NULL;
