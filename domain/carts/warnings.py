"""What a customer should know of a cart before the checkout refuses it, or charges another price than the one seen.

Each refusal of `domain.purchase.references.reject_unsaleable` and of the stock has its warning, with the text of the checkout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from domain.carts.messages import ERROR_TEXTS
from domain.catalog.stock import StockOwner, sum_quantities
from domain.purchase.lines import PricedLine, stock_units

if TYPE_CHECKING:
    from domain.carts.locked import PricedCartItem

PRICE_CHANGED = "PRICE_CHANGED"
OUT_OF_STOCK = "OUT_OF_STOCK"
LESS_AVAILABLE = "LESS_AVAILABLE"
UNAVAILABLE = "PRODUCT_UNAVAILABLE"
TOO_FEW = "QUANTITY_TOO_SMALL"
TOO_MANY = "QUANTITY_TOO_LARGE"
NOT_IN_STEPS = "QUANTITY_NOT_IN_STEPS"
REQUIRED_PRODUCTS = "REQUIRED_PRODUCTS"
COUPON_UNAVAILABLE = "COUPON_UNAVAILABLE"
COUPON_REFUSED = "COUPON_ALREADY_APPLIED"
SHIPPING_UNAVAILABLE = "SHIPPING_UNAVAILABLE"

_TEXTS = {
    **{code.upper(): text for code, text in ERROR_TEXTS.items()},
    PRICE_CHANGED: "O preço mudou: {names}.",
    LESS_AVAILABLE: "Há menos unidades em estoque do que no carrinho: {names}.",
    COUPON_REFUSED: "O carrinho já tem um cupom; este não foi aplicado: {names}.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CartWarning:
    """A warning: its code, the product's or coupon's name and, where it is about a product, what changed. Prices in cents.

    `item_id` is None when the product is in no item: it could not be added. `available_quantity` are the units that can be ordered,
    `message` a text that says more than that of the code.
    """

    code: str
    name: str = ""
    item_id: UUID | None = None
    product_id: UUID | None = None
    product: int | None = None
    quantity: int | None = None
    available_quantity: int | None = None
    previous_price_cents: int | None = None
    price_cents: int | None = None
    message: str = ""

    def record(self) -> dict[str, Any]:
        """Return the warning as clients see it, with its Portuguese text."""
        return {
            "code": self.code,
            "message": self.message or _TEXTS[self.code].format(names=self.name),
            "item_id": self.item_id,
            "product_id": self.product_id,
            "product": self.product,
            "quantity": self.quantity,
            "available_quantity": self.available_quantity,
            "previous_price_cents": self.previous_price_cents,
            "price_cents": self.price_cents,
        }


def item_warnings(items: Sequence[PricedCartItem]) -> list[CartWarning]:
    """Return the warnings about the items of an open cart, at their prices after promotions."""
    lines = [item.line for item in items if item.line is not None]
    stock = _StockState(lines)
    return [warning for item in items for warning in _warnings_of(item, stock)]


@dataclass(frozen=True, slots=True)
class _StockState:
    """The units that all lines need of each product and combination, and the products among them."""

    products: dict[int, int]
    combinations: dict[int, int]
    ordered: dict[int, int]

    def __init__(self, lines: Sequence[PricedLine]) -> None:
        units = stock_units(lines)
        object.__setattr__(self, "products", units[StockOwner.PRODUCT])
        object.__setattr__(self, "combinations", units[StockOwner.COMBINATION])
        object.__setattr__(self, "ordered", sum_quantities((line.offer.id, line.quantity) for line in lines))

    def missing(self, line: PricedLine) -> tuple[int, int] | None:
        """Return the units in stock and those needed, when there are too few."""
        if not line.tracked:
            return None
        needed = self.products.get(line.offer.id, 0)
        if line.combination_id is not None:
            needed = self.combinations[line.combination_id]
        available = available_units(line)
        return (available, needed) if needed > available else None


def available_units(line: PricedLine) -> int:
    """Return the units in stock of a line's product or combination."""
    combination = line.selection.combination if line.selection is not None else None
    return max(0, line.offer.stock if combination is None else combination.stock)


def _warnings_of(item: PricedCartItem, stock: _StockState) -> Iterator[CartWarning]:
    about: dict[str, Any] = {
        "name": item.name,
        "item_id": item.public_id,
        "product_id": item.product_public_id,
        "product": item.product_id,
        "quantity": item.quantity,
    }
    line = item.line
    if line is None or not line.offer.is_on_sale:
        yield CartWarning(code=UNAVAILABLE, available_quantity=0, **about)
        return
    if item.added_price_cents not in (None, item.price_cents):
        yield CartWarning(
            code=PRICE_CHANGED,
            previous_price_cents=item.added_price_cents,
            price_cents=item.price_cents,
            **about,
        )
    if (missing := stock.missing(line)) is not None:
        available = missing[0]
        is_gone = available < max(line.offer.min_quantity, 1)
        yield CartWarning(code=OUT_OF_STOCK if is_gone else LESS_AVAILABLE, available_quantity=available, **about)
    offer, ordered = line.offer, stock.ordered[line.offer.id]
    if ordered < offer.min_quantity:
        yield CartWarning(code=TOO_FEW, available_quantity=offer.min_quantity, **about)
    if offer.max_quantity and ordered > offer.max_quantity:
        yield CartWarning(code=TOO_MANY, available_quantity=offer.max_quantity, **about)
    if not offer.is_in_steps(ordered):
        yield CartWarning(code=NOT_IN_STEPS, available_quantity=ordered - ordered % offer.quantity_step, **about)
    if offer.required.keys() - stock.ordered.keys():
        yield CartWarning(code=REQUIRED_PRODUCTS, **about)
