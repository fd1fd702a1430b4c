"""Features, their variants and their categories."""

from __future__ import annotations

import pytest

from domain.catalog.categories import create_category
from domain.catalog.features import create_feature, delete_feature, update_feature
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from tests.domain.kit import unknown


async def variants(shop, feature):
    found = await shop.rows(
        "SELECT id, name, position FROM feature_variants WHERE tenant_id = $1 AND feature_id = $2 ORDER BY position, id",
        feature,
    )
    return [(row["name"], row["position"]) for row in found]


async def test_a_feature_holds_what_it_was_given(shop):
    group = await create_feature(shop.scope, {"name": "Sizes", "type": "G"})
    shoes = await create_category(shop.scope, {"name": "Shoes"})
    feature = await create_feature(
        shop.scope,
        {
            "name": "Size",
            "type": "select",
            "group": group,
            "suffix": " cm",
            "comparison": "Y",
            "categories": [shoes],
            "variants": ["37", {"name": "38", "position": 9}],
        },
    )
    record = await shop.record("features", feature)
    assert (record["type"], record["parent_id"], record["suffix"], record["comparison"]) == (
        "S",
        group,
        " cm",
        True,
    )
    assert await variants(shop, feature) == [("37", 0), ("38", 9)]
    links = await shop.rows("SELECT category_id FROM feature_categories WHERE tenant_id = $1")
    assert [row["category_id"] for row in links] == [shoes]


async def test_variants_not_listed_are_gone_and_so_are_their_values(shop):
    feature = await create_feature(
        shop.scope, {"name": "Colour", "type": "S", "variants": ["Red", "Blue", "Green"]}
    )
    await shop.product(features=[{"feature": feature, "value": "Blue"}])
    red = await shop.value("SELECT id FROM feature_variants WHERE tenant_id = $1 AND name = 'Red'")
    await update_feature(
        shop.scope, feature, {"variants": [{"id": red, "name": "Crimson"}, "Green", "Black"]}
    )
    assert await variants(shop, feature) == [("Crimson", 0), ("Green", 1), ("Black", 2)]
    assert await shop.value("SELECT count(*) FROM feature_values WHERE tenant_id = $1") == 0
    await update_feature(shop.scope, feature, {"name": "Color"})
    assert len(await variants(shop, feature)) == 3


async def test_a_type_stays_while_products_have_values(shop):
    feature = await create_feature(shop.scope, {"name": "f", "type": "T"})
    await update_feature(shop.scope, feature, {"type": "N"})
    await shop.product(features=[{"feature": feature, "value": "1"}])
    with pytest.raises(RuleViolation):
        await update_feature(shop.scope, feature, {"type": "T"})
    by_variant = await create_feature(shop.scope, {"name": "g", "type": "S", "variants": ["x"]})
    await shop.product(features=[{"feature": by_variant, "value": "x"}])
    await update_feature(shop.scope, by_variant, {"type": "B"})


@pytest.mark.parametrize(
    "given, fields",
    [
        ({"name": None}, {"name": "name_required"}),
        ({"type": "X"}, {"type": "type_invalid"}),
        ({"group": 10**12}, {"group": "not_found"}),
        ({"categories": [10**12]}, {"categories": "not_found"}),
        ({"type": "T", "variants": ["x"]}, {"variants": "variants_invalid"}),
        ({"type": "S", "variants": [{"id": 10**12}]}, {"variants": "not_found"}),
    ],
)
async def test_what_is_wrong_is_named(shop, given, fields):
    with pytest.raises(ValidationFailed) as refusal:
        await create_feature(shop.scope, {"name": "f", **given})
    assert refusal.value.fields == fields


async def test_only_a_group_holds_features(shop):
    plain = await create_feature(shop.scope, {"name": "f"})
    with pytest.raises(ValidationFailed) as refusal:
        await create_feature(shop.scope, {"name": "g", "group": plain})
    assert refusal.value.fields == {"group": "group_invalid"}


async def test_features_of_a_deleted_group_stand_alone(shop):
    group = await create_feature(shop.scope, {"name": "g", "type": "G"})
    feature = await create_feature(shop.scope, {"name": "f", "group": group})
    await delete_feature(shop.scope, group)
    assert (await shop.record("features", feature))["parent_id"] is None
    with pytest.raises(NotFound):
        await update_feature(shop.scope, group, {"name": "x"})


async def test_another_stores_feature_is_not_found(shop, other_shop):
    foreign = await create_feature(other_shop.scope, {"name": "f"})
    for reference in (foreign, await other_shop.public_id("features", foreign), unknown()):
        with pytest.raises(NotFound):
            await update_feature(shop.scope, reference, {"name": "x"})
        with pytest.raises(ValidationFailed):
            await shop.product(features=[{"feature": reference, "value": "x"}])
