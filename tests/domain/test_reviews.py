"""What buyers say: one thread for each thing, and only what the thread collects."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from domain.catalog.categories import create_category
from domain.marketplace.reviews import create_review, delete_review, update_review
from kernel.errors import NotFound, ValidationFailed
from tests.domain.kit import unknown


async def threads(shop):
    found = await shop.rows(
        "SELECT object_type, object_id, type FROM discussion_threads WHERE tenant_id = $1 ORDER BY id"
    )
    return [tuple(row) for row in found]


async def test_posts_about_one_product_share_a_thread(shop):
    product, user = await shop.product(), await shop.customer(firstname="Ana", lastname="Souza")
    first = await create_review(
        shop.scope, {"product": product, "message": "Good", "rating": 5, "user": user}
    )
    second = await create_review(
        shop.scope, {"object_type": "P", "object": product, "message": "Hm", "name": "Rui"}
    )
    assert await threads(shop) == [("P", product, "B")]
    one, other = await shop.record("discussion_posts", first), await shop.record("discussion_posts", second)
    assert one["thread_id"] == other["thread_id"]
    assert (one["name"], one["rating"], one["status"], one["user_id"]) == ("Ana Souza", 5, "A", user)
    third = await create_review(shop.scope, {"thread": one["thread_id"], "message": "Me too"})
    assert (await shop.record("discussion_posts", third))["thread_id"] == one["thread_id"]


async def test_first_posts_at_once_make_one_thread(shop):
    product = await shop.product()
    await asyncio.gather(*(create_review(shop.scope, {"product": product, "message": "x"}) for _ in range(8)))
    assert len(await threads(shop)) == 1


async def test_a_thread_is_about_orders_categories_or_the_store(shop):
    order = await shop.order((await shop.product(), 1))
    category = await create_category(shop.scope, {"name": "c"})
    for type_, number in (("O", order.id), ("C", category), ("E", None)):
        await create_review(shop.scope, {"object_type": type_, "object": number, "message": "x"})
    assert await threads(shop) == [("O", order.id, "B"), ("C", category, "B"), ("E", 0, "B")]


@pytest.mark.parametrize(
    "type_, given, fields",
    [
        ("B", {}, {"message": "required"}),
        ("B", {"rating": 6}, {"rating": "rating_invalid"}),
        ("B", {"rating": 0}, {"rating": "rating_invalid"}),
        ("R", {"message": "x"}, {"rating": "required"}),
        ("C", {"message": "x", "rating": 3}, {"rating": "rating_invalid"}),
        ("C", {}, {"message": "required"}),
        ("B", {"message": "x", "status": "Z"}, {"status": "status_invalid"}),
        ("B", {"message": "x", "user": 10**12}, {"user": "not_found"}),
    ],
)
async def test_a_thread_takes_what_it_collects(shop, type_, given, fields):
    with pytest.raises(ValidationFailed) as refusal:
        await create_review(shop.scope, {"product": await shop.product(), "type": type_, **given})
    assert refusal.value.fields == fields
    assert await threads(shop) == []


@pytest.mark.parametrize(
    "given, field",
    [
        ({}, "object_type"),
        ({"object_type": "P"}, "object"),
        ({"object_type": "P", "object": 10**12}, "object"),
        ({"object_type": "A", "object": 1}, "object"),
        ({"product": 10**12}, "product"),
        ({"thread": 10**12}, "thread"),
    ],
)
async def test_what_a_post_is_about_must_be_there(shop, given, field):
    with pytest.raises(ValidationFailed) as refusal:
        await create_review(shop.scope, {"message": "x", **given})
    assert set(refusal.value.fields) == {field}


async def test_a_customer_writes_as_itself_and_decides_nothing_else(shop):
    product, ana, rui = await shop.product(), await shop.customer(), await shop.customer()
    review = await create_review(
        shop.as_customer(ana), {"product": product, "message": "x", "user": rui, "status": "D", "type": "R"}
    )
    record = await shop.record("discussion_posts", review)
    assert (record["user_id"], record["status"]) == (ana, "A")
    await update_review(shop.as_customer(ana), review, {"message": "y", "status": "D"})
    assert (await shop.record("discussion_posts", review))["status"] == "A"
    for work in (
        update_review(shop.as_customer(rui), review, {}),
        delete_review(shop.as_customer(rui), review),
    ):
        with pytest.raises(NotFound):
            await work
    await delete_review(shop.as_customer(ana), review)


async def test_a_customers_words_await_approval_where_the_store_says_so(shop):
    ana = await shop.customer()
    store = replace(shop.scope.store, settings={"reviews_need_approval": True})
    customer = replace(shop.as_customer(ana), store=store)
    review = await create_review(customer, {"product": await shop.product(), "message": "x"})
    assert (await shop.record("discussion_posts", review))["status"] == "P"
    await update_review(shop.as_admin(), review, {"status": "A"})
    await update_review(customer, review, {"message": "changed after approval"})
    assert (await shop.record("discussion_posts", review))["status"] == "P"


async def test_a_post_changes_partially_and_can_be_removed(shop):
    review = await create_review(shop.scope, {"product": await shop.product(), "message": "x", "rating": 2})
    await update_review(shop.scope, review, {"rating": None})
    record = await shop.record("discussion_posts", review)
    assert (record["message"], record["rating"]) == ("x", None)
    await delete_review(shop.scope, review)
    with pytest.raises(NotFound, match="review not found"):
        await update_review(shop.scope, review, {"message": "y"})


async def test_another_stores_posts_and_objects_are_not_found(shop, other_shop):
    product = await other_shop.product()
    review = await create_review(other_shop.scope, {"product": product, "message": "x"})
    for reference in (review, await other_shop.public_id("discussion_posts", review), unknown()):
        with pytest.raises(NotFound):
            await delete_review(shop.scope, reference)
    with pytest.raises(ValidationFailed):
        await create_review(
            shop.scope, {"product": await other_shop.public_id("products", product), "message": "x"}
        )
