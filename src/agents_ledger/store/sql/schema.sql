-- The ledger, as it is now. Migrations lead here; a test proves that both give the same database.
--
-- One text for both engines. For PostgreSQL the loader reads INTEGER as BIGINT, BLOB as BYTEA and TEXT as
-- TEXT COLLATE "C"; triggers, the `threads` view and the search index differ and stand in
-- schema.sqlite.sql and schema.postgres.sql.
--
-- Names and columns are seed 001's. "Added:" marks what it does not have, "Deviation:" what it has otherwise.
-- (WITHOUT ROWID is SQLite's; the loader leaves it out for PostgreSQL.)
-- The seed's low-cardinality indexes are partial or absent: they cost a quarter of all commits and bytes,
-- and no question needs them (measured). A turn's children are found by its place, not by parent_turn_id,
-- and turns by time through their ids, which are ordered by it.

-- Added: linear runs of turns. A turn lies at (segment, depth); a segment leaves its parent after fork_depth.
CREATE TABLE segments (
    id INTEGER PRIMARY KEY,
    root_id TEXT NOT NULL,
    parent_segment_id INTEGER REFERENCES segments(id),
    fork_depth INTEGER NOT NULL DEFAULT 0       -- the last depth that is shared with the parent segment
);

CREATE INDEX idx_segments_parent ON segments(parent_segment_id, fork_depth) WHERE parent_segment_id IS NOT NULL;
CREATE INDEX idx_segments_root ON segments(root_id);

-- One exchange, from query to response: the addressable unit. Turns form a tree.
CREATE TABLE turns (
    id TEXT PRIMARY KEY NOT NULL,                        -- ULID
    parent_turn_id TEXT REFERENCES turns(id),   -- null for a root

    turn_type TEXT NOT NULL DEFAULT 'normal' CHECK (turn_type IN ('normal', 'compaction')),
    status TEXT NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'streaming', 'completed', 'failed')),

    started_at INTEGER NOT NULL,                -- Unix ms, as all times
    completed_at INTEGER,

    model TEXT,
    provider TEXT,
    role TEXT NOT NULL DEFAULT 'unified',       -- 'manager' | 'worker' | 'unified'

    toolset_name TEXT,
    tools_available TEXT,                       -- JSON array of names; null: unknown
    permissions_granted TEXT,                   -- JSON
    permissions_used TEXT,                      -- JSON

    input_tokens INTEGER,                       -- without cache; null: unknown
    output_tokens INTEGER,                      -- with reasoning
    cached_input_tokens INTEGER,
    cache_write_tokens INTEGER,
    reasoning_tokens INTEGER,                   -- part of output_tokens
    total_tokens INTEGER,

    query_message_ids TEXT,                     -- JSON array; set when the turn is sealed
    response_message_id TEXT,                   -- set when the turn is sealed

    has_children INTEGER NOT NULL DEFAULT 0,    -- kept up with each child; `verify` recomputes it
    tool_call_count INTEGER NOT NULL DEFAULT 0,

    source_event_id TEXT,
    workspace_path TEXT,

    -- Added: the place in the tree. A segment is a linear run of turns, so that an ancestry of 10,000 turns
    -- is a few range scans and a fork is one row.
    root_id TEXT NOT NULL,                      -- the tree; every row carries it: the key to shard by
    segment_id INTEGER NOT NULL REFERENCES segments(id),
    depth INTEGER NOT NULL,                     -- how many turns from the root to here, both included
    thread_tokens INTEGER,                      -- the parent's thread_tokens and this turn's total_tokens
    system_depth INTEGER NOT NULL DEFAULT 0,    -- depth of the turn that carries the system prompt; 0: none
    compaction_depth INTEGER NOT NULL DEFAULT 0,-- depth of the newest compaction up to here; 0: none

    -- Added: the columns of seed 001's `threads`, which is a view here
    persona_id TEXT,
    system_prompt_hash TEXT,
    thread_key TEXT,

    error TEXT,                                 -- Added: why a turn failed
    native_id TEXT,                             -- Added: its id in the agent that it came from
    -- Added: the seal, null while the turn is live. The hash is over the turn's facts, its parent's hash and a
    -- salted commitment to each of its parts. All salts come from one random seed; erasing a part will replace
    -- the seed by the other parts' salts and the lost part's commitment, and the hash still holds.
    turn_hash BLOB,
    seal_salt BLOB,
    seal_seq INTEGER,                           -- its log entry; 0: read from a source that may go on, not sealed yet
    evidence TEXT,                              -- Added: where it was read, see `captures`
    session_label TEXT,                         -- Added: its home, the session in which it was written first
    messages_before INTEGER NOT NULL DEFAULT 0, -- Added: messages of its thread before it; `verify` recomputes it

    CHECK ((seal_seq IS NULL) = (turn_hash IS NULL)),
    CHECK ((seal_seq IS NULL) = (seal_salt IS NULL)),
    CHECK ((seal_seq IS NULL) = (status IN ('pending', 'streaming')))
);

CREATE UNIQUE INDEX idx_turns_place ON turns(segment_id, depth);
CREATE INDEX idx_turns_type ON turns(segment_id, depth) WHERE turn_type <> 'normal';
CREATE INDEX idx_turns_status ON turns(status) WHERE status = 'failed'; -- live ones have a lease
CREATE INDEX idx_turns_role ON turns(role) WHERE role <> 'unified';
CREATE INDEX idx_turns_source_event ON turns(source_event_id) WHERE source_event_id IS NOT NULL;
CREATE INDEX idx_turns_persona ON turns(persona_id) WHERE persona_id IS NOT NULL;
CREATE UNIQUE INDEX idx_turns_thread_key ON turns(thread_key) WHERE thread_key IS NOT NULL;
CREATE INDEX idx_turns_native ON turns(native_id) WHERE native_id IS NOT NULL;
CREATE INDEX idx_turns_open ON turns(evidence) WHERE seal_seq = 0;

-- Deviation: `threads` is a view. Stored, `ancestry` grows with the square of the depth.

-- Stable labels that point at a thread's head. They contain nothing.
CREATE TABLE sessions (
    label TEXT PRIMARY KEY NOT NULL,
    thread_id TEXT REFERENCES turns(id),        -- Deviation: null before the first turn
    persona_id TEXT NOT NULL DEFAULT 'default',

    is_subagent INTEGER NOT NULL DEFAULT 0,
    parent_session_label TEXT,
    parent_turn_id TEXT REFERENCES turns(id),
    spawn_tool_call_id TEXT,
    task_description TEXT,
    task_status TEXT,                           -- 'pending' | 'running' | 'completed' | 'failed'

    routing_key TEXT,
    origin TEXT,                                -- 'nexus' | 'cursor' | 'claude-code' | …
    origin_session_id TEXT,

    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived', 'deleted'))
);

CREATE INDEX idx_sessions_persona ON sessions(persona_id);
CREATE INDEX idx_sessions_routing ON sessions(routing_key) WHERE routing_key IS NOT NULL;
CREATE INDEX idx_sessions_updated ON sessions(updated_at);
CREATE INDEX idx_sessions_parent ON sessions(parent_session_label) WHERE parent_session_label IS NOT NULL;
CREATE INDEX idx_sessions_origin ON sessions(origin, origin_session_id) WHERE origin IS NOT NULL;
-- one session per spawning call, one spawning call per session
CREATE UNIQUE INDEX idx_sessions_spawn ON sessions(spawn_tool_call_id) WHERE spawn_tool_call_id IS NOT NULL;

-- Messages of a turn, in order.
CREATE TABLE messages (
    n INTEGER PRIMARY KEY,                      -- Added: even number, unique over messages and tool_calls:
                                                -- what the search index points at (VACUUM must not change it)
    id TEXT NOT NULL UNIQUE,                    -- ULID
    turn_id TEXT NOT NULL REFERENCES turns(id) DEFERRABLE INITIALLY DEFERRED, -- a whole turn goes in after its parts
    role TEXT NOT NULL,                         -- 'user' | 'assistant' | 'system' | 'tool'
    content TEXT,
    source TEXT,                                -- 'human' | 'trigger' | 'agent' | 'webhook' | 'cron' | 'event'
    sequence INTEGER NOT NULL,                  -- 0, 1, 2 … within the turn
    created_at INTEGER NOT NULL,
    thinking TEXT,
    context_json TEXT,
    metadata_json TEXT,
    blocks_json TEXT,                           -- Added: order of blocks, where it is not the common one
    lossy INTEGER NOT NULL DEFAULT 0,           -- Added: 1 if a text here lost something; see `originals`
    root_id TEXT NOT NULL,
    native_id TEXT,
    evidence TEXT                               -- Added: `7:1034+562`: capture, first byte, length; several by spaces
);

CREATE UNIQUE INDEX idx_messages_turn ON messages(turn_id, sequence);
CREATE INDEX idx_messages_role ON messages(role, turn_id) WHERE role NOT IN ('user', 'assistant');

-- Tool calls of a turn, in order.
CREATE TABLE tool_calls (
    n INTEGER PRIMARY KEY,                      -- Added: odd number, see messages.n
    id TEXT NOT NULL UNIQUE,                    -- Deviation: ours; the model's own id is native_id (not unique)
    turn_id TEXT NOT NULL REFERENCES turns(id) DEFERRABLE INITIALLY DEFERRED,
    message_id TEXT REFERENCES messages(id),
    tool_name TEXT NOT NULL,
    tool_number INTEGER,
    params_json TEXT NOT NULL,
    result_json TEXT,
    error TEXT,
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN
        ('pending', 'running', 'completed', 'failed',
         'cancelled', 'rejected',               -- Added: as Cursor and Nexus know them
         'abandoned')),                         -- Added: the turn ended first, the outcome is unknown
    spawned_session_label TEXT,
    started_at INTEGER NOT NULL,
    completed_at INTEGER,
    sequence INTEGER NOT NULL,                  -- 0, 1, 2 … within the turn
    lossy INTEGER NOT NULL DEFAULT 0,
    root_id TEXT NOT NULL,
    native_id TEXT,
    evidence TEXT                               -- Added: as in messages: the call, then its result
);

CREATE UNIQUE INDEX idx_tool_calls_turn ON tool_calls(turn_id, sequence);
CREATE INDEX idx_tool_calls_spawned ON tool_calls(spawned_session_label)
    WHERE spawned_session_label IS NOT NULL;

-- What a compaction turn summarised. Exactly one row for each.
CREATE TABLE compactions (
    turn_id TEXT PRIMARY KEY NOT NULL REFERENCES turns(id) DEFERRABLE INITIALLY DEFERRED,
    summary TEXT NOT NULL,                      -- '' for a sliding window
    summarized_through_turn_id TEXT REFERENCES turns(id), -- Deviation: null where those turns are in no source
    first_kept_turn_id TEXT REFERENCES turns(id),
    turns_summarized INTEGER,                   -- from the last compaction's `through` to this one's
    compaction_type TEXT NOT NULL DEFAULT 'summary',
    model TEXT,                                 -- Deviation: null where the agent does not record it
    provider TEXT,
    tokens_before INTEGER,
    tokens_after INTEGER,
    summary_tokens INTEGER,
    summarization_input_tokens INTEGER,
    summarization_output_tokens INTEGER,
    duration_ms INTEGER,
    trigger TEXT,                               -- 'context_limit' | 'manual' | 'periodic'
    metadata_json TEXT,
    first_kept_message_id TEXT REFERENCES messages(id), -- Added: real compactions cut inside a turn
    kept_json TEXT,                             -- Added: JSON array of kept turn ids, if picked one by one
    replacement_json TEXT,                      -- Added: the whole new context, where an agent writes it down
    root_id TEXT NOT NULL
);

-- Every movement of a session's pointer.
CREATE TABLE session_history (
    id INTEGER PRIMARY KEY,                     -- Deviation: the log's sequence number, so never reused
    session_label TEXT NOT NULL REFERENCES sessions(label),
    thread_id TEXT NOT NULL REFERENCES turns(id),
    changed_at INTEGER NOT NULL,
    from_thread_id TEXT REFERENCES turns(id),   -- Added: where it pointed before
    reason TEXT NOT NULL CHECK (reason IN       -- Added: why it moved
        ('advance', 'fork', 'rewind', 'replay', 'merge', 'import', 'recover'))
);

CREATE INDEX idx_session_history_label ON session_history(session_label, changed_at, id);
-- the few moves by which a session left turns behind
CREATE INDEX idx_session_history_left ON session_history(id) WHERE reason IN ('rewind', 'merge', 'import');

-- Other keys of a session. Looked up after the sessions themselves; never a chain.
CREATE TABLE session_aliases (
    alias TEXT PRIMARY KEY NOT NULL,
    session_label TEXT NOT NULL REFERENCES sessions(label),
    created_at INTEGER NOT NULL,
    reason TEXT                                 -- 'identity_promotion' | 'identity_merge' | 'manual'
);

CREATE INDEX idx_session_aliases_target ON session_aliases(session_label);

CREATE TABLE message_files (
    id INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL REFERENCES messages(id),
    kind TEXT NOT NULL,                         -- 'read' | 'written' | 'referenced' | 'attached'
    file_path TEXT NOT NULL,
    line_start INTEGER,
    line_end INTEGER,
    root_id TEXT NOT NULL
);                                              -- Deviation: not unique by line_start: two ranges may start alike

CREATE INDEX idx_message_files_message ON message_files(message_id);
CREATE INDEX idx_message_files_path ON message_files(file_path);

CREATE TABLE message_lints (
    id INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL REFERENCES messages(id),
    file_path TEXT,
    message TEXT,
    lint_source TEXT,
    start_line INTEGER,
    start_col INTEGER,
    end_line INTEGER,
    end_col INTEGER,
    severity TEXT,                              -- 'error' | 'warning' | 'info'
    root_id TEXT NOT NULL
);

CREATE INDEX idx_message_lints_message ON message_lints(message_id);

CREATE TABLE message_codeblocks (
    id INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL REFERENCES messages(id),
    idx INTEGER NOT NULL,
    language TEXT,
    content TEXT NOT NULL,
    file_path TEXT,
    line_start INTEGER,
    line_end INTEGER,
    root_id TEXT NOT NULL,
    UNIQUE (message_id, idx)
);

-- Added: the bytes behind a text that the database could not hold (NUL, lone surrogates, NaN).
CREATE TABLE originals (
    row_id TEXT NOT NULL,                       -- id of the turn, message or tool call
    field TEXT NOT NULL,                        -- its column
    bytes BLOB NOT NULL,
    turn_id TEXT NOT NULL REFERENCES turns(id) DEFERRABLE INITIALLY DEFERRED,
    root_id TEXT NOT NULL,
    PRIMARY KEY (row_id, field)
);

CREATE INDEX idx_originals_turn ON originals(turn_id);

-- Added: everything that was committed, in commit order, without gaps. A later Merkle tree hashes the leaves.
CREATE TABLE log (
    seq INTEGER PRIMARY KEY,                    -- 1, 2, 3 …: the order of commits; wall time is only data
    kind TEXT NOT NULL CHECK (kind IN
        ('seal', 'move', 'session', 'status', 'task', 'alias', 'redact', 'checkpoint')),
    ref TEXT NOT NULL,                          -- the turn, session or alias that it is about
    at INTEGER NOT NULL,
    body TEXT,                                  -- JSON of the facts that no other row keeps for good
    leaf BLOB NOT NULL                          -- SHA-256(0x00 || entry)
);

-- Added: who is writing a live turn. Not part of the record: a row lives as long as the turn is open.
CREATE TABLE leases (
    turn_id TEXT PRIMARY KEY NOT NULL REFERENCES turns(id),
    session_label TEXT NOT NULL REFERENCES sessions(label),
    writer TEXT NOT NULL,                       -- machine and process
    token TEXT NOT NULL,                        -- fencing: a write must name the token it was given
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;

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
    chain_entries INTEGER,                      -- entries from its last one back to the first, by the agent's links
    chain_under_head INTEGER,                   -- how many of them are under the imported head; null: not known
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

-- Added: turns that were read while not all that tells of them was here (a file came late, a copy before its origin),
-- and that do not stand any more. They stay as they were sealed; each has a `status` entry in the log.
CREATE TABLE superseded (
    turn_id TEXT PRIMARY KEY NOT NULL REFERENCES turns(id),
    by_turn_id TEXT REFERENCES turns(id),       -- what stands for it, if it is one turn
    at INTEGER NOT NULL
);

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

-- Added: every call to a model once, however many copies of it there are. Of copies that tell different counts the largest
-- that a model can have used stands: what was told while an answer was being written is less than what was told at its end.
-- Then the earliest, which was there before it was copied. So the order in which sources were read does not matter.
CREATE VIEW usages_once AS
SELECT * FROM usages u
WHERE NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = u.turn_id) AND (u.usage_key IS NULL OR NOT EXISTS (
    SELECT 1 FROM usages o WHERE o.usage_key = u.usage_key AND (o.turn_id <> u.turn_id OR o.sequence <> u.sequence)
        AND (CASE WHEN o.total_tokens BETWEEN 0 AND 1000000000000 THEN -o.total_tokens ELSE 1 END, o.at, o.turn_id, o.sequence)
            < (CASE WHEN u.total_tokens BETWEEN 0 AND 1000000000000 THEN -u.total_tokens ELSE 1 END, u.at, u.turn_id, u.sequence)
        AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = o.turn_id)));

-- Added: what is found beside the texts of messages and calls: titles, summaries, paths of files, and the words of texts
-- whose script has no spaces. Small, made of rows that are here, and no part of the record.
CREATE TABLE search_notes (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,                         -- 'title' | 'summary' | 'path' | 'message' | 'call'
    ref TEXT NOT NULL,                          -- the session, the compaction turn, the path itself, the message, the call
    words TEXT NOT NULL,                        -- in small letters, with spaces between them
    UNIQUE (kind, ref)
);

-- Added: what turns are about, as vectors of a model; up to 1,024 in a row. Made again at will.
CREATE TABLE search_vectors (
    id INTEGER PRIMARY KEY,
    model TEXT NOT NULL,
    is_open INTEGER NOT NULL,                   -- 1: of turns that were not sealed then; they are compared anew once they are
    turn_ids TEXT NOT NULL,                     -- the turns, in order, 26 characters each; one may be there several times
    vectors BLOB NOT NULL                       -- as many vectors: 384 signed bytes each
);

-- Added: how many tokens went where, summed up by quarters of an hour, so that a question about a year is answered at once.
-- Not part of the record: it is made of `usages` and `turns`, up to the log entry that `counted_through` names; what
-- came later is added when it is read. '' stands for what is not known.
CREATE TABLE usage_slots (
    slot INTEGER NOT NULL,                      -- Unix ms / 900,000: days of every time zone begin with one
    session_label TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    prompt_over INTEGER NOT NULL,               -- of the sizes at which prices change, the largest below the prompt's
    status TEXT NOT NULL,                       -- of the turn, as are the following two
    workspace_path TEXT NOT NULL,
    persona_id TEXT NOT NULL,
    calls INTEGER NOT NULL,                     -- calls to a model; a turn that has no `usages` counts as one
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_input_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    total_tokens INTEGER NOT NULL,
    prompt_max INTEGER NOT NULL,                -- tokens of the largest prompt
    PRIMARY KEY (slot, session_label, model, provider, prompt_over, status, workspace_path, persona_id)
) WITHOUT ROWID;

-- Added: the states of tasks and calls, as agents save them through the Agent OS face. None is ever overwritten.
CREATE TABLE saves (
    id INTEGER PRIMARY KEY,                     -- its log entry, which has a commitment to the row
    entity TEXT NOT NULL CHECK (entity IN ('task', 'call')),
    ref TEXT NOT NULL,                          -- the session's label, or the id of the tool call
    session_label TEXT NOT NULL REFERENCES sessions(label),
    status TEXT,                                -- in the agent's words; null: a task that is at work
    is_open INTEGER NOT NULL,                   -- 1: a task or call that has not ended yet
    details TEXT,                               -- of a call: how to go on with it, or what came of it
    start_message_id TEXT REFERENCES messages(id),
    end_message_id TEXT REFERENCES messages(id),
    updated_at INTEGER NOT NULL,                -- as the agent says
    extra TEXT,                                 -- JSON object: what no column holds
    salt BLOB NOT NULL,
    next_id INTEGER REFERENCES saves(id)        -- the save that followed; null: it is so now
);

CREATE INDEX idx_saves_ref ON saves(ref, id);
CREATE INDEX idx_saves_open ON saves(id) WHERE is_open = 1 AND next_id IS NULL;
CREATE INDEX idx_sessions_created ON sessions(created_at, label);

-- Added: sessions, tool calls and messages in the words of Agent OS (seed 004), column by column.
-- A task that nobody saved is a session of another agent: done, unless somebody is writing it.
CREATE VIEW tasks AS
SELECT s.label AS id,
    s.parent_session_label AS parent_task_id,
    CASE WHEN v.id IS NOT NULL THEN v.status
        WHEN s.thread_id IS NULL OR s.task_status IN ('pending', 'running')
            OR EXISTS (SELECT 1 FROM leases l WHERE l.session_label = s.label) THEN NULL
        WHEN t.status = 'failed' OR s.task_status = 'failed' THEN 'failed'
        ELSE 'success' END AS completion_status,
    coalesce((SELECT m.content FROM messages m WHERE m.turn_id = t.root_id AND m.sequence = 0 AND m.role = 'system'
        AND (s.origin IS NULL OR s.origin <> 'agent-os' OR m.source = 'task')), '') AS system_prompt,
    s.created_at,
    coalesce(v.updated_at, s.updated_at) AS updated_at
FROM sessions s LEFT JOIN turns t ON t.id = s.thread_id
    LEFT JOIN saves v ON v.ref = s.label AND v.entity = 'task' AND v.next_id IS NULL;

-- (A session's own turns are looked for in the trees that it has been in: an index on turns.session_label would cost
-- every commit.)
CREATE VIEW calls AS
SELECT c.id,
    t.session_label AS task_id,
    c.tool_name AS ability_name,
    c.params_json AS parameters,
    CASE WHEN c.status = 'running' THEN 'in_progress' WHEN c.status IN ('pending', 'completed') THEN c.status
        ELSE 'failed' END AS status,
    coalesce(v.details, c.result_json, c.error, '') AS details,
    c.started_at AS created_at,
    coalesce(v.updated_at, c.completed_at, c.started_at) AS updated_at,
    coalesce(v.start_message_id, c.message_id, '') AS start_message_id,
    v.end_message_id
FROM (SELECT DISTINCT h.session_label, f.root_id FROM session_history h JOIN turns f ON f.id = h.thread_id
        WHERE h.reason <> 'advance' OR h.from_thread_id IS NULL) r
    JOIN segments g ON g.root_id = r.root_id
    JOIN turns t ON t.segment_id = g.id AND t.session_label = r.session_label
    JOIN tool_calls c ON c.turn_id = t.id
    LEFT JOIN saves v ON v.ref = c.id AND v.entity = 'call' AND v.next_id IS NULL;

-- Agent OS calls it `messages`, which is a table here. (A task's own system prompt is no message of it.)
CREATE VIEW task_messages AS
SELECT m.id,
    t.session_label AS task_id,
    m.role,
    coalesce(m.content, '') AS content,
    m.created_at AS timestamp
FROM (SELECT DISTINCT h.session_label, f.root_id FROM session_history h JOIN turns f ON f.id = h.thread_id
        WHERE h.reason <> 'advance' OR h.from_thread_id IS NULL) r
    JOIN segments g ON g.root_id = r.root_id
    JOIN turns t ON t.segment_id = g.id AND t.session_label = r.session_label
    JOIN messages m ON m.turn_id = t.id
WHERE m.role <> 'tool' AND coalesce(m.source, '') <> 'task';

-- Added: what the faces (faces.sqlite.sql, faces.postgres.sql) look things up by. Kept up by triggers, made again by
-- anybody who deletes it: no part of the record.

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
CREATE INDEX idx_tool_calls_face ON tool_calls(coalesce(native_id, id));
CREATE INDEX idx_usages_message ON usages(message_id) WHERE message_id IS NOT NULL;

-- Added: facts about this ledger itself.
CREATE TABLE ledger_facts (
    name TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
);
INSERT INTO ledger_facts (name, value) VALUES ('searchable_through', '0');
INSERT INTO ledger_facts (name, value) VALUES ('noted', '1'); -- 0: `search_notes` is to be filled
INSERT INTO ledger_facts (name, value) VALUES ('counted_through', '0');

-- Added: sessions that were written from here into an agent's own files, as forks of a turn. When such a file comes back
-- with what the agent added, its beginning is known by these bytes: it is in the record already, up to that turn.
CREATE TABLE written_sessions (
    session_label TEXT PRIMARY KEY NOT NULL,    -- (no reference: a rebuilt ledger knows this before the session)
    turn_id TEXT NOT NULL,                      -- where it was forked
    path TEXT NOT NULL,                         -- the file, as it was written
    head BLOB NOT NULL UNIQUE,                  -- SHA-256 of its first line: by it a file is recognised
    size_bytes INTEGER NOT NULL,
    digest BLOB NOT NULL,                       -- SHA-256 of all that was written
    written_at INTEGER NOT NULL
);
