"""A ledger with something in every column of every table, made by the API alone, the same each time."""

from hashlib import sha256
from itertools import count

from msgspec import Struct

from agents_ledger import (
    Call,
    CodeBlock,
    Compaction,
    Env,
    File,
    Ledger,
    Lint,
    Message,
    Origin,
    Settings,
    Turn,
    Usage,
)
from agents_ledger.model.ids import encode

START = 1_770_000_000_000  # the clock begins here and goes on by 1 ms at each look
HOUR = 3_600_000


class Clock:
    """A clock that goes on by itself, and by hand."""

    def __init__(self, at: int = START) -> None:
        self.at = at

    def __call__(self) -> int:
        self.at += 1
        return self.at

    def pass_hour(self) -> int:
        """An hour later; gives the time between."""
        self.at += HOUR
        return self.at - HOUR // 2


def fixed_env(clock: Clock | None = None) -> Env:
    """Clock, ids and salts that are the same in each run."""
    ids, salts = count(1), count(1)

    def salt(size: int) -> bytes:
        number = next(salts)
        return b"".join(sha256(f"{number}/{at}".encode()).digest()[:16] for at in range(size // 16))

    return Env(now=clock or Clock(), new_id=lambda _: encode(START << 80 | next(ids)), salt=salt)


class Story(Struct):
    """The ids of a filled ledger."""

    first: str
    second: str
    third: str
    compaction: str
    last: str
    side: str
    side_compaction: str
    failed: str
    worker: str
    spawn_call: str
    between: list[int]  # times between the steps: after first, second, the fork, the rewind


def fill(ledger: Ledger, clock: Clock) -> Story:
    """Tells a story that uses everything."""
    between: list[int] = []
    first = _live_turn(ledger)
    between.append(clock.pass_hour())
    second = ledger.append("main", _whole_turn())
    between.append(clock.pass_hour())
    third, spawn_call, worker = _with_subagent(ledger)
    side = _branch(ledger, second)
    between.append(clock.pass_hour())
    compaction = ledger.append("main", Turn(compaction=_compaction(ledger, first, second, third)))
    last = ledger.append("main", Turn(messages=(Message("user", "What now?"), Message("assistant", "Rest."))))
    ledger.rewind("main", third)
    between.append(clock.pass_hour())
    ledger.forward("main")
    side_compaction = ledger.compact("side", "", through=second, type="sliding_window", kept=(side,))
    failed = ledger.append(
        "broken", Turn(messages=(Message("user", "Fail \ud800"),), status="failed", error="it\x00broke")
    )
    ledger.alias("whatsapp:+49", "main", "identity_promotion")
    ledger.append("telegram:7", Turn(messages=(Message("user", "It is me"),)))
    ledger.alias("tg:7", "telegram:7")
    ledger.merge("telegram:7", "main")
    ledger.archive("broken")
    ids = (first, second, third, compaction, last, side, side_compaction, failed, worker, spawn_call)
    return Story(*ids, between)


def _live_turn(ledger: Ledger) -> str:
    with ledger.turn(
        "main",
        Message("user", "Rename the module", source="human", context={"event": 7}),
        system="You are careful.",
        model="claude-opus-4",
        provider="anthropic",
        toolset="worker",
        tools=["Read", "Shell"],
        permissions={"fs": ["read", "write"], "net": []},
        persona="atlas",
        source_event_id="evt-1",
        workspace="/work/demo",
        system_prompt_hash="sha256:abc",
        thread_key="dm:alice",
        origin=Origin(persona_id="atlas", routing_key="dm:alice", origin="nexus", origin_session_id="n-1"),
    ) as turn:
        turn.stream("Looking", thinking="Where is it?")
        turn.stream(" around.")
        turn.reply()
        turn.call("Read", {"path": "a.py"}, id="toolu_1").complete({"text": "one\ntwo\tthree"})
        turn.call("Browser", {"url": "https://example.org"}).reject("not in the toolset")
        turn.use_permissions({"fs": ["write"]})
        turn.reply("Done.", usage=Usage(input=900, output=40, cached=10, cache_write=5, reasoning=12))
    return turn.id


def _whole_turn() -> Turn:
    question = Message(
        "user",
        "Odd \x00 text",
        source="webhook",
        context={"rules": ["be kind"]},
        metadata={"lang": "en"},
        files=(File("src/a.py", "read", 1, 9), File("src/b.py", "written")),
        lints=(Lint("src/a.py", "unused import", "ruff", 1, 1, 1, 9, "warning"), Lint()),
        native_id="m-1",
    )
    answer = Message(
        "assistant",
        "See the code.",
        thinking="Hm \x00",
        blocks=[{"type": "text"}, {"type": "tool_use"}],
        codeblocks=(CodeBlock("x = 1", "python", "src/a.py", 3, 4), CodeBlock("plain")),
    )
    calls = (
        Call("Edit", {"path": "src/a.py"}, {"ok": True}, number=4, completed_at=START + 5, native_id="toolu_2"),
        Call("Shell", {"command": "false"}, error="exit 1", status="failed", message=0),
    )
    settings = Settings(
        model="gpt-5",
        provider="openai",
        role="manager",
        toolset="full",
        tools=("Edit", "Shell"),
        permissions_granted={"fs": ["write"]},
        permissions_used={"fs": ["write"]},
        source_event_id="evt-2",
        workspace_path="/work/demo",
        persona_id="atlas",
        system_prompt_hash="sha256:abc",
        thread_key="dm:alice/2",
    )
    usage = Usage(input=100, output=20, cached=3, cache_write=4, reasoning=5, total=127)
    return Turn((question, answer), calls, usage, settings, native_id="t-1")


def _with_subagent(ledger: Ledger) -> tuple[str, str, str]:
    with ledger.turn("main", "Let somebody count", role="manager") as turn:
        call = turn.call("Task", {"do": "count"})
        label = call.spawn("worker-1", "Count the files")
        with ledger.turn(label, "Count the files", role="worker") as work:
            work.reply("42", usage=Usage(input=7, output=1))
        call.complete("42")
        turn.reply("There are 42.")
    return turn.id, call.id, work.id


def _branch(ledger: Ledger, second: str) -> str:
    ledger.fork(second, "side")
    return ledger.append("side", Turn(messages=(Message("user", "Another way?"), Message("assistant", "Yes."))))


def _compaction(ledger: Ledger, first: str, second: str, third: str) -> Compaction:
    return Compaction(
        "They renamed a module.",
        through=first,
        first_kept=second,
        first_kept_message_id=ledger.get(second).messages[1].id,
        kept=(second, third),
        replacement=[{"role": "user", "content": "summary"}],
        model="haiku",
        provider="anthropic",
        tokens_before=1000,
        tokens_after=200,
        summary_tokens=30,
        input_tokens=950,
        output_tokens=33,
        duration_ms=1200,
        trigger="context_limit",
        metadata={"version": 2},
    )
