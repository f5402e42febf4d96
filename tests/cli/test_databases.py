"""The same commands on both databases."""

from tests.cli.conftest import Ldg


def test_the_demo_reads_the_same_everywhere(url: str) -> None:
    ldg = Ldg(url)
    assert ldg.json("demo")["added"] == 13
    assert ldg.json()["counts"]["turns"] == 13
    assert [line["label"] for line in ldg.json("sessions")["sessions"]] == [
        "fix-login",
        "another-way",
        "fix-login/search",
    ]
    assert len(ldg.text("tree", "fix-login").splitlines()) == 11
    assert "[summary of earlier turns]" in ldg.text("context", "fix-login")
    assert ldg.text("verify").startswith("good: 13 turns")


def test_pointers_move_everywhere(url: str) -> None:
    ldg = Ldg(url)
    ldg.text("demo")
    head = ldg.json("head", "fix-login")["turn_id"]
    assert ldg.json("rewind", "fix-login")["move"]["from_thread_id"] == head
    assert ldg.json("forward", "fix-login")["move"]["thread_id"] == head
    assert ldg.json("fork", head, "--label", "third")["session"]["thread_id"] == head
    assert ldg.json("including", head)["sessions"] == ["fix-login", "third"]


def test_sql_and_doctor_everywhere(url: str) -> None:
    ldg = Ldg(url)
    ldg.text("demo")
    assert ldg.json("sql", "SELECT count(*) AS n FROM turns") == {"columns": ["n"], "rows": [[13]], "more": False}
    assert ldg.json("sql", "DELETE FROM turns", code=2)["error"]["kind"] in ("ReadOnlyStore", "BadInput")
    assert ldg.json("sql", "SELECT turn_hash FROM turns LIMIT 1")["rows"][0][0].isalnum()
    found = ldg.run("doctor", "--json")
    assert found.exit_code in (0, 1)  # the tests' own server runs without fsync, which is wrong
    assert ldg.json("migrate", "--check") == {"pending": []}
