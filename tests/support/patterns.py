"""A static check for regular expressions that take more than linear time, and a collector of all those of the product.

`regexploit` looks at backtracking inside one match. This check also sees the time that a *search* takes when it begins
again at each place (`"[^"]*"` on many `"` without an end is quadratic), knows possessive and atomic groups, and tells a
pattern that is only matched at one place from one that is searched for.

How it works: the pattern becomes a Glushkov automaton (one state for each character of the pattern). It is
super-linear if there are states p ≠ q and a word w with p →w p, p →w q and q →w q (infinite degree of ambiguity, Weber
and Seidl 1991), and no match can end while q goes round; for a search, p is also the place before the match, which
takes any character. The check errs to the safe side: boundaries and look-arounds are taken as fulfilled.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from re import _compiler, _constants, _parser  # type: ignore[attr-defined] # what `re` itself is made of
from typing import Any

import agents_ledger

COPIES = 12  # a piece that is repeated up to so many times is written out
BOUND = (
    512  # one that is repeated up to so many times costs so much at the most, at each place; a longer one is endless
)
_ANCHORED = {"match", "fullmatch"}
_METHODS = {"search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn", "compile"}
_SAMPLES = "".join(map(chr, range(128))) + "\x85\xa0\xe9\xdf\u0130\u017f\u0660\u2028\u212a\u4e2d\ufeff\U0001f680"
_SINGLES = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN)
_TO_START = {_constants.AT_BEGINNING, _constants.AT_BEGINNING_STRING}


@dataclass(frozen=True)
class Found:
    """A regular expression of the product."""

    where: str
    pattern: str | bytes
    flags: int
    uses: frozenset[str]  # the methods that it is used with; `?` for any


def weakness(pattern: str | bytes, flags: int = 0, uses: Iterable[str] = ("search",)) -> str | None:
    """Why the pattern takes more than linear time, with the text that shows it; None if it does not."""
    flags = re.compile(pattern, flags).flags
    automaton = _Automaton(_parser.parse(pattern, flags), flags, is_bytes=isinstance(pattern, bytes))
    for use in ("match", "fullmatch", "search") if "?" in uses else sorted(uses):
        if found := automaton.weakness(is_searched=use not in _ANCHORED, is_whole=use == "fullmatch"):
            return found
    return None


# --- the automaton ---------------------------------------------------------------------------------------------------


@dataclass
class _Piece:
    """A part of the pattern: where it can begin and end. `sure` leaves out what depends on the place (`$`, `(?=…)`)."""

    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    empty: int = 1  # in how many ways it can match nothing (two stand for more)
    sure_last: list[int] = field(default_factory=list)
    is_surely_empty: bool = True


class _Automaton:
    def __init__(self, tree: Any, flags: int, *, is_bytes: bool) -> None:
        self._flags = flags
        self._is_bytes = is_bytes
        self._atoms: list[Any] = []
        self._atomic: list[frozenset[int]] = []  # the groups without backtracking that a state is in
        self._follow: list[dict[int, frozenset[int]]] = []  # state → the groups that are not left on the way there
        self._twice: list[tuple[int, int]] = []
        self._groups: dict[int, Any] = {}
        self._group_count = 0
        self._inside: frozenset[int] = frozenset()
        whole = self._sequence(list(tree))
        self._first = whole.first
        self._ends = self._accepting = frozenset(whole.sure_last)
        self._is_anchored = _is_anchored(list(tree), flags)
        self._before = _looks_behind(list(tree), flags)

    # building

    def _sequence(self, items: list[Any]) -> _Piece:
        whole = _Piece()
        for item in items:
            whole = self._join(whole, self._item(item))
        return whole

    def _join(self, left: _Piece, right: _Piece) -> _Piece:
        self._link(left.last, right.first)
        return _Piece(
            first=left.first + right.first * left.empty,
            last=right.last + left.last * right.empty,
            empty=min(left.empty * right.empty, 2),
            sure_last=right.sure_last + (left.sure_last if right.is_surely_empty else []),
            is_surely_empty=left.is_surely_empty and right.is_surely_empty,
        )

    def _link(self, ends: list[int], begins: list[int]) -> None:
        for end in ends:
            for begin in begins:
                if begin in self._follow[end] and not self._inside:
                    self._twice.append((end, begin))
                self._follow[end][begin] = self._follow[end].get(begin, frozenset()) | self._inside

    def _item(self, item: tuple[Any, Any]) -> _Piece:  # noqa: C901, PLR0911 - a case for each kind of piece
        kind, value = item
        if kind in _SINGLES:
            return self._atom(item)
        if kind is _constants.BRANCH:
            return self._branch([list(way) for way in value[1]])
        if kind is _constants.SUBPATTERN:
            number, _, _, inner = value
            self._groups[number] = list(inner)
            return self._sequence(list(inner))
        if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            return self._repeat(*value)
        if kind is _constants.POSSESSIVE_REPEAT:
            least, most, inner = value
            if least <= 1:  # it never fails once a round is done: no round is tried again
                inner = [(_constants.ATOMIC_GROUP, inner)]
            return self._without_backtracking(lambda: self._repeat(least, most, inner))
        if kind is _constants.ATOMIC_GROUP:
            return self._without_backtracking(lambda: self._sequence(list(value)))
        if kind in (_constants.ASSERT, _constants.ASSERT_NOT):
            direction, inner = value
            if direction < 0:
                return _Piece(is_surely_empty=False)
            return self._ahead(list(inner))
        if kind is _constants.GROUPREF:
            return self._sequence(self._groups.get(value, []))
        if kind is _constants.GROUPREF_EXISTS:
            _, yes, no = value
            return self._branch([list(yes), list(no or [])])
        if kind is _constants.AT:
            return _Piece(is_surely_empty=False)
        raise NotImplementedError(f"{kind} in a pattern: teach it to {__name__}")

    def _ahead(self, inner: list[Any]) -> _Piece:
        """A look ahead takes time, too, but nothing that follows it is behind what it looks at."""
        looked = self._sequence(inner)
        return _Piece(first=looked.first, is_surely_empty=False)

    def _without_backtracking(self, build: Callable[[], _Piece]) -> _Piece:
        before = self._inside
        self._group_count += 1
        self._inside = before | {self._group_count}
        piece = build()
        self._inside = before
        return piece

    def _atom(self, item: Any) -> _Piece:
        self._atoms.append(item)
        self._atomic.append(self._inside)
        self._follow.append({})
        state = [len(self._atoms) - 1]
        return _Piece(first=state, last=state, empty=0, sure_last=state, is_surely_empty=False)

    def _branch(self, ways: list[list[Any]]) -> _Piece:
        pieces = [self._sequence(way) for way in ways]
        return _Piece(
            first=[state for piece in pieces for state in piece.first],
            last=[state for piece in pieces for state in piece.last],
            empty=min(sum(piece.empty for piece in pieces), 2),
            sure_last=[state for piece in pieces for state in piece.sure_last],
            is_surely_empty=any(piece.is_surely_empty for piece in pieces),
        )

    def _repeat(self, least: int, most: int, inner: Any) -> _Piece:
        items = list(inner)
        if most <= COPIES:
            whole = _Piece()
            for at in range(most):
                whole = self._join(whole, self._optional(items) if at >= least else self._sequence(items))
            return whole
        if most <= BOUND:
            return self._optional(items) if not least else self._sequence(items)
        whole = _Piece()
        for _ in range(least - 1 if least <= COPIES else 0):
            whole = self._join(whole, self._sequence(items))
        piece = self._optional(items) if not least else self._sequence(items)
        self._link(piece.last, piece.first)
        if least > COPIES:
            piece.sure_last = []  # it may have to go round more often
        return self._join(whole, piece)

    def _optional(self, items: list[Any]) -> _Piece:
        piece = self._sequence(items)
        piece.empty = 1  # (one that is empty already is not entered for it)
        piece.is_surely_empty = True
        return piece

    # letters

    @cached_property
    def _letters(self) -> list[frozenset[int]]:
        """For each state the letters that it takes, as numbers of `_alphabet`."""
        samples = set(_SAMPLES)
        for code in self._mentioned([self._atoms, self._before]):
            samples |= {chr(near) for near in (code - 1, code, code + 1) if 0 <= near < 0x110000}
        if self._is_bytes:
            samples = {char for char in samples if ord(char) < 256} | {"\xff"}
        taken = [self._takes(atom, samples) for atom in self._atoms]
        behind = samples if self._before is None else self._takes(self._before[0], samples)
        taken.append(behind if self._before is None or self._before[1] else samples - behind)
        kinds: dict[tuple[bool, ...], str] = {}
        for char in sorted(samples):
            kinds.setdefault(tuple(char in each for each in taken), char)
        self.alphabet = list(kinds.values())
        return [frozenset(at for at, char in enumerate(self.alphabet) if char in each) for each in taken]

    def _mentioned(self, value: Any) -> Iterator[int]:
        if isinstance(value, int) and not isinstance(value, bool) and not hasattr(value, "name"):
            yield value
        elif isinstance(value, tuple | list):
            for each in value:
                yield from self._mentioned(each)

    def _takes(self, atom: Any, samples: set[str]) -> set[str]:
        tree = _parser.parse(b"" if self._is_bytes else "", self._flags)
        tree.data = [atom]
        single = _compiler.compile(tree, self._flags)
        return {char for char in samples if single.match(char.encode("latin-1") if self._is_bytes else char)}

    # the check

    def weakness(self, *, is_searched: bool, is_whole: bool) -> str | None:
        """The first weakness that is found."""
        letters = self._letters
        self._accepting = self._anything() if is_whole else self._ends
        start = len(self._atoms)  # the place before a match, which takes anything
        loops = {state: loop for loop in self._loops() for state in loop}
        for end, begin in self._twice:
            if end in loops and loops[end] is loops.get(begin) and not {end, begin} <= self._accepting:
                return f"two ways through the same repetition at {self._shown([begin])}"
        reach = {state: self._reachable(state) for state in loops}
        every = frozenset(range(len(self.alphabet)))
        for q, loop in loops.items():
            if q in self._accepting and loop <= self._accepting:
                continue
            for p, own in loops.items():
                if p == q or q not in reach[p]:
                    continue
                if word := self._pump(p, own, q, loop, letters):
                    return f"{self._shown(word)} again and again, inside a match"
            if (
                is_searched
                and not self._is_anchored
                and (word := self._pump_from_start(start, q, loop, letters, every))
            ):
                return f"{self._shown(word)} again and again, as a search begins at each of them"
        return None

    def _anything(self) -> frozenset[int]:
        """The states from which on any text at all is a match to its end."""
        every = frozenset(range(len(self.alphabet)))
        found = self._ends
        while True:
            kept = frozenset(
                state
                for state in found
                if every
                == frozenset().union(*(self._letters[after] for after in self._follow[state] if after in found))
            )
            if kept == found:
                return found
            found = kept

    def _loops(self) -> list[frozenset[int]]:
        """The strongly connected parts in which one can go round."""
        reach = [self._reachable(state) for state in range(len(self._atoms))]
        loops: list[frozenset[int]] = []
        for state, found in enumerate(reach):
            if state in found and not any(state in loop for loop in loops):
                loops.append(frozenset(other for other in found if state in reach[other]))
        return loops

    def _reachable(self, state: int) -> set[int]:
        found: set[int] = set()
        todo = [state]
        while todo:
            for after in self._follow[todo.pop()]:
                if after not in found:
                    found.add(after)
                    todo.append(after)
        return found

    def _pump(
        self, p: int, own: frozenset[int], q: int, loop: frozenset[int], letters: list[frozenset[int]]
    ) -> list[int] | None:
        """A word that leads from p to p, from p to q and from q to q without a match that ends."""
        steps, inside = self._follow, self._atomic[p]

        def after(triple: tuple[int, int, int]) -> Iterator[tuple[tuple[int, int, int], frozenset[int]]]:
            for a, kept in steps[triple[0]].items():
                if a not in own or not inside <= kept:
                    continue  # a group without backtracking that was left forgets its other ways
                for b, kept_too in steps[triple[1]].items():
                    both = letters[a] & letters[b]
                    if not both or not inside <= kept_too:
                        continue
                    for c, kept_last in steps[triple[2]].items():
                        is_kept = c in loop and c not in self._accepting and inside <= kept_last
                        if is_kept and (common := both & letters[c]):
                            yield (a, b, c), common

        return _walk((p, p, q), (p, q, q), after)

    def _pump_from_start(
        self,
        start: int,
        q: int,
        loop: frozenset[int],
        letters: list[frozenset[int]],
        every: frozenset[int],
    ) -> list[int] | None:
        """The same, where p is the place before the match; a step further is the character just before it."""

        def after(pair: tuple[int, int]) -> Iterator[tuple[tuple[int, int], frozenset[int]]]:
            here, there = pair
            ways: list[tuple[int, frozenset[int]]] = []
            if here == start:
                ways += [(start, every), (start + 1, letters[start])]
            elif here == start + 1:
                ways += [(state, letters[state]) for state in self._first]
            else:
                ways += [(state, letters[state]) for state in self._follow[here]]
            for b, taken in ways:
                for c in self._follow[there]:
                    if c in loop and c not in self._accepting and (common := taken & letters[c]):
                        yield (b, c), common

        return _walk((start, q), (q, q), after)

    def _shown(self, word: list[int]) -> str:
        text = "".join(self.alphabet[at] for at in word)
        return repr(text.encode("latin-1") if self._is_bytes else text)


def _walk(begin: Any, end: Any, after: Any) -> list[int] | None:
    """The letters on a way from one state to another, of at least one step."""
    came: dict[Any, tuple[Any, int]] = {}
    todo = [begin]
    for state in todo:
        for following, common in after(state):
            if following in came:
                continue
            came[following] = (state, min(common))
            if following == end:
                word = []
                while True:
                    following, letter = came[following]  # noqa: PLW2901
                    word.append(letter)
                    if following == begin:
                        return word[::-1]
            todo.append(following)
    return None


def _is_anchored(items: list[Any], flags: int) -> bool:
    """Whether a match can only begin at the beginning."""
    while items:
        kind, value = items[0]
        if kind is _constants.AT:
            return value in _TO_START and not (value is _constants.AT_BEGINNING and flags & re.MULTILINE)
        if kind is _constants.SUBPATTERN:
            items = list(value[3])
        elif kind is _constants.BRANCH:
            return all(_is_anchored(list(way), flags) for way in value[1])
        else:
            return False
    return False


def _looks_behind(items: list[Any], flags: int) -> tuple[Any, bool] | None:
    """The one character that must (True) or must not (False) stand before a match; None for any."""
    if not items:
        return None
    kind, value = items[0]
    if kind is _constants.SUBPATTERN:
        return _looks_behind(list(value[3]), flags)
    if kind in (_constants.ASSERT, _constants.ASSERT_NOT) and value[0] < 0 and len(value[1]) == 1:
        atom = value[1][0]
        return (atom, kind is _constants.ASSERT) if atom[0] in _SINGLES else None
    if kind is _constants.AT and value is _constants.AT_BEGINNING and flags & re.MULTILINE:
        return (_constants.LITERAL, ord("\n")), True
    if kind is _constants.AT and value is _constants.AT_BOUNDARY and _begins_word(items[1:]):
        return (_constants.IN, [(_constants.CATEGORY, _constants.CATEGORY_WORD)]), False
    return None


def _begins_word(items: list[Any]) -> bool:  # noqa: PLR0911 - a case for each kind of piece
    """Whether what comes first is a letter, a digit or an underscore in any case."""
    if not items:
        return False
    kind, value = items[0]
    if kind is _constants.LITERAL:
        return chr(value).isalnum() or chr(value) == "_"
    if kind is _constants.IN:
        return all(_begins_word([each]) for each in value)
    if kind is _constants.CATEGORY:
        return value in (_constants.CATEGORY_WORD, _constants.CATEGORY_DIGIT)
    if kind is _constants.SUBPATTERN:
        return _begins_word([*value[3], *items[1:]])
    if kind is _constants.BRANCH:
        return all(_begins_word([*way, *items[1:]]) for way in value[1])
    if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
        return _begins_word(list(value[2])) and (value[0] > 0 or _begins_word(items[1:]))
    return False


# --- the collector ---------------------------------------------------------------------------------------------------


def product_patterns() -> tuple[list[Found], list[str]]:
    """All regular expressions of the product, and the places whose expression is only known when it is used."""
    found: list[Found] = []
    unknown: list[str] = []
    modules = [importlib.import_module(name) for name in _names()]
    uses = _uses(modules)
    for module in modules:
        tree = _tree(module)
        aliases = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
            if alias.name == "re"
        }
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            of = node.func.value
            if not (isinstance(of, ast.Name) and of.id in aliases and node.func.attr in _METHODS):
                continue
            where = f"{module.__name__.removeprefix('agents_ledger.')}: {ast.unparse(node)[:100]}"
            try:
                value = _evaluated(node.args[0], module)
                flags = _flags(node, module)
            except NameError:
                unknown.append(where)
                continue
            if isinstance(value, re.Pattern):
                value, flags = value.pattern, value.flags & ~re.UNICODE
            found.append(Found(where, value, flags, _uses_of(node, tree, module, uses)))
    return found, unknown


def _names() -> list[str]:
    path = [str(Path(agents_ledger.__file__).parent)]
    found = [each.name for each in pkgutil.walk_packages(path, "agents_ledger.") if not each.name.endswith("__main__")]
    return ["agents_ledger", *found]


@cache
def _tree(module: Any) -> ast.Module:
    return ast.parse(inspect.getsource(module) or "")


def _evaluated(node: ast.expr, module: Any) -> Any:
    return eval(compile(ast.Expression(node), "pattern", "eval"), dict(vars(module)))  # noqa: S307 - our own source


def _flags(node: ast.Call, module: Any) -> int:
    given = [keyword.value for keyword in node.keywords if keyword.arg == "flags"]
    assert isinstance(node.func, ast.Attribute)
    place = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(node.func.attr, 2)
    given += node.args[place : place + 1]
    return int(_evaluated(given[0], module)) if given else 0


def _uses(modules: list[Any]) -> dict[str, set[str]]:
    """For each name of a module, what is done with it: methods that are called, `?` for anything else."""
    uses: dict[str, set[str]] = {}
    for module in modules:
        tree = _tree(module)
        origin = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        attributes = {
            id(name): node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            for name in ([node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value])
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                name = origin.get(node.id, f"{module.__name__}.{node.id}")
                uses.setdefault(name, set()).add(attributes.get(id(node), "?"))
    return uses


def _uses_of(node: ast.Call, tree: ast.Module, module: Any, uses: dict[str, set[str]]) -> frozenset[str]:
    """What is done with a pattern."""
    assert isinstance(node.func, ast.Attribute)
    if node.func.attr != "compile":
        return frozenset([node.func.attr])
    for parent in ast.walk(tree):
        if isinstance(parent, ast.Attribute) and parent.value is node:
            return frozenset([parent.attr])
        if isinstance(parent, ast.Assign) and parent.value is node and isinstance(parent.targets[0], ast.Name):
            return frozenset(uses.get(f"{module.__name__}.{parent.targets[0].id}", {"?"})) - {"pattern", "flags"}
    return frozenset("?")
