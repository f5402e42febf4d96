"""`ldg export`: what was captured, byte for byte; a thread as a document, or as a request to an API."""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import msgspec

from agents_ledger.capture import export as exporting
from agents_ledger.capture.new_files import write_pieces
from agents_ledger.cli import shapes
from agents_ledger.cli.completing import complete_ids
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.terminal import clean
from agents_ledger.cli.words import named, plural, size
from agents_ledger.errors import BadInput, NotFound
from agents_ledger.ledger import Ledger
from agents_ledger.model.captures import Capture
from agents_ledger.model.story import Loss
from agents_ledger.store.files import make_private_folder

_STDOUT = "-"
_ODD = re.compile(r"[^\w.#@+=-]+")
_LONGEST = 120
_LISTED = 10


@click.command()
@click.argument("id", shell_complete=complete_ids)
@click.option(
    "--format",
    "form",
    default="raw",
    show_default=True,
    help="raw: the bytes as they were captured. markdown, html, jsonl: the thread as a document. "
    "openai, openai-responses, anthropic, gemini-api: what an agent would see, as a request.",
)
@click.option("--output", metavar="FILE", help="A new file, or a folder for several. Never overwrites. Default: `-`.")
@door
def export(opened: Door, id: str, form: str, output: str | None) -> None:  # noqa: A002 - its name on the screen
    """Captured bytes, or a thread as a document. ID: a capture's number, a captured path, a session, a turn or message.

    Of a turn or message, `raw` gives the records that it was read from. A terminal gets readable text; files and
    pipes get the bytes. Rows of a database become a database again in a file, and framed rows in a pipe.
    All other formats tell the thread of a session or turn, from its first turn on.
    """
    if opened.as_json and output in (None, _STDOUT):
        raise click.UsageError("--json says what was written: name a file with --output")
    with opened.reading() as ledger:
        if form != "raw":
            try:
                export_thread(opened, ledger, id, form, output)
            except NotFound as nothing:
                if id.isdecimal():
                    raise BadInput(f"{nothing}; the bytes of capture {id} come with `--format raw`") from None
                raise
            return
        try:
            found = exporting.resolve(ledger, id)
        except NotFound as nothing:
            _export_row(opened, ledger, id, output, nothing)
            return
        _export_captures(opened, ledger, id, found, output)


def export_thread(
    opened: Door, ledger: Ledger, text: str, form: str, output: str | None, query: str | None = None
) -> list[Loss]:
    """Tells a thread (and what is asked next), into a new file or the pipe; gives what could not be told as it was."""
    from agents_ledger.capture.telling import Telling  # noqa: PLC0415 - loads all formats and exports

    telling = Telling(ledger, text, form, query)
    if output is None or output == _STDOUT:
        put_text(telling.pieces())
        return telling.losses.listed()
    written = telling.write(Path(output))
    _say(opened, [msgspec.to_builtins(written)])
    return written.losses


def _export_captures(opened: Door, ledger: Ledger, text: str, found: list[Capture], output: str | None) -> None:
    if output is None or output == _STDOUT:
        if len(found) > 1:
            raise click.UsageError(_choose(opened, text, found))
        put_bytes(exporting.raw(ledger, found[0]))
        return
    target = Path(output)
    targets = [target]
    if len(found) > 1 or target.is_dir():
        make_private_folder(str(target))
        targets = [target / _file_name(each) for each in found]
    for each, path in zip(found, targets, strict=True):
        exporting.write(ledger, each, path)
    written = [
        {**shapes.capture(each), "output": str(path.absolute())} for each, path in zip(found, targets, strict=True)
    ]
    _say(opened, written)


def _export_row(opened: Door, ledger: Ledger, text: str, output: str | None, nothing: NotFound) -> None:
    try:
        row_id, is_turn = ledger.find(text), True
    except (NotFound, BadInput):
        row_id, is_turn = text, False
    try:
        pieces = list(records(ledger, row_id))  # all of them first: an error leaves no file
    except NotFound as problem:
        raise (problem if is_turn else nothing) from None
    if output is None or output == _STDOUT:
        put_bytes(pieces)
        return
    target = Path(output)
    written = write_pieces(target, pieces)
    _say(opened, [{"id": row_id, "size_bytes": written, "output": str(target.absolute())}])


def records(ledger: Ledger, row_id: str) -> Iterator[bytes]:
    """The records behind a turn, a message or a call, one on a line."""
    for piece in exporting.slices(ledger, row_id):
        yield piece if piece.endswith(b"\n") else piece + b"\n"


def put_bytes(pieces: Iterable[bytes]) -> None:
    """Bytes as they are into a pipe; on a terminal as text that can't act on it."""
    if sys.stdout.isatty():
        text = b"".join(pieces).decode("utf-8", "replace")
        sys.stdout.write(clean(text).rstrip("\n") + "\n")
        return
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def put_text(pieces: Iterable[str]) -> None:
    """Text into a pipe as it is; on a terminal so that it can't act on it."""
    if sys.stdout.isatty():
        for piece in pieces:
            sys.stdout.write(clean(piece))
        return
    put_bytes(piece.encode("utf-8", "replace") for piece in pieces)


def _choose(opened: Door, text: str, found: list[Capture]) -> str:
    listed = "\n".join(f"  {each.id}  {each.path}" for each in found[:_LISTED])
    more = "" if len(found) <= _LISTED else f"\n  and {len(found) - _LISTED} more"
    advice = f"choose one by its number, or `{opened.ldg} export {named(text, '--output FOLDER')}` writes all of them"
    return f"{text} was read from {len(found)} captures: {advice}\n{listed}{more}\n"


def _file_name(each: Capture) -> str:
    """A name that no other capture has, and that no file system minds."""
    name = each.path.replace("\\", "/").rpartition("/")[2]
    return f"{each.id}-{_ODD.sub('_', name)[-_LONGEST:]}"


def _say(opened: Door, written: list[shapes.Shape]) -> None:
    if opened.as_json:
        shapes.answer({"exported": written})
        return
    screen = Screen()
    for each in written[:_LISTED]:
        screen.line(f"wrote {each['output']} ({size(each['size_bytes'])})")
    if len(written) > _LISTED:
        screen.line(f"and {plural(len(written) - _LISTED, 'more file')}")
