"""Progress bars on the terminal's error stream; nothing where there is no terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from agents_ledger.cli.terminal import one_line

Advance = Callable[[int, int], None]
Transfer = Callable[[int, int, str], None]
_NAME = 32
_BAR = 16


@contextmanager
def progress(title: str, *, is_wanted: bool) -> Iterator[Advance | None]:
    """A function that takes (done, of all), or None where nobody watches."""
    if not (is_wanted and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - terminals only
    from rich.progress import Progress  # noqa: PLC0415 - as above

    with Progress(console=Console(stderr=True, markup=False), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def transfer(title: str, *, is_wanted: bool) -> Iterator[Transfer | None]:
    """A function that takes (bytes done, of all, what is being read): with rate and time left."""
    if not (is_wanted and sys.stderr.isatty()):
        yield None
        return
    from rich import progress as parts  # noqa: PLC0415 - terminals only
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.table import Column  # noqa: PLC0415 - as above

    whole = partial(Column, no_wrap=True)  # one line, also on a narrow terminal
    columns = (
        parts.TextColumn("{task.description}", markup=False, table_column=whole()),
        parts.BarColumn(_BAR, table_column=whole()),
        parts.DownloadColumn(table_column=whole()),
        parts.TransferSpeedColumn(table_column=whole()),
        parts.TimeRemainingColumn(table_column=whole()),
        parts.TextColumn("{task.fields[name]}", markup=False, style="dim", table_column=whole(overflow="ellipsis")),
    )
    with parts.Progress(*columns, console=Console(stderr=True, markup=False), transient=True) as bar:
        task = bar.add_task(title, total=None, name="")

        def advance(done: int, total: int, path: str) -> None:
            name = one_line(path.replace("\\", "/").rpartition("/")[2])[-_NAME:]
            bar.update(task, completed=done, total=total, name=name)

        yield advance
