-- What counts more: dialogue before thinking, tools, their results.

-- fragment: weighted
setweight(to_tsvector('simple', coalesce(s.content, '')), 'A')
    || setweight(to_tsvector('simple', coalesce(s.thinking, '')), 'B')
    || setweight(to_tsvector('simple', coalesce(s.params, '')), 'C') || to_tsvector('simple', coalesce(s.result, ''))
