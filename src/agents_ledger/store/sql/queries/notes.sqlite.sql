-- name: index_notes
-- Puts new notes into their index: all in one statement, because FTS5 writes out what it has sorted after each.
INSERT INTO search_noted (rowid, words) SELECT id, words FROM search_notes WHERE id > :after ORDER BY id;

-- name: unindex_note
INSERT INTO search_noted (search_noted, rowid, words)
SELECT 'delete', id, words FROM search_notes WHERE kind = :kind AND ref = :ref;

-- name: unindex_notes
INSERT INTO search_noted (search_noted) VALUES ('delete-all');
