"""Read what a cart holds, at today's names and prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from domain.carts.texts import in_portuguese
from domain.fields import Given, InputField, read_fields, whole
from domain.orders.choosing import as_asked, choose, key_of
from domain.orders.draft import MAX_UNITS, DraftLine, chosen_options
from domain.orders.lines import Offer, PricedLine, offers_for, price_lines
from domain.orders.totals import Goods
from domain.references import NOT_FOUND, PRODUCT, missing_text
from kernel.errors import RuleViolation, ValidationFailed
from kernel.ids import parse_uuid
from kernel.scope import Scope, entered
from models.database import rows

MAX_ITEMS = 200

_ITEMS = """
SELECT i.id, i.public_id, i.product_id, p.public_id AS product_public_id, p.deleted_at IS NULL AS is_there, i.quantity,
    i.options::text AS options, i.product_name, i.price_cents
FROM cart_items i JOIN products p ON p.tenant_id = i.tenant_id AND p.id = i.product_id
WHERE i.tenant_id = $1 AND i.cart_id = $2
ORDER BY i.id
"""

QUANTITY: Mapping[str, InputField] = {
    "quantity": InputField("quantity", whole(1, MAX_UNITS), code="quantity_invalid", required="required"),
}

OPTIONS: Mapping[str, InputField] = {"options": InputField("options", chosen_options, code="options_invalid")}


@dataclass(frozen=True, slots=True)
class PricedCartItem:
    """Hold an item of a cart, prices in cents; without a `line` its product or what was chosen of it is gone, and name and price are what
    they were last."""

    id: int
    public_id: UUID
    product_public_id: UUID
    name: str
    quantity: int
    price_cents: int
    options: list[Any]
    line: PricedLine | None

    @property
    def total_cents(self) -> int:
        """Give what all units cost."""
        return self.quantity * self.price_cents

    @property
    def goods(self) -> Goods:
        """Give what the totals need to know."""
        return self.line.goods if self.line is not None else Goods(self.quantity, self.price_cents)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Ask for some units of a product; `options_key` tells one choice of options from another."""

    offer: Offer
    quantity: int
    options: tuple[Any, ...] = ()
    options_key: str = ""


async def items_of(scope: Scope, cart_id: int, *, closed: bool = False) -> list[PricedCartItem]:
    """Read a cart's items in the order in which they were put in; of a `closed` cart as they were at its end."""
    with entered(scope):
        found = await rows(_ITEMS, scope.store.id, cart_id)
    lines = {} if closed else await _lines(scope, found)
    return [_item(item, lines.get(item["id"])) for item in found]


async def wanted(scope: Scope, given: Sequence[Given], *, field: str = "") -> list[Wanted]:
    """Read `[{product, quantity, options?}]`; units of one choice given twice are added up.

    `field` names the list that they stand in. Raises ValidationFailed for wrong quantities, for products that are not there or not for
    shoppers to see, and for options; RuleViolation for options that can't be chosen together.
    """
    if len(given) > MAX_ITEMS:
        raise too_many()
    read = [_read(item, field) for item in given]
    offers = await _offers(scope, [item.product for item in read], field)
    summed: dict[tuple[int, str], Wanted] = {}
    for item in read:
        offer = offers[item.product]
        with _named_within(field), in_portuguese():
            choice = choose(offer, item.options)
        key = key_of(choice)
        before = summed.get((offer.id, key))
        quantity = item.quantity + (before.quantity if before else 0)
        options = tuple(choice.options) if choice is not None else ()
        summed[offer.id, key] = Wanted(offer, checked_quantity(quantity, field), options, key)
    return list(summed.values())


def read_quantity(given: Given) -> int:
    """Read the quantity of an item: 1 or more."""
    quantity: int = read_fields(QUANTITY, given, creating=True)["quantity"]
    return quantity


def checked_quantity(quantity: int, field: str = "") -> int:
    """Refuse more units of one product than any order may hold."""
    if quantity > MAX_UNITS:
        raise ValidationFailed(
            f"quantity is {quantity}; expected at most {MAX_UNITS}",
            field=_named(field, "quantity"),
            code="quantity_invalid",
        )
    return quantity


def too_many() -> ValidationFailed:
    """Refuse more items than a cart holds."""
    return ValidationFailed(f"a cart holds at most {MAX_ITEMS} items", field="items", code="too_many")


async def _lines(scope: Scope, found: Sequence[Mapping[str, Any]]) -> dict[int, PricedLine]:
    """Give the lines an order of these items would have, by item; without those whose product is gone."""
    there = [item for item in found if item["is_there"]]
    if not there:
        return {}
    with entered(scope):
        offers = await offers_for(scope, [item["product_id"] for item in there])
    lines: dict[int, PricedLine] = {}
    for item in there:
        options = as_asked(orjson.loads(item["options"]))
        draft = DraftLine(item["product_id"], item["quantity"], options=options)
        # What was chosen may be gone by now, or ruled out: such an item stays to be seen and can't be bought.
        with suppress(ValidationFailed, RuleViolation):
            [lines[item["id"]]] = price_lines([draft], offers, trusted=False)
    return lines


def _item(found: Mapping[str, Any], line: PricedLine | None) -> PricedCartItem:
    return PricedCartItem(
        id=found["id"],
        public_id=found["public_id"],
        product_public_id=found["product_public_id"],
        name=line.offer.name if line is not None else found["product_name"],
        quantity=found["quantity"],
        price_cents=line.price_cents if line is not None else found["price_cents"],
        options=orjson.loads(found["options"]),
        line=line,
    )


def _read(given: Given, field: str) -> DraftLine:
    product = given.get("product")
    if product is None:
        raise ValidationFailed("product_id is required", field=_named(field, "product_id"), code="required")
    with _named_within(field):
        options = read_fields(OPTIONS, given).get("options", {})
        return DraftLine(product, read_quantity(given), options=options)


@contextmanager
def _named_within(field: str) -> Iterator[None]:
    """Let refusals name fields within the list that an item stands in."""
    try:
        yield
    except ValidationFailed as refusal:
        fields = {_named(field, name): code for name, code in refusal.fields.items()}
        raise ValidationFailed(refusal.message, fields=fields) from refusal


async def _offers(scope: Scope, products: Sequence[object], field: str) -> dict[object, Offer]:
    """Find products by their UUIDs alone, as shoppers know them; what is not on sale is not there for them."""
    known = [product for product in products if parse_uuid(product) is not None]
    try:
        with entered(scope):
            offers = await offers_for(scope, known)
    except ValidationFailed as refusal:
        fields = {_named(field, "product_id"): NOT_FOUND}
        raise ValidationFailed(refusal.message, fields=fields) from refusal
    missing = [product for product in products if product not in offers or not offers[product].is_on_sale]
    if missing:
        raise ValidationFailed(
            missing_text(PRODUCT, missing), field=_named(field, "product_id"), code=NOT_FOUND
        )
    return offers


def _named(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name
