"""Where the ledger is: the only file that reads the environment and the home folder."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

VARIABLE = "AGENTS_LEDGER_DB"
_DEBUG = "AGENTS_LEDGER_DEBUG"
_APP = "agents-ledger"
_FILE = "ledger.db"


def ledger_url(given: str | None = None) -> str:
    """The ledger's URL: as given, else `AGENTS_LEDGER_DB`, else a file in the platform's data folder."""
    return given or os.environ.get(VARIABLE) or f"sqlite:///{data_folder() / _FILE}"


def prepare_folder(url: str) -> None:
    """Makes the data folder, if that is where the ledger is to be; other folders are their owners' business."""
    if url == f"sqlite:///{data_folder() / _FILE}":
        data_folder().mkdir(mode=0o700, parents=True, exist_ok=True)


def data_folder() -> "Path":
    """The platform's folder for this program's data."""
    import platformdirs  # noqa: PLC0415 - only when somebody asks for the place

    return platformdirs.user_data_path(_APP, appauthor=False)


def is_debugging() -> bool:
    """Whether a bug shows its traceback (`AGENTS_LEDGER_DEBUG=1`)."""
    return bool(os.environ.get(_DEBUG))
