"""Other forms of a word, for queries that are questions: `tests` finds `test`, `fixing` finds `fixed`."""

from agents_ledger.model.queries import Term

_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "ly", "s", "e", "y")
_SHORTEST = 4


def forms(term: Term) -> list[tuple[str, bool]]:
    """The term itself, and what its stem begins: (text, is it only a beginning)."""
    itself = (term.text, term.is_prefix)
    word = term.text.lower()
    if term.is_quoted or term.is_prefix or not (word.isascii() and word.isalpha()):
        return [itself]
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _SHORTEST:
            return [itself, (stem, True)]
    return [itself, (word, True)] if len(word) > _SHORTEST else [itself]
