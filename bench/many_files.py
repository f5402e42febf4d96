"""Ten thousand sessions on the disk: what a look at them costs, and one line that was added to one of them."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from agents_ledger import Ledger
from agents_ledger.capture.sync import Sync
from agents_ledger.model.formats import Machine
from bench.corpora import Corpus, corpus_small, differences
from bench.figures import Row, Setup, at_most, best, ms
from bench.ours import open_ledger

_LOOK = 3.0  # times a bare walk
_LINE_MS = 100  # of CPU, on any machine


@dataclass(frozen=True)
class Many:
    """An open ledger that has them all."""

    corpus: Corpus
    ledger: Ledger
    sync: Sync
    files: list[str]


def many_rows(setup: Setup) -> Iterator[Row]:
    """A round in which nothing changed, and rounds in which a line came."""
    with _captured(setup) as many:
        count = len(many.files)
        ours, walk = best(
            setup.pick(10, 5), lambda: _unchanged(many), lambda: _cpu(lambda: _walked(str(many.corpus.home)))
        )
        held = f"{ms(walk)} scandir + stat"
        yield at_most("many-files", f"{count:,} files, nothing changed", _shown(ours), held, ours / walk, _LOOK)
        rounds = iter(range(0, count, max(1, count // 100)))
        watched, whole = best(
            setup.pick(10, 5),
            lambda: _line_added(many, many.files[next(rounds)], is_watched=True),
            lambda: _line_added(many, many.files[next(rounds)], is_watched=False),
        )
        for name, took in (("watched", watched), ("sync", whole)):
            what = f"a line in one of {count:,}, {name}"
            yield at_most("many-files", what, _shown(took), "", took * 1000, _LINE_MS, "ms")


@contextmanager
def _captured(setup: Setup) -> Iterator[Many]:
    corpus = corpus_small(setup)
    with setup.place() as folder, open_ledger(folder) as ledger:
        sync = Sync(ledger, Machine(str(corpus.home), {}, sys.platform))
        sync.run()
        wrong = differences(folder / "ledger.db", corpus.truth)
        assert not wrong, "; ".join(wrong)
        files = sorted(str(path) for path in corpus.home.rglob("*.jsonl"))
        yield Many(corpus, ledger, sync, files)


def _unchanged(many: Many) -> float:
    begun = time.process_time()
    summary = many.sync.run()
    took = time.process_time() - begun
    assert summary.unchanged == len(many.files), summary
    return took


def _cpu(work: Callable[[], object]) -> float:
    """CPU seconds: a busy machine makes everything longer, but nothing here waits."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _shown(value_s: float) -> str:
    return f"{ms(value_s)} CPU"


def _walked(folder: str) -> int:
    """As little as one can do to see that nothing has changed."""
    count = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                count += _walked(entry.path)
            else:
                count += entry.stat().st_size > 0
    return count


def _line_added(many: Many, path: str, *, is_watched: bool) -> float:
    """CPU seconds until a new line of a session is in the ledger."""
    *_, last = Path(path).read_bytes().splitlines()
    line = msgspec.json.decode(last)
    text = f"{line['uuid']} and now?"
    message = {"role": "user", "content": text}
    new = line | {"type": "user", "message": message, "parentUuid": line["uuid"], "uuid": os.urandom(16).hex()}
    with Path(path).open("ab") as file:
        file.write(msgspec.json.encode(new) + b"\n")
    begun = time.process_time()
    summary = many.sync.run_changed({path}, (), ()) if is_watched else many.sync.run()
    took = time.process_time() - begun
    assert (summary.grown, summary.new_turns) == (1, 1), summary
    return took
