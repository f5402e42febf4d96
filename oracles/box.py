"""A closed room for a live agent: an empty home, an empty environment, no network but loopback, and the fake model."""

import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from threading import Event, Thread
from types import TracebackType
from typing import IO, Self

from oracles.conversation import Item, Json
from oracles.fake_model import CALL_ID
from oracles.install import NODE

_ROOT = Path(__file__).resolve().parents[1]
_LIMIT_SECONDS = 300  # of which openclaw needs some eighty, on a busy machine
_END_SECONDS = 20  # until what is to be killed has written, and what was killed has let go of its pipes
_LOOK_SECONDS = 0.02


class NoBox(Exception):
    """This machine does not let us take the network away from a program; the message says why."""


class AgentFailed(Exception):
    """The agent did not do what it was asked; the message holds what it said."""


@dataclass(frozen=True)
class Request:
    """One request that the fake model got, and what it answered."""

    api: str
    model: str
    tools: tuple[str, ...]
    history: tuple[Item, ...]
    reply: Json
    body: Json


def no_box() -> str | None:
    """Why there can be no closed room on this machine, or None if there can."""
    if not shutil.which("unshare") or not shutil.which("nsenter"):
        return "live agents need unshare and nsenter (util-linux, Linux only) to be cut off from the network"
    tried = subprocess.run([*_unshared(), "true"], capture_output=True, text=True, check=False)
    return f"live agents cannot be cut off from the network here: {tried.stderr.strip()}" if tried.returncode else None


class Box:
    """The room; use it in a `with`. Nothing that is started in it outlives it."""

    def __init__(self) -> None:
        if why := no_box():
            raise NoBox(why)
        self.folder = Path(mkdtemp(prefix="box-"))
        self.home, self.work = self.folder / "home", self.folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        self._log = self.folder / "requests.jsonl"
        self._held, self._never = self.folder / "held", self.folder / "never"
        os.mkfifo(self._held)
        os.mkfifo(self._never)
        self._held_pipe = os.open(self._held, os.O_RDWR | os.O_NONBLOCK)  # also writing: so it has no end
        self._model, self.port = self._started_model()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._held_pipe)
        self._model.kill()
        self._model.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        """Where the model is, inside."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def held_in_tool(self) -> Json:
        """A step in which a tool runs for ever; as soon as the agent has written down that it calls it, it says so."""
        return {"shell": self._noted(f"echo held > {self._held}; cat {self._never}")}

    def noted(self, text: str) -> Json:
        """A step that says something and ends when the agent has written that down (Claude Code takes its time)."""
        return {"text": text, "shell": self._noted("echo one")}

    def _noted(self, command: str) -> str:
        written = " ".join(str(self.home / place) for place in (".claude/projects", ".codex/sessions", ".pi"))
        # Claude Code has a `grep` of its own
        return f"until command grep -rqsF {CALL_ID} {written}; do sleep 0.05; done; {command}"

    def held_in_answer(self, text: str) -> Json:
        """A step in which only half of the answer comes, and then nothing more."""
        return {"text": text, "hold": str(self._held)}

    def requests(self) -> list[Request]:
        """What the agents asked the model so far."""
        lines = self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else []
        return [_request(json.loads(line)) for line in lines]

    def run(self, command: list[str], variables: dict[str, str]) -> str:
        """Runs a program inside until it ends by itself; gives what it printed."""
        process = self._started(command, variables)
        try:
            said, errors = process.communicate(timeout=_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            said, errors = _killed(process)
            raise AgentFailed(f"{command[0]} took over {_LIMIT_SECONDS} s: {said[-2000:]} {errors[-2000:]}") from None
        if process.returncode:
            raise AgentFailed(f"{command[0]} ended with {process.returncode}: {said[-2000:]} {errors[-2000:]}")
        return said

    def run_and_kill(self, command: list[str], variables: dict[str, str], has_written: Callable[[], bool]) -> str:
        """Runs a program inside until a step is held, and kills it and all that it started; gives what it printed.

        One that writes a little later has so much time: killed before that, it would have left nothing.
        """
        process = self._started(command, variables)
        end = os.pidfd_open(process.pid)
        ready, _, _ = select.select([self._held_pipe, end], [], [], _LIMIT_SECONDS)
        until = time.monotonic() + _END_SECONDS
        while self._held_pipe in ready and not has_written() and time.monotonic() < until:
            if select.select([end], [], [], _LOOK_SECONDS)[0]:
                break
        os.close(end)
        said, errors = _killed(process)
        if self._held_pipe not in ready:
            raise AgentFailed(f"{command[0]} never came to the held step: {said[-2000:]} {errors[-2000:]}")
        os.read(self._held_pipe, 4096)
        return said

    @contextmanager
    def running(self, command: list[str], variables: dict[str, str], mark: str) -> Iterator[None]:
        """A program that runs inside meanwhile: from where it prints a mark on, until it is killed."""
        process = self._started([*command], variables)
        said: list[str] = []
        is_ready = Event()
        pumps = [
            Thread(target=_pump, args=(pipe, said, mark, is_ready), daemon=True)
            for pipe in (process.stdout, process.stderr)
        ]
        for pump in pumps:
            pump.start()
        try:
            if not is_ready.wait(_LIMIT_SECONDS):
                raise AgentFailed(f"{command[0]} never said {mark!r}: {''.join(said)[-2000:]}")
            yield
        finally:
            for pid in _family(process.pid):
                _kill(pid)
            process.wait()
            for pump, pipe in zip(pumps, (process.stdout, process.stderr), strict=True):
                pump.join(_END_SECONDS)
                if pipe is not None:
                    pipe.close()

    def _started(self, command: list[str], variables: dict[str, str]) -> "subprocess.Popen[str]":
        environment = {
            "HOME": str(self.home),
            "PATH": f"{NODE.parent}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "SHELL": "/bin/bash",
            **variables,
        }
        inside = ["nsenter", *_user(["--user", "--preserve-credentials"]), "--net", f"--target={self._model.pid}", "--"]
        return subprocess.Popen(
            [*inside, *command],
            env=environment,
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def _started_model(self) -> tuple["subprocess.Popen[str]", int]:
        process = subprocess.Popen(
            [*_unshared(), sys.executable, "-m", "oracles.fake_model", str(self._log)],
            cwd=_ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        port = process.stdout.readline() if process.stdout else ""
        if not port:
            shutil.rmtree(self.folder)
            raise AgentFailed(f"the model does not start: {process.communicate()[1][-2000:]}")
        return process, int(port)


def _pump(pipe: IO[str], said: list[str], mark: str, is_ready: Event) -> None:
    """Takes what a program prints, so that it never waits; and notes when it is ready."""
    for line in pipe:
        said.append(line)
        if mark in line:
            is_ready.set()


def _unshared() -> list[str]:
    return ["unshare", *_user(["--map-root-user"]), "--net", "--"]


def _user(options: list[str]) -> list[str]:
    """Options for a user namespace, without which only root may make a network namespace."""
    return options if os.geteuid() else []


def _request(noted: Json) -> Request:
    history = tuple(Item(**item) for item in noted["history"])
    return Request(noted["api"], noted["model"], tuple(noted["tools"]), history, noted["reply"], noted["body"])


def _killed(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """What a process said until it was killed, with all that it started: tools may be in sessions of their own."""
    for pid in _family(process.pid):
        _kill(pid)
    try:
        return process.communicate(timeout=_END_SECONDS)
    except subprocess.TimeoutExpired:
        raise AgentFailed("something that it started lives on, and holds its output open") from None


def _family(pid: int) -> list[int]:
    try:
        lists = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:  # it has just ended
        lists = []
    return [pid, *(one for text in lists for child in text.split() for one in _family(int(child)))]


def _kill(pid: int) -> None:
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return
