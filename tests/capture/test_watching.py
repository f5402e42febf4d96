"""Following live sessions: what an agent makes first is seen at once."""

import threading
from pathlib import Path
from queue import Queue

import pytest

from agents_ledger.capture import watch
from agents_ledger.capture.summary import Summary
from agents_ledger.capture.sync import Sync
from agents_ledger.model.formats import Machine
from tests.capture.folders import opened
from tests.capture.told import SESSION, talk, written

_SOON_S = 60  # a machine may be busy; without an event it would be ten minutes


@pytest.mark.parametrize("is_used", [False, True], ids=["a new home", "a home with another agent"])
def test_the_first_session_in_a_place_that_was_not_there_is_seen_at_once(
    is_used: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_LOOK_AGAIN_MS", 600_000)
    if is_used:
        (tmp_path / ".pi" / "agent" / "sessions").mkdir(parents=True)
    rounds = Queue[Summary]()
    stop = threading.Event()
    with opened(tmp_path / "ledger.db") as ledger:
        worker = Sync(ledger, Machine(home=str(tmp_path), environ={}, platform="linux"))
        follower = threading.Thread(target=watch.watch, args=(worker, (), (), rounds.put, stop))
        follower.start()
        try:
            assert rounds.get(timeout=_SOON_S).found == 0
            session = tmp_path / "new" / "projects" / "house" / f"{SESSION}.jsonl"
            session.parent.mkdir(parents=True)
            session.write_bytes(written(talk(1)))
            (tmp_path / "new").rename(tmp_path / ".claude")  # all of it in one moment
            assert rounds.get(timeout=_SOON_S).new_sessions == 1
        finally:
            stop.set()
            follower.join()


def test_what_changes_before_the_watch_has_begun_is_seen_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_LOOK_AGAIN_MS", 600_000)
    session = tmp_path / ".claude" / "projects" / "house" / f"{SESSION}.jsonl"
    session.parent.mkdir(parents=True)
    rounds = Queue[Summary]()
    stop = threading.Event()

    def told(done: Summary) -> None:
        if not session.exists():
            session.write_bytes(written(talk(1)))  # the first round is over, the watch has not begun
        rounds.put(done)

    with opened(tmp_path / "ledger.db") as ledger:
        worker = Sync(ledger, Machine(home=str(tmp_path), environ={}, platform="linux"))
        follower = threading.Thread(target=watch.watch, args=(worker, (), (), told, stop))
        follower.start()
        try:
            assert rounds.get(timeout=_SOON_S).found == 0
            assert rounds.get(timeout=_SOON_S).new_sessions == 1
        finally:
            stop.set()
            follower.join()
