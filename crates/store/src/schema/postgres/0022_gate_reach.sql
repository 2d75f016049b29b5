-- JSON: how far whoever asked reaches; absent in rows of older versions.
ALTER TABLE gates ADD COLUMN reach TEXT;
