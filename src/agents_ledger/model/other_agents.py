"""Agents whose sessions no format reads yet: which of them has probably written a file."""

import re

# Where their files lie, or what they are called.
_PLACES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("aider", re.compile(r"/\.aider\.(?:chat|llm|input)\.history")),
    ("Roo Code", re.compile(r"/rooveterinaryinc\.roo-cline/")),
    ("Kilo Code", re.compile(r"/kilocode\.kilo-code/|/\.local/share/kilo/")),
    ("Cline", re.compile(r"/saoudrizwan\.claude-dev/|/\.cline/")),
    ("Copilot CLI", re.compile(r"/\.copilot/")),
    ("Copilot Chat", re.compile(r"/workspaceStorage/[^/]+/chatSessions/|/github\.copilot-chat/")),
    ("Factory Droid", re.compile(r"/\.factory/")),
    ("Kiro", re.compile(r"/\.kiro/|/kiro-cli/|/kiro\.kiroagent/")),
    ("Goose", re.compile(r"/goose/sessions/")),
    ("Hermes", re.compile(r"/\.hermes/")),
    ("Antigravity", re.compile(r"/\.gemini/antigravity|/Antigravity/")),
    ("Kimi", re.compile(r"/\.kimi(?:-code)?/")),
    ("Grok Build", re.compile(r"/\.grok/")),
    ("Amp", re.compile(r"/amp/threads/T-")),
    ("Continue", re.compile(r"/\.continue/sessions/")),
    ("Zed", re.compile(r"/threads/threads\.db$")),
    ("Crush", re.compile(r"/\.?crush/crush\.db$")),
    ("SWE-agent", re.compile(r"\.traj$")),
    ("Cline", re.compile(r"/(?:api_conversation_history|ui_messages)\.json$")),
)
# What they begin with.
_CONTENTS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("aider", re.compile(rb"(?:^|\n)# aider chat started at \d{4}-|(?:^|\n)> Aider v\d")),
    ("Copilot CLI", re.compile(rb'"producer"\s{0,8}:\s{0,8}"copilot-agent"|"copilotVersion"\s{0,8}:')),
    (
        "SWE-agent",
        re.compile(rb'"trajectory"\s{0,8}:\s{0,8}\[\s{0,40}\{\s{0,40}"(?:action|observation|response|query)"\s{0,8}:'),
    ),
    ("Cline", re.compile(rb'"say"\s{0,8}:\s{0,8}"api_req_started"')),
    ("Factory Droid", re.compile(rb'^\s{0,40}\{"type"\s{0,8}:\s{0,8}"session_start"')),
    ("Kiro", re.compile(rb'"conversation_id"\s{0,8}:\s{0,8}"[^"]{1,80}",\s{0,40}"next_message"')),
    ("ChatGPT", re.compile(rb'"mapping"\s{0,8}:\s{0,8}\{\s{0,40}"[^"]{1,80}"\s{0,8}:\s{0,8}\{\s{0,40}"id"')),
    ("Claude.ai", re.compile(rb'"chat_messages"\s{0,8}:\s{0,8}\[')),
    ("Amp", re.compile(rb'^\s{0,40}\{\s{0,40}"v"\s{0,8}:\s{0,8}\d{1,6},\s{0,40}"id"\s{0,8}:\s{0,8}"T-')),
)


def likely_agent(path: str, head: bytes) -> str | None:
    """The agent that has probably written a file, by its path and its first bytes."""
    path = path.replace("\\", "/")
    by_place = next((agent for agent, pattern in _PLACES if pattern.search(path)), None)
    return by_place or next((agent for agent, pattern in _CONTENTS if pattern.search(head)), None)
