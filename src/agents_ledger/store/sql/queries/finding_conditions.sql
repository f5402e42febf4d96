-- Search: what is asked beside the words. Lists are JSON arrays, of patterns but for ids, labels and paths; an empty one
-- asks for nothing. Nothing is joined for what is not asked: a common word has a million rows to go through.

-- fragment: turn_conditions
-- Of a turn `t`.
t.id >= :f_since_id AND t.id < :f_until_id
AND (:is_filtered = 0 OR EXISTS (SELECT 1 FROM (SELECT 1 AS one) AS filtered
    LEFT JOIN sessions s ON s.label = t.session_label LEFT JOIN session_details d ON d.session_label = t.session_label
    WHERE {filters}))
AND (:is_homed = 0 OR t.session_label IN (SELECT s.label FROM sessions s
    LEFT JOIN session_details d ON d.session_label = s.label LEFT JOIN turns h ON h.id = s.thread_id
    WHERE (:origins = '[]' OR EXISTS (SELECT 1 FROM MEMBERS(:origins) WHERE lower(s.origin) LIKE wanted.value ESCAPE '!'))
    AND NOT EXISTS (SELECT 1 FROM MEMBERS(:not_origins) WHERE lower(s.origin) LIKE wanted.value ESCAPE '!')
    AND (:projects = '[]' OR EXISTS (SELECT 1 FROM MEMBERS(:projects)
        WHERE '/' || replace(lower(coalesce(d.project, h.workspace_path)), '\', '/') || '/' LIKE wanted.value ESCAPE '!'))
    AND NOT EXISTS (SELECT 1 FROM MEMBERS(:not_projects)
        WHERE '/' || replace(lower(coalesce(d.project, h.workspace_path)), '\', '/') || '/' LIKE wanted.value ESCAPE '!')
))
AND (:models = '[]' OR EXISTS (SELECT 1 FROM MEMBERS(:models) WHERE {used_wanted_model}))
AND (:not_models = '[]' OR NOT EXISTS (SELECT 1 FROM MEMBERS(:not_models) WHERE {used_wanted_model}))
AND (:turns = '[]' OR t.id IN_LIST(:turns) OR t.session_label IN_LIST(:sessions))
AND (:not_sessions = '[]' OR t.session_label IS NULL OR NOT t.session_label IN_LIST(:not_sessions))
AND (:paths = '[]' OR t.id IN (SELECT fm.turn_id FROM message_files mf JOIN messages fm ON fm.id = mf.message_id
    WHERE mf.file_path IN_LIST(:paths)))
AND (:not_paths = '[]' OR NOT t.id IN (SELECT fm.turn_id FROM message_files mf JOIN messages fm ON fm.id = mf.message_id
    WHERE mf.file_path IN_LIST(:not_paths)))

-- fragment: used_wanted_model
-- As `used_model` has it.
(lower(t.model) LIKE wanted.value ESCAPE '!' OR EXISTS (SELECT 1 FROM usages u
    WHERE u.turn_id = t.id AND lower(u.model) LIKE wanted.value ESCAPE '!'))

-- fragment: part_conditions
-- Of a message `m` or a tool call `c` (the other one is null) as well.
{turn_conditions}
AND (:roles = '[]' OR coalesce(m.role, 'tool') IN_LIST(:roles))
AND (:not_roles = '[]' OR NOT coalesce(m.role, 'tool') IN_LIST(:not_roles))
AND (:tools = '[]' OR EXISTS (SELECT 1 FROM MEMBERS(:tools) WHERE lower(c.tool_name) LIKE wanted.value ESCAPE '!'))
AND (:not_tools = '[]'
    OR NOT EXISTS (SELECT 1 FROM MEMBERS(:not_tools) WHERE lower(c.tool_name) LIKE wanted.value ESCAPE '!'))
AND (:literals = '[]' OR NOT EXISTS (SELECT 1 FROM MEMBERS(:literals) WHERE NOT lower(coalesce(m.content, '') || ' '
    || coalesce(m.thinking, '') || coalesce(c.params_json, '') || ' ' || coalesce(c.result_json, '') || ' '
    || coalesce(c.error, '')) LIKE wanted.value ESCAPE '!'))
