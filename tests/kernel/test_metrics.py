"""Instruments count, and the values of several processes are added."""

from __future__ import annotations

import pytest

from kernel import metrics


@pytest.fixture
def instruments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the program's own instruments."""
    monkeypatch.setattr(metrics, "_instruments", {})


pytestmark = pytest.mark.usefixtures("instruments")


def test_a_counter_adds_by_labels_and_one_without_labels_begins_at_zero():
    orders = metrics.counter("orders_total", "Orders.", "status")
    metrics.counter("events_total", "Events.")
    orders.add("paid")
    orders.add("paid", amount=2)
    orders.add("open")
    assert metrics.snapshot() == {"orders_total": {("paid",): 3, ("open",): 1}, "events_total": {(): 0}}


def test_a_histogram_counts_by_bucket_and_sums():
    seconds = metrics.histogram("seconds", "Seconds.", bounds=(0.1, 1.0))
    child = seconds.child()
    for each in (0.05, 0.1, 0.5, 3.0):
        seconds.observe(child, each)
    assert metrics.snapshot() == {"seconds": {(): [2, 1, 1, pytest.approx(3.65)]}}


def test_a_name_is_declared_once():
    metrics.counter("orders_total", "Orders.")
    with pytest.raises(ValueError, match="orders_total is declared twice"):
        metrics.gauge("orders_total", "Orders.")


def test_values_of_processes_are_added_and_those_of_an_ended_one_stay():
    orders = metrics.counter("orders_total", "Orders.")
    seconds = metrics.histogram("seconds", "Seconds.", bounds=(1.0,))
    levels = {"open": 3.0, "lag": 5.0}
    metrics.gauge("open", "Open.", read=lambda: {(): levels["open"]})
    metrics.gauge("lag", "Lag.", read=lambda: {(): levels["lag"]}, largest=True)
    totals = metrics.Totals()
    orders.add(amount=2)
    seconds.observe(seconds.child(), 0.5)
    totals.update("1", metrics.from_json(metrics.to_json(metrics.snapshot())))
    levels |= {"open": 4.0, "lag": 2.0}
    totals.update("2", metrics.snapshot())
    assert totals.sum() == {
        "orders_total": {(): 4},
        "seconds": {(): [2, 0, 1.0]},
        "open": {(): 7.0},
        "lag": {(): 5.0},
    }
    totals.end("1")
    totals.end("1")
    assert totals.sum() == {"orders_total": {(): 4}, "seconds": {(): [2, 0, 1.0]}, "open": {(): 4.0}, "lag": {(): 2.0}}
