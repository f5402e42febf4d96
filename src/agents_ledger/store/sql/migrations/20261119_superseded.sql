-- Turns that were read while not all that tells of them was here, and that do not stand any more.
CREATE TABLE superseded (
    turn_id TEXT PRIMARY KEY NOT NULL REFERENCES turns(id),
    by_turn_id TEXT REFERENCES turns(id),
    at INTEGER NOT NULL
);
