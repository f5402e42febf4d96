-- The faces of Mnemonic, its Events Ledger and AIX: views over the same rows, and what they look things up by.
ALTER TABLE turns ADD COLUMN messages_before INTEGER NOT NULL DEFAULT 0;

-- For each segment the way from the root to it: every segment on it, and the last depth there that is on it.
CREATE TABLE segment_paths (
    segment_id INTEGER NOT NULL,
    on_segment_id INTEGER NOT NULL,
    through INTEGER NOT NULL,
    PRIMARY KEY (segment_id, on_segment_id)
) WITHOUT ROWID;

CREATE INDEX idx_segment_paths_on ON segment_paths(on_segment_id, through);

-- By which id the other systems know a session, and the segment that its head lies in.
CREATE TABLE session_ids (
    session_label TEXT PRIMARY KEY NOT NULL REFERENCES sessions(label),
    id TEXT NOT NULL UNIQUE,
    segment_id INTEGER
) WITHOUT ROWID;

CREATE INDEX idx_session_ids_segment ON session_ids(segment_id) WHERE segment_id IS NOT NULL;

-- The segments that a session has written in; '' stands for turns of no session.
CREATE TABLE session_segments (
    session_label TEXT NOT NULL,
    segment_id INTEGER NOT NULL,
    PRIMARY KEY (session_label, segment_id)
) WITHOUT ROWID;

CREATE INDEX idx_session_segments_segment ON session_segments(segment_id);

-- The ids that a session may have there, the best first; the first that no other session has is taken.
CREATE VIEW session_names AS
SELECT s.label AS session_label, 1 AS rank,
    'task-' || coalesce(c.native_id, d.parent_call, s.spawn_tool_call_id) AS id
FROM sessions s LEFT JOIN tool_calls c ON c.id = s.spawn_tool_call_id
    LEFT JOIN session_details d ON d.session_label = s.label
WHERE s.spawn_tool_call_id IS NOT NULL OR d.parent_call IS NOT NULL
UNION ALL SELECT label, 2, origin_session_id FROM sessions WHERE origin_session_id IS NOT NULL
UNION ALL SELECT label, 3, label FROM sessions
UNION ALL SELECT label, 4, 'ledger:' || label FROM sessions;

-- The ids of messages and calls as their agents gave them, else the ledger's own.
CREATE INDEX idx_messages_face ON messages(coalesce(native_id, id));
DROP INDEX idx_tool_calls_native; -- the next one does its work as well
CREATE INDEX idx_tool_calls_face ON tool_calls(coalesce(native_id, id));
CREATE INDEX idx_usages_message ON usages(message_id) WHERE message_id IS NOT NULL;

INSERT INTO segment_paths (segment_id, on_segment_id, through)
WITH RECURSIVE way(segment_id, on_segment_id, through) AS (
    SELECT id, id, 9223372036854775807 FROM segments
    UNION ALL
    SELECT w.segment_id, s.parent_segment_id, s.fork_depth
    FROM way w JOIN segments s ON s.id = w.on_segment_id WHERE s.parent_segment_id IS NOT NULL)
SELECT segment_id, on_segment_id, through FROM way;

INSERT INTO session_segments (session_label, segment_id)
SELECT DISTINCT coalesce(session_label, ''), segment_id FROM turns;

INSERT INTO session_ids (session_label, id)
SELECT min(n.session_label), n.id FROM session_names n WHERE n.rank = 1
    AND NOT EXISTS (SELECT 1 FROM session_ids o WHERE o.session_label = n.session_label OR o.id = n.id)
GROUP BY n.id;
INSERT INTO session_ids (session_label, id)
SELECT min(n.session_label), n.id FROM session_names n WHERE n.rank = 2
    AND NOT EXISTS (SELECT 1 FROM session_ids o WHERE o.session_label = n.session_label OR o.id = n.id)
GROUP BY n.id;
INSERT INTO session_ids (session_label, id)
SELECT min(n.session_label), n.id FROM session_names n WHERE n.rank = 3
    AND NOT EXISTS (SELECT 1 FROM session_ids o WHERE o.session_label = n.session_label OR o.id = n.id)
GROUP BY n.id;
INSERT INTO session_ids (session_label, id)
SELECT min(n.session_label), n.id FROM session_names n WHERE n.rank = 4
    AND NOT EXISTS (SELECT 1 FROM session_ids o WHERE o.session_label = n.session_label OR o.id = n.id)
GROUP BY n.id;

UPDATE session_ids SET segment_id =
    (SELECT t.segment_id FROM sessions s JOIN turns t ON t.id = s.thread_id WHERE s.label = session_ids.session_label);
