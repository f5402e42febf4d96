"""Kills are survived on a disk."""

from pathlib import Path

import pytest


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new folder where the machine keeps temporary files."""
    return tmp_path_factory.mktemp("crash")
