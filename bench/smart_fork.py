"""Smart forking: whether the turn after which a question was really asked is found as the best one to ask it from.

The questions are what people asked further on in the sessions of the fixtures and the corpus beside the project: every
turn that follows another one and begins with at least four different words of a person, each wording once. The turn,
everything behind it, and every other turn in the ledger that asks in the same words, with what is behind those, are
taken out of the index; the right answer is the turn before it (before any of them: copies are equally right). Held
against FTS5's own bm25 over one row a turn, with all of its text, from which the same turns are deleted.

As the hidden turns are the ends of threads, every right answer is an end, so a ranking that goes to the ends of threads
looks better than it is: what that would be worth is printed, too. Nothing in ours knows what follows a turn. "Wandered
off" asks everything again with three turns of another conversation behind each right answer, where no end is right.

The constants were chosen on the half of the trees that is called "tuned on"; the other half is the figure.
"""

import hashlib
import random
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

import apsw
import msgspec

from agents_ledger import Call, Ledger, Message, Turn
from agents_ledger.ledger import embedding, meaning, notes, records
from agents_ledger.ledger.fork_points import MOST
from agents_ledger.model.ids import LENGTH
from agents_ledger.model.relevance import LONGEST, MOST_WORDS
from agents_ledger.model.rows import Record
from agents_ledger.store import Tx
from bench.corpora import SHARED, shared_ledger
from bench.figures import Row, Setup, at_most, best, ms, seconds
from bench.search_ledger import large_ledger

_WORD = re.compile(r"\w+")
_WORDS = 4
_FIVE = 5
_TARGET = 1.3
_NOBODY = "0" * LENGTH
_LONG = 20  # words


@dataclass(frozen=True)
class Question:
    """What was asked, after which turns, and what is hidden for it."""

    text: str
    right: frozenset[str]
    hidden: frozenset[str]
    is_held_out: bool
    seed: int


@dataclass(frozen=True)
class Ranks:
    """Where the first right turn stands: in our list, in bm25's, and among the ends of the threads in bm25's."""

    ours: int
    theirs: int
    ends: int


@dataclass(frozen=True)
class Asked:
    """Where the first right turn stands for each question; 0 for nowhere."""

    ranks: list[int]

    @property
    def mrr(self) -> float:
        """The mean reciprocal rank."""
        return sum(1 / rank for rank in self.ranks if rank) / len(self.ranks)

    def __str__(self) -> str:
        first, five = (sum(0 < rank <= most for rank in self.ranks) / len(self.ranks) for most in (1, _FIVE))
        return f"hit@1 {first:.2f} hit@5 {five:.2f} MRR {self.mrr:.3f}"


def smart_rows(setup: Setup) -> Iterator[Row]:
    """hit@1, hit@5 and the mean reciprocal rank, ours against bm25's; and how long it takes against a search."""
    yield from _time_rows(setup)
    with shared_ledger(setup) as ledger:
        if ledger is None:
            yield Row("smart-fork", "follow-up questions", "not run", f"no fixtures and corpus in {SHARED}")
        else:
            yield from _quality_rows(ledger, questions(ledger)[:: setup.pick(1, 5)])


def _time_rows(setup: Setup) -> Iterator[Row]:
    """Twenty words out of a message, asked of a large ledger: for fork points, and in a search."""
    size = setup.pick(200_000, 20_000)
    large, made = large_ledger(setup, size), random.Random(5)
    texts = [text.split() for text in large.texts if len(text.split()) > _LONG]
    asked = [" ".join(made.sample(words, _LONG)) for words in made.sample(texts, min(len(texts), 20))]
    with Ledger.open(f"sqlite:///{large.path}", readonly=True) as ledger:
        ours, other = best(
            3,
            lambda: seconds(lambda: [ledger.fork_points(text) for text in asked]),
            lambda: seconds(lambda: [ledger.search(text, by="words") for text in asked]),
        )
    what = f"{size / 1e6:g} M messages, {_LONG} words"
    mine, theirs = ms(ours / len(asked)), f"{ms(other / len(asked))} ledger.search"
    yield at_most("smart-fork", what, mine, theirs, ours / other, setup.pick(3, 6))


def _quality_rows(ledger: Ledger, asked: list[Question]) -> Iterator[Row]:
    plain = Plain(ledger)
    yield from _rows("words", asked, _ask(ledger, plain, asked), target=_TARGET)
    if embedding.is_installed():
        meaning.feed(ledger.database)
        yield from _rows("with meaning", asked, _ask(ledger, plain, asked))
        ledger.database.write(meaning.forget)
    else:
        yield Row("smart-fork", "with meaning", "not installed: --group bench", "")
    yield from _rows("wandered off", asked, _ask(ledger, plain, asked, _chains(ledger)))


def _ask(
    ledger: Ledger, plain: "Plain", asked: list[Question], chains: list[list[Record]] | None = None
) -> list["Ranks"]:
    """Where the first right turn stands for each question; perhaps with another conversation behind each."""
    ranks = []
    for question in asked:
        grafted = nullcontext() if chains is None else _grafted(ledger, plain, question, chains)
        with plain.without(question.hidden), _hidden(ledger, question.hidden), grafted:
            found = ledger.fork_points(question.text, limit=MOST).points
            theirs = plain.ranked(question.text)
            lists = ([point.turn_id for point in found], theirs, plain.ends(theirs))
            ranks.append(Ranks(*(_rank(each, question.right) for each in lists)))
    return ranks


def _rows(name: str, asked: list[Question], ranks: list["Ranks"], *, target: float | None = None) -> Iterator[Row]:
    """A row for each half (the target is for the one that was held out), and what going to the ends would be worth."""
    for half, is_held_out in (("tuned on", False), ("held out", True)):
        chosen = [each for question, each in zip(asked, ranks, strict=True) if question.is_held_out == is_held_out]
        ours, theirs = Asked([each.ours for each in chosen]), Asked([each.theirs for each in chosen])
        row = Row("smart-fork", f"{name}, {len(chosen)} {half}", str(ours), f"bm25 {theirs}", ours.mrr / theirs.mrr)
        if target is not None and is_held_out:
            row = replace(row, target=f"≥ {target:g}", ok=ours.mrr >= target * theirs.mrr)
        yield row
    ends = Asked([each.ends for each in ranks])
    yield Row("smart-fork", f"{name}, ends of bm25's threads", "", str(ends))


def questions(ledger: Ledger) -> list[Question]:
    """The questions, by rule."""
    turns = {row[0]: (row[1], row[2]) for row in ledger.database.ask("SELECT id, parent_turn_id, root_id FROM turns")}
    children: dict[str | None, list[str]] = {}
    for turn_id, (parent, _) in sorted(turns.items()):
        children.setdefault(parent, []).append(turn_id)
    wordings: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for turn_id, text in ledger.database.ask(_FIRST_WORDS):
        if turn_id not in texts:
            texts[turn_id] = text
            wordings.setdefault(" ".join(_WORD.findall(text[:LONGEST].lower())), []).append(turn_id)
    made = []
    for wording, same in sorted(wordings.items(), key=lambda each: min(each[1])):
        hidden = frozenset(_with_all_behind(same, children))
        right = frozenset(parent for turn_id in same if (parent := turns[turn_id][0]) is not None) - hidden
        if right and len(set(wording.split())) >= _WORDS:
            first = min(same)
            half = hashlib.sha256(turns[first][1].encode()).digest()[0] % 2
            seed = int.from_bytes(hashlib.sha256(first.encode()).digest()[:4])
            made.append(Question(texts[first], right, hidden, bool(half), seed))
    return made


_FIRST_WORDS = """SELECT m.turn_id, m.content FROM messages m JOIN turns t ON t.id = m.turn_id
WHERE m.role = 'user' AND m.source = 'human' AND m.content <> '' AND t.turn_type = 'normal'
ORDER BY m.turn_id, m.sequence"""


def _with_all_behind(turn_ids: Iterable[str], children: dict[str | None, list[str]]) -> Iterator[str]:
    waiting = list(turn_ids)
    while waiting:
        turn_id = waiting.pop()
        yield turn_id
        waiting += children.get(turn_id, [])


def _rank(found: Iterable[str], right: frozenset[str]) -> int:
    return next((rank for rank, turn_id in enumerate(found, 1) if turn_id in right), 0)


class Plain:
    """FTS5's bm25 over one row a turn."""

    def __init__(self, ledger: Ledger) -> None:
        self._database = apsw.Connection(":memory:")
        self._database.execute("CREATE VIRTUAL TABLE plain USING fts5(text, turn_id UNINDEXED)")
        texts: dict[str, list[str]] = {}
        for turn_id, *said in ledger.database.ask(_TEXTS):
            texts.setdefault(turn_id, []).extend(text for text in said if text)
        self._texts = {turn_id: "\n".join(said) for turn_id, said in sorted(texts.items())}
        self._database.executemany("INSERT INTO plain (turn_id, text) VALUES (?, ?)", self._texts.items())
        self._next: dict[str | None, str] = dict(
            ledger.database.ask("SELECT parent_turn_id, id FROM turns ORDER BY id")
        )

    @contextmanager
    def without(self, hidden: Iterable[str]) -> Iterator[None]:
        """For a while without some turns, and then as it was before."""
        known = dict(self._next)
        given = (msgspec.json.encode(list(hidden)).decode(),)
        self._database.execute("SAVEPOINT without")
        self._database.execute("DELETE FROM plain WHERE turn_id IN (SELECT value FROM json_each(?))", given)
        self._next = {parent: child for parent, child in known.items() if child not in set(hidden)}
        yield
        self._database.execute("ROLLBACK TO without")
        self._database.execute("RELEASE without")
        self._next = known

    def add(self, turn_id: str, parent: str, like: str) -> None:
        """Puts a turn in behind another one, with the text of a third."""
        self._database.execute("INSERT INTO plain (turn_id, text) VALUES (?, ?)", (turn_id, self._texts.get(like, "")))
        self._next[parent] = turn_id

    def ranked(self, question: str) -> list[str]:
        """The turns that have any of the words, the best first; as many as ours lists."""
        words = list(dict.fromkeys(_WORD.findall(question[:LONGEST].lower())))[:MOST_WORDS]
        match = " OR ".join(f'"{word}"' for word in words)
        asked = "SELECT turn_id FROM plain WHERE plain MATCH ? ORDER BY bm25(plain), turn_id LIMIT ?"
        return [row[0] for row in self._database.execute(asked, (match, MOST))]

    def ends(self, turn_ids: Iterable[str]) -> list[str]:
        """The last turns behind some, each once."""
        found: dict[str, None] = {}
        for turn_id in turn_ids:
            last = turn_id
            while last in self._next:
                last = self._next[last]
            found[last] = None
        return list(found)


_TEXTS = """SELECT turn_id, content, thinking, NULL, NULL FROM messages
UNION ALL SELECT turn_id, tool_name, params_json, result_json, error FROM tool_calls"""


@contextmanager
def _hidden(ledger: Ledger, turn_ids: Iterable[str]) -> Iterator[None]:
    """Takes turns out of everything that finds them, for a while."""
    with ledger.database.read() as tx:
        found = [records.read_record(tx, turn_id) for turn_id in sorted(turn_ids)]
    blocks = ledger.database.ask("SELECT id, turn_ids, vectors FROM search_vectors")
    ledger.database.write(lambda tx: _take_out(tx, found))
    ledger.database.write(lambda tx: _put_vectors(tx, [(n, _emptied(ids, found), packed) for n, ids, packed in blocks]))
    yield
    ledger.database.write(lambda tx: _put_in(tx, found))
    ledger.database.write(lambda tx: _put_vectors(tx, blocks))


def _take_out(tx: Tx, found: list[Record]) -> None:
    tx.run("unindex_parts", **_parts(found))
    for record in found:
        notes.forget(tx, record)


def _put_in(tx: Tx, found: list[Record]) -> None:
    tx.run("index_parts", **_parts(found))
    for record in found:
        notes.note(tx, record)


def _put_vectors(tx: Tx, blocks: list[tuple[int, str, bytes]]) -> None:
    for number, turn_ids, vectors in blocks:
        tx.run("replace_vectors", id=number, turn_ids=turn_ids, vectors=bytes(vectors))


def _parts(found: list[Record]) -> dict[str, str]:
    """The messages and calls of turns, as the index takes them."""
    messages = [row.id for record in found for row in record.messages]
    calls = [row.id for record in found for row in record.calls]
    return {"messages": msgspec.json.encode(messages).decode(), "calls": msgspec.json.encode(calls).decode()}


def _emptied(turn_ids: str, found: list[Record]) -> str:
    """The turns of a block of vectors, with nobody in place of those that were found."""
    gone = {record.turn.id for record in found}
    each = (turn_ids[at : at + LENGTH] for at in range(0, len(turn_ids), LENGTH))
    return "".join(_NOBODY if turn_id in gone else turn_id for turn_id in each)


@contextmanager
def _grafted(ledger: Ledger, plain: Plain, question: Question, chains: list[list[Record]]) -> Iterator[None]:
    """For a while with three turns of another conversation behind each right answer."""
    trees = {ledger.get(turn_id).turn.root_id for turn_id in question.right}
    ids = question.hidden | question.right
    others = [chain for chain in chains if chain[0].turn.root_id not in trees and not ids & {r.turn.id for r in chain}]
    chain = others[question.seed % len(others)]
    made: list[str] = []
    for right in sorted(question.right):
        last = right
        for record in chain:
            parent, last = last, ledger.branch(last, _again(record))
            plain.add(last, parent, record.turn.id)
            made.append(last)
    yield
    with ledger.database.read() as tx:
        added = [records.read_record(tx, turn_id) for turn_id in made]
    ledger.database.write(lambda tx: _take_out(tx, added))


def _chains(ledger: Ledger) -> list[list[Record]]:
    """Three turns in a row, out of every conversation that has as many."""
    ends = ledger.database.ask("SELECT min(id) FROM turns WHERE depth = 3 GROUP BY root_id ORDER BY 1")
    return [ledger.thread(row[0]) for row in ends]


def _again(record: Record) -> Turn:
    """The same turn, to be written elsewhere."""
    said = tuple(Message(row.role, row.content, source=row.source) for row in record.messages)
    calls = tuple(Call(row.tool_name, row.params_json, result=row.result_json) for row in record.calls)
    return Turn(said, calls)
