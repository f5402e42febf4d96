"""What is written for an agent reads as what was forked: by the same agent's files, and in the words of the others."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents_ledger import Ledger
from agents_ledger.capture.forking import Made, fork_into, reveal
from agents_ledger.ledger.story import tell
from agents_ledger.model.formats import Machine
from agents_ledger.model.retelling import KEPT_UNSENT, retold
from agents_ledger.model.story import Block, Call, Entry, Result, Text, Thinking
from agents_ledger.model.writing import Losses
from tests.capture.folders import Case, cases, opened, sync

FORMATS = ("claude-code", "codex", "pi", "agentuse")
# Files that their own programs do not read as we do: they are told from the ledger.
BROKEN = ("claude-code/broken-lines", "codex/broken-lines", "pi/broken-lines", "codex/flat-2025")
# Lines were cut off its beginning, into a `.bak`: the agent resumes from what is left, the ledger knows all of it.
CUT = ("pi/written-by-the-store",)
# Two sessions of one turn have its parallel calls in different orders: a copy keeps the order of its own file.
ANY_ORDER = "claude-code/parallel-calls-in-another-order"
# One record holds a tool's result and the next question: no cut goes between them.
NOT_CUT = "and a word from a person"
CASES = [case for case in cases() if case.format in FORMATS and case.name not in (*BROKEN, *CUT)]
_ULID = re.compile(r"\b[0-9A-Z]{26}\b")  # AgentUse names the folder of an output
_THINKING = re.compile(r"<thinking>.*?</thinking>", re.DOTALL)
AGENTS = ("claude-code", "codex", "pi", "openclaw", "agentuse", "qwen", "gemini", "opencode")
IMAGES = ("claude-code/images", "codex/image", "pi/images")
NO_IMAGES = ("agentuse", "opencode")  # files beside what was said; a document, which is one record


ACROSS = [
    (name, agent)
    for name in (
        "claude-code/chat-with-tools",
        "claude-code/images",
        "codex/tools",
        "codex/image",
        "pi/images",
        "pi/v3",
    )
    for agent in AGENTS
    if not name.startswith(agent) and not (agent in NO_IMAGES and name in IMAGES)
]


def forkable(ledger: Ledger) -> Iterator[tuple[str, str]]:
    """The first, a middle and the last turn of every session, with its agent."""
    for line in ledger.sessions(limit=100):
        session = line.session
        if session.thread_id is not None and session.origin in AGENTS:
            path = ledger.ancestry(session.thread_id)
            for turn_id in dict.fromkeys((path[0], path[len(path) // 2], path[-1])):
                yield turn_id, session.origin or ""


def told(ledger: Ledger, turn_id: str, agent: str | None = None) -> tuple[str | None, list[tuple[str, list[Block]]]]:
    """A story: its summary and its entries; in the words of an agent, if one is named."""
    with ledger.database.read() as tx:
        story = tell(tx, turn_id, reveal())
        entries = (
            list(story.entries)
            if agent is None
            else list(retold(story, agent, KEPT_UNSENT if agent == "agentuse" else "any", Losses()))
        )
        summary = None if story.summary is None else story.summary.text
    return summary, [(entry.role, [_numbered(block) for block in entry.blocks]) for entry in entries if _is_told(entry)]


def _is_told(entry: Entry) -> bool:
    return not any(isinstance(block, Text) and block.text == NOT_CUT for block in entry.blocks)


def _numbered(block: Block) -> Block:
    """A call without the id that the ledger gave it, if its source had none; a result without ids in its paths."""
    if isinstance(block, Call):
        return replace(block, id="")
    if not isinstance(block, Result):
        return block
    content = tuple(Text(_ULID.sub("…", part.text)) if isinstance(part, Text) else part for part in block.content)
    status = "failed" if block.is_error else block.status  # no agent has more words for that
    return replace(block, call="", tool="", content=content, status=status)


def read_back(folder: Path, forks: list[Made]) -> Iterator[tuple[Made, Ledger]]:
    """For each fork a ledger that knows nothing but the file that was written."""
    for number, made in enumerate(forks):
        with opened(folder / f"again{number}.db") as again:
            sync(again, Path(made.path))
            yield made, again


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_fork_for_the_same_agent_reads_as_its_origin(case: Case, tmp_path: Path) -> None:
    machine = Machine(str(tmp_path / "home"), {}, "linux")
    (tmp_path / "home").mkdir()
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, case.source)
        forks = [fork_into(ledger, machine, turn_id, agent) for turn_id, agent in forkable(ledger)]
        for made, again in read_back(tmp_path, forks):
            head = again.head(made.session)
            assert head is not None
            wanted = told(ledger, made.turn_id) if made.is_copy else told(ledger, made.turn_id, made.agent)
            read = told(again, head)
            if case.name == ANY_ORDER:
                read, wanted = _sorted_calls(read), _sorted_calls(wanted)
            assert read == wanted, made.path


def _sorted_calls(
    told: tuple[str | None, list[tuple[str, list[Block]]]],
) -> tuple[str | None, list[tuple[str, list[Block]]]]:
    """A story with the calls of each message, and the results that follow each other, in one order."""
    entries: list[tuple[str, list[Block]]] = []
    for role, blocks in told[1]:
        if entries and role == entries[-1][0] == "tool":
            entries[-1][1].extend(blocks)
        else:
            entries.append((role, list(blocks)))
    return told[0], [
        (role, sorted(blocks, key=lambda block: (isinstance(block, Call), repr(block)))) for role, blocks in entries
    ]


@pytest.mark.parametrize(("name", "agent"), ACROSS)
def test_a_fork_for_another_agent_reads_as_its_origin_in_other_words(name: str, agent: str, tmp_path: Path) -> None:
    case = next(case for case in cases() if case.name == name)
    machine = Machine(str(tmp_path / "home"), {}, "linux")
    (tmp_path / "home").mkdir()
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, case.source)
        forks = [fork_into(ledger, machine, turn_id, agent) for turn_id, _ in forkable(ledger)]
        assert forks
        for made, again in read_back(tmp_path, forks):
            read = _words(told(again, again.head(made.session) or "")[1], agent)
            assert read == _words(told(ledger, made.turn_id, agent)[1], agent)


@pytest.mark.parametrize("name", ["opencode/tools-image-and-fork", "gemini/image", "gemini/imported-and-forked"])
def test_pictures_in_rows_and_lines_are_carried_over(name: str, tmp_path: Path) -> None:
    case = next(case for case in cases() if case.name == name)
    machine = Machine(str(tmp_path / "home"), {}, "linux")
    (tmp_path / "home").mkdir()
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, case.source)
        made = [fork_into(ledger, machine, turn_id, "claude-code") for turn_id, _ in forkable(ledger)]
        texts = [Path(one.path).read_text(encoding="utf-8") for one in made]
        assert any('"media_type":"image/png","data":"iVBOR' in text for text in texts)
        assert not [loss for one in made for loss in one.losses if loss.code == "image-left-out"]


def _words(entries: list[tuple[str, list[Block]]], agent: str) -> list[object]:
    """What was said, called and answered, in order; thinking apart, which each agent keeps in its own way."""
    found: list[object] = []
    for role, blocks in entries:
        text = "\n".join(block.text for block in blocks if isinstance(block, Text))
        found += [(role, said)] if (said := _THINKING.sub("", text).strip()) else []
        found += [(role, _flat(block, agent)) for block in blocks if not isinstance(block, Text | Thinking)]
    return found


def _flat(block: Block, agent: str) -> Block:
    """A result without the mark that it failed, which Codex has not."""
    is_marked = isinstance(block, Result) and agent == "codex"
    return replace(block, is_error=False, status="completed") if is_marked else block
