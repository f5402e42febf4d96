"""`ldg`: the table of commands, and how every one of them ends.

Exit codes: 0 fine · 1 the answer is no (nothing found, `verify` or `doctor` found something wrong) · 2 bad usage,
or an error of the ledger · 130 interrupted · 141 nobody reads the answer any more. Only click and the standard
library are loaded here.
"""

import gc
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from agents_ledger import config
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.lazy import LazyGroup, Section

_HERE = "agents_ledger.cli"
_NOBODY_READS = 141  # 128 + SIGPIPE, as shells know it; 1 would be an answer
_CAPTURE: Section = {
    "sync": (f"{_HERE}.sync", "captures what is new in the agents' sessions"),
    "sources": (f"{_HERE}.sources", "where the agents keep them, and what of it is here"),
    "captures": (f"{_HERE}.captures", "what was taken from where"),
    "problems": (f"{_HERE}.captures", "what was wrong with sources"),
    "export": (f"{_HERE}.export", "captured bytes as they were; a thread as a document or a request"),
    "rebuild": (f"{_HERE}.rebuild", "the ledger once more, from its evidence alone"),
}
_LOOK: Section = {
    "search": (f"{_HERE}.search", "what was said and done, by words"),
    "sessions": (f"{_HERE}.sessions", "the sessions, the last used first"),
    "timeline": (f"{_HERE}.timeline", "what happened, by day, project and session; live with --follow"),
    "stats": (f"{_HERE}.stats", "tokens and cost; tools, files, turns, contexts"),
    "audit": (f"{_HERE}.audit", "what agents did that they should not have done"),
    "show": (f"{_HERE}.show", "a session's turns, or one turn with everything on it"),
    "replay": (f"{_HERE}.replay", "a session or a turn once more, as it happened"),
    "tree": (f"{_HERE}.tree", "the tree of turns, drawn"),
    "head": (f"{_HERE}.pointer", "the turn a session points at, now or at a time"),
    "history": (f"{_HERE}.pointer", "every movement of a session's pointer"),
    "including": (f"{_HERE}.pointer", "the sessions that ever had a turn in their thread"),
    "context": (f"{_HERE}.context", "what an agent would see after a turn"),
    "key": (f"{_HERE}.key", "what a session key means"),
    "sql": (f"{_HERE}.sql", "your own SQL, read-only"),
    "ability": (f"{_HERE}.ability", "tasks, calls and messages in the words of Agent OS"),
    "face": (f"{_HERE}.face", "the ledger as other systems know it"),
}
_CHANGE: Section = {
    "fork": (f"{_HERE}.fork", "a new session at any turn, also in an agent's own files"),
    "open": (f"{_HERE}.open", "resumes a session in its own agent"),
    "rewind": (f"{_HERE}.moves", "moves a session back; nothing is lost"),
    "forward": (f"{_HERE}.moves", "moves a rewound session forward again"),
    "compact": (f"{_HERE}.compaction", "lets a summary stand for the earlier turns"),
    "archive": (f"{_HERE}.naming", "puts a session away; its turns stay"),
    "unarchive": (f"{_HERE}.naming", "makes an archived session active again"),
    "alias": (f"{_HERE}.naming", "another name for a session"),
    "merge": (f"{_HERE}.naming", "lets a session's names lead to another session"),
}
_CARE: Section = {
    "verify": (f"{_HERE}.verify", "recomputes every hash, and names what differs"),
    "backup": (f"{_HERE}.backup", "a consistent copy, while others work"),
    "restore": (f"{_HERE}.restore", "replaces the ledger by a backup, and keeps the old file"),
    "migrate": (f"{_HERE}.migrate", "brings an older ledger up to date"),
    "index": (f"{_HERE}.index", "the search index, up to date; by meaning, too"),
    "doctor": (f"{_HERE}.doctor", "engine, file, settings, health"),
    "demo": (f"{_HERE}.demo", "fills the ledger with a conversation to look at"),
    "completion": (f"{_HERE}.completion", "the completion script of your shell"),
}


class Ldg(LazyGroup):
    """The root command: whatever happens inside becomes a message and an exit code."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> Any:  # type: ignore[override]
        """Runs the command line and leaves the process."""
        _print_whatever_comes()
        try:
            code = self._ended(list(sys.argv[1:] if args is None else args), prog_name or "ldg", extra)
            sys.stdout.flush()
        except BrokenPipeError:
            code = _nobody_reads()
        sys.exit(code)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """What was asked for; `--help` answers here."""
        with _telling_us():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command."""
        with _telling_us():
            return super().invoke(ctx)

    def _ended(self, given: list[str], prog_name: str, extra: dict[str, Any]) -> int:
        """The exit code, after everything is said."""
        opened = Door()
        extra |= {"standalone_mode": False, "obj": opened}
        if config.is_completing():
            from agents_ledger.cli import bash  # noqa: PLC0415 - only when a shell asks

            bash.register()
        try:
            code = super().main(args=given, prog_name=prog_name, **extra)
        except BrokenPipeError:
            raise
        except Exception as problem:  # noqa: BLE001 - the door: nothing passes it as a traceback
            from agents_ledger.cli.ending import ending_of  # noqa: PLC0415 - only if something is wrong

            code = ending_of(problem, as_json="--json" in given, opened=opened)
        if opened.has_shown_damage:
            note = "some texts here are damaged, � stands for what can't be read"
            click.echo(f"ldg: {note}: `{opened.ldg} verify` names their rows", err=True)
        return code if isinstance(code, int) else 0


@click.group(
    "ldg",
    cls=Ldg,
    sections={"Capture": _CAPTURE, "Look": _LOOK, "Change": _CHANGE, "Care": _CARE},
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Turns go by their id or its last characters, sessions by label or alias, both by the agent's own id. "
    "Without --db, the ledger is AGENTS_LEDGER_DB, else a file in your data folder.",
)
@click.version_option(package_name="agents-ledger", prog_name="ldg", message="%(prog)s %(version)s")
@door
@click.pass_context
def cli(ctx: click.Context, opened: Door) -> None:
    """The permanent record of your agents' conversations: one tree of turns."""
    if ctx.invoked_subcommand is None:
        from agents_ledger.cli.overview import overview  # noqa: PLC0415 - loads the ledger

        overview(opened)


def _print_whatever_comes() -> None:
    """A terminal that can't show a character shows `?` instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def _telling_us() -> Iterator[None]:
    """A broken pipe without its number: click takes one with it for its own business, and leaves with 1."""
    try:
        yield
    except BrokenPipeError as gone:
        raise BrokenPipeError from gone


def _nobody_reads() -> int:
    """The exit code when the reader has gone (`ldg tree | head`): quietly, also when Python flushes at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _NOBODY_READS


def main() -> None:
    """The entry point."""
    try:
        cli.main()
    finally:
        gc.freeze()  # everything is closed and said: Python's last look for dead circles took 10 ms of `ldg stats`
