"""Search on a folder of sessions, against the peers that search there: agentsview and claude-code-log."""

import json
import os
import re
import socket
import sqlite3
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlencode

from agents_ledger import Ledger
from bench.children import spent
from bench.collectors import AgentsView, Ours, is_installed
from bench.corpora import Corpus, corpus_b
from bench.figures import Row, Setup, ms

_ROUNDS = 15
_LIMIT = 20
_WAIT_S = 60
_WORD = re.compile(r"[a-z]{4,}")
_ESCAPE = re.compile(r"\\.")  # of JSON
Ask = Callable[[str], int]  # asks, gives how many hits came back


def peer_rows(setup: Setup) -> Iterator[Row]:
    """Rare words and common ones, also such that only tools have said: the median of some rounds, in turns."""
    corpus = corpus_b(setup)
    with (
        setup.place() as place,
        _ours(corpus, place) as ours,
        _agentsview(corpus, place) as view,
        _claude_code_log(corpus, place) as log,
    ):
        peers = {"agentsview": view, "claude-code-log": log}
        for name, word in _words(place).items():
            yield from _rows(name, word, ours, {peer: ask for peer, ask in peers.items() if ask is not None})
        for peer, ask in peers.items():
            if ask is None:
                yield Row("search-peers", f"B: against {peer}", "not installed: --group bench", "")


def _rows(name: str, word: str, ours: Ask, peers: dict[str, Ask]) -> Iterator[Row]:
    asked = {"ours": ours, **{peer: _by_kind(peer, ask, name) for peer, ask in peers.items()}}
    times: dict[str, list[float]] = {who: [] for who in asked}
    hits: dict[str, int] = {}
    for _ in range(_ROUNDS):
        for who, ask in asked.items():
            begun = time.perf_counter()
            hits[who] = ask(word)
            times[who].append(time.perf_counter() - begun)
    mine = sorted(times["ours"])[_ROUNDS // 2]
    for peer in peers:
        theirs = sorted(times[peer])[_ROUNDS // 2]
        held = f"{ms(theirs)}, {hits[peer]} hits {peer}"
        shown = f"{ms(mine)}, {hits['ours']} hits"
        yield Row("search-peers", f"B: {name}", shown, held, theirs / mine, target="> 1", ok=theirs > mine)


def _by_kind(peer: str, ask: Ask, name: str) -> Ask:
    """Another question for agentsview, which looks for tools' output elsewhere than for words."""
    return (lambda word: ask(f"tool:{word}")) if peer == "agentsview" and name.startswith("tool output") else ask


def _words(place: Path) -> dict[str, str]:
    """Words by how often they stand where, from the ledger's own index."""
    connection = sqlite3.connect(place / "ledger.db")
    said = _counted(connection, "SELECT content FROM messages WHERE role = 'assistant' ORDER BY n DESC LIMIT 20000")
    tools = _counted(connection, "SELECT substr(result_json, 1, 20000) FROM tool_calls ORDER BY n DESC LIMIT 4000")
    connection.close()
    ranked = [word for word, _ in said.most_common()]
    heard = [word for word, _ in tools.most_common()]
    only = [word for word in heard if word not in said] or heard
    return {
        "rare word": ranked[-len(ranked) // 20],
        "common word": ranked[3],
        "tool output": only[len(only) // 4],
        "tool output, common word": only[0],
    }


def _counted(connection: sqlite3.Connection, sql: str) -> Counter[str]:
    texts = (_ESCAPE.sub(" ", text or "").lower() for (text,) in connection.execute(sql))
    return Counter(word for text in texts for word in set(_WORD.findall(text)))


@contextmanager
def _ours(corpus: Corpus, place: Path) -> Iterator[Ask]:
    spent(Ours().command(place), Ours().environ(corpus.home, place))
    with Ledger.open(f"sqlite:///{place / 'ledger.db'}", readonly=True) as ledger:
        yield lambda word: len(ledger.search(word, limit=_LIMIT).hits)


@contextmanager
def _agentsview(corpus: Corpus, place: Path) -> Iterator[Ask | None]:
    """Its server, on loopback, after a sync."""
    if not is_installed():
        yield None
        return
    data = place / "agentsview"
    data.mkdir()
    view = AgentsView()
    environ = view.environ(corpus.home, data)
    spent(view.command(data), environ)
    port = _free_port()
    options = ["serve", "--no-browser", "--no-sync", "--no-update-check", "--port", str(port)]
    running = subprocess.Popen(
        [view.command(data)[0], *options],
        env={"PATH": os.defpath, **{name: value for name, value in environ.items() if name != "AGENTSVIEW_NO_DAEMON"}},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _await(port)
        yield lambda word: _over_http(port, word)
    finally:
        running.terminate()
        running.wait()


def _over_http(port: int, word: str) -> int:
    kind, _, text = word.rpartition(":")
    if kind:
        question = urlencode({"pattern": text, "limit": _LIMIT, "sources": "tool_result"})
        found = _get(f"http://127.0.0.1:{port}/api/v1/search/content?{question}")
        return len(found.get("matches") or found.get("results") or ())
    found = _get(f"http://127.0.0.1:{port}/api/v1/search?{urlencode({'q': text, 'limit': _LIMIT})}")
    return len(found.get("results") or ())


def _get(url: str) -> dict[str, list[object]]:
    with urllib.request.urlopen(url, timeout=_WAIT_S) as answer:  # noqa: S310 - our own loopback
        found: dict[str, list[object]] = json.load(answer)
    return found


def _free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
    return port


def _await(port: int) -> None:
    until = time.monotonic() + _WAIT_S
    while time.monotonic() < until:
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("agentsview did not start")


@contextmanager
def _claude_code_log(corpus: Corpus, place: Path) -> Iterator[Ask | None]:
    """Its cache and index, made by its own functions, without the pages that it writes beside them."""
    if find_spec("claude_code_log") is None:
        yield None
        return
    from claude_code_log import cache, converter, search  # noqa: PLC0415 - only where the peers are installed

    kept = place / "claude-code-log.db"
    for project in sorted((corpus.home / ".claude" / "projects").iterdir()):
        manager = cache.CacheManager(project, cache.get_library_version(), kept)
        converter.ensure_fresh_cache(project, manager, silent=True)
    connection = sqlite3.connect(kept)
    search.ensure_index(connection)
    yield lambda word: len(search.search(connection, word, fields=search.DEFAULT_INDEX_FIELDS, limit=_LIMIT))
    connection.close()
