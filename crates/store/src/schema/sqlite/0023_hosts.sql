-- Frozen once applied: a change is a new migration.

-- The newest hook of each session of a host. It is true of one machine, so it is outside the fold.
CREATE TABLE host_records (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    host TEXT NOT NULL,
    version TEXT,
    event TEXT NOT NULL,
    at BIGINT NOT NULL,
    -- The last stop that was answered, to know the same one delivered again.
    stop_key TEXT,
    stop_at BIGINT,
    stop_doubled BIGINT NOT NULL DEFAULT 0,
    -- When a stop was last delivered twice.
    doubled_at BIGINT,
    -- When the session was last told about its work.
    told_at BIGINT
);
CREATE INDEX host_records_by_host ON host_records (host, at);

-- The processes a hook was fired from: the host's, and the shells below it. What else descends
-- from one of them is in the same session.
CREATE TABLE host_processes (
    process TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    at BIGINT NOT NULL,
    PRIMARY KEY (process, session_id)
);
CREATE INDEX host_processes_by_session ON host_processes (session_id);

-- Sessions that wait for their host.
CREATE INDEX sessions_waiting ON sessions (project_id, host)
    WHERE external_id IS NULL AND bound_issue IS NOT NULL;
