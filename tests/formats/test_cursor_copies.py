"""Transcripts are poorer copies: read where a session has nothing else, kept as evidence where it has."""

import json
from pathlib import Path

from agents_ledger import Ledger
from agents_ledger.capture.sync import Sync
from agents_ledger.formats.cursor import FORMAT
from agents_ledger.model.formats import Machine
from tests.formats.cursor_store import MAIN, TRANSCRIPT, new_composers, transcripts


def said(ledger: Ledger) -> list[str]:
    return [str(row[0]) for row in ledger.database.query("SELECT content FROM messages ORDER BY content")[1]]


def test_transcripts_say_that_they_are_copies(tmp_path: Path) -> None:
    path = transcripts(tmp_path)
    kind = FORMAT.recognise(str(path), path.read_bytes())
    assert kind is not None
    assert kind.is_fallback
    store = new_composers(tmp_path)
    kind = FORMAT.recognise(str(store), store.read_bytes()[:65_536])
    assert kind is not None
    assert not kind.is_fallback


def test_a_transcript_is_read_only_where_there_is_nothing_better(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    new_composers(tmp_path / "in")
    place = tmp_path / "in" / "projects" / "x" / "agent-transcripts"
    for session in (MAIN, TRANSCRIPT):
        path = place / session / f"{session}.jsonl"
        path.parent.mkdir(parents=True)
        line = {
            "role": "user",
            "message": {"content": [{"type": "text", "text": f"<user_query>{session}</user_query>"}]},
        }
        path.write_text(json.dumps(line) + "\n")
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        for _ in range(2):
            Sync(ledger, Machine("/nowhere", {}, "linux")).run([str(tmp_path / "in")])
            words = said(ledger)
            assert f"<user_query>{TRANSCRIPT}</user_query>" in words
            assert f"<user_query>{MAIN}</user_query>" not in words
        kept = ledger.database.query("SELECT path FROM captures WHERE path LIKE '%.jsonl' AND size_bytes > 0")[1]
        assert len(kept) == 2
        assert ledger.verify().is_good
