"""Keeping up: a round over all sources, then one for each file that changes, within a moment."""

import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from agents_ledger.capture.summary import Summary
from agents_ledger.capture.sync import Sync

_STEP_MS = 200  # events that come together are handled together
_LOOK_AGAIN_MS = 5_000


def watch(
    sync: Sync,
    paths: Iterable[str],
    sources: Iterable[str],
    on_round: Callable[[Summary], None],
    stop: threading.Event,
) -> None:
    """Follows live sessions until `stop` is set: file events, no polling."""
    named, chosen = list(paths), list(sources)
    with sync.alone():
        _follow(sync, named, chosen, on_round, stop)


def _follow(
    sync: Sync, named: list[str], chosen: list[str], on_round: Callable[[Summary], None], stop: threading.Event
) -> None:
    import watchfiles  # noqa: PLC0415 - 65 ms, only here

    on_round(sync.run(named, chosen))
    while not stop.is_set():
        roots = _existing(sync.roots(named, chosen))
        if not roots:
            stop.wait(_LOOK_AGAIN_MS / 1000)
            on_round(sync.run(named, chosen))
            continue
        events = watchfiles.watch(
            *roots,
            stop_event=stop,
            step=_STEP_MS,
            debounce=_STEP_MS * 2,
            rust_timeout=_LOOK_AGAIN_MS,
            yield_on_timeout=True,
            watch_filter=None,
        )
        for changes in events:
            if changes:
                on_round(sync.run_changed({path for _, path in changes}, named, chosen))
                continue
            # now and then a look at everything: what changed before the watch began, folders that are new
            on_round(sync.run(named, chosen))
            if _existing(sync.roots(named, chosen)) != roots:
                break


def _existing(roots: Iterable[str]) -> list[str]:
    """The folders that are there, without those inside others."""
    there = sorted({os.path.abspath(root) for root in roots if Path(root).exists()})  # noqa: PTH100
    return [root for root in there if not any(root != other and root.startswith(f"{other}{os.sep}") for other in there)]
