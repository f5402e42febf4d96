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
INSERT INTO ledger_facts (name, value) VALUES ('counted_through', '0');
