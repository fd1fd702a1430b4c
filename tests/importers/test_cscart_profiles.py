"""Addresses of users and variation groups are brought."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from domain.points.ledger import adjust_points
from kernel.scope import Store
from server.importers.cscart import run
from tests.harness.scopes import execute, rows, system_scope, value
from tests.importers.cscart_answers import PRODUCT, PickyShop, shop

PROFILE = {
    "b_firstname": "Ana", "b_lastname": "Lima", "b_address": "44 Main street", "b_address_2": "5th floor", "b_city": "Boston",
    "b_state": "MA", "b_country": "US", "b_zipcode": "02125", "b_phone": "16463863600",
}  # fmt: skip
GROUP = {
    "id": 3,
    "code": "PANTS",
    "features": [{"feature_id": 18, "purpose": "group_catalog_item"}, {"feature_id": 99, "purpose": "x"}],
    "products": [{"product_id": 13, "parent_product_id": 12}, {"product_id": 12, "parent_product_id": 0}],
    "created_at": 1328040000,
    "updated_at": 1328040001,
}
ADDRESSES = (
    "SELECT user_id, name, lastname, street, complement, city, state, zipcode, country, is_default_billing AS b, is_default_shipping AS s"
    " FROM user_addresses WHERE tenant_id = $1 ORDER BY is_default_billing DESC, id"
)


def shop_with(profile: dict[str, Any], groups: list[Any] | None = None) -> PickyShop:
    answers = deepcopy(dict(shop().answers))
    answers["users/3"] |= profile
    answers["products"]["products"].append({**answers["products"]["products"][0], "product_id": "13"})
    answers["products/13"] = PRODUCT | {"product_id": "13", "seo_name": "", "main_pair": {}, "image_pairs": []}
    if groups is not None:
        answers["product_variations_groups"] = {"groups": groups, "params": {"total_items": len(groups)}}
    return PickyShop(answers)


async def addresses(store: Store) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await rows(store, ADDRESSES, store.id)]


async def test_the_profile_of_a_user_becomes_the_default_addresses(new_store: Any) -> None:
    store = await new_store()
    report = await run.run(
        shop_with({**PROFILE, "s_address": "1 Side street", "s_city": "Lynn", "s_country": "US"}), store.public_id
    )
    billing = (3, "Ana Lima", "Lima", "44 Main street", "5th floor", "Boston", "MA", "02125", "US", True, False)
    shipping = (3, "", "", "1 Side street", "", "Lynn", "", "", "US", False, True)
    assert await addresses(store) == [billing, shipping], report.notes


async def test_equal_addresses_are_one_and_a_later_import_replaces_the_defaults_alone(new_store: Any) -> None:
    store = await new_store()
    same = PROFILE | {f"s{name[1:]}": value for name, value in PROFILE.items()}
    await run.run(shop_with(same), store.public_id)
    both = (3, "Ana Lima", "Lima", "44 Main street", "5th floor", "Boston", "MA", "02125", "US", True, True)
    assert await addresses(store) == [both]
    saved = "INSERT INTO user_addresses (tenant_id, public_id, user_id, name, city) VALUES ($1, vitrine_uuid7(), 3, 'Work', 'Recife')"
    await execute(store, saved, store.id)
    await run.run(shop_with(same), store.public_id)
    assert len(await addresses(store)) == 2, "a repeated import adds nothing"
    moved = shop_with(same | {"b_city": "Salem"})
    moved.answers["users"]["users"][1]["timestamp"] = "1269610462"
    await run.run(moved, store.public_id, since=datetime.fromtimestamp(1, UTC))
    assert sorted((row[1], row[5], row[9], row[10]) for row in await addresses(store)) == [
        ("Ana Lima", "Boston", False, True),
        ("Ana Lima", "Salem", True, False),
        ("Work", "Recife", False, False),
    ]


async def test_points_that_were_spent_here_are_not_brought_again(new_store: Any) -> None:
    store = await new_store()
    await run.run(shop(), store.public_id)
    await adjust_points(system_scope(store), "3", -5, "used in a shop")
    for there, here in (("12", 7), ("20", 15), ("3", 0)):
        await run.run(shop_with({"points": there}), store.public_id, since=datetime.fromtimestamp(0, UTC))
        balance = "SELECT points FROM users WHERE tenant_id = $1 AND id = 3"
        assert await value(store, balance, store.id) == here, there


async def test_an_address_that_is_none_is_left_out_with_a_note(new_store: Any) -> None:
    store = await new_store()
    report = await run.run(shop_with(PROFILE | {"b_country": "Narnia"}), store.public_id)
    assert await addresses(store) == []
    assert any(text.startswith("b_address: ") for entity, text in report.notes if entity == "users")


async def test_variation_groups_are_brought_with_their_products_the_default_first(new_store: Any) -> None:
    store = await new_store()
    other = {**GROUP, "id": 4, "code": "OTHER", "features": [], "products": [{"product_id": 12}]}
    report = await run.run(shop_with({}, [GROUP, other]), store.public_id)

    async def of(sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await rows(store, f"{sql} WHERE tenant_id = $1 ORDER BY position", store.id)]

    groups = await rows(store, "SELECT id, code FROM variation_groups WHERE tenant_id = $1", store.id)
    assert [tuple(row) for row in groups] == [(3, "PANTS")]
    assert await of("SELECT group_id, product_id FROM variation_group_products") == [(3, 12), (3, 13)]
    assert await of("SELECT feature_id, purpose FROM variation_group_features") == [(18, "group_catalog_item")]
    refused = ("product_variations_groups", "4", "one of its products is in another variation group")
    assert refused in report.failures
    assert any("feature 99" in text for entity, text in report.notes if entity == "product_variations_groups")
    again = await run.run(shop_with({}, [GROUP]), store.public_id)
    assert again.counts["product_variations_groups"].present == 1
