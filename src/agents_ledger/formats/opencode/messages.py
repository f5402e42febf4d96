"""What a message of OpenCode says: its parts as texts, thoughts, calls, files; a step of the model at a time."""

from hashlib import sha256
from itertools import accumulate
from urllib.parse import unquote, urlsplit

from msgspec import Struct, field

from agents_ledger.model.entries import CallStatus, File, Usage
from agents_ledger.model.loose import Json, count, mapping, text
from agents_ledger.model.opencode_ids import is_redacted, wrote
from agents_ledger.model.opencode_sessions import Message, Part, moment
from agents_ledger.model.pictures import picture_of
from agents_ledger.model.steps import Asked

_STATUS: dict[str, CallStatus] = {
    "pending": "pending",
    "running": "running",
    "completed": "completed",
    "error": "failed",
}
_REJECTED = "The user rejected permission"
QUIET = ("step-start", "step-finish", "snapshot", "compaction")


class Question(Struct):
    """What a user said at once: own words first, then what the program found for them; the order beside it."""

    texts: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)  # by the program
    files: list[File] = field(default_factory=list)
    order: list[Json] = field(default_factory=list)

    @property
    def content(self) -> str | None:
        """All words."""
        words = [*self.texts, *self.found]
        return "\n".join(words) if words else None

    @property
    def blocks(self) -> tuple[Json, ...] | None:
        """The order, where it is more than one text."""
        if [block["type"] for block in self.order] in ([], ["text"]) and not self.found:
            return None
        starts = list(accumulate((len(words) + 1 for words in (*self.texts, *self.found)), initial=0))
        blocks: list[Json] = []
        own, others = 0, len(self.texts)
        for block in self.order:
            if block["type"] != "text":
                blocks.append(block)
                continue
            at, own, others = (others, own, others + 1) if block.get("synthetic") else (own, own + 1, others)
            blocks.append({**block, "from": starts[at], "to": starts[at + 1] - 1})
        return tuple(blocks)

    def take(self, value: Json, *, is_ours: bool) -> None:
        """One more part; one that was written from here may have words in place of a picture."""
        kind = value.get("type")
        words = value.get("prompt") if kind == "subtask" else value.get("text")
        picture = picture_of(words) if is_ours and kind == "text" and isinstance(words, str) else None
        if picture is not None:
            self.order.append(picture)
        elif kind in ("text", "subtask") and isinstance(words, str):
            is_found = value.get("synthetic") is True
            (self.found if is_found else self.texts).append(words)
            self.order.append({"type": "text", **({"synthetic": True} if is_found else {})})
        elif kind == "file":
            self.order.append(shown(value))
            self.files += files_of(value)
        elif kind not in QUIET:
            self.order.append({"type": str(kind)[:100]})


def question_of(message: Message) -> Question:
    """The parts of a user's message."""
    question = Question()
    is_ours = wrote(text(message.value.get("sessionID")) or "", message.id) is not None
    for part in message.parts:
        question.take(part.value, is_ours=is_ours)
    return question


def files_of(value: Json) -> list[File]:
    """The files that a part names."""
    if value.get("type") == "patch":
        listed = value.get("files")
        return [File(path, "written") for path in listed if text(path)] if isinstance(listed, list) else []
    path = _path(value)
    return [] if path is None else [File(path, "attached")]


def words_of(message: Message) -> str | None:
    """The texts of an answer."""
    return _joined(message, "text")


def thoughts_of(message: Message) -> str | None:
    """What was thought for an answer."""
    return _joined(message, "reasoning") or None


def _joined(message: Message, kind: str) -> str | None:
    told = [part.value.get("text") for part in message.parts if part.value.get("type") == kind]
    texts = [words for words in told if isinstance(words, str)]
    return "\n".join(texts) if texts else None


def steps_of(message: Message) -> list[list[Part]]:
    """The parts of an answer, a call to the model each. In 2025 a message held all those of a turn."""
    steps: list[list[Part]] = [[]]
    is_over = False
    for part in message.parts:
        kind = part.value.get("type")
        if kind == "step-start" and is_over:
            steps.append([])
        is_over = kind == "step-finish" or (is_over and kind != "step-start")
        steps[-1].append(part)
    return steps


def tokens_of(message: Message, step: list[Part], *, is_only: bool) -> Json:
    """The tokens of a call to the model."""
    whole = message.value.get("tokens")
    if is_only and isinstance(whole, dict):
        return whole
    return next((mapping(part.value.get("tokens")) for part in step if part.value.get("type") == "step-finish"), {})


def asked_of(part: Json) -> Asked:
    """A call and what came of it."""
    state = mapping(part.get("state"))
    given = state.get("status")
    error = text(state.get("error"))
    status = _STATUS.get(given, "pending") if isinstance(given, str) else "pending"
    if status == "failed" and error is not None and error.startswith(_REJECTED):
        status = "rejected"
    files = state.get("attachments")
    pictures = [shown(file) for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    output = state.get("output")
    words = [{"type": "text", "text": output}] if isinstance(output, str) and output else []
    return Asked(
        tool=text(part.get("tool")) or "unknown",
        native_id=id_of(part.get("callID")),
        params=state.get("input"),
        result=[*words, *pictures] if pictures else output,
        error=error,
        status=status,
        started_at=moment(state, "start"),
        completed_at=moment(state, "end"),
        spawned=id_of(mapping(state.get("metadata")).get("sessionId")),
    )


def shown(file: Json) -> Json:
    """A file that was shown to the model: small facts; its bytes stay in the evidence."""
    mime, url = text(file.get("mime")), text(file.get("url")) or ""
    kind = "image" if mime is not None and mime.startswith("image/") else "file"
    block: Json = {"type": kind, "media_type": mime}
    if url.startswith("data:"):
        block["size_bytes"] = len(url.partition(",")[2]) * 3 // 4  # it stands in base 64
    if name := text(file.get("filename")):
        block["filename"] = name
    return block


def usage_of(tokens: Json | None) -> Usage | None:
    """The tokens of a call to the model: input without cache; thoughts are told beside the output, or in it (2025)."""
    told = mapping(tokens)
    cache = mapping(told.get("cache"))
    given, said, thought, whole = (count(told.get(name)) for name in ("input", "output", "reasoning", "total"))
    cached, written = count(cache.get("read")), count(cache.get("write"))
    known = [given, said, thought, cached, written]
    if not any(known):
        return None  # (a call that failed, or a message that was written from elsewhere)
    is_apart = whole is not None and whole == sum(each or 0 for each in known)
    output = said if said is None or not is_apart else said + (thought or 0)
    return Usage(input=given, output=output, cached=cached, cache_write=written, reasoning=thought)


def error_of(info: Json) -> str | None:
    """Why the call to the model failed, if it did."""
    error = mapping(info.get("error"))
    if not error:
        return None
    return text(mapping(error.get("data")).get("message")) or text(error.get("message")) or text(error.get("name"))


def is_program(message: Message) -> bool:
    """Whether all that a user is said to have said comes from the program."""
    spoken = [part.value for part in message.parts if part.value.get("type") in ("text", "file", "agent", "subtask")]
    return bool(spoken) and all(value.get("synthetic") is True for value in spoken)


def compaction_of(message: Message) -> Json | None:
    """The part by which a user (or the program) asks for a compaction, if there is one."""
    return next((part.value for part in message.parts if part.value.get("type") == "compaction"), None)


def model_of(info: Json) -> tuple[str | None, str | None]:
    """Model and provider."""
    told = mapping(info.get("model"))
    names = [text(info.get(name)) or text(told.get(name)) for name in ("modelID", "providerID")]
    model, provider = (None if name == "unknown" else name for name in names)
    return model, provider


def identity_of(message: Message, number: int = 0) -> str:
    """What stays the same in copies: a fork's messages have new ids, and the times and words of their origin."""
    told = [
        [part.value.get(name) for name in ("type", "text", "callID")]
        for part in message.parts
        if part.value.get("synthetic") is not True and part.value.get("type") in ("text", "tool", "subtask")
    ]
    digest = sha256(ascii(told).encode()).hexdigest()[:32]
    return f"{moment(message.value, 'created')}-{digest}" + (f"-{number}" if number else "")


def id_of(value: object) -> str | None:
    """An id, unless it was redacted."""
    name = text(value)
    return None if name is None or is_redacted(name) else name


def _path(file: Json) -> str | None:
    """The path of an attached file, if it says one."""
    source = mapping(file.get("source"))
    if path := text(source.get("path")):
        return path
    url = text(file.get("url")) or ""
    if not url.startswith("file:"):
        return None
    try:
        return unquote(urlsplit(url).path) or None
    except ValueError:
        return None
