-- JSON: how far whoever started the session reaches; absent in rows of older versions.
ALTER TABLE sessions ADD COLUMN reach TEXT;
