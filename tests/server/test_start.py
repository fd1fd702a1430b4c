"""What the start of a process does without."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from argparse import Namespace
from contextlib import nullcontext
from typing import Any
from unittest.mock import AsyncMock

import pytest

from kernel import logging
from kernel.garbage_collection import THRESHOLDS, collect_rarely_at_start
from kernel.settings import Settings
from models.tables.catalog import Product
from server import main, process
from server.commands import cells
from server.database import DatabaseLocation
from server.operations import cell_map
from server.process import Stop

_PROGRAM = """
import gc, json, sys
from kernel.garbage_collection import collect_rarely_at_start
collect_rarely_at_start()
count = lambda: sum(generation["collections"] for generation in gc.get_stats())
before = count()
from server import cli, main
from resolvers import root
root.public(), root.internal()
collections = count() - before
print(json.dumps({"collections": collections, "modules": list(sys.modules)}))
"""


@pytest.fixture(scope="module")
def started() -> Any:
    """Return how many collections ran, and the modules that are imported, when a new process has its schemas."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-P", "-c", _PROGRAM], env=environment, capture_output=True, check=True)
    return json.loads(done.stdout)


def test_no_garbage_is_collected(started: Any) -> None:
    assert started["collections"] == 0


@pytest.mark.parametrize("module", ["dns", "redis", "opentelemetry", "PIL", "server.workers.jobs", "server.importers"])
def test_what_most_processes_never_need_is_not_imported(started: Any, module: str) -> None:
    assert module not in started["modules"]


async def test_processes_that_never_build_an_application_collect_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    before, seen = gc.get_threshold(), []

    class Parent:
        def __init__(self, *_: object) -> None:
            pass

        async def run(self, *_: object) -> None:
            seen.append(gc.get_threshold())

        follow = run

    monkeypatch.setattr(main, "ProcessPool", Parent)
    monkeypatch.setattr(main, "divide_pool", AsyncMock(return_value=Settings()))
    monkeypatch.setattr(process, "process_resources", lambda *_: nullcontext())
    monkeypatch.setattr(main, "metrics_server", lambda *_: nullcontext())
    monkeypatch.setattr(cell_map, "CellMap", Parent)
    monkeypatch.setattr(logging, "configure", lambda **_: None)
    try:
        collect_rarely_at_start()
        location = DatabaseLocation("", "", is_embedded=True)
        await main._run_child_processes(Settings(), location, [], Stop(), None, lambda *_: nullcontext())
        collect_rarely_at_start()
        monkeypatch.setattr(cells, "_read_cells", lambda _: ())
        await cells._map(Namespace(follow=True, to=None, socket=None))
    finally:
        gc.set_threshold(*before)
    assert seen == [THRESHOLDS, THRESHOLDS]


def test_models_describe_the_comparisons_that_are_used() -> None:
    name = {key for key in Product._meta._filters if key.split("__")[0] == "name"}
    assert name == {"name", "name__in", "name__isnull"}
