-- Sessions that were written from here into an agent's own files, as forks of a turn. When such a file comes back with
-- what the agent added, its beginning is known by these bytes: it is in the record already, up to that turn.
CREATE TABLE written_sessions (
    session_label TEXT PRIMARY KEY NOT NULL,    -- (no reference: a rebuilt ledger knows this before the session)
    turn_id TEXT NOT NULL,                      -- where it was forked
    path TEXT NOT NULL,                         -- the file, as it was written
    head BLOB NOT NULL UNIQUE,                  -- SHA-256 of its first line: by it a file is recognised
    size_bytes INTEGER NOT NULL,
    digest BLOB NOT NULL,                       -- SHA-256 of all that was written
    written_at INTEGER NOT NULL
);
