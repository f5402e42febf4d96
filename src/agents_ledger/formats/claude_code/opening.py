"""Readers for what was recognised, with what the path says about its session."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from agents_ledger.formats.claude_code.lines import plain
from agents_ledger.formats.claude_code.reader import Transcript
from agents_ledger.formats.claude_code.sessions import Sessions
from agents_ledger.formats.claude_code.states import small, word
from agents_ledger.model.file_names import own_name
from agents_ledger.model.formats import Reader, Source
from agents_ledger.model.steps import Event, Facts, Problem
from agents_ledger.model.texts import storable

_FACTS = ("description", "toolUseId", "finished")


def reader(source: Source) -> Reader:
    """The reader for a transcript, or for the note beside a subagent's."""
    session, agent = _named(source.path)
    if source.kind == "meta":
        return Meta(session, agent)
    return Transcript(Sessions(fallback=session or (agent and f"agent-{agent}") or "unknown", agent=agent))


def _named(path: str) -> tuple[str | None, str | None]:
    """Session and subagent by the path: `<session>.jsonl`, `<session>/subagents/…/agent-<id>.jsonl`."""
    *folders, name = storable(path).replace("\\", "/").split("/")
    stem = name.removesuffix(".zst").removesuffix(".jsonl").removesuffix(".meta.json")
    if not stem.startswith("agent-"):
        return own_name(storable(path), stem) or None, None
    place = len(folders) - 1 - folders[::-1].index("subagents") if "subagents" in folders else 0
    return folders[place - 1] if place > 0 else None, stem.removeprefix("agent-") or None


class Meta(Struct):
    """`agent-<id>.meta.json`: who started a subagent, and for what."""

    session: str | None
    agent: str | None

    def read(self, record: bytes, name: str) -> Iterable[Event]:  # noqa: ARG002 - one file
        """The facts of the file, for the subagent's session."""
        value, problems = plain(msgspec.Raw(record))
        if not isinstance(value, dict):
            return problems or [Problem("not-an-object", type(value).__name__)]
        if self.session is None or self.agent is None:
            return [*problems, Problem("missing-header", "not in the folder of its session: whose subagent is it?")]
        extra = {
            storable(key): kept
            for key, item in value.items()
            if key not in _FACTS and (kept := small(item)) is not None
        }
        facts = Facts(
            session=f"{self.session}/agent-{self.agent}",
            parent_session=self.session,
            parent_call=word(value, "toolUseId"),
            task=word(value, "description"),
            task_status="completed" if value.get("finished") is True else None,
            extra=extra or None,
        )
        return [*problems, facts]

    def end(self) -> Iterable[Event]:
        """Nothing more."""
        return ()
