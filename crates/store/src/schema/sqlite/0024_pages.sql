-- A browser that signed in is a token of its own kind: when its cookie was last used.
ALTER TABLE tokens ADD COLUMN used_at BIGINT;

-- Links that sign a browser in, once.
CREATE TABLE sign_ins (
    -- SHA-256 of the code, in hexadecimal; the code itself is nowhere.
    digest TEXT PRIMARY KEY,
    -- Who made it, in which project, and as far as it reaches (JSON).
    created_by TEXT NOT NULL,
    project TEXT NOT NULL,
    reach TEXT,
    created_at BIGINT NOT NULL,
    -- When the token it was made with ends.
    ends_at BIGINT,
    used_at BIGINT
) WITHOUT ROWID;

-- Where servers over this store are reached; a row goes when its server ends.
CREATE TABLE servers (
    url TEXT PRIMARY KEY,
    started_at BIGINT NOT NULL
) WITHOUT ROWID;

-- What waits for a person: claims of agents, what is held, and proposals.
CREATE INDEX todos_in_review ON todos (updated_at, id) WHERE claim IS NOT NULL
    AND kind <> 'criterion' AND (status = 'pending' OR status = 'in_progress');
CREATE INDEX todos_held ON todos (updated_at, id) WHERE hold IS NOT NULL
    AND (status = 'pending' OR status = 'in_progress');
CREATE INDEX delegations_undecided ON delegations (project_id, id)
    WHERE proposal IS NOT NULL AND decision IS NULL;
