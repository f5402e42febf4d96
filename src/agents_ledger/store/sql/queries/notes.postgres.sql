-- The index over notes is one of their table: there is nothing to feed.

-- name: index_notes
SELECT CAST(:after AS INTEGER);

-- name: unindex_note
SELECT CAST(:kind AS TEXT), CAST(:ref AS TEXT);

-- name: unindex_notes
SELECT 1;
