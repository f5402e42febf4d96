"""Our ledger's tokens and ccusage's: for each model, for each file by itself and for files that belong together.

Where ccusage counts otherwise for a known reason, it is given a copy without that reason: then both must be the same.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from agents_ledger.ledger.stats import tokens
from bench.claude_corpus import write_corpus
from oracles.ours import GOLDEN, SHARED, copied, synced, totals
from oracles.readers import Tokens, ccusage_cost, ccusage_totals

Json = dict[str, Any]


@dataclass(frozen=True)
class Reason:
    """Why ccusage counts some lines otherwise, which they are, and the same without the reason."""

    why: str
    applies: Callable[[Json], bool]
    mended: Callable[[Json], Json]


def _usage(line: Json) -> Json:
    message = line.get("message")
    usage = message.get("usage") if isinstance(message, dict) else None
    return usage if isinstance(usage, dict) else {}


def _contradicts_itself(line: Json) -> bool:
    usage = _usage(line)
    parts = usage.get("cache_creation")
    return isinstance(parts, dict) and sum(parts.values()) != usage.get("cache_creation_input_tokens")


def _without_parts(line: Json) -> Json:
    del line["message"]["usage"]["cache_creation"]
    return line


def _has_microseconds(line: Json) -> bool:
    return bool(_usage(line)) and len(str(line.get("timestamp"))) > len("2026-11-15T18:27:15.969Z")


REASONS = [
    Reason(
        "it takes the parts `cache_creation.ephemeral_…` for the sum, also where they are zeros that contradict it",
        _contradicts_itself,
        _without_parts,
    ),
    Reason(
        "it leaves out lines with times of more than milliseconds (forks by the SDK have them)",
        _has_microseconds,
        lambda line: {**line, "timestamp": line["timestamp"][:23] + "Z"},
    ),
]
SPACES = 'it looks for the bytes `"usage":{` and overlooks lines with spaces behind the colons (written by hand)'
FORKS = "Claude Code 1.0 copies messages into forks without their `requestId`: ccusage counts those again, we do not"

# ccusage leaves out the calls that a fork or a subagent copied from its origin. Where the origin's own file is missing,
# they are recorded nowhere else, and the ledger counts them. So ccusage is given such a file as a thread of its own.

# By how much we count more (or less) in Codex's files, and why.
MORE = {
    "rollout-2026-11-15T18-14-24-01a1e06a-e587-76c1-bcdd-9c9a8ad6b4ee.jsonl": (
        {"gpt-5-codex": Tokens(2032, 14, 0, 8124)},
        "the last call before it was killed has a `token_usage_record` and no `token_count`; ccusage reads these only",
    ),
}
MORE_IN_GOLDEN = {
    **MORE,
    "rollout-2026-11-15T18-24-16-01a1e073-ecfa-7413-9e26-197e48210724.jsonl in rollback": (
        {"gpt-5.2-codex": Tokens(600, 120, 0, 300)},
        "lines were cut out: the sums go on from 600 to 1500; we follow the sums, ccusage the single calls",
    ),
    "rollout-2026-11-15T18-52-05-01a1e08d-66b2-7100-b22c-d18ec2df8409.jsonl in broken-lines": (
        {"gpt-5": Tokens(0, -9, 0, 0)},
        '`output_tokens` is the text "9" there: ccusage takes it for a number',
    ),
}
TOGETHER = {
    "fixtures/codex": (MORE["rollout-2026-11-15T18-14-24-01a1e06a-e587-76c1-bcdd-9c9a8ad6b4ee.jsonl"][0], "as above"),
    "fixtures/codex-0.63.0": (
        {"gpt-5-codex": Tokens(5928, 57, 0, 7032)},
        "a copy by hand under a new id: ccusage knows its calls by their times; for us it is another session",
    ),
    "codex/killed": (MORE["rollout-2026-11-15T18-14-24-01a1e06a-e587-76c1-bcdd-9c9a8ad6b4ee.jsonl"][0], "as above"),
}


def claude_files(folder: Path) -> list[Path]:
    """Claude Code's files below a folder."""
    found = [path for path in sorted(folder.rglob("*")) if path.suffix == ".jsonl" or path.name == "raw_transcript"]
    return [path for path in found if path.is_file() and (not path.is_relative_to(GOLDEN) or "source" in path.parts)]


def codex_files(folder: Path) -> list[Path]:
    """Codex's files below a folder."""
    return [path for path in claude_files(folder) if path.name not in ("history.jsonl", "session_index.jsonl")]


CLAUDE_FOLDERS = [*sorted(SHARED.glob("fixtures/claude*")), SHARED / "corpus/claude-code"]
CODEX_FOLDERS = [*sorted(SHARED.glob("fixtures/codex*")), SHARED / "corpus/codex"]
GOLDEN_CLAUDE = sorted(GOLDEN.glob("claude-code/*/source"))
GOLDEN_CODEX = sorted(path for path in GOLDEN.glob("codex/*/source") if path.parent.name != "packed")
CLAUDE = [path for folder in [GOLDEN / "claude-code", *CLAUDE_FOLDERS] for path in claude_files(folder)]
CODEX = [path for folder in [GOLDEN / "codex", *CODEX_FOLDERS] for path in codex_files(folder)]


def _id(path: Path) -> str:
    return "/".join(path.parts[-4:])


@contextmanager
def mended(folder: Path) -> Iterator[tuple[Path, set[str]]]:
    """A copy of a folder without the known reasons, and those that were met."""
    met: set[str] = set()
    requests: dict[str, str] = {}
    with TemporaryDirectory() as copy:
        files = {path: _records(path) for path in sorted(folder.rglob("*.jsonl"))}
        for record in (record for records in files.values() for record in records if isinstance(record, dict)):
            if _usage(record) and isinstance(record.get("requestId"), str):
                requests[record["message"].get("id")] = record["requestId"]
        for path, records in files.items():
            lines = [_mended(record, requests, met) for record in records]
            place = Path(copy, path.relative_to(folder))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(b"\n".join(lines))
        yield Path(copy), met


def _records(path: Path) -> list[Json | bytes]:
    """Lines as JSON objects; those that are none as they are."""
    found: list[Json | bytes] = []
    for line in path.read_bytes().splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        found.append(value if isinstance(value, dict) and b"\\ud8" not in line else line)
    return found


def _mended(record: Json | bytes, requests: dict[str, str], met: set[str]) -> bytes:
    if isinstance(record, bytes):
        return record
    for reason in REASONS:
        if reason.applies(record):
            met.add(reason.why)
            record = reason.mended(record)
    if _usage(record) and "requestId" not in record and record["message"].get("id") in requests:
        met.add(FORKS)
        record = {**record, "requestId": requests[record["message"]["id"]]}
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()


def counted(totals_: dict[str, Tokens]) -> dict[str, Tokens]:
    """Without models that used nothing."""
    return {model: tokens for model, tokens in totals_.items() if tokens != Tokens()}


def check_claude(folder: Path, *, because: set[str] | None = None) -> None:
    """Equal; or equal without the known reasons, and then there is one."""
    with synced(folder) as ledger:
        ours = counted(totals(ledger))
    if ours == counted(ccusage_totals(claude_dir=folder)):
        return
    with mended(folder) as (copy, met):
        assert counted(ccusage_totals(claude_dir=copy)) == ours
        spaced = any(b'"usage": {' in path.read_bytes() for path in folder.rglob("*.jsonl"))
        assert met or spaced
        print(*sorted({*met, *({SPACES} if spaced else ())}), sep="\n")
        assert because is None or met <= because


@pytest.mark.parametrize("path", CLAUDE, ids=_id)
def test_a_file_of_claude_code_used_the_same(path: Path) -> None:
    if "broken-lines" in path.parts:
        pytest.skip("NOT JUDGED: glued lines and lines that are not UTF-8, of which ccusage counts nothing")
    with copied([(path, f"{path.name.removesuffix('.jsonl')}.jsonl")]) as folder:
        check_claude(folder, because={reason.why for reason in REASONS})


@pytest.mark.parametrize("folder", [*GOLDEN_CLAUDE, *CLAUDE_FOLDERS], ids=_id)
def test_files_of_claude_code_together_used_the_same(folder: Path) -> None:
    if folder.parent.name == "broken-lines":
        pytest.skip("NOT JUDGED: as above")
    paths = claude_files(folder)
    if not paths:
        pytest.skip(f"NOT JUDGED: nothing in {folder}")
    pairs = [(path, f"{path.relative_to(folder).as_posix().removesuffix('.jsonl')}.jsonl") for path in paths]
    with copied(pairs) as copy:
        check_claude(copy)


def test_a_corpus_used_the_same_and_what_it_is_known_to_have_used(tmp_path: Path) -> None:
    truth = write_corpus(tmp_path, sessions=30, projects=5)
    folder = tmp_path / ".claude" / "projects"
    with synced(folder) as ledger:
        ours = counted(totals(ledger))
    assert ours == counted(ccusage_totals(claude_dir=folder))
    known = (truth.input_tokens, truth.output_tokens, truth.cache_write_tokens, truth.cache_read_tokens)
    assert sum(ours.values(), Tokens()) == Tokens(*known)


def without_missing_origins(folder: Path) -> int:
    """Makes threads of their own of the forks below a folder whose origin is not there; gives how many."""
    rollouts = {path: _records(path) for path in sorted(folder.rglob("*.jsonl"))}
    heads = {path: head for path, records in rollouts.items() if records and (head := _meta(records[0]))}
    there = {head.get("id") for head in heads.values()}
    changed = 0
    for path, head in heads.items():
        origin = _copied_from(head, rollouts[path])
        if origin is not None and origin not in there:
            there.add(origin)  # a second fork of it copied the same calls
            path.write_bytes(b"\n".join(_as_its_own(rollouts[path])) + b"\n")
            changed += 1
    return changed


def _meta(record: Json | bytes) -> Json | None:
    """What a header says."""
    meta = record.get("payload") if isinstance(record, dict) and record.get("type") == "session_meta" else None
    return meta if isinstance(meta, dict) else None


def _copied_from(head: Json, records: list[Json | bytes]) -> str | None:
    """The thread whose records stand in a file behind its header: its own header is the second line."""
    second = None if len(records) < 2 else _meta(records[1])
    origin = None if second is None else second.get("id")
    return origin if isinstance(origin, str) and origin != head.get("id") else None


def _as_its_own(records: list[Json | bytes]) -> Iterator[bytes]:
    """The records of a fork without what calls it one, each at a time of its own: a copy gets the time of copying."""
    for number, record in enumerate(records):
        if isinstance(record, bytes):
            yield record
            continue
        head = _meta(record)
        if head is not None and number:
            continue
        told = {
            **record,
            "timestamp": f"2026-01-01T{number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
        }
        if head is not None:
            told["payload"] = {**head, "source": "cli"}
            told["payload"].pop("forked_from_id", None)
        yield json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize(("name", "agent"), [("claude-code", "claude"), ("codex", "codex")])
def test_fast_mode_costs_the_same(name: str, agent: str) -> None:
    folder = GOLDEN / name / "fast-mode" / "source"
    with synced(folder) as ledger:
        ours = tokens(ledger.database, by=("model",))
    assert any(line.key[0] and line.key[0].endswith("-fast") for line in ours.lines)
    assert ours.total.cost_usd == pytest.approx(ccusage_cost(agent, folder))


def check_codex(folder: Path, more: dict[str, Tokens]) -> None:
    """Equal, but for what is known and explained."""
    with synced(folder) as ledger:
        ours = counted(totals(ledger))
    with mended(folder) as (copy, _):  # for its spaces alone: the reasons are Claude Code's
        without_missing_origins(copy)
        theirs = counted(ccusage_totals(codex_dir=copy))
    for model, more_tokens in more.items():
        theirs[model] = theirs.get(model, Tokens()) + more_tokens
    assert counted(theirs) == at_any_speed(ours)


def at_any_speed(ours: dict[str, Tokens]) -> dict[str, Tokens]:
    """Without the names of fast variants: ccusage tells Codex's service tiers apart in the cost alone."""
    found: dict[str, Tokens] = {}
    for model, used in ours.items():
        usual = model.removesuffix("-fast")
        found[usual] = found.get(usual, Tokens()) + used
    return found


@pytest.mark.parametrize("path", CODEX, ids=_id)
def test_a_file_of_codex_used_the_same(path: Path) -> None:
    known: dict[str, Any] = MORE_IN_GOLDEN if path.is_relative_to(GOLDEN) else MORE
    golden = next((f"{path.name} in {one.parent.name}" for one in path.parents if one.name == "source"), path.name)
    more: tuple[dict[str, Tokens], str] = known.get(golden) or known.get(path.name) or ({}, "")
    name = path.name if path.name.startswith("rollout-") else f"rollout-2026-01-01T00-00-00-{path.name}.jsonl"
    with copied([(path, name)]) as folder:
        check_codex(folder, more[0])


@pytest.mark.parametrize("folder", [*GOLDEN_CODEX, *CODEX_FOLDERS], ids=_id)
def test_files_of_codex_together_used_the_same(folder: Path) -> None:
    paths = codex_files(folder)
    if not paths:
        pytest.skip(f"NOT JUDGED: nothing in {folder}")
    owner = folder.parent if folder.name == "source" else folder
    alone = {f"{path.name} in {owner.name}" for path in paths} & MORE_IN_GOLDEN.keys()
    more: tuple[dict[str, Tokens], str] = TOGETHER.get("/".join(owner.parts[-2:])) or (
        MORE_IN_GOLDEN[alone.pop()] if len(paths) == 1 and alone else ({}, "")
    )
    pairs = [
        (
            path,
            path.name if path.name.startswith("rollout-") else f"{number}/rollout-2026-01-01T00-00-00-{number}.jsonl",
        )
        for number, path in enumerate(paths)
    ]
    with copied(pairs) as copy:
        check_codex(copy, more[0])
