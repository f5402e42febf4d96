"""A message that is being spoken, and what of it is not written yet."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from agents_ledger.errors import BadInput
from agents_ledger.model.rows import OriginalRow
from agents_ledger.model.texts import readable
from agents_ledger.store import Tx

_FLUSH_S = 0.25
_FLUSH_CHARS = 8192
_AGAIN_S = 1.0  # after words could not be written


class Draft:
    """Gathers pieces of text and of thinking, and says when it is time to write them."""

    def __init__(self, message_id: str, text: str, thinking: str) -> None:
        self.message_id = message_id
        self._text = [text]
        self._thinking = [thinking]
        self._waiting = 0
        self._size = len(text) + len(thinking)
        self._written_at = time.monotonic()
        self.due_at: float | None = None  # by when what waits is to be written

    @property
    def is_changed(self) -> bool:
        """Whether something waits to be written."""
        return self._waiting > 0

    def add(self, text: str, thinking: str) -> bool:
        """Whether it is time to write."""
        self._text.append(text)
        self._thinking.append(thinking)
        self._waiting += len(text) + len(thinking)
        self._size += len(text) + len(thinking)
        now = time.monotonic()
        if self.due_at is None and self._waiting:
            self.due_at = now + _FLUSH_S
        # The larger the message, the rarer it is rewritten: the work stays linear in its length.
        large = self._waiting >= max(_FLUSH_CHARS, self._size // 8)
        return large or now - self._written_at >= _FLUSH_S

    def take_back(self, text: str, thinking: str) -> None:
        """Forgets the newest piece."""
        self._text.pop()
        self._thinking.pop()
        self._waiting -= len(text) + len(thinking)
        self._size -= len(text) + len(thinking)
        if not self._waiting:
            self.due_at = None

    @contextmanager
    def with_thinking(self, thinking: str) -> Iterator[None]:
        """What was thought, beside the words that were streamed; what can't be written is to be said once more."""
        if not isinstance(thinking, str):
            raise no_text(thinking)
        self.add("", thinking)
        try:
            yield
        except BaseException:
            self.take_back("", thinking)
            raise

    def write(self, tx: Tx, turn_id: str, root_id: str) -> None:
        """Writes the message as it is now."""
        content, lost = readable("".join(self._text))
        thinking, lost_thinking = readable("".join(self._thinking))
        pairs = (("content", lost), ("thinking", lost_thinking))
        originals = [OriginalRow(self.message_id, field, raw, turn_id, root_id) for field, raw in pairs if raw]
        if originals:
            tx.run_all("insert_original", originals)
        tx.run(
            "update_message",
            id=self.message_id,
            content=content,
            thinking=thinking or None,
            lossy=int(bool(originals)),
        )

    def flushed(self) -> None:
        """Everything is written."""
        self._waiting = 0
        self._written_at = time.monotonic()
        self.due_at = None

    def put_off(self) -> None:
        """It could not be written: it is tried again a little later."""
        self.due_at = time.monotonic() + _AGAIN_S


def no_text(piece: object) -> BadInput:
    """What is said of pieces that are no text."""
    return BadInput(f"only text can be streamed, not {type(piece).__name__}: decode or convert it first")
