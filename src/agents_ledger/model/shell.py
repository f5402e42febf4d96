"""Shell commands: which files they are certain to write. What depends on variables, patterns or scripts is left out."""

import re
from collections import deque
from collections.abc import Iterator

from msgspec import Struct

_HEREDOC = re.compile(r"<<-?\s*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([\w.-]+))")
_UNCERTAIN = frozenset("$`*?[]{}()!")
_SINKS = ("/dev/", "/proc/self/fd/")
_LONGEST = 200_000  # characters of a command that are looked at
_LONGEST_FOLDER = 4096  # characters: the longest path on Linux; a chain of `cd`s beyond it is uncertain
_INTO = (">", ">>", ">|", "&>", "&>>")
_OPERATORS = ";|&\n"


class Write(Struct, frozen=True):
    """A file that a command writes, and the folder it is relative to: `cd`s before it, None where one is uncertain."""

    path: str
    folder: str | None


def writes(command: str) -> list[Write]:
    """The files that redirections and `tee` write."""
    found: list[Write] = []
    folder: str | None = ""
    for words in _simple_commands(_without_heredocs(command[:_LONGEST])):
        if words and words[0] == (False, "cd"):
            folder = _entered(folder, words)
            continue
        found += [Write(path, folder) for path in _targets(words) if not path.startswith(_SINKS)]
    return found


Word = tuple[bool, str | None]
"""Whether it is an operator, and what it says; None if that is not certain."""


def _entered(folder: str | None, words: list[Word]) -> str | None:
    target = words[1][1] if len(words) > 1 else None
    if target is None or target == "-" or folder is None:
        return None
    entered = target if target.startswith(("/", "~")) else f"{folder}/{target}" if folder else target
    return entered if len(entered) <= _LONGEST_FOLDER else None


def _targets(words: list[Word]) -> Iterator[str]:
    is_tee = bool(words) and words[0] == (False, "tee")
    for before, (is_operator, text) in zip([(False, ""), *words], words, strict=False):
        if is_operator or text is None:
            continue
        is_argument = is_tee and not before[0] and before != (False, "") and not text.startswith("-")
        if is_argument or (before[0] and before[1] in _INTO):
            yield text


def _simple_commands(text: str) -> Iterator[list[Word]]:
    """Commands between operators, as words."""
    words: list[Word] = []
    for word in _words(text):
        if word[0] and word[1] not in (*_INTO, "<", ">&"):
            yield words
            words = []
        else:
            words.append(word)
    yield words


def _words(text: str) -> Iterator[Word]:  # noqa: C901 - a lexer: one case for each kind of character
    at, size = 0, len(text)
    word, is_word, is_certain = [], False, True
    while at < size:
        char = text[at]
        if char == "\\" and at + 1 < size:
            at += 1
            if text[at] != "\n":
                word.append(text[at])
                is_word = True
        elif char in "'\"":
            end = _closing(text, at)
            inner = text[at + 1 : end]
            if char == '"' and ("$" in inner or "`" in inner):
                is_certain = False
            word.append(inner)
            is_word, at = True, end
        elif char == "#" and not is_word:
            end = text.find("\n", at)
            at = size if end < 0 else end - 1
        elif char in " \t" or char in _OPERATORS or char in "<>":
            if is_word and not (char in "<>" and "".join(word).isdecimal()):
                yield False, "".join(word) if is_certain else None
            word, is_word, is_certain = [], False, True
            if char not in " \t":
                operator = _operator(text, at)
                at += len(operator) - 1
                yield True, operator
        else:
            if char in _UNCERTAIN:
                is_certain = False
            word.append(char)
            is_word = True
        at += 1
    if is_word:
        yield False, "".join(word) if is_certain else None


def _operator(text: str, at: int) -> str:
    return next(
        (found for found in ("&>>", "&>", ">>", ">|", ">&", "&&", "||") if text.startswith(found, at)), text[at]
    )


def _closing(text: str, at: int) -> int:
    """Where a quotation ends; the end of the text, if it does not."""
    quote = text[at]
    end = at + 1
    while end < len(text) and text[end] != quote:
        end += 2 if quote == '"' and text[end] == "\\" else 1
    return min(end, len(text))


def _without_heredocs(command: str) -> str:
    """The command without the texts that it carries along."""
    if "<<" not in command:
        return command
    kept: list[str] = []
    waiting: deque[str] = deque()
    for line in command.split("\n"):
        if waiting:
            if line.strip() == waiting[0]:
                waiting.popleft()
            continue
        kept.append(_HEREDOC.sub(" ", line))
        waiting.extend(next(part for part in found if part) for found in _HEREDOC.findall(line))
    return "\n".join(kept)
