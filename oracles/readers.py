"""What others read in the same session files: pi's SessionManager, Claude's SDK, ccusage; each on copies, as values."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from oracles.install import JUDGES, NODE, missing

Json = dict[str, Any]
PI_JUDGES = ("pi", "pi-earendil")
_HERE = Path(__file__).parent
_LIMIT_SECONDS = 120


class NotInstalled(Exception):
    """The judge is not there; the message says why, and what to do."""


@dataclass(frozen=True)
class Call:
    """A tool call, as the judge gives it."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True)
class Result:
    """What a tool call gave."""

    call_id: str
    text: str
    is_error: bool


@dataclass(frozen=True)
class Message:
    """One message of a conversation: its texts joined by newlines, its thinking, calls and results."""

    role: str
    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    id: str | None = None  # the source's own; None for messages that the judge put together
    api_id: str | None = None  # of the API message of which this is (a part of) the content


@dataclass(frozen=True)
class PiSession:
    """A session as pi opens it: the tree, and what its current leaf would send to the model."""

    error: str | None  # why pi does not open it; then all else is empty
    header: Json
    entries: tuple[Json, ...]
    leaf: str | None
    branches: dict[str, list[str]]  # of each entry without children: the ids from the root to it
    messages: tuple[Message, ...]
    contexts: dict[str, list[Message]]  # of each entry: what would be sent if the session went on after it
    model: str | None
    thinking_level: str | None


@dataclass(frozen=True)
class ClaudeSession:
    """A session as Claude's SDK lists it: the current chain, and those of its subagents."""

    error: str | None  # why the SDK does not read it; then all else is empty
    messages: tuple[Message, ...]
    subagents: dict[str, tuple[Message, ...]]


@dataclass(frozen=True)
class Tokens:
    """What one model used: input without cache; output with reasoning."""

    input: int = 0
    output: int = 0
    cache_creation: int = 0
    cache_read: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.input + other.input,
            self.output + other.output,
            self.cache_creation + other.cache_creation,
            self.cache_read + other.cache_read,
        )


def pi_sessions(paths: Iterable[Path], judge: str = "pi") -> list[PiSession]:
    """What pi makes of each file, all in one process; `judge` is one of PI_JUDGES (0.73.1, 0.87.1)."""
    _require(judge)
    index = JUDGES[judge].file.with_name("index.js")
    with TemporaryDirectory() as folder:
        copies = [shutil.copyfile(path, Path(folder, f"{n}.jsonl")) for n, path in enumerate(paths)]
        command = [str(NODE), str(_HERE / "pi_reader.mjs"), str(index)]
        said = _json(command, _home(folder), [str(copy) for copy in copies])
    return [_pi_session(one) for one in said]


def pi_continues(path: Path, bodies: Sequence[Json], judge: str = "pi") -> None:
    """Lets pi itself open a file, this very one, and add messages to it."""
    _require(judge)
    index = JUDGES[judge].file.with_name("index.js")
    command = [str(NODE), str(_HERE / "pi_writer.mjs"), str(index)]
    with TemporaryDirectory() as folder:
        _json(command, _home(folder), {"path": str(path), "bodies": list(bodies)})


def runtime_keys(judge: str, chats: Sequence[Json]) -> list[str]:
    """The session keys that a runtime's own code gives to messages."""
    _require(judge)
    command = [str(NODE), str(_HERE / "key_maker.mjs"), judge, str(JUDGES[judge].file)]
    with TemporaryDirectory() as folder:
        return list(_json(command, _home(folder), list(chats)))


def claude_sessions(paths: Iterable[Path]) -> list[ClaudeSession]:
    """What Claude's SDK makes of each session file, with the folder of its subagents if it lies beside it."""
    _require("claude-sdk")
    with TemporaryDirectory() as folder:
        ids = [_placed(path, Path(folder, "projects", "-copies"), n) for n, path in enumerate(paths)]
        command = [str(JUDGES["claude-sdk"].file), str(_HERE / "claude_reader.py")]
        said = _json(command, {**_home(folder), "CLAUDE_CONFIG_DIR": folder}, ids)
    return [
        ClaudeSession(
            one["error"],
            tuple(_claude_message(message) for message in one["messages"]),
            {agent: tuple(map(_claude_message, messages)) for agent, messages in one["subagents"].items()},
        )
        for one in said
    ]


def ccusage_totals(
    claude_dir: Path | None = None, codex_dir: Path | None = None, pi_dir: Path | None = None
) -> dict[str, Tokens]:
    """What each model used by all the session files below some folders, as ccusage counts them."""
    _require("ccusage")
    totals: dict[str, Tokens] = {}
    for agent, source in (("claude", claude_dir), ("codex", codex_dir), ("pi", pi_dir)):
        for model, tokens in _ccusage(agent, source) if source else ():
            totals[model] = totals.get(model, Tokens()) + tokens
    return totals


def ccusage_cost(agent: str, source: Path) -> float:
    """What the session files of an agent below a folder cost in dollars, as ccusage counts it."""
    _require("ccusage")
    return sum(float(day["costUSD"] if agent == "codex" else day["totalCost"]) for day in _days(agent, source))


def _ccusage(agent: str, source: Path) -> list[tuple[str, Tokens]]:
    days = _days(agent, source)
    counted = [(day["modelName"], day) for one in days for day in one.get("modelBreakdowns", ())]
    counted += [pair for one in days for pair in one.get("models", {}).items()]
    return [(name.removeprefix("[pi] "), _tokens(one)) for name, one in counted]


def _days(agent: str, source: Path) -> list[Json]:
    """What was used on each day."""
    inside = {"claude": "projects/-copies", "codex": "sessions", "pi": "sessions"}[agent]
    with TemporaryDirectory() as folder:
        for path in source.rglob("*.jsonl"):
            copy = Path(folder, inside, path.relative_to(source))
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        where = {"CLAUDE_CONFIG_DIR": folder, "CODEX_HOME": folder, "PI_AGENT_DIR": str(Path(folder, inside))}
        command = [str(NODE), str(JUDGES["ccusage"].file), agent, "daily", "--json", "--offline"]
        days: list[Json] = _json(command, {**_home(folder), **where}, None)["daily"]
    return days


def _tokens(counts: Json) -> Tokens:
    return Tokens(
        counts["inputTokens"], counts["outputTokens"], counts["cacheCreationTokens"], counts["cacheReadTokens"]
    )


def _require(judge: str) -> None:
    if why := missing(judge):
        raise NotInstalled(why)


def _home(folder: str) -> dict[str, str]:
    """An environment in which nothing of this user can be found."""
    return {"HOME": folder, "PATH": f"{NODE.parent}{os.pathsep}{os.defpath}", "LANG": "C.UTF-8"}


def _json(command: Sequence[str], environment: dict[str, str], given: Any) -> Any:
    done = subprocess.run(
        command,
        env=environment,
        cwd=environment["HOME"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=_LIMIT_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command} ended with {done.returncode}: {done.stderr[-3000:]}")
    return json.loads(done.stdout)


def _placed(path: Path, project: Path, number: int) -> str:
    """A session file's copy where Claude's SDK looks for it, under an id of its own: its name may be anything."""
    made = str(uuid5(NAMESPACE_URL, f"{number}"))
    project.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, project / f"{made}.jsonl")
    if path.with_suffix("").is_dir():
        shutil.copytree(path.with_suffix(""), project / made)
    return made


def _pi_session(said: Json) -> PiSession:
    messages = [pi_message(message) for message in said.get("said", ())]
    return PiSession(
        error=said["error"],
        header=said.get("header") or {},
        entries=tuple(said.get("entries", ())),
        leaf=said.get("leaf"),
        branches=said.get("branches", {}),
        messages=tuple(pi_message(message) for message in said.get("messages", ())),
        contexts={name: [messages[n] for n in numbers] for name, numbers in said.get("contexts", {}).items()},
        model=said.get("model"),
        thinking_level=said.get("thinking_level"),
    )


def pi_message(said: Json) -> Message:
    """A message as pi has it."""
    blocks = _blocks(said.get("content"))
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    if said["role"] == "toolResult":
        return Message("toolResult", results=(Result(said["toolCallId"], "\n".join(texts), said["isError"]),))
    sections = (said.get("sections") or {}).values()  # of a system prompt
    return Message(
        said["role"],
        text="\n\n".join([one for one in ("\n".join(texts), *sections) if one])
        or said.get("summary")
        or said.get("output")
        or "",
        thinking="\n".join(block["thinking"] for block in blocks if block["type"] == "thinking"),
        calls=tuple(
            Call(block["id"], block["name"], block["arguments"]) for block in blocks if block["type"] == "toolCall"
        ),
    )


def _claude_message(said: Json) -> Message:
    message = said["message"] if isinstance(said["message"], dict) else {}
    blocks = _blocks(message.get("content"))
    return Message(
        said["role"],
        text="\n".join(block["text"] for block in blocks if block["type"] == "text"),
        thinking="\n".join(block["thinking"] for block in blocks if block["type"] == "thinking"),
        calls=tuple(
            Call(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"
        ),
        results=tuple(_claude_result(block) for block in blocks if block["type"] == "tool_result"),
        id=said["id"],
        api_id=message.get("id"),
    )


def _claude_result(block: Json) -> Result:
    texts = [one["text"] for one in _blocks(block.get("content")) if one["type"] == "text"]
    return Result(block["tool_use_id"], "\n".join(texts), bool(block.get("is_error")))


def _blocks(content: Any) -> list[Json]:
    """The blocks of a content, which may be a text; what is no block at all is left out, as the judges do."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return (
        [block for block in content if isinstance(block, dict) and "type" in block] if isinstance(content, list) else []
    )
