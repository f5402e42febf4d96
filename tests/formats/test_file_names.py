"""Files whose name is no id: each conversation is a session of its own, and a copy of one shares its turns."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents_ledger.capture.sync import Sync
from agents_ledger.formats import formats
from agents_ledger.ledger import Ledger
from agents_ledger.model.file_names import is_generic, is_id, own_name
from agents_ledger.model.formats import Machine
from agents_ledger.model.rows import SessionRow

UUID = "7a5c0000-2222-4333-8444-555566667777"


def cursor(*words: str) -> bytes:
    """A transcript of Cursor: questions and answers in turn."""
    said = [
        {"role": role, "message": {"content": [{"type": "text", "text": text}]}}
        for text, role in zip(words, ["user", "assistant"] * len(words), strict=False)
    ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in said)


def lines_of(agent: str, words: str) -> bytes:
    """A conversation of an agent in lines that do not say whose they are."""
    at = "2026-11-15T18:00:0{}.000Z"
    values: list[dict[str, Any]]
    if agent == "cursor":
        return cursor(words, "yes")
    if agent == "codex":
        items = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}]
        values = [{"timestamp": at.format(1), "type": "response_item", "payload": item} for item in items]
    elif agent == "pi":
        message: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": words}]}
        values = [
            {"type": "message", "id": "aaaaaaaa", "parentId": None, "timestamp": at.format(1), "message": message}
        ]
    else:
        message = {"role": "user", "content": words}
        line: dict[str, Any] = {
            "type": "user",
            "uuid": f"u-{words}",
            "parentUuid": None,
            "isSidechain": False,
            "message": message,
        }
        values = [{**line, "timestamp": at.format(1)}]
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def synced(folder: Path, files: dict[str, bytes]) -> Ledger:
    """A ledger with some files, each in its folder."""
    for name, data in files.items():
        path = folder / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    ledger = Ledger.open(f"sqlite:///{folder / 'l.db'}")
    Sync(ledger, Machine(str(folder), {}, "linux")).run([str(folder / "source")])
    return ledger


def told(ledger: Ledger) -> list[list[str]]:
    """What each session's questions are."""
    heads = [ledger.head(session.label) for session in sessions(ledger)]
    paths = [ledger.path(head) for head in heads if head is not None]
    return sorted([ledger.get(turn.id).messages[0].content or "" for turn in path] for path in paths)


def sessions(ledger: Ledger) -> list[SessionRow]:
    return [ledger.session(each.session.label) for each in ledger.sessions()]


@pytest.mark.parametrize("name", ["raw_transcript", "full.jsonl", "transcript.jsonl", "session.jsonl", "chat.jsonl"])
@pytest.mark.parametrize("agent", ["cursor", "codex", "pi", "claude-code"])
def test_two_conversations_in_files_of_one_name_are_two_sessions(agent: str, name: str, tmp_path: Path) -> None:
    files = {f"aa/{number}/{name}": lines_of(agent, words) for number, words in enumerate(["first", "second"])}
    if agent == "codex":  # without its header a file of Codex is known by its name
        files = {path.replace(name, f"rollout-{name}"): data for path, data in files.items()}
    with synced(tmp_path, files) as ledger:
        assert told(ledger) == [["first"], ["second"]]


def test_the_same_first_words_do_not_make_two_conversations_one(tmp_path: Path) -> None:
    files = {
        "a/1/raw_transcript": cursor("hello", "one", "more", "1"),
        "a/2/raw_transcript": cursor("hello", "two", "less", "2"),
    }
    with synced(tmp_path, files) as ledger:
        assert told(ledger) == [["hello", "less"], ["hello", "more"]]


def test_a_copy_that_went_on_shares_the_turns_of_the_first(tmp_path: Path) -> None:
    files = {"a/1/raw_transcript": cursor("x", "1", "y", "2"), "a/2/raw_transcript": cursor("x", "1", "y", "2", "z")}
    with synced(tmp_path, files) as ledger:
        assert told(ledger) == [["x", "y"], ["x", "y", "z"]]
        assert ledger.counts()["turns"] == 3


def test_a_transcript_that_grows_stays_one_session(tmp_path: Path) -> None:
    path = tmp_path / "source" / "1" / "raw_transcript"
    path.parent.mkdir(parents=True)
    whole = cursor("x", "1", "y", "2")
    with Ledger.open(f"sqlite:///{tmp_path / 'l.db'}") as ledger:
        for size in (len(whole) // 2, len(whole) - 3, len(whole)):
            path.write_bytes(whole[:size])
            Sync(ledger, Machine(str(tmp_path), {}, "linux")).run([str(path)])
        assert told(ledger) == [["x", "y"]]


@pytest.mark.parametrize(
    "name", [f"{UUID}.jsonl", f"{UUID}/transcript.jsonl", f"x/agent-transcripts/{UUID}/{UUID}.jsonl"]
)
def test_an_id_in_the_name_or_the_folder_is_the_sessions(name: str, tmp_path: Path) -> None:
    with synced(tmp_path, {name: cursor("x", "1")}) as ledger:
        assert [session.label for session in sessions(ledger)] == [f"cursor:{UUID}"]


def test_names_do_not_depend_on_where_a_collection_lies() -> None:
    assert own_name("/home/me/dump/ab/0/full.jsonl", "full") == own_name("C:\\x\\dump\\ab\\0\\full.jsonl", "full")
    assert own_name("/ab/0/full.jsonl", "full") != own_name("/ab/1/full.jsonl", "full")
    assert own_name("/ab/0/my-fork.jsonl", "my-fork") == "my-fork"
    assert own_name(f"/x/{UUID}/full.jsonl", "full") == UUID


def test_what_an_id_is() -> None:
    ids = [UUID, "01KXDSREBG8S07KQ15HHD21NHF", "ses_20c67c805ffez5760ap0ETph7x", "0123456789abcdef"]
    assert all(map(is_id, ids))
    assert not any(map(is_generic, ids))
    assert all(map(is_generic, ["full", "raw_transcript", "session.2", "Chat"]))
    assert not any(map(is_id, ["", "full", "S1", "main", "raw_transcript"]))
    assert {form.name for form in formats()} >= {"cursor", "codex", "pi", "claude-code"}
