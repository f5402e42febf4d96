-- A turn that stays open may have open calls: those of an agent that is at work.
CREATE OR REPLACE FUNCTION ledger_check_seal(turn turns) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF turn.seal_seq IS NULL THEN
        RETURN;
    END IF;
    IF turn.seal_seq > 0
        AND EXISTS (SELECT 1 FROM tool_calls WHERE turn_id = turn.id AND status IN ('pending', 'running')) THEN
        RAISE EXCEPTION 'ledger: open tool calls' USING ERRCODE = 'LDG01';
    END IF;
    IF (turn.turn_type = 'compaction') <> EXISTS (SELECT 1 FROM compactions WHERE turn_id = turn.id) THEN
        RAISE EXCEPTION 'ledger: a compaction turn has exactly one compactions row, others have none'
            USING ERRCODE = 'LDG01';
    END IF;
END $$;

CREATE TRIGGER saves_fixed BEFORE UPDATE OF id, entity, ref, session_label, status, is_open, details, start_message_id,
    end_message_id, updated_at, extra, salt ON saves
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse('a save never changes');
CREATE TRIGGER saves_followed BEFORE UPDATE OF next_id ON saves FOR EACH ROW WHEN (OLD.next_id IS NOT NULL)
    EXECUTE FUNCTION ledger_refuse('a save is followed once');
CREATE TRIGGER saves_kept BEFORE DELETE ON saves
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse('saves are never deleted');

-- The words of Agent OS under their own names: SET search_path = agent_os, public
CREATE SCHEMA agent_os;
CREATE VIEW agent_os.tasks AS SELECT * FROM tasks;
CREATE VIEW agent_os.calls AS SELECT * FROM calls;
CREATE VIEW agent_os.messages AS SELECT * FROM task_messages;
