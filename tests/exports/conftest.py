"""Ledgers of these tests lie in memory where that can be, as those of forks do."""

from tests.forks.conftest import tmp_path

__all__ = ["tmp_path"]
