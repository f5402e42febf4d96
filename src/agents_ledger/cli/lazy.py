"""Commands that are imported when they are used: `ldg --help` knows them by name only."""

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Section = dict[str, tuple[str, str]]
"""Commands by name: the module that holds each (as a function of that name), and what it gives."""


class LazyGroup(click.Group):
    """A group whose commands live in modules that are loaded one by one, on demand."""

    def __init__(self, *args: Any, sections: dict[str, Section], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sections = sections
        self._places = {name: place for names in sections.values() for name, (place, _) in names.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name, in the order of the sections."""
        del ctx
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One command; this is what loads it."""
        del ctx
        if cmd_name not in self._places:
            return None
        _load_msgspec()
        found = getattr(import_module(self._places[cmd_name]), cmd_name)
        assert isinstance(found, click.Command), "the table names commands only"  # noqa: S101
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in `--help`, without loading anything."""
        del ctx
        for title, names in self._sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, (_, text) in names.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        """Names that begin like this, and the options; nothing is loaded."""
        own = list(self._names_like(incomplete))
        return [*own, *click.Command.shell_complete(self, ctx, incomplete)]

    def _names_like(self, beginning: str) -> Iterator["CompletionItem"]:
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only when a shell asks

        for names in self._sections.values():
            for name, (_, text) in names.items():
                if name.startswith(beginning):
                    yield CompletionItem(name, help=text)


def _load_msgspec() -> None:
    """Every command needs it. By itself it loads `typing_extensions` where that is, and never uses it: 4 ms."""
    hidden = "typing_extensions"
    if hidden in sys.modules:
        return
    sys.modules[hidden] = None  # type: ignore[assignment]  # as if it were not installed
    try:
        import_module("msgspec")
    finally:
        del sys.modules[hidden]
