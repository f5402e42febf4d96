"""What the reading commands show, as text and as JSON."""

import json

import pytest

from agents_ledger import Call, Ledger, Message, Turn
from agents_ledger.ledger.env import Env
from tests.cli.conftest import Ldg


def test_alone_it_says_what_it_knows_and_what_to_do_next(ldg: Ldg) -> None:
    said = ldg.text()
    assert ldg.url in said
    assert "3 sessions, 13 turns" in said
    assert f"ldg --db {ldg.url} tree fix-login" in said  # as it was called
    known = ldg.json()
    assert known["exists"]
    assert known["counts"]["turns"] == 13
    assert [line["label"] for line in known["sessions"]] == ["fix-login", "another-way", "fix-login/search"]


def test_alone_without_a_ledger_it_says_how_to_get_one(tmp_path: object) -> None:
    nowhere = Ldg(f"{tmp_path}/none.db")
    assert "no ledger here yet" in nowhere.text()
    assert nowhere.json()["exists"] is False


def test_an_empty_ledger_is_no_problem(empty: Ldg) -> None:
    assert f"ldg --db {empty.url} demo" in empty.text()
    assert "No sessions" in empty.text("sessions")
    assert "no turns yet" in empty.text("tree")
    assert empty.json("tree") == {"trees": [], "next": None}
    assert empty.text("verify").startswith("good: 0 turns")


def test_sessions_in_aligned_columns(ldg: Ldg) -> None:
    head, *rows = ldg.text("sessions").splitlines()
    assert head.split() == ["SESSION", "TURNS", "TOKENS", "MODEL", "LAST", "USED", "STATUS", "TITLE"]
    assert [row.split()[0] for row in rows] == ["fix-login", "another-way", "fix-login/search"]
    assert {row.index("claude") for row in rows} == {head.index("MODEL")}


def test_an_unknown_time_is_no_date(empty: Ldg) -> None:
    """Some agents do not say when: 0 then, in columns that must have a time."""
    with Ledger.open(empty.url, env=Env(now=lambda: 0)) as ledger:
        ledger.append("main", Turn(messages=(Message("user", "When was that?"),)))
    for command in (("sessions",), ("show", "main"), ("history", "main"), ("search", "When")):
        assert "1970" not in empty.text(*command), command


def test_what_took_long_is_said_in_units_that_fit(empty: Ldg) -> None:
    began, ended = 1_770_000_000_000, 1_770_000_000_000 + 24_965_484_200
    call = Call("Bash", {"command": "sleep"}, "ok", started_at=began, completed_at=began + 200_000)
    with Ledger.open(empty.url) as ledger:
        given = Turn(messages=(Message("user", "Wait."),), calls=(call,), started_at=began, completed_at=ended)
        ledger.append("main", given)
    for command in (("show", "main"), ("timeline",), ("replay", "main"), ("stats", "turns")):
        said = empty.text(*command)
        assert "288 d 22 h" in said, command
        assert "24965484" not in said, command
    assert "3 min 20 s" in empty.text("show", "main")


def test_sessions_page_by_page(ldg: Ldg) -> None:
    first = ldg.json("sessions", "--limit", "2")
    second = ldg.json("sessions", "--limit", "2", "--cursor", first["next"])
    assert [line["label"] for line in first["sessions"] + second["sessions"]] == [
        "fix-login",
        "another-way",
        "fix-login/search",
    ]
    assert second["next"] is None
    assert first["next"] in ldg.text("sessions", "--limit", "2")
    assert first["sessions"][0]["depth"] == 7
    assert isinstance(first["sessions"][0]["updated_at"], int)


def test_sessions_by_status(ldg: Ldg) -> None:
    ldg.text("archive", "another-way")
    assert [line["label"] for line in ldg.json("sessions", "--status", "archived")["sessions"]] == ["another-way"]
    assert "another-way" not in ldg.text("sessions", "--status", "active")


def test_show_a_session(ldg: Ldg) -> None:
    said = ldg.text("show", "fix-login")
    assert "also called telegram:4711" in said
    assert "subagents fix-login/search (completed)" in said
    assert "The login test fails about once a day" in said
    assert "✗ Shell  pytest -q tests/test_login.py --count 50  failed" in said
    assert "      - date.today()\n      + datetime.now(UTC).date()\n" in said
    assert "summary of 4 turns" in said
    assert "HTTP 529" in said
    assert "written   tests/test_login.py:31" in said
    assert "code python tests/test_login.py:31" in said
    assert "warning   tests/test_login.py:31" in said
    assert "    ┊ Once a day sounds like a clock.\n" in said
    assert ldg.text("show", "telegram:4711") == said


def test_show_the_last_turns_of_a_session(ldg: Ldg) -> None:
    said = ldg.text("show", "fix-login", "--limit", "2")
    assert f"⋮ 5 earlier turns: ldg --db {ldg.url} show fix-login --cursor 6" in said
    shown = ldg.json("show", "fix-login", "--limit", "2")
    assert shown["next"] == 6
    before = ldg.json("show", "fix-login", "--limit", "5", "--cursor", "6")
    assert [record["turn"]["depth"] for record in before["turns"]] == [1, 2, 3, 4, 5]
    assert before["next"] is None
    assert shown["depth"] == 7
    assert [record["turn"]["depth"] for record in shown["turns"]] == [6, 7]
    assert [row["alias"] for row in shown["aliases"]] == ["telegram:4711"]


def test_show_a_turn_by_the_end_of_its_id(ldg: Ldg) -> None:
    turn_id = ldg.text("head", "another-way").strip()
    said = ldg.text("show", turn_id[-8:])
    record = ldg.json("show", turn_id[-8:])["record"]
    assert record["turn"]["id"] == turn_id
    assert len(bytes.fromhex(record["turn"]["turn_hash"])) == 32
    assert record["turn"]["turn_hash"] in said
    assert turn_id in said


def test_long_results_are_cut_unless_all_is_asked_for(ldg: Ldg) -> None:
    with ldg.open() as ledger, ledger.turn("long", "Count") as turn:
        turn.call("Shell", {"command": "seq 99"}).complete("\n".join(map(str, range(1, 100))))
    assert "⋮ 93 more lines, --full shows them" in ldg.text("show", "long")
    assert "        99\n" in ldg.text("show", "long", "--full")


def test_context_as_text_and_as_json(ldg: Ldg) -> None:
    said = ldg.text("context", "fix-login", "--query", "And now?")
    assert said.startswith("[system]\nYou are a careful engineer.")
    assert "[summary of earlier turns]" in said
    assert said.endswith("[user]\nAnd now?\n")
    seen = ldg.json("context", "fix-login")["context"]
    assert seen["summary"].startswith("The login test compared")
    assert seen["compaction_turn_id"] is not None


def test_head_now_and_then(ldg: Ldg) -> None:
    now = ldg.json("head", "fix-login")
    moves = ldg.json("history", "fix-login")["moves"]
    assert now == {"session": "fix-login", "turn_id": moves[-1]["thread_id"], "at": None}
    then = moves[1]
    assert ldg.text("head", "fix-login", "--at", str(then["changed_at"])).strip() == then["thread_id"]
    assert ldg.json("head", "fix-login", "--at", "2d ago", code=1)["turn_id"] is None
    assert ldg.run("head", "fix-login", "--at", "2d ago").stderr.startswith("ldg: session 'fix-login' had no turns")


def test_history_tells_the_rewind(ldg: Ldg) -> None:
    reasons = [move["reason"] for move in ldg.json("history", "fix-login")["moves"]]
    assert reasons == ["advance"] * 4 + ["rewind"] + ["advance"] * 5
    assert "rewind" in ldg.text("history", "fix-login")


def test_including_finds_sessions_that_were_rewound(ldg: Ldg) -> None:
    left = ldg.json("history", "fix-login")["moves"][3]["thread_id"]
    root = ldg.json("tree", "fix-login")["trees"][0]["root_id"]
    assert ldg.text("including", left) == "fix-login\n"
    assert ldg.json("including", root)["sessions"] == ["another-way", "fix-login"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(ldg: Ldg, shell: str) -> None:
    assert "_LDG_COMPLETE" in ldg.text("completion", shell)
    assert ldg.json("completion", shell)["shell"] == shell


def test_json_is_one_document_on_one_line(ldg: Ldg) -> None:
    said = ldg.text("show", "fix-login", "--json")
    assert said.count("\n") == 1
    assert json.loads(said)["session"]["label"] == "fix-login"


def test_the_beginning_of_time_is_named_as_it_was_typed(ldg: Ldg) -> None:
    assert ldg.run("head", "fix-login", "--at", "0").stderr == "ldg: session 'fix-login' had no turns at 0\n"


@pytest.mark.parametrize("command", ["context", "fork", "including", "show --raw", "export --format html"])
def test_a_session_without_turns_is_said_to_have_none(empty: Ldg, command: str) -> None:
    with empty.open() as ledger:
        ledger.create_session("empty")
    assert "session 'empty' has no turns yet" in empty.text(*command.split(), "empty", code=2)
