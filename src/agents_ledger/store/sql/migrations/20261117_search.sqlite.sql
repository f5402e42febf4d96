-- FTS5 over the notes.
CREATE VIRTUAL TABLE search_noted USING fts5(words, content='search_notes', content_rowid='id', tokenize='unicode61');
