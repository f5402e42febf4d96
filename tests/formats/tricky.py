"""Texts that are JSON, nearly JSON, or not at all: what parsers are known to trip over."""

_NUMBERS = (
    "0 -0 -0.0 0.0 1 -1 01 -01 00 1. .1 -.1 1.e1 1e 1e+ 1e- 1e1 1E1 1E+1 1e-1 1e999 -1e999 1e-999 0e0 0e+ 0E 1eE2 1+2 "
    "0x42 0b1 0o7 1_000 +1 ++1 - -- +Inf Inf -Inf Infinity -Infinity NaN -NaN nan -nan 1a -1x 1.2.3 1,2 1-1 "
    "9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 18446744073709551615 "
    "18446744073709551616 9007199254740993 123456789012345678901234567890 1.7976931348623157e308 5e-324 4.9e-325 "
    "0.1000000000000000055511151231257827 123.456e-789 -123123e100000 100000000000000000000.0 1e1000000000"
)
_WORDS = "null true false nul nulL Null True TRUE fals undefined void none a 'a' `a` // # * & ( ) @ ~ \\ / ? ! = ; _"
_OPEN = (
    '[ ] { } [[ ]] [} {] {{ }} [, ,] [,] {,} [1,] [,1] [1,,2] [1 2] [1:2] [1;2] {1} {1:2} {"a"} {"a":} {"a",1} {:1} '
    '{"a":1,} {"a":1,,"b":2} {"a":1"b":2} {"a":1;"b":2} {"a"::1} {"a":1:2} {a:1} {\'a\':1} {"a":1}} {"a":1}] [1]] '
    '[1]} {"a":[} {"a":{} {"a":1}{"b":2} {"a":1}[1] [1][2] 1{} {}1 {}{}{} {},{} [],[] "a""b" {"a":1}# {"a":1}//x '
    '{"a":1}/**/ /**/{} {"a":/*x*/1} {"a":"b"}x x{"a":"b"} null{} {}null [][] [{}] [[]] {"":0} {"":{}} '
    '{"a":{"a":{"a":{}}}} []{}'
)
_STRINGS = (
    '" "" "a "\\" "\\\\" "\\\\\\" "\\a" "\\x00" "\\u" "\\u0" "\\u00" "\\u000" "\\u000g" "\\u0000" "\\u0022" "\\ud800" '
    '"\\udfff" "\\ud800\\udc00" "\\udc00\\ud800" "\\ud800\\ud800" "\\ud800a" "\\ud83d\\ude00" "\\U0001F600" "\\uD8FF" '
    '"\\uFFFE" "\\uFFFF" "\\u202e" "\\u2028" "\\u200b" "\\b\\f\\n\\r\\t" "\\/" "\\0" "\\\'" "\\v" "\\u-123" "\\u+123" '
    '{"\\u0000":1} {"\\ud800":1} {"a":"\\ud800"} {"a\\u0000b":"\\u0000"} ["\\u0000","\\udead"]'
)
_BYTES = (
    b"",
    b" ",
    b"\x00",
    b"\x00{}",
    b"{}\x00",
    b'{"a":"\x00"}',
    b'{"a":"\x01\x1f\x7f"}',
    b'{"a":"line\nend"}',
    b'{"a":"tab\there"}',
    b'{"a":\r1}',
    b"\x0c{}",
    b"\xc2\xa0{}",
    b"\xe2\x80\x8b{}",
    b"\xe2\x81\xa0[]",
    b"\xef\xbb\xbf",
    b"\xef\xbb\xbf{}",
    b'\xef\xbb\xbf\xef\xbb\xbf{"type":"user"}',
    b"\xef\xbb{}",
    b"\xff\xfe{\x00}\x00",
    b"\xfe\xff\x00{\x00}",
    b'{"a":"\xff"}',
    b'{"a":"\xc3"}',
    b'{"a":"\xc0\xaf"}',
    b'{"a":"\xe0\x80\x80"}',
    b'{"a":"\xed\xa0\x80"}',
    b'{"a":"\xed\xa0\xbd\xed\xb8\x80"}',
    b'{"a":"\xf4\x90\x80\x80"}',
    b'{"a":"\xf8\x88\x80\x80\x80"}',
    b'{"\xff":1}',
    b"\xff",
    b"\x80",
    b"[\xff]",
    b'{"a":1,"a":2}',
    b'{"type":"user","type":7}',
    b'{"type":"session","type":"message","id":1,"id":"x"}',
    b'{"__proto__":{"a":1}}',
    b'{"constructor":null,"toString":1}',
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
    b"\x28\xb5\x2f\xfd\x00\x00",
    b"SQLite format 3\x00",
    b"PK\x03\x04",
    b"%PDF-1.7",
    b"<html></html>",
    b"---\na: 1\n",
    b"data: {}\n\n",
)


def _large() -> tuple[bytes, ...]:
    """Deep, long and wide ones."""
    return (
        b"[" * 10_000,
        b"[" * 10_000 + b"]" * 10_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b'[{"a":' * 5_000,
        b'{"type":"user","message":' * 950 + b"1" + b"}" * 950,
        b'{"message":{"content":' + b"[" * 880 + b"]" * 880 + b"}}",
        b'{"payload":' + b'{"x":' * 890 + b"null" + b"}" * 891,
        b'{"a":"' + b"[" * 5_000 + b'"}',
        b"1" * 5_000,
        b"-" + b"9" * 20_000,
        b"0." + b"3" * 20_000,
        b"1e" + b"9" * 5_000,
        b'"' + b"a" * 200_000 + b'"',
        b'{"id":"' + b"i" * 200_000 + b'"}',
        b'{"type":"' + b"t" * 50_000 + b'","id":"x"}',
        b'{"a":"' + b"\\u0000" * 10_000 + b'"}',
        b'{"a":"' + b"\\ud800" * 10_000 + b'"}',
        b"{" + b",".join(b'"k%d":%d' % (at, at) for at in range(20_000)) + b"}",
        b"[" + b",".join([b"{}"] * 20_000) + b"]",
        b"{}" * 3_000,
        b" " * 50_000 + b"{}",
    )


TEXTS: tuple[bytes, ...] = (
    *(word.encode() for word in f"{_NUMBERS} {_WORDS} {_OPEN} {_STRINGS}".split()),
    *_BYTES,
)
VALUES: tuple[bytes, ...] = tuple(
    b'{"type":%s,"id":%s}' % (text.encode(), text.encode()) for text in f"{_NUMBERS} {_WORDS}".split()
)
LARGE: tuple[bytes, ...] = _large()
