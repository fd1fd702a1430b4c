"""Load the items of a cart at current names and prices, and parse requested items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from domain.carts.messages import portuguese_errors
from domain.orders.draft import MAX_UNITS, DraftLine, options_object
from domain.orders.lines import Offer, PricedLine, load_offers, price_lines
from domain.orders.option_selection import select_options, selection_input, selection_key
from domain.orders.totals import TotalsLine
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from kernel.fields import InputField, InputValues, integer, read_fields
from kernel.ids import parse_uuid
from kernel.scope import Scope, active_scope
from models.database import fetch

MAX_ITEMS = 200

_ITEMS = """
SELECT i.id, i.public_id, i.product_id, p.public_id AS product_public_id, p.deleted_at IS NULL AS is_available, i.quantity,
    i.options::text AS options, i.product_name, i.price_cents, i.added_price_cents
FROM cart_items i JOIN products p ON p.tenant_id = i.tenant_id AND p.id = i.product_id
WHERE i.tenant_id = $1 AND i.cart_id = $2
ORDER BY i.id
"""

QUANTITY: Mapping[str, InputField] = {
    "quantity": InputField("quantity", integer(1, MAX_UNITS), code="quantity_invalid", required="required")
}

OPTIONS: Mapping[str, InputField] = {"options": InputField("options", options_object, code="options_invalid")}


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
        records = await fetch(_ITEMS, scope.store.id, cart_id)
    lines = {} if closed else await _price_items(scope, records)
    return [_item(item, lines.get(item["id"])) for item in records]


async def parse_items(scope: Scope, values: Sequence[InputValues], *, field: str = "") -> list[RequestedItem]:
    """Parse `[{product, quantity, options?}]`; quantities of the same product and options are summed.

    `field` names the list in error messages. Raises NotFound for products missing or not on sale, ValidationFailed for invalid quantities
    and options, RuleViolation for options that can't be combined.
    """
    if len(values) > MAX_ITEMS:
        raise too_many_items_error()
    drafts = [_parse_item(item, field) for item in values]
    offers = await _load_offers(scope, [draft.product for draft in drafts])
    summed: dict[tuple[int, str], RequestedItem] = {}
    for draft in drafts:
        offer = offers[draft.product]
        with _prefixed_errors(field), portuguese_errors():
            selection = select_options(offer, draft.options)
        key = selection_key(selection)
        previous = summed.get((offer.id, key))
        quantity = draft.quantity + (previous.quantity if previous else 0)
        options = tuple(selection.options) if selection is not None else ()
        summed[offer.id, key] = RequestedItem(offer, checked_quantity(quantity, field), options, key)
    return list(summed.values())


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


async def _price_items(scope: Scope, records: Sequence[Mapping[str, Any]]) -> dict[int, PricedLine]:
    """Return the order lines of these items by item id, without items whose product is gone."""
    available = [item for item in records if item["is_available"]]
    if not available:
        return {}
    with active_scope(scope):
        offers = await load_offers(scope, [item["product_id"] for item in available])
    lines: dict[int, PricedLine] = {}
    for item in available:
        options = selection_input(orjson.loads(item["options"]))
        draft = DraftLine(item["product_id"], item["quantity"], options=options)
        # The selected options may no longer be valid: such an item stays visible and can't be ordered.
        with suppress(ValidationFailed, RuleViolation):
            [lines[item["id"]]] = price_lines([draft], offers, trusted=False)
    return lines


def _item(record: Mapping[str, Any], line: PricedLine | None) -> PricedCartItem:
    return PricedCartItem(
        id=record["id"],
        public_id=record["public_id"],
        product_id=record["product_id"],
        product_public_id=record["product_public_id"],
        name=line.offer.name if line is not None else record["product_name"],
        quantity=record["quantity"],
        price_cents=line.price_cents if line is not None else record["price_cents"],
        options=orjson.loads(record["options"]),
        line=line,
        added_price_cents=record["added_price_cents"],
    )


def _parse_item(values: InputValues, field: str) -> DraftLine:
    product = values.get("product")
    if product is None:
        raise ValidationFailed("product_id is required", field=_field_path(field, "product_id"), code="required")
    with _prefixed_errors(field):
        options = read_fields(OPTIONS, values).get("options", {})
        return DraftLine(product, read_quantity(values), options=options)


@contextmanager
def _prefixed_errors(field: str) -> Iterator[None]:
    """Prefix field names in errors with the list of the item."""
    try:
        yield
    except ValidationFailed as error:
        fields = {_field_path(field, name): code for name, code in error.fields.items()}
        raise ValidationFailed(error.message, fields=fields) from error


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
