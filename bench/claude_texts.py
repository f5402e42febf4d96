"""What stands in made-up transcripts: words, code, ids. Cut out of a store of text, so that gigabytes take seconds."""

import random

from bench.workload import Writer

_PROSE_BYTES, _CODE_BYTES = 3_000_000, 8_000_000
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz123456789"
_SENTENCE = 12  # words


class Texts:
    """Prose and code, with the word frequencies of real ones."""

    def __init__(self, seed: int) -> None:
        writer = Writer(seed)
        self._words = writer.prose(_PROSE_BYTES).split(" ")
        for n in range(_SENTENCE, len(self._words), _SENTENCE):
            self._words[n] = self._words[n].capitalize()
            self._words[n - 1] += "."
        self._lines = writer.code(_CODE_BYTES).split("\n")

    def word(self, made: random.Random) -> str:
        """One word."""
        return made.choice(self._words).lower().removesuffix(".")

    def prose(self, made: random.Random, words: int) -> str:
        """So many words."""
        start = made.randrange(len(self._words) - words)
        return " ".join(self._words[start : start + words])

    def code(self, made: random.Random, lines: int) -> str:
        """So many lines of a program."""
        return "\n".join(self.lines(made, lines))

    def lines(self, made: random.Random, lines: int) -> list[str]:
        """The same, not joined."""
        start = made.randrange(len(self._lines) - lines)
        return self._lines[start : start + lines]

    def path(self, made: random.Random, cwd: str) -> str:
        """A file of a project."""
        ending = made.choice(("py", "ts", "tsx", "go", "rs", "md", "yaml", "sql"))
        return f"{cwd}/src/{self.word(made)}/{self.word(made)}_{self.word(made)}.{ending}"


class Ids:
    """Ids as Claude Code and its API make them. With a stem, all of them end with it."""

    def __init__(self, made: random.Random, stem: str = "") -> None:
        self.random = made
        self.stem = stem

    def uuid(self) -> str:
        """An id of a line or a session."""
        digits = f"{self.random.getrandbits(128):032x}"
        digits = digits[: 32 - len(self.stem)] + self.stem
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    def token(self, length: int) -> str:
        """Letters and digits."""
        return "".join(self.random.choices(_LETTERS, k=length - len(self.stem))) + self.stem
