"""Decide which warehouse sends a seller's goods to a place, and how long that takes.

A seller's own warehouses go before the store's. One that has delivery areas sends to these alone; one without sends everywhere. Of an
area the most precise that it says decides: ranges of CEPs, else cities, else states. A warehouse with an exclusive group serves its
members and nobody else, one with other groups serves their members before others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernel.documents import normalise_cep
from kernel.places import BRAZIL, state_of_cep
from kernel.scope import Scope, entered
from models.database import rows

_HOURS = 24

_CANDIDATES = """
SELECT w.id, w.vendor_id, w.shipping_delay, w.priority, w.is_default, a.delivery_time, a.id AS area_id,
    EXISTS (
        SELECT 1 FROM warehouse_areas x WHERE x.tenant_id = w.tenant_id AND x.warehouse_id = w.id AND x.status = 'A'
    ) AS has_areas,
    EXISTS (
        SELECT 1 FROM warehouse_usergroups g
        WHERE g.tenant_id = w.tenant_id AND g.warehouse_id = w.id AND g.status = 'A' AND g.allocation_type = 'E'
    ) AS is_exclusive,
    m.priority AS member_priority, m.is_insider
FROM warehouses w
CROSS JOIN LATERAL (
    SELECT max(g.priority) AS priority, coalesce(bool_or(g.allocation_type = 'E'), false) AS is_insider
    FROM warehouse_usergroups g
    JOIN usergroup_memberships b
        ON b.tenant_id = g.tenant_id AND b.usergroup_id = g.usergroup_id AND b.user_id = $6 AND b.status = 'A'
    WHERE g.tenant_id = w.tenant_id AND g.warehouse_id = w.id AND g.status = 'A'
) m
LEFT JOIN LATERAL (
    SELECT a.id, a.delivery_time
    FROM warehouse_areas a CROSS JOIN LATERAL (
        SELECT count(*) AS ranges, min(z.last_cep - z.first_cep) FILTER (WHERE $3::integer BETWEEN z.first_cep AND z.last_cep) AS width
        FROM warehouse_zipcodes z WHERE z.tenant_id = a.tenant_id AND z.area_id = a.id
    ) z
    WHERE a.tenant_id = w.tenant_id AND a.warehouse_id = w.id AND a.status = 'A' AND CASE
        WHEN z.ranges > 0 THEN z.width IS NOT NULL
        WHEN cardinality(a.cities) > 0 THEN (cardinality(a.states) = 0 OR $4::text = ANY(a.states))
            AND vitrine_fold($5::text) IN (SELECT vitrine_fold(city) FROM unnest(a.cities) AS city)
        ELSE cardinality(a.states) = 0 OR $4::text = ANY(a.states)
    END
    ORDER BY z.width NULLS LAST, cardinality(a.cities) = 0, cardinality(a.states) = 0, a.delivery_time, a.id LIMIT 1
) a ON true
WHERE w.tenant_id = $1 AND w.status = 'A' AND w.deleted_at IS NULL AND (w.vendor_id IS NULL OR w.vendor_id = ANY($2::bigint[]))
"""

_NUMBERS = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Tell from which warehouse goods leave (None: no warehouse is known) and how many days that adds to the time of delivery."""

    warehouse_id: int | None = None
    days: int = 0


async def dispatches(
    scope: Scope,
    vendors: Collection[int | None],
    *,
    zipcode: str,
    state: str = "",
    country: str = BRAZIL,
    city: str = "",
    buyer: int | None = None,
) -> dict[int | None, Dispatch]:
    """Say for each seller (None: the store itself) how its goods leave for the place, in one statement.

    A seller is left out when there are warehouses for its goods and none of them sends there. `buyer` is the internal id of who buys.
    """
    cep = (normalise_cep(zipcode) if country == BRAZIL else None) or ""
    with entered(scope):
        found = await rows(
            _CANDIDATES,
            scope.store.id,
            [vendor for vendor in vendors if vendor is not None],
            int(cep) if cep else None,
            state or state_of_cep(cep),
            city.strip(),
            buyer,
        )
    told = {vendor: _choose(vendor, found) for vendor in vendors}
    return {vendor: dispatch for vendor, dispatch in told.items() if dispatch is not None}


def _choose(vendor: int | None, found: Sequence[Mapping[str, Any]]) -> Dispatch | None:
    candidates = [each for each in found if each["vendor_id"] in (None, vendor)]
    if not candidates:
        return Dispatch()
    able = [each for each in candidates if _sends(each)]
    if not able:
        return None
    best = min(able, key=_rank)
    return Dispatch(best["id"], best["shipping_delay"] + -(-(best["delivery_time"] or 0) // _HOURS))


def _sends(warehouse: Mapping[str, Any]) -> bool:
    reaches = warehouse["area_id"] is not None or not warehouse["has_areas"]
    return reaches and (warehouse["is_insider"] or not warehouse["is_exclusive"])


def _rank(warehouse: Mapping[str, Any]) -> tuple[Any, ...]:
    """Give what orders warehouses from the first choice to the last."""
    member = warehouse["member_priority"]
    return (
        warehouse["vendor_id"] is None,
        (member is None, -(member or 0)),
        -warehouse["priority"],
        not warehouse["is_default"],
        warehouse["delivery_time"] or 0,
        warehouse["id"],
    )


def slowest(dispatched: Iterable[Dispatch]) -> Dispatch:
    """Give the time that a delivery of several sellers waits for, and the warehouse where all of it leaves from one."""
    every = list(dispatched)
    warehouses = {each.warehouse_id for each in every}
    return Dispatch(
        warehouses.pop() if len(warehouses) == 1 else None, max((each.days for each in every), default=0)
    )


def later(delivery_time: str, days: int) -> str:
    """Add days to a time of delivery written for people: `2 a 4 dias` and 3 days are `5 a 7 dias`.

    A text without a number keeps what it says, with the days behind.
    """
    if not days:
        return delivery_time
    moved, numbers = _NUMBERS.subn(lambda found: str(int(found[0]) + days), delivery_time)
    if numbers and not re.search(r"\b(h|horas?|hours?)\b", delivery_time, re.IGNORECASE):
        return moved
    wait = "1 dia" if days == 1 else f"{days} dias"
    return f"{delivery_time} + {wait}" if delivery_time.strip() else wait
