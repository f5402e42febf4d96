"""`ldg sync`: everything new in the agents' sessions goes into the ledger."""

import gc
import sys
import threading
import time
from collections.abc import Callable

import click

from agents_ledger import config
from agents_ledger.capture.summary import Summary
from agents_ledger.capture.sync import Sync
from agents_ledger.cli.completing import complete_formats
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.progress import transfer
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer, summary
from agents_ledger.cli.words import number, plural, quoted, size
from agents_ledger.formats import formats
from agents_ledger.ledger import Ledger
from agents_ledger.model.times import now_ms
from agents_ledger.store.sqlite import count_no_memory

_NAMED = 5  # sessions or files in one sentence


class Asked:
    """Where to look: the agents' own places, or paths; and what for."""

    def __init__(self, paths: tuple[str, ...], sources: tuple[str, ...]) -> None:
        self.paths = paths
        self.sources = sources
        self.are_samples = False
        self.is_full = False
        self.is_following = False
        self.has_kept = False  # something that was read is in the ledger

    @property
    def options(self) -> str:
        """The same as it is typed after the command."""
        given = [("--source", name) for name in self.sources]
        if not self.are_samples:
            given += [("--path", path) for path in self.paths]
        full = " --full" if self.is_full else ""
        return full + "".join(f" {option} {quoted(value)}" for option, value in given)


def _known(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    known = sorted(form.name for form in formats())
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is not a source: there are {', '.join(known)}")
    return names


@click.command()
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="NAME",
    callback=_known,
    shell_complete=complete_formats,
    help="Only this agent's. May repeat.",
)
@click.option(
    "--path",
    "paths",
    multiple=True,
    type=click.Path(exists=True),
    help="Read this file, or everything below this folder, instead of the agents' own places. May repeat.",
)
@click.option(
    "--full",
    "is_full",
    is_flag=True,
    help="Compare every byte of every source, not only its size and time. Finds files rewritten in place.",
)
@click.option("--watch", "is_watching", is_flag=True, help="Go on, and follow the sessions as they are written.")
@click.option(
    "--or-samples", is_flag=True, help="If there is nothing on this machine, read the samples that come along."
)
@click.option("-v", "--verbose", is_flag=True, help="Name the files that no agent's format fits.")
@door
def sync(
    opened: Door,
    sources: tuple[str, ...],
    paths: tuple[str, ...],
    is_full: bool,
    is_watching: bool,
    or_samples: bool,
    verbose: bool,
) -> None:
    """Captures what is new in the agents' sessions, every byte of it. Makes the ledger if there is none.

    A second sync costs a look at each file. Interrupted at any moment, the next one goes on where it stopped.
    """
    asked = Asked(paths, sources)
    asked.is_full = is_full
    gc.freeze()  # what is loaded by now stays: nobody needs to look for dead circles there
    count_no_memory()
    try:
        with opened.writing(create=True) as ledger:
            worker = Sync(ledger, config.machine())
            try:
                _first_round(opened, worker, asked, or_samples=or_samples, verbose=verbose)
            except KeyboardInterrupt:
                asked.has_kept = worker.has_kept()
                raise
            if is_watching:
                _follow(opened, worker, asked)
    except KeyboardInterrupt:
        from agents_ledger.cli.ending import INTERRUPTED  # noqa: PLC0415 - only then

        if not asked.is_following:
            again = f"`{opened.ldg} sync{asked.options}`"
            how = f"what was read is kept, {again} goes on from there"
            click.echo(
                f"ldg: interrupted; {how if asked.has_kept else f'nothing is kept yet, {again} begins again'}",
                err=True,
            )
        click.get_current_context().exit(INTERRUPTED)


def freshen(opened: Door, ledger: Ledger) -> Summary:
    """The same for another command, silently: one round over the agents' own places."""
    gc.freeze()  # as above
    return _round(opened, Sync(ledger, config.machine()), Asked((), ()))


def _first_round(opened: Door, worker: Sync, asked: Asked, *, or_samples: bool, verbose: bool) -> None:
    began = time.monotonic()
    done = _round(opened, worker, asked)
    if or_samples and not done.found and not done.unreadable:
        asked.paths, asked.are_samples = (config.samples_folder(),), True
        done = _round(opened, worker, asked)
    duration_ms = round((time.monotonic() - began) * 1000)
    if opened.as_json:
        answer(summary(done, duration_ms, samples=asked.are_samples))
    else:
        # some were solved within the round: a fork that was read before its origin
        known = _problems(worker) if done.problems else 0
        _print(opened, Screen(), done, duration_ms, asked, known, verbose=verbose)


def _problems(worker: Sync) -> int:
    from agents_ledger.capture.catalog import problem_counts  # noqa: PLC0415 - a sync that finds nothing is instant

    return sum(problem_counts(worker.ledger).values())


def _round(opened: Door, worker: Sync, asked: Asked) -> Summary:
    with transfer("reading", is_wanted=not opened.as_json) as advance:
        return worker.run(asked.paths, asked.sources, advance, is_full=asked.is_full)


def _print(
    opened: Door, screen: Screen, done: Summary, duration_ms: int, asked: Asked, known: int, *, verbose: bool
) -> None:
    if asked.are_samples:
        screen.line("There are no agents' sessions on this machine: these are the samples that come along.")
    if not done.found and not done.unreadable:
        _print_nothing(opened, screen, asked)
        return
    sessions = f"{plural(done.sessions, 'session')} ({number(done.new_sessions)} new)"
    screen.line(f"{sessions}, {plural(done.turns, 'turn')} ({number(done.new_turns)} new)")
    screen.line(_files(done))
    if done.bytes_read:
        rate = size(round(done.bytes_read * 1000 / max(duration_ms, 1)))
        screen.line(f"read {size(done.bytes_read)} in {duration_ms / 1000:.1f} s ({rate}/s)")
    if known:
        screen.line((plural(known, "problem"), "yellow"), f": `{opened.ldg} problems` shows what was wrong")
    if done.kept:
        kept = "not recognised, and kept as evidence"
        screen.line(
            f"{plural(len(done.kept), 'file')} {kept}: `{opened.ldg} problems --code not-recognised` lists them"
        )
    _print_unknown(screen, done, verbose=verbose)


def _files(done: Summary) -> str:
    """`46 files: 44 unchanged, 2 grown (1 codex, 1 pi)`."""
    words = ("new", "grown", "rewritten", "unchanged", "gone")
    counted = [f"{number(getattr(done, word))} {word}" for word in words if getattr(done, word)]
    of = [f"{number(count)} {name}" for name, count in sorted(done.sources.items())]
    return f"{plural(done.found, 'file')}: {', '.join(counted) or 'none of them new'}" + (
        f" ({', '.join(of)})" if of else ""
    )


def _print_nothing(opened: Door, screen: Screen, asked: Asked) -> None:
    if asked.paths:
        screen.line("There are no files below this path.")
        return
    screen.line("No agents' sessions were found on this machine.")
    screen.line(f"`{opened.ldg} sources` lists the places; `{opened.ldg} sync --path FOLDER` reads another one.")


def _print_unknown(screen: Screen, done: Summary, *, verbose: bool) -> None:
    unknown = done.unrecognised
    if not unknown:
        return
    screen.line(f"{plural(len(unknown), 'file')} not recognised" + ("" if verbose else ": -v names them"))
    if verbose:
        for path in unknown[:_NAMED]:
            screen.line("  ", (path, "dim"))
        if len(unknown) > _NAMED:
            screen.line((f"  and {number(len(unknown) - _NAMED)} more: --json names them all", "dim"))


# following live sessions


def _follow(opened: Door, worker: Sync, asked: Asked) -> None:
    from agents_ledger.capture.watch import watch  # noqa: PLC0415 - as above

    asked.is_following = True
    if not opened.as_json:
        Screen().line(("watching; Ctrl-C ends it", "dim"))
    sys.stdout.flush()  # a pipe gets each round when it is over, and not when 8 KB have come together
    watch(worker, asked.paths, asked.sources, _teller(opened, worker, asked), threading.Event())


def _teller(opened: Door, worker: Sync, asked: Asked) -> Callable[[Summary], None]:
    """Says what a round has brought; rounds that brought nothing are silent."""
    from agents_ledger.capture.catalog import seen_since  # noqa: PLC0415 - as above

    since = now_ms()

    def tell(done: Summary) -> None:
        nonlocal since
        began, since = since, now_ms()
        if not (done.bytes_read or done.new_turns or done.gone):
            return
        labels = seen_since(worker.ledger, began)
        if opened.as_json:
            answer({"at": since, "labels": labels, **summary(done, since - began, samples=asked.are_samples)})
        else:
            _print_round(Screen(), labels, done)
        sys.stdout.flush()

    return tell


def _print_round(screen: Screen, labels: list[str], done: Summary) -> None:
    named = ", ".join(labels[:_NAMED]) + (f" and {len(labels) - _NAMED} more" if len(labels) > _NAMED else "")
    brought = [plural(done.new_turns, "new turn")] if done.new_turns else []
    brought += [size(done.bytes_read)] if done.bytes_read else []
    brought += [f"{plural(done.gone, 'file')} gone"] if done.gone else []
    screen.line((time.strftime("%H:%M:%S"), "dim"), f"  {named or '-'}  {', '.join(brought)}")
