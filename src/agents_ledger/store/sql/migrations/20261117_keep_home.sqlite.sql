-- The home of a sealed turn stays, as all of it does. (PostgreSQL's guard knows every column.)
CREATE TRIGGER turns_home BEFORE UPDATE OF session_label ON turns WHEN OLD.seal_seq > 0
BEGIN SELECT RAISE(ABORT, 'ledger: the turn is sealed'); END;
