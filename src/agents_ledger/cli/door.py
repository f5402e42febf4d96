"""What every command has: `--db`, `--json`, and the way to the ledger. Loads nothing but click."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import click

from agents_ledger import config

if TYPE_CHECKING:
    from agents_ledger.ledger import Env, Ledger

P = ParamSpec("P")
R = TypeVar("R")


class Door:
    """How a command was called: which ledger, and whether the answer is JSON."""

    def __init__(self) -> None:
        self.db: str | None = None
        self.as_json = False
        self.has_shown_damage = False

    @property
    def url(self) -> str:
        """The ledger's URL."""
        return config.ledger_url(self.db)

    @property
    def ldg(self) -> str:
        """The command as it must be typed to come here again: with `--db`, if that was given. It tells no password."""
        if not self.db:
            return "ldg"
        import shlex  # noqa: PLC0415 - only where a command is named

        from agents_ledger.store.database import without_password  # noqa: PLC0415 - as above

        return f"ldg --db {shlex.quote(without_password(self.db))}"

    def told(self, problem: Exception) -> str:
        """What a problem says, with the commands that it names as they must be typed."""
        return str(problem).replace("`ldg ", f"`{self.ldg} ")

    def reading(self) -> "Ledger":
        """The ledger, opened read-only."""
        from agents_ledger.ledger import Ledger  # noqa: PLC0415 - `ldg --help` is instant

        return self.showing(Ledger.open(self.url, readonly=True))

    def showing(self, ledger: "Ledger") -> "Ledger":
        """The same, for people: damaged texts are shown as far as they can be read, and a note at the end says so."""
        ledger.database.on_damaged_text = self._meet_damage
        return ledger

    def _meet_damage(self) -> None:
        self.has_shown_damage = True

    def writing(self, *, create: bool = False, env: "Env | None" = None) -> "Ledger":
        """The ledger, opened for writing; made only if asked for."""
        from agents_ledger.ledger import Ledger  # noqa: PLC0415 - as above

        if create:
            config.prepare_folder(self.url)
        ledger = Ledger.open(self.url, create=create, env=env)
        if steps := len(ledger.database.migrated):
            taken = "1 migration" if steps == 1 else f"{steps} migrations"
            click.echo(f"ldg: the ledger was of an older version and is up to date now ({taken})", err=True)
        for path in ledger.database.set_aside:
            click.echo(f"ldg: left over from a deleted ledger, renamed: {path}", err=True)
        return ledger


def door(body: Callable[Concatenate[Door, P], R]) -> Callable[P, R]:
    """Gives a command `--db` and `--json`, accepted before and after its name, and hands it the `Door`."""
    add_json = click.option(
        "--json", is_flag=True, expose_value=False, callback=_take_json, help="Answer with one JSON document."
    )
    add_db = click.option(
        "--db",
        metavar="URL",
        expose_value=False,
        callback=_take_db,
        help="The ledger: sqlite:///path, a plain path, or postgresql://…",
    )
    return click.make_pass_decorator(Door, ensure=True)(add_db(add_json(body)))


def _take_json(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    opened = ctx.ensure_object(Door)
    opened.as_json = opened.as_json or value


def _take_db(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    if not value.strip():  # `--db "$LEDGER"`, and the variable is not set: nobody meant the usual ledger by that
        raise click.UsageError("--db is empty: name the ledger, or leave out --db for the usual one", ctx)
    ctx.ensure_object(Door).db = value
