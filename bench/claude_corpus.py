"""Made-up sessions as Claude Code writes them, the same at every run, and the truth about what is in them.

`python -m bench.claude_corpus FOLDER --sessions 200` makes a home folder with `.claude/projects` and `manifest.json`.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from bench.claude_texts import Ids, Texts
from bench.claude_tools import Use, used

Entry = dict[str, Any]

SESSIONS, PROJECTS, ENTRIES, SEED = 200, 20, 100, 7
_BEGIN = datetime(2026, 1, 5, 8, tzinfo=UTC)
_APART = timedelta(minutes=37)
_FULL_TOKENS = 80_000  # a session with more than that is compacted
_MODELS = ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001")
_LOOPS = (1, 2, 3, 4, 6, 9, 14)  # how often an agent calls its model for one prompt
_PROMPT_WORDS = (8, 15, 25, 40, 90)
_SUBAGENT_LINES = 8
_STEM, _DATE, _DAY_ENTRIES = b"5eed5eed", _BEGIN.strftime("%Y-%m-%d").encode(), 1_500
_CONTINUED = "This session is being continued from a previous conversation that ran out of context. "


@dataclass
class Truth:
    """What a reader of the corpus has to find."""

    sessions: int = 0  # without those of subagents
    subagents: int = 0
    linked: int = 0  # subagents whose calls name them
    prompts: int = 0  # without those of subagents
    compactions: int = 0
    forks: int = 0  # turns that more than one turn follows
    tool_calls: int = 0
    tool_errors: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    files: int = 0
    lines: int = 0
    bytes: int = 0


def write_corpus(home: Path, sessions: int = SESSIONS, projects: int = PROJECTS, seed: int = SEED) -> Truth:
    """A home folder full of sessions of about 100 lines and 300 KB."""
    made = random.Random(seed)
    texts, truth = _texts(), Truth()
    names = [f"{texts.word(made)}-{texts.word(made)}-{number:02}" for number in range(projects)]
    for number in range(sessions):
        session = Session(made, truth, f"/home/dev/work/{names[number % projects]}", _BEGIN + number * _APART)
        session.talk(ENTRIES)
        for path, lines in session.files(home):
            _save(path, lines, truth)
    (home / "manifest.json").write_bytes(msgspec.json.format(msgspec.json.encode(asdict(truth)), indent=1))
    return truth


def write_small(home: Path, sessions: int, projects: int = 100) -> Truth:
    """As many sessions of one prompt and its answer, a file of about 2 KB each."""
    made, truth = random.Random(SEED), Truth()
    for number in range(sessions):
        session = Session(made, truth, f"/home/dev/small/{number % projects:03}", _BEGIN + number * _APART)
        session.chat()
        for path, lines in session.files(home):
            _save(path, lines, truth)
    return truth


def write_large(path: Path, size: int) -> Truth:
    """One session of so many bytes: a day's work again and again, every day with its own ids and date."""
    made, truth = random.Random(SEED), Truth()
    session = Alone(made, truth, "/home/dev/large", _BEGIN, Ids(made, _STEM.decode()))
    session.id = path.stem
    session.talk(_DAY_ENTRIES)
    day = b"".join(msgspec.json.encode(line) + b"\n" for line in session.lines)
    last = str(session.parent).encode()
    days = size // len(day)
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        for number in range(days):
            follows = b'"%b"' % last.replace(_STEM, b"%08x" % (number - 1)) if number else b"null"
            again = day.replace(b'"parentUuid":null', b'"parentUuid":' + follows, 1)
            date = (_BEGIN + timedelta(days=number)).strftime("%Y-%m-%d").encode()
            file.write(again.replace(_STEM, b"%08x" % number).replace(_DATE, date))
    counts = {name: count * days for name, count in vars(truth).items()}
    return Truth(
        **counts | {"sessions": 1, "files": 1, "lines": len(session.lines) * days, "bytes": path.stat().st_size}
    )


def _save(path: Path, lines: list[Entry], truth: Truth) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    path.write_bytes(data)
    truth.files += 1
    truth.lines += len(lines)
    truth.bytes += len(data)


@cache
def _texts() -> Texts:
    return Texts(SEED)


class Session:
    """One session: a chain of lines, each with the one before as its parent, with branches and compactions."""

    def __init__(self, made: random.Random, truth: Truth, cwd: str, begun: datetime, ids: Ids | None = None) -> None:
        self.random, self.truth, self.cwd, self.now = made, truth, cwd, begun
        self.texts, self.ids = _texts(), ids or Ids(made)
        self.id = self.ids.uuid()
        self.branch = made.choice(["main", f"feature/{self.texts.word(made)}"])
        self.model = made.choices(_MODELS, (45, 45, 10))[0]
        self.lines: list[Entry] = []
        self.subagents: dict[str, list[Entry]] = {}
        self.parent: str | None = None
        self._turn: int | None = None  # the number of the turn that the last line belongs to
        self._turns = 0
        self._followers: Counter[int] = Counter()
        self._rewinds: list[tuple[str | None, int | None]] = []  # where each prompt hangs
        self._context = made.randint(14_000, 22_000)

    def talk(self, entries: int) -> None:
        """Prompts and what the agent does about them, until there are enough lines."""
        if self.random.random() < 0.5:
            self.lines.append({"type": "summary", "summary": self._prose(7)[:80], "leafUuid": self.ids.uuid()})
        while len(self.lines) < entries:
            self._prompt(self._prose(self.random.choice(_PROMPT_WORDS)))
            for _ in range(self.random.choice(_LOOPS)):
                if len(self.lines) >= entries or not self._step():
                    break
            if self._context > _FULL_TOKENS:
                self._compact()
        self._end()

    def chat(self) -> None:
        """A prompt and its answer."""
        self._prompt(self._prose(20))
        self._answer([{"type": "text", "text": self._prose(60)}])
        self._end()

    def files(self, home: Path) -> Iterator[tuple[Path, list[Entry]]]:
        """The transcripts, and where they lie."""
        folder = home / ".claude" / "projects" / self.cwd.replace("/", "-")
        yield folder / f"{self.id}.jsonl", self.lines
        for agent, lines in self.subagents.items():
            yield folder / self.id / "subagents" / f"agent-{agent}.jsonl", lines

    def _end(self) -> None:
        self.truth.sessions += 1
        self.truth.forks += sum(1 for count in self._followers.values() if count > 1)

    # what happens

    def _prompt(self, text: str) -> None:
        if self._rewinds and self.random.random() < 0.06:
            self.parent, self._turn = self.random.choice(self._rewinds)
        self._rewinds.append((self.parent, self._turn))
        self._begin_turn()
        self.truth.prompts += 1
        line = self._push(self._line("user", message={"role": "user", "content": text}))
        snapshot = {"messageId": line["uuid"], "trackedFileBackups": {}, "timestamp": line["timestamp"]}
        kept = {"messageId": line["uuid"], "isSnapshotUpdate": False, "snapshot": snapshot}
        self.lines.append({"type": "file-history-snapshot", **kept})

    def _step(self) -> bool:
        """One call of the model; whether it used a tool."""
        blocks: list[Entry] = []
        if self.random.random() < 0.35:
            signature = self.ids.token(self.random.choice((300, 600, 900)))
            blocks.append({"type": "thinking", "thinking": self._prose(25, 180), "signature": signature})
        if self.random.random() < 0.55:
            code = f"\n\n```python\n{self._code(4, 30)}\n```\n" if self.random.random() < 0.3 else ""
            blocks.append({"type": "text", "text": self._prose(12, 130) + code})
        use = used(self.random, self.texts, self.cwd) if self.random.random() < 0.85 or not blocks else None
        call = f"toolu_01{self.ids.token(22)}"
        if use:
            blocks.append({"type": "tool_use", "id": call, "name": use.tool, "input": use.input})
        self._answer(blocks)
        if use:
            self._result(use, call)
        return use is not None

    def _answer(self, blocks: list[Entry]) -> None:
        """What a model said: a line for each block, all with the usage of the whole."""
        output = self.random.randint(40, 1400)
        written = self.random.randint(120, 2600)
        usage = self._usage(self.random.randint(1, 12), written, self._context, output)
        self._context += written + output
        message, request = f"msg_01{self.ids.token(22)}", f"req_011C{self.ids.token(20)}"
        for block in blocks:
            self._push(self._line("assistant", message=self._said(message, block, usage, None), requestId=request))

    def _result(self, use: Use, call: str) -> None:
        self.truth.tool_calls += 1
        self.truth.tool_errors += use.is_error
        mirror = use.mirror
        if use.tool == "Task" and (agent := self._subagent(use.input["prompt"])) and isinstance(mirror, dict):
            mirror["agentId"] = agent
            self.truth.linked += 1
        block = {"tool_use_id": call, "type": "tool_result", "content": use.output, "is_error": use.is_error}
        self._push(self._line("user", message={"role": "user", "content": [block]}, toolUseResult=mirror))

    def _compact(self) -> None:
        before, self._context = self._context, self.random.randint(18_000, 26_000)
        last, self.parent = self.parent, None
        self._begin_turn()
        self.truth.compactions += 1
        facts = {"trigger": "auto", "preTokens": before}
        said = {"content": "Conversation compacted", "isMeta": False, "level": "info"}
        boundary = {"subtype": "compact_boundary", **said, "logicalParentUuid": last, "compactMetadata": facts}
        self._push(self._line("system", **boundary))
        summary = {"role": "user", "content": _CONTINUED + self._prose(450)}
        self._push(self._line("user", isVisibleInTranscriptOnly=True, isCompactSummary=True, message=summary))

    def _subagent(self, prompt: str) -> str:
        """A transcript of its own: a task and what was said about it."""
        agent = f"{self.random.getrandbits(32):08x}"
        self.truth.subagents += 1
        chain, self.parent, begun = self.parent, None, self.now
        lines = [self._own("user", agent, message={"role": "user", "content": prompt})]
        for _ in range(1, _SUBAGENT_LINES):
            usage = self._usage(3, 500, self.random.randint(8_000, 20_000), self.random.randint(40, 400))
            text = {"type": "text", "text": self._prose(20, 120)}
            message = self._said(f"msg_01{self.ids.token(22)}", text, usage, "end_turn")
            lines.append(self._own("assistant", agent, message=message, requestId=f"req_011C{self.ids.token(20)}"))
        self.subagents[agent] = lines
        self.parent, self.now = chain, begun
        return agent

    # how it is written

    def _begin_turn(self) -> None:
        if self._turn is not None:
            self._followers[self._turn] += 1
        self._turns += 1
        self._turn = self._turns

    def _push(self, line: Entry) -> Entry:
        self.lines.append(line)
        self.parent = line["uuid"]
        return line

    def _own(self, kind: str, agent: str, **more: Any) -> Entry:
        line = self._line(kind, agentId=agent, **more) | {"isSidechain": True}
        self.parent = line["uuid"]
        return line

    def _line(self, kind: str, **more: Any) -> Entry:
        self.now += timedelta(seconds=self.random.uniform(0.4, 25))
        place = {"userType": "external", "cwd": self.cwd, "sessionId": self.id, "version": "2.1.30"}
        at = self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        head = {"parentUuid": self.parent, "isSidechain": False, **place, "gitBranch": self.branch}
        return {**head, **more, "type": kind, "uuid": self.ids.uuid(), "timestamp": at}

    def _said(self, message: str, block: Entry, usage: Entry, stop: str | None) -> Entry:
        head = {"model": self.model, "id": message, "type": "message", "role": "assistant", "content": [block]}
        return {**head, "stop_reason": stop, "stop_sequence": None, "usage": usage}

    def _usage(self, fresh: int, written: int, read: int, output: int) -> Entry:
        truth = self.truth
        truth.model_calls += 1
        truth.input_tokens += fresh
        truth.cache_write_tokens += written
        truth.cache_read_tokens += read
        truth.output_tokens += output
        cached = {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0}
        counts = {"input_tokens": fresh, "cache_creation_input_tokens": written, "cache_read_input_tokens": read}
        return {**counts, "cache_creation": cached, "output_tokens": output, "service_tier": "standard"}

    def _prose(self, least: int, most: int | None = None) -> str:
        return self.texts.prose(self.random, self.random.randint(least, most or least))

    def _code(self, least: int, most: int) -> str:
        return self.texts.code(self.random, self.random.randint(least, most))


class Alone(Session):
    """A session without subagents: one file."""

    def _subagent(self, prompt: str) -> str:
        del prompt
        return ""


def main() -> int:
    """Writes a corpus and prints what is in it."""
    parser = argparse.ArgumentParser(prog="python -m bench.claude_corpus", description=__doc__)
    parser.add_argument("folder", type=Path)
    for name, usual in (("--sessions", SESSIONS), ("--projects", PROJECTS), ("--seed", SEED)):
        parser.add_argument(name, type=int, default=usual)
    given = parser.parse_args()
    print(asdict(write_corpus(given.folder, given.sessions, given.projects, given.seed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
