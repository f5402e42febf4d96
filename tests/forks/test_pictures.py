"""A question with a picture keeps its text in every agent's words, also where the picture can't be written."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.forking import fork_into
from agents_ledger.capture.sync import Sync
from agents_ledger.model.formats import Machine
from agents_ledger.model.gemini_api import content_of
from agents_ledger.model.pictures import picture_of, placeholder
from agents_ledger.model.rows import MessageRow
from agents_ledger.model.story import Image
from tests.capture.folders import opened

Json = dict[str, Any]
AGENTS = ("opencode", "gemini", "qwen")
WORDS = {"type": "text", "text": "What is this?"}
MORE = {"type": "text", "text": "And that?"}


def image(data: str = "iVBORw0KGgo=", kind: str = "image/png") -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


PICTURES = {
    "whole": image(),
    "redacted": image("REDACTED/REDACTED=="),
    "broken": image("iVBORw0KGgo"),
    "of another type": image("PHN2Zz48L3N2Zz4=", "image/svg+xml"),
    "elsewhere": {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
}


def asked(ledger: Ledger, folder: Path, *content: Json) -> str:
    """The turn of a session of Claude Code in which a question has some content."""
    lines: list[Json] = [
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": list(content)}},
        {"type": "assistant", "uuid": "u2", "parentUuid": "u1"}
        | {"message": {"id": "m", "role": "assistant", "model": "x", "content": [{"type": "text", "text": "Ok."}]}},
    ]
    place = {"sessionId": "s1", "isSidechain": False, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w"}
    path = folder / "s1.jsonl"
    path.write_text("".join(json.dumps({**line, **place}) + "\n" for line in lines))
    Sync(ledger, Machine(str(folder), {}, "linux")).run([str(path)])
    head = ledger.head("claude-code:s1")
    assert head is not None
    return head


def question(ledger: Ledger, turn_id: str) -> MessageRow:
    (message,) = [row for row in ledger.get(turn_id).messages if row.role == "user"]
    return message


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("kind", PICTURES)
def test_its_text_is_what_was_said(kind: str, agent: str, tmp_path: Path) -> None:
    machine = Machine(str(tmp_path / "home"), {}, "linux")
    (tmp_path / "home").mkdir()
    with opened(tmp_path / "ledger.db") as ledger, opened(tmp_path / "again.db") as again:
        turn = asked(ledger, tmp_path, WORDS, PICTURES[kind], MORE)
        made = fork_into(ledger, machine, turn, agent)
        Sync(again, machine).run([made.path])
        head = again.head(made.session)
        assert head is not None
        read, said = question(again, head), question(ledger, turn)
        assert read.content == said.content == "What is this?\nAnd that?"
        assert [block["type"] for block in json.loads(read.blocks_json or "[]")] == ["text", "image", "text"]
        assert [loss.code for loss in made.losses] == ([] if kind == "whole" else ["image-left-out"])
        # and once more, from there
        third = fork_into(again, machine, head, "codex")
        with opened(tmp_path / "third.db") as last:
            Sync(last, machine).run([third.path])
            text = question(last, last.head(third.session) or "").content or ""
            assert text.replace("\n", " ").startswith("What is this?")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_question_of_nothing_but_a_picture_is_told(agent: str, tmp_path: Path) -> None:
    machine = Machine(str(tmp_path / "home"), {}, "linux")
    (tmp_path / "home").mkdir()
    with opened(tmp_path / "ledger.db") as ledger, opened(tmp_path / "again.db") as again:
        made = fork_into(ledger, machine, asked(ledger, tmp_path, PICTURES["broken"]), agent)
        assert "[image: image/png, 8 bytes]" in Path(made.path).read_text()
        Sync(again, machine).run([made.path])
        assert question(again, again.head(made.session) or "").content is None


def test_gemini_cli_is_not_given_a_command_behind_a_picture(tmp_path: Path) -> None:
    machine = Machine(str(tmp_path / "home"), {}, "linux")
    (tmp_path / "home").mkdir()
    with opened(tmp_path / "ledger.db") as ledger:
        turn = asked(ledger, tmp_path, PICTURES["whole"], {"type": "text", "text": "/work/a.png is this"})
        made = fork_into(ledger, machine, turn, "gemini")
        parts = json.loads(Path(made.path).read_text().splitlines()[1])["content"]
        assert [part.get("text") for part in parts] == [None, "User: /work/a.png is this"]
        assert [loss.code for loss in made.losses] == ["text-marked"]


def test_what_a_person_types_is_no_placeholder() -> None:
    typed = [{"text": "look:"}, {"text": "[image: image/png]"}]
    assert content_of(typed).text == "look:\n[image: image/png]"
    assert content_of(typed, is_ours=True).text == "look:"


@pytest.mark.parametrize(
    "found", [Image(), Image("image/png"), Image("image/svg+xml", "QUJD"), Image(None, None, "u", 12_345)]
)
def test_a_placeholder_is_known_again(found: Image) -> None:
    block = picture_of(placeholder(found))
    assert block is not None
    size = len(found.data) * 3 // 4 if found.data else found.size_bytes
    assert (block["type"], block["media_type"], block.get("size_bytes")) == ("image", found.media_type, size)
    assert picture_of(f"{placeholder(found)} ") is None
    assert picture_of("[image]") is None
