"""Words of a text as the search index knows them: also of scripts without spaces, and of emoji.

Ordinary text is taken apart by the databases themselves: letters and digits are words, everything else stands between
them. Where a script has no spaces, each of its characters is a word here (`u6570`), so that a name inside a sentence is
found as a phrase; an emoji is a word, too.
"""

import re

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese characters
    "\uac00-\ud7a3"  # Korean has spaces, but endings grow on its words
    "\uff66-\uff9f"
)
_EMOJI = "\u231a\u231b\u2600-\u27bf\u2b50\u2b55\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff"
_WORD = re.compile("[a-z0-9]+")
_ASCII = bytes(range(128))
# compiled when first met (these take as long as the rest of a short command): most texts are ASCII
_SINGLE = f"[{_UNSPACED}{_EMOJI}]"
_SCRIPT = f"[{_UNSPACED}]"
_SIGN = f"[{_EMOJI}]"
_TOKEN = f"[{_UNSPACED}{_EMOJI}]|[^\\W_{_UNSPACED}{_EMOJI}]+"
_RUN = f"[{_UNSPACED}]+|[{_EMOJI}]|[^\\W_{_UNSPACED}{_EMOJI}]+"


def tokens(text: str) -> list[str]:
    """The words of a text, in their order, in small letters."""
    if text.isascii():
        return _WORD.findall(text.lower())
    return [_named(found) for found in re.findall(_TOKEN, text)]


def is_special(text: str) -> bool:
    """Whether there is something in a text that the databases' own words do not cover. Quick for most texts."""
    return not text.isascii() and re.search(_SINGLE, _beyond_ascii(text)) is not None


def is_unspaced(text: str) -> bool:
    """Whether a text has characters of a script without spaces."""
    return not text.isascii() and re.search(_SCRIPT, _beyond_ascii(text)) is not None


def _beyond_ascii(text: str) -> str:
    """The other characters of a text: taking out the many takes a sixth of the time of looking at each of them."""
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")


def pairs(text: str) -> list[str]:
    """The words of a text; where a script has no spaces, its characters in pairs."""
    found: list[str] = []
    for run in re.findall(_RUN, text):
        is_single = re.match(_SINGLE, run) is not None
        found += [run[at : at + 2] for at in range(max(len(run) - 1, 1))] if is_single else [run.lower()]
    return found


def special_words(text: str) -> str:
    """What is kept about such a text: all its words, or only its emoji (the words beside them are indexed anyway)."""
    if is_unspaced(text):
        return " ".join(tokens(text))
    return " ".join(dict.fromkeys(_named(sign) for sign in re.findall(_SIGN, _beyond_ascii(text))))


def _named(token: str) -> str:
    return f"u{ord(token):x}" if re.match(_SINGLE, token) else token.lower()
