"""Load the test harness."""

pytest_plugins = [
    "tests.harness.selection",
    "tests.harness.database",
    "tests.harness.passwords",
    "tests.harness.http",
    "tests.harness.sample_store",
    "tests.harness.clients",
    "tests.harness.typed_clients",
]
