-- name: broken_links
-- References that lead nowhere, each kind once: its table and column, and what it should lead to. (Constraints can be
-- switched off in SQLite, PostgreSQL keeps its own.)
SELECT DISTINCT k."table", f."from", f."table", f."to"
FROM pragma_foreign_key_check k JOIN pragma_foreign_key_list(k."table") f ON f.id = k.fkid ORDER BY 1, 2;

-- name: all_columns
-- Of every table: its columns, whether they hold texts, and their places in the primary key.
SELECT t.name, c.name, c.type = 'TEXT', nullif(c.pk, 0)
FROM pragma_table_list t JOIN pragma_table_info(t.name) c
WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite%' ORDER BY t.name, c.cid;

-- name: triggers_and_views
-- Those that are there: kind, name, a trigger's table, the text that made it.
SELECT type, name, CASE type WHEN 'trigger' THEN tbl_name ELSE '' END, sql
FROM sqlite_schema WHERE type IN ('trigger', 'view');
