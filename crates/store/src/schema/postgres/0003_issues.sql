-- Frozen once applied: a change is a new migration.

-- The highest issue number ever given out, so that none comes twice.
ALTER TABLE projects ADD COLUMN last_issue BIGINT NOT NULL DEFAULT 0;

CREATE TABLE issues (
    id TEXT COLLATE "C" PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    title TEXT COLLATE "C" NOT NULL,
    body TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL
        CHECK (status IN ('open', 'triaged', 'in_progress', 'resolved', 'rejected')),
    assignment TEXT COLLATE "C",
    revision BIGINT NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    defer_until BIGINT
);
CREATE UNIQUE INDEX issues_by_number ON issues (project_id, number);
CREATE INDEX issues_by_status ON issues (project_id, status, number);

-- The words of title and body as the core gives them. They become lexemes as they are: the
-- parser of text search splits and stems by its own lights, and by the locale of the server.
CREATE TABLE issue_search (
    issue_id TEXT COLLATE "C" PRIMARY KEY REFERENCES issues (id) ON DELETE CASCADE,
    words TSVECTOR NOT NULL
);
CREATE INDEX issue_search_by_word ON issue_search USING GIN (words);
