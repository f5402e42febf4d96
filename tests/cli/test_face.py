"""`ldg face`: the ledger as other systems know it."""

from tests.cli.conftest import Ldg


def test_without_a_table_it_lists_them(ldg: Ldg) -> None:
    said = ldg.text("face")
    assert "agent_tool_calls" in said
    assert "child_session_id" in said
    known = ldg.json("face")["tables"]
    assert known["event_threads"][0] == "id"
    assert set(known) >= {"agent_sessions", "agent_messages", "agent_turns", "events", "aix_sessions", "aix_tool_calls"}


def test_sessions_page_by_page_and_one_by_its_id(ldg: Ldg) -> None:
    whole = ldg.json("face", "agent_sessions")["rows"]
    first = ldg.json("face", "agent_sessions", "--limit", "2")
    rest = ldg.json("face", "agent_sessions", "--limit", "2", "--after", first["next"])
    assert first["rows"] + rest["rows"] == whole
    assert rest["next"] is None
    assert len(whole) == 3
    one = ldg.json("face", "agent_sessions", "--id", whole[0]["id"])
    assert one["rows"] == whole[:1]
    assert f"id: {whole[0]['id']}" in ldg.text("face", "agent_sessions", "--id", whole[0]["id"])


def test_what_belongs_to_a_session_is_paged_too(ldg: Ldg) -> None:
    for table in ("agent_messages", "agent_turns", "agent_tool_calls", "events", "aix_messages", "aix_turns"):
        whole = ldg.json("face", table, "--session", "fix-login")["rows"]
        rows, cursor = list[object](), list[str]()
        while True:
            page = ldg.json("face", table, "--session", "fix-login", "--limit", "3", *cursor)
            rows += page["rows"]
            if page["next"] is None:
                break
            cursor = ["--after", page["next"]]
        assert rows == whole, table
        assert len(whole) > 3, table
    more = ldg.text("face", "agent_messages", "--session", "fix-login", "--limit", "3")
    assert "face agent_messages --session fix-login --after 2" in more


def test_what_can_not_be_answered_is_said(ldg: Ldg) -> None:
    assert "agent_sessions" in ldg.text("face", "agent_messages", code=2)
    assert "event_threads" in ldg.text("face", "events", code=2)
    assert "there is no table 'sessions'" in ldg.text("face", "sessions", code=2)
    assert "--session" in ldg.text("face", "aix_turns", "--id", "x", code=2)
    for cursor in ("x", "1:2"):
        assert "cursor" in ldg.text("face", "agent_messages", "--session", "fix-login", "--after", cursor, code=2)
    assert "cursor" in ldg.text("face", "events", "--session", "fix-login", "--after", "7", code=2)
    assert "no rows" in ldg.text("face", "agent_turns", "--id", "nobody", code=1)
    lists_of = {"agent_messages": "agent_sessions", "events": "event_threads", "aix_turns": "aix_sessions"}
    for table, lists in lists_of.items():
        said = ldg.text("face", table, "--session", "nobody", code=1)
        assert said == f"there is no session 'nobody': `ldg --db {ldg.url} face {lists}` lists their ids\n"
        assert ldg.json("face", table, "--session", "nobody", code=1)["rows"] == []


def test_a_session_without_rows_is_there_all_the_same(ldg: Ldg) -> None:
    with ldg.open() as ledger:
        ledger.create_session("quiet")
    assert "no rows" in ldg.text("face", "agent_messages", "--session", "quiet")
