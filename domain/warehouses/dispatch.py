"""Choose the warehouse that dispatches a vendor's products to an address, and calculate the days that takes.

A vendor's own warehouses precede the store's. A warehouse with delivery areas delivers to these only, one without delivers everywhere. An
area is matched by its most precise data: CEP ranges, else cities, else states. A warehouse with an exclusive group serves only its members,
one with other groups serves their members first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernel.documents import normalize_cep
from kernel.geography import BRAZIL, state_code, state_of_cep
from kernel.scope import Scope, active_scope
from models.connection.database import fetch

_HOURS_PER_DAY = 24


def candidates_sql(vendors: str, cep: str, state: str, city: str, customer: str) -> str:
    """Return the SQL of the warehouses for an address and a customer; parameter 1 is the store, the arguments are trusted SQL."""
    return f"""
SELECT w.id, w.vendor_id, w.shipping_delay, w.priority, w.is_default, a.delivery_time, a.id AS area_id,
    EXISTS (
        SELECT 1 FROM warehouse_areas x WHERE x.tenant_id = w.tenant_id AND x.warehouse_id = w.id AND x.status = 'A'
    ) AS has_areas,
    EXISTS (
        SELECT 1 FROM warehouse_usergroups g
        WHERE g.tenant_id = w.tenant_id AND g.warehouse_id = w.id AND g.status = 'A' AND g.allocation_type = 'E'
    ) AS is_exclusive,
    m.priority AS member_priority, m.is_exclusive_member
FROM warehouses w
CROSS JOIN LATERAL (
    SELECT max(g.priority) AS priority, coalesce(bool_or(g.allocation_type = 'E'), false) AS is_exclusive_member
    FROM warehouse_usergroups g
    JOIN usergroup_memberships b
        ON b.tenant_id = g.tenant_id AND b.usergroup_id = g.usergroup_id AND b.user_id = {customer} AND b.status = 'A'
    WHERE g.tenant_id = w.tenant_id AND g.warehouse_id = w.id AND g.status = 'A'
) m
LEFT JOIN LATERAL (
    SELECT a.id, a.delivery_time
    FROM warehouse_areas a CROSS JOIN LATERAL (
        SELECT count(*) AS ranges, min(z.last_cep - z.first_cep) FILTER (WHERE {cep}::integer BETWEEN z.first_cep AND z.last_cep) AS width
        FROM warehouse_zipcodes z WHERE z.tenant_id = a.tenant_id AND z.area_id = a.id
    ) z
    WHERE a.tenant_id = w.tenant_id AND a.warehouse_id = w.id AND a.status = 'A' AND CASE
        WHEN z.ranges > 0 THEN z.width IS NOT NULL
        WHEN cardinality(a.cities) > 0 THEN (cardinality(a.states) = 0 OR {state}::text = ANY(a.states))
            AND vitrine_fold({city}::text) IN (SELECT vitrine_fold(city) FROM unnest(a.cities) AS city)
        ELSE cardinality(a.states) = 0 OR {state}::text = ANY(a.states)
    END
    ORDER BY z.width NULLS LAST, cardinality(a.cities) = 0, cardinality(a.states) = 0, a.delivery_time, a.id LIMIT 1
) a ON true
WHERE w.tenant_id = $1 AND w.status = 'A' AND w.deleted_at IS NULL
    AND (w.vendor_id IS NULL OR w.vendor_id = ANY((SELECT {vendors}::bigint[])::bigint[]))
"""


_CANDIDATES = candidates_sql("$2", "$3", "$4", "$5", "$6")


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The dispatching warehouse (None: no warehouse exists) and the days it adds to the delivery time."""

    warehouse_id: int | None = None
    days: int = 0


async def find_dispatches(
    scope: Scope,
    vendors: Collection[int | None],
    *,
    zipcode: str,
    state: str = "",
    country: str = BRAZIL,
    city: str = "",
    customer_id: int | None = None,
) -> dict[int | None, Dispatch]:
    """Return how each vendor's products (None: the store's own) are dispatched to the address, in one statement.

    A vendor is omitted if there are warehouses for its products but none delivers there. `customer_id` is an internal id.
    """
    address = {"zipcode": zipcode, "state": state, "country": country, "city": city}
    with active_scope(scope):
        candidates = await fetch(_CANDIDATES, scope.store.id, *candidate_arguments(vendors, address, customer_id))
    return choose_dispatches(vendors, candidates)


def candidate_arguments(
    vendors: Collection[int | None], address: Mapping[str, str], customer_id: int | None
) -> tuple[object, ...]:
    """Return the arguments of `candidates_sql` for an address, whose `zipcode`, `state`, `country` and `city` are used."""
    is_brazilian = address["country"] == BRAZIL
    cep = (normalize_cep(address["zipcode"]) if is_brazilian else None) or ""
    state = state_code(address["state"]) if is_brazilian else address["state"]
    return (
        [vendor for vendor in vendors if vendor is not None],
        int(cep) if cep else None,
        state or state_of_cep(cep),
        address["city"].strip(),
        customer_id,
    )


def choose_dispatches(
    vendors: Collection[int | None], candidates: Sequence[Mapping[str, Any]]
) -> dict[int | None, Dispatch]:
    """Return how each vendor's products are dispatched by rows of `candidates_sql`; a vendor that none delivers for is omitted."""
    choices = {vendor: _choose(vendor, candidates) for vendor in vendors}
    return {vendor: dispatch for vendor, dispatch in choices.items() if dispatch is not None}


def _choose(vendor: int | None, warehouses: Sequence[Mapping[str, Any]]) -> Dispatch | None:
    candidates = [warehouse for warehouse in warehouses if warehouse["vendor_id"] in (None, vendor)]
    if not candidates:
        return Dispatch()
    able = [warehouse for warehouse in candidates if _can_dispatch(warehouse)]
    if not able:
        return None
    best = min(able, key=_rank)
    return Dispatch(best["id"], best["shipping_delay"] + -(-(best["delivery_time"] or 0) // _HOURS_PER_DAY))


def _can_dispatch(warehouse: Mapping[str, Any]) -> bool:
    reaches = warehouse["area_id"] is not None or not warehouse["has_areas"]
    return reaches and (warehouse["is_exclusive_member"] or not warehouse["is_exclusive"])


def _rank(warehouse: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the sort key of warehouses, the preferred one first."""
    member = warehouse["member_priority"]
    return (
        warehouse["vendor_id"] is None,
        (member is None, -(member or 0)),
        -warehouse["priority"],
        not warehouse["is_default"],
        warehouse["delivery_time"] or 0,
        warehouse["id"],
    )


def slowest_dispatch(dispatched: Iterable[Dispatch]) -> Dispatch:
    """Return the longest time of several dispatches, and their warehouse if it is the same for all."""
    all_dispatches = list(dispatched)
    warehouses = {dispatch.warehouse_id for dispatch in all_dispatches}
    return Dispatch(
        warehouses.pop() if len(warehouses) == 1 else None,
        max((dispatch.days for dispatch in all_dispatches), default=0),
    )
