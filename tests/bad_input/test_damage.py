"""A damaged file: noticed, named, never a silent wrong answer, never an error of the engine's own types."""

import os
import random
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from agents_ledger import Call, File, Ledger, Message, Turn
from agents_ledger.errors import LedgerError, StoreCorrupt, StoreError
from agents_ledger.store import Tx

PAGE = 4096
COPIES = 36
RECORD = (
    "turns",
    "segments",
    "messages",
    "tool_calls",
    "message_files",
    "sessions",
    "session_history",
    "log",
)


@pytest.fixture(scope="module")
def closed_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("damage") / "ledger.db"
    with Ledger.open(f"sqlite:///{path}") as ledger:
        for number in range(60):
            messages = (
                Message("user", f"needle-{number:03} äöü " * 20, files=(File("a.py", "read"),)),
                Message("assistant", "hay " * 100, thinking="hmm"),
            )
            turn = Turn(messages=messages, calls=(Call("Read", {"n": number}, result="x" * 300),))
            ledger.append(f"session-{number % 5}", turn)
        ledger.archive("session-4")
    return path


def everything(ledger: Ledger) -> list[list[tuple[object, ...]]]:
    return [ledger.database.query(f"SELECT * FROM {table} ORDER BY 1")[1] for table in RECORD]  # noqa: S608


def test_any_damage_is_found_or_harmless_and_every_error_is_ours(closed_ledger: Path, tmp_path: Path) -> None:
    with Ledger.open(f"sqlite:///{closed_ledger}", readonly=True) as ledger:
        whole = everything(ledger)
    seed = random.SystemRandom().getrandbits(32)
    rng = random.Random(seed)  # noqa: S311 - printed, so that it can be repeated
    noticed, said = 0, list[str]()
    for number in range(COPIES):
        copy = tmp_path / f"copy{number}.db"
        copy.write_bytes(damaged(closed_ledger.read_bytes(), number % 3, rng))
        try:
            with Ledger.open(f"sqlite:///{copy}") as ledger:
                if ledger.verify().findings:
                    noticed += 1
                else:
                    assert everything(ledger) == whole, f"seed {seed}, copy {number}: a silent wrong answer"
                ledger.append("after", Turn(messages=(Message("user", "x"),)))
        except LedgerError as problem:
            noticed += 1
            said.append(str(problem))
    assert noticed > COPIES / 3
    helpful = ("restore a backup", "verify", "open the ledger again", "writing has stopped")
    assert [text for text in said if not any(words in text for words in helpful)] == []


def damaged(raw: bytes, kind: int, rng: random.Random) -> bytes:
    """A flipped bit, 64 bytes of noise, or a page of zeros; not in the first page (that file would be no database)."""
    at = rng.randrange(PAGE, len(raw) - PAGE)
    changed = bytearray(raw)
    if kind == 0:
        changed[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        changed[at : at + 64] = rng.randbytes(64)
    else:
        start = at // PAGE * PAGE
        changed[start : start + PAGE] = bytes(PAGE)
    return bytes(changed)


def test_a_changed_word_is_found_and_its_turn_is_named(closed_ledger: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    raw = closed_ledger.read_bytes()
    assert raw.count(b"needle-017 ") >= 20
    copy.write_bytes(raw.replace(b"needle-017 ", b"needlf-017 "))
    with Ledger.open(f"sqlite:///{copy}") as ledger:
        _, [(turn_id,)] = ledger.database.query("SELECT turn_id FROM messages WHERE content LIKE '%needlf%'")
        findings = ledger.verify().findings
    assert [(finding.row, finding.what) for finding in findings] == [
        (turn_id, "it, or something that hangs on it, differs from what was sealed (hash)")
    ]


@pytest.mark.parametrize(
    ("was", "becomes"),
    [(b'"persona_id":"default"', b'"persona_id";"default"'), (b'{"status":"archived"}', b'{"statuz":"archived"}')],
)
def test_a_damaged_log_entry_is_named_and_the_rest_is_still_checked(
    closed_ledger: Path, tmp_path: Path, was: bytes, becomes: bytes
) -> None:
    copy = tmp_path / "copy.db"
    raw = closed_ledger.read_bytes()
    assert was in raw
    copy.write_bytes(raw.replace(was, becomes))
    with Ledger.open(f"sqlite:///{copy}") as ledger:
        report = ledger.verify()
    assert report.findings[0].place == "log"
    assert "differs from what was logged" in report.findings[0].what
    assert report.turns == 60


def test_text_that_is_no_text_any_more_is_damage(closed_ledger: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(closed_ledger.read_bytes().replace(b"needle-017 ", b"needl\xff-017 "))
    with Ledger.open(f"sqlite:///{copy}") as ledger:
        assert "restore a backup" in ledger.verify().findings[0].what
        with pytest.raises(StoreCorrupt, match="restore a backup"):
            everything(ledger)


@pytest.mark.parametrize("part", [0.2, 0.5, 0.9])
def test_a_file_that_was_cut_is_damaged(closed_ledger: Path, tmp_path: Path, part: float) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(closed_ledger, copy)
    os.truncate(copy, int(closed_ledger.stat().st_size * part) // PAGE * PAGE)
    try:
        with Ledger.open(f"sqlite:///{copy}") as ledger:
            said = [finding.what for finding in ledger.verify().findings]
    except StoreCorrupt as problem:
        said = [str(problem)]
    assert any("malformed" in text or "page" in text for text in said)


@pytest.mark.parametrize("problem", [apsw.IOError("disk I/O error"), apsw.CorruptError("malformed")])
def test_damage_that_one_of_a_shared_commit_meets_stops_all_writing(tmp_path: Path, problem: apsw.Error) -> None:
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        kept = ledger.append("main", Turn(messages=(Message("user", "before"),)))
        queued = threading.Semaphore(0)
        errors: list[LedgerError] = []

        def hold(tx: Tx) -> None:
            for _ in range(8):
                queued.acquire()

        def fail(tx: Tx) -> None:
            raise problem

        def write(body: Callable[[Tx], object]) -> None:
            queued.release()
            try:
                ledger.database.write(body)
            except LedgerError as told:
                errors.append(told)

        bodies = [hold] + [fail, lambda tx: tx.run("put_fact", name="x", value="y")] * 4
        threads = [threading.Thread(target=write, args=(body,)) for body in bodies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(errors) >= 4
        with pytest.raises(StoreError, match=r"open the ledger again|writing has stopped"):
            ledger.append("main", Turn())
        assert ledger.head("main") == kept, "reading goes on"
