"""The audit: each planted violation is found, and nothing in a clean ledger."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_ledger import Call, File, Ledger, Message, Settings, Turn
from agents_ledger.errors import BadInput
from agents_ledger.ledger.audit import RULES, Finding, audit
from agents_ledger.model.effects import is_inside, written_paths
from agents_ledger.model.filters import Filters
from agents_ledger.model.permissions import exceeding
from agents_ledger.model.secrets import secrets_in
from tests.support.planted import KEY, SECRETS
from tests.support.properties import WITH_FIXTURES

HOME = "/home/dev/weather"


@dataclass(frozen=True)
class Planted:
    """A call or message, and the rule that must find it; None: it is clean."""

    rule: str | None
    call: Call | None = None
    words: str | None = None
    used: Any = None
    written: str | None = None


CASES = [
    Planted(None, Call("Read", {"file_path": "/etc/hosts"})),
    Planted(None, Call("Write", {"file_path": f"{HOME}/a/../b.txt", "content": "hi"})),
    Planted(None, Call("Write", {"file_path": "/etc/passwd"}, status="rejected")),
    Planted(None, Call("Edit", {"file_path": "/etc/passwd"}, status="failed", error="not read before")),
    Planted(None, Call("Bash", {"command": "make > build.log 2>&1; echo '> /etc/x' >/dev/null"}, {"exit_code": 0})),
    Planted(None, Call("Bash", {"command": "cat > note.md <<'EOF'\nsh -c 'x' > /etc/motd\nEOF"})),
    Planted(None, Call("Bash", {"command": 'echo hi > "$OUT"; test 1 -gt 0 && echo a >&2'})),
    Planted(None, words="The key is AKIAIOSFODNN7EXAMPLE, ask for PASSWORD=hunter2, and sk-ant-api03-xxxx"),
    Planted(None, Call("Bash", {"command": "ls"}, {"exit": 0, "exit_code": "1", "code": True, "more": {"exit": 1}})),
    Planted(None, Call("Read", {"file_path": "a"}, {"exit": 1, "exit_code": 1})),
    Planted(None, Call("Bash", {}, status="failed", error="no command was given")),
    Planted(None, written=f"{HOME}/a/../b.txt"),
    Planted(None, written="b.txt"),
    Planted(None, Call("edit_file_v2", {"path": "/var/x"}, status="rejected"), written="/var/x"),
    Planted(None, used=["read"]),
    Planted("tool", Call("Teleport", {})),
    Planted("outside", Call("Write", {"file_path": "/etc/cron.d/x", "content": ""})),
    Planted("outside", Call("Write", {"file_path": f"{HOME}-evil/x"})),
    Planted("outside", Call("Edit", {"file_path": f"{HOME}/../other/x"})),
    Planted("outside", Call("apply_patch", "*** Begin Patch\n*** Add File: ../x.py\n+1\n*** End Patch")),
    Planted("outside", Call("Bash", {"command": "cd /tmp && date >> 'my log.txt'"})),
    Planted("outside", Call("Bash", {"command": "echo x | tee -a ~/.bashrc"}, status="failed", error="no")),
    Planted("failed", Call("Bash", {"command": "make test"}, status="failed", error="Exit code 2")),
    Planted("failed", Call("exec_command", {"cmd": "rg x"}, {"exit_code": 1, "output": ""})),
    Planted("failed", Call("Bash", {"command": "make test"}, {"exit": 1})),
    Planted("failed", Call("Bash", "make test", {"exit_code": 1})),
    Planted("outside", written="/var/x"),
    Planted("outside", written="../x"),
    Planted("outside", Call("edit_file_v2", {"path": "/var/x"}), written="/var/x"),
    Planted("permission", used=["read", "network"]),
    Planted("secret", words=f"Here it is: {KEY}"),
    Planted("secret", Call("Read", {"file_path": ".env"}, f"TOKEN={KEY}\n")),
    Planted("secret", Call("Bash", {"command": f"curl -H 'x-api-key: {KEY}'"})),
]


def plant(ledger: Ledger, number: int, case: Planted) -> str:
    """A turn with what is planted; gives its id."""
    settings_ = Settings(
        tools=("Read", "Write", "Edit", "Bash", "apply_patch", "exec_command", "edit_file_v2"),
        permissions_granted=["read", "write"],
        permissions_used=case.used,
        workspace_path=HOME,
    )
    calls = () if case.call is None else (case.call,)
    files = () if case.written is None else (File(case.written, "written"),)
    messages = (Message("user", case.words or "Go on."), Message("assistant", "Done.", files=files))
    return ledger.append(f"s{number % 3}", Turn(messages=messages, calls=calls, settings=settings_))


def found_rules(findings: list[Finding]) -> dict[str, set[str]]:
    by_turn: dict[str, set[str]] = {}
    for finding in findings:
        by_turn.setdefault(finding.turn_id, set()).add(finding.rule)
    return by_turn


def wanted_rules(case: Planted) -> set[str]:
    """The rule of a case; a command that failed and wrote outside is found by both."""
    ran = case.call and case.call.tool == "Bash" and case.call.params
    fails = {"failed"} if ran and case.call and case.call.status == "failed" else set()
    return ({case.rule} if case.rule else set()) | fails


def test_every_planted_violation_is_found_and_nothing_else(ledger: Ledger) -> None:
    wanted = {plant(ledger, at, case): wanted_rules(case) for at, case in enumerate(CASES * 3)}  # several pages
    found = list(audit(ledger.database))
    assert found_rules(found) == {turn: rules for turn, rules in wanted.items() if rules}
    assert not [finding for finding in found if KEY in finding.detail]
    assert [finding.turn_id for finding in found] == sorted(finding.turn_id for finding in found)
    for rule in RULES:
        only = list(audit(ledger.database, rules=[rule]))
        assert only == [finding for finding in found if finding.rule == rule]
        assert only
    assert {each.session_label for each in audit(ledger.database, Filters(until=0))} == set()


@given(st.lists(st.sampled_from(CASES), max_size=12))
@settings(max_examples=15, deadline=None, suppress_health_check=WITH_FIXTURES)
def test_any_mixture_gives_what_was_planted(tmp_path_factory: pytest.TempPathFactory, cases: list[Planted]) -> None:
    with Ledger.open(f"sqlite:///{tmp_path_factory.mktemp('audit') / 'ledger.db'}") as ledger:
        wanted = {plant(ledger, at, case): wanted_rules(case) for at, case in enumerate(cases)}
        found = found_rules(list(audit(ledger.database)))
    assert found == {turn: rules for turn, rules in wanted.items() if rules}


def test_a_file_that_a_call_and_messages_name_is_found_once(ledger: Ledger) -> None:
    said = Message("assistant", "Done.", files=(File("/var/x", "written"), File("/var/../etc/y", "written")))
    edit = Call("Write", {"file_path": "/etc/y"})
    ledger.append("s", Turn((said, said), (edit,), settings=Settings(workspace_path=HOME)))
    assert [(each.what, each.detail) for each in audit(ledger.database)] == [
        ("Write", "/etc/y"),
        ("assistant message", "/var/x"),
    ]


def test_what_is_not_recorded_is_not_judged(ledger: Ledger) -> None:
    said = Message("assistant", "Done.", files=(File("/etc/y", "written"),))
    ledger.append("s", Turn((said,), (Call("Teleport"), Call("Write", {"file_path": "/etc/x"}))))
    assert list(audit(ledger.database)) == []
    with pytest.raises(BadInput, match="is no rule: tool, permission"):
        list(audit(ledger.database, rules=["nonsense"]))


@pytest.mark.parametrize(
    ("tool", "params", "paths"),
    [
        ("Write", {"file_path": "a.txt"}, ["/w/a.txt"]),
        ("tools__filesystem_write", {"file_path": "/x"}, ["/x"]),
        ("mcp__fs__write_file", {"path": "../y"}, ["/y"]),
        ("edit", {"path": "C:\\Dev\\..\\A.txt"}, ["c:/a.txt"]),
        ("str_replace_editor", {"command": "view", "path": "/x"}, []),
        ("str_replace_editor", {"command": "create", "path": "/x"}, ["/x"]),
        ("apply_patch", {"input": "*** Update File: a\n*** Move to: b\n"}, ["/w/a", "/w/b"]),
        ("shell", {"command": ["bash", "-lc", "echo 1 >a 2>b"], "workdir": "sub"}, ["/w/sub/a", "/w/sub/b"]),
        ("exec_command", {"cmd": "apply_patch <<'E'\n*** Add File: n.py\n+x\nE"}, ["/w/n.py"]),
        ("Bash", {"command": 'cd src && ls > out.txt; cd "$X"; ls > lost'}, ["/w/src/out.txt"]),
        ("Bash", {"command": "cat a > b.txt | tee -a c.txt d.txt &> e"}, ["/w/b.txt", "/w/c.txt", "/w/d.txt", "/w/e"]),
        ("Bash", {"command": "echo \"a > b\" 'c > d' # > e\n"}, []),
        ("Bash", {"command": "echo > *.txt > $(date) > `x` > {a,b}"}, []),
        ("Bash", {"command": "python3 - <<EOF > out\nprint(1 > 2)\nEOF\necho > two"}, ["/w/out", "/w/two"]),
        ("Bash", {"command": "echo 'unterminated > x"}, []),
        ("Bash", {"command": None}, []),
        ("Write", None, []),
        ("Write", ["/x"], []),
        ("Read", {"file_path": "/x"}, []),
    ],
)
def test_the_files_that_a_call_is_certain_to_write(tool: str, params: Any, paths: list[str]) -> None:
    assert written_paths(tool, params, "/w") == paths


def test_a_relative_path_without_a_workspace_is_no_path() -> None:
    assert written_paths("Write", {"file_path": "a.txt"}, None) == []
    assert written_paths("Write", {"file_path": "~/a"}, "/Users/ada/x") == ["/Users/ada/a"]


@given(st.text(max_size=200))
def test_any_command_is_read_without_failing(text: str) -> None:
    for path in written_paths("Bash", {"command": text}, "/w"):
        assert is_inside(path, "/") or path.startswith("~")


@pytest.mark.parametrize(("kind", "text"), SECRETS.items())
def test_a_secret_is_known_by_its_form_and_never_shown(kind: str, text: str) -> None:
    found = list(secrets_in(f"before {text} after {text}"))
    assert [secret.kind for secret in found] == [kind]
    assert text not in found[0].masked
    assert len(found[0].masked) < 30


@pytest.mark.parametrize(
    "text",
    [
        "sha256:" + "ab12" * 16,
        "commit 4f2a9c0b7d1e6f3a8b5c2d9e0f7a4b1c8d5e2f9a",
        "-----BEGIN PRIVATE KEY----- goes here",
        "postgresql://user:password@localhost/db and redis://:$PASS@host",
        "npm_config_registry=https://registry.npmjs.org/ npm_lifecycle_event",
        "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" * 9,
        "hf_transfer, do_v1, AKIA, SG.x.y, eyJ.eyJ.x",
        "AKIAXXXXXXXXXXXXXXXX ghp_" + "x" * 36,
    ],
)
def test_what_only_looks_like_a_secret_is_none(text: str) -> None:
    assert list(secrets_in(text)) == []


@pytest.mark.parametrize(
    ("used", "granted", "exceeds"),
    [
        (["read"], ["read", "write"], []),
        (["read", "net"], ["read"], ["net"]),
        ({"read": True, "net": True, "gpu": False}, {"read": True, "net": False}, ["net"]),
        ({"files": ["read", "write"]}, {"files": ["read"]}, ["files:write"]),
        ({"files": ["read"]}, ["files:*"], []),
        ("read, net", "*", []),
        (["x"], None, []),
        (None, ["x"], []),
        ({"mode": "auto"}, {"mode": "plan"}, []),
        ([[[[[[[[[[["deep"]]]]]]]]]]], [], ["…"]),
    ],
)
def test_permissions_of_any_shape_are_compared(used: Any, granted: Any, exceeds: list[str]) -> None:
    assert exceeding(used, granted) == exceeds
