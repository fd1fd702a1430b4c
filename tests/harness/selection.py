"""Name, time-limit and select the collected tests."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import Scheduling

from kernel import garbage_collection
from tests.harness.distribution import FromBothEnds, sorted_for_distribution

# Every test has the time limit of pyproject.toml; those marked slow have this one.
SLOW_SECONDS = 300
_STARTS_PROCESSES = frozenset(
    {"subprocess", "multiprocessing", "create_subprocess_exec", "programs", "EmbeddedPostgres", "ProcessPool"}
)
# Packages whose functions may start them.
_OURS = ("tests.", "bench.")
_UUID_INSIDE = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")


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
    items[:] = sorted_for_distribution(items)
    if config.getoption("fast"):
        fast = [item for item in items if isinstance(item, pytest.Function) and _is_fast(item)]
        selected = set(fast)
        config.hook.pytest_deselected(items=[item for item in items if item not in selected])
        items[:] = fast


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    return FromBothEnds(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_configure(config: pytest.Config) -> None:
    """Let generated examples take their time: hypothesis would fail one of 0.2 s on a busy machine."""
    settings.register_profile("vitrine", deadline=None)
    settings.load_profile("vitrine")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Omit what a test printed before it passes: the access log of all tests would be sent to the process that reports them, twice."""
    report = yield
    if report.passed and "PYTEST_XDIST_WORKER" in os.environ:
        report.sections = []
    return report


def pytest_collection_finish(session: pytest.Session) -> None:
    """Collect garbage as in production: the collected tests are permanent."""
    garbage_collection.collect_rarely()
    garbage_collection.exclude_permanent_objects()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End soon: pytest has examined what is left for errors of finalizers; Python would examine it again several times."""
    garbage_collection.exclude_permanent_objects()


# --- make test-fast --------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="run only tests without the database or other processes")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip files whose tests all use the database: importing them takes longer than the fast tests."""
    if not config.getoption("fast") or not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    database = _database_fixtures(collection_path)
    everywhere = {*_AUTOUSE.findall(text), *_USED_BY_ALL.findall(text)}
    uses_it = database.difference(*map(_parameters, _PARAMETRIZED.findall(text)))
    tests = [parameters for _, name, parameters in _FUNCTION.findall(text) if name.startswith("test_")]
    return bool(everywhere & database) or all(_parameters(parameters) & uses_it for parameters in tests) or None


def pytest_pycollect_makeitem(collector: pytest.Module, name: str, obj: object) -> list[pytest.Item] | None:
    """Skip the cases of a test that uses the database."""
    if not (collector.config.getoption("fast") and name.startswith("test_") and inspect.isfunction(obj)):
        return None
    parametrized = [mark.args[0] for mark in getattr(obj, "pytestmark", ()) if mark.name == "parametrize"]
    used = set(inspect.signature(obj).parameters).difference(*map(_parameters, parametrized))
    return None if _database_fixtures(collector.path).isdisjoint(used) else []


# Functions with the line before them, if it is a decorator.
_FUNCTION = re.compile(r"^[ \t]*(@[^\n]*\n)?[ \t]*(?:async )?def (\w+)\(([^)]*)\)", re.MULTILINE)
_PARAMETRIZED = re.compile(r"parametrize\(\s*\"([^\"]+)\"")
_AUTOUSE = re.compile(r"^@pytest\w*\.fixture\([^\n]*autouse=True[^\n]*\n(?:async )?def (\w+)", re.MULTILINE)
_USED_BY_ALL = re.compile(r"^pytestmark = .*usefixtures\(\"(\w+)\"", re.MULTILINE)


@functools.cache
def _database_fixtures(path: Path) -> frozenset[str]:
    """Return the names of the fixtures that a test file can use and that use the database, directly or through another one."""
    definitions: dict[str, set[str]] = {}
    conftests = [folder / "conftest.py" for folder in reversed(path.parents) if (folder / "conftest.py").is_file()]
    for source in (*sorted(Path(__file__).parent.glob("*.py")), *conftests, path):
        definitions |= _fixtures_in(source)
    database = {"postgres"}
    while more := {name for name, used in definitions.items() if used & database} - database:
        database |= more
    return frozenset(database)


@functools.cache
def _fixtures_in(path: Path) -> dict[str, set[str]]:
    """Return the fixtures that a file defines, each with its parameters."""
    return {
        name: _parameters(parameters)
        for decorator, name, parameters in _FUNCTION.findall(path.read_text(encoding="utf-8"))
        if "fixture" in decorator
    }


def _parameters(text: str | Sequence[str]) -> set[str]:
    parts = text.split(",") if isinstance(text, str) else text
    return {re.split(r"[:=]", part)[0].strip() for part in parts}


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
    """Return whether the function, or one that it reaches through functions of ours, names something that starts processes."""
    pending, reached = [function], {function}
    while pending:
        names, used = _references(pending.pop())
        if names & _STARTS_PROCESSES:
            return True
        pending += used - reached
        reached |= used
    return False


@functools.cache
def _references(function: FunctionType) -> tuple[frozenset[str], frozenset[FunctionType]]:
    """Return the names in a function, and our functions that they refer to."""
    names = frozenset(_names(function.__code__))
    return names, frozenset(used for name in names for used in _functions(function.__globals__.get(name), function))


def _functions(value: Any, user: FunctionType) -> Iterable[Any]:
    """Return our functions in a global: itself, or the methods of a class or object."""
    value = inspect.unwrap(value) if callable(value) else value
    if inspect.isfunction(value):
        return [value] if value is not user and value.__module__.startswith(_OURS) else []
    class_ = value if inspect.isclass(value) else type(value)
    is_ours = class_.__module__.startswith(_OURS)
    return [member for member in vars(class_).values() if inspect.isfunction(member)] if is_ours else []


def _names(code: CodeType) -> Iterable[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
