"""Claude Code's golden transcripts as events, and lines of its kind that tests write down."""

import json
from pathlib import Path
from typing import Any, TypeVar

from agents_ledger.formats.claude_code import FORMAT
from agents_ledger.model.formats import Source
from agents_ledger.model.steps import Event, Said

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = GOLDEN / "claude-code"
SOURCES = sorted(path for path in CASES.glob("*/source/**/*") if path.is_file())
T = TypeVar("T", bound=Event)


def story(path: Path) -> list[Event]:
    """The events of a file as it was recognised."""
    data = path.read_bytes()
    kind = FORMAT.recognise(str(path), data[:65536])
    assert kind is not None, path
    reader = FORMAT.reader(Source(str(path), kind.name))
    records = [data] if kind.shape == "document" else data.split(b"\n")
    events = [event for record in records if record.strip() for event in reader.read(record, path.name)]
    return [*events, *reader.end()]


def told(case: str, name: str = "") -> list[Event]:
    """The events of the one file of a case whose name begins so."""
    (path,) = (path for path in SOURCES if path.parts[-2:-1] == ("source",) and f"/{case}/source/{name}" in str(path))
    return story(path)


def of(kind: type[T], events: list[Event]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def read(*lines: Any, path: str = "/x/s.jsonl") -> list[Event]:
    """The events of lines that are written down here."""
    reader = FORMAT.reader(Source(path, "transcript"))
    return [event for line in lines for event in reader.read(json.dumps(line).encode(), "")]


def line(kind: str, uuid: str = "u1", parent: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": False, "sessionId": "s", **fields}


def user(content: Any, uuid: str = "u1", parent: str | None = None, **fields: Any) -> dict[str, Any]:
    return line("user", uuid, parent, message={"role": "user", "content": content}, **fields)


def said(*blocks: Any, uuid: str = "a1", parent: str | None = "u1", **message: Any) -> dict[str, Any]:
    return line("assistant", uuid, parent, message={"role": "assistant", "id": "m", "content": list(blocks), **message})


def only(events: list[Event]) -> Said:
    """The one message among them."""
    (message,) = of(Said, events)
    return message
