"""How well a row of the search index matches, as a function of SQLite.

FTS5's own bm25 asks for each word how many rows have it: it reads all of them, and for two words or a phrase that is
nearly all of the time. Where every row has every word, how rare they are changes little, so it is left out: rank counts
how often words stand in a row, by column, against how long the row is.
"""

from operator import mul

import apsw

NAME = "ledger_rank"
_WEIGHTS = (3.0, 1.5, 0.4, 0.2)  # dialogue, thinking, what tools were given, what they gave
_K1, _B, _LENGTH = 1.2, 0.75, 150  # as usual; words of a middling row


def register(connection: apsw.Connection) -> None:
    """Makes the function known to a connection."""
    connection.register_fts5_function(NAME, _rank)


def _rank(api: "apsw.FTS5ExtensionApi", *_: object) -> float:
    """The larger the better."""
    score = 0.0
    slack = _K1 * (1 - _B + _B * api.column_size(-1) / _LENGTH)
    for phrase in range(api.phrase_count):
        count = sum(map(mul, _WEIGHTS, map(len, api.phrase_locations(phrase))))
        score += count * (_K1 + 1) / (count + slack)
    return score
