"""What a thread can be exported as, by name."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from agents_ledger.exports import anthropic, gemini, html, jsonl, markdown, openai, responses
from agents_ledger.model.chronicle import Chronicle
from agents_ledger.model.story import Story
from agents_ledger.model.writing import Losses


class Request(Struct, frozen=True):
    """The body of a request to an API: what an agent would see, ready to be continued."""

    write: Callable[[Story, Losses], Iterator[str]]
    suffix: str


class Document(Struct, frozen=True):
    """A document of the whole thread."""

    write: Callable[[Chronicle], Iterator[str]]
    suffix: str


REQUESTS: dict[str, Request] = {
    "openai": Request(openai.request, "openai.json"),
    "openai-responses": Request(responses.request, "openai-responses.json"),
    "anthropic": Request(anthropic.request, "anthropic.json"),
    "gemini-api": Request(gemini.request, "gemini-api.json"),
}
DOCUMENTS: dict[str, Document] = {
    "markdown": Document(markdown.write, "md"),
    "html": Document(html.write, "html"),
    "jsonl": Document(jsonl.write, "jsonl"),
}
TARGETS: dict[str, Request | Document] = {**DOCUMENTS, **REQUESTS}
