"""Tools, thinking, images and unanswered calls in other agents' words; and that the document says the same."""

import re
from pathlib import Path
from typing import Any

import pytest

from agents_ledger.model.retelling import NO_RESULT, retold
from agents_ledger.model.story import Block, Call, Entry, Image, Result, Story, Text, Thinking
from agents_ledger.model.tools import MEANINGS, translate
from agents_ledger.model.writing import Losses

FORKING = Path(__file__).parents[2] / "docs" / "forking.md"
SOURCES = Path(__file__).parents[2] / "src" / "agents_ledger"
NONE = "\N{EN DASH}"
AGENTS = ("claude-code", "codex", "pi", "openclaw", "gemini", "qwen", "opencode", "agentuse")


def rows_below(heading: str) -> list[list[str]]:
    text = FORKING.read_text("utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_document_has_the_table_of_tools() -> None:
    told = {row[0]: row[1:] for row in rows_below("Tools that mean the same")}
    ours = {
        meaning: [
            " ".join(f"`{each.tool}({', '.join(each.names.values())})`" for each in spellings.get(agent, ())) or NONE
            for agent in AGENTS
        ]
        for meaning, spellings in MEANINGS.items()
    }
    assert told == ours


def test_the_document_explains_every_loss() -> None:
    told = {row[0].strip("`") for row in rows_below("What could not be carried over")}
    code = "".join(path.read_text("utf-8") for path in SOURCES.rglob("*.py"))
    assert told == set(re.findall(r'losses\.note\(\s*"([\w-]+)"', code))


CALLS: list[tuple[str, Any, str, tuple[str, Any, list[str]] | None]] = [
    (
        "Bash",
        {"command": "ls", "timeout": 2000, "description": "look"},
        "pi",
        ("bash", {"command": "ls", "timeout": 2}, ["description"]),
    ),
    (
        "Bash",
        {"command": "ls", "run_in_background": True},
        "codex",
        ("exec_command", {"cmd": "ls"}, ["run_in_background"]),
    ),
    ("exec_command", {"cmd": "ls", "workdir": "/x"}, "claude-code", ("Bash", {"command": "ls"}, ["workdir"])),
    ("exec_command", {"cmd": "ls", "workdir": "/x"}, "openclaw", ("exec", {"command": "ls", "workdir": "/x"}, [])),
    (
        "shell",
        {"command": ["bash", "-lc", "ls *"], "timeout_ms": 5},
        "claude-code",
        ("Bash", {"command": "ls *", "timeout": 5}, []),
    ),
    ("shell", {"command": ["ls", "a b"]}, "pi", ("bash", {"command": "ls 'a b'"}, [])),
    ("shell", {"command": [1, 2]}, "pi", None),
    ("bash", {"command": "ls", "timeout": 1.5}, "claude-code", ("Bash", {"command": "ls", "timeout": 1500}, [])),
    (
        "Edit",
        {"file_path": "a", "old_string": "x", "new_string": "y"},
        "pi",
        ("edit", {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}, []),
    ),
    (
        "edit",
        {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]},
        "claude-code",
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, []),
    ),
    (
        "edit",
        {"path": "a", "oldText": "x", "newText": "y"},
        "claude-code",
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, []),
    ),
    ("edit", {"path": "a", "edits": [{}, {}]}, "claude-code", None),
    (
        "TodoWrite",
        {"todos": [{"content": "a", "status": "pending", "activeForm": "doing a"}]},
        "codex",
        ("update_plan", {"plan": [{"step": "a", "status": "pending"}]}, []),
    ),
    (
        "update_plan",
        {"plan": [{"step": "a", "status": "pending"}]},
        "claude-code",
        ("TodoWrite", {"todos": [{"activeForm": "a", "content": "a", "status": "pending"}]}, []),
    ),
    ("TodoWrite", {"todos": "all of it"}, "codex", None),
    ("Read", {"file_path": "a", "limit": 3}, "codex", None),
    ("Read", {"limit": 3}, "pi", None),
    ("mcp__own__tool", {"x": 1}, "pi", None),
    ("apply_patch", "*** Begin Patch", "claude-code", None),
]


@pytest.mark.parametrize(("tool", "params", "agent", "wanted"), CALLS)
def test_a_call_in_another_agents_words(tool: str, params: Any, agent: str, wanted: Any) -> None:
    assert translate(tool, params, agent) == wanted


def entry(role: Any, *blocks: Block, **facts: Any) -> Entry:
    return Entry(role=role, blocks=blocks, turn_id="t", at=0, **facts)


def told(*entries: Entry, agent: str = "codex", api: str = "openai", origin: str | None = None) -> tuple[Any, Any]:
    losses = Losses()
    story = Story(turn_id="t", at=0, entries=entries, origin=origin)
    found = [(each.role, *each.blocks) for each in retold(story, agent, api, losses)]
    return found, {(loss.code, loss.count) for loss in losses.listed()}


def test_thinking_keeps_a_seal_that_the_other_agents_api_knows() -> None:
    signed = Thinking("hm", "seal", api="openai")
    hidden = Thinking("", "seal", api="anthropic", is_hidden=True)
    thoughts = entry("assistant", signed, Thinking("hm", "seal", api="anthropic"), hidden, Thinking("plain"))
    found, losses = told(thoughts)
    as_text = Text("<thinking>\nhm\n</thinking>")
    assert found == [("assistant", signed, as_text, Text("<thinking>\nplain\n</thinking>"))]
    assert losses == {("thinking-as-text", 2), ("thinking-left-out", 1)}


def test_images_stay_images_if_they_are_here() -> None:
    image = Image("image/png", "aGk=")
    found, losses = told(entry("user", image, Image("image/png")))
    assert found == [("user", image, Text("[image: image/png]"))]
    assert losses == {("image-left-out", 1)}


def test_results_of_calls_told_as_text_stand_behind_those_of_real_ones() -> None:
    said = entry("assistant", Text("look"), Call("a|1", "Odd", {"x": 1}), Call("b", "Bash", {"command": "ls"}))
    results = [
        entry("tool", Result("a|1", "Odd", (Text("odd"),), is_error=True, status="failed")),
        entry("tool", Result("b", "Bash", (), status="abandoned")),
    ]
    found, losses = told(said, *results, entry("user", Text("next")))
    assert found == [
        ("assistant", Text("look"), Text('[call: Odd {"x":1}]'), Call("b", "exec_command", {"cmd": "ls"})),
        ("tool", Result("b", "exec_command", (Text(NO_RESULT),), status="abandoned")),
        ("user", Text("[failed: Odd]"), Text("odd")),
        ("user", Text("next")),
    ]
    assert losses == {("tool-as-text", 1), ("no-result", 1)}


def test_an_agents_own_tools_are_called_as_they_were() -> None:
    call = Call("call|1", "apply_patch", "*** Begin Patch")
    found, losses = told(entry("assistant", call), origin="codex")
    assert found == [("assistant", Call("call_1", "apply_patch", "*** Begin Patch"))]
    assert losses == set()


def test_what_a_program_adds_by_itself_is_left_out() -> None:
    found, losses = told(entry("user", Text("the folder"), is_injected=True), entry("user", Text("hi")))
    assert found == [("user", Text("hi"))]
    assert losses == {("context-left-out", 1)}
