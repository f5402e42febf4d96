"""Settings of all property tests: what they find depends on the program, never on how busy the machine is.

Hypothesis fails a test when an example takes longer than a deadline, or when data is generated slowly. Both measure
wall time, so both fail at random on a machine that runs other things; neither says anything about the program. All
other health checks stay: they are about the test itself.
"""

from hypothesis import HealthCheck, settings

BUSY = (HealthCheck.too_slow,)
# Of tests whose fixtures are shared by all examples on purpose. (A test's own list replaces that of the profile.)
WITH_FIXTURES = (*BUSY, HealthCheck.function_scoped_fixture)


def load() -> None:
    """Make these the settings of every property test that is defined from now on."""
    settings.register_profile("suite", deadline=None, suppress_health_check=BUSY)
    settings.load_profile("suite")
