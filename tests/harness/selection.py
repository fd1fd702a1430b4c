"""Name, time-limit and select the collected tests."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any
from uuid import UUID

import pytest

# Every test has the time limit of pyproject.toml; those marked slow have this one.
SLOW_SECONDS = 300
_STARTS_PROCESSES = frozenset(
    {"subprocess", "multiprocessing", "create_subprocess_exec", "_forked", "EmbeddedPostgres", "ProcessPool"}
)
_UUID_INSIDE = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_TEST = re.compile(r"^\s*(?:async )?def test_\w+\(([^)]*)\)", re.MULTILINE)


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
    # First, so that no process is left with a slow test at the end.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    if config.getoption("fast"):
        fast = [item for item in items if isinstance(item, pytest.Function) and _is_fast(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(fast)])
        items[:] = fast


# --- make test-fast --------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="run only tests without the database or other processes")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip files whose tests obviously use the database: importing them all takes longer than the fast tests."""
    if not config.getoption("fast") or not collection_path.name.startswith("test_"):
        return None
    parameters = _TEST.findall(collection_path.read_text(encoding="utf-8"))
    names = (set(re.findall(r"\w+", text)) for text in parameters)
    return all(not _DATABASE_FIXTURES.isdisjoint(fixtures) for fixtures in names) or None


_DATABASE_FIXTURES = {
    "database", "database_url", "empty_database_url", "store", "scope", "kit", "sample", "new_sample", "records",
    "visitor", "new_client", "admin", "app", "new_app", "storefront", "http",
}  # fmt: skip


def _is_fast(item: pytest.Function) -> bool:
    fixtures = item._fixtureinfo.name2fixturedefs  # the closure
    if "postgres" in fixtures or item.get_closest_marker("slow"):
        return False
    functions = [
        item.obj,
        *(definition.func for definitions in fixtures.values() for definition in definitions),
    ]
    return not any(_starts_processes(inspect.unwrap(function)) for function in functions)


def _starts_processes(function: Any) -> bool:
    function = getattr(function, "__func__", function)
    return isinstance(function, FunctionType) and _reaches_processes(function)


@functools.cache
def _reaches_processes(function: FunctionType) -> bool:
    """Return whether the function, or a function of the tests that it refers to, names something that starts processes."""
    names = set(_names(function.__code__))
    if names & _STARTS_PROCESSES:
        return True
    return any(
        _starts_processes(used) for name in names for used in _functions(function.__globals__.get(name), function)
    )


def _functions(value: Any, user: FunctionType) -> Iterable[Any]:
    """Return the functions of the tests in a global: itself, or the methods of a class or object."""
    value = inspect.unwrap(value) if callable(value) else value
    if inspect.isfunction(value):
        return [value] if value is not user and value.__module__.startswith("tests.") else []
    class_ = value if inspect.isclass(value) else type(value)
    is_ours = class_.__module__.startswith("tests.")
    return [member for member in vars(class_).values() if inspect.isfunction(member)] if is_ours else []


def _names(code: CodeType) -> Iterable[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
