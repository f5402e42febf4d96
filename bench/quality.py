"""Search quality: judged questions about the fixtures and the corpus beside the project, by words and fused.

The questions are paraphrases of what was asked in turns, written from their openings, which favours meaning. The few
constants of the ranking were chosen on coarse grids over all questions, never for single ones; both halves are printed,
so that one sees whether they agree.
"""

from collections.abc import Iterator
from pathlib import Path

from agents_ledger import Ledger
from agents_ledger.ledger import embedding, meaning
from agents_ledger.ledger.finding import By
from bench.corpora import SHARED, shared_ledger
from bench.figures import Row, Setup

_FIVE = 5
_LISTED = 30
Judged = list[tuple[str, set[str]]]


def quality_rows(setup: Setup) -> Iterator[Row]:
    """Success@5 and the mean reciprocal rank (MRR)."""
    with shared_ledger(setup) as ledger:
        if ledger is None:
            yield Row("search-quality", "judged questions", "not run", f"no fixtures and corpus in {SHARED}")
        else:
            yield from _measured(ledger, judged())


def _measured(ledger: Ledger, questions: Judged) -> Iterator[Row]:
    named = {turn_id for _, right in questions for turn_id in right}
    gone = {turn_id for turn_id in named if not ledger.database.query(f"SELECT 1 FROM turns WHERE id = '{turn_id}'")[1]}  # noqa: S608
    assert not gone, f"judged.tsv names turns that are not there: {', '.join(sorted(gone))}"
    words = _ranks(ledger, questions, "words")
    yield Row("search-quality", f"{len(questions)} questions, words alone", _said(words), _halves(words))
    if not embedding.is_installed():
        yield Row("search-quality", "fused with meaning", "not installed: --group bench", "")
        return
    meaning.feed(ledger.database)
    alone, both = _ranks(ledger, questions, "meaning"), _ranks(ledger, questions, "both")
    yield Row("search-quality", "meaning alone", _said(alone), _halves(alone))
    better = _mrr(both) / _mrr(words)
    yield Row("search-quality", "fused", _said(both), _halves(both), better, target="> 1", ok=_mrr(both) > _mrr(words))


def judged() -> Judged:
    """The questions, and the turns that answer them."""
    lines = Path(__file__).with_name("judged.tsv").read_text("utf-8").splitlines()
    pairs = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(question, set(turns.split())) for question, turns in pairs]


def _ranks(ledger: Ledger, questions: Judged, by: By) -> list[int]:
    """Where the first right turn stands for each question; 0 for nowhere."""
    ranks = []
    for question, right in questions:
        hits = ledger.search(question, limit=_LISTED, by=by).hits
        ranks.append(next((rank for rank, hit in enumerate(hits, 1) if hit.turn_id in right), 0))
    return ranks


def _mrr(ranks: list[int]) -> float:
    return sum(1 / rank for rank in ranks if rank) / len(ranks)


def _said(ranks: list[int]) -> str:
    success = sum(0 < rank <= _FIVE for rank in ranks) / len(ranks)
    return f"s@5 {success:.2f}, MRR {_mrr(ranks):.2f}"


def _halves(ranks: list[int]) -> str:
    return f"even {_said(ranks[::2])}; odd {_said(ranks[1::2])}"
