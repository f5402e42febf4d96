"""Agents whose sessions no format reads yet: which of them has probably written a file."""

import re

# Where their files lie, or what they are called.
_PLACES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (agent, re.compile(pattern))
    for agent, pattern in (
        ("aider", r"/\.aider\.(?:chat|llm|input)\.history"),
        ("Roo Code", r"/rooveterinaryinc\.roo-cline/"),
        ("Kilo Code", r"/kilocode\.kilo-code/|/\.local/share/kilo/"),
        ("Cline", r"/saoudrizwan\.claude-dev/|/\.cline/"),
        ("Copilot CLI", r"/\.copilot/"),
        ("Copilot Chat", r"/workspaceStorage/[^/]+/chatSessions/|/github\.copilot-chat/"),
        ("Factory Droid", r"/\.factory/"),
        ("Kiro", r"/\.kiro/|/kiro-cli/|/kiro\.kiroagent/"),
        ("Goose", r"/goose/sessions/"),
        ("Hermes", r"/\.hermes/"),
        ("Antigravity", r"/\.gemini/antigravity|/Antigravity/"),
        ("Kimi", r"/\.kimi(?:-code)?/"),
        ("Grok Build", r"/\.grok/"),
        ("Amp", r"/amp/threads/T-"),
        ("Continue", r"/\.continue/sessions/"),
        ("Zed", r"/threads/threads\.db$"),
        ("Crush", r"/\.?crush/crush\.db$"),
        ("SWE-agent", r"\.traj$"),
        ("Cline", r"/(?:api_conversation_history|ui_messages)\.json$"),
    )
)
# What they begin with.
_CONTENTS: tuple[tuple[str, re.Pattern[bytes]], ...] = tuple(
    (agent, re.compile(pattern))
    for agent, pattern in (
        ("aider", rb"(?:^|\n)# aider chat started at \d{4}-|(?:^|\n)> Aider v\d"),
        ("Copilot CLI", rb'"producer"\s{0,8}:\s{0,8}"copilot-agent"|"copilotVersion"\s{0,8}:'),
        (
            "SWE-agent",
            rb'"trajectory"\s{0,8}:\s{0,8}\[\s{0,40}\{\s{0,40}"(?:action|observation|response|query)"\s{0,8}:',
        ),
        ("Cline", rb'"say"\s{0,8}:\s{0,8}"api_req_started"'),
        ("Factory Droid", rb'^\s{0,40}\{"type"\s{0,8}:\s{0,8}"session_start"'),
        ("Kiro", rb'"conversation_id"\s{0,8}:\s{0,8}"[^"]{1,80}",\s{0,40}"next_message"'),
        ("ChatGPT", rb'"mapping"\s{0,8}:\s{0,8}\{\s{0,40}"[^"]{1,80}"\s{0,8}:\s{0,8}\{\s{0,40}"id"'),
        ("Claude.ai", rb'"chat_messages"\s{0,8}:\s{0,8}\['),
        ("Amp", rb'^\s{0,40}\{\s{0,40}"v"\s{0,8}:\s{0,8}\d{1,6},\s{0,40}"id"\s{0,8}:\s{0,8}"T-'),
    )
)


def likely_agent(path: str, head: bytes) -> str | None:
    """The agent that has probably written a file, by its path and its first bytes."""
    path = path.replace("\\", "/")
    by_place = next((agent for agent, pattern in _PLACES if pattern.search(path)), None)
    return by_place or next((agent for agent, pattern in _CONTENTS if pattern.search(head)), None)
