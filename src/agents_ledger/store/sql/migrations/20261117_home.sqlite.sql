-- Runs of the search index are merged eight at a time: half of the merging of four, for a few more runs to look into.
INSERT INTO search (search, rank) VALUES ('automerge', 8);
