-- Says of every issue what the log says of its last change of status. Frozen as migrations are.
UPDATE issues SET status_reason = moved.reason FROM (
    SELECT
        aggregate, data::json ->> 'reason' AS reason,
        row_number() OVER (PARTITION BY aggregate ORDER BY seq DESC) AS n
    FROM events WHERE type = 'issue_transitioned'
) AS moved WHERE moved.n = 1 AND moved.aggregate = issues.id;
