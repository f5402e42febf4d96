"""A fork of any shape of transcript has the lines of its chain, what stands beside it, and nothing else."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from msgspec import Struct

from agents_ledger.formats.claude_code.copying import again
from agents_ledger.model.writing import Fork

FORK = Fork(session="new-session", at=0, cwd="/")
Json = dict[str, Any]


class Transcript(Struct):
    """An origin in memory, handed out in pieces of some size."""

    data: bytes
    leaf: int
    start: int = 0
    size: int = 1 << 20

    def records(self) -> Iterator[tuple[int, bytes]]:
        """Nothing here asks for single records."""
        raise NotImplementedError

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """Whole lines, as many as end within the size (one at least)."""
        start = 0
        while start < len(self.data):
            end = self.data.rfind(b"\n", start, start + self.size) + 1
            end = end or self.data.find(b"\n", start) + 1 or len(self.data)
            yield start, self.data[start:end]
            start = end

    def base(self, session: str) -> None:
        """It continues nothing."""


def transcript(lines: list[Json | str], size: int = 1 << 20) -> Transcript:
    texts = [(line if isinstance(line, str) else json.dumps(line, separators=(",", ":"))).encode() for line in lines]
    return Transcript(b"\n".join(texts) + b"\n", sum(len(text) + 1 for text in texts[:-1]), size)


def line(name: str | None, parent: str | None, session: str = "old", **fields: Any) -> Json:
    named = {} if name is None else {"uuid": name}
    return {"parentUuid": parent, "isSidechain": False, "sessionId": session, **fields, **named}


def result(name: str, parent: str) -> Json:
    return line(name, parent, message={"role": "user", "content": [{"tool_use_id": "c", "type": "tool_result"}]})


def part(name: str, parent: str, answer: str) -> Json:
    return line(name, parent, message={"id": answer, "role": "assistant", "content": []})


def copied(origin: Transcript) -> list[Json] | None:
    told = again(origin, FORK)
    if told is None:
        return None
    pieces = list(told)
    lines = [json.loads(one) for each in pieces for one in each.data.split(b"\n") if one.strip()]
    assert sum(each.count for each in pieces) == len(lines)
    return lines


def names(origin: Transcript) -> list[str] | None:
    found = copied(origin)
    return None if found is None else [each["uuid"] for each in found]


def expected(lines: list[Json | str]) -> list[str] | None:
    """By the words of the rule, without runs and pieces."""
    known = [each for each in lines if isinstance(each, dict) and each.get("uuid")]
    nodes = {each["uuid"]: each for each in known}
    chosen: list[str] = []
    at = known[-1]["uuid"]
    while at is not None:
        chosen.append(at)
        parent = nodes[at]["parentUuid"]
        if parent is not None and parent not in nodes:
            if at != known[0]["uuid"]:
                return None
            parent = None
        at = parent
    answers = {nodes[name].get("message", {}).get("id") for name in chosen} - {None}
    taken = set(chosen)
    for each in known:
        said = each.get("message", {})
        is_result = any(block.get("tool_use_id") for block in said.get("content", []))
        if said.get("id") in answers or (is_result and each["parentUuid"] in taken):
            taken.add(each["uuid"])
    return [each["uuid"] for each in known if each["uuid"] in taken]


def random_lines(random: Random) -> list[Json | str]:
    lines: list[Json | str] = []
    known: list[str] = []
    for number in range(random.randrange(1, 40)):
        parent = None if not known else known[-1] if random.random() < 0.7 else random.choice([*known, "gone"])
        name = f"u{number}"
        if random.random() < 0.1:
            lines.append(random.choice(["{broken", "", "  ", json.dumps(line(None, None))]))
        made = random.choice(
            [line(name, parent), part(name, parent or "", f"m{number // 3}"), result(name, parent or "")]
        )
        lines.append({**made, "parentUuid": parent})
        known.append(name)
    return lines


@pytest.mark.parametrize("seed", range(60))
def test_any_tree_gives_its_chain(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - the same trees every time
    lines = random_lines(random)
    wanted = expected(lines)
    for size in (1, 150, 400, 1 << 20):
        assert names(transcript(lines, size)) == wanted


def test_only_the_id_changes() -> None:
    said = {"role": "user", "content": 'the "sessionId":"old" of another, \\ and é'}
    lines: list[Json | str] = [line("a", None, message=said), line("b", "a", about={"sessionId": "old", "x": "old"})]
    origin = transcript(lines)
    told = b"".join(each.data for each in again(origin, FORK) or ())
    assert told == origin.data.replace(b'"sessionId":"old"', b'"sessionId":"new-session"')
    assert json.loads(told.split(b"\n")[0])["message"] == said


def test_lines_of_several_sessions_become_one() -> None:
    lines: list[Json | str] = [line("a", None, "first"), line("b", "a", "second"), line("c", "b", "second")]
    found = copied(transcript(lines)) or []
    assert [(each["uuid"], each["sessionId"]) for each in found] == [(name, "new-session") for name in "abc"]


def test_a_subagents_lines_become_a_conversation() -> None:
    lines: list[Json | str] = [
        line(name, parent, isSidechain=True, agentId="x") for name, parent in (("a", None), ("b", "a"))
    ]
    found = copied(transcript(lines)) or []
    assert [(each["isSidechain"], "agentId" in each) for each in found] == [(False, False)] * 2


def test_a_line_that_names_its_session_in_another_way_is_written_anew() -> None:
    spaced = '{"uuid": "b", "parentUuid": "a", "sessionId": "old"}'
    found = copied(transcript([line("a", None), spaced])) or []
    assert [(each["uuid"], each["sessionId"]) for each in found] == [("a", "new-session"), ("b", "new-session")]


def test_a_leaf_without_an_id_is_told_from_the_ledger() -> None:
    assert copied(transcript([line("a", None), line(None, None)])) is None
    assert copied(transcript([line("a", None), "{broken"])) is None
    assert copied(Transcript(b"", 0)) is None


def test_chains_that_bite_their_own_tail_end() -> None:
    assert names(transcript([line("a", "b"), line("b", "a")])) == ["a", "b"]
    assert names(transcript([line("a", "a")])) == ["a"]


@pytest.mark.parametrize("glue", ["", " "])
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_a_line_with_two_values_is_not_copied(glue: str, size: int) -> None:
    """Claude Code reads neither of them."""
    first, *rest = (json.dumps(line(name, parent)) for name, parent in (("a", None), ("b", "a"), ("c", "b")))
    assert copied(transcript([first, glue.join(rest), json.dumps(line("d", "c"))], size)) is None
    beside = glue.join(json.dumps(line(name, "a")) for name in ("x", "y"))
    assert names(transcript([first, beside, json.dumps(line("d", "a"))], size)) == ["a", "d"]
