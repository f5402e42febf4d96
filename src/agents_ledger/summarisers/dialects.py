"""The two ways in which endpoints are asked and answer: OpenAI's chat completions and Anthropic's messages."""

from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from agents_ledger.errors import BadInput, SummariserFailed
from agents_ledger.model.summary import Summary

Api = Literal["openai", "anthropic"]


class Dialect(Struct, frozen=True):
    """How one API is spoken."""

    ending: str  # of its address
    version: str  # what stands before it, if an address has no path
    headers: Callable[[str], dict[str, str]]  # with the key
    body: Callable[[str, str, str], dict[str, Any]]  # model, system, question
    limit: Callable[[str], str]  # what the largest size of an answer is called, at a host
    read: Callable[[dict[str, Any]], tuple[str, str | None, int | None, int | None]]  # text, end, tokens in and out


def api_of(url: str) -> Api:
    """The API that an address speaks, by its name."""
    parts = urlsplit(url)
    is_anthropic = "anthropic" in (parts.hostname or "") or parts.path.rstrip("/").endswith("/messages")
    return "anthropic" if is_anthropic else "openai"


def address(url: str, dialect: Dialect) -> str:
    """The whole address of an endpoint: as given, or a base such as `https://api.openai.com/v1` with its ending."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput("the summariser's URL must begin with https:// (or http://) and name a host")
    if parts.username or parts.password:
        raise BadInput("the summariser's URL holds a password: give the key by itself (AGENTS_LEDGER_SUMMARISER_KEY)")
    path = parts.path.rstrip("/")
    if not path.endswith(dialect.ending):
        path = f"{path or dialect.version}{dialect.ending}"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def read_summary(api: Api, document: Any, model: str) -> Summary:
    """The summary in an answer; whatever else an answer may be is refused."""
    if not isinstance(document, dict):
        raise SummariserFailed("the summariser's answer is no JSON object")
    try:
        text, end, tokens_in, tokens_out = DIALECTS[api].read(document)
    except (KeyError, IndexError, TypeError, AttributeError) as problem:
        raise SummariserFailed(
            f"the summariser's answer has no text where {api} has it: is the URL right?"
        ) from problem
    if end in ("length", "max_tokens"):
        raise SummariserFailed("the summary was cut off at its largest size: allow a longer one (`--summary-tokens`)")
    return Summary(
        text=text.strip(), model=model, provider=api, input_tokens=tokens_in, output_tokens=tokens_out, calls=1
    )


def _openai_body(model: str, system: str, question: str) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return {"model": model, "messages": messages, "stream": False}


def _openai_read(document: dict[str, Any]) -> tuple[str, str | None, int | None, int | None]:
    choice = document["choices"][0]
    content = choice["message"]["content"]
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if part.get("type") == "text")
    usage = document.get("usage") or {}
    tokens = _number(usage.get("prompt_tokens")), _number(usage.get("completion_tokens"))
    return _words(content), choice.get("finish_reason"), *tokens


def _anthropic_body(model: str, system: str, question: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": question}]
    return {"model": model, "system": system, "messages": messages, "stream": False}


def _anthropic_read(document: dict[str, Any]) -> tuple[str, str | None, int | None, int | None]:
    text = "".join(_words(block["text"]) for block in document["content"] if block.get("type") == "text")
    usage = document.get("usage") or {}
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    given = [found for name in names if (found := _number(usage.get(name))) is not None]
    return text, document.get("stop_reason"), sum(given) if given else None, _number(usage.get("output_tokens"))


def _words(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 1 << 53 else None


DIALECTS: dict[Api, Dialect] = {
    "openai": Dialect(
        ending="/chat/completions",
        version="/v1",
        headers=lambda key: {"Authorization": f"Bearer {key}"},
        body=_openai_body,
        # OpenAI itself refuses the old name, others do not know the new one
        limit=lambda host: "max_completion_tokens" if host.endswith(("openai.com", "azure.com")) else "max_tokens",
        read=_openai_read,
    ),
    "anthropic": Dialect(
        ending="/messages",
        version="/v1",
        headers=lambda key: {"x-api-key": key},
        body=_anthropic_body,
        limit=lambda _: "max_tokens",
        read=_anthropic_read,
    ),
}
