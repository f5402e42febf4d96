"""The agents whose formats do not write their sessions, by name."""

from agents_ledger.exports.agents import gemini, opencode, qwen
from agents_ledger.model.writing import Native

NATIVES: dict[str, Native] = {gemini.AGENT: gemini.NATIVE, opencode.AGENT: opencode.NATIVE, qwen.AGENT: qwen.NATIVE}
