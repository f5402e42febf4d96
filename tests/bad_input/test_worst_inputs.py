"""Every hand-written parser reads 1 MB of its worst input within 5 s of CPU time. Linear ones need 10 to 500 ms."""

import io
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from agents_ledger.cli import folding, rendering, terminal
from agents_ledger.exports import html, markdown
from agents_ledger.exports.diffs import marked
from agents_ledger.exports.pages import shown
from agents_ledger.formats import formats
from agents_ledger.formats.codex import contents, texts
from agents_ledger.formats.cursor import loose, prompts, transcript, wire
from agents_ledger.formats.cursor.secrets import blanked, blanked_hex
from agents_ledger.formats.pi import json5
from agents_ledger.model import effects, filters, lines, queries, sentences, session_keys, shell, snippets, tokens
from agents_ledger.model.broken import texts_of
from agents_ledger.model.changes import changes
from agents_ledger.model.formats import Format, Source
from agents_ledger.model.gemini_api import content_of
from agents_ledger.model.secrets import redacted
from agents_ledger.model.visible import clean
from agents_ledger.store import guards, postgres_query
from tests.formats.hostile import Origin, origins
from tests.support.cpu import finishes, seconds_of

MB = 1 << 20
SMALL = MB // 16  # quadratic time shows at this size, too: it takes seconds instead of milliseconds
ROOT = Path(__file__).parents[2]
FORMATS = list(formats())


def repeated(text: str, size: int = MB) -> str:
    return text * (size // len(text))


# Openers without an end, closers without a beginning, and what a search would begin at again and again.
TEXTS = {
    name: repeated(piece)
    for name, piece in {
        "escaped quotes": '\\"', "quotes": '"', "single quotes": "'", "backslashes": "\\", "spaces": " ", "lines": "\n",
        "letters": "a", "digits": "1", "words": "a ", "lists": "[", "objects": '{"a":', "values": "[],", "ends": "]",
        "patches": "*** Begin Patch\n", "quoted patches": '"*** Begin Patch\\n', "moves": "*** Move to: ",
        "moves of spaces": f"*** Move to: a{' ' * 5000}b", "images": "<image ", "folders": "<cwd>", "fences": "```\n",
        "both fences": "```\n~~~ ", "comments": "/*", "line comments": "--", "here documents": "<<A ", "dashes": "-",
        "here lines": "<<A\nA\n", "folders entered": "cd a;", "folders and files": "cd a;>b;", "escapes": "\x1b[",
        "keys": ":thread:", "personas": ":persona:", "speakers": "user:\n", "timestamps": "<timestamp>Mon, ",
        "data": "data:a/b", "nearly encoded": f"{'a' * 4095}!", "private keys": "-----BEGIN PRIVATE KEY-----\n",
        "tokens": "sk-ant-a00-", "web tokens": "eyJaaaaaaaaaa.", "urls": "postgres://a:", "numbers": "9.", "dots": ".",
        "sentences": "Because it is so. ", "invisible": "\u200b", "chinese": "\u6570", "surrogates": "\ud800",
        "roles": "role:", "quoted roles": 'role:"', "hidden names": '"apiKey":"\\', "key names": "encryption_key",
        "markers": "### ", "brackets": "<user_query>", "reminders": "<system-reminder>",
    }.items()
}  # fmt: skip
KEYS = ("uuid", "parentUuid")
PARSERS: dict[str, Callable[[str], object]] = {
    "tolerant JSON": lambda text: list(lines.values(_bytes(text))),
    "tolerant JSON, torn": lambda text: list(lines.values(b"[]," * 1000 + b'{"a":"' + _bytes(text))),
    "ids of a broken record": lambda text: texts_of(b'{"a":"' + _bytes(text), KEYS),
    "ids of a record that is no JSON": lambda text: texts_of(_bytes(text), KEYS),
    "JSON5": json5.to_json,
    "JSON5, torn": lambda text: json5.to_json('{a: "' + text),
    "session keys": session_keys.parse,
    "queries": queries.parse,
    "filters": lambda text: filters.pattern(text[:4096].replace("\ud800", "*")),
    "shell": shell.writes,
    "shell, written paths": lambda text: effects.written_paths("bash", {"command": text}, "/home/ada"),
    "patches": lambda text: changes("apply_patch", text),
    "patches in a script": lambda text: changes("exec", {"script": f"*** Begin Patch\n*** Add File: a\n{text}"}),
    "diffs": lambda text: changes("edit", {"path": "a"}, {"diff": text}),
    "marked diffs": marked,
    "sentences": lambda text: list(sentences.split(text)),
    "secrets": redacted,
    "words": tokens.tokens,
    "snippets": lambda text: snippets.cut(
        text, snippets.Marker([("a", False), ("because it", True), ("--", False)]), 80
    ),
    "invisible characters": clean,
    "one line": terminal.one_line,
    "safe JSON": terminal.json_safe,
    "folded": lambda text: folding.folded(folding.uncoloured(text), 20),
    "readable": folding.readable,
    "shown": shown,
    "Codex patches": lambda text: texts.patched(f"*** Begin Patch\n{text}"),
    "Codex texts": lambda text: (texts.injected(text), texts.meant(text), texts.folder(text), texts.outcome(text)),
    "Codex contents": lambda text: contents.contents([{"type": "input_text", "text": text}]),
    "Codex images": lambda text: contents.brief({"type": "input_image", "image_url": f"data:{text}"}),
    "Cursor JSON in a text": loose.as_json,
    "Cursor secrets": lambda text: blanked(b'{"apiKey": "' + _bytes(text)),
    "Cursor secrets in valid JSON": lambda text: blanked(json.dumps({"apiKey": text, "b": [text]}).encode()),
    "Cursor secrets in hexadecimal": lambda text: blanked_hex(_bytes(text).hex().encode()),
    "Cursor transcripts": lambda text: list(transcript.TextReader("/a/b.txt").read(_bytes(text), "")),
    "Cursor prompts": lambda text: (prompts.kind_of_user(text), transcript.stamped(text)),
    "Cursor nodes": lambda text: list(wire.fields(_bytes(text))),
    "own SQL": postgres_query._QUERY.match,  # noqa: SLF001 - what reads it needs a server
    "guards": lambda text: guards._is_same(text, "a"),  # noqa: SLF001 - what reads it needs a damaged ledger
    "HTML": lambda text: "".join(html._rich(text)),  # noqa: SLF001 - one text of a document
    "Markdown": markdown.quote,
    "terminal": lambda text: drawn(text[: len(text) // 8]),
}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def drawn(text: str) -> None:
    Console(file=io.StringIO(), width=100, force_terminal=True).print(rendering.markdown(text, 2))


@pytest.mark.parametrize("parser", PARSERS)
def test_a_megabyte_of_the_worst_input_is_read_at_once(parser: str) -> None:
    parse = PARSERS[parser]
    times = seconds_of([partial(parse, text[:SMALL]) for text in TEXTS.values()])
    assert times is not None, "some of the texts takes quadratic time"
    slowest = max(zip(times, TEXTS, strict=True))[1]
    assert finishes(lambda: parse(TEXTS[slowest])), slowest


# --- records of each format ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def known() -> dict[str, list[Origin]]:
    return {form.name: origins(form, [ROOT / "tests" / "golden"]) for form in FORMATS}


def torn(record: bytes, size: int) -> Iterator[bytes]:
    """A record that was cut inside a text, with so many bytes of what its readers would start again at."""
    begun = record.rstrip()[:-1] + b',"torn":"'
    for piece in (b'\\"', b'\\"uuid\\":\\"', b"\\\\", b"[{", b"a", b"\\u00"):
        yield begun + piece * (size // len(piece))
    yield begun + b"[{" * (size // 4) + b'\\"' * (size // 4)  # deep, and torn: both readers of JSON look at it
    yield b"[]," * 1000 + b'"' + b'\\"' * (size // 2)
    for piece in (b"{}", b"[", b'{"a":', b'"', b",", b"\x00", b"1", b" "):
        yield piece * (size // len(piece))
    yield record + b" " * size + record


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_torn_records_of_a_megabyte_are_read_at_once(form: Format, known: dict[str, list[Origin]]) -> None:
    kinds = {origin.kind.name: origin for origin in known[form.name] if any(origin.records)}
    assert kinds
    for kind, origin in kinds.items():
        record = min(filter(None, origin.records), key=len)
        times = seconds_of([partial(read, form, origin, each) for each in torn(record, SMALL)])
        assert times is not None, kind
        slowest = times.index(max(times))
        assert finishes(partial(read, form, origin, list(torn(record, MB))[slowest])), (kind, slowest)


def read(form: Format, origin: Origin, record: bytes) -> None:
    """All that is done with a record: its source is recognised, cleaned of secrets and read."""
    form.recognise(origin.path, record[:65_536])
    reader = form.reader(Source(origin.path, origin.kind.name))
    rows = list(zip(origin.names, origin.records, strict=False))
    before = {"lines": rows[:1], "document": []}.get(origin.kind.shape, rows)
    for name, value in [*before, (rows[-1][0], record)]:
        list(reader.read(value, name))
        form.held(value)
        if form.tables is not None:
            tables, (table, _, key) = form.tables(), name.partition("\n")
            list(tables.refers(table, key, tables.clean(table, key, value)))
    list(reader.end())


MANY = 20_000


def test_a_message_of_many_parts_is_read_at_once() -> None:
    """Each part was placed by adding up the lengths of all parts before it: 1 MB of Gemini's thoughts took 20 s."""
    parts: list[dict[str, Any]] = [{"text": "a", "thought": at % 2 == 0} for at in range(MANY * 3)]
    assert finishes(lambda: content_of(parts).blocks)
    content = [{"type": "text" if at % 2 else "thinking", "text": "a"} for at in range(MANY * 3)]
    line = json.dumps({"role": "user", "message": {"content": content}}).encode()
    assert finishes(lambda: list(transcript.TranscriptReader("/a/b.jsonl").read(line, "")))


# --- Markdown --------------------------------------------------------------------------------------------------------

MARKDOWN = {
    name: repeated(piece, len(piece) * 50_000)[: 200_000 - 1]
    for name, piece in {
        "[": "[", "![": "![", "*": "*", "_": "_", "`": "`", ">": ">", "<": "<", "](": "](", "[a](": "[a](",
        "[a][": "[a][",
        "*a": "*a ", "**a": "a**b ", "*a_": "*a_", "~~": "~~a ", "|": "|", "<http:": "<http:",
        "autolinks": "<http://a>",
        "<!--": "<!--", "- ": "- ", "1. ": "1. ", "> ": "> a\n", "definitions": "[a]: b\n",
        "open definitions": '[a]: b "\n',
        "links": "[a](b)", "images": "![a](b)", "[a](<b": "[a](<b", "fences": "```\n", "&": "&amp", "\\": "\\",
    }.items()
} | {
    "nested list": "".join(f"{'  ' * at}- a\n" for at in range(400)),
    "wide table": f"{'a|' * 20_000}a\n{'-|' * 20_000}-\n" + "a\n" * 20_000,
    "long table": "a|b\n-|-\n" + "c|d\n" * 10_000,
    "lazy quote": ">" * 60 + "a\n" + "b\n" * 50_000,
    "unused labels": "".join(f"[a{at}]: b\n" for at in range(10_000)) + "[a]" * 10_000,
    "open label": "[a" * 50_000 + "]: b",
    "nested links": "[" * 30_000 + "a" + "](b)" * 30_000,
    "ticks": "".join("`" * at + "a" for at in range(1, 600)),
}  # fmt: skip


@pytest.mark.parametrize("name", MARKDOWN)
def test_markdown_of_50_000_marks_is_drawn_at_once(name: str) -> None:
    text = MARKDOWN[name]
    faces = [
        lambda: html._rich(text),  # noqa: SLF001 - one text of a document
        lambda: markdown.quote(f"{text}\n```\na\n```"),
        lambda: drawn(text[:50_000]),
    ]
    assert [face for face in faces if not finishes(face)] == []


def test_markdown_that_is_not_read_is_shown_as_it_is() -> None:
    text = "[" * 50_000
    assert text in html._rich(text)  # noqa: SLF001 - as above
    assert text in markdown.quote(text)
    assert "<a " in html._rich("[" * 40 + "[a](https://b)")  # noqa: SLF001 - as above
