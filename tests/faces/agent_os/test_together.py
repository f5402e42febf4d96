"""Several writers at once, and writers that die: nothing is lost, conflicts are clear."""

import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

from agents_ledger import Ledger
from agents_ledger.errors import AlreadySaved, LedgerError, StaleSave
from agents_ledger.faces.agent_os import Bus
from tests.faces.agent_os.conversation import AT, Speaker

ROOT = Path(__file__).parents[3]
MAIN = "from agents_ledger.cli.main import main; main()"
WRITERS, EACH = 4, 12
WRITE = """
import json, sys
from agents_ledger import Ledger
from agents_ledger.faces.agent_os import Bus
from tests.faces.agent_os.conversation import AT, Speaker
url, name, each = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Ledger.open(url) as ledger:
    speaker = Speaker(Bus(ledger))
    for number in range(each):
        speaker.message(f"{name}-{number}", "user" if number % 3 == 0 else "assistant", timestamp=AT + number)
        speaker.call(f"{name}-c{number}", startMessageId=f"{name}-{number}")
        speaker.call(f"{name}-c{number}", "completed", startMessageId=f"{name}-{number}", updatedAt=AT + 9)
"""
ENDLESS = """
import itertools, sys
from agents_ledger import Ledger
from agents_ledger.faces.agent_os import Bus
from tests.faces.agent_os.conversation import Speaker
speaker = Speaker(Bus(Ledger.open(sys.argv[1])))
for number in itertools.count():
    name = f"{sys.argv[2]}-{number}"
    speaker.message(name, ("user", "assistant")[number % 2])
    print("message", name, flush=True)
    for status in ("pending", "completed"):
        speaker.call(f"c-{name}", status, startMessageId=name)
        print(status, name, flush=True)
"""
DIE = """
import os, signal, sys
from agents_ledger import Ledger
from agents_ledger.faces.agent_os import Bus
from tests.faces.agent_os.conversation import Speaker
ledger = Ledger.open(sys.argv[1])
speaker = Speaker(Bus(ledger))
speaker.task()
speaker.message("m1")
speaker.call("c", "in_progress", details='{"step": 3}')

def chunks():
    yield "half an ans"
    os.kill(os.getpid(), signal.SIGKILL)

speaker.bus.stream("t", chunks())
"""


def child(script: str, *args: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", script, *args], cwd=ROOT, stderr=subprocess.PIPE, text=True)


def test_processes_that_save_at_once_lose_nothing(url: str) -> None:
    with Ledger.open(url) as ledger:
        Speaker(Bus(ledger)).task()
    writers = [child(WRITE, url, f"w{number}", str(EACH)) for number in range(WRITERS)]
    for writer in writers:
        assert writer.communicate(timeout=120)[1] == ""
        assert writer.returncode == 0
    with Ledger.open(url) as ledger:
        speaker = Speaker(Bus(ledger))
        assert sorted(speaker.messages()) == sorted(f"w{w}-{n}" for w in range(WRITERS) for n in range(EACH))
        calls = speaker.ask("ldg:call:list", taskId="t")["calls"]
        assert Counter(call["status"] for call in calls) == {"completed": WRITERS * EACH}
        states = [len(speaker.ask("ldg:call:history", callId=call["id"])["states"]) for call in calls]
        assert states == [2] * len(calls)
        assert len(ledger.history("t")) == len(ledger.ancestry(ledger.head("t") or ""))
        assert ledger.verify().findings == []


def test_of_threads_that_save_the_same_message_one_wins(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task()
    lost: list[LedgerError] = []

    def save(number: int) -> None:
        try:
            speaker.message("m", content=f"by {number}")
        except LedgerError as problem:
            lost.append(problem)

    run_all([threading.Thread(target=save, args=(number,)) for number in range(8)])
    assert [type(problem) for problem in lost] == [AlreadySaved] * 7
    assert speaker.messages() == ["m"]
    assert ledger.verify().findings == []


def test_of_threads_that_save_states_the_newest_counts_and_all_that_were_taken_are_kept(speaker: Speaker) -> None:
    speaker.task()
    speaker.message("m1")
    taken: list[int] = []
    stale: list[LedgerError] = []

    def save(number: int) -> None:
        try:
            speaker.call("c", "in_progress", details=str(number), updatedAt=AT + number)
            taken.append(number)
        except StaleSave as problem:
            stale.append(problem)

    run_all([threading.Thread(target=save, args=(number,)) for number in range(12)])
    states = speaker.ask("ldg:call:history", callId="c")["states"]
    assert sorted(int(state["details"]) for state in states) == sorted(taken)
    assert len(taken) + len(stale) == 12
    assert speaker.ask("ldg:call:list", taskId="t")["calls"][0]["details"] == "11"


def test_after_a_crash_what_was_saved_is_there_and_goes_on(url: str) -> None:
    with Ledger.open(url):
        pass
    writer = child(DIE, url)
    assert writer.communicate(timeout=120)[1] == ""
    assert writer.returncode == -signal.SIGKILL
    with Ledger.open(url) as ledger:
        assert ledger.recovered == []
        speaker = Speaker(Bus(ledger))
        [task], [call] = speaker.bus.recover()["tasks"], speaker.bus.recover()["calls"]
        assert (task["id"], call["status"], call["details"]) == ("t", "in_progress", '{"step": 3}')
        assert speaker.messages() == ["m1"]  # half an answer is none
        assert speaker.ask("ldg:call:save", call=call | {"status": "completed", "updatedAt": AT + 5})["success"]
        speaker.task(completionStatus="success", updatedAt=AT + 6)
        assert speaker.unfinished() == ([], [])
        assert ledger.verify().findings == []


def test_what_was_acknowledged_survives_kill(url: str) -> None:
    with Ledger.open(url) as ledger:
        Speaker(Bus(ledger)).task()
    acknowledged: list[tuple[str, str]] = []
    for round_, count in enumerate((1, 3, 8, 20)):
        writer = subprocess.Popen(
            [sys.executable, "-c", ENDLESS, url, f"r{round_}"], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout
        for _ in range(count):
            what, name = writer.stdout.readline().split()
            acknowledged.append((what, name))
        writer.kill()
        acknowledged += [(line.split()[0], line.split()[1]) for line in writer.stdout if line.endswith("\n")]
        writer.wait()
        writer.stdout.close()
    with Ledger.open(url) as ledger:
        speaker = Speaker(Bus(ledger))
        assert ledger.verify().findings == []
        assert {name for what, name in acknowledged if what == "message"} <= set(speaker.messages())
        calls = {call["id"]: call["status"] for call in speaker.ask("ldg:call:list", taskId="t")["calls"]}
        ended = [calls[f"c-{name}"] for what, name in acknowledged if what == "completed"]
        assert set(ended) == {"completed"}
        assert {call["id"] for call in speaker.bus.recover()["calls"]} == {
            call_id for call_id, status in calls.items() if status == "pending"
        }


def test_two_programs_speak_with_one_ledger(tmp_path: Path) -> None:
    servers = [
        subprocess.Popen(
            [sys.executable, "-c", MAIN, "--db", str(tmp_path / "l.db"), "ability", "--stdio"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip

    def ask(server: "subprocess.Popen[str]", ability: str, **given: object) -> dict[str, object]:
        assert server.stdin
        assert server.stdout
        server.stdin.write(json.dumps({"id": 1, "ability": ability, "input": given}) + "\n")
        server.stdin.flush()
        answer: dict[str, object] = json.loads(server.stdout.readline())
        return answer

    one, other = servers
    task = {"id": "t", "systemPrompt": "", "createdAt": AT, "updatedAt": AT}
    assert ask(one, "ldg:task:save", task=task)["output"] == {"success": True}
    message = {"id": "m", "taskId": "t", "role": "user", "content": "Hi", "timestamp": AT}
    assert "output" in ask(other, "ldg:msg:save", message=message)
    assert ask(one, "ldg:msg:save", message=message)["error"] == {
        "kind": "AlreadySaved", "message": "message 'm' is saved already, with the same words: nothing is to be done",
    }  # fmt: skip
    assert ask(one, "ldg:msg:list", taskId="t")["output"] == {"messages": [message], "total": 1}
    for server in servers:
        assert server.communicate(timeout=60)[0] == ""
        assert server.returncode == 0


def run_all(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
