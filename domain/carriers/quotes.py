"""Ask sources of rates for the price of shipping methods, and keep what they say for the content of a cart and a CEP.

    answers = await find_answers(scope, methods, content, "50010000")

An answer that is kept is taken from the table, in a transaction too, whatever changed meanwhile: the order costs what the customer saw.
What is missing is asked outside of transactions: within one, `NeedsPreparation` has the whole operation rolled back, the sources asked,
and the operation repeated. All sources are asked at the same time, within DEADLINE_SECONDS in all. A failure is kept too, so that a
carrier that is down delays a cart once: for as long where the method's table takes its place, for a minute where there is none
(docs/shipping.md#faults).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import orjson

from auth.secrets import DecryptionError
from domain.carriers.limits import count_rate_requests
from domain.carriers.params import SOURCES, decrypt_params
from domain.carriers.parcels import Box, ParcelItem, make_parcels
from domain.carriers.source import (
    DEADLINE_SECONDS,
    MAX_PARCELS,
    TABLE,
    CarrierPrice,
    RateRequest,
    RateSourceFailed,
    ServiceQuote,
    choose_service,
)
from domain.notifications.write import notify_carrier_failed
from kernel.scope import ActorKind, Scope, active_scope
from models.connection.database import NeedsPreparation, execute, fetch, in_transaction, retry_conflicts, transaction

KEPT_FOR = timedelta(minutes=15)
FAILURES_KEPT_FOR = timedelta(minutes=1)
_MAX_FAILURE = 1_000

logger = logging.getLogger("vitrine.shipping")


@dataclass(frozen=True, slots=True)
class ShippedUnits:
    """Units of a product, or of its combination, that pay for their shipping; the price is that of one."""

    product_id: int
    combination_id: int | None
    quantity: int
    price_cents: int


@dataclass(frozen=True, slots=True)
class CarrierAnswer:
    """What a source said of a method: a price, or that it doesn't deliver (None); with a `failure` it couldn't be asked."""

    price: CarrierPrice | None
    failure: str = ""


_KEPT = """
SELECT shipping_method_id, service, name, price_cents, days_min, days_max, failure, quoted_at FROM carrier_quotes
WHERE tenant_id = $1 AND content_key = $2 AND shipping_method_id = ANY($3::bigint[]) AND (expires_at > $4 OR $5)
"""
_SIZES = """
SELECT u.ordinal, coalesce(p.weight_grams, 0) AS weight_grams, coalesce(c.length_mm, p.length_mm, 0) AS length_mm,
    coalesce(c.width_mm, p.width_mm, 0) AS width_mm, coalesce(c.height_mm, p.height_mm, 0) AS height_mm,
    coalesce(p.box_min_quantity, 0) AS box_min, coalesce(p.box_max_quantity, 0) AS box_max
FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS u (product_id, combination_id, ordinal)
LEFT JOIN products p ON p.tenant_id = $1 AND p.id = u.product_id
LEFT JOIN combinations c ON c.tenant_id = $1 AND c.id = u.combination_id
ORDER BY u.ordinal
"""
_BOXES = """
SELECT id, length_mm, width_mm, height_mm, weight_grams, max_weight_grams FROM product_boxes
WHERE tenant_id = $1 AND status = 'A' AND deleted_at IS NULL
"""
_PARAMS = "SELECT id, rate_params FROM shipping_methods WHERE tenant_id = $1 AND id = ANY($2::bigint[])"
_KEEP = """
INSERT INTO carrier_quotes (tenant_id, shipping_method_id, content_key, service, name, price_cents, days_min, days_max, failure, quoted_at,
    expires_at)
SELECT $1, m.id, $2, a.service, a.name, a.price_cents, a.days_min, a.days_max, a.failure, $3::timestamptz,
    -- The price of the table that takes the place of a failing source is a price that was shown.
    CASE WHEN a.failure = '' OR m.base_cents + m.per_kg_cents + m.per_item_cents > 0
        OR EXISTS (SELECT FROM shipping_rates r WHERE r.tenant_id = $1 AND r.shipping_method_id = m.id)
        THEN $4::timestamptz ELSE $5::timestamptz END
FROM jsonb_to_recordset($6::text::jsonb) AS a (method bigint, service text, name text, price_cents bigint, days_min int, days_max int,
    failure text)
JOIN shipping_methods m ON m.tenant_id = $1 AND m.id = a.method
ORDER BY m.id
ON CONFLICT (tenant_id, shipping_method_id, content_key) DO UPDATE SET service = excluded.service, name = excluded.name,
    price_cents = excluded.price_cents, days_min = excluded.days_min, days_max = excluded.days_max, failure = excluded.failure,
    quoted_at = excluded.quoted_at, expires_at = excluded.expires_at
-- A quote that another process kept meanwhile may have been shown.
WHERE carrier_quotes.expires_at <= $3 OR carrier_quotes.failure <> ''
"""
_NOTIFIABLE = """
UPDATE shipping_methods SET failure_notified_at = $3
WHERE tenant_id = $1 AND id = ANY($2::bigint[]) AND (failure_notified_at IS NULL OR failure_notified_at <= $4) RETURNING id, name
"""


async def find_answers(
    scope: Scope, methods: Sequence[Mapping[str, Any]], content: Sequence[ShippedUnits], zipcode: str
) -> dict[int, CarrierAnswer]:
    """Return what the sources of these methods say of the content, by method; rows of methods have `id` and `rate_source`.

    Nothing is asked without a destination or content. The platform's own work takes what was said last, and asks no source.
    """
    asked = {method["id"]: method["rate_source"] for method in methods if method["rate_source"] != TABLE}
    if not asked or not content or not zipcode:
        return {}
    key = _content_key(content, zipcode)
    asks_none = scope.actor.kind is ActorKind.SYSTEM
    answers = await _find_kept(scope, key, list(asked), including_expired=asks_none)
    missing = {number: source for number, source in asked.items() if number not in answers}
    if not missing or asks_none:
        return answers
    ask = partial(_ask_and_keep, scope, missing, list(content), zipcode, key)
    if in_transaction():
        raise NeedsPreparation(ask)
    return answers | await ask()


def _content_key(content: Sequence[ShippedUnits], zipcode: str) -> bytes:
    """Return the digest of what a quote is kept for: products, combinations, quantities and CEP, but no prices or sizes."""
    units = sorted((unit.product_id, unit.combination_id or 0, unit.quantity) for unit in content)
    return hashlib.sha256(orjson.dumps([units, zipcode])).digest()


async def _find_kept(
    scope: Scope, key: bytes, methods: list[int], *, including_expired: bool
) -> dict[int, CarrierAnswer]:
    with active_scope(scope):
        kept = await fetch(_KEPT, scope.store.id, key, methods, scope.now, including_expired)
    return {row["shipping_method_id"]: _kept_answer(row) for row in kept}


def _kept_answer(row: Mapping[str, Any]) -> CarrierAnswer:
    if row["price_cents"] is None:
        return CarrierAnswer(None, row["failure"])
    names = ("service", "name", "price_cents", "days_min", "days_max", "quoted_at")
    return CarrierAnswer(CarrierPrice(**{name: row[name] for name in names}))


async def _ask_and_keep(
    scope: Scope, methods: Mapping[int, str], content: Sequence[ShippedUnits], zipcode: str, key: bytes
) -> dict[int, CarrierAnswer]:
    """Ask the sources of methods, and keep their answers."""
    await count_rate_requests(scope)
    items, boxes, params = await _load_facts(scope, list(methods), content)
    parcels = make_parcels(items, boxes)
    value = sum(units.quantity * units.price_cents for units in content)
    request = partial(RateRequest, parcels, destination=zipcode, value_cents=value)
    if sum(parcel.count for parcel in parcels) > MAX_PARCELS:
        said: list[CarrierAnswer] = [CarrierAnswer(None) for _ in methods]
    else:
        said = await _ask_all(scope, methods, params, request)
    answers = dict(zip(methods, said, strict=True))
    return answers | await retry_conflicts(partial(_keep, scope, key, answers))


async def _keep(scope: Scope, key: bytes, answers: Mapping[int, CarrierAnswer]) -> dict[int, CarrierAnswer]:
    """Keep the answers, notify the store of those that are missing, and return what is kept: another process may have been faster."""
    async with transaction(scope):
        await execute(_KEEP, *_kept_arguments(scope, key, answers))
        await _notify_of_failures(scope, answers)
        return await _find_kept(scope, key, list(answers), including_expired=False)


async def _load_facts(
    scope: Scope, methods: list[int], content: Sequence[ShippedUnits]
) -> tuple[list[ParcelItem], list[Box], dict[int, bytes | None]]:
    """Load the sizes of the units, the store's boxes, and the sealed parameters of the methods."""
    products = [units.product_id for units in content]
    combinations = [units.combination_id for units in content]
    with active_scope(scope):
        sizes = await fetch(_SIZES, scope.store.id, products, combinations)
        boxes = [Box(**box) for box in await fetch(_BOXES, scope.store.id)]
        params = {row["id"]: row["rate_params"] for row in await fetch(_PARAMS, scope.store.id, methods)}
    names = ("weight_grams", "length_mm", "width_mm", "height_mm", "box_min", "box_max")
    items = [
        ParcelItem(units.quantity, **{name: size[name] for name in names}, price_cents=units.price_cents)
        for units, size in zip(content, sizes, strict=True)
    ]
    return items, boxes, params


async def _ask_all(
    scope: Scope,
    methods: Mapping[int, str],
    sealed: Mapping[int, bytes | None],
    request: partial[RateRequest],
) -> list[CarrierAnswer]:
    """Ask all sources at the same time, each of them once for methods that differ in their services only."""
    asked: dict[bytes, asyncio.Task[list[ServiceQuote]]] = {}
    chosen: list[tuple[asyncio.Task[list[ServiceQuote]] | None, Sequence[str], str]] = []
    for number, source in methods.items():
        try:
            params = _readable_params(scope, SOURCES[source].currency, sealed.get(number))
        except RateSourceFailed as error:
            chosen.append((None, (), str(error)))
            continue
        services = params.pop("services", ())
        call = orjson.dumps([source, params], option=orjson.OPT_SORT_KEYS)
        if call not in asked:
            built = SOURCES[source].build(scope, params)
            asked[call] = asyncio.create_task(built.quote(request(origin=params["origin_zipcode"])))
        chosen.append((asked[call], services, ""))
    await _wait(list(asked.values()))
    return [_answer(scope, *choice) for choice in chosen]


async def _wait(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Wait for the tasks until the deadline, and end those that are late, as all of them when the caller is cancelled."""
    try:
        if tasks:
            await asyncio.wait(tasks, timeout=DEADLINE_SECONDS)
    finally:
        for task in tasks:
            # What a late one raises is of no interest.
            task.add_done_callback(lambda late: late.cancelled() or late.exception())
            task.cancel()


def _readable_params(scope: Scope, currency: str | None, sealed: bytes | None) -> dict[str, Any]:
    if scope.store.currency != (currency or scope.store.currency):
        raise RateSourceFailed(f"prices are in {currency}, those of the store in {scope.store.currency}")
    try:
        params = decrypt_params(sealed)
    except DecryptionError as error:
        raise RateSourceFailed("the parameters can't be decrypted: enter them again") from error
    if "origin_zipcode" not in params:
        raise RateSourceFailed("the parameters are missing")
    return params


def _answer(
    scope: Scope, task: asyncio.Task[list[ServiceQuote]] | None, services: Sequence[str], failure: str
) -> CarrierAnswer:
    """Return what a source said of a method; whatever it raised is a failure."""
    if task is None:
        return CarrierAnswer(None, failure)
    if not task.done() or task.cancelled():
        return CarrierAnswer(None, f"no answer within {DEADLINE_SECONDS:g} seconds")
    try:
        quote = choose_service(task.result(), services)
    except RateSourceFailed as error:
        return CarrierAnswer(None, str(error)[:_MAX_FAILURE])
    except Exception:
        # A fault of the source's own code is no reason to show no cart.
        logger.exception("a source of shipping rates failed")
        return CarrierAnswer(None, "internal error")
    if quote is None or quote.price_cents is None:
        return CarrierAnswer(None)
    return CarrierAnswer(
        CarrierPrice(quote.service, quote.name, quote.price_cents, quote.days_min, quote.days_max, scope.now)
    )


def _kept_arguments(scope: Scope, key: bytes, answers: Mapping[int, CarrierAnswer]) -> tuple[object, ...]:
    rows = []
    for number, answer in answers.items():
        price = answer.price
        rows.append(
            {
                "method": number,
                "service": price.service if price else "",
                "name": price.name if price else "",
                "price_cents": price.price_cents if price else None,
                "days_min": price.days_min if price else 0,
                "days_max": price.days_max if price else 0,
                "failure": answer.failure,
            }
        )
    expiries = (scope.now + KEPT_FOR, scope.now + FAILURES_KEPT_FOR)
    return (scope.store.id, key, scope.now, *expiries, orjson.dumps(rows).decode())


async def _notify_of_failures(scope: Scope, answers: Mapping[int, CarrierAnswer]) -> None:
    """Notify the store of the methods whose source fails, of each once a day."""
    failed = [number for number, answer in answers.items() if answer.failure]
    if not failed:
        return
    for method in await fetch(_NOTIFIABLE, scope.store.id, failed, scope.now, scope.now - timedelta(days=1)):
        await notify_carrier_failed(scope, method["name"], answers[method["id"]].failure)
