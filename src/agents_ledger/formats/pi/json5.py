"""JSON5 as JSON: openclaw reads its index so, and people edit it by hand."""

import json
import re

_PIECE = re.compile(
    r"""(?P<space>\s+|\ufeff|//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<mark>[{}\[\]:,])"""
    r"""|"(?P<double>(?:[^"\\\n]|\\.)*)"|'(?P<single>(?:[^'\\\n]|\\.)*)'"""
    r"""|(?P<hex>[+-]?0[xX][0-9a-fA-F]{1,32})"""
    r"""|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"""
    r"""|(?P<none>[+-]?(?:Infinity|NaN)\b)"""
    r"""|(?P<word>[A-Za-z_$][\w$]*)""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_PLAIN = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0"} | dict.fromkeys(
    ("\n", "\r", "\r\n", "\u2028", "\u2029"), ""
)


def to_json(text: str) -> str | None:
    """The same value as JSON (what JSON cannot say is null); None if it is not JSON5 either."""
    out: list[str] = []
    at, bare = 0, ""  # bare: the last piece as it was written, if it had no quotes
    while at < len(text):
        match = _PIECE.match(text, at)
        if match is None:
            return None
        at = match.end()
        kind = match.lastgroup or ""
        if kind == "space":
            continue
        piece = match[kind]
        if kind == "mark":
            if piece in "}]" and out and out[-1] == ",":
                out.pop()
            elif piece == ":" and bare:
                out[-1] = json.dumps(bare)  # a key
            out.append(piece)
            bare = ""
        else:
            out.append(_value(kind, piece))
            bare = "" if kind in ("double", "single") else piece
    return "".join(out)


def _value(kind: str, piece: str) -> str:
    """One piece, as JSON writes it."""
    if kind in ("double", "single"):
        return json.dumps(_ESCAPE.sub(_unescaped, piece))
    if kind == "hex":
        return str(int(piece, 16))
    if kind == "none":
        return "null"
    if kind == "number":
        sign, digits = ("-", piece[1:]) if piece[0] == "-" else ("", piece.lstrip("+"))
        digits = "0" + digits if digits[0] == "." else digits
        return sign + re.sub(r"\.(?!\d)", "", digits)
    return piece


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _PLAIN.get(match[3], match[3])
