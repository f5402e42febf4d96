"""What a terminal gets that a pipe does not: markdown, colours, its width, a pager."""

import os
import re
import stat
from pathlib import Path

import pytest

from agents_ledger import Call, Message, Settings, Turn
from tests.cli.conftest import Ldg
from tests.cli.test_replay import Keys
from tests.support.terminals import COLOURS, on_a_terminal

FACTS = ("turn", "parent", "depth", "began", "role", "workspace", "thread", "seal")
ANSWER = """## Result

Two things:
and **one** of them is `code`:

- first
- [a file](src/a.py)

```python
def f():
    return "x"
```

| a | b |
|---|---|
| 1 | 2 |

<reminder>kept</reminder>
"""


@pytest.fixture
def answered(empty: Ldg, monkeypatch: pytest.MonkeyPatch) -> Ldg:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR", "FORCE_COLOR", "PAGER", "LESS"):
        monkeypatch.delenv(name, raising=False)
    image = {"type": "image", "media_type": "image/png", "size_bytes": 35_000}
    output = "\n".join(f"\x1b[32mline {number}\x1b[0m" for number in range(40))
    calls = (
        Call("Bash", {"command": "make test", "timeout": 5}, output, message=1),
        Call("Edit", {"file_path": "a.py", "old_string": "a\nb\nc", "new_string": "a\nB\nc"}, "done", message=1),
        Call("Shot", {}, [{"type": "text", "text": "here"}, image], message=1),
    )
    asked = Message("user", "see *this*\nand that", blocks=[{"type": "text", "from": 0, "to": 19}, image])
    with empty.open() as ledger:
        ledger.append("main", Turn((asked, Message("assistant", ANSWER, thinking="a\nb\nc\nd")), calls))
    return empty


def test_a_terminal_shows_markdown_code_and_diffs(answered: Ldg) -> None:
    said, _ = on_a_terminal("--db", answered.url, "show", "main")
    plain = COLOURS.sub("", said)
    assert "## Result" not in plain
    assert "    Two things:\n    and one of them is code:" in _stripped(plain)
    assert " • a file (src/a.py)" in plain
    assert "```" not in plain
    assert "<reminder>kept</reminder>" in plain
    assert "\x1b[32m+ " not in said.replace("\x1b[2m", "")  # the sign stands apart from the line
    assert "      - b\n      + B\n" in _stripped(plain)
    assert "see *this*\n    and that" in _stripped(plain)  # what people write is shown as they wrote it


def test_a_pipe_gets_plain_text(answered: Ldg) -> None:
    said = answered.text("show", "main")
    assert ANSWER.splitlines()[0] in said
    assert "\x1b" not in said
    assert "    ```python\n    def f():\n" in said
    assert "  ✓ Edit  a.py\n      changed a.py  +1  -1\n        a\n      - b\n      + B\n        c\n" in said


def test_results_and_thoughts_are_folded_unless_all_is_asked_for(answered: Ldg) -> None:
    said = answered.text("show", "main")
    assert "  ✓ Bash  make test · timeout=5\n      → line 0\n" in said
    assert "⋮ 34 more lines, --full shows them" in said
    assert "    ┊ a\n    ┊ b\n    ┊ ⋮ 2 more lines, --thinking shows them\n" in said
    full = answered.text("show", "main", "--full")
    assert "line 39" in full
    assert "    ┊ d\n" in full
    assert "      timeout: 5\n" in full
    assert "    ┊ d\n" in answered.text("show", "main", "--thinking")


def test_images_are_named_by_kind_and_size_and_place(answered: Ldg) -> None:
    said = answered.text("show", "main")
    assert "    [image image/png, 34.2 KB]  not kept\n" in said
    assert "      → here\n        [image image/png, 34.2 KB]\n" in said
    golden = Path(__file__).parents[1] / "golden" / "claude-code" / "images"
    answered.json("sync", "--path", str(golden))
    found = answered.json("sessions", "--origin", "claude-code")["sessions"]
    shown = "".join(answered.text("show", line["label"]) for line in found)
    place = r"in the evidence at \d+:\d+\+\d+"
    named = rf"`ldg --db {re.escape(answered.url)} export \w{{26}}` has it"
    assert re.search(rf"\[image image/png, \d+ B\]  {place}; {named}", shown)


@pytest.mark.parametrize(
    ("env", "is_coloured", "is_bold"),
    [
        ({}, True, True),
        ({"NO_COLOR": "1"}, False, True),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_colours_are_the_terminals(
    answered: Ldg, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], is_coloured: bool, is_bold: bool
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    said, _ = on_a_terminal("--db", answered.url, "show", "main")
    codes = {code for found in COLOURS.findall(said) for code in found[2:-1].split(";")}
    assert bool(codes & {"31", "32", "33", "34", "35", "36"}) is is_coloured
    assert bool(codes & {"1", "2"}) is is_bold


def test_colours_can_be_forced_through_a_pipe(answered: Ldg, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert COLOURS.search(answered.text("show", "main"))
    monkeypatch.setenv("FORCE_COLOR", "0")
    assert COLOURS.search(answered.text("show", "main")) is None
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    assert COLOURS.search(answered.text("show", "main")) is None


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_everything_fits_the_width(ldg: Ldg, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(columns))
    for args in (("sessions",), ("show", "fix-login"), ("tree", "fix-login"), ("replay", "fix-login", "--context")):
        for line in COLOURS.sub("", on_a_terminal("--db", ldg.url, *args)[0]).splitlines():
            assert len(line) <= columns, (args, line)


@pytest.mark.parametrize("columns", [40, 80])
def test_what_goes_on_in_the_next_line_is_indented(empty: Ldg, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(columns))
    words, place = "the okapi walks through a wood " * 6, Settings(workspace_path="/srv/a long way/" + "down " * 12)
    with empty.open() as ledger:
        turn_id = ledger.append("-".join(["long"] * 12), Turn((Message("user", words),), settings=place))
    for args in (("search", "okapi"), ("timeline",), ("fork", "--find", "okapi"), ("show", turn_id)):
        for line in COLOURS.sub("", on_a_terminal("--db", empty.url, *args)[0]).splitlines():
            assert len(line) <= columns or " --db " in line, (args, line)
            begins = (
                line.startswith((" ", "long", "20", "○", "no ", "go on", "what an agent"))
                or line.split(" ")[0] in FACTS
            )
            assert begins or not line, (args, line)


def test_a_command_to_be_copied_is_never_broken(answered: Ldg, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    with answered.open() as ledger:
        ledger.append("main", Turn((Message("user", "again"),)))
    said = COLOURS.sub("", on_a_terminal("--db", answered.url, "show", "main", "--limit", "1")[0])
    assert f"⋮ 1 earlier turn: ldg --db {answered.url} show main --cursor 2\n" in said


def test_a_narrow_terminal_says_of_each_session_what_it_was_about(ldg: Ldg, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "50")
    said = COLOURS.sub("", on_a_terminal("--db", ldg.url, "sessions")[0]).splitlines()
    assert len(said) == 6
    assert said[0].startswith("fix-login ")
    assert said[0].endswith(" ago")
    assert said[1] == "  Once more: the commit…  7 turns · 17,969 tokens"


def test_long_output_goes_through_the_pager_that_was_chosen(
    ldg: Ldg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {tmp_path}/paged\necho through the pager\n")
    pager.chmod(pager.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PAGER", str(pager))
    lists = (("sessions",), ("search", "login"), ("timeline",), ("stats",), ("stats", "tools"), ("audit",))
    for args in (("show", "fix-login"), ("tree", "fix-login"), *lists):
        with Keys("--db", ldg.url, *args) as person:
            person.until("through the pager")
        assert person.code == (1 if args == ("audit",) else 0)
        assert COLOURS.search((tmp_path / "paged").read_text())
        (tmp_path / "paged").unlink()
    with Keys("--db", ldg.url, "show", "fix-login", "--no-pager") as person:
        person.until("time zone")
    assert not (tmp_path / "paged").exists()


def test_a_reader_who_leaves_the_pager_early_sees_no_error(
    ldg: Ldg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho enough\n")
    pager.chmod(0o755)
    monkeypatch.setenv("PAGER", str(pager))
    with Keys("--db", ldg.url, "show", "fix-login", "--full") as person:
        said = person.until("enough")
    assert "Error" not in said
    assert person.code == 0


def test_without_a_terminal_or_with_a_dumb_one_there_is_no_pager(ldg: Ldg, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "no-such-pager")
    assert "fix-login" in ldg.text("show", "fix-login", "--pager")
    with Keys("--db", ldg.url, "show", "fix-login") as person:
        person.until("time zone")
    assert person.code == 0
    assert os.environ["PAGER"] == "no-such-pager"


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())
