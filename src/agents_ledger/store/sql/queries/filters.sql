-- The optional filters, once for every statement and both engines: `{filters}` in a statement stands for the fragment.
-- A parameter that is null asks for nothing. They speak of a turn `t`, its session `s` and that one's details `d`;
-- time ranges are always bound, so that they can be a range of an index.

-- fragment: session_filters
{about_session}
AND (CAST(:f_turn_status AS TEXT) IS NULL OR t.status = :f_turn_status)

-- fragment: about_session
(CAST(:f_origin AS TEXT) IS NULL OR lower(s.origin) LIKE :f_origin ESCAPE '!')
AND (CAST(:f_channel AS TEXT) IS NULL OR lower(d.channel) LIKE :f_channel ESCAPE '!'
    OR (d.channel IS NULL AND ':' || lower(coalesce(s.routing_key, d.routing_key)) || ':' LIKE :f_channel_part ESCAPE '!'))
AND (CAST(:f_project AS TEXT) IS NULL
    OR replace(lower(coalesce(d.project, t.workspace_path)), '\', '/') || '/' LIKE :f_project ESCAPE '!'
    OR replace(lower(coalesce(d.project, t.workspace_path)), '\', '/') || '/' LIKE :f_project_end ESCAPE '!')
AND (CAST(:f_subagents AS INTEGER) IS NULL OR coalesce(s.is_subagent, 0) = :f_subagents)
AND (CAST(:f_session_status AS TEXT) IS NULL OR s.status = :f_session_status)
AND (CAST(:f_persona AS TEXT) IS NULL
    OR lower(coalesce(t.persona_id, d.persona, s.persona_id)) LIKE :f_persona ESCAPE '!')

-- fragment: status_in_session
-- The status of a session's head `t`, or of a turn that is being written there.
(CAST(:f_turn_status AS TEXT) IS NULL OR t.status = :f_turn_status OR EXISTS (SELECT 1 FROM leases l
    JOIN turns v ON v.id = l.turn_id WHERE l.session_label = s.label AND v.status = :f_turn_status))

-- fragment: filters
{session_filters}
AND (CAST(:f_model AS TEXT) IS NULL OR {used_model})

-- fragment: used_model
-- A turn that went from one model to another used both: a row of `t` has one, its calls may have others.
(lower(t.model) LIKE :f_model ESCAPE '!' OR EXISTS (SELECT 1 FROM usages u
    WHERE u.turn_id = t.id AND lower(u.model) LIKE :f_model ESCAPE '!'))

-- fragment: session_used_model
-- The same of a session `s` with its head `t`: that one first, then what it has written, also what it went back from,
-- then the thread up to its head, which a fork has from others.
(CAST(:f_model AS TEXT) IS NULL OR {used_model}
    OR EXISTS (SELECT 1 FROM session_segments w JOIN turns t ON t.segment_id = w.segment_id
        WHERE w.session_label = s.label AND t.session_label = s.label AND {used_model}
            AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.turn_id = t.id))
    OR EXISTS (SELECT 1 FROM turns head JOIN segment_paths p ON p.segment_id = head.segment_id
        JOIN turns t ON t.segment_id = p.on_segment_id AND t.depth <= p.through AND t.depth <= head.depth
        WHERE head.id = s.thread_id AND {used_model}))
