"""How many tokens something has, roughly, where nobody has counted them.

A quarter of the bytes in UTF-8, rounded up; for each message and call a few more, for each picture a fixed number.
Tokenizers differ by a third and more from this, in both directions; what is counted so is always marked as estimated.
"""

BYTES_A_TOKEN = 4
AROUND_A_MESSAGE = 4  # role, separators
A_PICTURE = 1_500  # about what a large one costs


def estimate(text: str | None) -> int:
    """The tokens of a text, roughly."""
    if not text:
        return 0
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // BYTES_A_TOKEN)


def fitted(text: str, tokens: int) -> str:
    """The beginning and the end of a text, so that it has at most so many tokens, and a word about what is missing."""
    if estimate(text) <= tokens:
        return text
    room = max(tokens, 0) * BYTES_A_TOKEN
    encoded = text.encode("utf-8", "replace")
    head, tail = encoded[: room * 2 // 3], encoded[len(encoded) - room // 3 :]
    left_out = len(encoded) - len(head) - len(tail)
    return f"{head.decode('utf-8', 'ignore')} … [{left_out:,} bytes left out] … {tail.decode('utf-8', 'ignore')}"
