-- What people say about an issue beside its words: labels as a JSON list, a named priority, and
-- the person who is responsible.
ALTER TABLE issues ADD COLUMN labels TEXT COLLATE "C";
ALTER TABLE issues ADD COLUMN priority TEXT COLLATE "C";
ALTER TABLE issues ADD COLUMN assignee TEXT COLLATE "C";

-- People name an item by the last four characters of its id.
CREATE INDEX todos_by_short_id ON todos (substr(id, 23));
