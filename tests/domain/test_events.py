"""Events are committed with their transaction and numbered without gaps."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
import pytest

from domain import event_types, events
from domain.events import Event
from domain.orders.lifecycle import change_status
from kernel.ids import uuid7
from kernel.scope import active_scope
from models.connection.database import transaction


def sent(data: dict[str, Any]) -> Any:
    return orjson.loads(Event("", "", uuid7(), data).json)


async def test_an_event_is_committed_with_its_transaction(kit):
    subject = uuid7()

    async def record_and_fail():
        async with transaction(kit.scope):
            await events.emit(kit.scope, event_types.CART_UPDATED, event_types.CART, subject, {"id": str(subject)})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await record_and_fail()
    assert await kit.events(subject) == []

    async with transaction(kit.scope):
        await events.emit(kit.scope, event_types.CART_UPDATED, event_types.CART, subject, {"id": str(subject)})
    [event] = await kit.events(subject)
    # The sequence number of the rolled-back event is reused.
    assert event["sequence"] == 1


async def test_sequences_are_per_subject(kit):
    one, other = uuid7(), uuid7()
    items = [
        Event(event_types.CART_UPDATED, event_types.CART, subject, {"n": n})
        for n, subject in enumerate([one, other, one, one])
    ]
    async with transaction(kit.scope):
        await events.emit_all(kit.scope, items)
        await events.emit_all(kit.scope, items[:2])
    assert [(e["subject_id"], e["sequence"], e["data"]["n"]) for e in await kit.events()] == [
        (one, 1, 0),
        (other, 1, 1),
        (one, 2, 2),
        (one, 3, 3),
        (one, 4, 0),
        (other, 2, 1),
    ]


async def test_concurrent_writers_leave_no_sequence_gaps(kit):
    subject = uuid7()

    async def write(turn):
        async with transaction(kit.scope):
            await events.emit(kit.scope, event_types.CART_UPDATED, event_types.CART, subject, {"turn": turn})
            if turn % 3 == 0:
                raise ZeroDivisionError

    results = await asyncio.gather(*(write(turn) for turn in range(30)), return_exceptions=True)
    committed = sum(result is None for result in results)
    assert committed == 20
    assert sorted(event["sequence"] for event in await kit.events(subject)) == list(range(1, 21))


async def test_concurrent_writers_of_the_same_subjects_do_not_deadlock(kit):
    subjects = [uuid7() for _ in range(6)]

    async def write(turn):
        mine = subjects if turn % 2 else list(reversed(subjects))
        async with transaction(kit.scope):
            await events.emit_all(kit.scope, [Event(event_types.CART_UPDATED, event_types.CART, s, {}) for s in mine])

    await asyncio.gather(*(write(turn) for turn in range(20)))
    assert len(await kit.events()) == 120


async def test_sequences_are_per_store(kit, other_kit):
    subject = uuid7()
    for one in (kit, other_kit):
        async with transaction(one.scope):
            await events.emit(one.scope, event_types.CART_UPDATED, event_types.CART, subject, {})
    assert [event["sequence"] for event in await other_kit.events(subject)] == [1]


async def test_no_events_write_nothing(kit):
    with active_scope(kit.scope):
        await events.emit_all(kit.scope, [])
    assert await kit.events() == []


async def test_the_request_id_is_stored(kit):
    order = await kit.order((await kit.product(), 1))
    await change_status(kit.scope, order.id, "P")
    assert {event["request_id"] for event in await kit.events()} == {kit.scope.request_id}


def test_a_user_event_has_the_role():
    when = datetime.fromisoformat("2026-03-01T12:30:00.500+00:00")
    public_id = UUID("0190c8a0-0000-7000-8000-000000000001")
    assert sent(events.user_data(public_id, "Ana", "a@example.com", "V", when)) == {
        "id": str(public_id),
        "name": "Ana",
        "email": "a@example.com",
        "role": "vendor",
        "created_at": "2026-03-01T12:30:00Z",
    }


def test_cart_and_checkout_event_data_match_the_reference():
    when = datetime.fromisoformat("2026-03-01T12:30:00+00:00")
    cart, order, product = uuid7(), uuid7(), uuid7()
    items = [events.EventItem(product, "Mug", 2, 500)]
    expected_items = [{"product_id": str(product), "name": "Mug", "quantity": 2, "price_cents": 500}]
    assert sent(events.cart_data(cart, None, items, 1_000, "BRL", when)) == {
        "id": str(cart),
        "customer": None,
        "items": expected_items,
        "total_cents": 1_000,
        "currency": "BRL",
        "updated_at": "2026-03-01T12:30:00Z",
    }
    facts = events.OrderEventData(
        order, "O", 1_000, "BRL", events.EventCustomer(None, "Ana", "a@example.com"), items, when
    )
    assert sent(events.checkout_data(cart, facts, when)) == {
        "cart_id": str(cart),
        "order_id": str(order),
        "total_cents": 1_000,
        "currency": "BRL",
        "customer": {"id": None, "name": "Ana", "email": "a@example.com"},
        "items": expected_items,
        "completed_at": "2026-03-01T12:30:00Z",
    }


def test_every_event_name_has_a_type() -> None:
    names = {
        value
        for value in vars(event_types).values()
        if isinstance(value, str) and re.fullmatch(r"[a-z]+\.[a-z]+", value)
    }
    assert names - set(event_types.NAMES) == set(), "give each name an EventType in domain/event_types.py"
    assert set(event_types.NAMES) - names == set(), "give each name a constant in domain/event_types.py"


def test_a_type_without_a_scope_that_reads_it_is_refused() -> None:
    with pytest.raises(ValueError, match=r"order\.packed needs a scope"):
        event_types.EventType("order.packed", "read_boxes", event_types.EVENT_TYPES["ping"].data, "An order is packed.")
