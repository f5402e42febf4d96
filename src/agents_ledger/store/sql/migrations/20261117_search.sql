-- Titles, summaries, paths and texts without spaces are found; turns can be compared by what they are about.

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

-- what is here already is put in when the index is fed next
INSERT INTO ledger_facts (name, value)
SELECT 'noted', CASE WHEN EXISTS (SELECT 1 FROM turns) THEN '0' ELSE '1' END;
