"""All wrong fields of a record are reported at once, references to missing records included."""

from __future__ import annotations

import asyncio

import pytest

from domain.b2b.record_types import MIX_PRODUCTS
from domain.catalog.categories import CATEGORY_RECORDS
from domain.catalog.options import create_option, delete_option
from domain.content.language_variables import LANGUAGE_VARIABLE_RECORDS
from kernel.errors import NotFound, ValidationFailed
from tests.harness.domain_store import unknown

MISSING = 10**12


@pytest.mark.parametrize(
    "values, fields, message",
    [
        (
            {"name": "", "parent": MISSING},
            {"name": "name_required", "parent": "not_found"},
            f"name is required; category {MISSING} not found",
        ),
        (
            {"parent": MISSING, "vendor": MISSING},
            {"parent": "not_found", "vendor": "not_found"},
            f"category {MISSING} not found; vendor {MISSING} not found",
        ),
        (
            {"name": "", "status": "Z", "parent": "x", "vendor": MISSING},
            {"name": "name_required", "status": "status_invalid", "parent": "not_found", "vendor": "not_found"},
            "name is required; status is 'Z'; expected one of A, D, H; category 'x' not found;"
            f" vendor {MISSING} not found",
        ),
    ],
)
async def test_missing_references_are_reported_with_the_other_fields(kit, values, fields, message):
    category = await CATEGORY_RECORDS.create(kit.scope, {"name": "Casa"})
    with pytest.raises(ValidationFailed) as of_new:
        await CATEGORY_RECORDS.create(kit.scope, {"name": "Sala"} | values)
    with pytest.raises(ValidationFailed) as of_changed:
        await CATEGORY_RECORDS.update(kit.scope, category, values)
    assert (of_new.value.fields, of_changed.value.fields) == (fields, fields)
    assert (of_new.value.message, of_changed.value.message) == (message, message)
    assert (await kit.record("categories", category))["name"] == "Casa"


async def test_a_single_error_has_the_words_it_has_alone(kit):
    with pytest.raises(ValidationFailed, match=rf"^category {MISSING} not found$") as error:
        await CATEGORY_RECORDS.create(kit.scope, {"name": "Sala", "parent": MISSING})
    assert (error.value.field, error.value.fields) == ("parent", {"parent": "not_found"})


async def test_a_required_reference_is_reported_with_the_other_fields(kit):
    with pytest.raises(ValidationFailed) as error:
        await MIX_PRODUCTS.create(kit.scope, {"product": None, "manager": MISSING, "min_quantity": -1})
    assert error.value.fields == {"min_quantity": "quantity_invalid", "product": "required", "manager": "not_found"}


async def test_wrong_fields_of_a_missing_record_are_reported_before_it(kit):
    with pytest.raises(ValidationFailed):
        await CATEGORY_RECORDS.update(kit.scope, unknown(), {"name": "", "parent": MISSING})
    with pytest.raises(NotFound):
        await CATEGORY_RECORDS.update(kit.scope, unknown(), {"parent": MISSING})


async def test_of_concurrent_deletions_one_finds_the_record(kit):
    variable = await LANGUAGE_VARIABLE_RECORDS.create(kit.scope, {"name": "buy", "value": "Comprar"})
    option = await create_option(kit.scope, {"name": "Cor"})
    for delete, record in ((LANGUAGE_VARIABLE_RECORDS.delete, variable), (delete_option, option)):
        results = await asyncio.gather(*(delete(kit.scope, record) for _ in range(4)), return_exceptions=True)
        assert sorted(type(result).__name__ for result in results) == ["NoneType", *["NotFound"] * 3], delete
