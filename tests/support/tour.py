"""Makes the screens of docs/tour.md again, as a newcomer's terminal shows them: `make tour`.

Each block under `<!-- tour: COLUMNS -->` is typed into tmux, in a home folder with the sample sessions in it; keys that
are pressed afterwards stand in the mark (`<!-- tour: 80 keys: Space Space c -->`). `picture: NAME` draws it, too.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import StringIO
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple, Self

from rich.ansi import AnsiDecoder
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import MONOKAI
from rich.text import Text

from tests.support.homes import VARIABLES, settle

ROOT = Path(__file__).parents[2]
TOUR = ROOT / "docs" / "tour.md"
PICTURES = ROOT / "docs" / "pictures"
READERS_HOME = "/home/ada"
_BLOCK = re.compile(
    r"<!-- tour: (?P<columns>\d+)(?: lines: (?P<lines>\d+))?(?: keys: (?P<keys>[^>]*?))?"
    r"(?: picture: (?P<picture>\w+))? -->\n"
    r"```console\n\$ (?P<typed>[^\n]*)\n(?P<output>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_LINES = 60
_PATIENCE_S = 60
_numbers = count(1)  # a server that is being ended can not be met again


class Stop(NamedTuple):
    """A screen of the tour."""

    columns: int
    lines: int
    keys: list[str]
    picture: str | None
    typed: str
    output: str


def stops(text: str) -> Iterator[Stop]:
    """The screens of a document."""
    for found in _BLOCK.finditer(text):
        yield _stop(found)


@contextmanager
def short_home() -> Iterator[Path]:
    """A home with the samples in it; its path is as long as the reader's, so that lines break where theirs do."""
    home = Path(f"/tmp/{token_hex(2)}")  # noqa: S108 - nowhere else are paths so short
    home.mkdir()
    try:
        settle(home)
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def main() -> int:
    """Takes every screen anew."""
    with short_home() as home:
        text = _BLOCK.sub(lambda found: _renewed(found, home), TOUR.read_text("utf-8"))
    TOUR.write_text(text, "utf-8")
    return 0


def _stop(found: re.Match[str]) -> Stop:
    return Stop(
        int(found["columns"]),
        int(found["lines"] or _LINES),
        (found["keys"] or "").split(),
        found["picture"],
        found["typed"],
        found["output"],
    )


def _renewed(found: re.Match[str], home: Path) -> str:
    stop = _stop(found)
    with Terminal(home, stop) as terminal:
        shown = terminal.shown()
    if stop.picture is not None:
        _draw(stop, shown.replace(str(home), READERS_HOME))
    plain = Text.from_ansi(shown).plain
    mark = found[0].partition("```console")[0]
    lines = [line.rstrip().replace(str(home), READERS_HOME) for line in plain.splitlines()]
    return f"{mark}```console\n$ {stop.typed}\n" + "".join(f"{line}\n" for line in lines) + "```"


def _draw(stop: Stop, shown: str) -> None:
    PICTURES.mkdir(exist_ok=True)
    console = Console(record=True, width=stop.columns, file=StringIO(), force_terminal=True)
    console.print(f"$ {stop.typed}", highlight=False)
    for line in AnsiDecoder().decode(shown):  # a colour may go on in the next line
        console.print(_apart(line), no_wrap=True, crop=True)
    picture = console.export_svg(title=stop.typed, theme=MONOKAI, unique_id=stop.picture)
    (PICTURES / f"{stop.picture}.svg").write_text(_FONTS.sub("", picture), "utf-8")


def _apart(line: Text) -> Text:
    """A line whose spaces are pieces of their own: some viewers drop those that a piece begins with."""
    for found in re.finditer(r" {2,}|(?<=\S) (?=[(+])|^ ", line.plain):
        line.stylize(Style(meta={"at": found.start()}), found.start(), found.end())
    return line


class Terminal:
    """A terminal of a size, in which a command was typed."""

    def __init__(self, home: Path, stop: Stop) -> None:
        self._stop = stop
        self._name = f"tour-{os.getpid()}-{next(_numbers)}"
        env = {name: value for name, value in os.environ.items() if name not in VARIABLES}
        env |= {"HOME": str(home), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "TMUX": "", "HISTFILE": "/dev/null"}
        env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
        for name in ("AGENTS_LEDGER_DB", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "PAGER", "LESS"):
            env.pop(name, None)
        size = ("-x", str(stop.columns), "-y", str(stop.lines))
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "env PS1='$ ' bash --norc --noprofile", env=env)

    def __enter__(self) -> Self:
        self._until(lambda shown: shown.strip() == "$")
        self._tmux("send-keys", "-l", self._stop.typed)
        self._until(lambda shown: self._stop.typed in shown.replace("\n", ""))
        before = self._plain()
        self._tmux("send-keys", "Enter")
        self._until(partial(self._has_moved_on, before))
        for key in self._stop.keys:
            before = self._plain()
            self._tmux("send-keys", key)
            self._until(partial(self._has_moved_on, before))
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server")

    def shown(self) -> str:
        """What is on the screen between the command and the next prompt, with colours."""
        said = self._tmux("capture-pane", "-p", "-e", "-t", "0").rstrip("\n").splitlines()
        if not Text.from_ansi(said[0]).plain.startswith("$ "):
            return "\n".join(said)  # scrolled away
        rows = 1 + (len(f"$ {self._stop.typed}") - 1) // self._stop.columns
        last = -1 if Text.from_ansi(said[-1]).plain.strip() == "$" else None
        return "\n".join(said[rows:last])

    def _is_waiting(self, shown: str) -> bool:
        """A prompt, a pager's colon, or our own line of keys."""
        last = shown.rstrip("\n").rpartition("\n")[2].rstrip()
        return last in ("$", ":", "(END)") or last.endswith("q quit")

    def _has_moved_on(self, before: str, shown: str) -> bool:
        return shown != before and self._is_waiting(shown)

    def _plain(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "0").rstrip("\n")

    def _until(self, is_so: Callable[[str], bool]) -> None:
        until = time.monotonic() + _PATIENCE_S
        while not is_so(self._plain()):
            if time.monotonic() > until:
                raise TimeoutError(self._plain())
            time.sleep(0.05)

    def _tmux(self, *args: str, env: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._name, *args], env=env, capture_output=True, text=True, encoding="utf-8", check=True
        )
        return done.stdout


if __name__ == "__main__":
    sys.exit(main())
