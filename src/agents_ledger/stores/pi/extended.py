"""The fields that Nexus has on messages and sessions besides pi's own, as the seed lists them."""

from typing import Any

from msgspec import Struct, structs

Json = dict[str, Any]


class Extended(Struct, frozen=True, rename="camel", kw_only=True):
    """What Nexus says about a message."""

    checkpoint_id: str | None = None
    context: Json | None = None  # fileSelections, folderSelections, mentions, recentLocations
    is_agentic: bool | None = None
    is_plan_execution: bool | None = None
    tool_calls: list[Json] | None = None  # id, name, params, status, result, childSessionId
    tool_result: Json | None = None
    token_count: Json | None = None  # inputTokens, outputTokens
    active_rules: list[str] | None = None

    def fields(self) -> Json:
        """Those that are said, by the names that they have in a file."""
        names = zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True)
        values = structs.asdict(self)
        return {key: values[name] for name, key in names if values[name] is not None}
