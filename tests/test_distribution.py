"""`make test` distributes whole modules, the slow ones from one end (`tests.harness.distribution`)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from xdist.workermanage import WorkerController

from tests.harness.distribution import FromBothEnds, sorted_for_distribution

TESTS = ["slow::a", "slow::b", "slower::a", "fast::a", "fast::b", "fast::c", "faster::a", "faster::b"]
SLOW = {"slow::a": {}, "slow::b": {}, "slower::a": {"seconds": 9}}


class Process:
    """A test process that runs what it is sent when `run` says so."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.shutting_down = False
        self.sent: list[int] = []

    def send_runtest_some(self, numbers: list[int]) -> None:
        self.sent += numbers

    def shutdown(self) -> None:
        self.shutting_down = True


def collected(nodeid: str) -> Any:
    marks = {"slow": SimpleNamespace(kwargs=SLOW[nodeid])} if nodeid in SLOW else {}
    return SimpleNamespace(nodeid=nodeid, get_closest_marker=marks.get)


@pytest.fixture
def order() -> list[str]:
    return [item.nodeid for item in sorted_for_distribution([collected(nodeid) for nodeid in TESTS])]


@pytest.fixture
def started(order: list[str]) -> tuple[FromBothEnds, list[Any]]:
    options = SimpleNamespace(loadscopereorder=False)
    config: Any = SimpleNamespace(option=options, getvalue={"tx": ["2*popen"]}.__getitem__)
    scheduler = FromBothEnds(config)
    processes: list[Any] = [Process(0), Process(1)]
    for process in processes:
        scheduler.add_node(process)
    for process in processes:
        scheduler.add_node_collection(process, order)
    scheduler.schedule()
    return scheduler, processes


def run(scheduler: FromBothEnds, process: Any, tests: int) -> None:
    for _ in range(tests):
        scheduler.mark_test_complete(process, process.sent.pop(0))


def test_slow_modules_come_first_and_large_ones_last(order: list[str]) -> None:
    assert order == ["slower::a", "slow::a", "slow::b", "faster::a", "faster::b", "fast::a", "fast::b", "fast::c"]


def test_one_process_takes_slow_modules_and_the_other_large_ones(started: Any, order: list[str]) -> None:
    scheduler, (slow, fast) = started
    # A process has more than two tests, or it could have to wait for the next ones.
    assert [order[number] for number in slow.sent] == ["slower::a", "slow::a", "slow::b"]
    assert [order[number] for number in fast.sent] == ["fast::a", "fast::b", "fast::c"]
    run(scheduler, fast, 1)
    assert [order[number] for number in fast.sent] == ["fast::b", "fast::c", "faster::a", "faster::b"]
    run(scheduler, slow, 3)
    run(scheduler, fast, 4)
    assert not scheduler.has_pending
    assert slow.shutting_down
    assert fast.shutting_down


def test_what_a_crashed_process_has_left_is_run_without_the_test_that_crashed(started: Any, order: list[str]) -> None:
    scheduler, (slow, fast) = started
    run(scheduler, slow, 1)
    assert scheduler.remove_node(slow) == "slow::a"
    ran = []
    while fast.sent:
        ran.append(order[fast.sent[0]])
        run(scheduler, fast, 1)
    assert set(ran) == set(order) - {"slower::a", "slow::a"}
    assert len(ran) == len(set(ran))
    assert not scheduler.has_pending
    assert fast.shutting_down


def test_processes_are_those_of_xdist() -> None:
    """The fake one has what the scheduler uses."""
    assert all(hasattr(WorkerController, name) for name in ("send_runtest_some", "shutdown", "shutting_down"))
