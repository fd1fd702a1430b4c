"""A guest's cart is merged into the customer's after sign-in: once, without loss, and no other shopper's cart can be taken."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from models.tables.carts import CartItem
from tests.current.test_storefront_prices import add_promotion
from tests.graphql.test_carts import CREATE, code, execute_query, key_of
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import SampleStore

CART = """id status coupon_code customer_email address { street } quantity_total total_cents
    items { product_id quantity } warnings { code name: message quantity available_quantity product { id } item { id } }"""
MERGE = f"mutation($guest: ID!, $id: ID) {{ cart_merge(guest_cart: $guest, id: $id) {{ {CART} }} }}"
SHOWN = f"query($id: ID!) {{ cart(id: $id) {{ {CART} }} }}"
ADDRESS = 'mutation($id: ID!) { cart_set_address(id: $id, input: {zipcode: "01001000", street: "Rua G"}) { id } }'
COUPON = "mutation($id: ID!, $code: String!) { cart_apply_coupon(id: $id, code: $code) { coupon_code } }"


def quantities(cart: Any) -> dict[str, int]:
    return {item["product_id"]: item["quantity"] for item in cart["items"]}


async def cart_of(sample: SampleStore, by: Any, *items: tuple[Any, int]) -> str:
    lines = [{"product_id": product.id, "quantity": quantity} for product, quantity in items]
    created: dict[str, str] = await execute_query(sample, CREATE, by, input={"items": lines})
    return created["id"]


async def test_quantities_are_added_up_and_a_retry_changes_nothing(sample: SampleStore) -> None:
    key, caio = await key_of(sample), sample.caio
    guest = await cart_of(sample, key, (sample.mug, 2), (sample.plate, 1))
    own = await cart_of(sample, caio, (sample.mug, 1))
    await execute_query(sample, ADDRESS, key, id=guest)
    merged = await execute_query(sample, MERGE, caio, guest=guest)
    assert merged["id"] == own
    assert quantities(merged) == {sample.mug.id: 3, sample.plate.id: 1}
    assert merged["address"] == {"street": "Rua G"}
    assert await execute_query(sample, MERGE, caio, guest=guest) == merged
    assert await execute_query(sample, MERGE, caio, guest=guest, id=own) == merged
    closed = await execute_query(sample, SHOWN, key, id=guest)
    assert (closed["status"], closed["warnings"]) == ("expired", [])
    error = await execute_query(sample, COUPON, key, id=guest, code="")
    assert code(error) == ("RULE_VIOLATION", "cart_expired")


async def test_concurrent_requests_merge_once(sample: SampleStore) -> None:
    guest = await cart_of(sample, await key_of(sample), (sample.mug, 2))
    await cart_of(sample, sample.caio, (sample.mug, 1))
    merged = await asyncio.gather(*(execute_query(sample, MERGE, sample.caio, guest=guest) for _ in range(6)))
    assert [quantities(cart) for cart in merged] == [{sample.mug.id: 3}] * 6


async def test_without_an_open_cart_the_guests_becomes_the_customers(sample: SampleStore) -> None:
    key = await key_of(sample)
    guest = await cart_of(sample, key, (sample.mug, 2))
    merged = await execute_query(sample, MERGE, sample.caio, guest=guest)
    assert (merged["id"], merged["status"]) == (guest, "open")
    assert await execute_query(sample, MERGE, sample.caio, guest=guest) == merged
    for by in (sample.bia,):
        assert code(await execute_query(sample, MERGE, by, guest=guest))[0] == "NOT_FOUND"
        assert await execute_query(sample, SHOWN, by, id=guest) is None


async def test_no_other_shoppers_cart_is_taken(sample: SampleStore, other_sample: SampleStore) -> None:
    key = await key_of(sample)
    bias = await cart_of(sample, sample.bia, (sample.plate, 1))
    own = await cart_of(sample, sample.caio, (sample.mug, 1))
    guest = await cart_of(sample, key, (sample.mug, 1))
    foreign = await cart_of(other_sample, await key_of(other_sample), (other_sample.mug, 1))
    for variables in (
        {"guest": bias},
        {"guest": guest, "id": bias},
        {"guest": foreign},
        {"guest": guest, "id": foreign},
        {"guest": UNKNOWN_ID},
        {"guest": "1"},
    ):
        assert code(await execute_query(sample, MERGE, sample.caio, **variables))[0] == "NOT_FOUND", variables
    # A key opens any cart, but moves nothing from one customer to another.
    assert code(await execute_query(sample, MERGE, key, guest=bias, id=own))[0] == "NOT_FOUND"
    error = await execute_query(sample, MERGE, key, guest=guest)
    assert (code(error)[0], error["extensions"]["field"]) == ("VALIDATION_FAILED", "id")
    assert quantities(await execute_query(sample, SHOWN, sample.bia, id=bias)) == {sample.plate.id: 1}
    assert quantities(await execute_query(sample, SHOWN, sample.caio, id=own)) == {sample.mug.id: 1}


async def test_who_knows_the_guests_cart_alone_gets_nothing_of_the_customers(sample: SampleStore) -> None:
    # Who made the guest's cart may have left it in the customer's browser.
    key = await key_of(sample)
    guest, own = await cart_of(sample, key, (sample.mug, 1)), await cart_of(sample, sample.caio, (sample.plate, 1))
    await execute_query(sample, ADDRESS, sample.caio, id=own)
    await execute_query(sample, MERGE, sample.caio, guest=guest)
    other = await cart_of(sample, key, (sample.mug, 1))
    error = await execute_query(sample, MERGE, key, guest=guest)
    assert (code(error)[0], error["extensions"]["field"]) == ("VALIDATION_FAILED", "id")
    assert code(await execute_query(sample, MERGE, key, guest=guest, id=other))[1] == "cart_expired"
    assert code(await execute_query(sample, MERGE, sample.bia, guest=guest))[0] == "NOT_FOUND"
    assert (await execute_query(sample, MERGE, key, guest=guest, id=own))["address"] == {"street": "Rua G"}


async def test_what_exceeds_the_stock_stays_with_a_warning(sample: SampleStore) -> None:
    product = await sample.add_product(name="Bule", on_hand=4)
    guest = await cart_of(sample, await key_of(sample), (product, 3))
    await cart_of(sample, sample.caio, (product, 2))
    merged = await execute_query(sample, MERGE, sample.caio, guest=guest)
    assert quantities(merged) == {product.id: 5}
    [warning] = merged["warnings"]
    assert (warning["code"], warning["quantity"], warning["available_quantity"]) == ("LESS_AVAILABLE", 5, 4)
    assert (warning["product"], warning["item"] is not None) == ({"id": product.id}, True)


async def test_a_cart_that_would_be_too_large_is_refused_and_both_remain(sample: SampleStore) -> None:
    key = await key_of(sample)
    guest = await cart_of(sample, key, (sample.mug, 1), (sample.plate, 1))
    own = await cart_of(sample, sample.caio, (sample.mug, 1))
    number = await sample.value("SELECT id FROM carts WHERE public_id = $1", own)
    for position in range(199):
        await sample.add(CartItem, cart_id=number, product_id=sample.mug.number, quantity=1, options_key=f"k{position}")
    error = await execute_query(sample, MERGE, sample.caio, guest=guest)
    assert error["extensions"]["details"] == {"fields": {"items": "too_many"}}
    assert quantities(await execute_query(sample, SHOWN, key, id=guest)) == {sample.mug.id: 1, sample.plate.id: 1}
    await sample.execute("DELETE FROM cart_items WHERE options_key LIKE 'k%'")
    await sample.execute("UPDATE cart_items SET quantity = 1000000000 WHERE cart_id = $1", number)
    error = await execute_query(sample, MERGE, sample.caio, guest=guest)
    assert error["extensions"]["details"] == {"fields": {"quantity": "quantity_invalid"}}


async def test_the_customers_coupon_stays_and_the_other_is_reported(sample: SampleStore) -> None:
    for name in ("VERAO", "OUTRO"):
        await add_promotion(sample, name=name, coupon_code=name, bonuses={"order_discount": "10%"})
    key = await key_of(sample)
    guest, own = await cart_of(sample, key, (sample.mug, 1)), await cart_of(sample, sample.caio, (sample.mug, 1))
    await execute_query(sample, COUPON, key, id=guest, code="OUTRO")
    await execute_query(sample, COUPON, sample.caio, id=own, code="VERAO")
    merged = await execute_query(sample, MERGE, sample.caio, guest=guest)
    assert merged["coupon_code"] == "VERAO"
    [warning] = merged["warnings"]
    assert (warning["code"], "OUTRO" in warning["name"]) == ("COUPON_ALREADY_APPLIED", True)


async def test_a_second_coupon_is_refused_with_its_reason(sample: SampleStore) -> None:
    for name in ("VERAO", "OUTRO"):
        await add_promotion(sample, name=name, coupon_code=name, bonuses={"order_discount": "10%"})
    cart = await cart_of(sample, sample.caio, (sample.mug, 1))
    for text, expected in (("verao", "verao"), (" VERÃO ", "VERÃO"), ("", None), ("OUTRO", "OUTRO")):
        assert (await execute_query(sample, COUPON, sample.caio, id=cart, code=text))["coupon_code"] == expected
    error = await execute_query(sample, COUPON, sample.caio, id=cart, code="VERAO")
    assert code(error) == ("RULE_VIOLATION", "coupon_already_applied")
    assert error["extensions"]["details"]["coupon_code"] == "OUTRO"
    assert "OUTRO" in error["message"]


@pytest.mark.parametrize("status", ["ordered", "expired"])
async def test_a_closed_cart_is_not_merged(status: str, sample: SampleStore) -> None:
    guest = await cart_of(sample, await key_of(sample), (sample.mug, 1))
    own = await cart_of(sample, sample.caio, (sample.mug, 1))
    change = "status = 'ordered', ordered_at = now()" if status == "ordered" else "status = 'expired'"
    await sample.execute(f"UPDATE carts SET {change} WHERE public_id = $1", guest)
    error = await execute_query(sample, MERGE, sample.caio, guest=guest)
    reason = "cart_already_ordered" if status == "ordered" else "cart_expired"
    assert code(error)[1] == reason
    await sample.execute("UPDATE carts SET status = 'open', ordered_at = NULL WHERE public_id = $1", guest)
    await sample.execute(f"UPDATE carts SET {change} WHERE public_id = $1", own)
    assert code(await execute_query(sample, MERGE, sample.caio, guest=guest, id=own))[1] == reason
    assert (await execute_query(sample, MERGE, sample.caio, guest=guest))["id"] == guest


async def test_customers_list_their_own_open_carts(sample: SampleStore) -> None:
    text = "{ me { carts { id total_cents items { quantity product { id } } } } }"
    await sample.execute("UPDATE carts SET status = 'expired'")
    first = await cart_of(sample, sample.caio, (sample.mug, 1))
    second = await cart_of(sample, sample.caio, (sample.plate, 2))
    await cart_of(sample, sample.bia, (sample.plate, 2))
    await sample.execute("UPDATE carts SET updated_at = updated_at - interval '1 hour' WHERE public_id = $1", first)
    carts = (await execute_query(sample, text, sample.caio))["carts"]
    assert [cart["id"] for cart in carts] == [second, first]
    assert carts[0]["items"] == [{"quantity": 2, "product": {"id": sample.plate.id}}]
    listed = "{ customer_carts { id } }"
    assert code(await execute_query(sample, listed, sample.caio))[0] == "FORBIDDEN"
    staff = await execute_query(sample, listed, sample.owner)
    assert second in [cart["id"] for cart in staff]
    assert first not in [cart["id"] for cart in staff]
