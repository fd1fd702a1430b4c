"""Carts tell apps of their changes not too often and not too late, and end when nobody comes back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from domain import jobs
from domain.carts import change, checkout, events, upkeep
from domain.carts.locked import find_cart
from domain.carts.record import show_cart
from domain.people.removal import anonymize_user, delete_user
from kernel.clock import rfc3339
from kernel.errors import Forbidden, NotFound
from kernel.scope import ActorKind, entered


def after(scope, seconds):
    return replace(scope, now=scope.now + timedelta(seconds=seconds))


async def a_cart(shop, *items, scope=None, **given):
    wanted = [
        {"product": await shop.public_id("products", product), "quantity": quantity}
        for product, quantity in items
    ]
    made = await change.create_cart(scope or shop.as_storefront(), {"items": wanted, **given})
    return made["id"]


async def put_in(shop, scope, cart, product, quantity=1):
    item = {"product": await shop.public_id("products", product), "quantity": quantity}
    return await change.add_item(scope, cart, item)


async def told(shop, cart):
    return [event["data"] for event in await shop.events(cart) if event["name"] == "cart.updated"]


async def test_an_empty_cart_is_no_news_and_its_first_item_is(shop):
    cart = await a_cart(shop)
    assert await told(shop, cart) == []
    product = await shop.product(name="Caneca", price_cents=1_500)
    await put_in(shop, shop.as_storefront(), cart, product, 2)
    [data] = await told(shop, cart)
    assert data == {
        "id": str(cart),
        "customer": None,
        "items": [
            {
                "product_id": str(await shop.public_id("products", product)),
                "name": "Caneca",
                "quantity": 2,
                "price_cents": 1_500,
            }
        ],
        "total_cents": 3_000,
        "currency": "BRL",
        "updated_at": rfc3339(shop.scope.now),
    }


async def test_many_changes_are_told_at_most_once_in_five_seconds_and_the_last_always(shop):
    product = await shop.product(stock=100)
    cart = await a_cart(shop, (product, 1))
    front = shop.as_storefront()
    for tenth in range(1, 40):
        await put_in(shop, after(front, tenth / 10), cart, product)
    assert [len(data["items"]) and data["items"][0]["quantity"] for data in await told(shop, cart)] == [1]
    await events.tell_due(after(shop.scope, 4.9))
    assert len(await told(shop, cart)) == 1
    await events.tell_due(after(shop.scope, 5.1))
    await events.tell_due(after(shop.scope, 5.2))
    assert [data["items"][0]["quantity"] for data in await told(shop, cart)] == [1, 40]
    await events.tell_due(after(shop.scope, 60))
    assert len(await told(shop, cart)) == 2
    await put_in(shop, after(front, 60), cart, product)
    assert [data["items"][0]["quantity"] for data in await told(shop, cart)] == [1, 40, 41]
    numbers = [event["sequence"] for event in await shop.events(cart)]
    assert numbers == [1, 2, 3]


async def test_a_cart_that_became_an_order_is_not_told_of_as_a_cart_any_more(shop):
    product = await shop.product(is_edp=True)
    cart = await a_cart(shop, (product, 1))
    front = shop.as_storefront()
    await put_in(shop, after(front, 1), cart, product)
    payment = await shop.public_id("payment_methods", await shop.payment())
    await checkout.check_out(after(front, 2), cart, {"customer_email": "ana@example.com", "payment": payment})
    await events.tell_due(after(shop.scope, 60))
    assert await shop.event_names(cart) == ["cart.updated", "checkout.completed"]


async def test_the_customer_is_told_as_far_as_known(shop):
    product = await shop.product()
    guest = await a_cart(shop, (product, 1), customer_email="ana@example.com")
    [data] = await told(shop, guest)
    assert data["customer"] == {"id": None, "name": "", "email": "ana@example.com"}
    user = await shop.customer(firstname="Caio", lastname="Reis", email="caio@example.com")
    own = await a_cart(shop, (product, 1), scope=shop.as_customer(user))
    [data] = await told(shop, own)
    public_id = await shop.public_id("users", user)
    assert data["customer"] == {"id": str(public_id), "name": "Caio Reis", "email": "caio@example.com"}


async def test_the_jobs_find_the_stores_where_something_is_due(shop, other_shop):
    product = await shop.product()
    cart = await a_cart(shop, (product, 1))
    await put_in(shop, shop.as_storefront(), cart, product)
    idle = await a_cart(other_shop)
    await shop.rows("UPDATE carts SET told_at = told_at - interval '6 seconds' WHERE tenant_id = $1")
    await other_shop.rows("UPDATE carts SET expires_at = now() - interval '1 second' WHERE tenant_id = $1")
    wanted = {job.name: job for job in jobs.JOBS}
    for name in ("tell_of_carts", "expire_carts"):
        outcome = await wanted[name].work(lambda: True)
        assert outcome.error == ""
    assert len(await told(shop, cart)) == 2
    assert (await find_cart(other_shop.scope, idle)).status == "expired"
    assert (await find_cart(shop.scope, cart)).status == "open"


async def test_two_workers_tell_once(shop):
    product = await shop.product()
    cart = await a_cart(shop, (product, 1))
    await put_in(shop, shop.as_storefront(), cart, product)
    later = after(shop.scope, 6)
    await asyncio.gather(*(events.tell_due(later) for _ in range(5)))
    assert len(await told(shop, cart)) == 2


async def test_an_expiry_that_meets_a_change_leaves_the_cart_alive_or_refuses_the_change(shop):
    product = await shop.product()
    for _ in range(5):
        cart = await a_cart(shop, (product, 1))
        cutoff = after(shop.scope, 15 * 86_400)
        expired, changed = await asyncio.gather(
            upkeep.expire_carts(cutoff),
            put_in(shop, shop.as_storefront(), cart, product),
            return_exceptions=True,
        )
        status = (await find_cart(shop.scope, cart)).status
        assert (status == "expired") == bool(expired) or not isinstance(changed, Exception)


async def test_old_closed_carts_are_forgotten_with_all_they_hold(shop):
    product = await shop.product()
    kept, old, alive = [await a_cart(shop, (product, 1)) for _ in range(3)]
    await shop.rows(
        "UPDATE carts SET status = 'expired', updated_at = now() - interval '91 days' WHERE tenant_id = $1 AND public_id = $2",
        old,
    )
    await shop.rows(
        "UPDATE carts SET updated_at = now() - interval '91 days' WHERE tenant_id = $1 AND public_id = $2",
        alive,
    )
    await jobs.forget_spent(shop.scope)
    left = await shop.rows("SELECT public_id FROM carts WHERE tenant_id = $1 ORDER BY id")
    assert [row["public_id"] for row in left] == [kept, alive]
    assert await shop.value("SELECT count(*) FROM cart_items WHERE tenant_id = $1") == 2


@pytest.mark.parametrize("take_away", [delete_user, anonymize_user])
async def test_carts_go_with_the_customer_who_is_taken_away(shop, take_away):
    user = await shop.customer(email="caio@example.com")
    product = await shop.product()
    await a_cart(shop, (product, 1), scope=shop.as_customer(user))
    await a_cart(shop, (product, 1), customer_email="caio@example.com")
    other = await a_cart(shop, (product, 1), customer_email="bia@example.com")
    with entered(shop.scope):
        await take_away(shop.scope, user)
    left = await shop.rows("SELECT public_id FROM carts WHERE tenant_id = $1")
    assert [row["public_id"] for row in left] == [other]


async def test_a_cart_is_of_its_store(shop, other_shop):
    cart = await a_cart(shop)
    assert await show_cart(other_shop.as_storefront(), cart) is None
    with pytest.raises(NotFound):
        await change.set_customer_email(other_shop.as_storefront(), cart, "a@example.com")


async def test_an_open_cart_is_in_the_stores_currency_and_a_closed_one_in_that_of_its_end(shop):
    product = await shop.product(is_edp=True)
    payment = await shop.public_id("payment_methods", await shop.payment())
    ordered, alive = await a_cart(shop, (product, 1)), await a_cart(shop, (product, 1))
    given = {"customer_email": "ana@example.com", "payment": payment}
    await checkout.check_out(shop.as_storefront(), ordered, given)
    euro = replace(shop.as_storefront(), store=replace(shop.scope.store, currency="EUR"))
    assert (await show_cart(euro, alive))["currency"] == "EUR"
    assert (await show_cart(euro, ordered))["currency"] == "BRL"
    await put_in(shop, after(euro, 6), alive, product)
    assert [data["currency"] for data in await told(shop, alive)] == ["BRL", "EUR"]


async def test_only_shoppers_and_staff_change_carts(shop):
    vendor = await shop.vendor()
    for scope in (shop.as_vendor(vendor), shop.as_app(), shop.as_actor(ActorKind.ANONYMOUS)):
        with pytest.raises(Forbidden):
            await change.create_cart(scope, {})
    cart = await a_cart(shop, scope=shop.as_admin())
    assert isinstance(cart, UUID)
    assert await shop.value("SELECT user_id FROM carts WHERE tenant_id = $1") is None
