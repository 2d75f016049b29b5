-- Frozen once applied: a change is a new migration.

-- 1 if the item's assignment was made by taking it, which ends with the lease; otherwise NULL.
ALTER TABLE todos ADD COLUMN assigned_by_taking BIGINT;
