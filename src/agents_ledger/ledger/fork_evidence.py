"""What the search index knows about a question: its telling words, where they stand, and what they are worth there."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct

from agents_ledger.ledger import loosely, meaning
from agents_ledger.ledger.ancestors import as_json
from agents_ledger.ledger.conditions import Asked, asked
from agents_ledger.model.filters import EVERYTHING
from agents_ledger.model.queries import Query, Term
from agents_ledger.model.relevance import Part, likeness_worth, question_terms, rarity, worths
from agents_ledger.store import Database, Tx
from agents_ledger.store.matching import any_of, noted_words, plain_words

MEANING = ""  # stands for likeness among the words
_TERMS = 24
_LEAST = 100  # messages in which a word may stand in the smallest ledger and still tell something
_MATCHES = 1000  # of each word
_SUMMARIES = 100
_PARTS = 4000  # texts that are read
_READ = 4000  # characters of each
_ANSWER, _SAID, _GIVEN = 1.5, 1.0, 0.3  # what a word is worth where a turn ended, in dialogue, in what a tool was given

Parts = dict[str, dict[int, set[str]]]  # by turn, then by the number of a message or call: words
Worths = dict[str, dict[str, float]]  # by turn, then by word


class Words(Struct, frozen=True):
    """The words of a question that tell turns apart, and those that stand in no message or call."""

    terms: tuple[Term, ...]
    unheard: tuple[Term, ...]
    counts: dict[str, int]  # of messages and calls, where they were counted

    @property
    def query(self) -> Query:
        """All of them, as a query."""
        return Query(self.terms + self.unheard)


class Evidence(Struct, frozen=True):
    """By turn: in which parts (by their numbers) which words stand, the summary, how alike it is in meaning."""

    parts: Parts
    summaries: dict[str, str]
    likenesses: dict[str, float]
    allowed: frozenset[str]  # the turns that fulfil the conditions
    rarities: dict[str, float]  # by word: what it is worth

    def best_part(self, turn_id: str) -> int | None:
        """The message or call of a turn in which the most telling words stand; rather a message."""
        found = {
            n: (_GIVEN if n % 2 else _SAID) * sum(self.rarities[word] for word in had)
            for n, had in self.parts.get(turn_id, {}).items()
        }
        return max(found, key=lambda n: (found[n], -n), default=None)


def telling_words(database: Database, tx: Tx, question: str) -> Words:
    """The rarest words of a question."""
    terms = question_terms(question)
    counted = loosely.telling(database, tx, [term for term in terms if not term.is_quoted], _LEAST)
    plain = [term for count, term in counted if count][:_TERMS]
    special = [term for term in terms if term.is_quoted][:_TERMS]
    unheard = [term for count, term in counted if not count][:_TERMS]
    return Words((*plain, *special), tuple(unheard), {term.text: count for count, term in counted})


def gather(database: Database, tx: Tx, question: str, words: Words, conditions: Asked) -> Evidence:
    """Where the words stand: under the conditions, and (what leads to a turn need not fulfil them) anywhere."""
    parts: Parts = defaultdict(lambda: defaultdict(set))
    for number, turn_id, word in _found(database, tx, words, conditions):
        parts[turn_id][number].add(word)
    summaries = _summaries(database, tx, words)
    near = meaning.nearest(tx, question, conditions) if question.strip() and meaning.is_ready(tx) else []
    likenesses = {each.turn_id: each.score for each in near if likeness_worth(each.score)}
    allowed = parts.keys() | summaries.keys() | likenesses.keys()
    if conditions.is_bound:
        allowed = {row[0] for row in tx.rows("found_among", ids=as_json(allowed), **conditions.params)}
        for number, turn_id, word in _found(database, tx, words, asked(database, tx, Query(), EVERYTHING, 0)):
            parts[turn_id][number].add(word)
    return Evidence(parts, summaries, likenesses, frozenset(allowed), _rarities(tx, words, parts))


def roughly(evidence: Evidence) -> dict[str, float]:
    """About what each turn is worth by itself, without reading it."""
    rarities = evidence.rarities
    found = {turn_id: likeness_worth(likeness) for turn_id, likeness in evidence.likenesses.items()}
    for turn_id, parts in evidence.parts.items():
        said = set[str]().union(*(had for n, had in parts.items() if n % 2 == 0))
        done = set[str]().union(*parts.values()) - said
        worth = sum(map(rarities.__getitem__, said)) + _GIVEN * sum(map(rarities.__getitem__, done))
        found[turn_id] = found.get(turn_id, 0.0) + worth
    for turn_id, summary in evidence.summaries.items():
        found[turn_id] = found.get(turn_id, 0.0) + sum(worths([Part(summary, _SAID)], rarities, 0).values())
    return found


def weigh(tx: Tx, evidence: Evidence, turn_ids: Iterable[str]) -> Worths:
    """What each word is worth in each turn, by what was said and done there."""
    wanted = list(turn_ids)
    parts: dict[str, list[Part]] = {turn_id: [] for turn_id in wanted}
    for turn_id, part in _texts(tx, evidence, wanted):
        parts[turn_id].append(part)
    for turn_id in evidence.summaries.keys() & parts.keys():
        parts[turn_id].append(Part(evidence.summaries[turn_id], _SAID))
    found: Worths = {turn_id: {} for turn_id in wanted}
    for turn_id, said_bytes, given_bytes in tx.rows("fork_sizes", ids=as_json(wanted)):
        found[turn_id] = worths(parts[turn_id], evidence.rarities, said_bytes + _GIVEN * given_bytes)
        if turn_id in evidence.likenesses:
            found[turn_id][MEANING] = likeness_worth(evidence.likenesses[turn_id])
    return found


def _found(database: Database, tx: Tx, words: Words, conditions: Asked) -> Iterator[tuple[int, str, str]]:
    """(number, turn, word) of the messages and calls in which words stand."""
    for term in words.terms:
        take = noted_words if term.is_quoted else plain_words
        wanted = {"words": any_of(database.dialect, [(term.text, False)], (), take), "most": _MATCHES}
        if term.is_quoted:
            rows = tx.rows("found_special_where", top=(1 << 62) - 1, **wanted, **conditions.params)
        elif conditions.is_bound:
            rows = tx.rows("best_parts_where", **wanted, **conditions.params)
        else:
            rows = tx.rows("best_parts", **wanted)
        yield from ((row[0], row[1], term.text) for row in rows)


def _rarities(tx: Tx, words: Words, parts: Parts) -> dict[str, float]:
    """What each word is worth: the fewer turns it was said in, the more."""
    turns: Counter[str] = Counter()
    for found in parts.values():
        turns.update(set[str]().union(*(had for n, had in found.items() if n % 2 == 0)))
    of_all = tx.value("turn_count")
    unseen = {
        word: max(1.0, count / _MATCHES) for word, count in words.counts.items()
    }  # of many only some were looked at
    terms = [term.text for term in words.query.terms]
    return {word: rarity(word, turns[word] * unseen.get(word, 1.0), of_all) for word in terms}


def _summaries(database: Database, tx: Tx, words: Words) -> dict[str, str]:
    """The summaries of compactions that have some of the words, by the compaction's turn."""
    forms = [(term.text, False) for term in words.query.terms]
    expression = any_of(database.dialect, forms, (), noted_words) if forms else None
    if expression is None:
        return {}
    turn_ids = [row[0] for row in tx.rows("found_summaries", words=expression, most=_SUMMARIES)]
    return dict(tx.rows("fork_summaries", ids=as_json(turn_ids), most=_READ)) if turn_ids else {}


def _texts(tx: Tx, evidence: Evidence, turn_ids: Iterable[str]) -> Iterator[tuple[str, Part]]:
    """The messages and calls of turns in which words stand; of very many those with the most words."""
    had = {n: found for turn_id in turn_ids for n, found in evidence.parts.get(turn_id, {}).items()}
    numbers = sorted(had, key=lambda n: (-len(had[n]), n))[:_PARTS]
    said, done = [n for n in numbers if n % 2 == 0], [n for n in numbers if n % 2]
    for n, turn_id, is_answer, text in tx.rows("fork_messages", numbers=as_json(said), most=_READ):
        yield turn_id, Part(text or "", _ANSWER if is_answer else _SAID, frozenset(had[n]))
    for n, turn_id, text in tx.rows("fork_calls", numbers=as_json(done), most=_READ):
        yield turn_id, Part(text, _GIVEN, frozenset(had[n]))
