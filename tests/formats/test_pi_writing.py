"""Lines of pi, written: as a cut leaves them, as they are read."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agents_ledger.formats.pi import bodies, entries
from agents_ledger.formats.pi.cut import cut
from agents_ledger.formats.pi.entries import CUT, Place
from agents_ledger.formats.pi.forked import forked
from agents_ledger.formats.pi.migrate import migrated
from agents_ledger.formats.pi.tree import context_of, path_to

AT = 1_772_359_200_000


def _entry(place: Place, kind: str, target: str | None) -> dict[str, Any]:
    said = {
        "user": bodies.user(place.id, AT),
        "assistant": bodies.assistant(place.id, AT, provider="p", model=f"m-{place.id}"),
        "result": bodies.tool_result("c", "t", place.id, AT),
    }
    other = {
        "compaction": entries.compaction(place, f"summary {place.id}", target, 1),
        "thinking": entries.thinking_level_change(place, f"level {place.id}"),
        "label": entries.label(place, target or place.id, "here"),
        "model": entries.model_change(place, "p", f"m-{place.id}"),
    }
    return entries.message(place, said[kind]) if kind in said else other[kind]


@st.composite
def transcripts(draw: st.DrawFn) -> list[dict[str, Any]]:
    kinds = ["user", "assistant", "result", "compaction", "thinking", "model", "label"]
    count = draw(st.integers(1, 25))
    made: list[dict[str, Any]] = [entries.header("s", AT, "/")]
    for number in range(count):
        back = draw(st.integers(0, 3)) if draw(st.booleans()) else 0
        parent = f"e{number - 1 - back}" if number - 1 - back >= 0 else None
        names = [one["id"] for one in made[1:]]
        path = path_to({one["id"]: one["parentId"] for one in made[1:]}, parent)
        target = draw(st.sampled_from(path)) if path else None
        kind = draw(st.sampled_from(kinds if names else kinds[:1]))
        made.append(_entry(Place(f"e{number}", parent, AT + number), kind, target))
    return made


def _path(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    by_id = {one["id"]: one for one in told if one["type"] != "session"}
    return [by_id[name] for name in path_to({name: one["parentId"] for name, one in by_id.items()}, told[-1]["id"])]


@given(transcripts(), st.integers(1, 30))
def test_what_a_cut_leaves_is_sound(told: list[dict[str, Any]], keep: int) -> None:
    lines = [entries.line(one) for one in told]
    left = cut(lines, keep, "a.bak")
    if left is None:
        asked = [one["id"] for one in _path(told) if one.get("message", {}).get("role") == "user"]
        assert len(told) - 1 <= keep or asked in ([], ["e0"])  # the last turn is the first one, too
        return
    after = [msgspec.json.decode(line) for line in left]
    names = [one["id"] for one in after[1:]]
    assert left[0] == lines[0]
    assert len(set(names)) == len(names)
    assert {one["parentId"] for one in after[1:]} <= {None, *names}
    assert left[-1] == lines[-1]
    assert [line for line in left if CUT.encode() not in line] == [line for line in lines if line in set(left)]
    before, now = context_of(_path(told)), context_of(_path(after))
    assert now.thinking_level == before.thinking_level
    assert not now.messages or now.messages[0]["role"] != "toolResult"
    texts = [msgspec.json.encode(message) for message in before.messages]
    assert [one for one in map(msgspec.json.encode, now.messages) if one not in texts] == []
    if before.messages and before.messages[0]["role"] == "compactionSummary":
        assert now.messages[0] == before.messages[0]


@given(transcripts())
def test_a_fork_sees_what_its_origin_saw(told: list[dict[str, Any]]) -> None:
    path = _path(told)
    labels = {one["targetId"]: one["label"] for one in path if one["type"] == "label"}
    lines = forked([entries.line(one) for one in path], labels)
    after = [msgspec.json.decode(line) for line in lines]
    names = [one["id"] for one in after]
    assert {one["parentId"] for one in after} <= {None, *names}
    if after:
        assert context_of(_path([told[0], *after])).messages == context_of(path).messages


def test_a_line_is_what_javascript_would_write() -> None:
    place = Place("a1", None, AT)
    assert entries.line(entries.label(place, "b", None)) == (
        b'{"type":"label","id":"a1","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","targetId":"b"}\n'
    )
    assert b"\\ud800" in entries.line(entries.custom(place, "k", {"half": "\ud800"}))
    assert entries.file_name("s", AT) == "2026-03-01T10-00-00-000Z_s.jsonl"
    assert entries.folder_name("/home/ada/x") == "--home-ada-x--"
    assert entries.archive_name("s.jsonl", "bak", AT) == "s.jsonl.bak.2026-03-01T10-00-00.000Z"


def test_older_versions_get_the_same_ids_each_time() -> None:
    lines = [b'{"type":"session","id":"x"}', b'{"type":"message","message":{"role":"user","content":"q"}}', b"broken"]
    first = migrated(lines)
    assert first is not None
    assert first == migrated(lines)
    assert migrated(first) is None
    assert migrated([b"{}"]) is None
    assert migrated([]) is None
