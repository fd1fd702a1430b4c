"""Choose the warehouse that dispatches a vendor's products to an address, and calculate the days that takes.

A vendor's own warehouses precede the store's. A warehouse with delivery areas delivers to these only, one without delivers everywhere. An
area is matched by its most precise data: CEP ranges, else cities, else states. A warehouse with an exclusive group serves only its members,
one with other groups serves their members first. The rules are a function of the database (models/migrations/sql/0085_warehouse_dispatch),
which takes the units of an order from warehouses in the same order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from kernel.documents import normalize_cep
from kernel.geography import BRAZIL, state_code, state_of_cep
from kernel.scope import Scope, active_scope
from models.connection.database import fetch

_HOURS_PER_DAY = 24


def candidates_sql(vendors: str, cep: str, state: str, city: str, customer: str) -> str:
    """Return the SQL of the warehouses for an address and a customer; parameter 1 is the store, the arguments are trusted SQL."""
    arguments = f"$1, {vendors}::bigint[], {cep}::integer, {state}::text, {city}::text, {customer}::bigint"
    return f"SELECT id, vendor_id, shipping_delay, delivery_time, is_able, place FROM vitrine_warehouse_candidates({arguments})"


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
    able = [warehouse for warehouse in candidates if warehouse["is_able"]]
    if not able:
        return None
    best = min(able, key=itemgetter("place"))
    return Dispatch(best["id"], best["shipping_delay"] + -(-(best["delivery_time"] or 0) // _HOURS_PER_DAY))


def slowest_dispatch(dispatched: Iterable[Dispatch]) -> Dispatch:
    """Return the longest time of several dispatches, and their warehouse if it is the same for all."""
    all_dispatches = list(dispatched)
    warehouses = {dispatch.warehouse_id for dispatch in all_dispatches}
    return Dispatch(
        warehouses.pop() if len(warehouses) == 1 else None,
        max((dispatch.days for dispatch in all_dispatches), default=0),
    )
