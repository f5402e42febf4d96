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
    while not stop.is_set():
        wanted = sync.roots(named, chosen)
        roots, newcomers = _existing(wanted), _Newcomers(wanted, stop)
        on_round(sync.run(named, chosen))
        if roots:
            _follow_below(roots, sync, named, chosen, on_round, newcomers)
        else:
            newcomers.wait()


def _follow_below(
    roots: list[str],
    sync: Sync,
    named: list[str],
    chosen: list[str],
    on_round: Callable[[Summary], None],
    newcomers: "_Newcomers",
) -> None:
    """Follows what lies below some folders, until there are others to follow."""
    import watchfiles  # noqa: PLC0415 - 65 ms, only here

    events = watchfiles.watch(
        *roots,
        stop_event=newcomers,
        step=_STEP_MS,
        debounce=_STEP_MS * 2,
        rust_timeout=_STEP_MS,
        yield_on_timeout=True,
        watch_filter=None,
    )
    quiet = 0
    for changes in events:
        if changes:
            on_round(sync.run_changed({path for _, path in changes}, named, chosen))
            continue
        quiet += 1
        if quiet % (_LOOK_AGAIN_MS // _STEP_MS) != 1:
            continue
        # a look at everything: at first for what changed before the watch began, later for folders that are gone
        on_round(sync.run(named, chosen))
        if _existing(sync.roots(named, chosen)) != roots:
            break


class _Newcomers:
    """Set as soon as a folder is there that was not (an agent's first session makes it), or at the end.

    Whoever waits for events asks this at every step anyway. A look at the missing folders takes some microseconds;
    events of the folders around them would come with everything that happens in a home.
    """

    def __init__(self, wanted: Iterable[str], stop: threading.Event) -> None:
        self._missing = [root for root in dict.fromkeys(wanted) if not Path(root).exists()]
        self._stop = stop

    def is_set(self) -> bool:
        """Whether it is time to begin again."""
        return self._stop.is_set() or any(map(os.path.exists, self._missing))

    def wait(self) -> None:
        """Until then; or for a while, if nothing comes."""
        for _ in range(_LOOK_AGAIN_MS // _STEP_MS):
            if self.is_set():
                return
            self._stop.wait(_STEP_MS / 1000)


def _existing(roots: Iterable[str]) -> list[str]:
    """The folders that are there, without those inside others."""
    there = sorted({os.path.abspath(root) for root in roots if Path(root).exists()})  # noqa: PTH100
    return [root for root in there if not any(root != other and root.startswith(f"{other}{os.sep}") for other in there)]
