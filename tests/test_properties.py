"""Property tests are no clocks: none of them fails because the machine is busy."""

import pytest
from hypothesis import HealthCheck, given, is_hypothesis_test, settings
from hypothesis import strategies as st

from tests.support.properties import WITH_FIXTURES


@given(st.integers())
def test_any_property(number: int) -> None:
    assert number == number + 0


@settings(max_examples=5, suppress_health_check=WITH_FIXTURES)
@given(st.integers())
def test_a_property_with_a_fixture(request: pytest.FixtureRequest, number: int) -> None:
    assert request.node.name


def test_no_property_test_of_this_run_measures_time(request: pytest.FixtureRequest) -> None:
    tests = {id(item.obj): item.obj for item in request.session.items if isinstance(item, pytest.Function)}
    properties = [test for test in tests.values() if is_hypothesis_test(test)]
    assert len(properties) >= 2
    timed = [
        test.__name__
        for test in properties
        if _settings(test).deadline is not None or HealthCheck.too_slow not in _settings(test).suppress_health_check
    ]
    assert timed == [], "a list of suppressed health checks replaces that of the profile: use WITH_FIXTURES"


def _settings(test: object) -> settings:
    inner = getattr(test, "_hypothesis_internal_use_settings", None)
    assert isinstance(inner, settings), "Hypothesis keeps a test's settings elsewhere now"
    return inner
