"""Lives of real agents that are worth forking, and what each had in front of its model after each turn."""

import json
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from agents_ledger.capture.forking import Made, fork_into
from agents_ledger.capture.sync import Sync
from agents_ledger.ledger import Ledger
from agents_ledger.model.formats import Machine
from agents_ledger.model.rows import TurnRow
from oracles.box import Box, Request
from oracles.conversation import Item, Json
from oracles.fake_model import SUMMARY
from oracles.live import Claude, Codex, LiveAgent, Pi, PiEarendil
from oracles.written import Gemini, OpenClaw, OpenClawFiles, OpenCode, Qwen, SealedOpenCode

NAMES: dict[type[LiveAgent], str] = {Claude: "claude-code", Codex: "codex", Pi: "pi", PiEarendil: "pi"}
NAMES |= {Qwen: "qwen", OpenCode: "opencode", SealedOpenCode: "opencode", Gemini: "gemini"}
NAMES |= {OpenClaw: "openclaw", OpenClawFiles: "openclaw"}
RESUMED = "Resumed?"
# tokens that fill the window; else 190,000
_FULL = {Codex: 400_000, OpenClawFiles: 196_000, OpenCode: 199_000, SealedOpenCode: 199_000, Gemini: 900_000}
TOOLS: list[Json] = [
    {"think": "let me look", "text": "I will run a command.", "shell": "echo hi-from-tool"},
    {"tools": [{"shell": "echo second"}, {"shell": "ls /nonexistent-folder"}]},
    {"text": "Done."},
]
# where a command that fails is no failed tool
READING: list[Json] = [TOOLS[0], {"tools": [{"shell": "echo second"}, {"read": "/nonexistent/file"}]}, TOOLS[2]]
_SUBAGENT = 'Sub job. FAKE:[{"shell": "echo in-sub"}, {"text": "Sub result 42"}]'
_COMPLETING = _SUBAGENT.replace(
    '{"text": "Sub result 42"}', '{"tool": "complete_task", "args": {"result": {"response": "Sub result 42"}}}'
)
# a step that calls a subagent, where the model has to say more than what it is to do
SUBAGENTS: dict[type[LiveAgent], Json] = {
    Gemini: {"tool": "invoke_agent", "args": {"agent_name": "generalist", "prompt": _COMPLETING}},
    OpenCode: {"tool": "task", "args": {"description": "sub", "subagent_type": "general", "prompt": _SUBAGENT}},
}
SUBAGENTS[SealedOpenCode] = SUBAGENTS[OpenCode]
_ASKING_FOR_SUMMARY = (
    *("CONTEXT CHECKPOINT", "CRITICAL: Respond with TEXT ONLY", "generate the <state_snapshot>"),
    *("Generate a new <state_snapshot>", "Critically evaluate the <state_snapshot>", "Here is the conversation so far"),
)
# what the programs put in by themselves, each time anew
_INJECTED = re.compile(
    r"\s*(<system-reminder>|<environment_context>|<permissions|<skills_instructions>|You are a coding agent"
    r"|<local-command-|<command-name>|<turn_aborted>|No response requested\.$|<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>)"
)
# the end of a subagent: Claude Code wraps it in a reminder when it sends it
_NOTIFIED = re.compile(r"<task-notification>.*</task-notification>", re.DOTALL)
_REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


@dataclass
class Life:
    """A session that was lived, captured, and can be forked."""

    agent: LiveAgent
    ledger: Ledger
    machine: Machine
    asked: int = 0  # requests of the session itself
    forks: dict[str, str] = field(default_factory=dict)  # the turn of each

    @property
    def whole_path(self) -> list[TurnRow]:
        """Its turns."""
        label = next(
            line.session.label
            for line in self.ledger.sessions(limit=1000)
            if self._is_own(line.session.origin_session_id)
        )
        return self.ledger.path(self.ledger.head(label) or "")

    @property
    def path(self) -> list[TurnRow]:
        """Its turns, the last one (which only shows what came before) left out."""
        return self.whole_path[:-1]

    def requests(self) -> list[Request]:
        """What the session itself asked the model (not the forks, which came later)."""
        return self.agent.box.requests()[: self.asked]

    def fork(self, turn: TurnRow, into: type[LiveAgent]) -> tuple[Made, list[Item]]:
        """Writes a fork, lets the real program resume it; gives what it put before the model, its question left out."""
        made = fork_into(self.ledger, self.machine, turn.id, NAMES[into])
        box = self.agent.box
        before = len(box.requests())
        resumed = into(box, made.path if into.is_named_by_file else made.agent_session)
        resumed.ask(RESUMED)
        self.forks[f"{NAMES[into]}:{resumed.session}" if into.is_renamed else made.session] = turn.id
        sent = next(request for request in box.requests()[before:] if request.tools or is_summary(request))
        return made, plain(sent.history)[:-1]

    def sync(self) -> None:
        """Takes in what is new."""
        Sync(self.ledger, self.machine).run()

    def _is_own(self, session: str | None) -> bool:
        return session is not None and session in str(self.agent.session)


@contextmanager
def lived(box: Box, kind: type[LiveAgent]) -> Iterator[Life]:
    """A session with tool calls, a failed and parallel ones, thinking, a picture, a subagent, a compaction."""
    agent = kind(box)
    _prefer_short_memory(box)
    red = box.work / "red.png"
    red.write_bytes(red_png())
    agent.ask("Hello one.", *(READING if kind in SUBAGENTS else TOOLS))
    if kind not in (Codex, Pi, PiEarendil):
        agent.ask("Look.", {"read": str(red)}, {"text": "It is red."})
    if kind in (Codex, Pi, PiEarendil, *SUBAGENTS):
        agent.ask("See.", {"text": "It is red."}, image=red)
    _ask_for_subagent(agent)
    _fill(agent)
    agent.ask("After?", {"shell": "echo after"}, {"text": "Done after."})
    agent.ask("Last?")
    with captured(agent) as life:
        yield life


def _ask_for_subagent(agent: LiveAgent) -> None:
    """Where the agent has some."""
    if isinstance(agent, Pi):
        return
    wait = {"tool": "wait_agent", "args": {"targets": ["x"], "timeout_ms": 10_000}}
    waits = [wait] if isinstance(agent, Codex) else []
    call = SUBAGENTS.get(type(agent), {"task": _SUBAGENT})
    agent.ask("Use a subagent.", call, *waits, {"text": "Sub said 42."})
    if isinstance(agent, OpenClaw):
        agent.ask("Wait.", {"text": "I waited."})  # what the subagent said comes with the next question


def _fill(agent: LiveAgent) -> None:
    """Until the agent compacts: by itself, or because it is told to."""
    if isinstance(agent, Claude):
        agent.ask("/compact")
        return
    if isinstance(agent, Gemini):  # it forgets the model's count when it ends
        agent.ask("Much.", {"shell": "echo x", "usage": {"input": _FULL[Gemini]}}, {"text": "Much was read."})
        return
    much = {"shell": "seq 1 3000"} if isinstance(agent, Qwen) else {"shell": "echo x"}  # it counts what it compresses
    usage = {} if isinstance(agent, Qwen) else {"usage": {"input": _FULL.get(type(agent), 190_000)}}
    agent.ask("Much.", much, {"text": "Much was read.", **usage})
    if isinstance(agent, Qwen):
        agent.ask("/compress")


@contextmanager
def captured(agent: LiveAgent) -> Iterator[Life]:
    """What an agent has lived so far, in a new ledger."""
    box = agent.box
    with Ledger.open(f"sqlite:///{box.folder}/ledger.db") as ledger:
        life = Life(agent, ledger, Machine(str(box.home), {}, "linux"), len(box.requests()))
        life.sync()
        yield life


def expected(life: Life, turn: TurnRow) -> list[Item]:
    """What is to stand before the model when the session goes on after a turn."""
    path = life.ledger.path(_last(life))
    at = next(n for n, one in enumerate(path) if one.id == turn.id)
    if turn.turn_type == "compaction":  # as the next question found it
        return _asked_with(life, _question(life, path[at + 1]), None)[0][:-1]
    later = next((_question(life, one) for one in path[at + 1 :] if one.turn_type != "compaction"), None)
    items, reply = _asked_with(life, _question(life, turn), later, is_last=True)
    thought = [Item("assistant", "thinking", reply["thinking"])] if reply["thinking"] else []
    return [*items, *thought, Item("assistant", "text", reply["text"])]


def _asked_with(life: Life, question: str, later: str | None, *, is_last: bool = False) -> tuple[list[Item], Json]:
    """The first (or last) request in which a question stands, and the one after it does not yet; and its answer."""
    found = []
    for request in life.requests():
        items = plain(request.history)
        texts = [item.text.rstrip() for item in items if item.role == "user" and item.kind == "text"]
        is_there = any(text.endswith(question) for text in texts)
        if is_there and not (later and any(text.endswith(later) for text in texts)) and not is_summary(request):
            found.append((items, request.reply))
    return found[-1 if is_last else 0]


def plain(history: tuple[Item, ...]) -> list[Item]:
    """A history without what the program adds by itself: reminders, the folder, the rules."""
    found = []
    for given in history:
        note = _NOTIFIED.search(given.text) if given.kind == "text" else None
        item = replace(given, text=note[0]) if note else given
        if item.role in ("system", "developer") or (item.kind == "text" and _INJECTED.match(item.text)):
            continue
        text = _REMINDER.sub("", item.text)
        if item.kind == "call":
            text = json.dumps(json.loads(text), sort_keys=True)
        if text or item.kind != "text":
            found.append(replace(item, text=text))
    return _in_order(found)


def failures(items: list[Item]) -> list[tuple[str, bool]]:
    """The results, each with whether it is marked as an error."""
    return [(item.text.strip(), item.is_error) for item in items if item.kind == "result"]


def is_summary(request: Request) -> bool:
    """Whether the agent asks for a summary of everything."""
    texts = [item.text for item in request.history if item.role == "user" and item.kind == "text"]
    return bool(texts) and any(mark in texts[-1] for mark in _ASKING_FOR_SUMMARY)


def summed_up(requests: list[Request]) -> list[str]:
    """What agents let the model sum up for them, in one text each."""
    asked = [request for request in requests if not request.tools and SUMMARY in request.reply["text"]]
    texts = [request.history[-1].text for request in asked if len(request.history) == 1]
    return [text for text in texts if text]


def _in_order(items: list[Item]) -> list[Item]:
    """Results of parallel calls in the order of the calls: they come as they end, and that is no difference."""
    calls = [item.id for item in items if item.kind == "call"]
    found: list[Item] = []
    run: list[Item] = []
    for item in [*items, None]:
        if item is not None and item.kind == "result":
            run.append(item)
            continue
        found += sorted(run, key=lambda one: calls.index(one.id) if one.id in calls else -1)
        run = []
        if item is not None:
            found.append(item)
    return found


def _last(life: Life) -> str:
    path = life.path
    children = life.ledger.children(path[-1].id)
    return children[0].id


def _question(life: Life, turn: TurnRow) -> str:
    said = [row.content or "" for row in life.ledger.get(turn.id).messages if row.source == "human"]
    return said[0].rstrip().splitlines()[-1][-40:]


def _prefer_short_memory(box: Box) -> None:
    """A pi keeps 20,000 tokens when it compacts, which is more than is said here."""
    folder = box.home / ".pi" / "agent"
    if folder.exists():
        kept = {"compaction": {"enabled": True, "keepRecentTokens": 5}}
        Path(folder, "settings.json").write_text(json.dumps(kept), encoding="utf-8")


def red_png() -> bytes:
    """A picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    size = 16
    rows = b"".join(b"\0" + b"\xff\0\0" * size for _ in range(size))
    head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
