"""Where the ledger is, and what machine this is: the only file that reads the environment and the home folder."""

import os
import sys
from typing import TYPE_CHECKING

from agents_ledger.errors import BadInput

if TYPE_CHECKING:
    from agents_ledger.model.formats import Machine
    from agents_ledger.model.summary import Summariser
    from agents_ledger.summarisers.dialects import Api

VARIABLE = "AGENTS_LEDGER_DB"
_DEBUG = "AGENTS_LEDGER_DEBUG"
_SUMMARISER = "AGENTS_LEDGER_SUMMARISER"
_APP = "agents-ledger"
_FILE = "ledger.db"
_LARGEST = 1e9


def ledger_url(given: str | None = None) -> str:
    """The ledger's URL: as given, else `AGENTS_LEDGER_DB`, else a file in the platform's data folder."""
    return given or os.environ.get(VARIABLE) or f"sqlite:///{data_folder()}{os.sep}{_FILE}"


def prepare_folder(url: str) -> None:
    """Makes the data folder, if that is where the ledger is to be; other folders are their owners' business."""
    if url == f"sqlite:///{data_folder()}{os.sep}{_FILE}" and not os.path.isdir(data_folder()):  # noqa: PTH112 - as below
        from pathlib import Path  # noqa: PLC0415 - once on each machine

        from agents_ledger.store.files import make_folders  # noqa: PLC0415 - as above

        make_folders(Path(data_folder()), mode=0o700)


def data_folder() -> str:
    """The platform's folder for this program's data."""
    places = {"darwin": "Library/Application Support", "win32": "AppData/Local"}
    return os.path.join(_folder("XDG_DATA_HOME", places.get(sys.platform, ".local/share")), _APP)  # noqa: PTH118 - instant


def prices_file() -> str:
    """Where prices that were looked up are kept for the next time."""
    places = {"darwin": "Library/Caches", "win32": "AppData/Local"}
    return os.path.join(_folder("XDG_CACHE_HOME", places.get(sys.platform, ".cache")), _APP, "prices.json")  # noqa: PTH118


def _folder(variable: str, place: str) -> str:
    """A folder of the platform: as the environment names it (by a whole path: others are void), or its usual place."""
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else variable, "").strip()
    return named if os.path.isabs(named) else os.path.join(home_folder(), *place.split("/"))  # noqa: PTH117, PTH118


def machine() -> "Machine":
    """The computer, as far as formats may know it: where agents keep their sessions depends on it."""
    from agents_ledger.model.formats import Machine  # noqa: PLC0415 - loads msgspec; only capture needs it

    return Machine(home_folder(), dict(os.environ), sys.platform)


def home_folder() -> str:
    """The reader's home folder."""
    return os.path.expanduser("~")  # noqa: PTH111 - never raises


def samples_folder() -> str:
    """Where the sample sessions are that come with this program."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "samples")  # noqa: PTH100, PTH118, PTH120 - instant


def is_debugging() -> bool:
    """Whether a bug shows its traceback (`AGENTS_LEDGER_DEBUG=1`)."""
    return bool(os.environ.get(_DEBUG))


def is_completing() -> bool:
    """Whether a shell asks what could be typed next."""
    return "_LDG_COMPLETE" in os.environ


def completion_line() -> tuple[str, str]:
    """What was typed so far in bash, and the characters that it takes for the end of a word."""
    return os.environ.get("LDG_LINE", ""), os.environ.get("LDG_BREAKS", "")


def pager() -> str:
    """The command that long output goes through (`PAGER`); nothing where a terminal can't page."""
    return "" if is_dumb_terminal() else os.environ.get("PAGER", "less")


def is_dumb_terminal() -> bool:
    """Whether a terminal knows nothing but lines (`TERM`)."""
    return os.environ.get("TERM", "") in ("dumb", "unknown")


def has_less_options() -> bool:
    """Whether somebody has chosen how `less` behaves (`LESS`)."""
    return "LESS" in os.environ


def forces_colour() -> bool:
    """Whether colours are wanted where no terminal is (`FORCE_COLOR`, which a CI sets)."""
    return os.environ.get("FORCE_COLOR", "") not in ("", "0", "false") and not os.environ.get("NO_COLOR")


def summariser() -> "Summariser":
    """Who summarises: the endpoint of `AGENTS_LEDGER_SUMMARISER_URL`, else the conversation's own words are used.

    `…_MODEL` names the model, `…_KEY` is the key, `…_API` is `openai` or `anthropic` (else by the URL), `…_WINDOW` how
    many tokens the model reads at once, `…_TIMEOUT_S` how long it may take.
    """
    given = {name: os.environ.get(f"{_SUMMARISER}_{name}") or None for name in ("URL", "MODEL", "KEY", "API")}
    if given["URL"] is None:
        from agents_ledger.model.extractive import Extractive  # noqa: PLC0415 - only when somebody compacts

        return Extractive()
    from agents_ledger.summarisers import Endpoint  # noqa: PLC0415 - as above

    if given["MODEL"] is None:
        raise BadInput(f"{_SUMMARISER}_URL is set, but not which model to ask: set {_SUMMARISER}_MODEL")
    return Endpoint(
        url=given["URL"],
        model=given["MODEL"],
        key=given["KEY"],
        api=_api(given["API"]),
        window_tokens=int(_number("WINDOW", 128_000)),
        timeout_s=_number("TIMEOUT_S", 120.0),
    )


def _api(given: str | None) -> "Api | None":
    known: dict[str, Api] = {"openai": "openai", "anthropic": "anthropic"}
    if given is not None and given not in known:
        raise BadInput(f"{_SUMMARISER}_API must be openai or anthropic")
    return None if given is None else known[given]


def _number(name: str, usual: float) -> float:
    text = os.environ.get(f"{_SUMMARISER}_{name}")
    try:
        value = float(text) if text else usual
    except ValueError:
        value = 0.0
    if not 0 < value < _LARGEST:
        raise BadInput(f"{_SUMMARISER}_{name} must be a number above 0")
    return value
