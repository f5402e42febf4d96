"""A bus on a new ledger."""

import pytest

from agents_ledger import Ledger
from agents_ledger.faces.agent_os import Bus
from tests.faces.agent_os.conversation import Speaker


@pytest.fixture
def bus(ledger: Ledger) -> Bus:
    return Bus(ledger)


@pytest.fixture
def speaker(bus: Bus) -> Speaker:
    return Speaker(bus)
