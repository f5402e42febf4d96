-- A history may begin with a compaction: the turns that it summarised are in no source.
ALTER TABLE compactions ALTER COLUMN summarized_through_turn_id DROP NOT NULL;
