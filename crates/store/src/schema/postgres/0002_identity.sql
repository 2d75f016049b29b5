-- Who may call, and who holds what.

CREATE TABLE tokens (
    id TEXT COLLATE "C" PRIMARY KEY,
    -- SHA-256 of the secret, in hexadecimal; the secret itself is nowhere.
    digest TEXT COLLATE "C" NOT NULL UNIQUE,
    role TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C",
    -- Its reach; what is absent is not narrowed.
    project TEXT COLLATE "C",
    mission TEXT COLLATE "C",
    pillar TEXT COLLATE "C",
    issue_number BIGINT,
    plan_file TEXT COLLATE "C",
    created_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT
);

-- What the store knows about itself, e.g. that it has an operator.
CREATE TABLE facts (
    name TEXT COLLATE "C" PRIMARY KEY,
    value TEXT COLLATE "C" NOT NULL
);

-- One row per todo that was ever taken. Without a holder it only remembers its epoch.
CREATE TABLE leases (
    todo_id TEXT COLLATE "C" PRIMARY KEY REFERENCES todos (id) ON DELETE CASCADE,
    holder TEXT COLLATE "C",
    epoch BIGINT NOT NULL,
    lease_until BIGINT NOT NULL
);
CREATE INDEX leases_by_holder ON leases (holder);
CREATE INDEX leases_by_end ON leases (lease_until);
CREATE INDEX todos_by_assignee ON todos (assignee, status) WHERE assignee IS NOT NULL;
