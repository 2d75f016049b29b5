-- Frozen once applied: a change is a new migration.

-- Only SQLite reads the text of the views at every start.
