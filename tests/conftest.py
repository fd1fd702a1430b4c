"""Load the test harness."""

import asyncio

import uvloop

from kernel import garbage_collection

# As in production; the standard loop takes a quarter more CPU for all tests that send requests.
asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())

# Nearly all objects that imports and collection create are permanent; `tests.harness.selection` ends this.
garbage_collection.collect_rarely_at_start()

pytest_plugins = [
    "tests.harness.selection",
    "tests.harness.database",
    "tests.harness.passwords",
    "tests.harness.http",
    "tests.harness.sample_store",
    "tests.harness.clients",
    "tests.harness.typed_clients",
]
