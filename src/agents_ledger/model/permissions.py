"""Permissions: which were used without being granted. Agents write them down in many shapes, all are read alike."""

from typing import Any

_DEEPEST = 8
_ALL = ("*", "all")
_MODES = frozenset(("mode", "approval_policy", "sandbox_policy"))  # how an agent asks, not what it may do


def exceeding(used: Any, granted: Any) -> list[str]:
    """The permissions that were used and not granted; none, if it is not known what was granted or used."""
    if used is None or granted is None:
        return []
    given = set(names(granted))
    return [name for name in dict.fromkeys(names(used)) if not _is_covered(name, given)]


def names(value: Any, prefix: str = "", deep: int = 0) -> list[str]:
    """Permissions by name: `["read"]`, `{"read": true}`, `{"files": ["read"]}`, `"read,write"`."""
    if deep > _DEEPEST:
        return [f"{prefix}…"]
    if isinstance(value, str):
        return [f"{prefix}{part.strip()}" for part in value.split(",") if part.strip()]
    if isinstance(value, list):
        return [name for each in value for name in names(each, prefix, deep + 1)]
    if isinstance(value, dict):
        known = [(f"{prefix}{key}", inner) for key, inner in value.items() if key not in _MODES]
        return [name for key, inner in known for name in _named(key, inner, deep + 1)]
    return [] if value is None or isinstance(value, bool) else [f"{prefix}{value}"]


def writable_folders(granted: Any) -> list[str]:
    """The folders that a sandbox lets an agent write to beside its workspace (Codex: `writable_roots`)."""
    policy = granted.get("sandbox_policy") if isinstance(granted, dict) else None
    roots = policy.get("writable_roots") if isinstance(policy, dict) else None
    return [root for root in roots if isinstance(root, str)] if isinstance(roots, list) else []


def _named(key: str, inner: Any, deep: int) -> list[str]:
    if isinstance(inner, bool) or inner is None:
        return [key] if inner else []
    return names(inner, f"{key}:", deep)


def _is_covered(name: str, granted: set[str]) -> bool:
    """Whether it is granted itself, as one of all, or of all of its kind: `files:read` by `files:*` and by `files`."""
    if name in granted or any(each in granted for each in _ALL):
        return True
    kind, colon, _ = name.partition(":")
    return bool(colon) and (kind in granted or f"{kind}:*" in granted or f"{kind}:all" in granted)
