"""What is loaded when it is first used: a program that only looks whether files have changed needs no reader."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType


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
        self._name = module
        self._loaded: ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        """Whatever the module has now."""
        if self._loaded is None:
            self._loaded = import_module(self._name)
        return getattr(self._loaded, name)
