"""Parse the items that a request puts into a cart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from domain.carts.files import with_files
from domain.carts.messages import portuguese_errors
from domain.purchase.draft import MAX_UNITS, options_object
from domain.purchase.lines import Offer, load_offers
from domain.purchase.option_selection import select_combination, select_options, selection_key
from kernel.errors import NotFound, ValidationFailed
from kernel.fields import InputField, InputValues, integer, read_fields
from kernel.ids import parse_uuid
from kernel.scope import Scope, active_scope
from models.connection.database import fetch

MAX_ITEMS = 200

_COMBINATION_PRODUCTS = """
SELECT c.public_id, p.public_id AS product_id FROM combinations c JOIN products p ON p.tenant_id = c.tenant_id AND p.id = c.product_id
WHERE c.tenant_id = $1 AND c.public_id = ANY($2::uuid[]) AND c.deleted_at IS NULL
"""

QUANTITY: Mapping[str, InputField] = {
    "quantity": InputField("quantity", integer(1, MAX_UNITS), code="quantity_invalid", required="required")
}

OPTIONS: Mapping[str, InputField] = {"options": InputField("options", options_object, code="options_invalid")}


@dataclass(frozen=True, slots=True)
class RequestedItem:
    """Requested units of a product; `options_key` identifies the selected options."""

    offer: Offer
    quantity: int
    options: tuple[Any, ...] = ()
    options_key: str = ""


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
