"""Which failures of something that is tried again and again are logged."""

from __future__ import annotations

import pytest

from kernel import outages
from kernel.outages import LONGEST_PAUSE, Outage


@pytest.fixture
def clock(monkeypatch):
    """Return the list whose last item is the time."""
    times = [100.0]
    monkeypatch.setattr(outages, "monotonic", lambda: times[-1])
    return times


def test_the_first_failure_is_logged_and_later_ones_at_growing_intervals(clock):
    outage, logged = Outage(), []
    for second in range(2_000):
        clock.append(100.0 + second)
        if outage.is_due():
            logged.append(second)
    assert logged == [0, 5, 15, 35, 75, 155, 315, 615, 915, 1_215, 1_515, 1_815]
    assert logged[-1] - logged[-2] == LONGEST_PAUSE


def test_another_reason_is_logged_at_once(clock):
    outage = Outage()
    assert [outage.is_due(reason) for reason in ("refused", "refused", "no privilege", "no privilege", "refused")] == [
        True,
        False,
        True,
        False,
        True,
    ]


def test_the_end_says_how_long_it_took_and_the_next_outage_is_logged_at_once(clock):
    outage = Outage()
    assert outage.end() is None
    assert outage.is_due()
    clock.append(112.0)
    assert (outage.end(), outage.end()) == (12.0, None)
    assert outage.is_due()
