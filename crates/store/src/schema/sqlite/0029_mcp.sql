-- Frozen once applied: a change is a new migration.

-- What the sessions of MCP clients over HTTP keep: subscriptions, and news for streams that another
-- server may hold. Not derived from events, and deleted when it is not used for some days.
CREATE TABLE mcp_entries (
    session TEXT NOT NULL,
    -- SHA-256 of the caller and its proof: the same session id from another caller finds nothing.
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    used_at BIGINT NOT NULL,
    PRIMARY KEY (session, owner, kind, name)
) WITHOUT ROWID;
CREATE INDEX mcp_entries_used ON mcp_entries (used_at);
