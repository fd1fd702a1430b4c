"""Promotions of another Vitrine store name records by UUID; here they name the same records by number."""

from __future__ import annotations

from typing import Any

import pytest

from server.importers.cscart.promotion_references import name_by_number
from server.importers.cscart.source import SourceError
from tests.importers.shops import SavedShop

# The number of the record of each entity.
NUMBERS = {
    "products": ("product_id", 12),
    "categories": ("category_id", 3),
    "users": ("user_id", 8),
    "usergroups": ("usergroup_id", 4),
    "payments": ("payment_id", 2),
    "shippings": ("shipping_id", 6),
    "destinations": ("destination_id", 5),
    "features": ("feature_id", 9),
    "promotions": ("promotion_id", 7),
}
IDS = {entity: f"01920000-0000-7000-8000-0000000000{position:02}" for position, entity in enumerate(NUMBERS)}
MISSING = "01920000-0000-7000-8000-00000000ffff"


@pytest.fixture
def shop() -> SavedShop:
    return SavedShop({f"{entity}/{IDS[entity]}": {key: str(number)} for entity, (key, number) in NUMBERS.items()})


async def named(shop: SavedShop, conditions: Any, bonuses: Any = None, zone: str = "cart") -> tuple[Any, Any]:
    record = await name_by_number(shop, {"zone": zone, "conditions": conditions, "bonuses": bonuses or []})
    return record["conditions"], record["bonuses"]


@pytest.mark.parametrize(
    "condition, entity",
    [
        ("categories", "categories"), ("not_products", "products"), ("customers", "users"), ("usergroup", "usergroups"),
        ("payment_methods", "payments"), ("shipping", "shippings"), ("destinations", "destinations"),
        ("purchased_products", "products"),
    ],
)  # fmt: skip
async def test_each_kind_of_record_is_named_by_its_number(shop: SavedShop, condition: str, entity: str) -> None:
    number = str(NUMBERS[entity][1])
    for written, expected in ([IDS[entity]], [number]), (IDS[entity], number), (f"{IDS[entity]}, 40", f"{number}, 40"):
        assert (await named(shop, {condition: written}))[0] == {condition: expected}


async def test_records_in_nested_sets_are_named_by_their_numbers(shop: SavedShop) -> None:
    def tree(value: str) -> dict[str, Any]:
        inner = {"set": "any", "conditions": [{"condition": "categories", "operator": "in", "value": value}]}
        return {"set": "all", "conditions": {"1": {"condition": "subtotal", "value": "100"}, "2": inner}}

    assert (await named(shop, tree(IDS["categories"])))[0] == tree("3")


async def test_products_with_amounts_and_features_are_named_by_their_numbers(shop: SavedShop) -> None:
    conditions, _ = await named(
        shop,
        {
            "products": [{"product_id": IDS["products"], "amount": "2"}],
            "feature": {"feature_id": IDS["features"], "value": ["Azul"]},
        },
    )
    assert conditions == {
        "products": [{"product_id": "12", "amount": "2"}],
        "feature": {"feature_id": "9", "value": ["Azul"]},
    }


async def test_records_of_bonuses_are_named_by_their_numbers(shop: SavedShop) -> None:
    _, bonuses = await named(
        shop,
        {},
        {
            "free_products": [{"product_id": IDS["products"], "amount": 1}],
            "free_shipping": [IDS["shippings"]],
            "product_discount": {"percent": "10", "categories": [IDS["categories"]]},
            "give_coupon": IDS["promotions"],
        },
    )
    assert bonuses == {
        "free_products": [{"product_id": "12", "amount": 1}],
        "free_shipping": ["6"],
        "product_discount": {"percent": "10", "categories": ["3"]},
        "give_coupon": "7",
    }


async def test_texts_that_name_no_record_stay(shop: SavedShop) -> None:
    conditions = {"coupon_code": [IDS["products"]], "categories": [MISSING, "5"]}
    assert (await named(shop, conditions))[0] == conditions
    assert shop.asked == [f"categories/{MISSING}"]


async def test_the_source_is_asked_for_nothing_where_there_are_numbers(shop: SavedShop) -> None:
    conditions = {"categories": ["3", 7], "products": "12,45"}
    assert (await named(shop, conditions))[0] == conditions
    assert shop.asked == []


async def test_a_variant_that_is_named_by_uuid_is_not_brought(shop: SavedShop) -> None:
    with pytest.raises(SourceError, match=f"conditions name the variant {MISSING} by UUID; expected its number"):
        await named(shop, {"feature": {"feature_id": "9", "value": [MISSING]}})
