"""Claude Code: whatever a line holds, wherever a file is cut, whosever file it is."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_ledger.formats.claude_code import FORMAT
from agents_ledger.formats.claude_code.reader import Transcript
from agents_ledger.model.formats import Machine, Source
from agents_ledger.model.steps import Noted, Problem, Said, Step
from tests.formats.claude_stories import GOLDEN, SOURCES, of, story, user

SHARED = Path(__file__).parents[3] / "shared"
TRANSCRIPTS = [path for path in SOURCES if not path.name.endswith(".meta.json")]


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: f"{path.parts[-3]}-{path.name[:20]}")
def test_a_transcript_read_in_two_pieces_gives_the_same(path: Path) -> None:
    lines = [record for record in path.read_bytes().split(b"\n") if record.strip()]
    whole = FORMAT.reader(Source(str(path), "transcript"))
    expected = [list(whole.read(record, "")) for record in lines]
    reader = FORMAT.reader(Source(str(path), "transcript"))
    for record, events in zip(lines, expected, strict=True):
        assert shown(reader.read(record, "")) == shown(events)
        reader = msgspec.json.decode(msgspec.json.encode(reader), type=Transcript)


def shown(events: Any) -> list[str]:
    """Events as text, to be compared: `Raw` by its bytes."""
    return [repr(_with_bytes(event)) if isinstance(event, Said) else repr(event) for event in events]


def _with_bytes(message: Said) -> Said:
    calls = (msgspec.structs.replace(call, params=bytes(call.params or b"")) for call in message.calls)
    return msgspec.structs.replace(message, calls=tuple(calls))


def test_every_parent_in_the_real_ones_is_a_step() -> None:
    for path in TRANSCRIPTS:
        if path.parts[-3].startswith("broken-lines"):
            continue
        seen: set[str | None] = {None, ""}
        parents: set[str | None] = set()
        for event in story(path):
            if isinstance(event, Step):
                seen.add(event.native_id)
                parents.add(None if isinstance(event, Noted) and event.or_last else event.parent)
        assert parents <= seen, path


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A real line with some values replaced by others, cut or doubled."""
    value = json.loads(draw(st.sampled_from(REAL)))
    for _ in range(draw(st.integers(1, 3))):
        place = value
        while isinstance(place, dict) and place:
            key = draw(st.sampled_from(sorted(place)))
            inner = place[key]
            if not isinstance(inner, dict) or draw(st.booleans()):
                place[key] = draw(json_values)
                break
            place = inner
    record = json.dumps(value).encode()
    return draw(
        st.sampled_from([record, record[: len(record) // 2], record + record, record.replace(b"e", b"\xff", 3)])
    )


def real_lines() -> Iterator[bytes]:
    for path in SOURCES:
        if path.suffix == ".jsonl" and not path.parts[-3].startswith("broken-lines"):
            yield from (record for record in path.read_bytes().split(b"\n") if 0 < len(record) < 4000)


REAL = sorted(set(real_lines()))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(mutated() | st.binary(max_size=40) | json_values.map(lambda value: json.dumps(value).encode()), max_size=6)
)
def test_no_line_breaks_the_reader_or_its_state(records: list[bytes]) -> None:
    reader = FORMAT.reader(Source("/x/s.jsonl", "transcript"))
    for record in records:
        list(reader.read(record, ""))
        reader = msgspec.json.decode(msgspec.json.encode(reader), type=Transcript)
        FORMAT.recognise("/x/s.jsonl", record)


def test_its_own_files_are_recognised_wherever_they_lie() -> None:
    for path in SOURCES:
        kind = FORMAT.recognise("/somewhere/raw_transcript", path.read_bytes()[:65536])
        assert kind is not None, path
        assert kind.name == ("meta" if path.name.endswith(".meta.json") else "transcript")


def test_a_first_line_longer_than_the_head_is_recognised() -> None:
    head = json.dumps(user("x" * 100_000)).encode()[:65536]
    assert FORMAT.recognise("/x/full.jsonl", b'{"parentUuid":null,"isSidechain":false,' + head[1:]) is not None


def test_files_of_other_agents_are_left_to_them() -> None:
    others = [path for path in GOLDEN.glob("*/*/source/**/*") if path.is_file() and "claude-code" not in path.parts]
    for folder in (SHARED / "fixtures", SHARED / "corpus"):
        others += [path for path in folder.glob("*/**/*") if path.is_file() and not _is_ours(path, folder)]
    claimed = []
    for path in others:
        with path.open("rb") as file:
            kind = FORMAT.recognise(str(path), file.read(65536))
        # Nexus's description of a session is read as well, but anybody who is surer may have it.
        if kind is not None and kind.score > 40:
            claimed.append(path)
    assert claimed == []


def _is_ours(path: Path, folder: Path) -> bool:
    return path.relative_to(folder).parts[0].startswith("claude")


def test_roots_follow_the_environment() -> None:
    machine = Machine("/home/dev", {"CLAUDE_CONFIG_DIR": "/etc/claude"}, "linux")
    paths = [root.path for root in FORMAT.roots(machine)]
    assert paths[:3] == ["/etc/claude/projects", "/home/dev/.claude/projects", "/home/dev/.config/claude/projects"]
    mac = [root.path for root in FORMAT.roots(Machine("/Users/dev", {}, "darwin"))]
    assert "/Users/dev/Library/Application Support/Claude/local-agent-mode-sessions" in mac


def test_sessions_of_real_people_are_read() -> None:
    corpus = SHARED / "corpus" / "claude-code"
    if not corpus.exists():
        pytest.skip("the corpus of real sessions is not on this machine")
    for path in corpus.glob("**/*"):
        if path.is_file():
            problems = Counter(problem.code for problem in of(Problem, story(path)))
            broken = sum(not _is_json(line) for line in path.read_bytes().splitlines() if line.strip())
            assert problems.pop("broken-line", 0) + problems["glued-line"] == broken, path
            assert set(problems) <= {"glued-line", "unknown-entry", "bad-field"}, path
            assert problems.total() <= 2, path


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
