"""Lines and files that nobody would write on purpose."""

import json
import math
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from agents_ledger.formats import cursor
from agents_ledger.model.formats import Tables
from tests.formats.hostile import Origin, Stream, cases

CURSOR = cursor.FORMAT.tables() if cursor.FORMAT.tables else Tables({}, lambda _table, _key: None)
START = "2026-11-15T18:44:57.923Z"
Record = dict[str, Any]


def written(path: Path, *lines: Record | bytes | str) -> Path:
    """A file with a line for each record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for each in lines:
            text = json.dumps(each) if isinstance(each, dict) else each
            file.write(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
            file.write(b"\n")
    return path


def header(session: object, **more: Any) -> Record:
    """The first line of one of pi's transcripts."""
    return {"type": "session", "version": 3, "id": session, "timestamp": START, "cwd": "/home/ada", **more}


def entry(name: object, parent: object, words: object = "hello", role: str = "user", **more: Any) -> Record:
    """A message in one of pi's transcripts; `more` is about the message."""
    message = {"role": role, "content": words, "timestamp": 1794768297923, **more}
    return {"type": "message", "id": name, "parentId": parent, "timestamp": START, "message": message}


def line(name: object, parent: object, words: object = "hello", role: str = "user", **more: Any) -> Record:
    """A line of one of Claude Code's transcripts; `more` is about the line."""
    known = {"sessionId": "5e551011-0000-4000-8000-000000000001", "version": "2.1.0", "cwd": "/home/ada"}
    message = {"role": role, "content": words}
    return {"type": role, "uuid": name, "parentUuid": parent, "timestamp": START, **known, "message": message, **more}


def called(name: str, params: bytes) -> bytes:
    """A tool call of pi's, with parameters as they are."""
    message = entry(
        name, None, [{"type": "toolCall", "id": f"call\n{name}", "name": "x", "arguments": "?"}], "assistant"
    )
    return json.dumps(message).encode().replace(b'"?"', params)


# Lines that are wrong in themselves: the good lines around them are read.

Lines = list[Record | bytes | str]
ODD_PARAMS = (b"null", b"0", b'""', b'"\\ud800"', b'"\xff"', b"1e999", b"NaN", b"", b"{", b'{"a":"\xff\\ud800"}')
ODD_TIMES: tuple[object, ...] = (
    "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "99999-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "",
    "yesterday", -1, -(10**18), 2**63, 2**70, 1e300, math.nan, math.inf, [], {},
)  # fmt: skip
ODD_IDS: tuple[object, ...] = (None, 1, 1.5, True, [], {}, "", " ", math.nan)
ODD_COUNTS: tuple[object, ...] = (
    2**70,
    2**62,
    2**62,
    2**62,
    2**63 - 1,
    2**63 - 1,
    -1,
    -(2**70),
    "7",
    1.5,
    math.nan,
    None,
    [],
)


def answered(at: int, words: object = "x", **more: Any) -> Record:
    """One of several answers."""
    return entry(f"m{at}", None, words, "assistant", **more)


BAD_LINES: dict[str, tuple[Lines, str | None]] = {
    "10,000 brackets": ([b"[" * 10_000, b'{"a":' * 10_000, b"[" * 10_000 + b"]" * 10_000], "deep-nesting"),
    "brackets in a message": ([entry("a", None, json.loads("[" * 400 + "]" * 400))], "bad-field"),
    "brackets in parameters": (
        [
            *(called(f"a{deep}", b"[" * deep + b"]" * deep) for deep in range(100, 1100, 50)),
            *(called(f"b{deep}", b'{"a":"\\ud800","b":' + b"[" * deep + b"]" * deep + b"}") for deep in (10, 300, 800)),
        ],
        None,
    ),
    "parameters of all kinds": ([called(f"a{at}", text) for at, text in enumerate(ODD_PARAMS)], None),
    "bytes that are no text": ([b'{"type":"message","id":"\xff\xfe","parentId":null}', b"\xff\xfe\x00"], "broken-text"),
    "nothing but NUL": ([b"\x00" * 5000, b"\x00"], None),
    "NUL in ids and texts": ([entry("a\x00b", "\x00", "x\x00y"), entry("\x00", "a\x00b", "z")], None),
    "lone surrogates": ([entry("\ud800", "\udfff", "\ud83d!"), entry("b", "\ud800", "\udc00", "\udead")], None),
    "two objects on a line": ([json.dumps(entry("a", None)) + json.dumps(entry("b", "a"))], "glued-line"),
    "lines of another agent": ([line("u-1", None), line("u-2", "u-1", "hi", "assistant")], None),
    "more headers": ([header("another"), entry("x1", None), header("one-more"), entry("x2", "x1")], "mixed-sessions"),
    "not JSON": (["hello", "{", "}", "[1]", "null", "17", '"a"', "{'a': 1}", "NaN"], "broken-line"),
    "ids that are none": ([entry(odd, odd) for odd in ODD_IDS], "bad-field"),
    "huge ids": ([entry("a" * 100_000, None), entry("é" * 3000, "a" * 100_000), entry("c", "é" * 3000)], "bad-field"),
    "the same id again": ([entry("a", None, f"take {at}") for at in range(20)], None),
    "its own parent": ([entry("a", "a"), entry("b", "b", "x", "assistant")], None),
    "parents in a circle": ([entry("a", "b"), entry("b", "c", "x", "assistant"), entry("c", "a")], "circular-parent"),
    "children before parents": ([entry(f"n{at}", f"n{at + 1}") for at in range(50)], "missing-parent"),
    "tool ids with line ends": (
        [
            called("l\n\n", b"{}"),
            entry("r", "l\n\n", "done", "toolResult", toolCallId="call\nl\n\n", toolName="x\r\n"),
        ],
        None,
    ),
    "results without calls": (
        [entry(f"r{at}", None, odd, "toolResult", toolCallId=f"\x00{at}") for at, odd in enumerate(("a", ["b"], 7))],
        "missing-result",
    ),
    "times out of time": (
        [{**entry(f"t{at}", None, timestamp=time), "timestamp": time} for at, time in enumerate(ODD_TIMES)],
        None,
    ),
    "tokens of all kinds": (
        [
            answered(at, model="m", usage={"input": count, "output": count, "cacheRead": count, "totalTokens": total})
            for at, count in enumerate(ODD_COUNTS)
            for total in (count, None)
        ],
        None,
    ),
    "models of all kinds": (
        [answered(at, model=odd, provider=odd) for at, odd in enumerate(("\ud800", "\x00", 7, [], "m" * 9999))],
        None,
    ),
}  # fmt: skip


# What contradicts itself is not the same in any order, but it is taken.
WORSE_LINES: dict[str, tuple[Lines, str | None]] = {
    "circles over circles": ([entry(at, by) for at, by in ("ab", "bc", "ca", "ac", "cb", "ba", "aa") * 3], None),
}


def deepened(record: bytes, chance: Random) -> bytes:
    """A record with something bottomless in one of its fields."""
    deep = chance.randint(840, 1000)
    inside = b"[" * deep + b"1.0" + b"]" * deep if deep % 2 else b'[{"a":' * (deep // 2) + b'"x"' + b"}]" * (deep // 2)
    try:
        return json.dumps(marked(json.loads(record), chance)).encode().replace(b'"@deep@"', inside)
    except (ValueError, RecursionError):
        return record


def marked(value: Any, chance: Random) -> Any:
    """The value with a mark instead of one thing inside it."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        return {**value, key: marked(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        return [*value[:at], marked(value[at], chance), *value[at + 1 :]]
    return "@deep@"


def hostile_files(folder: Path, name: str, known: dict[str, list[Origin]], seed: str, most: int) -> None:
    """Sources of a format with so many records, most of which nobody would write."""
    mine = [origin for origin in known[name] if origin.records]
    own = [record for origin in mine for record in origin.records]
    others = [record for other in known if other != name for origin in known[other] for record in origin.records]
    for at, case in enumerate(cases(mine, Stream(own, others, seed), (12, 200)[len(seed) % 2])):
        origin = case.origin
        path = folder / str(at) / origin.path.partition("/source/")[2]
        path.parent.mkdir(parents=True)
        if origin.kind.shape == "lines":  # a real line first, so that it is taken for what it is not
            written(path, origin.records[0], *(record for _, record in case.records))
        elif origin.kind.shape == "database":
            stored(path, case.records)
        else:
            for part, record in case.records:
                file = path / part if origin.kind.shape == "bundle" else path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(record)
        most -= len(case.records) + 1
        if most <= 0:
            return


def stored(path: Path, given: Iterable[tuple[str, bytes]]) -> None:
    """A database with some rows (`table`, line end, `key`)."""
    with closing(sqlite3.connect(path)) as database:
        database.text_factory = bytes
        for name, value in given:
            table, _, key = name.partition("\n")
            first, last = CURSOR.columns[table]
            database.execute(f"CREATE TABLE IF NOT EXISTS {table} ({first} TEXT PRIMARY KEY, {last} BLOB)")
            database.execute(f"INSERT OR IGNORE INTO {table} VALUES (?, ?)", (key, value))  # noqa: S608 - names of ours
        database.commit()
