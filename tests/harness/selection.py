"""Select, name and time-limit the collected tests."""

from __future__ import annotations

import re
from uuid import UUID

import pytest

SLOW_SECONDS = 300
# Test modules that import these start processes.
_PROCESS_MODULES = frozenset(
    {"subprocess", "multiprocessing"}
    | {f"tests.{name}" for name in ("browser.chromium", "docs.tutorial", "server.command_line")}
    | {f"tests.server.{name}" for name in ("embedded", "redis_server", "test_main")}
)
_UUID_INSIDE = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast", action="store_true", help="only run tests without the database and other processes"
    )


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Name cases that hold a random UUID alike in every process, or pytest-xdist finds that they collected different tests."""
    if isinstance(val, UUID):
        return argname
    if isinstance(val, str) and _UUID_INSIDE.search(val):
        return _UUID_INSIDE.sub("uuid", val)
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))
    if config.getoption("fast"):
        fast = [item for item in items if _is_fast(item)]
        config.hook.pytest_deselected(items=[item for item in items if not _is_fast(item)])
        items[:] = fast


def _is_fast(item: pytest.Item) -> bool:
    return "postgres" not in getattr(item, "fixturenames", ()) and not item.get_closest_marker("slow")
