-- The tables of seed 001 (the Nexus ledger), word for word: what a reader of that document asks for.

CREATE TABLE turns (
    id TEXT PRIMARY KEY,              -- ULID
    parent_turn_id TEXT,              -- Previous turn (null for root)

    -- Turn type
    turn_type TEXT NOT NULL DEFAULT 'normal',  -- 'normal' | 'compaction'

    -- Status
    status TEXT NOT NULL DEFAULT 'pending',  -- 'pending' | 'streaming' | 'completed' | 'failed'

    -- Timing (Unix ms)
    started_at INTEGER NOT NULL,
    completed_at INTEGER,

    -- Model/Provider (what was used for this turn)
    model TEXT,
    provider TEXT,                    -- 'anthropic' | 'openai' | 'google' | etc.

    -- Role (what type of agent)
    role TEXT NOT NULL DEFAULT 'unified',  -- 'manager' | 'worker' | 'unified'

    -- Toolset and Permissions (snapshot of what was available)
    toolset_name TEXT,                -- Named toolset: 'manager' | 'worker' | 'full' | custom
    tools_available TEXT,             -- JSON array of tool names actually available
    permissions_granted TEXT,         -- JSON of IAM permissions applied
    permissions_used TEXT,            -- JSON of IAM permissions actually exercised

    -- Token usage (for this turn only)
    input_tokens INTEGER,
    output_tokens INTEGER,
    cached_input_tokens INTEGER,      -- Cache reads
    cache_write_tokens INTEGER,       -- Cache writes
    reasoning_tokens INTEGER,         -- Extended thinking tokens
    total_tokens INTEGER,             -- Sum total

    -- Message tracking (denormalized for fast lookup)
    query_message_ids TEXT,           -- JSON array of input message IDs
    response_message_id TEXT,         -- Final assistant message ID

    -- Tree structure
    has_children INTEGER DEFAULT 0,   -- Has this turn been forked from?
    tool_call_count INTEGER DEFAULT 0,

    -- Source tracking
    source_event_id TEXT,             -- NEX event that triggered this turn
    workspace_path TEXT,              -- Workspace root (supports future sandboxing)

    FOREIGN KEY (parent_turn_id) REFERENCES turns(id)
);

CREATE TABLE threads (
    turn_id TEXT PRIMARY KEY,         -- Same as the turn it represents

    -- Accumulated data (denormalized for fast queries)
    ancestry TEXT,                    -- JSON array of turn IDs from root to this turn
    total_tokens INTEGER,             -- Sum of all ancestor turn tokens
    depth INTEGER,                    -- How many turns deep

    -- Config applied to this thread
    persona_id TEXT,                  -- Identity & permissions bundle
    system_prompt_hash TEXT,          -- Hash of system prompt (for cache tracking)

    -- Routing
    thread_key TEXT UNIQUE,           -- Structured key for addressing

    FOREIGN KEY (turn_id) REFERENCES turns(id)
);

CREATE TABLE sessions (
    label TEXT PRIMARY KEY,           -- Stable identifier (e.g., "main", "code-worker-1")
    thread_id TEXT NOT NULL,          -- Current thread head

    -- Persona
    persona_id TEXT NOT NULL,         -- Which persona owns this session

    -- Subagent tracking (only if this session is a subagent)
    is_subagent INTEGER DEFAULT 0,
    parent_session_label TEXT,        -- Parent session that spawned this
    parent_turn_id TEXT,              -- Turn in parent where spawn happened
    spawn_tool_call_id TEXT,          -- Tool call ID linking parent → child
    task_description TEXT,            -- Task description from spawn
    task_status TEXT,                 -- 'pending' | 'running' | 'completed' | 'failed'

    -- Routing context
    routing_key TEXT,                 -- IAM-assigned routing key

    -- Origin tracking (where this session came from)
    origin TEXT,                      -- 'nexus' | 'cursor' | 'claude-code'
    origin_session_id TEXT,           -- Original ID if imported (e.g., Cursor composerId)

    -- Timing
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,

    -- Status
    status TEXT NOT NULL DEFAULT 'active',  -- 'active' | 'archived' | 'deleted'

    FOREIGN KEY (thread_id) REFERENCES threads(turn_id),
    FOREIGN KEY (parent_turn_id) REFERENCES turns(id)
);

CREATE TABLE messages (
    id TEXT PRIMARY KEY,              -- ULID
    turn_id TEXT NOT NULL,            -- Parent turn

    -- Content
    role TEXT NOT NULL,               -- 'user' | 'assistant' | 'system' | 'tool'
    content TEXT,                     -- Message content (may be null for tool results)

    -- Source (for non-assistant messages)
    source TEXT,                      -- 'human' | 'trigger' | 'agent' | 'webhook' | 'cron' | 'event'

    -- Ordering
    sequence INTEGER NOT NULL,        -- Order within turn

    -- Timing
    created_at INTEGER NOT NULL,

    -- Rich metadata
    thinking TEXT,                    -- Extended thinking content (if applicable)
    context_json TEXT,                -- Context snapshot: assembled context, cortex injections, attached files
    metadata_json TEXT,               -- Catch-all for additional metadata

    FOREIGN KEY (turn_id) REFERENCES turns(id)
);

CREATE TABLE tool_calls (
    id TEXT PRIMARY KEY,              -- Tool call ID (from LLM or generated)
    turn_id TEXT NOT NULL,            -- Parent turn
    message_id TEXT,                  -- Assistant message that made this call

    -- Tool info
    tool_name TEXT NOT NULL,
    tool_number INTEGER,              -- Numeric tool ID (if applicable)
    params_json TEXT NOT NULL,        -- Parameters as JSON

    -- Result
    result_json TEXT,                 -- Result as JSON
    error TEXT,                       -- Error message if failed

    -- Status
    status TEXT NOT NULL DEFAULT 'pending',  -- 'pending' | 'running' | 'completed' | 'failed'

    -- Subagent spawning
    spawned_session_label TEXT,       -- Session label if this tool spawned a subagent

    -- Timing
    started_at INTEGER NOT NULL,
    completed_at INTEGER,

    -- Ordering
    sequence INTEGER NOT NULL,        -- Order within turn

    FOREIGN KEY (turn_id) REFERENCES turns(id),
    FOREIGN KEY (message_id) REFERENCES messages(id)
);

CREATE TABLE compactions (
    turn_id TEXT PRIMARY KEY,                    -- The compaction turn (FK to turns)

    -- What was summarized
    summary TEXT NOT NULL,                       -- LLM-generated summary of prior turns
    summarized_through_turn_id TEXT NOT NULL,    -- Last turn included in summary
    first_kept_turn_id TEXT,                     -- First turn kept in fresh context
    turns_summarized INTEGER,                    -- Count of turns that were summarized

    -- Strategy
    compaction_type TEXT NOT NULL DEFAULT 'summary',  -- 'summary' | 'sliding_window' | 'selective' | ...

    -- Model used for summarization
    -- (May differ from session model — e.g., use a cheaper model for summaries)
    model TEXT NOT NULL,
    provider TEXT,

    -- Token metrics: the compaction's impact on context
    tokens_before INTEGER,                       -- Total context tokens before compaction
    tokens_after INTEGER,                        -- Total context tokens after compaction
    summary_tokens INTEGER,                      -- Tokens in the generated summary

    -- Token metrics: the summarization call itself
    summarization_input_tokens INTEGER,          -- Tokens sent to summarizer
    summarization_output_tokens INTEGER,         -- Tokens received from summarizer

    -- Performance
    duration_ms INTEGER,                         -- How long summarization took

    -- Why it happened
    trigger TEXT,                                 -- 'context_limit' | 'manual' | 'periodic'

    -- Extensible
    metadata_json TEXT,                          -- Strategy params, version info, etc.

    FOREIGN KEY (turn_id) REFERENCES turns(id),
    FOREIGN KEY (summarized_through_turn_id) REFERENCES turns(id),
    FOREIGN KEY (first_kept_turn_id) REFERENCES turns(id)
);

CREATE TABLE session_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_label TEXT NOT NULL,
    thread_id TEXT NOT NULL,          -- Thread head the session pointed to
    changed_at INTEGER NOT NULL,      -- When the pointer moved (Unix ms)

    FOREIGN KEY (session_label) REFERENCES sessions(label),
    FOREIGN KEY (thread_id) REFERENCES threads(turn_id)
);

CREATE TABLE session_aliases (
    alias TEXT PRIMARY KEY,              -- The alternative session key
    session_label TEXT NOT NULL,         -- The canonical session it resolves to
    created_at INTEGER NOT NULL,
    reason TEXT,                         -- 'identity_promotion' | 'identity_merge' | 'manual'

    FOREIGN KEY (session_label) REFERENCES sessions(label)
);

CREATE TABLE message_files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id TEXT NOT NULL,

    kind TEXT NOT NULL,               -- 'read' | 'written' | 'referenced' | 'attached'
    file_path TEXT NOT NULL,
    line_start INTEGER,               -- Optional line range
    line_end INTEGER,

    FOREIGN KEY (message_id) REFERENCES messages(id),
    UNIQUE(message_id, kind, file_path, line_start)
);

CREATE TABLE message_lints (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id TEXT NOT NULL,

    file_path TEXT,
    message TEXT,
    lint_source TEXT,                  -- Linter source (eslint, pyright, etc.)
    start_line INTEGER,
    start_col INTEGER,
    end_line INTEGER,
    end_col INTEGER,
    severity TEXT,                    -- 'error' | 'warning' | 'info'

    FOREIGN KEY (message_id) REFERENCES messages(id)
);

CREATE TABLE message_codeblocks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id TEXT NOT NULL,

    idx INTEGER NOT NULL,             -- Order in message
    language TEXT,
    content TEXT NOT NULL,
    file_path TEXT,                   -- Target file if applicable
    line_start INTEGER,
    line_end INTEGER,

    FOREIGN KEY (message_id) REFERENCES messages(id),
    UNIQUE(message_id, idx)
);
