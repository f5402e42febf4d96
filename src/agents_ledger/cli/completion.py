"""`ldg completion`: the script that teaches a shell the commands, sessions and turns."""

import click
from click.shell_completion import get_completion_class

from agents_ledger.cli import bash
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.shapes import answer


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@door
def completion(opened: Door, shell: str) -> None:
    """Prints the completion script of SHELL. In bash: eval "$(ldg completion bash)"."""
    bash.register()
    found = get_completion_class(shell)
    assert found is not None, "the choice lists what click knows"  # noqa: S101
    root = click.get_current_context().find_root().command
    made = found(root, {}, "ldg", "_LDG_COMPLETE")
    script = made.source_template % made.source_vars()
    if opened.as_json:
        answer({"shell": shell, "script": script})
    else:
        click.echo(script)
