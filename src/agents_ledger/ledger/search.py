"""The search index: fed in batches, after the turns that it is about."""

from collections.abc import Iterable
from operator import itemgetter

from msgspec import Struct

from agents_ledger.ledger import notes
from agents_ledger.model.rows import CallRow, MessageRow
from agents_ledger.store import Tx

# A batch is one run of the index, to be merged with others later: twice as many turns in it make a turn of 12 KB 4 to
# 10 % cheaper and the file no larger (measured). More would keep the other writers waiting for longer (now 15 ms after
# 1.5 MB). What is sealed but not yet indexed is known exactly, by the log; a search begins with catching up.
BATCH = 128  # turns
_INDEXED = 262_144  # characters of a text that are indexed; as the view `search_texts` says it

Numbered = tuple[int, MessageRow | CallRow]


class Text(Struct, frozen=True):
    """What the index holds of one message or call: exactly what `search_texts` gives for its number."""

    n: int
    content: str | None
    thinking: str | None
    params: str | None
    result: str | None


def catch_up(tx: Tx) -> None:
    """Indexes everything that is sealed."""
    index_new(tx, [], [])


def index_new(tx: Tx, rows: Iterable[Numbered], logged: list[tuple[int, int]]) -> None:
    """Indexes rows, and everything else that is sealed; `logged` are the log entries that the rows belong to."""
    if tx.value("fact", name="noted") == "0":
        notes.note_everything(tx)
    done, last = int(tx.value("fact", name="searchable_through")), int(tx.value("last_seq"))
    # by rising numbers: FTS5 writes out what it has sorted whenever one is lower than the last
    new = sorted(rows, key=itemgetter(0))
    if last == done and not new:
        return
    for after, through in [*logged, (last, last)]:
        if after > done:
            tx.run("index_sealed", after=done, through=after)
        done = through
    tx.run_all("index_text", map(_text, new))
    tx.run("put_fact", name="searchable_through", value=str(last))


def numbered(messages: list[MessageRow], calls: list[CallRow], last_message: int, last_call: int) -> list[Numbered]:
    """Rows that are about to be inserted, in this order, after rows with these numbers; each with its own number."""
    said: list[Numbered] = [(last_message + 2 * at, row) for at, row in enumerate(messages, 1)]
    done: list[Numbered] = [(last_call + 2 * at, row) for at, row in enumerate(calls, 1)]
    return said + done


def _text(numbered: Numbered) -> Text:
    """What is indexed of a row, out of memory: reading back what was just written took a tenth of a sync's time."""
    n, row = numbered
    if isinstance(row, MessageRow):
        return Text(n, _cut(row.content), _cut(row.thinking), None, None)
    return Text(n, None, None, f"{row.tool_name} {_spaced(row.params_json)}", _outcome(row))


def _outcome(row: CallRow) -> str:
    result = "" if row.result_json is None else _spaced(row.result_json)
    return result if row.error is None else f"{result} {row.error[:_INDEXED]}"


def _cut(text: str | None) -> str | None:
    return text if text is None else text[:_INDEXED]


def _spaced(text: str) -> str:
    """JSON without its escapes, so that words are found."""
    lines = text[:_INDEXED].replace("\\\\", "/").split("\\n")  # there are many: `replace` takes half as long again
    return " ".join(lines).replace("\\t", " ")


def matching(tx: Tx, words: str) -> list[int]:
    """The numbers of the messages (even) and tool calls (odd) that match, in the engine's own syntax."""
    return [row[0] for row in tx.rows("search_rows", words=words)]
