"""No input breaks a reader: of every format, over tens of thousands of hostile records (SOAK=1: a million)."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec import Raw

from agents_ledger.formats import formats
from agents_ledger.model.formats import Format, Kind, Reader, Source
from agents_ledger.model.steps import Event, Said
from agents_ledger.model.texts import json_text, read_json
from tests.formats.hostile import Case, Origin, Stream, cases, origins

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
SOAK = int(os.environ.get("SOAK", "0"))  # 1: a million records; another number: so many
TOTAL = 40_000 if not SOAK else 1_000_000 if SOAK == 1 else SOAK
FOLDERS = [ROOT / "tests" / "golden", *([SHARED / "fixtures"] if SOAK and SHARED.exists() else [])]
FORMATS = list(formats())
EVENTS = get_args(Event)
TIMES = ("at", "created_at", "updated_at", "started_at", "completed_at")
JSON = ("params", "result", "blocks", "context", "metadata", "replacement", "permissions", "extra")
PER_READER, PER_SAVE = 200, 40


@pytest.fixture(scope="session")
def known() -> dict[str, list[Origin]]:
    return {form.name: origins(form, FOLDERS) for form in FORMATS}


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_no_record_breaks_a_reader(form: Format, known: dict[str, list[Origin]], capsys: Any) -> None:
    mine = known[form.name]
    if not mine:
        pytest.skip("this format has no golden sources")
    own = [record for origin in mine for record in origin.records]
    others = [record for name in known if name != form.name for origin in known[name] for record in origin.records]
    count, started = TOTAL // len(FORMATS), time.perf_counter()
    crashes = crashes_of(form, cases(mine, Stream(own, others, form.name), PER_READER), count)
    if SOAK:
        with capsys.disabled():
            rate = count / (time.perf_counter() - started)
            sys.stdout.write(f"\n{form.name}: {count:,} records, {rate:,.0f} a second\n")
    assert not crashes, "\n\n".join(f"{place}\n  {record[:2000]!r}" for place, record in crashes.items())


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_no_path_breaks_a_reader(form: Format, known: dict[str, list[Origin]]) -> None:
    kinds = {origin.kind.name for origin in known[form.name]}
    for path in ("", "/", "\x00", "a\nb.jsonl", "/x/\udcff\udc80.jsonl", "C:\\", "💥" * 99, "a" * 5000):
        for kind in kinds:
            reader = form.reader(Source(path, kind))
            check(reader.read(b"{}", ""))
            check(saved(reader).end())


def crashes_of(form: Format, given: Iterator[Case], count: int) -> dict[str, bytes]:
    """Where a reader raised or gave what it must not → the shortest record that did it."""
    crashes: dict[str, bytes] = {}
    while count > 0:
        case = next(given)
        count -= max(len(case.records), 1)
        for record, problem in run(form, case):
            place = place_of(problem)
            crashes[place] = min(crashes.get(place, record), record, key=len)
    return crashes


def run(form: Format, case: Case) -> Iterator[tuple[bytes, Exception]]:
    """Feeds a reader; gives what went wrong, and with which record."""
    path = case.origin.path
    reader = form.reader(Source(path, case.origin.kind.name, case.until))
    for at, (name, record) in enumerate(case.records):
        try:
            if at % 8 == 0:
                check_claim(form, path, name, record)
            check(reader.read(record, name))
            if at % PER_SAVE == PER_SAVE - 1:
                reader = saved(reader)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is what we look for
            yield record, problem
    try:
        check(reader.end())
    except Exception as problem:  # noqa: BLE001 - as above
        yield b"\n".join(record for _, record in case.records), problem


def check_claim(form: Format, path: str, name: str, record: bytes) -> None:
    """What is asked about a file before it is read."""
    for place in (path, f"{path}/{name}", name, "\x00", "a" * 300):
        assert isinstance(form.recognise(place, record[:65_536]), Kind | None)
        assert isinstance(form.bundle(place), str | None)
    if form.tables:
        tables = form.tables()
        table, _, key = name.partition("\n")
        assert isinstance(tables.group(table, key), str | None)
        clean = tables.clean(table, key, record)
        assert tables.clean(table, key, clean) == clean
        for other, reference in tables.refers(table, key, record):
            assert isinstance(other, str)
            assert isinstance(reference, str)


def check(events: Iterable[Event]) -> None:
    """Events are of the known types, and so is everything in them."""
    for event in events:
        assert isinstance(event, EVENTS), type(event)
        check_fields(event)
        if isinstance(event, Said):
            for part in chain(event.calls, event.files, event.lints, event.codeblocks):
                check_fields(part)
        if (usage := getattr(event, "usage", None)) is not None:
            check_fields(usage)


def check_fields(value: Any) -> None:
    """Every field is of its declared type, times are times, and what is any JSON is JSON."""
    fields = msgspec.structs.asdict(value)
    msgspec.convert(fields, type(value))
    for name in TIMES:
        assert abs(fields.get(name) or 0) < 2**62, name
    for name in JSON:
        if (content := fields.get(name)) is not None:
            check_json(content)


def check_json(content: Any) -> None:
    """Whatever it is, the ledger can write it, and it comes back as JSON."""
    assert not (isinstance(content, Raw) and not bytes(content)), "an empty Raw"
    written, _ = json_text(content, "it")
    written.encode()
    read_json(written)


def saved(reader: Reader) -> Reader:
    """The reader as it comes back when its file has grown."""
    for name, value in msgspec.structs.asdict(reader).items():  # type: ignore[arg-type]
        try:
            msgspec.json.encode(value)
        except (ValueError, TypeError, RecursionError) as problem:
            raise AssertionError(
                f"{type(reader).__name__}.{name} cannot be saved: {type(problem).__name__}"
            ) from problem
    return msgspec.json.decode(msgspec.json.encode(reader), type=type(reader))


def place_of(problem: Exception) -> str:
    """Where it was raised, as far as it is ours."""
    place, trace = "", problem.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if str(ROOT) in file and ".venv" not in file:
            place = f"{Path(file).relative_to(ROOT)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{place}: {type(problem).__name__}: {str(problem)[:200] if isinstance(problem, AssertionError) else ''}"
