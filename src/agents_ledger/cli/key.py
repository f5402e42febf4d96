"""`ldg key`: what a session key means."""

import click

from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.model.session_keys import meaning, parse


@click.command()
@click.argument("key")
@click.option("--main-key", default="main", metavar="WORD", help="What the runtime calls its main conversation.")
@door
def key(opened: Door, key: str, main_key: str) -> None:
    """What KEY, the session key of a chat runtime, means: who talks where, and with whom it is shared."""
    found = parse(key, main_key)
    if opened.as_json:
        facts = {name: getattr(found, name) for name in found.__struct_fields__}
        parent = None if found.parent is None else str(found.parent)
        more = {"dm_scope": found.dm_scope, "is_shared": found.is_shared, "reset_type": found.reset_type}
        answer({"key": str(found), "meaning": meaning(found), "parent": parent, **facts, **more})
    else:
        Screen().line(meaning(found))
        if found.kind == "other":
            click.echo("ldg: no grammar of session keys that is known has this key: see docs/session-keys.md", err=True)
    if found.kind == "other":
        click.get_current_context().exit(1)
