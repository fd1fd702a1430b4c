"""The category tree stays a tree."""

from __future__ import annotations

import asyncio

import pytest

from domain.catalog.categories import CATEGORY_RECORDS
from domain.catalog.products import delete_product
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from tests.harness.domain_store import unknown


async def make(kit, name="c", **values):
    return await CATEGORY_RECORDS.create(kit.scope, {"name": name, **values})


async def path(kit, category):
    return (await kit.record("categories", category))["id_path"]


async def test_a_category_has_its_path_from_the_root(kit):
    root = await make(kit)
    child = await make(kit, parent=root)
    grandchild = await make(kit, parent=await kit.public_id("categories", child))
    assert await path(kit, root) == f"{root}"
    assert await path(kit, grandchild) == f"{root}/{child}/{grandchild}"


async def test_moving_a_category_moves_its_descendants(kit):
    one, other = await make(kit), await make(kit)
    child = await make(kit, parent=one)
    grandchild = await make(kit, parent=child)
    await CATEGORY_RECORDS.update(kit.scope, child, {"parent": other})
    assert await path(kit, grandchild) == f"{other}/{child}/{grandchild}"
    await CATEGORY_RECORDS.update(kit.scope, child, {"parent": None})
    assert await path(kit, grandchild) == f"{child}/{grandchild}"
    assert (await kit.record("categories", child))["parent_id"] is None


async def test_a_path_is_not_confused_with_one_sharing_its_prefix(kit):
    created = [await make(kit) for _ in range(12)]
    # Find two ids of which one begins with the other's digits, such as 3 and 31.
    pairs = [(a, b) for a in created for b in created if a != b and str(b).startswith(str(a))]
    for short, long in pairs[:1]:
        child = await make(kit, parent=long)
        await CATEGORY_RECORDS.update(
            kit.scope, short, {"parent": created[-1] if created[-1] not in (short, long) else created[-2]}
        )
        assert await path(kit, child) == f"{long}/{child}"


async def test_a_category_never_becomes_its_own_descendant(kit):
    root = await make(kit)
    child = await make(kit, parent=root)
    grandchild = await make(kit, parent=child)
    for parent in (root, child, grandchild):
        with pytest.raises(ValidationFailed) as error:
            await CATEGORY_RECORDS.update(kit.scope, root, {"parent": parent})
        assert error.value.fields == {"parent": "parent_invalid"}, parent


async def test_concurrent_moves_create_no_cycle(kit):
    one, other = await make(kit), await make(kit)
    results = await asyncio.gather(
        CATEGORY_RECORDS.update(kit.scope, one, {"parent": other}),
        CATEGORY_RECORDS.update(kit.scope, other, {"parent": one}),
        return_exceptions=True,
    )
    assert sum(isinstance(result, ValidationFailed) for result in results) == 1


async def test_no_product_is_written_into_a_category_that_is_deleted_meanwhile(kit):
    for attempt in range(8):
        category = await make(kit)
        created, deleted = await asyncio.gather(
            kit.product(category=category), CATEGORY_RECORDS.delete(kit.scope, category), return_exceptions=True
        )
        refused = [result for result in (created, deleted) if isinstance(result, BaseException)]
        assert len(refused) == 1, (attempt, created, deleted)
        assert isinstance(refused[0], ValidationFailed | RuleViolation), attempt


async def test_a_tree_too_deep_for_its_path_is_rejected(kit):
    async def go_deeper():
        parent = None
        for _ in range(300):
            parent = await make(kit, parent=parent)

    with pytest.raises(ValidationFailed) as error:
        await go_deeper()
    assert error.value.fields == {"parent": "parent_invalid"}


async def test_a_partial_update_keeps_other_fields(kit):
    root = await make(kit)
    child = await make(kit, parent=root, position=3, status="H", description="d")
    await CATEGORY_RECORDS.update(kit.scope, child, {"name": "changed"})
    record = await kit.record("categories", child)
    assert (record["name"], record["parent_id"], record["position"], record["status"]) == (
        "changed",
        root,
        3,
        "H",
    )


@pytest.mark.parametrize(
    "values, fields",
    [
        ({"name": ""}, {"name": "name_required"}),
        ({"status": "P"}, {"status": "status_invalid"}),
        ({"position": -1}, {"position": "position_invalid"}),
        ({"parent": 10**12}, {"parent": "not_found"}),
        ({"vendor": 10**12}, {"vendor": "not_found"}),
    ],
)
async def test_field_errors_are_reported(kit, values, fields):
    with pytest.raises(ValidationFailed) as error:
        await CATEGORY_RECORDS.create(kit.scope, {"name": "c", **values})
    assert error.value.fields == fields


async def test_a_category_with_children_or_products_is_not_deleted(kit):
    root = await make(kit)
    child = await make(kit, parent=root)
    product = await kit.product(categories=[await make(kit), child])
    with pytest.raises(RuleViolation, match="children"):
        await CATEGORY_RECORDS.delete(kit.scope, root)
    with pytest.raises(RuleViolation, match="products"):
        await CATEGORY_RECORDS.delete(kit.scope, child)
    await delete_product(kit.scope, product)
    await CATEGORY_RECORDS.delete(kit.scope, child)
    await CATEGORY_RECORDS.delete(kit.scope, root)
    with pytest.raises(NotFound):
        await CATEGORY_RECORDS.delete(kit.scope, root)
    with pytest.raises(ValidationFailed):
        await make(kit, parent=root)


async def test_another_stores_category_is_not_found(kit, other_kit):
    foreign = await make(other_kit)
    for reference in (foreign, await other_kit.public_id("categories", foreign), unknown()):
        with pytest.raises(NotFound):
            await CATEGORY_RECORDS.update(kit.scope, reference, {"name": "x"})
        with pytest.raises(NotFound):
            await CATEGORY_RECORDS.delete(kit.scope, reference)
        with pytest.raises(ValidationFailed):
            await make(kit, parent=reference)
