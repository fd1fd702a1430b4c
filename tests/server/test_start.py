"""What the start of a process does without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from models.tables.catalog import Product

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


def test_models_describe_the_comparisons_that_are_used() -> None:
    name = {key for key in Product._meta._filters if key.split("__")[0] == "name"}
    assert name == {"name", "name__in", "name__isnull"}
