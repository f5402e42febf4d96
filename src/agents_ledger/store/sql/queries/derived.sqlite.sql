-- name: broken_links
-- References that lead nowhere, each kind once: its table and column, and what it should lead to. (Constraints can be
-- switched off in SQLite, PostgreSQL keeps its own.)
SELECT DISTINCT k."table", f."from", f."table", f."to"
FROM pragma_foreign_key_check k JOIN pragma_foreign_key_list(k."table") f ON f.id = k.fkid ORDER BY 1, 2;
