"""`python -m bench`: one table, every figure as a ratio against a floor or a peer of the same run."""

import argparse
import compileall
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw

from bench.budget import budget_rows
from bench.bus import bus_rows
from bench.capture import capture_rows, large_rows
from bench.context import context_rows
from bench.durable import durable_rows, postgres_rows, thread_rows
from bench.faces import face_rows
from bench.figures import Figure, Row, Setup, machine_factor
from bench.fork_native import native_rows
from bench.many_files import many_rows
from bench.pages import page_rows
from bench.quality import quality_rows
from bench.search import search_rows
from bench.search_peers import peer_rows
from bench.smart_fork import smart_rows
from bench.start import start_rows
from bench.stats import stats_rows
from bench.stores import store_rows
from bench.tree import ancestry_rows, bytes_rows, fork_rows, wide_rows
from bench.write_path import depth_rows, write_path_rows

FIGURES: dict[str, Figure] = {
    "durable": durable_rows,
    "threads": thread_rows,
    "budget": budget_rows,
    "write-path": write_path_rows,
    "depth": depth_rows,
    "tree-bytes": bytes_rows,
    "fork": fork_rows,
    "fork-native": native_rows,
    "ancestry": ancestry_rows,
    "including": wide_rows,
    "pages": page_rows,
    "start": start_rows,
    "postgres": postgres_rows,
    "capture": capture_rows,
    "many-files": many_rows,
    "search": search_rows,
    "search-peers": peer_rows,
    "search-quality": quality_rows,
    "smart-fork": smart_rows,
    "stats": stats_rows,
    "bus": bus_rows,
    "store": store_rows,
    "faces": face_rows,
    "context": context_rows,
}
BY_NAME: dict[str, Figure] = {"large": large_rows}  # take too much of a machine to be run unasked
_WIDTHS = (14, 33, 20, 43, 14, 8, 7)
_SOURCE = Path(__file__).parents[1] / "src"
_RESULTS = Path(__file__).parent / "results" / "latest.json"
_NOTE = (
    "Equal durability: WAL and synchronous=FULL on every connection, ours and the peers' (asked by PRAGMA); "
    "agentsview runs as it comes."
)


def main() -> int:
    """Measures, prints, keeps; 1 if a target is missed."""
    given = _arguments()
    rows: list[Row] = []
    compileall.compile_dir(_SOURCE, quiet=1)  # an installed package has its bytecode
    if not given.json:
        if (load := os.getloadavg()[0]) > 1:
            print(f"The machine is busy (load {load:.1f}): ours needs more CPU than the floor, so ratios come out low.")
        _print_line("figure", "what", "ours", "floor or peer", "ratio", "target", "")
    for row in _measured(given.only or list(FIGURES), quick=given.quick):
        rows.append(row)
        if not given.json:
            _print_line(row.figure, row.name, row.ours, row.other, row.shown, row.target, row.verdict)
    report = _report(rows, given)
    _RESULTS.parent.mkdir(exist_ok=True)
    _RESULTS.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    missed = [row for row in rows if row.ok is False]
    print(json.dumps(report, ensure_ascii=False) if given.json else f"{_NOTE}\n{len(missed)} targets missed.")
    return 1 if missed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small version; ratios are rougher")
    parser.add_argument("--only", action="append", choices=[*FIGURES, *BY_NAME], help="one figure; may be repeated")
    parser.add_argument("--json", action="store_true", help="print JSON in place of the table")
    return parser.parse_args()


def _measured(names: list[str], *, quick: bool) -> Iterator[Row]:
    where = os.environ.get("BENCH_DIR", ".")
    with TemporaryDirectory(prefix=".bench-", dir=where, ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        setup = Setup(Path(folder).absolute(), quick, stack)
        for name in names:
            try:
                yield from (FIGURES | BY_NAME)[name](setup)
            except Exception as problem:  # noqa: BLE001 - a figure that breaks is missed; the others still count
                yield Row(name, "broke", type(problem).__name__, str(problem)[:200], ok=False)


def _report(rows: list[Row], given: argparse.Namespace) -> dict[str, Any]:
    return {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "quick": given.quick,
        "only": given.only,
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "machine_factor": round(machine_factor(), 2),
        "rows": [asdict(row) for row in rows],
    }


def _print_line(*cells: str) -> None:
    print("  ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
