-- Gives every task the key of its place, as `rows/places.rs` says it. Frozen as migrations are.
WITH RECURSIVE numbers AS (
    SELECT
        t.id AS id, t.parent_id AS parent_id, t.seq AS seq,
        greatest(-999999999999999999, least(999999999999999999, t.position)) AS place
    FROM todos AS t JOIN lists AS l ON l.id = t.list_id
    WHERE l.kind = 'plan'
), words AS (
    SELECT
        id, parent_id,
        CASE
            WHEN place >= 0 THEN chr(96 + length(place::text)) || place::text
            ELSE chr(90 - length((-place)::text)) || lpad(
                (repeat('9', length((-place)::text))::bigint + place)::text,
                length((-place)::text), '0')
        END || coalesce(chr(96 + length(seq::text)) || seq::text, 'z' || id) AS word
    FROM numbers
), tree AS (
    SELECT w.id AS id, w.word AS tree_key FROM words AS w
    WHERE NOT EXISTS (SELECT 1 FROM todos AS p WHERE p.id = w.parent_id)
    UNION ALL
    SELECT w.id, tree.tree_key || '/' || w.word FROM tree JOIN words AS w ON w.parent_id = tree.id
)
UPDATE todos SET tree_key = tree.tree_key FROM tree WHERE todos.id = tree.id;
