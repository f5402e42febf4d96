"""The folders of sessions that are read: A, B with ten times as many, ten thousand small ones, one of 2 GB."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from agents_ledger import Ledger
from bench.children import spent
from bench.claude_corpus import Truth, write_corpus, write_large, write_small
from bench.figures import Setup

LARGE_BYTES = 2_000_000_000
_COUNTS = """
SELECT
    (SELECT count(*) FROM sessions WHERE is_subagent = 0) AS sessions,
    (SELECT count(*) FROM sessions WHERE is_subagent = 1) AS subagents,
    (SELECT count(*) FROM sessions WHERE spawn_tool_call_id IS NOT NULL) AS linked,
    (SELECT count(*) FROM turns WHERE id NOT IN (SELECT turn_id FROM compactions)) AS prompts,
    (SELECT count(*) FROM compactions) AS compactions,
    (SELECT count(*) FROM (SELECT 1 FROM turns WHERE parent_turn_id IS NOT NULL
        GROUP BY parent_turn_id HAVING count(*) > 1)) AS forks,
    (SELECT count(*) FROM tool_calls) AS tool_calls,
    (SELECT count(*) FROM tool_calls WHERE status = 'failed') AS tool_errors,
    (SELECT count(*) FROM usages_once) AS model_calls,
    (SELECT sum(input_tokens) FROM usages_once) AS input_tokens,
    (SELECT sum(output_tokens) FROM usages_once) AS output_tokens,
    (SELECT sum(cache_write_tokens) FROM usages_once) AS cache_write_tokens,
    (SELECT sum(cached_input_tokens) FROM usages_once) AS cache_read_tokens,
    (SELECT count(*) FROM captures WHERE state = 'current') AS files,
    (SELECT sum(size_bytes) FROM captures WHERE state = 'current') AS bytes"""


SHARED = Path(__file__).parents[2] / "shared"


@contextmanager
def shared_ledger(setup: Setup) -> Iterator[Ledger | None]:
    """A ledger of the fixtures and the corpus beside the project; None where they are not."""
    sources = [SHARED / name for name in ("fixtures", "corpus")]
    if not all(source.is_dir() for source in sources):
        yield None
        return
    with setup.place() as place:
        url = f"sqlite:///{place / 'ledger.db'}"
        paths = [word for source in sources for word in ("--path", str(source))]
        spent([str(Path(sys.executable).with_name("ldg")), "--db", url, "sync", *paths], {"HOME": str(place)})
        with Ledger.open(url) as ledger:
            yield ledger


@dataclass(frozen=True)
class Corpus:
    """A home folder, and what is in it."""

    name: str
    home: Path
    truth: Truth

    @property
    def megabytes(self) -> float:
        """The size of its transcripts."""
        return self.truth.bytes / 1e6


def corpus_a(setup: Setup) -> Corpus:
    """200 sessions, about 60 MB."""
    return _made(setup, "A", lambda home: write_corpus(home, setup.pick(200, 30)))


def corpus_b(setup: Setup) -> Corpus:
    """2,000 sessions, about 600 MB."""
    return _made(setup, "B", lambda home: write_corpus(home, setup.pick(2000, 300), 60, seed=8))


def corpus_small(setup: Setup) -> Corpus:
    """10,000 sessions of 2 KB."""
    return _made(setup, "small", lambda home: write_small(home, setup.pick(10_000, 1_000)))


def corpus_large(setup: Setup) -> Corpus:
    """One session of 2 GB."""
    place = Path(".claude") / "projects" / "-home-dev-large" / "00000000-0000-4000-a000-000000000000.jsonl"
    return _made(setup, "large", lambda home: write_large(home / place, setup.pick(LARGE_BYTES, LARGE_BYTES // 20)))


def differences(ledger: Path, truth: Truth) -> list[str]:
    """What a ledger says otherwise than the manifest."""
    connection = apsw.Connection(str(ledger), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        cursor = connection.execute(_COUNTS)
        names = [name for name, *_ in cursor.get_description()]
        found = dict(zip(names, cursor.fetchone() or (), strict=True))
    finally:
        connection.close()
    # a subagent's task is a prompt to it
    found["prompts"] -= found["subagents"]
    return [f"{name} {found[name]}, not {value}" for name, value in expected(truth).items() if found[name] != value]


def expected(truth: Truth) -> dict[str, int]:
    """The counts that a ledger can be asked for."""
    return {name: value for name, value in vars(truth).items() if name != "lines"}


def _made(setup: Setup, name: str, write: Callable[[Path], Truth]) -> Corpus:
    @contextmanager
    def make() -> Iterator[Corpus]:
        with setup.place() as home:
            yield Corpus(name, home, write(home))

    return setup.once(f"corpus {name}", make)
