"""`ldg ability`: the abilities of Agent OS."""

import sys
from typing import TYPE_CHECKING

import click

from agents_ledger.cli.completing import complete_abilities
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.terminal import json_safe

if TYPE_CHECKING:
    from agents_ledger.ledger import Ledger


@click.command()
@click.argument("name", required=False, shell_complete=complete_abilities)
@click.argument("input", required=False)
@click.option("--describe", is_flag=True, help="What there is, or what NAME takes and gives, as JSON schemas.")
@click.option("--stdio", is_flag=True, help="Answer JSON lines: {id, ability, input} → {id, output} or {id, error}.")
@door
def ability(opened: Door, name: str | None, input: str | None, describe: bool, stdio: bool) -> None:  # noqa: A002 - its name
    """Invokes NAME with the JSON text INPUT (-: from standard input), e.g. ldg:task:query '{"limit": 10}'."""
    if describe:
        _describe(opened, name)
    elif stdio:
        if name is not None:
            raise click.UsageError("--stdio takes the abilities from standard input, not from the command line")
        _serve(opened)
    elif name is None:
        raise click.UsageError("name an ability, or say --describe or --stdio")
    else:
        _invoke(opened, name, sys.stdin.read() if input == "-" else input or "{}")


def _invoke(opened: Door, name: str, text: str) -> None:
    from agents_ledger.faces.agent_os import Bus  # noqa: PLC0415 - loads the ledger

    with _opened(opened, name) as ledger:
        _write(Bus(ledger).invoke(name)(text))


def _opened(opened: Door, name: str) -> "Ledger":
    from agents_ledger.faces.agent_os.bus import is_reading  # noqa: PLC0415 - as above

    return opened.reading() if is_reading(name) else opened.writing(create=True)


def _serve(opened: Door) -> None:
    from agents_ledger.faces.agent_os import Bus  # noqa: PLC0415 - as above
    from agents_ledger.faces.agent_os.lines import answers  # noqa: PLC0415 - as above

    with opened.writing(create=True) as ledger:
        for line in answers(Bus(ledger), sys.stdin.buffer):
            _write(line)
            sys.stdout.flush()


def _describe(opened: Door, name: str | None) -> None:
    from agents_ledger.cli.screen import Screen  # noqa: PLC0415 - as above
    from agents_ledger.cli.shapes import answer  # noqa: PLC0415 - as above
    from agents_ledger.faces.agent_os.schemas import described  # noqa: PLC0415 - as above

    found = described(name)
    if opened.as_json or name is not None:
        answer(found)
    else:
        Screen().table(
            ("ability", "does"), [(each, said["description"]) for each, said in found.items()], wrapped=("does",)
        )


def _write(document: str) -> None:
    sys.stdout.write(json_safe(document) + "\n")
