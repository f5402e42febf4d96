import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_ledger.formats.pi import FORMAT
from agents_ledger.formats.pi.json5 import to_json
from agents_ledger.formats.pi.transcript import Transcript
from agents_ledger.model.formats import Source
from agents_ledger.model.steps import AFTER_LAST, Event, Step
from tests.formats.test_pi import (
    ALL,
    GOLDEN,
    case,
    events,
    kind_of,
    lines,
    one,
    problems,
    records,
    said,
    step,
    turns,
)


def test_broken_lines_lose_only_themselves() -> None:
    found = one("broken-lines", "broken-1.jsonl")
    assert turns(found) == ["one", None, "half a pair \ud83d and \x00"]
    assert set(problems(found)) == {"broken-line", "glued-line", "not-an-object", "bad-field", "unknown-entry"}
    assert step(found, "d0000002").content == "glued"
    assert step(found, "d0000005").role == "tool"
    assert step(found, "d0000007").parent == AFTER_LAST  # it named itself


def test_a_future_version_is_read_as_far_as_it_is_known() -> None:
    found = one("broken-lines", "fut.jsonl")
    assert turns(found) == ["u", "orphan"]
    assert problems(found) == ["broken-line", "unknown-entry"]


def test_a_missing_header_is_said_once() -> None:
    [path] = [path for path in case("broken-lines") if path.name == "nohdr.jsonl"]
    entry = json.loads(path.read_text())
    found = lines(entry, entry, path="/x/2026-01-01T00-00-00-000Z_the-id.jsonl")
    assert problems(found) == ["missing-header"]
    assert {event.session for event in said(found)} == {"the-id"}


def test_unknown_types_are_said_once_each() -> None:
    entry = {"type": "weird", "id": "a", "parentId": None}
    assert (
        problems(lines({"type": "session", "id": "x"}, entry, entry, {**entry, "type": "odd"})) == ["unknown-entry"] * 2
    )


def test_deep_nesting_and_other_hostile_lines_do_not_raise() -> None:
    deep = b"[" * 10_000 + b"]" * 10_000
    nested = b'{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":' + deep + b"}}"
    assert set(problems(lines(deep, nested))) == {"deep-nesting"}
    for record in (b"\xff", b'"', b"{}", b"\x00", b'{"type":{}}', b'{"type":"session","id":5}', b"1" * 5000):
        lines(record)


def test_state_is_small_whatever_is_read() -> None:
    reader = Transcript(session="x")
    for number in range(2000):
        list(reader.read(json.dumps({"type": f"unknown-{number}", "id": f"{number}", "parentId": None}).encode(), ""))
    assert len(msgspec.json.encode(reader)) < 2000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: 1, 'b': [1, 2,], }", {"a": 1, "b": [1, 2]}),
        ('/* x */ {"a": .5, b: 5., c: +1, d: -.5} // y', {"a": 0.5, "b": 5, "c": 1, "d": -0.5}),
        (
            r"'it\'s \x41\u00e9\v\
ok'",
            "it's Aé\vok",
        ),
        ("[Infinity, -Infinity, NaN, null, true]", [None, None, None, None, True]),
        ("{Infinity: 0xFF, $_1: 1e3}", {"Infinity": 255, "$_1": 1000.0}),
        ('"// no comment"', "// no comment"),
        (r"'\ud83d\ude00'", "😀"),
    ],
)
def test_json5_becomes_json(text: str, value: Any) -> None:
    assert json.loads(to_json(text) or "") == value


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_json_is_json5(value: Any) -> None:
    assert json.loads(to_json(json.dumps(value)) or "") == value


@given(st.text("{}[]:,'\"\\/*ab0x1.-+ \n"))
def test_json5_never_fails(text: str) -> None:
    to_json(text)


@pytest.mark.parametrize("path", [p for p in ALL if ".json" in p.name], ids=lambda path: str(path.relative_to(GOLDEN)))
def test_reading_in_two_pieces_equals_reading_at_once(path: Path) -> None:
    kind = kind_of(path)
    assert kind is not None
    if kind.shape == "document":
        return
    whole, source = plain(events(path)), Source(path.as_posix(), kind.name)
    found = records(path, kind)
    for cut in range(len(found) + 1):
        assert plain(pieces(source, found, cut)) == whole


def pieces(source: Source, found: list[bytes], cut: int) -> Iterator[Event]:
    first = FORMAT.reader(source)
    for record in found[:cut]:
        yield from first.read(record, "")
    second = msgspec.json.decode(msgspec.json.encode(first), type=type(first))
    for record in found[cut:]:
        yield from second.read(record, "")


def plain(found: Iterable[Event]) -> list[Any]:
    """Events to compare: raw JSON has no equality of its own."""
    return [msgspec.to_builtins(event, enc_hook=lambda raw: bytes(raw).decode()) for event in found]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
SEEDS = [json.loads(line) for line in case("all-entry-types")[0].read_text().splitlines()] + [
    json.loads(line)
    for path in case("nexus-extended")
    if path.suffix == ".jsonl"
    for line in path.read_text().splitlines()
]


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A real entry with something else in one place."""
    entry = json.loads(json.dumps(draw(st.sampled_from(SEEDS))))
    place: Any = entry
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and place[key] and draw(st.booleans()):
            place = place[key]
            continue
        place[key] = draw(JSON)
        return entry


@settings(max_examples=400, deadline=None)
@given(
    st.lists(mutated() | JSON, min_size=1, max_size=4),
    st.integers(0, 4),
    st.sampled_from(["/x.jsonl", "/.clawdbot/sessions/x.jsonl"]),
)
def test_no_entry_makes_a_reader_fail(entries: list[Any], cut: int, path: str) -> None:
    found = [json.dumps(entry).encode() for entry in entries]
    source = Source(path, "transcript")
    FORMAT.recognise(path, b"\n".join(found))
    whole = list(pieces(source, found, len(found)))
    assert len(list(pieces(source, found, min(cut, len(found))))) == len(whole)
    for event in whole:
        if isinstance(event, Step):
            assert isinstance(event.session, str)
            assert event.session
            assert event.native_id is None or (isinstance(event.native_id, str) and event.native_id)
            assert event.at is None or event.at >= 0


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_no_bytes_make_anything_fail(data: bytes) -> None:
    for path in ("/x.jsonl", "/h/.openclaw/agents/main/sessions/sessions.json"):
        FORMAT.recognise(path, data)
    lines(data)
    list(FORMAT.reader(Source("/sessions.json", "index")).read(data, ""))


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=8), JSON | st.fixed_dictionaries({"sessionId": JSON, "spawnedBy": JSON, "origin": JSON})
    )
)
def test_no_index_makes_the_reader_fail(index: dict[str, Any]) -> None:
    list(FORMAT.reader(Source("/sessions.json", "index")).read(json.dumps(index).encode(), ""))
