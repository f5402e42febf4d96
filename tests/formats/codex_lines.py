"""Codex: sources to read, and lines that nobody wrote down."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from agents_ledger.formats.codex import FORMAT
from agents_ledger.model import zstd
from agents_ledger.model.formats import Source
from agents_ledger.model.steps import Event, Said, Spent

GOLDEN = Path(__file__).parents[1] / "golden"
SHARED = Path(__file__).parents[3] / "shared"
SOURCES = sorted(path for path in (GOLDEN / "codex").glob("*/source/**/*.jsonl*") if path.is_file())
ROLLOUTS = [path for path in SOURCES if path.name.startswith("rollout")]
THREAD = "01a1e000-0000-7000-8000-00000000aaaa"
PATH = f"/x/sessions/rollout-2026-11-15T10-00-00-{THREAD}.jsonl"
E = TypeVar("E")


def unpacked(path: Path) -> bytes:
    if path.suffix != ".zst":
        return path.read_bytes()
    return zstd.decompress(path.read_bytes())


def lines_of(path: Path) -> list[bytes]:
    return [line for line in unpacked(path).split(b"\n") if line.strip()]


def read(lines: Iterable[bytes], path: str = PATH, until: int | None = None) -> list[Event]:
    reader = FORMAT.reader(Source(path, "rollout", until))
    return [*(event for line in lines for event in reader.read(line, "")), *reader.end()]


def golden(case: str, part: str = "") -> list[Event]:
    (path,) = (path for path in ROLLOUTS if f"/{case}/" in path.as_posix() and part in path.name)
    return read(lines_of(path), str(path))


def entry(kind: str, payload: Any, at: str = "2026-11-15T10:00:00.000Z", **more: Any) -> bytes:
    return json.dumps({"timestamp": at, "type": kind, "payload": payload, **more}).encode()


def header(**more: Any) -> bytes:
    return entry("session_meta", {"id": THREAD, "cwd": "/w", **more})


def message(role: str, words: str, at: str = "2026-11-15T10:00:00.000Z", **more: Any) -> bytes:
    content = [{"type": "input_text", "text": words}]
    return entry("response_item", {"type": "message", "role": role, "content": content, **more}, at)


def counted(total: list[int], last: list[int] | None = None) -> bytes:
    """A token_count with input, cached and output."""
    keys = ("input_tokens", "cached_input_tokens", "output_tokens")
    info = {"total_token_usage": dict(zip(keys, total, strict=True))}
    if last is not None:
        info["last_token_usage"] = dict(zip(keys, last, strict=True))
    return entry("event_msg", {"type": "token_count", "info": info})


def only(kind: type[E], events: Iterable[Event]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def questions(events: Iterable[Event]) -> list[Said]:
    return [said for said in only(Said, events) if said.starts_turn]


def spent(events: Iterable[Event]) -> list[tuple[int | None, int | None, int | None]]:
    return [(step.usage.input, step.usage.cached, step.usage.output) for step in only(Spent, events)]
