-- name: last_note
SELECT coalesce(max(id), 0) FROM search_notes;

-- name: put_note
INSERT INTO search_notes (id, kind, ref, words)
VALUES ((SELECT coalesce(max(id), 0) + 1 FROM search_notes), :kind, :ref, :words)
ON CONFLICT (kind, ref) DO NOTHING;

-- name: note_words
SELECT words FROM search_notes WHERE kind = :kind AND ref = :ref;

-- name: drop_note
DELETE FROM search_notes WHERE kind = :kind AND ref = :ref;

-- name: drop_all_notes
DELETE FROM search_notes;

-- name: all_titles
SELECT session_label, title FROM session_details WHERE title IS NOT NULL;

-- name: all_summaries
SELECT turn_id, summary FROM compactions;

-- name: all_paths
SELECT DISTINCT file_path, file_path FROM message_files;

-- name: all_special_messages
-- Messages with anything but ASCII in them.
SELECT id, content, thinking FROM messages
WHERE octet_length(content) > length(content) OR octet_length(thinking) > length(thinking);

-- name: all_special_calls
SELECT id, params_json, result_json, error FROM tool_calls
WHERE octet_length(params_json) > length(params_json) OR octet_length(result_json) > length(result_json)
    OR octet_length(error) > length(error);
