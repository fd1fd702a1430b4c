"""Turn requested items into order lines: find the products, determine prices and the stock that is taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import orjson

from domain.catalog import stock
from domain.catalog.listing import IN_ADVANCE, OPEN, RELEASED, of_row
from domain.catalog.product_options import SelectableOptions, load_selectable_options
from domain.promotions.promotion_cache import PromotionCache
from domain.purchase.draft import DraftLine
from domain.purchase.option_selection import OptionSelection, default_options, select_options, selection_key
from domain.purchase.terms_version import VERSION_SQL
from domain.purchase.totals import PERCENTAGE, CommissionRate, TotalsLine
from kernel.ids import Reference, parse_reference, split_references
from kernel.scope import Scope
from models.connection.database import Plans, fetch
from models.references import PRODUCT, reject_missing

# Members of a line's `extra` that are written from the selected options only.
_SELECTION_KEYS = ("product_options", "product_options_value", "custom_files")


@dataclass(frozen=True, slots=True)
class Offer:
    """A product as it is sold now; `stock` is the sellable quantity, weight in grams, freight in cents per unit.

    `required` maps the ids of products it must be bought with to their names; `selectable_options` is None without options. `taxes` are the
    ids of the product's taxes, `category_paths` what promotions ask of it; the versions are those of the store when it was read
    (`domain.purchase.terms_version`, `domain.promotions.promotion_cache`). `commission` is the vendor's rate.
    `sells_in_advance`: also beyond its stock, and while it `is_ahead` of the time from which it is available.
    """

    id: int
    public_id: UUID
    vendor_id: int | None
    name: str
    sku: str
    price_cents: int
    stock: int
    tracking: str
    weight_grams: int
    freight_cents: int
    is_edp: bool
    free_shipping: bool
    min_quantity: int
    max_quantity: int
    quantity_step: int
    is_on_sale: bool
    sells_in_advance: bool = False
    is_ahead: bool = False
    commission: str | None = None
    commission_type: str | None = None
    taxes: Sequence[int] = ()
    terms_version: int | None = None
    category_paths: str | None = None
    promotions_version: int | None = None
    vendor_shippings: Mapping[str, Any] = field(default_factory=dict)
    required: Mapping[int, str] = field(default_factory=dict)
    selectable_options: SelectableOptions | None = None

    @property
    def rate(self) -> CommissionRate:
        """Return the rate of the vendor's commission."""
        return CommissionRate(self.commission or "0", self.commission_type or PERCENTAGE)

    def is_in_steps(self, quantity: int) -> bool:
        """Return whether a quantity is one of the steps in which the product is sold."""
        return not self.quantity_step or quantity % self.quantity_step == 0

    @property
    def is_tracked(self) -> bool:
        """Return whether stock is tracked."""
        return self.tracking != stock.UNTRACKED


@dataclass(frozen=True, slots=True)
class PricedLine:
    """An order line as it will be stored; `base_price_cents` is the catalogue price.

    Promotions never change a `fixed` price: one set explicitly, or that of a gift. `line_id` is that of a line in the order.
    """

    offer: Offer
    quantity: int
    price_cents: int
    base_price_cents: int
    tracked: bool
    in_advance: bool = False
    fixed: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    selection: OptionSelection | None = None
    line_id: int | None = None

    @property
    def combination_id(self) -> int | None:
        """Return the combination whose stock is reserved instead of the product's."""
        combination = self.selection.combination if self.selection is not None else None
        return combination.id if combination is not None else None

    @property
    def freight_cents(self) -> int:
        """Return what each unit adds to the price of shipping: that of the combination, else of the product."""
        combination = self.selection.combination if self.selection is not None else None
        freight = combination.freight_cents if combination is not None else None
        return self.offer.freight_cents if freight is None else freight

    @property
    def sku(self) -> str:
        """Return the SKU of the combination, else of the product."""
        combination = self.selection.combination if self.selection is not None else None
        return (combination.sku if combination is not None else "") or self.offer.sku

    @property
    def totals_line(self) -> TotalsLine:
        """Return the line as the totals need it."""
        return TotalsLine(
            quantity=self.quantity,
            price_cents=self.price_cents,
            weight_grams=self.offer.weight_grams,
            is_shipped=not self.offer.is_edp,
            ships_free=self.offer.free_shipping,
            freight_cents=self.freight_cents,
        )


PROMOTIONS = PromotionCache()
"""The promotions that apply to purchases without a coupon."""
_PROMOTION_COLUMNS = (
    f"{PROMOTIONS.category_paths_sql('p.id')} AS category_paths, {PROMOTIONS.version_sql} AS promotions_version"
).replace("{tenant}", "$1")

# The quantities offered, in steps, limit the quantity too.
_MAX_QUANTITY = """CASE WHEN p.quantity_choices > 0
        THEN least(nullif(p.max_quantity, 0), p.quantity_choices::bigint * greatest(p.quantity_step, 1)) ELSE p.max_quantity END"""
# Of a product `p` and its vendor `v`, in the order of `Offer`; parameter 1 is the store.
OFFER_COLUMNS = f"""p.id, p.public_id, p.vendor_id, p.name, p.sku, p.price_cents, p.stock, p.tracking, p.weight_grams,
    p.shipping_freight_cents, p.is_edp, p.free_shipping, p.min_quantity, {_MAX_QUANTITY}, p.quantity_step,
    {of_row(f"{OPEN} AND {RELEASED}", "p")} AS is_on_sale, {of_row(IN_ADVANCE, "p")} AS sells_in_advance,
    coalesce(p.available_since > now(), false) AS is_ahead, v.commission, v.commission_type,
    ARRAY(SELECT l.tax_id FROM product_taxes l WHERE l.tenant_id = p.tenant_id AND l.product_id = p.id) AS taxes,
    {VERSION_SQL} AS terms_version, {_PROMOTION_COLUMNS}, nullif(v.shippings, '{{}}')::text AS vendor_shippings,
    (SELECT jsonb_object_agg(q.id, q.name) FROM required_products r
        JOIN products q ON q.tenant_id = r.tenant_id AND q.id = r.required_id AND q.deleted_at IS NULL
        WHERE r.tenant_id = p.tenant_id AND r.product_id = p.id)::text AS required,
    EXISTS (SELECT 1 FROM product_options l WHERE l.tenant_id = p.tenant_id AND l.product_id = p.id) AS has_options"""
OFFER_VENDOR = "LEFT JOIN vendors v ON v.tenant_id = p.tenant_id AND v.id = p.vendor_id"
# The arrays are in subqueries, which hide their length from the planner: else each call with a short array would be planned again.
_OFFERS = f"""
SELECT {OFFER_COLUMNS}
FROM products p {OFFER_VENDOR}
WHERE p.tenant_id = $1 AND p.deleted_at IS NULL
    AND (p.id = ANY((SELECT $2::bigint[])::bigint[]) OR p.public_id = ANY((SELECT $3::uuid[])::uuid[]))
"""


async def load_offers(scope: Scope, references: Iterable[object], *, skip_missing: bool = False) -> dict[object, Offer]:
    """Load the referenced products in one statement; selectable options, if any, take two more.

    Raises ValidationFailed naming missing products, unless `skip_missing`.
    """
    parsed = {reference: parse_reference(reference) for reference in references}
    valid = [reference for reference in parsed.values() if reference is not None]
    products = await fetch(_OFFERS, scope.store.id, *split_references(valid), plans=Plans.REUSED)
    by_reference: dict[Reference, Offer] = {}
    for offer in await offers_of(scope, [tuple(product) for product in products]):
        by_reference[offer.id] = by_reference[offer.public_id] = offer
    offers = {
        reference: by_reference[key] for reference, key in parsed.items() if key is not None and key in by_reference
    }
    if not skip_missing:
        reject_missing(PRODUCT, [reference for reference in parsed if reference not in offers], field="product")
    return offers


async def offers_of(scope: Scope, products: Sequence[tuple[Any, ...]]) -> list[Offer]:
    """Return the offers of products with the columns `OFFER_COLUMNS`; selectable options, if any, take two statements."""
    selectable = await load_selectable_options(scope, [product[0] for product in products if product[-1]])
    offers = []
    for *columns, shippings, required, _ in products:
        vendor_shippings = orjson.loads(shippings) if shippings else {}
        names = {int(number): name for number, name in orjson.loads(required).items()} if required else {}
        offers.append(Offer(*[*columns, vendor_shippings, names, selectable.get(columns[0])]))
    return offers


def price_lines(
    drafts: Sequence[DraftLine],
    offers: Mapping[object, Offer],
    *,
    trusted: bool,
    imported: bool = False,
    agreed_prices: Mapping[tuple[int, str], int] | None = None,
) -> list[PricedLine]:
    """Price each line: the explicit price when `trusted`, else the one agreed before (by product and selection key), else the current one.

    Lines of an import are not tracked and have no selected options: they bypass stock. A line that was agreed without a combination stays
    so. Raises what `select_options` does.
    """
    agreed_prices = agreed_prices or {}
    lines = []
    for draft in drafts:
        offer = offers[draft.product]
        in_combination = bool(draft.options) or (offer.id, "") not in agreed_prices
        selection = None if imported else select_options(offer, draft.options, in_combination=in_combination)
        current_price = catalogue_price(offer, selection)
        fixed_price = draft.price_cents if trusted else None
        price = (
            agreed_prices.get((offer.id, selection_key(selection)), current_price)
            if fixed_price is None
            else fixed_price
        )
        lines.append(
            PricedLine(
                offer=offer,
                quantity=draft.quantity,
                price_cents=price,
                base_price_cents=current_price,
                tracked=not imported and offer.is_tracked,
                fixed=fixed_price is not None,
                extra=_extra(draft, selection),
                selection=selection,
            )
        )
    return lines


def catalogue_price(offer: Offer, selection: OptionSelection | None) -> int:
    """Return the catalogue's price of a product with its selected options, in cents."""
    return max(0, offer.price_cents + (selection.price_cents if selection is not None else 0))


def with_default_options(drafts: Sequence[DraftLine], offers: Mapping[object, Offer]) -> list[DraftLine]:
    """Choose the first combination that can be bought for lines that choose none, as CS-Cart takes default options."""
    return [
        replace(draft, options=default_options(offers[draft.product], draft.options, draft.quantity))
        for draft in drafts
    ]


def _extra(draft: DraftLine, selection: OptionSelection | None) -> dict[str, Any]:
    """Return the line's `extra`; members describing the selected options come from the selection only."""
    extra = {name: value for name, value in draft.extra.items() if name not in _SELECTION_KEYS}
    return {**extra, **selection.extra} if selection is not None else extra


def stock_units(lines: Iterable[PricedLine]) -> dict[stock.StockOwner, dict[int, int]]:
    """Sum the units counted in stock, by product, and by combination of the lines that have one."""
    tracked = [line for line in lines if line.tracked]
    return {
        stock.StockOwner.PRODUCT: stock.sum_quantities(
            (line.offer.id, line.quantity) for line in tracked if line.combination_id is None
        ),
        stock.StockOwner.COMBINATION: stock.sum_quantities(
            (line.combination_id, line.quantity) for line in tracked if line.combination_id is not None
        ),
    }


def short_stock(lines: Sequence[PricedLine], reserved: Sequence[PricedLine] = ()) -> dict[stock.StockOwner, list[int]]:
    """Return the products and combinations with too little stock when they were read: an oversell needs no lock or write to be rejected.

    `reserved` are lines whose stock the order has.
    """
    combinations = [line.selection.combination for line in lines if line.selection is not None]
    available = {
        stock.StockOwner.PRODUCT: {line.offer.id: line.offer.stock for line in lines},
        stock.StockOwner.COMBINATION: {each.id: each.stock for each in combinations if each is not None},
    }
    taken = stock_units(reserved)
    return {
        owner: [
            number for number, count in units.items() if count > available[owner][number] + taken[owner].get(number, 0)
        ]
        for owner, units in stock_units(lines).items()
    }


def sell_in_advance(lines: Sequence[PricedLine], reserved: Sequence[PricedLine] = ()) -> list[PricedLine]:
    """Mark the lines that are sold in advance; those beyond the stock take none of it. `reserved` are lines whose stock the order has."""
    if not any(line.offer.sells_in_advance for line in lines):
        return list(lines)
    short = short_stock(lines, reserved)
    marked = []
    for line in lines:
        if line.combination_id is None:
            is_short = line.offer.id in short[stock.StockOwner.PRODUCT]
        else:
            is_short = line.combination_id in short[stock.StockOwner.COMBINATION]
        if line.offer.sells_in_advance and (line.offer.is_ahead or (line.tracked and is_short)):
            marked.append(replace(line, in_advance=True, tracked=line.tracked and not is_short))
        else:
            marked.append(line)
    return marked


def sole_vendor(lines: Sequence[PricedLine]) -> int | None:
    """Return the vendor that all lines share, else None."""
    vendors = {line.offer.vendor_id for line in lines}
    return vendors.pop() if len(vendors) == 1 else None


def needs_shipping(lines: Iterable[PricedLine]) -> bool:
    """Return whether any line is a physical product."""
    return any(not line.offer.is_edp for line in lines)
