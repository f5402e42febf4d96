"""Writing, ours and the peers': 50 sessions of an agent at work, and one more turn on a long conversation."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import apsw

from bench.figures import Row, Setup, at_least, at_most, disk_bytes, ms, seconds
from bench.ours import Live, Unindexed, Whole
from bench.peers import LangGraph, OpenAI, OpenAIAdvanced, Store, installed
from bench.workload import Conversation, text_bytes, turns_of, write_path

_TARGETS: dict[type, float] = {LangGraph: 5.0, OpenAI: 1.0, OpenAIAdvanced: 1.0}
_FORKING = (LangGraph, OpenAIAdvanced)
Make = Callable[[Path], Store]


def write_path_rows(setup: Setup) -> Iterator[Row]:
    """50 sessions, 480 turns, 3,402 steps, 5.88 MB of text: time and bytes."""
    work = write_path(0.1 if setup.quick else 1.0)
    content = text_bytes([turn for talk in work for turn in talk.turns])
    peers: list[Make] = [LangGraph, OpenAI, OpenAIAdvanced] if installed() else []
    runs = [_write(setup, [Live, Unindexed, Whole, *peers], work) for _ in range(3)]
    took = {make: _best([run[make].took for run in runs]) for make in runs[0]}
    steps = _steps(work)
    yield from _times("write-path", f"{steps:,} steps, live", Live, took)
    if peers:  # none of them has a search index
        yield from _times("write-path", "the same, not indexed", Unindexed, took)
    yield Row(
        "write-path", f"{steps:,} steps, append", ms(took[Whole]), f"{ms(took[Live])} live", took[Live] / took[Whole]
    )
    for row in _byte_rows(content, runs[0]):
        # In a small file the empty tables weigh more than the text: no targets there.
        yield replace(row, target="", ok=None) if setup.quick else row


def depth_rows(setup: Setup) -> Iterator[Row]:
    """The time of one more turn after 1,000 turns."""
    before = setup.pick(1000, 200)
    peers: list[Make] = [LangGraph, OpenAI, OpenAIAdvanced] if installed() else []
    turns = turns_of(700, before + 20)
    took: dict[Make, list[float]] = {make: [] for make in (Live, *peers)}
    with _stores(setup, list(took)) as stores:
        for store in stores.values():
            store.prepare("deep", turns[:before])
            store.turn("deep", turns[0])
        for number, turn in enumerate(turns[before:]):
            for make, store in stores.items():
                if make is not LangGraph or number < 4:
                    took[make].append(seconds(lambda store=store, turn=turn: store.turn("deep", turn)))  # type: ignore[misc]
    yield from _times(
        "depth", f"a turn at depth {before:,}, live", Live, {make: min(found) for make, found in took.items()}
    )


@dataclass
class Written:
    """What writing everything took, and what is on the disk afterwards."""

    took: list[float] = field(default_factory=list)  # session by session, then what was left for the end
    kept: int = 0
    search: int = 0


def _write(setup: Setup, makes: list[Make], work: list[Conversation]) -> dict[Make, Written]:
    """The same work for each, session by session in turns, so that noise meets all alike."""
    found = {make: Written() for make in makes}
    with setup.place() as folder:
        with _stores_in(folder, makes) as stores:
            for talk in work:
                for make, store in stores.items():
                    found[make].took.append(seconds(lambda store=store, talk=talk: _talk(store, talk)))  # type: ignore[misc]
            for make, store in stores.items():
                found[make].took.append(seconds(store.finish))
                assert store.steps() == _steps(work), f"{store.name} lost something"
        for number, make in enumerate(makes):
            place = folder / str(number)
            found[make].kept, found[make].search = disk_bytes(place), _search_bytes(place)
    return found


def _best(runs: list[list[float]]) -> float:
    """The best of each piece: what is done in it is the same in every round, checkpoints included."""
    bests: list[float] = [min(pieces) for pieces in zip(*runs, strict=True)]
    return sum(bests)


def _talk(store: Store, talk: Conversation) -> None:
    for exchange in talk.turns:
        store.turn(talk.label, exchange)


@contextmanager
def _stores(setup: Setup, makes: list[Make]) -> Iterator[dict[Make, Store]]:
    with setup.place() as folder, _stores_in(folder, makes) as stores:
        yield stores


@contextmanager
def _stores_in(folder: Path, makes: list[Make]) -> Iterator[dict[Make, Store]]:
    """Each store in a folder of its own, all open at once."""
    stores: dict[Make, Store] = {}
    for number, make in enumerate(makes):
        place = folder / str(number)
        place.mkdir()
        stores[make] = make(place)
    yield stores
    for store in stores.values():
        store.close()


def _byte_rows(content: int, written: dict[Make, Written]) -> Iterator[Row]:
    kept = written[Live].kept
    bare = kept - written[Live].search
    yield at_most("write-path", "bytes, with search", _mb(kept), f"{_mb(content)} of text", kept / content, 1.9)
    for peer in (found for found in _TARGETS if found in written):
        other = written[peer].kept
        held = f"{_mb(other)} {_name(peer)}"
        if peer in _FORKING:
            yield at_most("write-path", "bytes, with search", _mb(kept), held, kept / other, 1.0)
            yield Row("write-path", "bytes, without search", _mb(bare), held, bare / other)
        else:
            yield Row("write-path", "bytes (it can't fork)", _mb(kept), held, kept / other)


def _search_bytes(folder: Path) -> int:
    """What of ours is the search index, which the peers do not have."""
    file = folder / "ledger.db"
    if not file.exists():
        return 0
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    size = connection.execute("SELECT sum(pgsize) FROM dbstat WHERE name GLOB 'search_*'").get
    connection.close()
    return int(size)


def _times(figure: str, name: str, ours: Make, took: dict[Make, float]) -> Iterator[Row]:
    for peer in (found for found in _TARGETS if found in took):
        held = f"{ms(took[peer])} {_name(peer)}"
        yield at_least(figure, name, ms(took[ours]), held, took[peer] / took[ours], _TARGETS[peer])
    if len(took) == 1:
        yield Row(figure, name, ms(took[ours]), "peers not installed: --group bench")


def _steps(work: list[Conversation]) -> int:
    return sum(len(turn) for talk in work for turn in talk.turns)


def _name(make: Make) -> str:
    return str(getattr(make, "name", make))


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
