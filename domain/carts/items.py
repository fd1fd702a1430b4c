"""Load the items of a cart at current names and prices, store these, and parse requested items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from uuid import UUID

import orjson

from domain.carts.files import with_files
from domain.carts.locked import statement_with_items
from domain.carts.messages import portuguese_errors
from domain.purchase.draft import MAX_UNITS, DraftLine, options_object
from domain.purchase.lines import (
    OFFER_COLUMNS,
    OFFER_VENDOR,
    Offer,
    PricedLine,
    load_offers,
    offers_of,
    price_lines,
    sell_in_advance,
)
from domain.purchase.option_selection import select_combination, select_options, selection_input, selection_key
from domain.purchase.totals import TotalsLine
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from kernel.fields import InputField, InputValues, integer, read_fields
from kernel.ids import parse_uuid
from kernel.scope import Scope, active_scope
from models.connection.database import Plans, fetch

MAX_ITEMS = 200

# Of an item `i` and its product, followed by what is sold of the product.
_OWN_COLUMNS = """i.id AS item_id, i.public_id AS item_public_id, i.quantity, i.options::text AS options, i.product_name,
    i.price_cents AS item_price_cents, i.added_price_cents, p.deleted_at IS NULL AS is_available"""
_OWN_COUNT = 8
_COLUMNS = f"{_OWN_COLUMNS}, {OFFER_COLUMNS}"
_JOINS = f"cart_items i JOIN products p ON p.tenant_id = i.tenant_id AND p.id = i.product_id {OFFER_VENDOR}"
CART_WITH_ITEMS = statement_with_items(_COLUMNS, _JOINS)
"""The statement of a cart with the items of `items_of`."""
ITEM, FIRST_PARAMETER = "i", 3
"""The alias of an item in it, and the number of the first parameter of further columns."""
_ITEMS = f"SELECT {_COLUMNS} FROM {_JOINS} WHERE i.tenant_id = $1 AND i.cart_id = $2 ORDER BY i.id"
# The price of an item that was just added, or whose quantity was set, is the one its customer has seen.
SAVE_ITEM_PRICES = """
UPDATE cart_items i SET product_name = p.name, price_cents = p.price, added_price_cents = coalesce(i.added_price_cents, p.price)
FROM unnest($3::bigint[], $4::text[], $5::bigint[]) AS p (id, name, price)
WHERE i.tenant_id = $1 AND i.cart_id = $2 AND i.id = p.id
    AND (i.product_name, i.price_cents, i.added_price_cents IS NULL) IS DISTINCT FROM (p.name, p.price, false)
"""

_COMBINATION_PRODUCTS = """
SELECT c.public_id, p.public_id AS product_id FROM combinations c JOIN products p ON p.tenant_id = c.tenant_id AND p.id = c.product_id
WHERE c.tenant_id = $1 AND c.public_id = ANY($2::uuid[]) AND c.deleted_at IS NULL
"""

QUANTITY: Mapping[str, InputField] = {
    "quantity": InputField("quantity", integer(1, MAX_UNITS), code="quantity_invalid", required="required")
}

OPTIONS: Mapping[str, InputField] = {"options": InputField("options", options_object, code="options_invalid")}


@lru_cache(maxsize=512)
def cart_with_items_and(column: str) -> str:
    """Return `CART_WITH_ITEMS` with a further column of the items (trusted SQL) at its end."""
    return statement_with_items(f"{_COLUMNS}, {column}", _JOINS)


@dataclass(frozen=True, slots=True)
class PricedCartItem:
    """A cart item, prices in cents; `line` is None when its product or options are gone.

    Name and price are then those last stored. `added_price_cents` is the price when the item was added or its quantity set, if known.
    """

    id: int
    public_id: UUID
    product_id: int
    product_public_id: UUID
    name: str
    quantity: int
    price_cents: int
    options: list[Any]
    line: PricedLine | None
    added_price_cents: int | None = None

    @property
    def total_cents(self) -> int:
        """Return the price of all units."""
        return self.quantity * self.price_cents

    @property
    def totals_line(self) -> TotalsLine:
        """Return the item as the totals need it."""
        return self.line.totals_line if self.line is not None else TotalsLine(self.quantity, self.price_cents)


@dataclass(frozen=True, slots=True)
class RequestedItem:
    """Requested units of a product; `options_key` identifies the selected options."""

    offer: Offer
    quantity: int
    options: tuple[Any, ...] = ()
    options_key: str = ""


async def load_items(scope: Scope, cart_id: int, *, closed: bool = False) -> list[PricedCartItem]:
    """Load a cart's items in the order they were added; those of a `closed` cart as they were when it closed."""
    with active_scope(scope):
        records = await fetch(_ITEMS, scope.store.id, cart_id, plans=Plans.REUSED)
    return await items_of(scope, [tuple(record) for record in records], closed=closed)


async def items_of(scope: Scope, rows: Sequence[tuple[Any, ...]], *, closed: bool = False) -> list[PricedCartItem]:
    """Return the items of rows with the columns `_COLUMNS`, as `load_items` does; options, if any, take two statements."""
    available = {} if closed else {row[_OWN_COUNT]: row[_OWN_COUNT:] for row in rows if row[_OWN_COUNT - 1]}
    with active_scope(scope):
        offers: dict[object, Offer] = {offer.id: offer for offer in await offers_of(scope, list(available.values()))}
    items = [_item(row, offers) for row in rows]
    lines = iter(sell_in_advance(order_lines(items)))
    return [item if item.line is None else replace(item, line=next(lines)) for item in items]


async def parse_items(
    scope: Scope, values: Sequence[InputValues], *, field: str = "", cart: object | None = None
) -> list[RequestedItem]:
    """Parse items as `read_items` does, all with the same `field`; quantities of the same product and options are summed."""
    return sum_items(await read_items(scope, values, [field] * len(values), cart=cart), field)


def sum_items(items: Sequence[RequestedItem], field: str = "") -> list[RequestedItem]:
    """Sum the quantities of the same product and options."""
    summed: dict[tuple[int, str], RequestedItem] = {}
    for item in items:
        key = (item.offer.id, item.options_key)
        quantity = item.quantity + (summed[key].quantity if key in summed else 0)
        summed[key] = replace(item, quantity=checked_quantity(quantity, field))
    return list(summed.values())


async def read_items(
    scope: Scope, values: Sequence[InputValues], fields: Sequence[str], *, cart: object | None = None
) -> list[RequestedItem]:
    """Parse `[{product or combination_id, quantity, options?}]` in a constant number of statements.

    `fields` name the items in error messages; options of type `F` may name files of the `cart`. Raises NotFound for products and
    combinations missing or not on sale, ValidationFailed for invalid quantities and options, RuleViolation for options that can't be
    combined.
    """
    if len(values) > MAX_ITEMS:
        raise too_many_items_error()
    drafts = [_parse_item(item, field) for item, field in zip(values, fields, strict=True)]
    products = await _products_of(scope, drafts)
    offers = await _load_offers(scope, products)
    chosen = await with_files(
        scope, cart, [(offers[product], draft.options) for draft, product in zip(drafts, products, strict=True)]
    )
    items = []
    for draft, product, options, field in zip(drafts, products, chosen, fields, strict=True):
        offer = offers[product]
        with prefixed_errors(field), portuguese_errors(scope):
            if draft.combination is None:
                selection = select_options(offer, options)
            else:
                selection = select_combination(offer, draft.combination, options)
        sold = tuple(selection.options) if selection is not None else ()
        items.append(RequestedItem(offer, draft.quantity, sold, selection_key(selection)))
    return items


def read_quantity(values: InputValues) -> int:
    """Parse the quantity of an item: 1 or more."""
    quantity: int = read_fields(QUANTITY, values, creating=True)["quantity"]
    return quantity


def checked_quantity(quantity: int, field: str = "") -> int:
    """Reject more units of one product than an order may have."""
    if quantity > MAX_UNITS:
        raise ValidationFailed(
            f"quantity is {quantity}; expected at most {MAX_UNITS}",
            field=_field_path(field, "quantity"),
            code="quantity_invalid",
        )
    return quantity


def too_many_items_error() -> ValidationFailed:
    """Return the error for more items than a cart may have."""
    return ValidationFailed(f"a cart holds at most {MAX_ITEMS} items", field="items", code="too_many")


def order_lines(items: Sequence[PricedCartItem]) -> list[PricedLine]:
    """Return the lines of an order for the items that are still sold."""
    return [item.line for item in items if item.line is not None]


def at_prices(items: Sequence[PricedCartItem], lines: Sequence[PricedLine]) -> list[PricedCartItem]:
    """Return the items at the prices of their lines, which promotions may have lowered; `lines` may go on with gifts."""
    prices = iter(lines)
    return [
        item
        if item.line is None or (price := next(prices).price_cents) == item.price_cents
        else replace(item, price_cents=price)
        for item in items
    ]


def item_price_columns(items: Sequence[PricedCartItem]) -> tuple[list[int], list[str], list[int]]:
    """Return the ids, names and prices of items, as `SAVE_ITEM_PRICES` takes them."""
    return [item.id for item in items], [item.name for item in items], [item.price_cents for item in items]


def _item(row: tuple[Any, ...], offers: Mapping[object, Offer]) -> PricedCartItem:
    """Return an item, with its order line if its product is among the offers."""
    number, public_id, quantity, chosen, name, price_cents, added_cents, _, product, product_public_id = row[:10]
    options = orjson.loads(chosen)
    line = None
    if product in offers:
        # The selected options may no longer be valid: such an item stays visible and can't be ordered.
        with suppress(ValidationFailed, RuleViolation):
            draft = DraftLine(product, quantity, options=selection_input(options))
            [line] = price_lines([draft], offers, trusted=False)
    return PricedCartItem(
        number,
        public_id,
        product,
        product_public_id,
        line.offer.name if line is not None else name,
        quantity,
        line.price_cents if line is not None else price_cents,
        options,
        line,
        added_cents,
    )


@dataclass(frozen=True, slots=True)
class _ItemDraft:
    """Requested units of a product, named by its public id, or of a combination."""

    product: object
    combination: UUID | None
    quantity: int
    options: Mapping[str, Any]


def _parse_item(values: InputValues, field: str) -> _ItemDraft:
    product, combination = values.get("product"), values.get("combination_id")
    if product is None and combination is None:
        raise ValidationFailed("product_id is required", field=_field_path(field, "product_id"), code="required")
    public_id = parse_uuid(combination)
    if combination is not None and public_id is None:
        raise NotFound("combination")
    with prefixed_errors(field):
        options = read_fields(OPTIONS, values).get("options", {})
        return _ItemDraft(product, public_id, read_quantity(values), options)


@contextmanager
def prefixed_errors(field: str) -> Iterator[None]:
    """Prefix field names in errors with the list of the item."""
    try:
        yield
    except ValidationFailed as error:
        fields = {_field_path(field, name): code for name, code in error.fields.items()}
        raise ValidationFailed(error.message, fields=fields) from error


async def _products_of(scope: Scope, drafts: Sequence[_ItemDraft]) -> list[object]:
    """Return the product of each draft: that of its combination where it names none."""
    unnamed = [draft.combination for draft in drafts if draft.product is None]
    with active_scope(scope):
        rows = await fetch(_COMBINATION_PRODUCTS, scope.store.id, unnamed) if unnamed else []
    products = {row["public_id"]: str(row["product_id"]) for row in rows}
    if not products.keys() >= set(unnamed):
        raise NotFound("combination")
    return [products[draft.combination] if draft.product is None else draft.product for draft in drafts]


async def _load_offers(scope: Scope, products: Sequence[object]) -> dict[object, Offer]:
    """Load products by public id only, as storefronts know them; products not on sale count as missing."""
    valid = [product for product in products if parse_uuid(product) is not None]
    with active_scope(scope):
        offers = await load_offers(scope, valid, skip_missing=True)
    if any(product not in offers or not offers[product].is_on_sale for product in products):
        raise NotFound("product")
    return offers


def _field_path(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name
