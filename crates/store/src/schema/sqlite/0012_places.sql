-- Frozen once applied: a change is a new migration.

-- What was refused on a list: results that came too late are looked up there.
CREATE INDEX events_refused ON events (aggregate, seq) WHERE type = 'command_refused';

-- Which repository or folder a project belongs to, as JSON; none: the first that writes to it.
-- It is true of one machine and one checkout, so exports leave it out.
ALTER TABLE projects ADD COLUMN place TEXT;
