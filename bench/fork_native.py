"""A fork of a 10,000-turn session in its agent's own files, against copying the same file with `cp`."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from agents_ledger import Ledger
from agents_ledger.capture.forking import Made, fork_into
from agents_ledger.capture.sync import Sync
from agents_ledger.model.formats import Machine
from agents_ledger.model.times import iso
from bench.figures import Row, Setup, at_most, best, ms, seconds

_SESSION = "5e550000-0000-4000-8000-000000000000"
_CWD = "/home/dev/long"
_BEGUN = 1_790_000_000_000
_OUTPUT = "a line of what a tool says, and what nobody will ever read again\n" * 24
# the same in a process of its own, which says how much memory it took
_FORK = """
import re, sys
from agents_ledger import Ledger
from agents_ledger.capture.forking import fork_into
from agents_ledger.model.formats import Machine
home, agent = sys.argv[1:]
with Ledger.open(f"sqlite:///{home}/ledger.db") as ledger:
    used = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
    before = used()
    fork_into(ledger, Machine(home, {}, "linux"), ledger.find("claude-code:SESSION"), agent)
    print(used() - before)
""".replace("SESSION", _SESSION)


def native_rows(setup: Setup) -> Iterator[Row]:
    """The same agent from its own records, and another one from the story."""
    turns = setup.pick(10_000, 1_000)
    with setup.place() as home:
        file = home / ".claude" / "projects" / "-home-dev-long" / f"{_SESSION}.jsonl"
        _write(file, turns)
        machine = Machine(str(home), {}, "linux")
        with Ledger.open(f"sqlite:///{home}/ledger.db") as ledger:
            Sync(ledger, machine).run()
            head = ledger.find(f"claude-code:{_SESSION}")
            assert len(ledger.ancestry(head)) == turns
            _compare(file, fork_into(ledger, machine, head, "claude-code"))
            copy, durable, forked = best(
                setup.pick(7, 3),
                lambda: _copied(file),
                lambda: _copied(file, "sync"),
                lambda: seconds(lambda: fork_into(ledger, machine, head, "claude-code")),
            )
            (told,) = best(1, lambda: seconds(lambda: fork_into(ledger, machine, head, "pi")))
        size = file.stat().st_size
        what = f"{turns:,} turns, {size / 1e6:.0f} MB"
        yield at_most("fork-native", f"{what}, same agent", ms(forked), f"{ms(copy)} cp", forked / copy, 10)
        yield Row("fork-native", f"{what}, same agent", ms(forked), f"{ms(durable)} cp and fsync", forked / durable)
        yield Row("fork-native", f"{what}, into pi", ms(told), f"{ms(copy)} cp", told / copy)
        for agent in ("claude-code", "pi"):
            used = _memory(home, agent)
            yield at_most("fork-native", f"memory, {agent}", f"{used / 1e6:.0f} MB", "", used / 1e6, 150, "MB")


def _copied(file: Path, *then: str) -> float:
    """How long `cp` takes, to a new file, as a fork is one."""
    copy = file.with_suffix(".copy")
    commands = [["cp", str(file), str(copy)], *([[*then, str(copy)]] if then else [])]
    took = seconds(lambda: [subprocess.run(command, check=True) for command in commands])
    copy.unlink()
    return took


def _compare(file: Path, made: Made) -> None:
    """What is timed is the whole file, under another id."""
    new, old = made.agent_session.encode(), _SESSION.encode()
    assert Path(made.path).read_bytes().replace(new, old) == file.read_bytes()


def _memory(home: Path, agent: str) -> int:
    """Bytes of memory that a fork takes on top of an open ledger."""
    done = subprocess.run([sys.executable, "-c", _FORK, str(home), agent], capture_output=True, text=True, check=True)
    return int(done.stdout) * 1024


def _write(path: Path, turns: int) -> None:
    """A session of questions, each with a thought, a call and an answer: about 5 KB a turn."""
    path.parent.mkdir(parents=True)
    parent: str | None = None
    with path.open("wb") as file:
        for number in range(turns):
            for index, (kind, message) in enumerate(_messages(number)):
                uuid = f"{number:08x}-{index:04x}-4000-8000-000000000000"
                line = {
                    "parentUuid": parent,
                    "isSidechain": False,
                    "userType": "external",
                    "cwd": _CWD,
                    "sessionId": _SESSION,
                    "version": "2.1.325",
                    "type": kind,
                    "message": message,
                    "uuid": uuid,
                    "timestamp": iso(_BEGUN + number * 100_000 + index * 1000),
                }
                file.write(msgspec.json.encode(line) + b"\n")
                parent = uuid


def _messages(number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    call = f"toolu_{number:024d}"
    thought = {"type": "thinking", "thinking": f"Let me look at {number}. " * 20, "signature": "sig" * 80}
    asked = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"cat file-{number}"}}
    result = {"type": "tool_result", "tool_use_id": call, "content": f"{number}\n{_OUTPUT}"}
    yield "user", {"role": "user", "content": f"Question {number}: what is in this file, and why?"}
    yield "assistant", _answer(number, "a", thought)
    yield "assistant", _answer(number, "a", asked)
    yield "user", {"role": "user", "content": [result]}
    yield "assistant", _answer(number, "b", {"type": "text", "text": f"In file {number} there are words. " * 12})


def _answer(number: int, part: str, block: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 20}
    return {"id": f"msg_{number}_{part}", "role": "assistant", "model": "m", "content": [block], "usage": usage}
