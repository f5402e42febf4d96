"""What a message of Gemini CLI says: its parts, its thoughts, its calls with what came of them, its tokens."""

from hashlib import sha256
from typing import Any

from msgspec import json as json_bytes

from agents_ledger.model.entries import CallStatus, Usage
from agents_ledger.model.gemini_api import Content, content_of, parts_of
from agents_ledger.model.loose import Json, count, mapping, text
from agents_ledger.model.steps import Asked
from agents_ledger.model.times import from_iso

STATUS: dict[str, CallStatus] = {"success": "completed", "error": "failed", "cancelled": "cancelled"}
_SETUP = sha256(b"environment-context").hexdigest()[:32]  # the id of what the program tells of the folder and the day
# what else the program says in the name of the user
_CONTEXT = ("<session_context>", "<hook_context>", "System: Please continue.", "System: Potential loop detected")
_UNSENT = ("/", "?")  # commands: kept, and not sent


def words_of(value: Json) -> str:
    """The words of a message."""
    return "".join(part["text"] for part in parts_of(value.get("content")) if isinstance(part.get("text"), str))


def is_setup(value: Json) -> bool:
    """Whether this is what the program tells of the folder and the day, each time that it begins."""
    return value.get("id") == _SETUP or words_of(value).lstrip().startswith(_CONTEXT[0])


def is_context(value: Json) -> bool:
    """Whether the program says this in the name of the user."""
    return value.get("type") == "user" and (is_setup(value) or words_of(value).lstrip().startswith(_CONTEXT))


def is_sent(value: Json) -> bool:
    """Whether a message stands before the model, as far as itself can tell."""
    words = words_of(value).strip()
    if value.get("type") == "gemini":
        return bool(words or value.get("toolCalls") or value.get("thoughts") or content_of(value.get("content")).order)
    if value.get("type") != "user":
        return bool(content_of(value.get("content")).pictures)
    return not words.startswith(_UNSENT) and bool(words or list(parts_of(value.get("content"))))


def answer_of(value: Json) -> Content:
    """What the model said: thoughts and calls stand in the parts, or beside them."""
    inside = content_of(value.get("content"))
    told = _listed(value.get("toolCalls"))
    known = {text(call.get("id")): call for call in told}
    content = Content()
    if not inside.thoughts:
        for thought in _listed(value.get("thoughts")):
            content.think(thought_of(thought))
    for part in parts_of(value.get("content")):
        words = part.get("text")
        if isinstance(words, str):
            if part.get("thought") is True:
                content.think(words)
            elif words:
                content.say(words)
    for call in inside.calls:
        content.ask(asked_of(known.pop(call.native_id), call) if call.native_id in known else call)
    if not inside.calls:
        for each in told:
            content.ask(asked_of(each))
    rest = [block for block in inside.order if block["type"] not in ("text", "thinking", "call")]
    content.order += rest
    return content


def thought_of(thought: Json) -> str:
    """A thought, as Gemini CLI tells it to the model again."""
    subject, words = text(thought.get("subject")), text(thought.get("description")) or ""
    return words if subject is None else f"**{subject}** {words}"


def asked_of(call: Json, made: Asked | None = None) -> Asked:
    """A call and what came of it."""
    responses = content_of(call.get("result")).responses
    # (a resumed session may have the responses of a whole message at each of its calls)
    own = [response for response in responses if response.call == text(call.get("id"))] or responses
    result, error = own[0].outcome if own else (call.get("result"), None)
    given = call.get("status")
    status = STATUS.get(given) if isinstance(given, str) else None
    is_open = status is None and call.get("result") is None
    at = from_iso(call.get("timestamp"))
    return Asked(
        tool=text(call.get("name")) or (made.tool if made else "unknown"),
        native_id=text(call.get("id")),
        params=call.get("args") if made is None else made.params,
        result=result,
        error=error,
        status="pending" if is_open else status or ("completed" if error is None else "failed"),
        completed_at=None if is_open else at,
        spawned=text(call.get("agentId")),
    )


def usage_of(told: Any) -> Usage | None:
    """The tokens of a call to the model: the cache is part of the input, thoughts are told apart from the output."""
    facts = mapping(told)
    given, said = count(facts.get("input")), count(facts.get("output"))
    if given is None and said is None:
        return None
    cached, thoughts, tool = (count(facts.get(name)) for name in ("cached", "thoughts", "tool"))
    fresh = given - cached if given is not None and cached is not None and given >= cached else given
    return Usage(
        input=None if fresh is None else fresh + (tool or 0),
        output=None if said is None else said + (thoughts or 0),
        cached=cached,
        reasoning=thoughts,
    )


def digest_of(value: Json) -> str:
    """What tells two states of a message apart, its calls and tokens left out."""
    told = [value.get("type"), words_of(value), [thought_of(one) for one in _listed(value.get("thoughts"))]]
    return sha256(json_bytes.encode(ascii(told))).hexdigest()[:32]


def project_of(texts: list[str], project_hash: str | None) -> str | None:
    """The folder with this hash, if one of these lines names it."""
    for words in texts:
        for line in words.splitlines():
            path = line.strip().removeprefix("- ")
            if path and sha256(path.encode("utf-8", "surrogatepass")).hexdigest() == project_hash:
                return path
    return None


def _listed(value: Any) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
