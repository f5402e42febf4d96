"""Questions to the faces by key, against the same questions to the ledger's own tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
from msgspec import Struct

from agents_ledger import Ledger
from agents_ledger.capture.sync import Sync
from agents_ledger.model.formats import Machine
from bench.corpora import corpus_a
from bench.figures import Row, Setup, at_most, best, ms, seconds

_CHAIN = """
WITH RECURSIVE chain(segment_id, through) AS (
    SELECT t.segment_id, t.depth FROM sessions s JOIN turns t ON t.id = s.thread_id WHERE s.label = :label
    UNION ALL
    SELECT g.parent_segment_id, g.fork_depth FROM chain JOIN segments g ON g.id = chain.segment_id
    WHERE g.parent_segment_id IS NOT NULL)
"""
_ON_CHAIN = "FROM chain CROSS JOIN turns t ON t.segment_id = chain.segment_id AND t.depth <= chain.through"
_SESSION = """
SELECT s.*, d.*, h.id, h.model, h.workspace_path, (SELECT count(*) FROM messages m WHERE m.turn_id = h.id),
    c.native_id, c.message_id, c.status
FROM sessions s LEFT JOIN turns h ON h.id = s.thread_id LEFT JOIN session_details d ON d.session_label = s.label
    LEFT JOIN tool_calls c ON c.id = s.spawn_tool_call_id"""
_MESSAGE = """m.id, m.native_id, t.id, m.role, m.content, m.sequence, m.created_at, m.context_json, m.metadata_json,
    m.thinking, (SELECT json_group_array(f.file_path) FROM message_files f WHERE f.message_id = m.id),
    (SELECT json_group_array(l.message) FROM message_lints l WHERE l.message_id = m.id),
    (SELECT sum(u.output_tokens) FROM usages u WHERE u.message_id = m.id)"""

_SPOKEN = f"""
SELECT m.id, :label, t.id, s.origin, m.role, {{words}}, m.created_at AS at, t.model {_ON_CHAIN}
    JOIN sessions s ON s.label = :label
    JOIN messages m ON m.id = (SELECT x.id FROM messages x WHERE x.turn_id = t.id"""  # noqa: S608 - ours
_ASKED = _SPOKEN.format(
    words="(SELECT group_concat(x.content, char(10)) FROM messages x WHERE x.turn_id = t.id AND x.role = 'user' "
    "AND coalesce(x.source, '') <> 'context')"
)
_TOLD = _SPOKEN.format(words="m.content")


class Question(Struct, frozen=True):
    """A question by key: to a face, and to the tables."""

    name: str
    face: str
    base: str
    keys: str  # a query for the keys: first the face's, then the tables'


QUESTIONS = (
    Question(
        "agent_sessions by id",
        "SELECT * FROM agent_sessions WHERE id = :id",
        f"{_SESSION} WHERE s.label = :label",
        "SELECT id, session_label FROM session_ids ORDER BY random() LIMIT 200",
    ),
    Question(
        "agent_sessions by parent",
        "SELECT * FROM agent_sessions WHERE parent_session_id = :id",
        f"{_SESSION} WHERE s.parent_session_label = :label",
        "SELECT i.id, i.session_label FROM session_ids i WHERE EXISTS "
        "(SELECT 1 FROM sessions s WHERE s.parent_session_label = i.session_label) ORDER BY random() LIMIT 100",
    ),
    Question(
        "agent_messages by session",
        "SELECT * FROM agent_messages WHERE session_id = :id ORDER BY sequence",
        f"{_CHAIN} SELECT {_MESSAGE} {_ON_CHAIN} JOIN messages m ON m.turn_id = t.id ORDER BY t.depth, m.sequence",
        "SELECT id, session_label FROM session_ids WHERE segment_id IS NOT NULL ORDER BY random() LIMIT 50",
    ),
    Question(
        "agent_messages by id",
        "SELECT * FROM agent_messages WHERE id = :id",
        f"SELECT {_MESSAGE}, s.label, h.depth FROM messages m JOIN turns t ON t.id = m.turn_id "  # noqa: S608 - ours
        "JOIN sessions s ON s.label = t.session_label JOIN turns h ON h.id = s.thread_id WHERE m.id = :label",
        "SELECT coalesce(native_id, id), id FROM messages ORDER BY random() LIMIT 500",
    ),
    Question(
        "agent_turns by id",
        "SELECT * FROM agent_turns WHERE id = :id",
        "SELECT * FROM turns t LEFT JOIN messages m ON m.id = t.response_message_id WHERE t.id = :label",
        "SELECT id, id FROM turns ORDER BY random() LIMIT 500",
    ),
    Question(
        "agent_turns, tree of a turn",
        "WITH RECURSIVE turn_tree AS (SELECT * FROM agent_turns WHERE id = :id UNION ALL "
        "SELECT t.* FROM agent_turns t JOIN turn_tree tt ON t.id = tt.parent_turn_id) "
        "SELECT * FROM turn_tree ORDER BY timestamp",
        "WITH RECURSIVE tree AS (SELECT * FROM turns WHERE id = :label UNION ALL "
        "SELECT t.* FROM turns t JOIN tree ON t.id = tree.parent_turn_id) SELECT * FROM tree ORDER BY completed_at",
        "SELECT thread_id, thread_id FROM sessions WHERE thread_id IS NOT NULL ORDER BY random() LIMIT 100",
    ),
    Question(
        "agent_tool_calls by session",
        "SELECT tool_name, COUNT(*) as uses, SUM(CASE WHEN status='completed' THEN 1 ELSE 0 END) as success "
        "FROM agent_tool_calls WHERE session_id = :id GROUP BY tool_name ORDER BY uses DESC",
        f"{_CHAIN} SELECT tool_name, COUNT(*) AS uses, SUM(CASE WHEN c.status='completed' THEN 1 ELSE 0 END) AS good "
        f"{_ON_CHAIN} JOIN tool_calls c ON c.turn_id = t.id GROUP BY tool_name ORDER BY uses DESC",
        "SELECT id, session_label FROM session_ids WHERE segment_id IS NOT NULL ORDER BY random() LIMIT 50",
    ),
    Question(
        "agent_tool_calls by id",
        "SELECT * FROM agent_tool_calls WHERE id = :id",
        "SELECT c.*, t.session_label, m.native_id FROM tool_calls c JOIN turns t ON t.id = c.turn_id "
        "LEFT JOIN messages m ON m.id = c.message_id WHERE c.id = :label",
        "SELECT coalesce(native_id, id), id FROM tool_calls ORDER BY random() LIMIT 500",
    ),
    Question(
        "events by thread",
        "SELECT * FROM events WHERE thread_id = :id ORDER BY timestamp",
        f"{_CHAIN} {_ASKED} AND x.role = 'user' AND coalesce(x.source, '') <> 'context' ORDER BY x.sequence LIMIT 1) "
        f"UNION ALL {_TOLD} AND x.role = 'assistant' AND x.content <> '' ORDER BY x.sequence DESC LIMIT 1) "
        "ORDER BY at",
        "SELECT id, session_label FROM session_ids WHERE segment_id IS NOT NULL ORDER BY random() LIMIT 50",
    ),
    Question(
        "aix_messages by session",
        "SELECT * FROM aix_messages WHERE session_id = :id ORDER BY sequence",
        f"{_CHAIN} SELECT {_MESSAGE} {_ON_CHAIN} JOIN messages m ON m.turn_id = t.id ORDER BY t.depth, m.sequence",
        "SELECT id, session_label FROM session_ids WHERE segment_id IS NOT NULL ORDER BY random() LIMIT 50",
    ),
)


def face_rows(setup: Setup) -> Iterator[Row]:
    """Every face by key, on corpus A with forks."""
    with setup.place() as folder, _filled(setup, folder) as plain:
        for question in QUESTIONS:
            keys = plain.execute(question.keys).fetchall()
            assert keys, question.name
            assert any(_ask(plain, question.face, keys))
            ours, base = best(
                setup.pick(12, 5),
                lambda q=question, k=keys: seconds(lambda: _ask(plain, q.face, k)),  # type: ignore[misc]
                lambda q=question, k=keys: seconds(lambda: _ask(plain, q.base, k)),  # type: ignore[misc]
            )
            each = [ms(value / len(keys)) for value in (ours, base)]
            yield at_most("faces", question.name, each[0], f"{each[1]} own tables", ours / base, 2.0)


def _ask(plain: apsw.Connection, sql: str, keys: list[Any]) -> list[list[Any]]:
    return [plain.execute(sql, {"id": face, "label": own}).fetchall() for face, own in keys]


@contextmanager
def _filled(setup: Setup, folder: Path) -> Iterator[apsw.Connection]:
    """Corpus A, with a fork of every tenth session that its owner has gone on with."""
    corpus = corpus_a(setup)
    with Ledger.open(f"sqlite:///{folder / 'ledger.db'}") as ledger:
        Sync(ledger, Machine(home=str(corpus.home), environ={}, platform="linux")).run([str(corpus.home)])
        for line in ledger.sessions(limit=10_000)[::10]:
            if line.session.thread_id is not None:
                ledger.fork(line.session.thread_id)
    plain = apsw.Connection(str(folder / "ledger.db"), flags=apsw.SQLITE_OPEN_READONLY)
    plain.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # as every connection of the ledger's
    plain.execute("BEGIN")
    try:
        yield plain
    finally:
        plain.close()
