-- How many entries a source's active chain has, and how many of them are under the head that was imported.
ALTER TABLE captures ADD COLUMN chain_entries INTEGER;
ALTER TABLE captures ADD COLUMN chain_under_head INTEGER;
