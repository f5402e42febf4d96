"""What the APIs ask of a request: shapes as JSON Schema, and the rules that no schema can say."""

from typing import Any

import fastjsonschema

Json = dict[str, Any]

_TEXT = {"type": "string", "pattern": "\\S"}
_ID = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,40}$"}
_NAME = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_-]{0,63}$"}
_MEDIA = {"enum": ["image/png", "image/jpeg", "image/gif", "image/webp"]}


def _closed(kind: str | None = None, optional: tuple[str, ...] = (), **fields: Any) -> Json:
    """An object with these fields and no others."""
    known = fields if kind is None else {"type": {"const": kind}, **fields}
    return {
        "type": "object",
        "properties": known,
        "required": [name for name in known if name not in optional],
        "additionalProperties": False,
    }


def _list(*kinds: Json) -> Json:
    return {"type": "array", "minItems": 1, "items": {"oneOf": list(kinds)}}


# Anthropic
_A_TEXT = _closed("text", text=_TEXT)
_BASE64 = _closed("base64", media_type=_MEDIA, data=_TEXT)
_A_IMAGE = _closed("image", source={"oneOf": [_BASE64, _closed("url", url=_TEXT)]})
_A_RESULT = _closed(
    "tool_result",
    ("content", "is_error"),
    tool_use_id=_ID,
    content=_list(_A_TEXT, _A_IMAGE),
    is_error={"type": "boolean"},
)
_A_SAID = _closed(role={"const": "user"}, content=_list(_A_TEXT, _A_IMAGE, _A_RESULT))
_A_ANSWER = _closed(
    role={"const": "assistant"},
    content=_list(
        _A_TEXT,
        _closed("thinking", thinking={"type": "string"}, signature=_TEXT),
        _closed("redacted_thinking", data=_TEXT),
        _closed("tool_use", id=_ID, name=_NAME, input={"type": "object"}),
    ),
)
_ANTHROPIC = _closed(
    optional=("system", "tools"),
    model=_TEXT,
    max_tokens={"type": "integer", "minimum": 1},
    system=_TEXT,
    messages={"type": "array", "items": {"oneOf": [_A_SAID, _A_ANSWER]}},
    tools=_list(_closed(name=_NAME, input_schema={"type": "object"})),
)

# OpenAI's chat completions
_O_PARTS = {
    "oneOf": [
        {"type": "string"},
        _list(_closed("text", text=_TEXT), _closed("image_url", image_url=_closed(url=_TEXT))),
    ]
}
_O_CALL = _closed("function", id=_ID, function=_closed(name=_NAME, arguments=_TEXT))
_OPENAI = _closed(
    optional=("tools",),
    model=_TEXT,
    messages={
        "type": "array",
        "items": {
            "oneOf": [
                _closed(role={"enum": ["system", "user"]}, content=_O_PARTS),
                _closed(
                    None,
                    ("tool_calls",),
                    role={"const": "assistant"},
                    content={"type": ["string", "null"]},
                    tool_calls=_list(_O_CALL),
                ),
                _closed(role={"const": "tool"}, tool_call_id=_ID, content={"type": "string"}),
            ]
        },
    },
    tools=_list(_closed("function", function=_closed(name=_NAME, parameters={"type": "object"}))),
)

# OpenAI's responses
_R_IMAGE = _closed("input_image", detail={"const": "auto"}, image_url=_TEXT)
_R_INPUT = _list(_closed("input_text", text=_TEXT), _R_IMAGE)
_RESPONSES = _closed(
    optional=("instructions", "tools"),
    model=_TEXT,
    instructions=_TEXT,
    store={"const": False},
    include={"const": ["reasoning.encrypted_content"]},
    input={
        "type": "array",
        "items": {
            "oneOf": [
                _closed("message", role={"enum": ["system", "user"]}, content=_R_INPUT),
                _closed("message", role={"const": "assistant"}, content=_TEXT),
                _closed(
                    "reasoning",
                    ("id",),
                    id=_TEXT,
                    summary={"type": "array", "items": _closed("summary_text", text=_TEXT)},
                    encrypted_content=_TEXT,
                ),
                _closed("function_call", call_id=_ID, name=_NAME, arguments=_TEXT),
                _closed("function_call_output", call_id=_ID, output={"oneOf": [{"type": "string"}, _R_INPUT]}),
            ]
        },
    },
    tools=_list(_closed("function", name=_NAME, parameters={"type": "object"}, strict={"const": False})),
)

# Gemini
_G_CALL = _closed(id=_ID, name=_NAME, args={"type": "object"})
_G_PART = {
    "oneOf": [
        _closed(text=_TEXT),
        _closed(text=_TEXT, thought={"const": True}, thoughtSignature=_TEXT),
        _closed(inlineData=_closed(mimeType=_MEDIA, data=_TEXT)),
        _closed(None, ("thoughtSignature",), functionCall=_G_CALL, thoughtSignature=_TEXT),
        _closed(functionResponse=_closed(id=_ID, name=_NAME, response={"type": "object"})),
    ]
}
_GEMINI = _closed(
    optional=("systemInstruction", "tools"),
    systemInstruction=_closed(parts=_list(_closed(text=_TEXT))),
    contents={
        "type": "array",
        "items": _closed(role={"enum": ["user", "model"]}, parts={"type": "array", "minItems": 1, "items": _G_PART}),
    },
    tools=_list(_closed(functionDeclarations=_list(_closed(name=_NAME, description=_TEXT)))),
)

_CHECKS = {
    name: fastjsonschema.compile(schema)
    for name, schema in {
        "anthropic": _ANTHROPIC,
        "openai": _OPENAI,
        "openai-responses": _RESPONSES,
        "gemini-api": _GEMINI,
    }.items()
}


def assert_valid(target: str, body: Json) -> None:
    """Fails unless the API would take the request."""
    _CHECKS[target](body)
    _RULES[target](body)


def _anthropic(body: Json) -> None:
    _in_turn([message["role"] for message in body["messages"]], "user", "assistant")
    waiting: list[str] = []
    seen: set[str] = set()
    for message in body["messages"]:
        kinds = [block["type"] for block in message["content"]]
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert results == waiting, "each call is answered in the next message, once"
        assert all(kind == "tool_result" for kind in kinds[: len(results)]), "results come first"
        waiting = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        assert not seen & set(waiting)
        assert len(set(waiting)) == len(waiting)
        seen |= set(waiting)
    assert not waiting
    _named({each["name"] for each in body.get("tools", [])}, body["messages"], "tool_use")


def _openai(body: Json) -> None:
    waiting: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0), "results stand behind their calls, in order"
        else:
            assert not waiting
            waiting = [call["id"] for call in message.get("tool_calls", [])]
            assert message.get("content") or waiting
    assert not waiting


def _responses(body: Json) -> None:
    calls = [item["call_id"] for item in body["input"] if item["type"] == "function_call"]
    outputs = [item["call_id"] for item in body["input"] if item["type"] == "function_call_output"]
    assert sorted(calls) == sorted(outputs)
    assert len(set(calls)) == len(calls)
    kinds = [item["type"] for item in body["input"]]
    assert "reasoning" not in kinds[-1:], "something must follow reasoning"


def _gemini(body: Json) -> None:
    _in_turn([content["role"] for content in body["contents"]], "user", "model")
    waiting: list[str] = []
    for content in body["contents"]:
        assert [part["functionResponse"]["id"] for part in content["parts"] if "functionResponse" in part] == waiting
        calls = [part for part in content["parts"] if "functionCall" in part]
        assert not calls or any("thoughtSignature" in part for part in content["parts"])
        waiting = [part["functionCall"]["id"] for part in calls]
    assert not waiting


def _in_turn(roles: list[str], first: str, second: str) -> None:
    assert roles == [first if at % 2 == 0 else second for at in range(len(roles))]


def _named(tools: set[str], messages: list[Json], kind: str) -> None:
    called = {block["name"] for message in messages for block in message["content"] if block["type"] == kind}
    assert called == tools


_RULES = {"anthropic": _anthropic, "openai": _openai, "openai-responses": _responses, "gemini-api": _gemini}
