-- Leases on a server: dated by its clock, whatever the clocks of the writers say.

-- name: server_time
SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT);

-- name: insert_lease
INSERT INTO leases (turn_id, session_label, writer, token, expires_at)
VALUES (:turn_id, :session_label, :writer, :token,
    CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) + :expires_at - :now);

-- name: renew_leases
UPDATE leases SET expires_at = CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) + :expires_at - :now
WHERE writer = :writer;
