-- Who may call, and who holds what.

CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    -- SHA-256 of the secret, in hexadecimal; the secret itself is nowhere.
    digest TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    agent TEXT,
    -- Its reach; what is absent is not narrowed.
    project TEXT,
    mission TEXT,
    pillar TEXT,
    issue_number BIGINT,
    plan_file TEXT,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT
);

-- What the store knows about itself, e.g. that it has an operator.
CREATE TABLE facts (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- One row per todo that was ever taken. Without a holder it only remembers its epoch.
CREATE TABLE leases (
    todo_id TEXT PRIMARY KEY REFERENCES todos (id) ON DELETE CASCADE,
    holder TEXT,
    epoch BIGINT NOT NULL,
    lease_until BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX leases_by_holder ON leases (holder);
CREATE INDEX leases_by_end ON leases (lease_until);
CREATE INDEX todos_by_assignee ON todos (assignee, status) WHERE assignee IS NOT NULL;
