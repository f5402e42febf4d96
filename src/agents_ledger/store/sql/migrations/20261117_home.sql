-- Every turn knows its home: the session in which it was written first. Questions about many turns (whose project, which
-- agent) are then one join, not a walk up the tree.
ALTER TABLE turns ADD COLUMN session_label TEXT;
