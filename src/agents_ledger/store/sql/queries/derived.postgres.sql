-- name: broken_links
-- Nothing to ask, see derived.sqlite.sql.
SELECT name, name, name, name FROM ledger_facts WHERE 1 = 0;
