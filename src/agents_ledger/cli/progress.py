"""A progress bar on the terminal's error stream; nothing where there is no terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int, int], None]


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
