"""Files are recognised by their keys in any order, behind a byte order mark or large values, however printed."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from agents_ledger.capture.discover import HEAD_BYTES, Found, is_packed, outlined, recognise
from agents_ledger.capture.sync import Sync
from agents_ledger.formats import formats
from agents_ledger.ledger import Ledger
from agents_ledger.model import members, zstd
from agents_ledger.model.formats import Machine
from agents_ledger.model.formats import Source as FileSource

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
GOLDEN = Path(__file__).parents[1] / "golden"
_LARGE = "large " * 20_000  # longer than the head of a file
_SQLITE = b"SQLite format 3"
_EXACT = (("codex", "index", "lines"), ("codex", "history", "lines"))  # known by having these keys and no others
_ORDERLESS = ("cursor", "gemini", "opencode", "qwen")  # the others keep some JSON as it was written
_BROKEN = [
    b"",
    b"{",
    b'{"',
    b'{"a":',
    b'{"a":"' + b'\\"' * 40_000,
    b"[" * 70_000,
    b'{"a":{' * 9_000,
    b'{"a":1}' * 9_000,
    b"[" + b'{"a":"\xff"},' * 9_000,
    b'{"a":' + b"9" * 70_000,
]
Change = Callable[[Any], Any]


class Source(Struct, frozen=True):
    """A real file, and what it is recognised as."""

    path: Path
    kind: tuple[str, str, str]

    def __str__(self) -> str:
        return "/".join(self.path.parts[-4:])


def claimed(path: Path, data: bytes) -> tuple[str, str, str] | None:
    """What a file is recognised as, as a sync asks."""
    found = Found(str(path), len(data), 0)
    claim = recognise(found, formats(), data[:HEAD_BYTES])
    if claim is None and (brief := outlined(data[:HEAD_BYTES], lambda length: data[:length])) is not None:
        claim = recognise(found, formats(), brief)
    return None if claim is None else (claim[0].name, claim[1].name, claim[1].shape)


def _sources() -> Iterator[Source]:
    """One file of each kind and golden folder."""
    seen = set()
    for path in sorted(path for path in GOLDEN.rglob("*") if path.is_file() and "source" in path.parts):
        data = path.read_bytes()
        kind = None if is_packed(data) or data.startswith(_SQLITE) else claimed(path, data)
        place = path.relative_to(GOLDEN).parts[:2]
        if kind is not None and (place, kind) not in seen and _objects(data, kind[2]):
            seen.add((place, kind))
            yield Source(path, kind)


def _objects(data: bytes, shape: str) -> list[Any] | None:
    """The JSON of a file, line by line or as a whole; None if it is something else."""
    records = [line for line in data.split(b"\n") if line.strip()] if shape == "lines" else [data]
    try:
        found = [json.loads(record) for record in records]
    except ValueError:
        return None
    return found if all(isinstance(value, dict | list) for value in found) else None


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


def _shuffled(value: Any) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        random.Random(len(keys)).shuffle(keys)  # noqa: S311 - the same order in each run
        return {key: _shuffled(value[key]) for key in keys}
    return [_shuffled(item) for item in value] if isinstance(value, list) else value


def _behind_a_large_value(value: Any) -> Any:
    """The same object with a member in front that is longer than the head of a file."""
    return {"anything": _LARGE, **value} if isinstance(value, dict) else value


def _dumped(source: Source, change: Change, **style: Any) -> bytes:
    values = _objects(source.path.read_bytes(), source.kind[2])
    assert values, "a source of the list is JSON"
    return b"\n".join(json.dumps(change(value), **style).encode() for value in values) + b"\n"


SOURCES = list(_sources())


def test_every_format_that_keeps_json_is_asked() -> None:
    assert {source.kind[0] for source in SOURCES} == {form.name for form in formats()}


@pytest.mark.parametrize("change", [_sorted, _reversed, _shuffled])
@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_the_order_of_keys_is_of_no_importance(source: Source, change: Change) -> None:
    assert claimed(source.path, _dumped(source, change)) == source.kind
    assert claimed(source.path, _dumped(source, change, separators=(",", ":"))) == source.kind


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b"\r\n \t", b"\xef\xbb\xbf\n"], ids=["mark", "space", "both"])
@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_a_byte_order_mark_and_white_space_may_stand_before_it(source: Source, before: bytes) -> None:
    assert claimed(source.path, before + source.path.read_bytes()) == source.kind
    assert claimed(source.path, before + _dumped(source, _sorted)) == source.kind


@pytest.mark.parametrize("source", [source for source in SOURCES if source.kind[2] != "lines"], ids=str)
def test_a_document_may_be_printed_in_any_way(source: Source) -> None:
    for indent in (1, 4, "\t"):
        assert claimed(source.path, _dumped(source, _sorted, indent=indent)) == source.kind
    assert claimed(source.path, _dumped(source, _reversed, separators=(",", ":"))) == source.kind


@pytest.mark.parametrize("source", [source for source in SOURCES if source.kind not in _EXACT], ids=str)
def test_its_keys_may_stand_behind_a_large_value(source: Source) -> None:
    assert claimed(source.path, _dumped(source, _behind_a_large_value)) == source.kind
    if source.kind[2] != "lines":
        assert claimed(source.path, _dumped(source, _behind_a_large_value, indent=2)) == source.kind


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_a_byte_order_mark_does_not_change_what_is_read(source: Source) -> None:
    data = source.path.read_bytes()
    assert _read(source, b"\xef\xbb\xbf" + data) == _read(source, data)


@pytest.mark.parametrize("source", [source for source in SOURCES if source.kind[0] in _ORDERLESS], ids=str)
@pytest.mark.parametrize("change", [_sorted, _reversed])
def test_the_order_of_keys_does_not_change_what_is_read(source: Source, change: Change) -> None:
    assert _read(source, _dumped(source, change)) == _read(source, source.path.read_bytes())


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real sessions is not here")
@pytest.mark.parametrize("agent", ["gemini", "opencode", "cursor-transcript", "codex", "claude-code", "pi"])
def test_real_files_with_sorted_keys_are_recognised(agent: str) -> None:
    found = [path for path in sorted((CORPUS / agent).rglob("*")) if path.is_file()]
    assert found
    for path in found:
        kind = claimed(path, path.read_bytes())
        assert kind is not None, path
        assert agent.startswith(kind[0])
        if _objects(path.read_bytes(), kind[2]):
            source = Source(path, kind)
            assert claimed(path, _dumped(source, _sorted, indent=2 if kind[2] == "document" else None)) == kind
            if kind[0] in _ORDERLESS and kind[2] == "document":  # (a transcript's lines are known by their bytes)
                assert _read(source, _dumped(source, _sorted, indent=2)) == _read(source, path.read_bytes())


def test_a_gemini_document_with_sorted_keys_and_many_messages_is_captured(tmp_path: Path) -> None:
    messages = [
        {"id": f"message-{at}", "timestamp": f"2026-04-14T00:{at:02}:00.000Z", "type": kind, "content": _LARGE}
        for at, kind in enumerate(["user", "gemini"] * 5)
    ]
    session = {"sessionId": "970c", "projectHash": "40fc", "startTime": "2026-04-14T00:00:00.000Z"}
    whole = {**session, "lastUpdated": "2026-04-14T00:10:00.000Z", "messages": messages}
    path = tmp_path / "full.jsonl"
    for name, style in (("pretty", {"indent": 2}), ("compact", {"separators": (",", ":")})):
        path.write_text(json.dumps(whole, sort_keys=True, **style))
        with Ledger.open(f"sqlite:///{tmp_path / name}.db") as ledger:
            summary = Sync(ledger, Machine(str(tmp_path), {}, "linux")).run([str(path)])
            assert (summary.sources, summary.unrecognised, summary.problems) == ({"gemini": 1}, [], 0)
            head = ledger.head("gemini:970c")
            assert head is not None
            assert len(ledger.path(head)) == 5


@pytest.mark.parametrize("data", _BROKEN, ids=range(len(_BROKEN)))
def test_broken_beginnings_are_nobodys(data: bytes) -> None:
    assert claimed(Path("/x/full.jsonl"), data) is None
    members.document(data[:HEAD_BYTES])
    assert all(isinstance(found, members.Members) for found in members.lines(data[:HEAD_BYTES]))


def test_only_an_objects_own_keys_count() -> None:
    inner = json.dumps({"sessionId": "s", "projectHash": "h", "uuid": "u", "parentUuid": None, "isSidechain": False})
    for outer in ({"text": inner}, {"value": json.loads(inner)}, [[json.loads(inner)]]):
        for indent in (None, 2):
            assert claimed(Path("/x/full.jsonl"), json.dumps(outer, indent=indent).encode()) is None
            large = {"value": outer, "anything": _LARGE}
            assert claimed(Path("/x/full.jsonl"), json.dumps(large, indent=indent).encode()) is None


def _read(source: Source, data: bytes) -> list[Any]:
    """What a reader says of a file."""
    form = next(form for form in formats() if form.name == source.kind[0])
    reader = form.reader(FileSource(str(source.path), source.kind[1]))
    records = data.split(b"\n") if source.kind[2] == "lines" else [data]
    name = source.path.name
    if source.kind[2] == "bundle" and (folder := form.bundle(str(source.path))):
        name = str(source.path)[len(folder) + 1 :]
    events = [event for record in records if record.strip() for event in reader.read(record, name)]
    return [*events, *reader.end()]


@pytest.mark.parametrize("change", [_sorted, _behind_a_large_value])
def test_packed_files_are_recognised_as_well(change: Change) -> None:
    source = next(source for source in SOURCES if source.kind == ("codex", "rollout", "lines"))
    lines = [{**line, "a": _LARGE} for line in map(json.loads, source.path.read_bytes().splitlines())]
    data = b"\n".join(json.dumps(change(line)).encode() for line in lines) + b"\n"
    assert claimed(Path("/x/rollout-1.jsonl.zst"), zstd.compress(data)) == source.kind


def test_an_outline_has_every_key_and_is_small() -> None:
    value = {"text": _LARGE, "list": [{"deep": [[[[1]]]], "b": "x" * 1000}] * 500, "last": {"c": None, "d": 1.5}}
    found = members.outline(json.dumps(value).encode())
    assert found is not None
    assert len(found) < HEAD_BYTES
    outline = json.loads(found)
    assert list(outline) == ["text", "list", "last"]
    assert set(outline["list"][0]) == {"deep", "b"}
    assert outline["last"] == value["last"]
    assert members.outline(b'{"a": "\xff", "b": 1}') == b'{"a":"","b":1}\n'
    assert members.outline(b'{"a": ') is None


def test_half_a_surrogate_pair_hides_no_keys() -> None:
    odd = {"text": "\ud800", "list": [{"inner": "\ud800"}], "sessionId": "s"}
    found = members.lines(json.dumps(odd).encode() + b"\n")[0]
    assert (found.text("sessionId"), found.is_cut) == ("s", False)
    outline = json.loads(members.outline(json.dumps({**odd, "large": _LARGE}).encode()) or b"{}")
    assert (list(outline), outline["sessionId"]) == ([*odd, "large"], "s")
    assert members.outline(b'{\n"a": 1}') == b'{\n "a": 1\n}'
    document = {"messages": [{"content": "\ud800" + _LARGE}], "projectHash": "h", "sessionId": "s"}
    assert claimed(Path("/x/full.jsonl"), json.dumps(document, indent=1).encode()) == ("gemini", "record", "document")


def test_an_outline_does_not_decode_what_has_too_many_parts() -> None:
    numbers = b"[" + b"1," * 2_000_001 + b"1]"
    assert members.outline(numbers) == b"[]\n"
    assert members.outline(b'{"numbers": ' + numbers + b', "sessionId": "s"}') == b'{"numbers":[],"sessionId":"s"}\n'
