"""OpenClaw's own sessions, in its database: read as they were, and forks of them resumed by it exactly."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from agents_ledger.capture.catalog import captures_of
from agents_ledger.capture.resuming import opened
from agents_ledger.ledger import evidence
from agents_ledger.model.rows import Record, TurnRow
from oracles.box import Box
from oracles.conversation import Item, Json
from oracles.forks import Life, captured, expected, failures, plain, red_png, summed_up
from oracles.openclaw import OpenClawDatabase
from oracles.readers import Tokens
from oracles.test_forks import check_one_tree, is_followed_by_compaction
from oracles.test_night_readers import sent, three_turns, told
from oracles.test_watch import ask, wait_for, watching
from oracles.test_written import without_stamp
from oracles.written import OpenClawFiles

_TOOLS: list[Json] = [
    {"think": "let me look", "text": "I will run a command.", "shell": "echo hi-from-tool"},
    {"tools": [{"shell": "echo second"}, {"read": "/nonexistent/file"}]},
    {"text": "Done."},
]
_JOB = 'Sub job. FAKE:[{"shell": "echo in-sub"}, {"text": "Sub result 42"}]'
_FULL = {"usage": {"input": 196_000}}
_AT_ONCE_S = 2


def test_a_fork_of_any_turn_is_resumed_exactly(box: Box) -> None:
    """A failed tool and parallel ones, thinking, a picture, a subagent, a compaction, a reset."""
    with lived(box) as life:
        turns = life.path
        assert [turn.turn_type for turn in turns].count("compaction") == 2  # a reset is one, with nothing in it
        _check_subagent(life)
        before = _kept(life)
        for at, turn in enumerate(turns):
            asked = len(box.requests())
            made, resumed = life.fork(turn, OpenClawDatabase)
            assert (made.is_copy, made.losses) == (True, [])
            if _question(life, turn).startswith("Much."):  # the window is full: it compacts at once, as it did then
                first = summed_up(life.requests())
                assert summed_up(box.requests()[asked:])[: len(first)] == first != []  # (then the window is full again)
                continue
            is_cut_off = is_followed_by_compaction(life, turn)  # the reset: what came next had nothing before it
            wanted = expected(life, turn) if is_cut_off else _had(life, turns, at)
            assert resumed == wanted, f"{turn.turn_type} turn {turn.depth}"
            assert failures(resumed) == failures(wanted)
        check_one_tree(life, turns)
        assert before.items() <= _kept(life).items()  # the original's bytes are what they were


def test_what_is_captured_is_what_the_model_was_asked_and_said(box: Box) -> None:
    with captured(three_turns(OpenClawDatabase(box))) as life:
        records = [life.ledger.get(turn.id) for turn in life.whole_path]
        last = [request for request in life.requests() if request.tools][-1]
        asked = [without_stamp(item) for item in plain(last.history)]
        assert told(records) == [*sent(asked), ("assistant", "text", last.reply["text"])]
        statuses = [call.status for record in records for call in record.calls]
        assert statuses == ["completed", "completed", "failed", "completed"]
        assert _spent(records) == _answered(life)
        found = opened(life.ledger, str(life.agent.session))
        assert found.path == str(life.agent.file)
        assert found.command == ("openclaw", "agent", "--session-id", life.agent.session)


def test_a_watcher_has_an_answer_within_two_seconds(box: Box) -> None:
    agent, ledger = OpenClawDatabase(box), box.folder / "ledger.db"
    agent.ask("Warm up?")
    with watching(box.home, ledger):
        agent.ask("Now?", {"text": "The watched answer."})
        ended = time.time()
        seen = "SELECT 1 FROM messages WHERE content = 'The watched answer.'"
        assert wait_for("the answer", lambda: bool(ask(ledger, seen))) - ended < _AT_ONCE_S


def test_a_session_that_began_in_files_goes_on_in_the_database_as_one_history(box: Box) -> None:
    old = OpenClawFiles(box)
    old.ask("Hello one.", *_TOOLS)
    with captured(old) as life:
        (first,) = life.whole_path
        now = OpenClawDatabase(box, old.session)
        now.migrate()
        now.ask("Second?", {"text": "In the database."})
        life.sync()
        path = life.whole_path
        assert path[0].id == first.id
        assert len(path) == life.ledger.counts()["turns"] == 2
        assert life.ledger.verify().findings == []


@contextmanager
def lived(box: Box) -> Iterator[Life]:
    """A session that was asked all kinds of things, through a gateway."""
    agent = OpenClawDatabase(box)
    red = box.work / "red.png"
    red.write_bytes(red_png())
    with agent.gateway():
        agent.ask("Hello one.", *_TOOLS)
        agent.ask("Look.", {"read": str(red)}, {"text": "It is red."})
        agent.ask("Use a subagent.", {"task": _JOB}, {"text": "Sub is at work."})
        wait_for("what the subagent said", lambda: _said(box, "Sub result 42") > 1)  # itself, and when it is told
        agent.ask("Wait.", {"text": "I waited."})
        agent.ask("Much.", {"shell": "echo x"}, {"text": "Much was read.", **_FULL})
        agent.ask("After?", {"shell": "echo after"}, {"text": "Done after."})
        agent.ask("/reset")
        agent.ask("New?", {"text": "New."})
        agent.ask("Last?")
    with captured(agent) as life:
        yield life


def _spent(records: list[Record]) -> Tokens:
    """The tokens that the ledger has of some turns."""
    rows = [row for record in records for row in record.usages]
    found = ((row.input_tokens, row.output_tokens, row.cache_write_tokens, row.cached_input_tokens) for row in rows)
    return sum((Tokens(*(count or 0 for count in one)) for one in found), Tokens())


def _answered(life: Life) -> Tokens:
    """What the model says to have cost."""
    replies = [request.reply for request in life.requests() if request.tools]
    counts = (
        Tokens(one["input"] - one["cached"] - one["cache_write"], one["output"], one["cache_write"], one["cached"])
        for one in replies
    )
    return sum(counts, Tokens())


def _said(box: Box, text: str) -> int:
    return sum(request.reply["text"] == text for request in box.requests())


def _had(life: Life, turns: list[TurnRow], at: int) -> list[Item]:
    """What stood before the model when the session itself went on after a turn: its next question left out."""
    later = next(turn for turn in [*turns, life.whole_path[-1]][at + 1 :] if turn.turn_type != "compaction")
    question = _question(life, later)
    for request in life.requests():
        items = plain(request.history)
        places = [n for n, item in enumerate(items) if item.kind == "text" and item.text.endswith(question)]
        if places and items[places[-1]].role == "user":
            return items[: places[-1]]
    raise AssertionError(f"nobody asked {question!r}")


def _question(life: Life, turn: TurnRow) -> str:
    said = [row.content or "" for row in life.ledger.get(turn.id).messages if row.source == "human"]
    return said[0] if said else ""


def _kept(life: Life) -> dict[int, bytes]:
    """The captures of the session, and what of them is in evidence."""
    label = f"openclaw:{life.agent.session}"
    numbers = [capture.id for capture in captures_of(life.ledger, label)]
    with life.ledger.database.read() as tx:
        return {number: b"".join(evidence.read(tx, number)) for number in numbers}


def _check_subagent(life: Life) -> None:
    (child,) = [line.session for line in life.ledger.sessions(limit=10) if line.session.is_subagent]
    calls = {call.id: call for turn in life.whole_path for call in life.ledger.get(turn.id).calls}
    assert child.spawn_tool_call_id is not None
    assert calls[child.spawn_tool_call_id].tool_name == "sessions_spawn"
    said = [
        row.content for turn in life.ledger.path(child.thread_id or "") for row in life.ledger.get(turn.id).messages
    ]
    assert "Sub result 42" in said
