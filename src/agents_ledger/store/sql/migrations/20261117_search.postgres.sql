-- The same parts of texts are words on both engines, and have weights.
DROP VIEW search_texts;
CREATE VIEW search_texts AS
SELECT n, translate(left(content, 60000), signs, blanks) AS content,
    translate(left(thinking, 40000), signs, blanks) AS thinking, NULL AS params, NULL AS result
FROM messages, (VALUES ('!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32))) AS between_words(signs, blanks)
UNION ALL
SELECT n, NULL, NULL,
    translate(tool_name || ' ' || replace(replace(left(params_json, 40000), '\n', ' '), '\t', ' '), signs, blanks),
    translate(concat_ws(' ', replace(replace(left(result_json, 60000), '\n', ' '), '\t', ' '), left(error, 10000)),
        signs, blanks)
FROM tool_calls, (VALUES ('!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32))) AS between_words(signs, blanks);
CREATE INDEX idx_search_notes_words ON search_notes USING gin(to_tsvector('simple'::regconfig, words));
