"""The currency of a store: a known one, and none but its own once there are orders (docs/reference/shared.md#money)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.clients import NewClient
from tests.harness.http import Client
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import value

UPDATE = "mutation($input: StoreInput!) { store_update(input: $input) { name currency } }"


async def update(client: Client | SampleStore, **values: Any) -> dict[str, Any]:
    options = {"auth": "bearer"} if isinstance(client, SampleStore) else {}
    answer = await client.post("/graphql", {"query": UPDATE, "variables": {"input": values}}, **options)
    return dict(answer.body)


async def test_a_store_without_orders_takes_a_known_currency(new_client: NewClient) -> None:
    owner = await new_client("manage_settings")
    changed = await update(owner, currency="EUR")
    assert changed["data"]["store_update"]["currency"] == "EUR"


@pytest.mark.parametrize("currency", ["XYZ", "eur", "", "EURO", "R$", "XXX", "XAU", "JPY", "KWD"])
async def test_an_unknown_currency_and_one_without_cents_are_refused(new_client: NewClient, currency: str) -> None:
    owner = await new_client("manage_settings")
    [error] = (await update(owner, currency=currency, name="Outra"))["errors"]
    assert error["extensions"]["field"] == "currency"
    assert error["extensions"]["details"]["fields"] == {"currency": "currency_invalid"}
    row = await value(owner.store, "select currency || ' ' || name from tenants where id = $1", owner.store.id)
    assert row == f"BRL {owner.store.name}"


async def test_the_currency_of_a_store_with_orders_stays(sample: SampleStore) -> None:
    [error] = (await update(sample, currency="EUR", name="Outra"))["errors"]
    assert error["message"] == "the store has orders in BRL; its currency can't change any more"
    assert error["extensions"]["details"]["reason"] == "store_has_orders"
    same = await update(sample, currency="BRL", name="Loja Nova")
    assert same["data"]["store_update"] == {"name": "Loja Nova", "currency": "BRL"}
