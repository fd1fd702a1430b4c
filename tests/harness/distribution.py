"""Distribute the tests among the processes of `make test`: whole modules, the slow ones at one end and the fast ones at the other."""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController


def sorted_for_distribution(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests in the order that `FromBothEnds` expects: modules with slow tests, the longest first, then others by size."""
    modules: dict[str, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(_module(item.nodeid), []).append(item)

    def position(module: list[pytest.Item]) -> float:
        slow = [mark for item in module if (mark := item.get_closest_marker("slow"))]
        return -sum(mark.kwargs.get("seconds", 1) for mark in slow) if slow else len(module)

    return [item for module in sorted(modules.values(), key=position) for item in module]


class FromBothEnds(LoadScopeScheduling):  # type: ignore[misc]  # xdist is not typed
    """Give each process the next whole module: one of three those with slow tests, the others those with most tests.

    Slow tests mostly wait for time-outs and other programs, so the processors are used best when some processes run them from the start.
    Both ends begin with the longest modules and meet at the shortest: no process has much left when the others have finished.
    """

    def _split_scope(self, nodeid: str) -> str:
        return _module(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        slow_first = int(node.gateway.id.removeprefix("gw")) < (self.numnodes + 1) // 3
        module, tests = self.workqueue.popitem(last=not slow_first)
        self.assigned_work[node][module] = tests
        node.send_runtest_some([self._numbers[nodeid] for nodeid in tests])

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Forget the test: the scheduler counts what is assigned after each."""
        nodeid = self.registered_collections[node][item_index]
        module = _module(nodeid)
        tests = self.assigned_work[node][module]
        del tests[nodeid]
        if not tests:
            del self.assigned_work[node][module]
        self._reschedule(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """Return the test that ended its process, if one did, and let the others run those that were left."""
        left = self.assigned_work.pop(node)
        crashed = next((nodeid for tests in left.values() for nodeid in tests), None)
        for module, tests in left.items():
            if remaining := {nodeid: False for nodeid in tests if nodeid != crashed}:
                self.workqueue[module] = remaining
        for other in self.nodes:
            self._reschedule(other)
        return crashed

    def schedule(self) -> None:
        """Number the tests once; all processes have collected them in the same order."""
        collected = next(iter(self.registered_collections.values()))
        self._numbers = {nodeid: number for number, nodeid in enumerate(collected)}
        super().schedule()


def _module(nodeid: str) -> str:
    return nodeid.partition("::")[0]
