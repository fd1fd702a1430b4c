"""Wishlists of customers (docs/reference/graphql.md#wishlists)."""

from __future__ import annotations

from typing import Any

from domain.people.wishlists import MAX_ITEMS
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import SampleStore

_NODES = "wishlist(first: 100) { edges { node { id } } }"
ADD = f"mutation($ids: [ID!]!) {{ wishlist_add(product_ids: $ids) {{ {_NODES} }} }}"
REMOVE = f"mutation($ids: [ID!]!) {{ wishlist_remove(product_ids: $ids) {{ {_NODES} }} }}"
READ = f"{{ me {{ {_NODES} }} }}"


async def run(sample: SampleStore, text: str, *, by: Any = None, **variables: Any) -> Any:
    body = {"query": text, "variables": variables}
    return (await sample.post("/graphql", body, auth="bearer", by=by or sample.caio)).body


def ids_of(answer: Any) -> list[str]:
    assert "errors" not in answer, answer
    [user] = answer["data"].values()
    return [edge["node"]["id"] for edge in user["wishlist"]["edges"]]


async def test_products_are_kept_in_the_order_they_were_added_the_last_one_first(sample: SampleStore) -> None:
    first, second, third = [(await sample.add_product()).id for _ in range(3)]
    assert ids_of(await run(sample, ADD, ids=[first])) == [first]
    assert ids_of(await run(sample, ADD, ids=[third, second, third.upper()])) == [third, second, first]
    assert ids_of(await run(sample, ADD, ids=[first])) == [third, second, first], "one that it has stays in its place"
    assert ids_of(await run(sample, REMOVE, ids=[second, UNKNOWN_ID, "x"])) == [third, first]
    assert ids_of(await run(sample, READ)) == [third, first]


async def test_pages_of_a_wishlist_continue_after_a_cursor(sample: SampleStore) -> None:
    products = [(await sample.add_product()).id for _ in range(3)]
    await run(sample, ADD, ids=products)
    text = "query($after: String) { me { wishlist(first: 2, after: $after) { edges { node { id } } page_info { end_cursor } } } }"
    page = await run(sample, text)
    assert ids_of(page) == products[:2]
    cursor = page["data"]["me"]["wishlist"]["page_info"]["end_cursor"]
    assert ids_of(await run(sample, text, after=cursor)) == products[2:]


async def test_nobody_sees_the_wishlist_of_another_customer(sample: SampleStore) -> None:
    await run(sample, ADD, ids=[sample.mug.id])
    assert ids_of(await run(sample, READ, by=sample.vendor_user)) == []
    text = f"query($id: ID!) {{ user(id: $id) {{ {_NODES} }} }}"
    assert ids_of(await run(sample, text, by=sample.owner, id=sample.caio.id)) == [sample.mug.id]
    assert (await run(sample, text, by=sample.vendor_user, id=sample.caio.id))["data"]["user"] is None


async def test_what_the_caller_cannot_open_is_refused_like_what_does_not_exist(sample: SampleStore) -> None:
    disabled = await sample.add_product(status="D")
    for product in (disabled.id, UNKNOWN_ID):
        [error] = (await run(sample, ADD, ids=[sample.mug.id, product]))["errors"]
        assert error["message"] == f"product {product} not found", product
        assert error["extensions"]["field"] == "product_ids", product
    assert ids_of(await run(sample, READ)) == [], "all or none"


async def test_a_product_that_is_disabled_later_is_left_out(sample: SampleStore) -> None:
    product = await sample.add_product()
    await run(sample, ADD, ids=[product.id, sample.mug.id])
    await sample.execute("update products set status = 'D' where id = $1", product.number)
    assert ids_of(await run(sample, READ)) == [sample.mug.id]


async def test_a_wishlist_has_at_most_500_products(sample: SampleStore) -> None:
    await sample.execute(
        "insert into products (tenant_id, public_id, name, slug, price_cents, created_at, updated_at)"
        " select tenant_id, gen_random_uuid(), 'P', 'p-' || n, 1, now(), now() from users, generate_series(1, $2) n where id = $1",
        sample.caio.number,
        MAX_ITEMS,
    )
    await sample.execute(
        "insert into wishlist_items (tenant_id, public_id, user_id, product_id)"
        " select tenant_id, gen_random_uuid(), $1, id from products where slug like 'p-%'",
        sample.caio.number,
    )
    [error] = (await run(sample, ADD, ids=[sample.mug.id]))["errors"]
    assert error["extensions"]["details"]["reason"] == "wishlist_full"
    [error] = (await run(sample, ADD, ids=[UNKNOWN_ID] * (MAX_ITEMS + 1)))["errors"]
    assert error["extensions"]["details"]["fields"] == {"product_ids": "too_many"}


async def test_a_visitor_has_no_wishlist(sample: SampleStore) -> None:
    answer = await sample.post("/graphql", {"query": ADD, "variables": {"ids": [sample.mug.id]}}, auth=None)
    assert answer.status == 401


async def test_an_export_contains_the_wishlist_and_an_erasure_deletes_it(sample: SampleStore) -> None:
    await run(sample, ADD, ids=[sample.mug.id])
    export = "query($id: ID!) { user_export(id: $id) { data } }"
    data = (await run(sample, export, by=sample.owner, id=sample.caio.id))["data"]["user_export"]["data"]
    assert len(data["wishlist_items"]) == 1
    await run(sample, "mutation($id: ID!) { user_anonymize(id: $id) { id } }", by=sample.owner, id=sample.caio.id)
    assert await sample.value("select count(*) from wishlist_items") == 0
