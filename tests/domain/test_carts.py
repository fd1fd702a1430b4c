"""Cart events are throttled and never lost, and abandoned carts expire."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import asyncpg
import pytest

from domain import jobs, retention
from domain.carts import change, checkout, cleanup, events, lines
from domain.carts.locked import find_cart
from domain.carts.record import load_cart_record
from domain.people.removal import anonymize_user, delete_user
from kernel.clock import format_rfc3339
from kernel.errors import Forbidden, NotFound
from kernel.scope import ActorKind, active_scope
from models.connection import database
from models.connection.binding import NO_STORE
from tests.harness.database import needs_session


def after(scope, seconds):
    return replace(scope, now=scope.now + timedelta(seconds=seconds))


async def create_cart(kit, *items, scope=None, **values):
    items = [{"product": await kit.public_id("products", product), "quantity": quantity} for product, quantity in items]
    cart = await change.create_cart(scope or kit.as_storefront(), {"items": items, **values})
    return cart["id"]


async def add_item(kit, scope, cart, product, quantity=1):
    item = {"product": await kit.public_id("products", product), "quantity": quantity}
    return await lines.add_item(scope, cart, item)


async def cart_events(kit, cart):
    return [event["data"] for event in await kit.events(cart) if event["name"] == "cart.updated"]


async def planned_statements() -> dict[asyncpg.Connection, dict[str, tuple[int, int]]]:
    """Return how often each connection of the pool has planned each statement about carts for its values, and reused its plan."""
    sql = "select statement, (custom_plans, generic_plans) from pg_prepared_statements where statement ~ 'cart'"
    pool = database._connected().pool
    count = sum(holder.is_connected() and holder.is_idle() for holder in pool._holders)
    idle = [await pool.acquire_for_store(NO_STORE) for _ in range(count)]
    try:
        return {connection: dict(map(tuple, await connection.fetch(sql))) for connection in idle}
    finally:
        for connection in idle:
            await pool.release_connection(connection)


@needs_session
async def test_changes_of_a_cart_are_planned_once_per_connection(kit):
    """PostgreSQL by itself would plan the cart and its terms at each change, which takes longer than to read them."""
    product = await kit.product(name="Caneca", price_cents=1_500)
    cart = await create_cart(kit)
    before = await planned_statements()
    for _ in range(7):
        [item] = (await add_item(kit, kit.as_storefront(), cart, product))["items"]
    for quantity in range(1, 7):
        await lines.update_item(kit.as_storefront(), cart, item["id"], {"quantity": quantity})
    await lines.remove_items(kit.as_storefront(), cart, [item["id"]])
    reused = 0
    for connection, statements in (await planned_statements()).items():
        for sql, (for_values, generic) in statements.items():
            for_values_before, generic_before = before.get(connection, {}).get(sql, (0, 0))
            assert connection not in before or for_values == for_values_before, sql
            reused += generic - generic_before
    assert reused > 14


async def test_an_empty_cart_emits_no_event_and_its_first_item_does(kit):
    cart = await create_cart(kit)
    assert await cart_events(kit, cart) == []
    product = await kit.product(name="Caneca", price_cents=1_500)
    await add_item(kit, kit.as_storefront(), cart, product, 2)
    [data] = await cart_events(kit, cart)
    assert data == {
        "id": str(cart),
        "customer": None,
        "items": [
            {
                "product_id": str(await kit.public_id("products", product)),
                "name": "Caneca",
                "quantity": 2,
                "price_cents": 1_500,
            }
        ],
        "total_cents": 3_000,
        "currency": "BRL",
        "updated_at": format_rfc3339(kit.scope.now),
    }


async def test_cart_events_are_throttled_to_one_in_five_seconds_and_the_last_is_always_emitted(kit):
    product = await kit.product(stock=100)
    cart = await create_cart(kit, (product, 1))
    front = kit.as_storefront()
    for tenth in range(1, 40):
        await add_item(kit, after(front, tenth / 10), cart, product)
    assert [len(data["items"]) and data["items"][0]["quantity"] for data in await cart_events(kit, cart)] == [1]
    await events.emit_due(after(kit.scope, 4.9))
    assert len(await cart_events(kit, cart)) == 1
    await events.emit_due(after(kit.scope, 5.1))
    await events.emit_due(after(kit.scope, 5.2))
    assert [data["items"][0]["quantity"] for data in await cart_events(kit, cart)] == [1, 40]
    await events.emit_due(after(kit.scope, 60))
    assert len(await cart_events(kit, cart)) == 2
    await add_item(kit, after(front, 60), cart, product)
    assert [data["items"][0]["quantity"] for data in await cart_events(kit, cart)] == [1, 40, 41]
    numbers = [event["sequence"] for event in await kit.events(cart)]
    assert numbers == [1, 2, 3]


async def test_a_value_that_the_cart_has_emits_no_event(kit):
    scope, product = kit.as_storefront(), await kit.product()
    cart = await create_cart(kit, (product, 1))
    [item] = (await lines.add_item(scope, cart, {"product": await kit.public_id("products", product), "quantity": 1}))[
        "items"
    ]
    writes = {
        "quantity": lambda value: lines.update_item(scope, cart, item["id"], {"quantity": value}),
        "address": lambda value: change.set_address(scope, cart, {"zipcode": "50010000", "number": str(value)}),
        "e-mail": lambda value: change.set_customer_email(scope, cart, f"ana{value}@example.com"),
    }
    for name, write in writes.items():
        for value, is_change in ((3, True), (3, False), (4, True)):
            await kit.rows("UPDATE carts SET told_at = NULL, is_untold = false WHERE tenant_id = $1")
            count = len(await cart_events(kit, cart))
            await write(value)
            assert len(await cart_events(kit, cart)) - count == is_change, (name, value)
            assert await kit.value("SELECT is_untold FROM carts WHERE tenant_id = $1") is False, name


async def test_an_ordered_cart_emits_no_more_cart_events(kit):
    product = await kit.product(is_edp=True)
    cart = await create_cart(kit, (product, 1))
    front = kit.as_storefront()
    await add_item(kit, after(front, 1), cart, product)
    payment = await kit.public_id("payment_methods", await kit.payment())
    await checkout.check_out(after(front, 2), cart, {"customer_email": "ana@example.com", "payment_id": payment})
    await events.emit_due(after(kit.scope, 60))
    assert await kit.event_names(cart) == ["cart.updated", "checkout.completed"]


async def test_a_checkout_that_waits_for_a_change_orders_what_the_cart_has_after_it(kit, database_url):
    product = await kit.product(is_edp=True, price_cents=1_000, stock=10)
    payment = await kit.public_id("payment_methods", await kit.payment())
    values = {"customer_email": "ana@example.com", "payment_id": payment}
    # A connection defers only what it has prepared: the first checkouts prepare it.
    for _ in range(12):
        await checkout.check_out(kit.as_storefront(), await create_cart(kit, (product, 1)), values)
        await kit.rows("UPDATE products SET on_hand = on_hand + 1 WHERE tenant_id = $1 AND id = $2", product)
    cart = await create_cart(kit, (product, 1))
    other = await asyncpg.connect(database_url)
    try:
        await other.execute(f"SELECT set_config('vitrine.tenant', '{kit.store.id}', false)")
        async with other.transaction():
            number = await other.fetchval("UPDATE carts SET updated_at = now() WHERE public_id = $1 RETURNING id", cart)
            await other.execute("UPDATE cart_items SET quantity = 3 WHERE cart_id = $1", number)
            placed = asyncio.create_task(checkout.check_out(kit.as_storefront(), cart, values))
            waiting = (
                "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
            )
            while not await other.fetchval(waiting):
                await asyncio.sleep(0.01)
    finally:
        await other.close()
    order = await placed
    assert [line["quantity"] for line in await kit.lines(order.id)] == [3]


async def test_the_event_has_the_known_customer_data(kit):
    product = await kit.product()
    guest = await create_cart(kit, (product, 1), customer_email="ana@example.com")
    [data] = await cart_events(kit, guest)
    assert data["customer"] == {"id": None, "name": "", "email": "ana@example.com"}
    user = await kit.customer(firstname="Caio", lastname="Reis", email="caio@example.com")
    own = await create_cart(kit, (product, 1), scope=kit.as_customer(user))
    [data] = await cart_events(kit, own)
    public_id = await kit.public_id("users", user)
    assert data["customer"] == {"id": str(public_id), "name": "Caio Reis", "email": "caio@example.com"}


async def test_the_jobs_find_the_stores_with_due_work(kit, other_kit):
    product = await kit.product()
    cart = await create_cart(kit, (product, 1))
    await add_item(kit, kit.as_storefront(), cart, product)
    idle = await create_cart(other_kit)
    await kit.rows("UPDATE carts SET told_at = told_at - interval '6 seconds' WHERE tenant_id = $1")
    await other_kit.rows("UPDATE carts SET expires_at = now() - interval '1 second' WHERE tenant_id = $1")
    items = {job.name: job for job in jobs.JOBS}
    for name in ("emit_cart_updates", "expire_carts"):
        outcome = await items[name].work(lambda: True)
        assert outcome.error == "", name
    assert len(await cart_events(kit, cart)) == 2
    assert (await find_cart(other_kit.scope, idle)).status == "expired"
    assert (await find_cart(kit.scope, cart)).status == "open"


async def test_two_workers_emit_one_event(kit):
    product = await kit.product()
    cart = await create_cart(kit, (product, 1))
    await add_item(kit, kit.as_storefront(), cart, product)
    later = after(kit.scope, 6)
    await asyncio.gather(*(events.emit_due(later) for _ in range(5)))
    assert len(await cart_events(kit, cart)) == 2


async def test_expiry_during_a_change_either_keeps_the_cart_open_or_rejects_the_change(kit):
    product = await kit.product()
    for repetition in range(5):
        cart = await create_cart(kit, (product, 1))
        cutoff = after(kit.scope, 15 * 86_400)
        expired, changed = await asyncio.gather(
            cleanup.expire_carts(cutoff),
            add_item(kit, kit.as_storefront(), cart, product),
            return_exceptions=True,
        )
        status = (await find_cart(kit.scope, cart)).status
        assert (status == "expired") == bool(expired) or not isinstance(changed, Exception), repetition


async def test_old_closed_carts_are_deleted_with_their_items(kit):
    product = await kit.product()
    kept, old, alive = [await create_cart(kit, (product, 1)) for _ in range(3)]
    await kit.rows(
        "UPDATE carts SET status = 'expired', updated_at = now() - interval '91 days' WHERE tenant_id = $1 AND public_id = $2",
        old,
    )
    await kit.rows(
        "UPDATE carts SET updated_at = now() - interval '91 days' WHERE tenant_id = $1 AND public_id = $2",
        alive,
    )
    await retention.delete_expired(kit.scope)
    left = await kit.rows("SELECT public_id FROM carts WHERE tenant_id = $1 ORDER BY id")
    assert [row["public_id"] for row in left] == [kept, alive]
    assert await kit.value("SELECT count(*) FROM cart_items WHERE tenant_id = $1") == 2


@pytest.mark.parametrize("take_away", [delete_user, anonymize_user])
async def test_deleting_a_customer_deletes_its_carts(kit, take_away):
    user = await kit.customer(email="caio@example.com")
    product = await kit.product()
    await create_cart(kit, (product, 1), scope=kit.as_customer(user))
    await create_cart(kit, (product, 1), customer_email="caio@example.com")
    other = await create_cart(kit, (product, 1), customer_email="bia@example.com")
    with active_scope(kit.scope):
        await take_away(kit.scope, user)
    left = await kit.rows("SELECT public_id FROM carts WHERE tenant_id = $1")
    assert [row["public_id"] for row in left] == [other]


async def test_carts_are_isolated_between_stores(kit, other_kit):
    cart = await create_cart(kit)
    assert await load_cart_record(other_kit.as_storefront(), cart) is None
    with pytest.raises(NotFound):
        await change.set_customer_email(other_kit.as_storefront(), cart, "a@example.com")


async def test_an_open_cart_uses_the_current_currency_and_a_closed_one_keeps_its_own(kit):
    product = await kit.product(is_edp=True)
    payment = await kit.public_id("payment_methods", await kit.payment())
    ordered, alive = await create_cart(kit, (product, 1)), await create_cart(kit, (product, 1))
    values = {"customer_email": "ana@example.com", "payment_id": payment}
    await checkout.check_out(kit.as_storefront(), ordered, values)
    euro = replace(kit.as_storefront(), store=replace(kit.scope.store, currency="EUR"))
    assert (await load_cart_record(euro, alive))["currency"] == "EUR"
    assert (await load_cart_record(euro, ordered))["currency"] == "BRL"
    await add_item(kit, after(euro, 6), alive, product)
    assert [data["currency"] for data in await cart_events(kit, alive)] == ["BRL", "EUR"]


async def test_only_customers_and_staff_change_carts(kit):
    vendor = await kit.vendor()
    for scope in (kit.as_vendor(vendor), kit.as_app(), kit.as_actor(ActorKind.ANONYMOUS)):
        with pytest.raises(Forbidden):
            await change.create_cart(scope, {})
    cart = await create_cart(kit, scope=kit.as_admin())
    assert isinstance(cart, UUID)
    assert await kit.value("SELECT user_id FROM carts WHERE tenant_id = $1") is None
