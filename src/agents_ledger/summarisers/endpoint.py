"""A model behind a URL as a summariser. Its key is sent to that URL and goes nowhere else: no message, no record."""

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from agents_ledger.errors import BadInput, SummariserFailed
from agents_ledger.model.summary import Summary, Task
from agents_ledger.summarisers import prompt
from agents_ledger.summarisers.dialects import DIALECTS, Api, address, api_of, read_summary
from agents_ledger.summarisers.post import Answer, NoAnswer, post

_OK, _BUSY = 200, frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_REDIRECTS = range(300, 400)
_VERSION = {"anthropic-version": "2023-06-01"}
_LEAST_WAIT_S, _LONGEST_WAIT_S = 0.5, 20.0
_THOUGHT_TOKENS = 4_000  # what a model may think before it writes
_QUOTED = 200  # characters of an error of theirs that are shown


class Endpoint(Struct, frozen=True, kw_only=True):
    """Any endpoint that speaks OpenAI's chat completions or Anthropic's messages."""

    url: str
    model: str
    key: str | None = None
    api: Api | None = None  # by the URL, if it is not given
    window_tokens: int | None = 128_000
    timeout_s: float = 120.0  # of everything, all tries together
    tries: int = 3
    largest_bytes: int = 4 << 20
    pause: Callable[[float], object] = time.sleep

    def __repr__(self) -> str:
        return f"Endpoint({urlsplit(self.url).hostname!r}, {self.model!r})"  # some URLs hold a key, too

    def summarise(self, task: Task) -> Summary:
        """The summary of a task."""
        api = self.api or api_of(self.url)
        dialect = DIALECTS[api]
        asked = dialect.body(self.model, prompt.SYSTEM, prompt.question(task))
        asked[dialect.limit(urlsplit(self.url).hostname or "")] = 2 * task.limit_tokens + _THOUGHT_TOKENS
        answer = self._answered(address(self.url, dialect), self._headers(api), msgspec.json.encode(asked))
        try:
            document = msgspec.json.decode(answer.body)
        except (msgspec.DecodeError, RecursionError) as problem:
            raise SummariserFailed("the summariser's answer is no JSON: is the URL right?") from problem
        return read_summary(api, document, self.model)

    def _headers(self, api: Api) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "agents-ledger"}
        if self.key:
            if not self.key.isascii() or not self.key.isprintable():
                raise BadInput("the summariser's key has characters that no key has: was it copied with a line break?")
            headers |= DIALECTS[api].headers(self.key)
        return headers | _VERSION if api == "anthropic" else headers

    def _answered(self, url: str, headers: dict[str, str], body: bytes) -> Answer:
        """The answer, with a few tries where the trouble may pass."""
        until = time.monotonic() + self.timeout_s
        for left in range(self.tries - 1, -1, -1):
            wait = _LEAST_WAIT_S * 2 ** (self.tries - 1 - left)
            try:
                answer = self._post(url, headers, body, until)
                if answer.status == _OK:
                    return answer
                problem = self._refusal(answer)
                wait = max(wait, _seconds(answer.retry_after))
            except NoAnswer as unanswered:
                problem = unanswered
            if not left or not isinstance(problem, NoAnswer) or time.monotonic() + wait >= until:
                raise problem
            self.pause(wait)
        raise AssertionError("the last try answers or raises")

    def _post(self, url: str, headers: dict[str, str], body: bytes, until: float) -> Answer:
        time_left = max(until - time.monotonic(), 0.001)
        return post(url, headers, body, timeout_s=time_left, largest_bytes=self.largest_bytes)

    def _refusal(self, answer: Answer) -> SummariserFailed:
        if answer.status in _REDIRECTS:
            return SummariserFailed(f"the summariser's URL leads elsewhere ({answer.status}): give the address itself")
        said = _said(answer.body)
        if self.key and self.key in said:
            said = ""  # some quote the key that they refuse
        told = f"the summariser answers with {answer.status}" + (f": {said}" if said else "")
        return NoAnswer(told) if answer.status in _BUSY else SummariserFailed(told)


def _said(body: bytes) -> str:
    """What an error says, where it says it as the APIs do."""
    try:
        document: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return ""
    error = document.get("error") if isinstance(document, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return " ".join(message.split())[:_QUOTED] if isinstance(message, str) else ""


def _seconds(retry_after: str | None) -> float:
    try:
        return min(max(float(retry_after or 0), 0.0), _LONGEST_WAIT_S)
    except ValueError:
        return 0.0  # a date: the usual wait will do
