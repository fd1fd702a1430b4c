"""No function, method or class of the product is unused by the product."""

from __future__ import annotations

import pytest
from vulture import Vulture

from tests.test_repository import LAYERS, ROOT

pytestmark = pytest.mark.slow

# Called by a framework, by their names.
FRAMEWORK_NAMES = [
    "Meta",  # Tortoise
    "enter_*",  # visitors of graphql-core
    "get_enter_leave_for_kind",
    "is_valid_value_node",
    "get_fields",  # Strawberry's SchemaExtension and schema classes
    "process_errors",
    "handle_error",  # aiohttp's RequestHandler
    "raw_match",  # aiohttp's AbstractResource
    "get_info",
    "url_for",
    "add_prefix",
    "__call__",  # protocols
]
FRAMEWORK_DECORATORS = ["@root_field", "@fixture"]
# Used only by tests and by bench/, to observe what the product does.
OBSERVED = {
    "set_sink",
    "superuser_url",
}
# Used by the generated modules of the typed client, and its attributes with their classes.
GENERATED_OPERATIONS = [
    "Operations",
    "_records",
    "_request",
    "_part",
    "new_idempotency_key",
    "current",
    "apps",
    "legacy",
]
# Started by name in another process.
STARTED_BY_NAME = {"run_child"}


def test_no_function_method_or_class_is_unused():
    vulture = Vulture(ignore_names=FRAMEWORK_NAMES, ignore_decorators=FRAMEWORK_DECORATORS)
    vulture.scavenge([str(ROOT / layer) for layer in sorted(LAYERS)], exclude=["*/assets/*"])
    unused = [
        f"{item.filename.relative_to(ROOT)}:{item.first_lineno} {item.typ} {item.name}"
        for item in vulture.get_unused_code(min_confidence=60)
        if item.typ in ("function", "method", "property", "class")
        and item.name not in OBSERVED | STARTED_BY_NAME
        # Models describe tables; the domain reads most of them by SQL.
        and not (item.typ == "class" and item.filename.parent.name == "tables")
    ]
    assert unused == []


def test_nothing_of_the_typed_client_is_unused_by_itself_and_by_the_program_that_tests_it():
    vulture = Vulture(ignore_names=GENERATED_OPERATIONS)
    client = ROOT / "clients" / "python" / "vitrine_client"
    program = ROOT / "tests" / "clients" / "typed" / "scenarios.py"
    vulture.scavenge([str(client), str(program)], exclude=["*/generated/*", "*/__init__.py"])
    unused = [
        f"{item.filename.relative_to(ROOT)}:{item.first_lineno} {item.typ} {item.name}"
        for item in vulture.get_unused_code(min_confidence=60)
        if item.typ in ("function", "method", "property", "class", "attribute") and item.filename != program
    ]
    assert unused == []


def test_exceptions_are_still_unused():
    vulture = Vulture()
    vulture.scavenge([str(ROOT / layer) for layer in sorted(LAYERS)], exclude=["*/assets/*"])
    assert {item.name for item in vulture.get_unused_code(min_confidence=60)} >= OBSERVED | STARTED_BY_NAME
