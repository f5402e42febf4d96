UPDATE turns SET session_label = first.session_label
FROM (SELECT h.thread_id, h.session_label
      FROM session_history h JOIN (SELECT thread_id, min(id) AS id FROM session_history GROUP BY thread_id) f ON f.id = h.id
     ) AS first
WHERE first.thread_id = turns.id;

-- Runs of the search index are merged eight at a time: half of the merging of four, for a few more runs to look into.
INSERT INTO search (search, rank) VALUES ('automerge', 8);
