-- Frozen once applied: a change is a new migration.

-- Results that came too late, and who had worked on a delegation: the history of a todo is looked up there.
DROP INDEX events_refused;
CREATE INDEX events_late ON events (aggregate, seq) WHERE (type = 'command_refused'
    OR type = 'delegation_refused' OR type = 'delegation_started');

-- The issue that a session worked on last.
CREATE INDEX bindings_by_session ON bindings (session_id, bound_at);

-- The delegations of a todo.
CREATE INDEX delegations_by_todo ON delegations (todo_id, id) WHERE todo_id IS NOT NULL;
