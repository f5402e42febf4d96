"""The Events Ledger: two events a turn, without what programs put around people's words and models into theirs."""

from agents_ledger import Call, Ledger, Message, Turn
from agents_ledger.faces import events
from tests.faces.conftest import Asked

SIGN = "Please sign."
INJECTED = [
    f"<system-reminder>Be brief.</system-reminder>\n{SIGN}",
    f"{SIGN}\n\n<system-reminder>One.</system-reminder>\n<system-reminder>Two.</system-reminder>",
    f"<ide_opened_file>The user opened a.py</ide_opened_file>\n{SIGN}",
    f"<environment_context>\n  <cwd>/w</cwd>\n</environment_context>\n\n{SIGN}",
    f"# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nBe kind.\n</INSTRUCTIONS>\n{SIGN}",
    f"# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\n{SIGN}\n",
    f"<timestamp>Monday</timestamp>\n<user_query>\n{SIGN}\n</user_query>",
    f"<attached_files>\n<code_selection>x</code_selection>\n</attached_files>\n<user_query>{SIGN}</user_query>",
    f'<file name="/w/red.png"></file>\n{SIGN}',
    f"{SIGN}\n[message_id: 4711]",
    f'Conversation info (untrusted metadata):\n```json\n{{"id": 1}}\n```\n\n{SIGN}',
]
KEPT = [
    "Is a < b and b > c?",
    "<b>bold</b> and <unknown-tag>x</unknown-tag>",
    "It begins <system-reminder> and never ends",
    "# A heading\n\n- with a list",
    "Ünïcödé 漢字 🎉",
]
TOLD = [
    "<thinking>Hm.</thinking>\nDone.",
    'Done.\n<function_calls>\n<invoke name="Read">\n</invoke>\n</function_calls>',
    "<tool_call>{}</tool_call>Done.",
    "<think>a</think><think>b</think>Done.",
]


MANY = "<rules></rules>"


def told(ledger: Ledger, session: str, question: str, answer: str) -> list[str]:
    ledger.append(session, Turn(messages=(Message("user", question), Message("assistant", answer))))
    return [event.content for event in events.events(ledger, session)]


def test_what_programs_and_models_put_in_is_not_there_and_all_else_is(ledger: Ledger) -> None:
    for number, text in enumerate(INJECTED):
        assert told(ledger, f"asked-{number}", text, "Signed.") == [SIGN, "Signed."], text
    for number, text in enumerate(TOLD):
        assert told(ledger, f"told-{number}", "Do it", text) == ["Do it", "Done."], text
    for number, text in enumerate(KEPT):  # it only looks like it
        assert told(ledger, f"kept-{number}", text, text) == [text, text]
    first, _ = told(ledger, "many", MANY * 2000 + "x", "y")
    assert first.startswith("<rules>")  # 500 are taken out, the rest stays
    assert len(first) == 1500 * len(MANY) + 1


def test_a_turn_has_one_question_and_its_last_words(ledger: Ledger) -> None:
    messages = (
        Message("system", "You are careful."),
        Message("user", "<environment_context>all of it</environment_context>", source="context"),
        Message("user", "First."),
        Message("assistant", "I look."),
        Message("user", "[Request interrupted by user]", source="event"),
        Message("user", "And another thing."),
        Message("assistant", "Both done."),
        Message("assistant", None, thinking="Was that all?"),
    )
    ledger.append("main", Turn(messages=messages, calls=(Call("Read", {}),)))
    ledger.append("main", Turn(messages=(Message("user", "Silence?"),), status="failed", error="no answer"))
    question, answer, last = events.events(ledger, "main")
    assert (question.role, question.content) == ("user", "First.\n\nAnd another thing.")
    assert (answer.role, answer.content, answer.turn_id) == ("assistant", "Both done.", question.turn_id)
    assert last.content == "Silence?"
    [thread] = events.threads(ledger)
    assert (thread.id, thread.event_count) == ("main", 3)
    assert events.event(ledger, answer.id) == answer
    assert events.thread(ledger, "main") == thread
    assert events.event(ledger, "nobody") is None


def test_a_shared_turn_is_remembered_once(asked: Asked) -> None:
    rows = asked.rows("SELECT id FROM events")
    assert len(rows) == len({row["id"] for row in rows})
    turns = asked.rows("SELECT id FROM turns WHERE id NOT IN (SELECT turn_id FROM events)")
    empty = asked.rows(
        "SELECT t.id FROM turns t WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.turn_id = t.id "
        "AND (m.role = 'user' AND coalesce(m.source, '') NOT IN ('context', 'event') "
        "OR m.role = 'assistant' AND m.content <> ''))"
    )
    assert sorted(row["id"] for row in turns) == sorted(row["id"] for row in empty)


def test_people_s_words_are_all_that_is_left_of_claude_code_s_messages(asked: Asked) -> None:
    session = "00000000-1111-4222-8333-000000000003"
    found = asked.rows("SELECT content FROM events WHERE thread_id = ? AND role = 'user' ORDER BY timestamp", session)
    said = [row["content"] for row in found]
    assert "Look at this file" in said
    assert "/review\nthe last commit" in said
    assert not [text for text in said if "<system-reminder>" in text or "<ide_" in text or "<command-" in text]
