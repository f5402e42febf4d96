-- name: broken_links
-- Nothing to ask, see derived.sqlite.sql.
SELECT name, name, name, name FROM ledger_facts WHERE 1 = 0;

-- name: all_columns
-- Of every table: its columns, whether they hold texts, and their places in the primary key (counted from 0).
SELECT t.relname, c.attname, c.atttypid = CAST('text' AS REGTYPE), array_position(k.indkey::INT2[], c.attnum)
FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped
LEFT JOIN pg_index k ON k.indrelid = t.oid AND k.indisprimary
WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::REGNAMESPACE ORDER BY t.relname, c.attnum;
