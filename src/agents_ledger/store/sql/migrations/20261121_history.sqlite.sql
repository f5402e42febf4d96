-- A session's moves lie together, in their order, and need no index beside: a page less in every commit. What each move
-- says stays as it is; SQLite can't change the order of a table that is there, so it is made anew.
CREATE TABLE moves_before AS SELECT id, session_label, thread_id, changed_at, from_thread_id, reason FROM session_history;
DROP TRIGGER sessions_pointer;
DROP TABLE session_history;

CREATE TABLE session_history (
    id INTEGER NOT NULL,                        -- Deviation: the log's sequence number, so never reused
    session_label TEXT NOT NULL REFERENCES sessions(label),
    thread_id TEXT NOT NULL REFERENCES turns(id),
    changed_at INTEGER NOT NULL,
    from_thread_id TEXT REFERENCES turns(id),   -- Added: where it pointed before
    reason TEXT NOT NULL CHECK (reason IN       -- Added: why it moved
        ('advance', 'fork', 'rewind', 'replay', 'merge', 'import', 'recover')),
    PRIMARY KEY (session_label, id)             -- Deviation: a session's moves lie together, and need no index beside
) WITHOUT ROWID;

-- the few moves by which a session left turns behind
CREATE INDEX idx_session_history_left ON session_history(id) WHERE reason IN ('rewind', 'merge', 'import');

INSERT INTO session_history (id, session_label, thread_id, changed_at, from_thread_id, reason)
SELECT id, session_label, thread_id, changed_at, from_thread_id, reason FROM moves_before ORDER BY session_label, id;
DROP TABLE moves_before;

CREATE TRIGGER sessions_pointer BEFORE UPDATE OF thread_id ON sessions
WHEN (SELECT thread_id FROM session_history WHERE session_label = NEW.label ORDER BY id DESC LIMIT 1)
    IS NOT NEW.thread_id
BEGIN SELECT RAISE(ABORT, 'ledger: a pointer moves only together with its history'); END;
CREATE TRIGGER session_history_sealed BEFORE INSERT ON session_history
WHEN (SELECT seal_seq FROM turns WHERE id = NEW.thread_id) IS NULL
BEGIN SELECT RAISE(ABORT, 'ledger: a session points at sealed turns only'); END;
CREATE TRIGGER session_history_fixed BEFORE UPDATE ON session_history
BEGIN SELECT RAISE(ABORT, 'ledger: history never changes'); END;
CREATE TRIGGER session_history_kept BEFORE DELETE ON session_history
BEGIN SELECT RAISE(ABORT, 'ledger: history is never deleted'); END;
