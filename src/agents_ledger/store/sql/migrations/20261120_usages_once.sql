-- Which of several copies of a call counts follows from what they say, not from the ids of their turns.
DROP VIEW usages_once;
CREATE VIEW usages_once AS
SELECT * FROM usages u
WHERE NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = u.turn_id) AND (u.usage_key IS NULL OR NOT EXISTS (
    SELECT 1 FROM usages o WHERE o.usage_key = u.usage_key AND (o.turn_id <> u.turn_id OR o.sequence <> u.sequence)
        AND (CASE WHEN o.total_tokens BETWEEN 0 AND 1000000000000 THEN -o.total_tokens ELSE 1 END, o.at, o.turn_id, o.sequence)
            < (CASE WHEN u.total_tokens BETWEEN 0 AND 1000000000000 THEN -u.total_tokens ELSE 1 END, u.at, u.turn_id, u.sequence)
        AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = o.turn_id)));
-- The sums were made by the old rule: they are made anew, by whoever writes next.
DELETE FROM usage_slots;
UPDATE ledger_facts SET value = '0' WHERE name = 'counted_through';
