"""Features, their variants and their categories."""

from __future__ import annotations

import pytest

from domain.catalog.categories import CATEGORY_RECORDS
from domain.catalog.features import FEATURE_RECORDS
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from tests.harness.domain_store import unknown


async def variants(kit, feature):
    result = await kit.rows(
        "SELECT id, name, position FROM feature_variants WHERE tenant_id = $1 AND feature_id = $2 ORDER BY position, id",
        feature,
    )
    return [(row["name"], row["position"]) for row in result]


async def test_a_feature_stores_its_input(kit):
    group = await FEATURE_RECORDS.create(kit.scope, {"name": "Sizes", "type": "G"})
    shoes = await CATEGORY_RECORDS.create(kit.scope, {"name": "Shoes"})
    feature = await FEATURE_RECORDS.create(
        kit.scope,
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
    record = await kit.record("features", feature)
    assert (record["type"], record["parent_id"], record["suffix"], record["comparison"]) == (
        "S",
        group,
        " cm",
        True,
    )
    assert await variants(kit, feature) == [("37", 0), ("38", 9)]
    links = await kit.rows("SELECT category_id FROM feature_categories WHERE tenant_id = $1")
    assert [row["category_id"] for row in links] == [shoes]


async def test_unlisted_variants_are_deleted_with_their_values(kit):
    feature = await FEATURE_RECORDS.create(
        kit.scope, {"name": "Colour", "type": "S", "variants": ["Red", "Blue", "Green"]}
    )
    await kit.product(features=[{"feature": feature, "value": "Blue"}])
    red = await kit.value("SELECT id FROM feature_variants WHERE tenant_id = $1 AND name = 'Red'")
    await FEATURE_RECORDS.update(kit.scope, feature, {"variants": [{"id": red, "name": "Crimson"}, "Green", "Black"]})
    assert await variants(kit, feature) == [("Crimson", 0), ("Green", 1), ("Black", 2)]
    assert await kit.value("SELECT count(*) FROM feature_values WHERE tenant_id = $1") == 0
    await FEATURE_RECORDS.update(kit.scope, feature, {"name": "Color"})
    assert len(await variants(kit, feature)) == 3


async def test_the_type_cannot_change_while_products_have_values(kit):
    feature = await FEATURE_RECORDS.create(kit.scope, {"name": "f", "type": "T"})
    await FEATURE_RECORDS.update(kit.scope, feature, {"type": "N"})
    await kit.product(features=[{"feature": feature, "value": "1"}])
    with pytest.raises(RuleViolation):
        await FEATURE_RECORDS.update(kit.scope, feature, {"type": "T"})
    by_variant = await FEATURE_RECORDS.create(kit.scope, {"name": "g", "type": "S", "variants": ["x"]})
    await kit.product(features=[{"feature": by_variant, "value": "x"}])
    await FEATURE_RECORDS.update(kit.scope, by_variant, {"type": "B"})


@pytest.mark.parametrize(
    "values, fields",
    [
        ({"name": None}, {"name": "name_required"}),
        ({"type": "X"}, {"type": "type_invalid"}),
        ({"group": 10**12}, {"group": "not_found"}),
        ({"categories": [10**12]}, {"categories": "not_found"}),
        ({"type": "T", "variants": ["x"]}, {"variants": "variants_invalid"}),
        ({"type": "S", "variants": [{"id": 10**12}]}, {"variants.name": "name_required"}),
        ({"type": "S", "variants": ["x", {"name": "y", "position": -1}]}, {"variants.position": "position_invalid"}),
    ],
)
async def test_field_errors_are_reported(kit, values, fields):
    with pytest.raises(ValidationFailed) as error:
        await FEATURE_RECORDS.create(kit.scope, {"name": "f", **values})
    assert error.value.fields == fields


async def test_no_variant_is_lost_when_another_gets_its_name(kit):
    feature = await FEATURE_RECORDS.create(kit.scope, {"name": "f", "type": "S", "variants": ["a", "b"]})

    async def variants():
        rows = await kit.rows(
            "SELECT id, name FROM feature_variants WHERE tenant_id = $1 AND feature_id = $2 ORDER BY position", feature
        )
        return {row["name"]: row["id"] for row in rows}

    before = await variants()
    await FEATURE_RECORDS.update(kit.scope, feature, {"variants": [{"id": before["a"], "name": "z"}, "a", "b", "b"]})
    after = await variants()
    assert list(after) == ["z", "a", "b"]
    assert (after["z"], after["b"]) == (before["a"], before["b"])
    for repeated in (["z", {"id": after["z"], "name": "y"}], [{"id": after["z"]}, {"id": after["z"], "name": "y"}]):
        with pytest.raises(ValidationFailed, match=f"variant {after['z']} is named twice"):
            await FEATURE_RECORDS.update(kit.scope, feature, {"variants": repeated})
    assert await variants() == after


async def test_only_a_group_contains_features(kit):
    plain = await FEATURE_RECORDS.create(kit.scope, {"name": "f"})
    with pytest.raises(ValidationFailed) as error:
        await FEATURE_RECORDS.create(kit.scope, {"name": "g", "group": plain})
    assert error.value.fields == {"group": "group_invalid"}


async def test_features_of_a_deleted_group_become_ungrouped(kit):
    group = await FEATURE_RECORDS.create(kit.scope, {"name": "g", "type": "G"})
    feature = await FEATURE_RECORDS.create(kit.scope, {"name": "f", "group": group})
    await FEATURE_RECORDS.delete(kit.scope, group)
    assert (await kit.record("features", feature))["parent_id"] is None
    with pytest.raises(NotFound):
        await FEATURE_RECORDS.update(kit.scope, group, {"name": "x"})


async def test_another_stores_feature_is_not_found(kit, other_kit):
    foreign = await FEATURE_RECORDS.create(other_kit.scope, {"name": "f"})
    for reference in (foreign, await other_kit.public_id("features", foreign), unknown()):
        with pytest.raises(NotFound):
            await FEATURE_RECORDS.update(kit.scope, reference, {"name": "x"})
        with pytest.raises(ValidationFailed):
            await kit.product(features=[{"feature": reference, "value": "x"}])
