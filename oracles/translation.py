"""What docs/forking.md says becomes of a history in another agent: written down a second time, over what was sent."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from oracles.conversation import Item, Json

# tool and parameters, by agent and meaning
RUN = {"claude-code": ("Bash", "command"), "codex": ("exec_command", "cmd"), "pi": ("bash", "command")}
RUN |= {"qwen": ("run_shell_command", "command"), "opencode": ("bash", "command")}
RUN |= {"gemini": ("run_shell_command", "command"), "openclaw": ("exec", "command")}
READ = {"claude-code": ("Read", "file_path"), "pi": ("read", "path")}
READ |= {"qwen": ("read_file", "file_path"), "opencode": ("read", "filePath")}
READ |= {"gemini": ("read_file", "file_path"), "openclaw": ("read", "path")}
PI_LIKE = ("pi", "openclaw")
SPACES = {"spawn_agent": "multi_agent_v1", "wait_agent": "multi_agent_v1"}
SUMMARY = Item("user", "text", "(a summary)")
_CALL = re.compile(r"\[call: (\S+) (.*)\]", re.DOTALL)


def translated(items: list[Item], source: str, target: str) -> list[Item]:
    """A history that one agent sent, as another one is to send it."""
    told: list[Item] = []
    names: dict[str, str] = {}  # calls that become text
    for item in items:
        told += _item(item, source, target, names)
    return summarised(told)


def summarised(items: list[Item]) -> list[Item]:
    """The same with a mark for the summary, which each agent wraps in words of its own and puts where it likes."""
    rest = [item for item in items if not _is_summary(item)]
    return [*([SUMMARY] if len(rest) < len(items) else []), *map(_stripped, rest)]


def _item(item: Item, source: str, target: str, names: dict[str, str]) -> Iterator[Item]:
    if item.kind == "thinking":
        yield from _thought(item, source, target)
    elif item.kind == "call":
        yield _call(item, source, target, names)
    elif item.kind == "result" and item.id in names:
        yield Item("user", "text", f"[result: {names[item.id]}]")
        yield Item("user", "image" if item.text.startswith("[image ") else "text", item.text)
    elif item.kind == "result" and target in PI_LIKE and item.text.startswith("[image "):
        yield replace(item, text=f"(see attached image)\n{item.text}")  # pi's own words
    else:
        yield item


def _thought(item: Item, source: str, target: str) -> Iterator[Item]:
    """As text; pi does that by itself, and Claude Code drops what another model signed for its own API."""
    if target in PI_LIKE:
        yield Item("assistant", "text", item.text)
    elif (source, target) != ("pi", "claude-code"):
        yield Item("assistant", "text", f"<thinking>\n{item.text}\n</thinking>")


def _call(item: Item, source: str, target: str, names: dict[str, str]) -> Item:
    given: Json = json.loads(item.text)
    for meaning in (RUN, READ):
        if meaning.get(source, ("", ""))[0] == item.name and target in meaning:
            tool, parameter = meaning[target]
            return replace(item, name=tool, text=json.dumps({parameter: given[meaning[source][1]]}))
    space = SPACES.get(item.name)
    names[item.id] = f"{space}.{item.name}" if space else item.name
    return Item("assistant", "text", f"[call: {names[item.id]} {json.dumps(given, sort_keys=True)}]")


def _is_summary(item: Item) -> bool:
    return item.role == "user" and item.kind == "text" and "FAKE SUMMARY" in item.text


def _stripped(item: Item) -> Item:
    """Without white space around it, and with parameters in one order."""
    text = item.text.strip()
    if item.kind == "text" and (found := _CALL.fullmatch(text)):
        text = f"[call: {found[1]} {json.dumps(json.loads(found[2]), sort_keys=True)}]"
    return replace(item, text=text)
