-- Leases in a file: no clock is shared. `expires_at` is what the writer's clock says; it changes with every renewal.

-- name: server_time
SELECT NULL;

-- name: insert_lease
INSERT INTO leases (turn_id, session_label, writer, token, expires_at)
VALUES (:turn_id, :session_label, :writer, :token, :now + (:expires_at - :now)); -- the parameters are the other engine's

-- name: renew_leases
-- (Also when the writer's clock was set back.)
UPDATE leases SET expires_at = max(expires_at + 1, :now + (:expires_at - :now)) WHERE writer = :writer;
