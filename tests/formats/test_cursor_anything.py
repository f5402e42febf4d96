"""Whatever Cursor's files hold, its readers go on."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_ledger.formats.cursor import wire
from agents_ledger.formats.cursor.rows import RowsReader
from agents_ledger.formats.cursor.store import StoreReader
from agents_ledger.formats.cursor.transcript import TranscriptReader
from agents_ledger.model.steps import Event, Problem, Said
from tests.formats import cursor_store as made
from tests.formats.cursor_rows import TABLES, groups, of, plain, read


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("cursor")
    return {case: make(folder / case) for case, make in made.CASES.items()}


@pytest.fixture(scope="module")
def main(stores: dict[str, Path]) -> list[Event]:
    return read(groups(stores["new-composers"])[made.MAIN])


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = ["composerData:c", "bubbleId:c:a", "bubbleId:c:b", "checkpointId:c:d", "agentKv:checkpoint:c"]
NASTY: list[Any] = [
    None,
    True,
    -1,
    10**30,
    float("nan"),
    "",
    "x",
    "{",
    '{"a":1}',
    "\ud800",
    "\0",
    [],
    [[]],
    {},
    {"": None},
    "~AAAA",
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def encodable(events: list[Event]) -> None:
    for event in events:
        try:
            msgspec.json.encode(event)
        except UnicodeEncodeError:
            assert "\\ud" in ascii(event)  # a lone surrogate of the source: whoever writes it replaces it


def test_no_field_of_a_wrong_type_stops_the_reader(stores: dict[str, Path]) -> None:
    """Every place of every row, replaced in turn by one of the nasty values."""
    turn = 0
    for case in ("new-composers", "old-composers", "legacy-workspace"):
        for rows in groups(stores[case]).values():
            for name, row in rows.items():
                if row[:1] != b"{":
                    continue
                value = json.loads(row)
                for path in places(value):
                    turn += 1
                    other = json.dumps(replaced(value, path, NASTY[turn % len(NASTY)])).encode()
                    encodable(read(rows | {name: other}))


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), anything | st.binary(max_size=40)))
def test_rows_of_anything_never_raise(rows: dict[str, Any]) -> None:
    told = {
        f"cursorDiskKV\n{key}": value if isinstance(value, bytes) else json.dumps(value).encode()
        for key, value in rows.items()
    }
    encodable(read(told))
    assert TABLES is not None
    for key, value in told.items():
        list(TABLES.refers("cursorDiskKV", key.partition("\n")[2], value))


@settings(max_examples=60, deadline=None)
@given(anything, st.sampled_from(["user", "assistant", "tool", "system", "x"]), st.binary(max_size=60))
def test_lines_and_blobs_of_anything_never_raise(value: Any, role: str, noise: bytes) -> None:
    reader = TranscriptReader("t.jsonl")
    for line in (
        value,
        {"role": role, "message": value},
        {"role": role, "message": {"content": [value]}},
        {"type": value},
    ):
        encodable(list(reader.read(json.dumps(line).encode(), "")))
    encodable(list(reader.read(noise, "")))
    blobs = {"blobs\na": json.dumps({"role": role, "content": value}).encode(), "blobs\nb": noise, "meta\n0": noise}
    encodable(read(blobs, kind="store"))
    list(wire.fields(noise))


def test_nesting_without_a_bottom_is_survived() -> None:
    deep = b'{"conversation":[{"type":1,"text":"x","a":' + b"[" * 800 + b"]" * 800 + b"}]}"
    worse = b"[" * 100_000
    events = read({"cursorDiskKV\ncomposerData:c": deep, "cursorDiskKV\nbubbleId:c:b": worse})
    assert [event.content for event in of(events, Said)] == ["x"]
    assert {problem.code for problem in of(events, Problem)} == {"deep-nesting", "lost-row"}


def test_a_reader_saved_in_the_middle_goes_on(stores: dict[str, Path], main: list[Event]) -> None:
    rows = groups(stores["new-composers"])[made.MAIN]
    reader = RowsReader("state.vscdb#x")
    for at, (name, value) in enumerate(rows.items()):
        assert list(reader.read(value, name)) == []
        if at == len(rows) // 2:
            reader = msgspec.json.decode(msgspec.json.encode(reader), type=RowsReader)
    assert plain(reader.end()) == plain(main)
    assert msgspec.json.decode(msgspec.json.encode(StoreReader("x")), type=StoreReader) == StoreReader("x")
