"""One exchange of AgentUse: a prompt, and the parts of the answer as they come."""

from typing import TYPE_CHECKING, Any

from agents_ledger.formats.agentuse import writing
from agents_ledger.model.entries import Usage

if TYPE_CHECKING:
    from agents_ledger.stores.agentuse.session import AgentUseSession

Json = dict[str, Any]


class Exchange:
    """A message of AgentUse. Its parts are files of their own; some change as long as they are under way."""

    def __init__(self, session: "AgentUseSession", value: Json) -> None:
        self.session = session
        self.value = value

    @property
    def id(self) -> str:
        """The message's id."""
        return str(self.value["id"])

    def begin(self) -> "Exchange":
        """Writes message.json."""
        self._write()
        return self

    def text(self, words: str, *, role: str | None = None, synthetic: bool = False) -> str:
        """What the model says (or, of the role "user", a human who resumes the run); gives the part's id."""
        now = self.session.env.now()
        return self.part(writing.text(words, now, now, role=role, synthetic=synthetic))

    def reasoning(self, words: str, metadata: Json | None = None) -> str:
        """What the model thinks."""
        now = self.session.env.now()
        return self.part(writing.reasoning(words, now, now, metadata))

    def call(self, tool: str, given: Any, call_id: str | None = None, title: str | None = None) -> "ToolCall":
        """A tool call, which is pending until it runs."""
        found = ToolCall(self, tool, given, call_id or f"call_{self.session.env.salt(12).hex()}", title)
        found.put(writing.pending())
        return found

    def file(self, url: str, media_type: str, filename: str | None = None, source: Json | None = None) -> str:
        """A file that is given to the agent."""
        return self.part(writing.file(url, media_type, filename, source))

    def mention(self, name: str, source: Json | None = None) -> str:
        """An agent that the prompt names."""
        return self.part(writing.agent_mention(name, source))

    def start_step(self) -> str:
        """A call to the model begins."""
        return self.part(writing.step_start())

    def finish_step(self, usage: Usage, cost: float = 0) -> str:
        """A call to the model ends."""
        return self.part(writing.step_finish(usage, cost))

    def compact(self, reason: str, tokens: tuple[int, int], messages: tuple[int, int]) -> str:
        """The context was compacted: tokens and messages, before and after."""
        return self.part(writing.compaction(reason, *tokens, messages, self.session.env.now()))

    def log(self, level: str, words: str) -> str:
        """A line of the program's log."""
        return self.part(writing.log(level, words, self.session.env.now()))

    def part(self, value: Json, part_id: str | None = None) -> str:
        """A part of any type, written or replaced; gives its id."""
        name = part_id or self.session.env.new_id(self.session.env.now())
        whole = {**value, "id": name, "sessionID": self.session.id, "messageID": self.id}
        self.session.write(f"{self.id}/part/{name}.json", whole)
        return name

    def subagent(self, call: "ToolCall", agent_id: str, **facts: Any) -> "AgentUseSession":
        """The session of a subagent that one of the calls starts; the call and the log name it."""
        child = self.session.subagent(agent_id, **facts)
        call.child = child.id
        if call.start is not None:
            call.run()
        self.log("info", f"[SubAgent] Created session {child.id} for {agent_id}")
        return child

    def finish(self, usage: Usage | None = None, cost: float = 0, error: Json | None = None) -> None:
        """The answer is complete: what it used in all, or why it failed."""
        answer = {**self.value["assistant"], "cost": cost, "tokens": writing.tokens(usage or Usage())}
        answer |= {} if error is None else {"error": error}
        time = {**self.value["time"], "completed": self.session.env.now()}
        self.value = {**self.value, "time": time, "assistant": answer}
        self._write()

    def _write(self) -> None:
        self.session.write(f"{self.id}/message.json", self.value)


class ToolCall:
    """A tool call: pending, running, then completed or failed; one file, replaced at each step."""

    def __init__(self, exchange: Exchange, tool: str, given: Any, call_id: str, title: str | None) -> None:
        self.id = call_id
        self.child: str | None = None  # the session that it started
        self.start: int | None = None
        self._exchange = exchange
        self._tool, self._given, self._title = tool, given, title
        self._part: str | None = None

    def run(self) -> "ToolCall":
        """It runs now."""
        self.start = self.start or self._exchange.session.env.now()
        self.put(writing.running(self._given, self.start, self._title, self._metadata()))
        return self

    def complete(self, output: Any) -> None:
        """It worked."""
        now = self._exchange.session.env.now()
        start = self.start or now
        self.put(writing.completed(self._given, output, start, now, self._title, self._metadata()))

    def fail(self, error: str) -> None:
        """It did not."""
        now = self._exchange.session.env.now()
        self.put(writing.failed(self._given, error, self.start or now, now, self._metadata()))

    def put(self, state: Json) -> None:
        """Writes it in a state."""
        self._part = self._exchange.part(writing.tool(self.id, self._tool, state), self._part)

    def _metadata(self) -> Json | None:
        return None if self.child is None else {"childSessionID": self.child}
