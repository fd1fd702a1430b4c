"""Every legacy entity is in the tables of the tests that state what the API promises (docs/recipes.md#add-a-legacy-entity)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.payments.methods import PAYMENT_METHOD_RECORDS
from domain.records import RecordType
from models.references import BY_TABLE
from models.tables.base import SoftDeletable
from rest_facade.legacy.resource import Resource
from rest_facade.legacy.resources import RESOURCES
from tests.graphql.conftest import RecordIds
from tests.legacy import entities, test_allowed_methods, test_golden, test_statement_counts


def _first_parts(addresses: object) -> set[str]:
    return {address.split("?")[0].split("/")[0] for address in addresses}  # type: ignore[attr-defined]


def forgotten(resource: Resource) -> list[str]:
    """Return what an entity lacks, as a line for each file."""
    counted = {*test_statement_counts.LISTS, *test_statement_counts.SINGLES}
    tables = {
        "SAMPLES in tests/legacy/entities.py: the record and body with which the tests of all entities run": set(
            entities.SAMPLES
        ),
    }
    if "list" in resource.actions:
        tables |= {
            "ENTITIES in tests/legacy/test_allowed_methods.py: the methods that its addresses have": set(
                test_allowed_methods.ENTITIES
            ),
            "LISTS in tests/legacy/test_statement_counts.py: how many statements its list may take": _first_parts(
                counted
            ),
            "PATHS in tests/legacy/test_golden.py: requests whose responses are kept": _first_parts(
                test_golden.PATHS.values()
            ),
        }
    return [f"add {resource.path!r} to {table}" for table, names in tables.items() if resource.path not in names]


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.path)
def test_every_entity_is_in_the_tables_of_the_tests(resource: Resource) -> None:
    assert forgotten(resource) == []


def test_what_a_new_entity_lacks_is_named_with_its_file() -> None:
    payments = next(resource for resource in RESOURCES if resource.path == "payments")
    lacking = forgotten(replace(payments, path="new_entity"))
    assert [line.split(" in ")[1].split(":")[0] for line in lacking] == [
        "tests/legacy/entities.py",
        "tests/legacy/test_allowed_methods.py",
        "tests/legacy/test_statement_counts.py",
        "tests/legacy/test_golden.py",
    ]


def test_a_record_that_the_store_of_the_graphql_tests_lacks_is_named_with_its_file() -> None:
    with pytest.raises(KeyError, match=r"new_entity.* tests/graphql/conftest\.py"):
        RecordIds()["new_entity"]


def test_a_record_type_that_nothing_can_refer_to_is_named_with_the_file() -> None:
    class Unlisted(SoftDeletable, table="unlisted"):
        """A table without a type of reference."""

    assert PAYMENT_METHOD_RECORDS.reference_type is BY_TABLE["payment_methods"]
    with pytest.raises(ValueError, match=r"unlisted: add .* models/references\.py"):
        RecordType(Unlisted, {})
