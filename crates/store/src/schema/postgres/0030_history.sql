-- Frozen once applied: a change is a new migration.

-- Who claimed, returned and settled an item: the history of a todo is looked up there. Only claims and
-- the changes of mission todos are in it, so that a busy list costs nothing more.
CREATE INDEX events_judged ON events (aggregate, seq) WHERE (type = 'todo_claimed'
    OR type = 'claim_returned' OR cause = 'mission_todo_update' OR cause = 'mission_todo_complete'
    OR cause = 'todo_accept' OR cause = 'delegate');
