"""A model that says what its prompt tells it to say: for running real agents without any real model.

It speaks the streams of Anthropic Messages, OpenAI Responses, Chat Completions and Gemini, on loopback only. The script
travels in the prompt, so the server knows nothing of any conversation: `FAKE:` and a JSON list of steps, one step an
answer. The last prompt that holds a script counts, and the answers after it say which step is next; so requests on the
side (titles, counts) use up no step, and a resumed or forked session plays what its own history says. A step may hold:

    {"text": "..."}  {"think": "..."}       what it says, and thinks before
    {"shell": "echo hi"}                    a call of the tool that runs commands, whatever its name
    {"read": path}  {"task": prompt}        a call of the tool that reads a file, or that starts a subagent
    {"tool": name, "args": {...}}           a call by name
    {"tools": [{...}, {...}]}               several such calls in one answer
    {"usage": {"input": 190000}}            what it says to have cost: input, cached, cache_write, output, reasoning
    {"hold": fifo}                          sends half of the answer, says so on the pipe, and no more

In a command, {call} stands for the call's own id.
Without a script it says "ok", and when it is asked for a summary, "FAKE SUMMARY".
"""

import argparse
import fcntl
import hashlib
import json
import re
import socket
import struct
import sys
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from urllib.parse import urlsplit

from oracles.conversation import Item, Json, Tool, answers, history, system_prompt, tools
from oracles.wire import Call, Reply, events, whole_chat, whole_gemini

MARK = "FAKE:"
CALL_ID = "{call}"
SUMMARY = "FAKE SUMMARY"
EVENT = "[OpenClaw runtime event]"  # a subagent has ended: told before the next question, and never written down
_ROUTES = {"/messages": "anthropic", "/chat/completions": "chat", "/responses": "responses"}
_ROUTES |= {":streamGenerateContent": "gemini", ":generateContent": "gemini"}
_TOOLS = {
    "shell": ("Bash", "bash", "exec_command", "shell_command", "shell", "exec", "run_shell_command"),
    "read": ("Read", "read", "read_file"),
    "task": ("Agent", "Task", "spawn_agent", "sessions_spawn", "agent", "task"),
}
_ARGUMENTS = {
    "shell": ("command", "cmd"),
    "read": ("file_path", "filePath", "path"),
    "task": ("prompt", "message", "task"),
}
_FILLING: Json = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}
_ASKS_SUMMARY = re.compile(
    r"detailed summary|structured (context )?(checkpoint )?summary|context checkpoint|handoff", re.IGNORECASE
)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


def script(prompt: str, *steps: Json) -> str:
    """A prompt with the model's part in it."""
    return f"{prompt} {MARK}{json.dumps(steps)}" if steps else prompt


def next_step(items: list[Item], offered: dict[str, Tool], system: str) -> Json:
    """What the model does next, by the history it was sent."""
    asked = _asked(items)
    if _wants_summary(asked, offered, system):
        return {"text": f"<summary>\n{SUMMARY} of {answers(items)} answers.\n</summary>"}
    place = max((n for n, item in enumerate(items) if _is_prompt(item) and _steps(item.text)), default=None)
    if place is not None:
        steps = _steps(items[place].text)
        after = items[place + 1 :]
        if answers(after) < len(steps) and not any(SUMMARY in item.text for item in after):
            step: Json = steps[answers(after)]
            return step if offered or not _wishes(step) else {"text": "Fake title"}
    return {"text": f"ok #{answers(items)}: {asked.split(MARK)[0][:80]}"}


def calls(step: Json, offered: dict[str, Tool], seed: str) -> list[Call]:
    """The calls of a step, made for the tools that the agent really offers."""
    made = []
    for number, (kind, wish) in enumerate(_wishes(step)):
        name = (
            wish["tool"] if kind == "tool" else next((one for one in _TOOLS[kind] if one in offered), f"no {kind} tool")
        )
        tool = offered.get(name, Tool(name, {}))
        call_id = f"{seed}{number:02d}"
        wanted = wish.get(kind, "").replace(CALL_ID, call_id)
        arguments = wish.get("args", {}) if kind == "tool" else _arguments(kind, wanted, tool.schema)
        made.append(Call(call_id, name, arguments, tool.namespace))
    return made


def _wishes(step: Json) -> list[tuple[str, Json]]:
    found = [("tool" if "tool" in one else next(iter(one)), one) for one in step.get("tools", [])]
    return found + [(kind, step) for kind in (*_TOOLS, "tool") if kind in step]


def _arguments(kind: str, value: str, schema: Json) -> Json:
    properties = schema.get("properties", {})
    key = next((one for one in _ARGUMENTS[kind] if one in properties), _ARGUMENTS[kind][0])
    needs_list = properties.get(key, {}).get("type") == "array"
    given: Json = {key: ["bash", "-lc", value] if needs_list else value}
    if "subagent_type" in properties:
        given["subagent_type"] = "general-purpose"
    for name in schema.get("required", []):
        wanted = properties.get(name, {}).get("type")
        given.setdefault(name, _FILLING.get(wanted, f"fake_{name}") if isinstance(wanted, str) else f"fake_{name}")
    return given


def _question(text: str) -> str:
    """What was asked, without an event that openclaw put before it, in which a subagent's script may stand."""
    return text.rpartition("\n\n")[2] if EVENT in text else text


def _steps(text: str) -> list[Json]:
    """The script in a prompt; none, where only a piece of one is quoted (openclaw tells what a subagent was asked)."""
    try:
        steps, _ = json.JSONDecoder().raw_decode(_question(text).partition(MARK)[2])
    except ValueError:
        return []
    return steps if isinstance(steps, list) else []


def _is_prompt(item: Item) -> bool:
    return item.role == "user" and item.kind == "text"


def _asked(items: list[Item]) -> str:
    """The last thing that the user asked, without what the agent put around it."""
    texts = (_REMINDER.sub("", item.text).strip() for item in reversed(items) if _is_prompt(item))
    return next((text for text in texts if text), "")


def _wants_summary(asked: str, offered: dict[str, Tool], system: str) -> bool:
    if MARK in asked and offered:
        return False
    return bool(_ASKS_SUMMARY.search(asked[-6000:]) or (not offered and "summariz" in system[:4000]))


def _reply(number: int, body: Json, items: list[Item], step: Json, offered: dict[str, Tool]) -> Reply:
    spoken = json.dumps([asdict(item) for item in items])
    seed = hashlib.sha256(f"{number}|{spoken}".encode()).hexdigest()[:20]
    made = calls(step, offered, seed)
    text, thinking, usage = step.get("text", ""), step.get("think", ""), step.get("usage", {})
    total = usage.get("input", len(json.dumps(body)) // 4)
    cached = usage.get("cached", total * 4 // 5 if answers(items) else 0)
    reasoning = usage.get("reasoning", len(thinking) // 4)
    return Reply(
        id=seed,
        model=body.get("model", "fake-model"),
        thinking=thinking,
        text=text,
        calls=made,
        input=total,
        cached=cached,
        cache_write=usage.get("cache_write", (total - cached) * 3 // 4),
        output=usage.get("output", 7 + len(text) // 4 + 10 * len(made) + reasoning),
        reasoning=reasoning,
    )


class _Handler(BaseHTTPRequestHandler):
    """Answers one agent's connection."""

    protocol_version = "HTTP/1.1"
    server: "_Server"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Nothing: the request log is the record."""

    def do_HEAD(self) -> None:
        self._send_json({})

    def do_GET(self) -> None:
        is_list = urlsplit(self.path).path.endswith("/models")
        self._send_json({"object": "list", "data": [], "models": []} if is_list else {}, 200 if is_list else 404)

    def do_POST(self) -> None:
        path = urlsplit(self.path).path
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        api = next((api for end, api in _ROUTES.items() if path.endswith(end)), None)
        if api is None:
            is_count = path.endswith(("/count_tokens", ":countTokens"))
            self._send_json({"input_tokens": 100, "totalTokens": 100} if is_count else {}, 200 if is_count else 404)
            return
        items, offered, system = history(api, body), tools(api, body), system_prompt(api, body)
        step = next_step(items, offered, system)
        with self.server.lock:
            self.server.count += 1
            reply = _reply(self.server.count, body, items, step, offered)
            self.server.note(
                {
                    "api": api,
                    "path": self.path,
                    "model": body.get("model"),
                    "tools": sorted(offered),
                    "system": system,
                    "history": [asdict(item) for item in items],
                    "reply": asdict(reply),
                    "body": body,
                }
            )
        if api == "chat" and not body.get("stream"):
            self._send_json(whole_chat(reply))
        elif path.endswith(":generateContent"):
            self._send_json(whole_gemini(reply))
        else:
            self._send_stream(api, reply, step.get("hold"))

    def _send_json(self, value: Json, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _send_stream(self, api: str, reply: Reply, hold: str | None) -> None:
        self.close_connection = True  # the end of the stream is the end of the connection
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("request-id", f"req_{reply.id}")
        self.send_header("connection", "close")
        self.end_headers()
        stream = events(api, reply)
        for number, (name, data) in enumerate(stream):
            if hold and number == len(stream) // 2:
                Path(hold).write_text("held\n", encoding="utf-8")
                self.connection.recv(1)  # until the agent is gone
                return
            head = f"event: {name}\n" if name else ""
            self.wfile.write(f"{head}data: {json.dumps(data)}\n\n".encode())
            self.wfile.flush()
        if api == "chat":
            self.wfile.write(b"data: [DONE]\n\n")


class _Server(ThreadingHTTPServer):
    """The server, with its log."""

    daemon_threads = True

    def __init__(self, log: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock = Lock()
        self.count = 0
        self._log = log

    def note(self, request: Json) -> None:
        """Adds one request to the log."""
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(request) + "\n")

    def handle_error(self, request: object, client_address: object) -> None:
        """Says what went wrong, unless it is only that the agent went away."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


def _raise_loopback() -> None:
    """Switches on the loopback device, which is off in a new network namespace."""
    is_up = 1
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", is_up))  # SIOCSIFFLAGS


def main() -> None:
    """Serves until it is ended; says its port on the first line."""
    parser = argparse.ArgumentParser(description="a model that says what its prompt tells it to say")
    parser.add_argument("log", type=Path, help="where each request is noted, a JSON object a line")
    log = parser.parse_args().log
    _raise_loopback()
    server = _Server(log)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
