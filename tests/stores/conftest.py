"""Stores in memory, as captures are tested; what survives a kill is asked with real processes."""

from tests.capture.conftest import tmp_path

__all__ = ["tmp_path"]
