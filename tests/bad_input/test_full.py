"""T5: no space left. Nothing acknowledged is lost, reading goes on, and so does writing once there is space again."""

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents_ledger import Ledger, Message, Turn
from agents_ledger.errors import StoreFull

PLENTY = 1 << 30


def say(text: str) -> Turn:
    return Turn(messages=(Message("user", text), Message("assistant", "word " * 2000)))


def write_until_full(ledger: Ledger) -> list[str]:
    acked: list[str] = []
    with pytest.raises(StoreFull, match="everything acknowledged is kept; free some space and try again"):
        acked.extend(ledger.append("main", say(f"{number}")) for number in range(100_000))
    assert acked
    return acked


def check_all_there(ledger: Ledger, acked: list[str]) -> None:
    assert ledger.head("main") == acked[-1]
    assert ledger.ancestry(acked[-1]) == acked
    assert all(len(record.messages) == 2 for record in ledger.thread(acked[-1]))
    assert ledger.verify().findings == []


@pytest.fixture
def small_ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger whose file may not grow by more than 60 pages: a full disk, without a disk."""
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        limit_pages(ledger, pages_of(ledger) + 60)
        yield ledger


def limit_pages(ledger: Ledger, pages: int) -> None:
    ledger.database.ask(f"PRAGMA max_page_count={pages}")


def pages_of(ledger: Ledger) -> int:
    return int(ledger.database.ask("PRAGMA page_count")[0][0])


def test_a_full_file_loses_nothing_and_goes_on_when_it_may_grow(small_ledger: Ledger) -> None:
    acked = write_until_full(small_ledger)
    check_all_there(small_ledger, acked)
    limit_pages(small_ledger, PLENTY)
    acked.append(small_ledger.append("main", say("again")))
    check_all_there(small_ledger, acked)


def test_a_live_turn_outlives_a_full_file(small_ledger: Ledger) -> None:
    live = small_ledger.turn("live", "question")
    call = live.call("Shell", "make")
    acked = write_until_full(small_ledger)
    with pytest.raises(StoreFull):
        live.reply("word " * 4000)
    assert [row.role for row in small_ledger.get(live.id).messages] == ["user"]
    limit_pages(small_ledger, PLENTY)
    call.complete("done")
    live.reply("answer")
    assert live.complete() == small_ledger.head("live")
    assert [row.content for row in small_ledger.get(live.id).messages] == ["question", "answer"]
    check_all_there(small_ledger, acked)


def test_threads_that_share_a_commit_all_hear_of_the_full_file(small_ledger: Ledger) -> None:
    acked: list[str] = []
    heard: list[int] = []

    def write(number: int) -> None:
        try:
            while True:
                acked.append(small_ledger.append(f"thread-{number}", say("x")))
        except StoreFull:
            heard.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(heard) == list(range(8))
    _, rows = small_ledger.database.query("SELECT id FROM turns")
    assert sorted(row[0] for row in rows) == sorted(acked)
    limit_pages(small_ledger, PLENTY)
    small_ledger.append("main", say("again"))
    assert small_ledger.verify().findings == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.getuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small file system; the page limit tests the same without one")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"this container may not mount: {made.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_loses_nothing_and_goes_on_when_it_is_larger(small_disk: Path) -> None:
    with Ledger.open(f"sqlite:///{small_disk / 'ledger.db'}") as ledger:
        acked = write_until_full(ledger)
        check_all_there(ledger, acked)
        subprocess.run(["mount", "-o", "remount,size=20m", small_disk], check=True)
        acked += [ledger.append("main", say(f"again {number}")) for number in range(20)]
        check_all_there(ledger, acked)


def test_no_ledger_is_made_on_a_full_disk_and_nothing_is_left_of_the_attempt(small_disk: Path) -> None:
    with (small_disk / "filler").open("wb") as filler:
        filler.write(bytes(3 * 1024 * 1024 - 64 * 1024))
    with pytest.raises(StoreFull, match="free some space"):
        Ledger.open(f"sqlite:///{small_disk / 'ledger.db'}")
    assert [path.name for path in small_disk.iterdir()] == ["filler"]
    (small_disk / "filler").unlink()
    with Ledger.open(f"sqlite:///{small_disk / 'ledger.db'}") as ledger:
        ledger.append("main", say("hello"))


def test_a_backup_that_has_no_space_says_so_and_leaves_nothing(small_disk: Path, tmp_path: Path) -> None:
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        for number in range(400):
            ledger.append("main", say(f"{number}"))
        with pytest.raises(
            StoreFull, match=r"no space left for .*copy\.db: there is no backup; free some space"
        ) as told:
            ledger.database.backup(str(small_disk / "copy.db"))
    assert "not an error" not in str(told.value)
    assert list(small_disk.iterdir()) == []
