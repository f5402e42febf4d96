import re
from pathlib import Path

import pytest

from agents_ledger.formats.pi import FORMAT
from agents_ledger.model.formats import Machine
from agents_ledger.model.steps import AFTER_LAST, Answered, Step
from tests.formats.test_pi import ALL, GOLDEN, events, facts, kind_of, lines, problems, said, turns

SHARED = Path(__file__).parents[3] / "shared"
FAMILY = ("pi", "clawdbot", "openclaw")


@pytest.mark.parametrize("path", ALL, ids=lambda path: str(path.relative_to(GOLDEN)))
def test_every_golden_source_is_recognised(path: Path) -> None:
    assert kind_of(path) is not None


@pytest.mark.skipif(not (SHARED / "fixtures").is_dir(), reason="the folder of other agents' sessions is not here")
def test_only_the_familys_files_are_claimed() -> None:
    for folder in (SHARED / "fixtures", SHARED / "corpus"):
        for path in folder.rglob("*"):
            if path.is_file():
                ours = path.relative_to(folder).parts[0].startswith(FAMILY) and path.name != "models.json"
                assert (kind_of(path) is not None) == ours, path


@pytest.mark.skipif(not (SHARED / "corpus" / "pi").is_dir(), reason="the corpus of real sessions is not here")
def test_real_sessions_have_no_problems_and_no_loose_ends() -> None:
    for path in (SHARED / "corpus" / "pi").rglob("*.jsonl"):
        found = events(path)
        assert problems(found) == []
        steps = [event for event in found if isinstance(event, Step)]
        ids = {event.native_id for event in steps} | {None, AFTER_LAST}
        assert all(event.parent in ids for event in steps)
        calls = {call.native_id for event in said(found) for call in event.calls}
        assert all(event.call in calls for event in steps if isinstance(event, Answered))
        keys = [event.usage_key for event in said(found) if event.usage]
        assert len(keys) == len(set(keys))
        assert turns(found)


def test_names_tell_kinds_and_archives_come_first() -> None:
    head = b'{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'
    kinds = {
        "/s/a.jsonl": "transcript",
        "/s/a-topic-5.jsonl": "transcript",
        "/s/raw_transcript": "transcript",
        "C:\\Users\\u\\.openclaw\\agents\\main\\sessions\\a.jsonl": "transcript",
        "/s/a.jsonl.bak.2026-01-21T12-00-00.000Z": "archive",
        "/s/a.jsonl.deleted.2026-01-21T12-00-00.000Z.zst": "archive",
        "/s/a.jsonl.reset.2026-01-21T12-00-00.000Z": "archive",
        "/s/a.jsonl.bak-12-1794768331974": "archive",
        "/s/agent_main.a.jsonl.imported-1794768331974": "archive",
        "/s/a.checkpoint.5f0e8a52.jsonl": "checkpoint",
    }
    found = {path: FORMAT.recognise(path, head) for path in kinds}
    assert {path: kind and kind.name for path, kind in found.items()} == kinds
    orders = {kind.name: kind.order for kind in found.values() if kind}
    assert orders["archive"] < orders["checkpoint"] < orders["transcript"]
    for other in ("/s/a.trajectory.jsonl", "/s/a.jsonl.lock", "/s/sessions.json.1.x.tmp"):
        assert FORMAT.recognise(other, head) is None


def test_headers_of_other_agents_are_not_claimed() -> None:
    for head in (
        b'{"type":"session","version":0,"id":"x","createdAt":5,"cwd":"/"}\n{"type":"turn/start","seq":1}\n',
        b'{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"hi"}}\n',
        b'{"type":"message","message":{"role":"robot"},"timestamp":"2026-01-01T00:00:00Z"}\n',
        b'{"version":1,"entries":[{"sessionId":"x"}]}',
        b"",
        b"[]",
        b"\xff\xfe{",
    ):
        assert FORMAT.recognise("/any/where.jsonl", head) is None


def test_a_first_line_longer_than_the_head_is_enough() -> None:
    head = b'{"type":"message","id":"a0000001","parentId":null,"timestamp":"2026-01-01T00:00:00Z","message":{"role":'
    kind = FORMAT.recognise("/any/where.jsonl", head)
    assert kind is not None
    assert kind.name == "transcript"


def test_empty_files_are_known_by_their_place_alone() -> None:
    assert FORMAT.recognise("/h/.clawdbot/agents/main/sessions/S1.jsonl", b"\n") is not None
    assert FORMAT.recognise("/h/S1.jsonl", b"\n") is None


def test_roots_match_what_lies_below_them() -> None:
    environ = {
        "PI_CODING_AGENT_DIR": "~/agent",
        "PI_CODING_AGENT_SESSION_DIR": "/srv/pi",
        "CLAWDBOT_STATE_DIR": "/c",
        "MOLTBOT_STATE_DIR": "/m",
        "OPENCLAW_STATE_DIR": "/o",
    }
    roots = list(FORMAT.roots(Machine("/home/u", environ, "linux")))
    paths = {root.path for root in roots}
    assert {"/home/u/.pi/agent/sessions", "/home/u/nexus/state/sessions", "/home/u/.openclaw"} <= paths
    assert {"/home/u/agent/sessions", "/srv/pi", "/c", "/m", "/o"} <= paths
    patterns = {root.path: re.compile(root.pattern) for root in roots}
    pi, claw = patterns["/home/u/.pi/agent/sessions"], patterns["/home/u/.openclaw"]
    assert pi.fullmatch("--home-u--/2026-01-01T00-00-00-000Z_a.jsonl")
    assert claw.fullmatch("agents/main/sessions/a.jsonl.deleted.2026-01-21T12-00-00.000Z")
    assert claw.fullmatch("sessions/sessions.json")
    assert claw.fullmatch("agents/main/session-sqlite-import-archive/x.jsonl.imported-5")
    assert not claw.fullmatch("agents/main/agent/models.json")
    assert not claw.fullmatch("agents/main/sessions/a.trajectory.jsonl")
    assert not claw.fullmatch("agents/main/sessions/a.jsonl.lock")


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        ("/home/u/.pi/agent/sessions/--home-openclaw--/x.jsonl", None),
        ("/home/u/.clawdbot/sessions/x.jsonl", "clawdbot"),
        ("/home/u/.moltbot/agents/main/sessions/x.jsonl", "moltbot"),
        ("/home/u/.openclaw-work/agents/main/sessions/x.jsonl", "openclaw"),
        ("/backup/clawdbot-2026/agents/main/sessions/x.jsonl", "clawdbot"),
        ("/srv/state/agents/main/sessions/x.jsonl", "openclaw"),
        ("/home/u/nexus/state/sessions/x.jsonl", "nexus"),
        ("/home/u/code/openclaw/x.jsonl", None),
    ],
)
def test_paths_tell_whose_session_it_is(path: str, origin: str | None) -> None:
    header = {"type": "session", "version": 3, "id": "x", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"}
    assert facts(lines(header, path=path)).origin == origin
