-- Capture: evidence, what was read from it, and turns that may still grow.

ALTER TABLE turns ADD COLUMN evidence TEXT;
ALTER TABLE messages ADD COLUMN evidence TEXT;
ALTER TABLE tool_calls ADD COLUMN evidence TEXT;

CREATE INDEX idx_turns_open ON turns(evidence) WHERE seal_seq = 0;

-- `steps` answers it.
DROP INDEX idx_messages_native;

-- No longer unique: sources may claim anything. `verify` checks it for what was written here.
DROP INDEX idx_tool_calls_spawned;
CREATE INDEX idx_tool_calls_spawned ON tool_calls(spawned_session_label)
    WHERE spawned_session_label IS NOT NULL;

-- Added: tokens of each call to a model, as its source reported them. A turn's counters are their sums.
CREATE TABLE usages (
    turn_id TEXT NOT NULL REFERENCES turns(id) DEFERRABLE INITIALLY DEFERRED,
    sequence INTEGER NOT NULL,                  -- 0, 1, 2 … within the turn
    message_id TEXT REFERENCES messages(id),    -- the answer; null where the source does not say which
    model TEXT,
    provider TEXT,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cached_input_tokens INTEGER,
    cache_write_tokens INTEGER,
    reasoning_tokens INTEGER,
    total_tokens INTEGER,
    at INTEGER NOT NULL,
    usage_key TEXT,                             -- the same call in copies and forks: totals count each key once
    root_id TEXT NOT NULL,
    PRIMARY KEY (turn_id, sequence)
) WITHOUT ROWID;

CREATE INDEX idx_usages_key ON usages(usage_key) WHERE usage_key IS NOT NULL;

-- Added: every source that was read. Its bytes are in `blocks`, in order. A source that was rewritten begins a new
-- generation; one that is gone stays. Rows of the record point here by `evidence`.
CREATE TABLE captures (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL,                         -- the file; `file#group` for rows of a database
    format TEXT NOT NULL,                       -- the name of the format that read it
    kind TEXT NOT NULL,                         -- the format's own word for what it is
    shape TEXT NOT NULL,                        -- 'lines' | 'document' | 'bundle' | 'database'
    bundle TEXT,                                -- the folder or file that it was read together with
    generation INTEGER NOT NULL,                -- 1, 2 … for each time that the source was rewritten
    state TEXT NOT NULL,                        -- 'current' | 'replaced' | 'gone'
    size_bytes INTEGER NOT NULL,
    digest BLOB NOT NULL,                       -- SHA-256 over the SHA-256 of its blocks
    modified_ns INTEGER NOT NULL,               -- the file's own time
    first_seen_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,                   -- when its bytes were read last
    read_bytes INTEGER NOT NULL DEFAULT 0,      -- how far it is in the record
    resume BLOB,                                -- where reading goes on when the source has grown
    awaits TEXT,                                -- JSON array: what it follows and what is not here yet
    UNIQUE (path, generation)
);

CREATE INDEX idx_captures_bundle ON captures(bundle) WHERE bundle IS NOT NULL;
CREATE INDEX idx_captures_awaits ON captures(id) WHERE awaits IS NOT NULL;

-- Added: the bytes of sources, by content: what is there twice is kept once.
CREATE TABLE blocks (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,                -- SHA-256 of the bytes
    size_bytes INTEGER NOT NULL,
    packed BLOB NOT NULL                        -- zstd
);

CREATE TABLE capture_blocks (
    capture_id INTEGER NOT NULL REFERENCES captures(id),
    idx INTEGER NOT NULL,                       -- 0, 1, 2 …: 512 KiB each, but the last
    block_id INTEGER NOT NULL REFERENCES blocks(id),
    PRIMARY KEY (capture_id, idx)
) WITHOUT ROWID;

CREATE INDEX idx_capture_blocks_block ON capture_blocks(block_id);

-- Added: what was wrong with sources. The rest of them was read.
CREATE TABLE problems (
    path TEXT NOT NULL,
    place INTEGER NOT NULL,                     -- the byte in the capture where it was met; -1: the source as a whole
    code TEXT NOT NULL,                         -- one of a closed list: docs/problems.md
    detail TEXT NOT NULL,
    capture_id INTEGER REFERENCES captures(id), -- null: it could not be captured
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (path, place, code, detail)
) WITHOUT ROWID;

-- Added: where each step of a source is in the record: its turn, and how many of the turn's messages go up to it.
CREATE TABLE steps (
    step_key INTEGER NOT NULL,                  -- 63 bits of a hash of origin and the step's own id
    turn_id TEXT NOT NULL,                      -- (no reference: every new turn would be looked for here)
    position INTEGER NOT NULL,
    PRIMARY KEY (step_key, turn_id)
) WITHOUT ROWID;

-- Added: what sources say about a session as a whole. Not part of the sealed record: the newest value counts.
CREATE TABLE session_details (
    session_label TEXT PRIMARY KEY NOT NULL REFERENCES sessions(label),
    title TEXT,
    project TEXT,                               -- the working folder
    git_branch TEXT,
    agent_version TEXT,
    persona TEXT,
    channel TEXT,
    routing_key TEXT,
    parent_session TEXT,                        -- the agent's own ids, also where that session is not here
    parent_call TEXT,
    task TEXT,
    task_status TEXT,
    forked_from TEXT,
    forked_path TEXT,
    archive_source TEXT,                        -- 'bak' | 'deleted' | 'reset': some of it comes from an archive
    started_at INTEGER,
    last_at INTEGER,
    extra TEXT                                  -- JSON object: everything else
);

CREATE INDEX idx_session_details_project ON session_details(project) WHERE project IS NOT NULL;
CREATE INDEX idx_session_details_parent ON session_details(parent_session) WHERE parent_session IS NOT NULL;

CREATE TABLE session_captures (
    session_label TEXT NOT NULL REFERENCES sessions(label),
    capture_id INTEGER NOT NULL REFERENCES captures(id),
    PRIMARY KEY (session_label, capture_id)
) WITHOUT ROWID;

CREATE INDEX idx_session_captures_capture ON session_captures(capture_id);

-- Added: every call to a model once, however many copies of it there are.
CREATE VIEW usages_once AS
SELECT * FROM usages u WHERE u.usage_key IS NULL OR NOT EXISTS (
    SELECT 1 FROM usages o WHERE o.usage_key = u.usage_key
        AND (o.turn_id < u.turn_id OR (o.turn_id = u.turn_id AND o.sequence < u.sequence)));
