-- Frozen once applied: a change is a new migration.
-- Checks are spelled with OR: for IN, SQLite fills a temporary table at every insert.

-- The highest issue number ever given out, so that none comes twice.
ALTER TABLE projects ADD COLUMN last_issue BIGINT NOT NULL DEFAULT 0;

CREATE TABLE issues (
    -- The search index names rows by this; an implicit row id may change under VACUUM.
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    status TEXT NOT NULL
        CHECK (status = 'open' OR status = 'triaged' OR status = 'in_progress'
            OR status = 'resolved' OR status = 'rejected'),
    assignment TEXT,
    revision BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    defer_until BIGINT
);
CREATE UNIQUE INDEX issues_by_number ON issues (project_id, number);
CREATE INDEX issues_by_status ON issues (project_id, status, number);

-- The words of title and body as the core gives them: already in lower case, so that beyond
-- splitting at spaces the tokenizer has nothing to decide.
CREATE VIRTUAL TABLE issue_search USING fts5 (
    terms,
    content = '',
    contentless_delete = 1,
    detail = none,
    tokenize = 'ascii'
);
CREATE TRIGGER issues_gone AFTER DELETE ON issues
BEGIN
    DELETE FROM issue_search WHERE rowid = OLD.row;
END;
