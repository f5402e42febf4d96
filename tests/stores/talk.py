"""Small conversations for the stores."""

from typing import Any

from agents_ledger import Ledger
from agents_ledger.formats.pi import bodies
from agents_ledger.model.entries import Usage
from agents_ledger.stores.pi import PiSession

AT = 1_772_359_200_000
USAGE = Usage(input=50, output=20, cached=30)


def ask(session: PiSession, name: str) -> str:
    """A whole turn: a question, thinking, a call, its result, an answer; gives the answer's id."""
    session.say(bodies.user(f"question {name}", AT))
    session.say(
        bodies.assistant(
            [
                bodies.thinking(f"thought {name}"),
                bodies.text(f"look {name}"),
                bodies.call(f"c-{name}", "read", {"p": name}),
            ],
            AT,
            provider="anthropic",
            model="m1",
            usage=USAGE,
        )
    )
    session.say(bodies.tool_result(f"c-{name}", "read", f"result {name}", AT))
    return session.say(bodies.assistant(f"answer {name}", AT, provider="anthropic", model="m1", usage=USAGE))


def seen_by_store(session: PiSession) -> list[str]:
    """What the model would see, as pi's rules have it: texts and results, in order."""
    return [text for message in session.context().messages for text in _texts(message)]


def seen_by_ledger(ledger: Ledger, label: str) -> list[str]:
    """What the ledger's own context has, in the same form."""
    head = ledger.head(label)
    if head is None:
        return []
    context = ledger.context(head)
    found = [] if context.summary is None else [context.summary]
    for turn in context.turns:
        for message in turn.messages:
            found += [text for text in (message.thinking, message.content) if text]
            for call in turn.calls:
                if call.message_id == message.id and call.result_json is not None:
                    found.append(call.result_json.strip('"'))
    return found


def _texts(message: dict[str, Any]) -> list[str]:
    if "summary" in message:
        return [message["summary"]]
    content = message["content"]
    blocks = [{"text": content}] if isinstance(content, str) else content
    return [text for block in blocks if (text := block.get("thinking") or block.get("text"))]


def problems(ledger: Ledger) -> list[tuple[Any, ...]]:
    """What was wrong with the files."""
    return ledger.database.ask("SELECT path, code, detail FROM problems ORDER BY path, place")
