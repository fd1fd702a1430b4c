"""Check the routes of customers' open carts."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from models.tables.carts import Cart, CartItem
from tests.harness.sample_store import SampleStore


async def add_cart(sample: SampleStore, user: Any, **columns: Any) -> int:
    expires_at = datetime.now(UTC) + timedelta(days=1)
    cart = await sample.add(Cart, **{"public_id": uuid4(), "user_id": user, "expires_at": expires_at} | columns)
    return cart.number


async def test_a_cart_shows_what_its_customer_put_into_it(sample):
    answer = await sample.get(f"/api/carts/{sample.bia}")
    assert answer.body == {
        "timestamp": answer.body["timestamp"],
        "user_id": str(sample.bia),
        "products": [
            {
                "product_id": str(sample.mug),
                "product": "Caneca de Ágata",
                "product_code": "CAN-1",
                "amount": "2",
                "price": "49.90",
            }
        ],
        "total": "99.80",
    }
    assert (await sample.get(f"/api/carts/{sample.bia.id}")).body["user_id"] == str(sample.bia)


async def test_only_open_carts_of_customers_are_listed(sample):
    now = datetime.now(UTC)
    await add_cart(sample, None)
    await add_cart(sample, sample.caio.number, expires_at=now - timedelta(seconds=1))
    await add_cart(sample, sample.owner.number, status="ordered", ordered_at=now)
    answer = await sample.get("/api/carts")
    assert [cart["user_id"] for cart in answer.body["carts"]] == [str(sample.bia)]
    assert answer.body["params"]["total_items"] == 1
    assert (await sample.get(f"/api/carts/{sample.caio}")).status == 404


async def test_of_several_carts_the_one_changed_last_counts(sample):
    newer = await add_cart(
        sample, sample.bia.number, total_cents=700, updated_at=datetime.now(UTC) + timedelta(hours=1)
    )
    await sample.add(CartItem, cart_id=newer, product_id=sample.plate.number, quantity=1, product_name="Prato")
    [cart] = (await sample.get("/api/carts")).body["carts"]
    assert (cart["total"], [line["product"] for line in cart["products"]]) == ("7.00", ["Prato"])
    assert (await sample.get(f"/api/carts/{sample.bia}")).body == cart


async def test_carts_are_filtered_by_customer_and_sorted_by_total(sample):
    await add_cart(sample, sample.caio.number, total_cents=100)
    answer = await sample.get("/api/carts?sort_by=total&sort_order=asc")
    assert [cart["total"] for cart in answer.body["carts"]] == ["1.00", "99.80"]
    answer = await sample.get(f"/api/carts?user_id={sample.caio}")
    assert list(answer.body["carts"]) == [str(sample.caio)]


async def test_all_carts_are_streamed_in_the_cscart_dialect(new_sample):
    sample = await new_sample(legacy_lists="cscart")
    await add_cart(sample, sample.caio.number)
    answer = await sample.get("/api/carts?items_per_page=0&sort_by=user_id&sort_order=desc")
    numbers = [int(cart["user_id"]) for cart in answer.body["carts"]]
    assert numbers == sorted((sample.bia.number, sample.caio.number), reverse=True)


@pytest.mark.parametrize("path", ["carts/abc", "carts/0", "carts/9000000000000"])
async def test_an_unknown_cart_is_not_found(shared_sample, path):
    answer = await shared_sample.get(f"/api/{path}")
    assert (answer.status, answer.body["message"]) == (404, "Cart not found")


async def test_another_stores_cart_is_not_found(sample, other_sample):
    assert (await sample.get(f"/api/carts/{other_sample.bia.id}")).status == 404


async def test_carts_are_filtered_by_cs_carts_parameters_in_its_dialect(new_sample):
    sample = await new_sample(legacy_lists="cscart")
    past = datetime(2020, 1, 2, tzinfo=UTC)
    cart = await add_cart(sample, sample.caio.number, total_cents=1_000, created_at=past)
    await sample.add(CartItem, cart_id=cart, product_id=sample.plate.number, quantity=1, product_name="Prato")
    caio, bia = str(sample.caio), str(sample.bia)
    email = (await sample.get(f"/api/users/{caio}")).body["email"]
    queries = {
        "period=A": {caio, bia},
        "period=HH": {bia},
        "period=C&time_from=1577836800&time_to=1577923200": {caio},
        f"email={email}": {caio},
        f"cname={email}": {caio},
        "users_type=R": {caio, bia},
        "users_type=G": set(),
        "total_from=10.01": {bia},
        "total_to=10": {caio},
        f"p_ids={sample.plate},{sample.ebook}": {caio},
        f"p_ids[]={sample.plate}&p_ids[]={sample.mug}": {caio, bia},
        "with_info_only=true&product_type_c=true": {caio, bia},
    }
    for query, expected in queries.items():
        answer = await sample.get(f"/api/carts?{query}")
        assert {row["user_id"] for row in answer.body["carts"]} == expected, query
        assert "X-Ignored-Parameters" not in answer.headers, query
    names = [row["user_id"] for row in (await sample.get("/api/carts?sort_by=customer&sort_order=asc")).body["carts"]]
    assert sorted(names) == sorted([caio, bia])
    assert (await sample.get("/api/carts?sort_by=customer&sort_order=desc")).body["carts"][0]["user_id"] == names[-1]
