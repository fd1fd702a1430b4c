"""The comparison at the end of an import: what the records of both sides refer to."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kernel.scope import Store
from server.importers.cscart import run
from tests.harness.database import NewStore
from tests.harness.scopes import execute
from tests.importers.cscart_answers import PickyShop, shop

BREAKS = {
    "products, features": (
        "UPDATE feature_value_variants SET variant_id = 86 WHERE tenant_id = $1 AND variant_id = 90",
        "different ones",
    ),
    "users, usergroups": ("UPDATE usergroup_memberships SET status = 'D' WHERE tenant_id = $1", "different ones"),
    "orders, shipping": (
        "UPDATE orders SET shipping_method_id = NULL WHERE tenant_id = $1 AND id = 97",
        "different",
    ),
    "orders, payment": (
        "UPDATE orders SET payment_method_id = NULL WHERE tenant_id = $1 AND id = 97",
        "different",
    ),
    "products, categories": (
        "DELETE FROM product_categories WHERE tenant_id = $1 AND category_id = 224",
        "different",
    ),
}
"""A statement that breaks a reference of each name, and the verdict."""


def whole_lists() -> PickyShop:
    """Return a shop without records at fault whose lists show whole records, so that each import reads them."""
    answers: dict[str, Any] = deepcopy(dict(shop().answers))
    del answers["products/12"]["product_features"]["24"]
    for entity, numbers in (("products", ("12",)), ("users", ("1", "3")), ("orders", ("97", "98"))):
        rows = [row for row in answers[entity][entity] if row[f"{entity[:-1]}_id"] in numbers]
        records = [row | answers[f"{entity}/{number}"] for row, number in zip(rows, numbers, strict=True)]
        answers[entity] = {entity: [{"b_address": "", **record} for record in records]}
    return PickyShop(answers)


async def compare(store: Store, source: PickyShop) -> dict[str, str]:
    """Import, and return the line of each comparison of references by its name."""
    report = await run.run(source, store.public_id)
    lines = report.references
    assert report.as_json()["references"] == lines
    return {line.partition(":")[0]: line for line in lines}


@pytest.mark.parametrize("name", BREAKS)
async def test_a_reference_that_differs_is_named(new_store: NewStore, name: str) -> None:
    store = await new_store()
    before = await compare(store, whole_lists())
    assert before[name].endswith(": equal"), before
    statement, verdict = BREAKS[name]
    await execute(store, statement, store.id)
    after = await compare(store, whole_lists())
    assert {name for name in after if after[name] != before[name]} == {name}
    assert after[name].endswith(f": {verdict}")


async def test_what_lists_dont_show_is_compared_of_the_records_that_were_read(new_store: NewStore) -> None:
    store = await new_store()
    first = await compare(store, shop())
    assert first["products, features"] == "products, features: 7 there, 6 here: different", (
        "variant 77 is not among them"
    )
    assert first["users, usergroups"] == "users, usergroups: 1 there, 1 here: equal"
    assert first["orders, shipping"] == "orders, shipping: 5 there, 2 here: different", "three were refused"
    second = await compare(store, shop())
    assert "products, features" not in second
    assert second["orders, shipping (3 of 5 read)"].endswith(": 3 there, 0 here: different")


async def test_orders_that_only_join_others_are_not_compared(new_store: NewStore) -> None:
    store, source = await new_store(), whole_lists()
    for row in source.answers["orders"]["orders"][1:]:
        row["is_parent_order"] = "Y"
    lines = await compare(store, source)
    assert lines["orders, shipping"] == "orders, shipping: 1 there, 1 here: equal"
    assert lines["orders, payment"] == "orders, payment: 1 there, 1 here: equal"
