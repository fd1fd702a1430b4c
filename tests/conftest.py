"""Load the test harness."""

import asyncio

import pytest
import uvloop

from kernel import garbage_collection
from tests.harness import processes, temporary_folder

# As in production; the standard loop takes a quarter more CPU for all tests that send requests.
asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())

# Nearly all objects that imports and collection create are permanent; `tests.harness.selection` ends this.
garbage_collection.collect_rarely_at_start()

temporary_folder.use_memory()
processes.keep_compiled_patterns()

pytest_plugins = ["tests.harness.selection"]
FIXTURES = (
    "tests.harness.database",
    "tests.harness.passwords",
    "tests.harness.files",
    "tests.harness.demo_pictures",
    "tests.harness.http",
    "tests.harness.sample_store",
    "tests.harness.clients",
    "tests.harness.typed_clients",
)
pytest.register_assert_rewrite(*FIXTURES)


def pytest_configure(config: pytest.Config) -> None:
    """Load the fixtures, but not in the process that only distributes the tests: the others wait until it has started."""
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        for name in FIXTURES:
            config.pluginmanager.import_plugin(name)
