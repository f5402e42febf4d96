"""What is loaded when it is first used: a program that only looks whether files have changed needs no reader."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def later(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is loaded when the function is called for the first time."""
    found: Callable[..., Any] | None = None

    def call(*given: Any) -> Any:
        nonlocal found
        if found is None:
            found = getattr(import_module(module), name)
        return found(*given)

    return call


class Later:
    """A module that is loaded when something of it is first asked for; from any thread."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        """Whatever the module has now."""
        loaded = import_module(self.__dict__.get("_module") or self.__name__)
        # From now on this is the module, without a call of ours for each thing of it that a turn needs.
        self.__dict__ = loaded.__dict__
        return getattr(loaded, name)
