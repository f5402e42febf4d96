"""Whatever was said, a document shows it and does nothing else: no tag, link or fence gets out of its place."""

from collections.abc import Iterator
from html.parser import HTMLParser

from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace

from agents_ledger.exports import html, jsonl, markdown
from agents_ledger.model.chronicle import Chapter, Chronicle
from agents_ledger.model.rows import TurnRow
from agents_ledger.model.story import Block, Call, Entry, Image, Result, Role, Text, Thinking

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HOSTILE = [
    "<script>alert(1)</script>",
    "</pre></details></section><script src=//evil.example></script>",
    '"><img src=x onerror=alert(1)>',
    "<svg/onload=alert(1)>",
    "[click](javascript:alert(1))",
    "[click](data:text/html;base64,PHNjcmlwdD4=)",
    "[click](JaVaScRiPt&colon;alert(1))",
    "![track](https://evil.example/pixel.png)",
    "<https://example.org> and <javascript:alert(1)>",
    "```\n</details>\n```\n</details>",
    "<div>\n```\n</div>\n\n```\n</details><script>\n```",
    "~~~\nopen to the end",
    "<!-- and all that follows",
    "<![CDATA[ x ]]> <?php x ?>",
    "[Turn 1]: javascript:alert(1)\n\n[Turn 1]",
    "# Turn 99\n\n---\n\n## Turn 100",
    "> > > deep\n- list\n  1. in list\n\n      code <b>",
    "\u202egnp.exe\u2066 \u200b\ufeff \x1b[31mred\x1b[0m \x1b]52;c;x\x07",
    "`" * 50 + "<b>" + "`" * 49,
    "a\x00b\ud800",
    "<style>*{display:none}</style><link rel=stylesheet href=//evil.example><base href=//evil.example>",
    "<meta http-equiv=refresh content=0;url=//evil.example><iframe srcdoc=x></iframe><form action=//evil.example>",
    "*" * 3000,
    "[" * 3000,
    "x" * 300_000,
]
ALLOWED = {"html", "head", "meta", "title", "style", "body", "header", "main", "section", "nav", "article", "div"}
ALLOWED |= {"h1", "h2", "h3", "h4", "h5", "h6", "dl", "dt", "dd", "bdi", "p", "a", "br", "hr", "img", "code", "pre"}
ALLOWED |= {"details", "summary", "b", "span", "ul", "ol", "li", "blockquote", "em", "strong", "s"}
ALLOWED |= {"table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"id", "class", "href", "title", "dir", "rel", "src", "alt", "loading", "lang", "charset", "name"}
ATTRIBUTES |= {"content", "http-equiv", "start", "style"}


def turn(at: int) -> TurnRow:
    facts = dict.fromkeys(TurnRow.__struct_fields__)
    facts |= {"id": f"T{at}", "turn_type": "normal", "status": "completed", "role": "unified", "root_id": "T1"}
    row = TurnRow(**facts)  # type: ignore[arg-type]
    return replace(row, started_at=0, depth=at, segment_id=1, has_children=0, tool_call_count=0)


def entries(text: str) -> tuple[Entry, ...]:
    """The same text wherever a text can stand."""
    params = {"command": text, "old_string": text, "new_string": f"{text}!", text: text}
    patch = f"*** Begin Patch\n+{text}\n-{text}"
    return (
        _entry("user", Text(text), Image(text, PNG), Image(text, text), Image(text, None, text)),
        replace(_entry("user", Text(text)), is_injected=True),
        _entry("assistant", Thinking(text), Text(text), Call(text, text, params)),
        _entry("tool", Result(text, text, (Text(text),), is_error=True, status=text)),
        _entry("tool", Result("stray", text, (Text(text),))),
        _entry("assistant", Call("2", "apply_patch", patch)),
    )


def _entry(role: Role, *blocks: Block) -> Entry:
    return Entry(role=role, blocks=blocks, turn_id="T", at=0)


def chronicle(*texts: str) -> Chronicle:
    def chapters() -> Iterator[Chapter]:
        for at, text in enumerate(texts, 1):
            row = replace(turn(at), model=text, error=text)
            yield Chapter(row, entries(text))

    first = texts[0]
    facts = {"label": first, "origin": first, "title": first, "project": first, "git_branch": first, "model": first}
    return Chronicle(
        turn_id="T1", root_id="T1", depth=len(texts), started_at=0, ended_at=0, chapters=chapters(), tokens=1, **facts
    )


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.sections = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, name
            self._check(tag, name, value or "")
        self.sections += tag == "section"
        if tag not in ("meta", "br", "img", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def _check(self, tag: str, name: str, value: str) -> None:
        if name == "href":
            assert tag == "a"
            assert value.startswith(("#turn-", "http://", "https://", "mailto:")), value
        if name == "src":
            assert tag == "img"
            assert value == f"data:image/png;base64,{PNG}"
        if name == "style":
            assert value in ("text-align:left", "text-align:center", "text-align:right")
        if name == "http-equiv":
            assert value == "Content-Security-Policy"


def assert_safe_html(text: str, turns: int) -> None:
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    assert page.sections == turns


def assert_safe_markdown(text: str, turns: int) -> None:
    """Read with HTML allowed, there is none but ours, and only our headings stand outside of quotes."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    headings = depth = 0
    for token in tokens:
        headings += token.type == "heading_open" and token.level == 0
        for each in (token, *(token.children or ())):
            assert each.type not in ("image", "html_inline"), each.content
            if each.type == "html_block":
                assert token.level == 0
                depth += _ours(each.content)
    assert headings == turns + 1
    assert depth == 0


def _ours(block: str) -> int:
    if block.strip() == "</details>":
        return -1
    head, _, rest = block.partition("<details>\n<summary>")
    assert not head.strip()
    summary, end, behind = rest.partition("</summary>\n")
    assert end
    assert not behind.strip()
    assert "<" not in summary
    return 1


def test_hostile_texts_stay_texts_in_html() -> None:
    text = "".join(html.write(chronicle(*HOSTILE)))
    assert_safe_html(text, len(HOSTILE))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "\u202e" not in text
    assert "&lt;U+202E&gt;" in text


def test_hostile_texts_stay_in_their_place_in_markdown() -> None:
    text = "".join(markdown.write(chronicle(*HOSTILE)))
    assert_safe_markdown(text, len(HOSTILE))
    assert "\u202e" not in text


def test_hostile_texts_are_one_line_each_in_json() -> None:
    lines = "".join(jsonl.write(chronicle(*HOSTILE))).split("\n")
    assert len(lines) - 1 == 1 + len(HOSTILE) * (1 + len(entries("")))


PIECES = [
    "```",
    "~~~",
    "````",
    "<details>",
    "</details>",
    "<!--",
    "-->",
    "<script>",
    "<div>",
    "\n",
    "\n\n",
    "    ",
    "\t",
]
PIECES += [
    "\t",
    "> ",
    "- ",
    "1. ",
    "# ",
    "[x]: y",
    "[x]",
    "![",
    "](z)",
    "`",
    "|",
    "---",
    "a",
    "\\",
    "&lt;",
    "<?",
    "]]>",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@example("1. ```\n\t<details>")
def test_no_mixture_of_marks_gets_out(text: str) -> None:
    assert_safe_markdown("".join(markdown.write(chronicle(text))), 1)
    assert_safe_html("".join(html.write(chronicle(text))), 1)


def test_chapters_are_told_as_they_are_read() -> None:
    """A thread of any length takes the memory of a turn."""
    read = 0

    def reading() -> Iterator[Chapter]:
        nonlocal read
        for at in range(1, 1001):
            read = at
            yield Chapter(turn(at), entries("hi"))

    for write in (html.write, markdown.write, jsonl.write):
        read = told = 0
        for piece in write(replace(chronicle("hi"), chapters=reading(), depth=1000)):
            told += piece.count('<section id="turn-') + piece.count("## Turn ") + piece.count('"kind":"turn"')
            assert read <= told + 1
        assert told == 1000
