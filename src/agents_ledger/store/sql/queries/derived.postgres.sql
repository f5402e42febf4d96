-- name: broken_links
-- Nothing to ask, see derived.sqlite.sql.
SELECT name, name, name, name FROM ledger_facts WHERE 1 = 0;

-- name: all_columns
-- Of every table: its columns, whether they hold texts, and their places in the primary key (counted from 0).
SELECT t.relname, c.attname, c.atttypid = CAST('text' AS REGTYPE), array_position(k.indkey::INT2[], c.attnum)
FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped
LEFT JOIN pg_index k ON k.indrelid = t.oid AND k.indisprimary
WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::REGNAMESPACE ORDER BY t.relname, c.attnum;

-- name: triggers_and_views
-- Those that are there and switched on: kind, name (of a view elsewhere with its schema), a trigger's table. The server
-- keeps no text of theirs, only what it made of it.
SELECT 'trigger', g.tgname, t.relname, NULL FROM pg_trigger g JOIN pg_class t ON t.oid = g.tgrelid
WHERE NOT g.tgisinternal AND g.tgenabled IN ('O', 'A') AND t.relnamespace = current_schema()::REGNAMESPACE
UNION ALL
SELECT 'view', CASE n.nspname WHEN current_schema() THEN '' ELSE n.nspname || '.' END || v.relname, '', NULL
FROM pg_class v JOIN pg_namespace n ON n.oid = v.relnamespace
WHERE v.relkind = 'v' AND n.nspname NOT IN ('pg_catalog', 'information_schema');
