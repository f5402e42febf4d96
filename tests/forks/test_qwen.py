"""A fork of a session of Qwen Code for Qwen Code: its own lines, under a new id."""

import json
from pathlib import Path
from typing import Any

from agents_ledger import Ledger
from agents_ledger.capture.forking import Made, fork_into
from agents_ledger.capture.sync import Sync
from agents_ledger.model.formats import Machine
from tests.capture.folders import GOLDEN, copy

SEALED = {"text": "let me see", "thought": True, "thoughtSignature": "c2VhbA=="}
PICTURE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}


def forks(ledger: Ledger, folder: Path, label: str) -> list[Made]:
    """A fork of each turn of a session."""
    machine = Machine(str(folder / "home"), {}, "linux")
    Sync(ledger, machine).run([str(folder / "source")])
    return [fork_into(ledger, machine, turn, "qwen") for turn in ledger.ancestry(ledger.head(label) or "")]


def chat(folder: Path, *lines: dict[str, Any]) -> list[str]:
    """Writes a chat whose lines follow each other, unless they say otherwise."""
    written, last = [], None
    for number, line in enumerate(lines):
        place = {"uuid": f"00000000-0000-4000-8000-{number:012d}", "parentUuid": last, "sessionId": "chat-1"}
        stamp = {"timestamp": f"2026-11-16T09:00:{number:02d}.000Z", "cwd": "/home/dev/w", "version": "0.15.10"}
        whole = {**place, **stamp, **line}
        last = whole["uuid"]
        written.append(json.dumps(whole, separators=(",", ":")))
    file = folder / "source" / "projects" / "-home-dev-w" / "chats" / "chat-1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{line}\n" for line in written))
    return written


def said(kind: str, role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "message": {"role": role, "parts": list(parts)}}


def test_a_fork_has_the_lines_up_to_its_turn_as_they_were(ledger: Ledger, tmp_path: Path) -> None:
    copy(GOLDEN / "qwen" / "compression" / "source", tmp_path / "source")
    (file,) = tmp_path.glob("source/projects/*/chats/*.jsonl")
    lines = file.read_bytes().splitlines()
    made = forks(ledger, tmp_path, f"qwen:{file.stem}")
    assert [len(Path(each.path).read_bytes().splitlines()) for each in made] == [16, 25, 29, 33, 37]
    for each in made:
        told = Path(each.path).read_bytes().splitlines()
        assert [line.replace(each.agent_session.encode(), file.stem.encode()) for line in told] == lines[: len(told)]
        assert (each.is_copy, each.losses) == (True, [])


def test_seals_and_pictures_stay_and_other_branches_do_not_come_along(ledger: Ledger, tmp_path: Path) -> None:
    first = "00000000-0000-4000-8000-000000000001"
    lines = chat(
        tmp_path,
        said("user", "user", {"text": "what is this?"}, PICTURE),
        said("assistant", "model", SEALED, {"text": "a picture"}),
        said("user", "user", {"text": "left behind"}),
        said("assistant", "model", {"text": "never mind"}),
        {**said("user", "user", {"text": 'go on, not "sessionId":"chat-1"'}), "parentUuid": first},
        said("assistant", "model", {"text": "gone on"}),
    )
    made = forks(ledger, tmp_path, "qwen:chat-1")
    told = [Path(each.path).read_text().replace(each.agent_session, "chat-1").splitlines() for each in made]
    assert told == [lines[:2], lines[:2] + lines[4:]]
    assert all(each.is_copy for each in made)
    assert "go on, not" in Path(made[1].path).read_text()


def test_a_chat_whose_beginning_is_gone_is_told_anew(ledger: Ledger, tmp_path: Path) -> None:
    chat(
        tmp_path,
        {**said("user", "user", {"text": "and then?"}), "parentUuid": "gone"},
        said("assistant", "model", {"text": "then this"}),
    )
    (made,) = forks(ledger, tmp_path, "qwen:chat-1")
    assert not made.is_copy
    assert "and then?" in Path(made.path).read_text()


def test_a_subagent_s_turn_becomes_a_chat_of_its_own(ledger: Ledger, tmp_path: Path) -> None:
    copy(GOLDEN / "qwen" / "subagent" / "source", tmp_path / "source")
    machine = Machine(str(tmp_path / "home"), {}, "linux")
    Sync(ledger, machine).run([str(tmp_path / "source")])
    (label,) = (line.session.label for line in ledger.sessions(limit=9) if line.session.is_subagent)
    made = fork_into(ledger, machine, ledger.head(label) or "", "qwen")
    assert not made.is_copy
    assert "isSidechain" not in Path(made.path).read_text()
