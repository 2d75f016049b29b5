-- Who was allowed what, and on what ground. All of it is absent in rows of older versions.

-- JSON: the revision at which each part that a sign-off covers last changed.
ALTER TABLE issues ADD COLUMN judged TEXT;
-- How the issue may end after this sign-off.
ALTER TABLE gates ADD COLUMN closes_as TEXT;
-- The role of whoever paused it, while it is paused.
ALTER TABLE sessions ADD COLUMN paused_by TEXT;
ALTER TABLE tokens ADD COLUMN session TEXT;
-- JSON: how far the delegated work, and the author of the message, reach.
ALTER TABLE delegations ADD COLUMN reach TEXT;
ALTER TABLE messages ADD COLUMN reach TEXT;
-- What proved the actor, and the real clock.
ALTER TABLE events ADD COLUMN proof TEXT;
ALTER TABLE events ADD COLUMN recorded_at BIGINT;
