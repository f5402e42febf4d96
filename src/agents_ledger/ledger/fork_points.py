"""Starting points: the turns of all history from which a question is best asked.

Candidates come out of the search index: turns in which the telling words of the question stand, and those with some of
them that follow such turns closely. Each is judged by what stands on the whole way to it (model/relevance.py), by the
size of the context that an agent would have to read, and by its age. Whether something follows a turn does not count.
"""

from collections.abc import Iterable, Mapping
from heapq import nlargest
from itertools import islice, takewhile

from msgspec import Struct, structs

from agents_ledger.errors import BadInput
from agents_ledger.ledger import showing, threads
from agents_ledger.ledger.ancestors import Forest, Place, cuts_of, places_of, way_to
from agents_ledger.ledger.conditions import asked
from agents_ledger.ledger.context_sizes import Size, context_sizes
from agents_ledger.ledger.fork_evidence import (
    MEANING,
    Evidence,
    Words,
    gather,
    roughly,
    telling_words,
    weigh,
)
from agents_ledger.ledger.policy import Policy
from agents_ledger.model.filters import Filters
from agents_ledger.model.fork_points import ForkPoint, ForkPoints, Stand, reasons, telling
from agents_ledger.model.queries import Query
from agents_ledger.model.ranking import Newness, Ranked
from agents_ledger.model.relevance import LONGEST, Share, Step, carried
from agents_ledger.model.texts import readable
from agents_ledger.store import Database, Tx

BUDGET_TOKENS = Policy().window_tokens - Policy().reserve_tokens
MOST = 60  # points
_KNOWN = 1500  # turns whose places are looked up
_ANCHORS = 150  # the best of them
_NEAR = 20  # turns behind one of these in which others are candidates, too
_WEIGHED = 400  # candidates whose texts are looked at, and as many turns on the way to the best of them
_LOOKED_UP = 40  # turns on the way to one
_MEASURED = 160  # candidates whose contexts are measured
_CHEAP = 0.05  # how much less a turn counts whose context fills the budget
_OVER = 0.3  # what is left of one whose context does just not fit
_RECENT = 0.3  # of what newness counts in a search
_STANDS = 3  # that are named
_LEAST = 0.1  # share of a stand that is worth naming


class Judged(Struct, frozen=True):
    """A candidate: what stands on the way to it, how large its context is, and what it is worth."""

    place: Place
    way: list[Step]
    shares: dict[str, Share]
    relevance: float
    size: Size
    score: float


def fork_points(
    database: Database, question: str, filters: Filters, *, limit: int, budget_tokens: int | None, now: int
) -> ForkPoints:
    """The best starting points for a question, each turn once."""
    budget = BUDGET_TOKENS if budget_tokens is None else budget_tokens
    if not 1 <= limit <= MOST or budget < 1:
        raise BadInput(f"a limit is from 1 to {MOST} and a budget at least 1 token, not {limit} and {budget}")
    text = readable(question[:LONGEST])[0]
    with database.read() as tx:
        words = telling_words(database, tx, text)
        evidence = gather(database, tx, text, words, asked(database, tx, Query(), filters, now))
        judged = _judge(tx, evidence, budget, Newness(now))
        points = tuple(_told(tx, judged[:limit], words, evidence, budget))
    return ForkPoints(text, points, budget, "both" if evidence.likenesses else "words")


def _judge(tx: Tx, evidence: Evidence, budget_tokens: int, newness: Newness) -> list[Judged]:
    """The candidates, the best first."""
    known, candidates = _candidates(tx, evidence, roughly(evidence))
    worths = weigh(tx, evidence, known)
    forest, cuts = Forest(tx, known.values()), cuts_of(tx, candidates)
    ways = {place: way_to(place, forest, cuts.get(place.turn_id)) for place in candidates}
    shares = {place: carried(way, worths) for place, way in ways.items()}
    sums = {place: sum(share.worth for share in found.values()) for place, found in shares.items()}
    best = nlargest(_MEASURED, candidates, key=lambda place: (sums[place], place.turn_id))
    sizes = context_sizes(tx, best)
    judged = []
    for place in best:
        size = sizes[place.turn_id]
        score = sums[place] * _fit(size, budget_tokens) * (1 + _RECENT * (newness.of(place.turn_id) - 1))
        judged.append(Judged(place, ways[place], shares[place], sums[place], size, score))
    return sorted(judged, key=lambda each: (-each.score, each.place.turn_id))


def _candidates(tx: Tx, evidence: Evidence, rough: Mapping[str, float]) -> tuple[dict[str, Place], list[Place]]:
    """The turns whose texts are to be looked at, and those of them that are candidates."""
    allowed = {turn_id: worth for turn_id, worth in rough.items() if turn_id in evidence.allowed}
    mine, anyone = _best(_KNOWN, allowed), _best(_KNOWN, rough)
    best = mine[:_ANCHORS]
    anchors = {*best, *anyone[:_ANCHORS]}
    wanted = dict.fromkeys([*best, *anyone[:_ANCHORS], *mine, *anyone])
    places = places_of(tx, wanted)
    forest = Forest(tx, places.values())
    near = [places[turn_id] for turn_id in wanted if turn_id in places and _is_near(places[turn_id], forest, anchors)]
    candidates = [place for place in near if place.turn_id in allowed][:_WEIGHED]
    ways = (
        above for turn_id in best if turn_id in places for above in islice(forest.above(places[turn_id]), _LOOKED_UP)
    )
    known = dict.fromkeys([*candidates, *islice(dict.fromkeys(ways), _WEIGHED)])
    return {place.turn_id: place for place in known}, candidates


def _best(most: int, worths: Mapping[str, float]) -> list[str]:
    return nlargest(most, worths, key=lambda turn_id: (worths[turn_id], turn_id))


def _is_near(place: Place, forest: Forest, anchors: set[str]) -> bool:
    """Whether a turn is an anchor, or follows one closely."""
    above = takewhile(lambda each: place.depth - each.depth <= _NEAR, forest.above(place))
    return any(each.turn_id in anchors for each in above)


def _fit(size: Size, budget_tokens: int) -> float:
    """What is left of a turn's worth by the size of its context."""
    filled = size.tokens / budget_tokens
    return 1 - _CHEAP * filled if filled <= 1 else _OVER / filled


def _told(
    tx: Tx, judged: Iterable[Judged], words: Words, evidence: Evidence, budget_tokens: int
) -> Iterable[ForkPoint]:
    """The points as people are told about them."""
    shown = list(judged)
    turn_ids = [each.place.turn_id for each in shown]
    stands = {each.place.turn_id: _stands(each) for each in shown}
    facts = showing.facts_of(tx, [*turn_ids, *(found[0].turn_id for found in stands.values())])
    hits = {_hit(found[0], evidence): facts[found[0].turn_id] for found in stands.values()}
    snippets = showing.snippets_of(tx, words.query, hits)
    openings = threads.openings(tx, turn_ids)
    for each in shown:
        about, where = facts[each.place.turn_id], stands[each.place.turn_id]
        worths = {word: share.worth for word, share in each.shares.items() if word != MEANING}
        point = ForkPoint(
            turn_id=about.turn_id,
            score=round(each.score, 3),
            session=about.session,
            origin=about.origin,
            project=about.project,
            title=about.title,
            model=about.model,
            started_at=about.started_at,
            depth=each.place.depth,
            opening=openings.get(about.turn_id),
            words=tuple(sorted(worths, key=lambda word: (-worths[word], word))),
            telling=telling(worths),
            is_alike=MEANING in each.shares,
            missing=tuple(word for word in evidence.rarities if word not in each.shares),
            stands=where,
            snippet=snippets[where[0].turn_id],
            context_tokens=each.size.tokens,
            is_estimated=each.size.is_estimated,
            is_over_budget=each.size.tokens > budget_tokens,
        )
        yield structs.replace(point, reasons=tuple(reasons(point, budget_tokens)))


def _stands(judged: Judged) -> tuple[Stand, ...]:
    """Where the words stand that count at a candidate, the weightiest turn first."""
    found: dict[str, list[str]] = {}
    for word, share in sorted(judged.shares.items(), key=lambda item: (-item[1].worth, item[0])):
        found.setdefault(share.turn_id, []).append(word)
    steps = {step.turn_id: step for step in judged.way}
    stands = [
        Stand(
            turn_id,
            steps[turn_id].turns_above,
            tuple(word for word in had if word != MEANING),
            round(sum(judged.shares[word].worth for word in had) / judged.relevance, 3),
            steps[turn_id].is_summarised,
        )
        for turn_id, had in found.items()
    ]
    stands.sort(key=lambda stand: (-stand.share, stand.turns_above))
    return tuple(stand for at, stand in enumerate(stands[:_STANDS]) if not at or stand.share >= _LEAST)


def _hit(stand: Stand, evidence: Evidence) -> Ranked:
    """A stand as a hit of a search, for the piece of its text."""
    number = evidence.best_part(stand.turn_id)
    place = "summary" if number is None and stand.turn_id in evidence.summaries else None
    return Ranked(stand.turn_id, number, 0.0, place)
