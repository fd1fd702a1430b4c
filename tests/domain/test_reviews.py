"""Reviews: one thread per subject, and only posts of its type."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from domain.catalog.categories import CATEGORY_RECORDS
from domain.content.pages import PAGE_RECORDS
from domain.marketplace.reviews import create_review, delete_review, update_review
from kernel.errors import NotFound, ValidationFailed
from tests.harness.domain_store import unknown


async def threads(kit):
    result = await kit.rows(
        "SELECT object_type, object_id, type FROM discussion_threads WHERE tenant_id = $1 ORDER BY id"
    )
    return [tuple(row) for row in result]


async def test_posts_about_one_product_share_a_thread(kit):
    product, user = await kit.product(), await kit.customer(firstname="Ana", lastname="Souza")
    first = await create_review(kit.scope, {"product": product, "message": "Good", "rating": 5, "user": user})
    second = await create_review(kit.scope, {"object_type": "P", "object": product, "message": "Hm", "name": "Rui"})
    assert await threads(kit) == [("P", product, "B")]
    one, other = await kit.record("discussion_posts", first), await kit.record("discussion_posts", second)
    assert one["thread_id"] == other["thread_id"]
    assert (one["name"], one["rating"], one["status"], one["user_id"]) == ("Ana Souza", 5, "A", user)
    third = await create_review(kit.scope, {"thread": one["thread_id"], "message": "Me too"})
    assert (await kit.record("discussion_posts", third))["thread_id"] == one["thread_id"]


async def reviews_of(kit, product):
    rows = await kit.rows(
        "SELECT d.user_id, d.rating, d.message, d.status FROM discussion_posts d JOIN discussion_threads t ON t.tenant_id = d.tenant_id"
        " AND t.id = d.thread_id WHERE d.tenant_id = $1 AND t.object_type = 'P' AND t.object_id = $2 ORDER BY d.id",
        product,
    )
    return [tuple(row) for row in rows]


async def test_a_second_review_of_the_same_customer_and_product_changes_the_first(kit):
    product, other_product = await kit.product(), await kit.product()
    user, other_user = await kit.customer(), await kit.customer()
    customer = kit.as_customer(user)
    first = await create_review(customer, {"product": product, "message": "Boa", "rating": 5})
    assert await create_review(customer, {"product": product, "rating": 2}) == first
    assert await create_review(kit.scope, {"product": product, "user": user, "message": "Ruim"}) == first
    assert await reviews_of(kit, product) == [(user, 2, "Ruim", "A")]
    for scope, values in (
        (kit.as_customer(other_user), {"product": product}),
        (customer, {"product": other_product}),
        (kit.scope, {"product": product, "name": "Rui"}),
        (kit.scope, {"product": product, "name": "Rui"}),
        (customer, {"object_type": "E"}),
        (customer, {"object_type": "E"}),
    ):
        assert await create_review(scope, {"message": "x", **values}) != first, values
    assert len(await reviews_of(kit, product)) == 4


async def test_a_changed_review_awaits_approval_again(kit):
    product, user = await kit.product(), await kit.customer()
    customer = kit.as_customer(user)
    await create_review(customer, {"product": product, "rating": 5})
    settings = {**customer.store.settings, "reviews_need_approval": True}
    strict = replace(customer, store=replace(customer.store, settings=settings))
    await create_review(strict, {"product": product, "rating": 1})
    assert await reviews_of(kit, product) == [(user, 1, "", "P")]


async def test_a_customer_comments_on_a_product_as_often_as_it_likes(kit):
    product, user = await kit.product(), await kit.customer()
    for text in ("um", "dois"):
        await create_review(kit.scope, {"product": product, "type": "C", "user": user, "message": text})
    assert [message for _, _, message, _ in await reviews_of(kit, product)] == ["um", "dois"]


async def test_simultaneous_reviews_of_one_customer_are_one(kit):
    product, user = await kit.product(), await kit.customer()
    customer = kit.as_customer(user)
    numbers = await asyncio.gather(
        *(create_review(customer, {"product": product, "rating": rating}) for rating in (1, 2, 3, 4, 5, 1, 2, 3))
    )
    assert len(set(numbers)) == len(await reviews_of(kit, product)) == 1


async def test_of_several_reviews_from_before_the_newest_is_changed(kit):
    product, user = await kit.product(), await kit.customer()
    first = await create_review(kit.scope, {"product": product, "message": "a"})
    second = await create_review(kit.scope, {"product": product, "message": "b"})
    await kit.execute("UPDATE discussion_posts SET user_id = $2 WHERE tenant_id = $1", kit.store.id, user)
    assert await create_review(kit.as_customer(user), {"product": product, "rating": 4}) == second
    assert await reviews_of(kit, product) == [(user, None, "a", "A"), (user, 4, "b", "A")]
    assert first != second


async def test_concurrent_first_posts_create_one_thread(kit):
    product = await kit.product()
    await asyncio.gather(*(create_review(kit.scope, {"product": product, "message": "x"}) for _ in range(8)))
    assert len(await threads(kit)) == 1


async def test_threads_of_orders_categories_and_the_store(kit):
    order = await kit.order((await kit.product(), 1))
    category = await CATEGORY_RECORDS.create(kit.scope, {"name": "c"})
    for type_, number in (("O", order.id), ("C", category), ("E", None)):
        await create_review(kit.scope, {"object_type": type_, "object": number, "message": "x"})
    assert await threads(kit) == [("O", order.id, "B"), ("C", category, "B"), ("E", 0, "B")]


@pytest.mark.parametrize(
    "type_, values, fields",
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
async def test_a_thread_accepts_only_its_post_type(kit, type_, values, fields):
    with pytest.raises(ValidationFailed) as error:
        await create_review(kit.scope, {"product": await kit.product(), "type": type_, **values})
    assert error.value.fields == fields
    assert await threads(kit) == []


@pytest.mark.parametrize(
    "values, field",
    [
        ({}, "object_type"),
        ({"object_type": "P"}, "object"),
        ({"object_type": "P", "object": 10**12}, "object"),
        ({"object_type": "A", "object": 1}, "object"),
        ({"product": 10**12}, "product"),
        ({"thread": 10**12}, "thread"),
    ],
)
async def test_the_subject_of_a_post_must_exist(kit, values, field):
    with pytest.raises(ValidationFailed) as error:
        await create_review(kit.scope, {"message": "x", **values})
    assert set(error.value.fields) == {field}


async def test_a_customer_reviews_what_it_opens_as_if_nothing_else_existed(kit):
    customer = kit.as_customer(await kit.customer())
    own = await kit.order((await kit.product(), 1), user=customer.actor.user_id)
    page = {"name": "Sobre"}
    subjects = {
        "P": [await kit.product(status=status) for status in ("A", "H", "D", "P")],
        "C": [await CATEGORY_RECORDS.create(kit.scope, {"name": "c", "status": status}) for status in "AHD"],
        "A": [await PAGE_RECORDS.create(kit.scope, {**page, "status": status}) for status in "AD"],
        "O": [own.id, (await kit.order((await kit.product(), 1))).id],
    }
    opened = {"P": 2, "C": 2, "A": 1, "O": 1}
    for type_, numbers in subjects.items():
        for place, number in enumerate(numbers):
            written = await create_review(kit.scope, {"object_type": type_, "object": number, "message": "da loja"})
            thread = (await kit.record("discussion_posts", written))["thread_id"]
            ways = {"object": {"object_type": type_, "object": number}, "thread": {"thread": thread}}
            ways |= {"product": {"product": number}} if type_ == "P" else {}
            for field, values in ways.items():
                if place < opened[type_]:
                    await create_review(customer, {"message": "x", **values})
                    continue
                with pytest.raises(ValidationFailed) as refused:
                    await create_review(customer, {"message": "x", **values})
                with pytest.raises(ValidationFailed) as missing:
                    await create_review(customer, {"message": "x", **values, field: 10**12})
                same = refused.value.message.replace(str(values[field]), str(10**12))
                assert (same, refused.value.fields) == (missing.value.message, {field: "not_found"}), (type_, values)


async def test_a_customer_posts_under_its_own_name_and_cannot_approve(kit):
    product, ana, rui = await kit.product(), await kit.customer(), await kit.customer()
    review = await create_review(
        kit.as_customer(ana), {"product": product, "message": "x", "user": rui, "status": "D", "type": "R"}
    )
    record = await kit.record("discussion_posts", review)
    assert (record["user_id"], record["status"]) == (ana, "A")
    await update_review(kit.as_customer(ana), review, {"message": "y", "status": "D"})
    assert (await kit.record("discussion_posts", review))["status"] == "A"
    for work in (
        update_review(kit.as_customer(rui), review, {}),
        delete_review(kit.as_customer(rui), review),
    ):
        with pytest.raises(NotFound):
            await work
    await delete_review(kit.as_customer(ana), review)


async def test_a_customers_post_awaits_approval_by_store_setting(kit):
    ana = await kit.customer()
    store = replace(kit.scope.store, settings={"reviews_need_approval": True})
    customer = replace(kit.as_customer(ana), store=store)
    review = await create_review(customer, {"product": await kit.product(), "message": "x"})
    assert (await kit.record("discussion_posts", review))["status"] == "P"
    await update_review(kit.as_admin(), review, {"status": "A"})
    await update_review(customer, review, {"message": "changed after approval"})
    assert (await kit.record("discussion_posts", review))["status"] == "P"


async def test_a_post_is_updated_partially_and_deleted(kit):
    review = await create_review(kit.scope, {"product": await kit.product(), "message": "x", "rating": 2})
    await update_review(kit.scope, review, {"rating": None})
    record = await kit.record("discussion_posts", review)
    assert (record["message"], record["rating"]) == ("x", None)
    await delete_review(kit.scope, review)
    with pytest.raises(NotFound, match="review not found"):
        await update_review(kit.scope, review, {"message": "y"})


async def test_another_stores_posts_and_objects_are_not_found(kit, other_kit):
    product = await other_kit.product()
    review = await create_review(other_kit.scope, {"product": product, "message": "x"})
    for reference in (review, await other_kit.public_id("discussion_posts", review), unknown()):
        with pytest.raises(NotFound):
            await delete_review(kit.scope, reference)
    with pytest.raises(ValidationFailed):
        await create_review(kit.scope, {"product": await other_kit.public_id("products", product), "message": "x"})
