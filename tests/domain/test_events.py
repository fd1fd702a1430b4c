"""Events are written with what they tell of, or not at all, and numbered without a gap."""

from __future__ import annotations

import asyncio
from datetime import datetime
from uuid import UUID

import pytest

from domain import events
from domain.events import Event
from domain.orders.lifecycle import move
from kernel.ids import uuid7
from kernel.scope import entered
from models.database import transaction


async def test_an_event_goes_with_its_transaction(shop):
    subject = uuid7()

    async def record_and_fail():
        async with transaction(shop.scope):
            await events.record(shop.scope, events.CART_UPDATED, events.CART, subject, {"id": str(subject)})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await record_and_fail()
    assert await shop.events(subject) == []

    async with transaction(shop.scope):
        await events.record(shop.scope, events.CART_UPDATED, events.CART, subject, {"id": str(subject)})
    [event] = await shop.events(subject)
    # The number of the one that was rolled back is not lost.
    assert event["sequence"] == 1


async def test_each_subject_counts_for_itself(shop):
    one, other = uuid7(), uuid7()
    told = [
        Event(events.CART_UPDATED, events.CART, subject, {"n": n})
        for n, subject in enumerate([one, other, one, one])
    ]
    async with transaction(shop.scope):
        await events.record_all(shop.scope, told)
        await events.record_all(shop.scope, told[:2])
    assert [(e["subject_id"], e["sequence"], e["data"]["n"]) for e in await shop.events()] == [
        (one, 1, 0),
        (other, 1, 1),
        (one, 2, 2),
        (one, 3, 3),
        (one, 4, 0),
        (other, 2, 1),
    ]


async def test_numbers_have_no_gap_however_many_write_at_once(shop):
    subject = uuid7()

    async def write(turn):
        async with transaction(shop.scope):
            await events.record(shop.scope, events.CART_UPDATED, events.CART, subject, {"turn": turn})
            if turn % 3 == 0:
                raise ZeroDivisionError

    results = await asyncio.gather(*(write(turn) for turn in range(30)), return_exceptions=True)
    committed = sum(result is None for result in results)
    assert committed == 20
    assert sorted(event["sequence"] for event in await shop.events(subject)) == list(range(1, 21))


async def test_writers_of_the_same_subjects_do_not_wait_in_a_circle(shop):
    subjects = [uuid7() for _ in range(6)]

    async def write(turn):
        mine = subjects if turn % 2 else list(reversed(subjects))
        async with transaction(shop.scope):
            await events.record_all(
                shop.scope, [Event(events.CART_UPDATED, events.CART, s, {}) for s in mine]
            )

    await asyncio.gather(*(write(turn) for turn in range(20)))
    assert len(await shop.events()) == 120


async def test_a_store_counts_apart_from_others(shop, other_shop):
    subject = uuid7()
    for one in (shop, other_shop):
        async with transaction(one.scope):
            await events.record(one.scope, events.CART_UPDATED, events.CART, subject, {})
    assert [event["sequence"] for event in await other_shop.events(subject)] == [1]


async def test_nothing_to_tell_is_nothing(shop):
    with entered(shop.scope):
        await events.record_all(shop.scope, [])
    assert await shop.events() == []


async def test_the_request_is_remembered(shop):
    order = await shop.order((await shop.product(), 1))
    await move(shop.scope, order.id, "P")
    assert {event["request_id"] for event in await shop.events()} == {shop.scope.request_id}


def test_a_user_is_told_by_role():
    when = datetime.fromisoformat("2026-03-01T12:30:00.500+00:00")
    public_id = UUID("0190c8a0-0000-7000-8000-000000000001")
    assert events.user(public_id, "Ana", "a@example.com", "V", when) == {
        "id": str(public_id),
        "name": "Ana",
        "email": "a@example.com",
        "role": "vendor",
        "created_at": "2026-03-01T12:30:00Z",
    }


def test_carts_and_checkouts_are_told_as_the_decisions_say():
    when = datetime.fromisoformat("2026-03-01T12:30:00+00:00")
    cart, order, product = uuid7(), uuid7(), uuid7()
    items = [events.EventItem(product, "Mug", 2, 500)]
    told = [{"product_id": str(product), "name": "Mug", "quantity": 2, "price_cents": 500}]
    assert events.cart(cart, None, items, 1_000, "BRL", when) == {
        "id": str(cart),
        "customer": None,
        "items": told,
        "total_cents": 1_000,
        "currency": "BRL",
        "updated_at": "2026-03-01T12:30:00Z",
    }
    facts = events.OrderFacts(
        order, "O", 1_000, "BRL", events.EventCustomer(None, "Ana", "a@example.com"), items, when
    )
    assert events.checkout(cart, facts, when) == {
        "cart_id": str(cart),
        "order_id": str(order),
        "total_cents": 1_000,
        "currency": "BRL",
        "customer": {"id": None, "name": "Ana", "email": "a@example.com"},
        "items": told,
        "completed_at": "2026-03-01T12:30:00Z",
    }
