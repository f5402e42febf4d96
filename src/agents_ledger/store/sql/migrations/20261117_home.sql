-- Every turn knows its home: the session in which it was written first. Questions about many turns (whose project, which
-- agent) are then one join, not a walk up the tree.
ALTER TABLE turns ADD COLUMN session_label TEXT;

UPDATE turns SET session_label = first.session_label
FROM (SELECT h.thread_id, h.session_label
      FROM session_history h JOIN (SELECT thread_id, min(id) AS id FROM session_history GROUP BY thread_id) f ON f.id = h.id
     ) AS first
WHERE first.thread_id = turns.id;
