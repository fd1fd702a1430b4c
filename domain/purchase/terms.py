"""Load what applies to a purchase: destinations, the rates of its shipping method, taxes and promotions.

It takes one statement, and none where a process has cached what the store's settings say and the purchase asks nothing of its own: no
coupon, no points, no promotion that depends on the customer. The cached terms are those that the process read last, each with its version
(`domain.purchase.terms_version`), and used for products of the same version only: nothing is invalidated.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from domain.destinations.matching import (
    HAS_ZIPCODES,
    DestinationAddress,
    candidate_from,
    destination_address,
    most_specific,
    width_sql,
)
from domain.promotions.calculation import ActivePromotion
from domain.promotions.rewards import (
    ONCE,
    active_sql,
    context_columns,
    coupon_key,
    depend_on_customer,
    promotions_of_json,
)
from domain.purchase.draft import BILLING, SHIPPING
from domain.purchase.lines import PROMOTIONS, PricedLine
from domain.purchase.references import OrderReferences
from domain.purchase.terms_version import VERSION_SQL
from domain.purchase.totals import NO_POINTS, AppliedTax, PointsRequest
from domain.store_settings import setting
from kernel.cache import BoundedCache
from kernel.scope import Scope
from models.connection.database import Plans, fetch, json_value

# Promotions come with what their rules ask.
_TERMS = f"""
WITH active AS MATERIALIZED ({active_sql("$7", "$8")} AND $9)
SELECT
    (SELECT json_agg(entry) FROM (
        SELECT d.id, d.countries, d.states, d.cities, {HAS_ZIPCODES} AS has_zipcodes,
            {width_sql("$2::text")} AS shipped, {width_sql("$3::text")} AS billed
        FROM destinations d WHERE d.tenant_id = $1 AND d.status = 'A' AND d.deleted_at IS NULL
    ) AS entry) AS destinations,
    (SELECT json_agg(r) FROM shipping_rates r WHERE r.tenant_id = $1 AND r.shipping_method_id = $4) AS rates,
    (SELECT json_agg(entry) FROM (
        SELECT x.id, x.name, x.address_type, x.rate_type, x.rate_value, x.price_includes_tax, x.priority,
            ARRAY(SELECT l.product_id FROM product_taxes l
                WHERE l.tenant_id = x.tenant_id AND l.tax_id = x.id AND l.product_id = ANY((SELECT $5::bigint[])::bigint[])) AS products,
            EXISTS (SELECT 1 FROM shipping_method_taxes l
                WHERE l.tenant_id = x.tenant_id AND l.tax_id = x.id AND l.shipping_method_id = $4) AS on_shipping,
            EXISTS (SELECT 1 FROM payment_method_taxes l
                WHERE l.tenant_id = x.tenant_id AND l.tax_id = x.id AND l.payment_method_id = $6) AS on_surcharge,
            (SELECT json_agg(r) FROM tax_rates r WHERE r.tenant_id = x.tenant_id AND r.tax_id = x.id) AS rates
        FROM taxes x WHERE x.tenant_id = $1 AND x.status = 'A' AND x.deleted_at IS NULL
    ) AS entry) AS taxes,
    (SELECT u.points FROM users u WHERE u.tenant_id = $1 AND u.id = $10) AS balance, {VERSION_SQL} AS version,
    promotions.entries AS promotions, context.*
"""
_ONCE = f"""ARRAY(SELECT id FROM active WHERE rule::text LIKE '%"{ONCE}"%')"""
_PROMOTIONS = f"""
FROM (SELECT json_agg(active) AS entries FROM active) AS promotions LEFT JOIN LATERAL (
    SELECT {context_columns(_ONCE, "$5", "$11::bigint", "$12::text", "$13::bigint")}
) AS context ON promotions.entries IS NOT NULL
"""
MAX_BYTES = 8_000_000
FIRST_PARAMETER = 14
"""The number of the first parameter of an extra read in a statement of terms."""


def terms_statement(columns: str = "", depends_on_customer: str = "false") -> str:
    """Return the statement of `load_terms`; `columns` (trusted SQL that begins with a comma) are read too.

    `depends_on_customer` is the SQL of whether these depend on the customer.
    """
    return f"{_TERMS}{columns}, {depends_on_customer} AS depends_on_customer{_PROMOTIONS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """The input of pricing.

    `addresses` are both or none (`fill_missing_address`). `discount_cents` is an explicit discount; None leaves it to promotions. With
    `prices_agreed` (a changed order) catalogue promotions don't lower the prices again and no gifts are added. `order_promotions` are the
    promotions such an order already has. `points` are the reward points to be spent.
    """

    lines: Sequence[PricedLine]
    references: OrderReferences
    addresses: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    user_id: int | None = None
    email: str = ""
    coupon_code: str = ""
    discount_cents: int | None = None
    prices_agreed: bool = False
    order_promotions: Sequence[ActivePromotion] | None = None
    order_id: int | None = None
    fixed_shipping_cents: int = 0
    points: PointsRequest = NO_POINTS


def fill_missing_address(addresses: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    """Use the single address for both billing and shipping when only one exists."""
    if not addresses:
        return {}
    only = next(iter(addresses.values()))
    return {kind: addresses.get(kind, only) for kind in (BILLING, SHIPPING)}


def requested_points(scope: Scope, points: int, *, up_to: bool = False) -> PointsRequest:
    """Return a request to spend points at the store's present rate."""
    return PointsRequest(points, setting(scope, "point_value_cents"), up_to=up_to) if points else NO_POINTS


@dataclass(frozen=True, slots=True)
class StoreTerms:
    """What the settings of a store say of purchases to an address by certain methods, whatever their products, customers and coupons.

    `taxes` by id, with their rates at the addresses; `extra` is the result of a caller's extra read (`ExtraRead`).
    """

    address: DestinationAddress
    destination_id: int | None
    rates: Sequence[Mapping[str, Any]]
    taxes: Mapping[int, AppliedTax]
    on_shipping: Sequence[int]
    on_surcharge: Sequence[int]
    depends_on_customer: bool
    extra: Any


@dataclass(frozen=True, slots=True)
class Terms:
    """What applies to a purchase; `on_products` are the taxes by product, `context` are the `context_columns` if they were read."""

    store: StoreTerms
    promotions: Sequence[ActivePromotion]
    on_products: Mapping[int, Sequence[int]]
    balance: int
    context: Mapping[str, Any] | None


CachedTerms = TypeVar("CachedTerms")


class TermsCache(Generic[CachedTerms]):
    """The terms that a process read, each under a key that begins with its store: the most recently used up to a number of bytes."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._terms: BoundedCache[Hashable, tuple[int, CachedTerms, int]] = BoundedCache(
            max_weight=max_bytes, weigh=lambda entry: entry[2]
        )

    @property
    def size(self) -> int:
        """The bytes of all terms."""
        return self._terms.weight

    def find(self, key: Hashable, version: int | None) -> CachedTerms | None:
        """Return the terms of this version, None where they are not cached."""
        entry = self._terms.find(key)
        return entry[1] if entry is not None and entry[0] == version else None

    def keep(self, key: Hashable, version: int | None, terms: CachedTerms, size: int) -> None:
        """Cache the terms of a version in place of another version's; `size` is about that of the terms in bytes."""
        if version is None:
            self._terms.drop(key)
        else:
            self._terms.keep(key, (version, terms, size))


@dataclass(frozen=True, slots=True)
class ExtraRead:
    """What a caller reads in the same statement, of which `build` makes `StoreTerms.extra`.

    `statement` is one of `terms_statement`. `build` takes the row, and the address, destination and rates of the purchase. The arguments
    depend on the address, the customer and what `key` names.
    """

    statement: str = terms_statement()
    arguments: Callable[[], Sequence[object]] = tuple
    key: Hashable = None
    customer_id: int | None = None
    build: Callable[[Mapping[str, Any], DestinationAddress, int | None, Sequence[Mapping[str, Any]]], object] | None = (
        None
    )


_NOTHING = ExtraRead()
_cache: TermsCache[StoreTerms] = TermsCache()


async def load_terms(
    scope: Scope, purchase: Purchase, *, shipping_method: int | None = None, extra: ExtraRead = _NOTHING
) -> Terms:
    """Load what applies to a purchase by its shipping method, or by the one with this id."""
    references = purchase.references
    # Of the store's UUID: its number may be that of another store in another database.
    key = (
        scope.store.public_id,
        references.shipping_method.id if references.shipping_method else shipping_method,
        references.payment_method.id if references.payment_method else None,
        *(_place(purchase.addresses.get(kind)) for kind in (SHIPPING, BILLING)),
        extra.key,
    )
    return await _cached_terms(scope, purchase, key, extra) or await _read_terms(scope, purchase, key, extra)


def _place(address: Mapping[str, str] | None) -> tuple[str | None, ...]:
    """Return what destinations match of an address."""
    return () if address is None else tuple([address.get(name) for name in ("country", "state", "city", "zipcode")])


async def _cached_terms(scope: Scope, purchase: Purchase, key: Hashable, extra: ExtraRead) -> Terms | None:
    """Return the terms without a statement, at most one for the promotions; None where it takes one of the purchase's own."""
    offers = [line.offer for line in purchase.lines]
    if (
        purchase.coupon_code
        or purchase.points.points
        or len({(o.terms_version, o.promotions_version) for o in offers}) != 1
    ):
        return None
    offer = offers[0]
    store = _cache.find(key, offer.terms_version)
    if store is None or (store.depends_on_customer and extra.customer_id is not None):
        return None
    promotions, context = purchase.order_promotions, None
    if promotions is None:
        promotions = []
        if _takes_promotions(purchase) and offer.promotions_version is not None:
            promotions = await PROMOTIONS.active(scope, offer.promotions_version)
        if promotions and (purchase.user_id is not None or purchase.email) and depend_on_customer(promotions):
            return None
        categories = {str(offer.id): offer.category_paths or "" for offer in offers}
        context = {"categories": categories, "usergroups": (), "used_by_customer": {}}
    return Terms(store, promotions, {offer.id: offer.taxes for offer in offers}, 0, context)


def _takes_promotions(purchase: Purchase) -> bool:
    return purchase.discount_cents is None and purchase.order_promotions is None


async def _read_terms(
    scope: Scope,
    purchase: Purchase,
    key: tuple[Any, ...],
    extra: ExtraRead,
) -> Terms:
    """Read the terms, and keep those of the store."""
    addresses = purchase.addresses
    shipped = destination_address(addresses.get(SHIPPING))
    has_one_address = addresses.get(BILLING) == addresses.get(SHIPPING)
    billed = shipped if has_one_address else destination_address(addresses.get(BILLING))
    _, shipping_method, payment_method, *_ = key
    [record] = await fetch(
        extra.statement,
        scope.store.id,
        shipped.zipcode,
        billed.zipcode,
        shipping_method,
        [line.offer.id for line in purchase.lines],
        payment_method,
        scope.now,
        coupon_key(purchase.coupon_code),
        _takes_promotions(purchase),
        purchase.user_id if purchase.points.points else None,
        purchase.user_id,
        purchase.email,
        purchase.order_id,
        *extra.arguments(),
        plans=Plans.REUSED,
    )
    taxes = _json_list(record["taxes"])
    store = _store_terms(record, taxes, shipped, billed, extra)
    if not (store.depends_on_customer and extra.customer_id is not None):
        _cache.keep(key, record["version"], store, _size(record))
    promotions = purchase.order_promotions
    return Terms(
        store,
        promotions_of_json(record["promotions"]) if promotions is None else promotions,
        _by_product(taxes),
        record["balance"] or 0,
        # Of an order's own promotions nothing has been read.
        record if promotions is None else None,
    )


def _store_terms(
    record: Mapping[str, Any],
    taxes: Sequence[Mapping[str, Any]],
    shipped: DestinationAddress,
    billed: DestinationAddress,
    extra: ExtraRead,
) -> StoreTerms:
    destinations = _json_list(record["destinations"])
    destination = most_specific((candidate_from(candidate, "shipped") for candidate in destinations), shipped)
    destinations_by_type = {
        "S": destination,
        "B": most_specific((candidate_from(candidate, "billed") for candidate in destinations), billed),
    }
    rates = _json_list(record["rates"])
    return StoreTerms(
        address=shipped,
        destination_id=destination,
        rates=rates,
        taxes={tax["id"]: _applied(tax, destinations_by_type[tax["address_type"]]) for tax in taxes},
        on_shipping=[tax["id"] for tax in taxes if tax["on_shipping"]],
        on_surcharge=[tax["id"] for tax in taxes if tax["on_surcharge"]],
        depends_on_customer=record["depends_on_customer"],
        extra=None if extra.build is None else extra.build(record, shipped, destination, rates),
    )


def _size(record: Mapping[str, Any]) -> int:
    """Return about how many bytes the terms of a row take: the objects of a JSON text take some times its length."""
    return 2_000 + 8 * sum(len(value) for value in record.values() if isinstance(value, str))


def _applied(tax: Mapping[str, Any], destination: int | None) -> AppliedTax:
    """Return a tax with its rate for the destination, else its own rate."""
    rates = [rate for rate in _json_list(tax["rates"]) if rate["destination_id"] == destination]
    rate = rates[0] if rates else tax
    return AppliedTax(
        tax["id"],
        tax["name"],
        rate["rate_type"],
        rate["rate_value"],
        tax["price_includes_tax"],
        tax["priority"],
    )


def _by_product(taxes: Sequence[Mapping[str, Any]]) -> dict[int, list[int]]:
    taxes_by_product: dict[int, list[int]] = {}
    for tax in taxes:
        for product in tax["products"]:
            taxes_by_product.setdefault(product, []).append(tax["id"])
    return taxes_by_product


def _json_list(value: Any) -> list[Any]:
    return json_value(value) or []
