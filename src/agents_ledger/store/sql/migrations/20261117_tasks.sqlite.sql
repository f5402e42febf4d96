CREATE TRIGGER saves_fixed BEFORE UPDATE OF id, entity, ref, session_label, status, is_open, details, start_message_id,
    end_message_id, updated_at, extra, salt ON saves
BEGIN SELECT RAISE(ABORT, 'ledger: a save never changes'); END;
CREATE TRIGGER saves_followed BEFORE UPDATE OF next_id ON saves WHEN OLD.next_id IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'ledger: a save is followed once'); END;
CREATE TRIGGER saves_kept BEFORE DELETE ON saves BEGIN SELECT RAISE(ABORT, 'ledger: saves are never deleted'); END;
