"""Parse the bonuses of a promotion, in either of two forms, into gifts.

A plain object keyed by bonus, or CS-Cart's list (or map) of objects with a `bonus`:

    {"order_discount": "10%", "free_shipping": true}
    {"1": {"bonus": "order_discount", "discount_bonus": "by_percentage", "discount_value": "10"}}

A gift is JSON: `{gift: order_discount|product_discount, way, value, products?, categories?}`, `{gift: free_shipping, methods}`,
`{gift: free_products, products [{id, amount}]}`, `{gift: give_points, points}` or `{gift: give_coupon, promotions [id]}`. `way` is
`by_percent` or `to_percent` (thousandths of a percent), `by_cents` or `to_cents`.

See docs/reference/legacy.md#promotions and `docs/promotions.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from domain.promotions.conditions import CATALOG
from domain.promotions.values import PendingReferences, amount_cents, flag, thousandths, values_of, whole_number
from kernel.text import InvalidValue, repr_value
from models.references import CATEGORY, PRODUCT, PROMOTION, SHIPPING_METHOD

Gift = dict[str, Any]

MAX_BONUSES = 20
MAX_FREE_UNITS = 10_000
MAX_BONUS_POINTS = 1_000_000
_HUNDRED_PERCENT = 100_000
_PERCENT = "percent"

_CSCART_MODES: Mapping[str, str] = {
    "by_percentage": "by_percent",
    "to_percentage": "to_percent",
    "by_fixed": "by_cents",
    "to_fixed": "to_cents",
}
DISCOUNT_MODES: Mapping[str, str] = {mode: name for name, mode in _CSCART_MODES.items()}
"""CS-Cart's name of each mode of a discount."""
_AMOUNT_KEYS = ("value", "discount_value", "discount", "amount")
_TYPES: Mapping[str, str] = {
    "percent": "by_percent",
    "percentage": "by_percent",
    "p": "by_percent",
    "fixed": "by_cents",
    "amount": "by_cents",
    "absolute": "by_cents",
    "a": "by_cents",
    "f": "by_cents",
}


def parse_bonuses(values: object, zone: str, pending: PendingReferences) -> list[Gift]:
    """Parse bonuses into gifts; references are added to `pending`.

    Raises InvalidValue for an unknown bonus and one the zone doesn't allow; the message continues a sentence that starts with the field's
    name.
    """
    if values is None or values == [] or values == {}:
        return []
    if not isinstance(values, Mapping | list):
        raise InvalidValue(f"is {repr_value(values)}; expected an object")
    entries = _entries(values)
    if len(entries) > MAX_BONUSES:
        raise InvalidValue(f"are {len(entries)}; expected at most {MAX_BONUSES}")
    return [gift for name, value in entries if (gift := _gift(name, value, zone, pending)) is not None]


def _entries(bonuses: Mapping[str, Any] | list[Any]) -> list[tuple[str, Any]]:
    values: list[Any] = list(bonuses.values()) if isinstance(bonuses, Mapping) else bonuses
    if isinstance(bonuses, Mapping) and not all(isinstance(value, Mapping) and "bonus" in value for value in values):
        return list(bonuses.items())
    entries = []
    for value in values:
        if not isinstance(value, Mapping) or not isinstance(value.get("bonus"), str):
            raise InvalidValue(f"hold {repr_value(value)}; expected objects such as {{bonus, discount_bonus}}")
        entries.append((value["bonus"], value))
    return entries


def _gift(name: str, value: object, zone: str, pending: PendingReferences) -> Gift | None:
    read = _BONUSES.get(name)
    if read is None:
        raise InvalidValue(f"hold the unknown bonus {repr_value(name)}; expected some of {', '.join(_BONUSES)}")
    if zone == CATALOG and name != "product_discount":
        raise InvalidValue(f"hold {name}, which the zone {CATALOG} doesn't give; expected product_discount")
    try:
        return read(name, value, pending)
    except InvalidValue as error:
        text = str(error)
        raise InvalidValue(text if text.startswith("hold ") else f"hold {name}, which {text}") from error


def _discount(value: object) -> Gift:
    """Parse a discount: `"10%"`, `"5.00"`, or an object."""
    if isinstance(value, str) and value.strip().endswith("%"):
        return _discount_gift("by_percent", value.strip()[:-1])
    if not isinstance(value, Mapping):
        return _discount_gift("by_cents", value)
    if "discount_bonus" in value:
        mode = _CSCART_MODES.get(str(value["discount_bonus"]))
        if mode is None:
            raise InvalidValue(
                f"has the discount_bonus {repr_value(value['discount_bonus'])}; expected one of {', '.join(_CSCART_MODES)}"
            )
        return _discount_gift(mode, value.get("discount_value"))
    discount_type = value.get("type", value.get("discount_type"))
    if discount_type is not None:
        mode = _TYPES.get(str(discount_type).lower())
        if mode is None:
            raise InvalidValue(f"has the type {repr_value(discount_type)}; expected percent or amount")
        return _discount_gift(mode, next((value[name] for name in _AMOUNT_KEYS if name in value), None))
    for name in ("percent", "percentage"):
        if name in value:
            return _discount_gift("by_percent", value[name])
    if "amount" in value:
        return _discount_gift("by_cents", value["amount"])
    if "amount_cents" in value:
        cents = value["amount_cents"]
        if isinstance(cents, bool) or not isinstance(cents, int) or not 0 <= cents <= 10**15:
            raise InvalidValue(f"has the amount_cents {repr_value(cents)}; expected cents, zero or more")
        return {"way": "by_cents", "value": cents}
    if "discount_value" in value:
        return _discount(value["discount_value"])
    raise InvalidValue(f"is {repr_value(value)}; expected a percent or an amount")


def _discount_gift(mode: str, value: object) -> Gift:
    if not mode.endswith(_PERCENT):
        return {"way": mode, "value": amount_cents(value)}
    percent = thousandths(value)
    if percent > _HUNDRED_PERCENT:
        raise InvalidValue(f"is {repr_value(value)} percent; expected at most 100")
    return {"way": mode, "value": percent}


def _order_discount(_name: str, value: object, _pending: PendingReferences) -> Gift:
    return {"gift": "order_discount", **_discount(value)}


def _product_discount(name: str, value: object, pending: PendingReferences) -> Gift:
    gift: Gift = {"gift": "product_discount", **_discount(value)}
    if isinstance(value, Mapping):
        for key, reference_type in (("products", PRODUCT), ("categories", CATEGORY)):
            if value.get(key) not in (None, "", [], {}):
                gift[key] = pending.add(reference_type, [_id_of(item) for item in values_of(value[key])], name)
    return gift


def _discount_on(key: str) -> Callable[[str, object, PendingReferences], Gift]:
    """Build the parser of CS-Cart's discounts on products and categories, whose `value` lists them."""
    reference_type = PRODUCT if key == "products" else CATEGORY

    def read(name: str, value: object, pending: PendingReferences) -> Gift:
        items = values_of(value.get("value")) if isinstance(value, Mapping) else []
        if not items:
            raise InvalidValue(f"names no {key}")
        references = pending.add(reference_type, [_id_of(item) for item in items], name)
        return {"gift": "product_discount", **_discount(value), key: references}

    return read


def _id_of(value: object) -> object:
    return value.get("product_id") if isinstance(value, Mapping) else value


def _free_shipping(name: str, value: object, pending: PendingReferences) -> Gift | None:
    """Parse a boolean, or the methods that are free; an empty list means all."""
    if isinstance(value, Mapping) and "bonus" in value:
        value = value.get("value")
    if isinstance(value, bool) or (isinstance(value, str) and value.strip().upper() in ("Y", "N")):
        return {"gift": "free_shipping", "methods": []} if flag(value) else None
    methods = pending.add(SHIPPING_METHOD, values_of(value), name)
    return {"gift": "free_shipping", "methods": methods}


def _free_products(name: str, value: object, pending: PendingReferences) -> Gift:
    if isinstance(value, Mapping) and "bonus" in value:
        value = value.get("value")
    products = []
    for item in values_of(value):
        entry = item if isinstance(item, Mapping) else {"product_id": item}
        amount = entry.get("amount", 1)
        if isinstance(amount, str) and amount.isascii() and amount.isdigit():
            amount = int(amount)
        if isinstance(amount, bool) or not isinstance(amount, int) or not 1 <= amount <= MAX_FREE_UNITS:
            raise InvalidValue(f"holds the amount {repr_value(amount)}; expected 1 to {MAX_FREE_UNITS}")
        products.append({"id": entry.get("product_id"), "amount": amount})
    if not products:
        raise InvalidValue("names no products")
    return {"gift": "free_products", "products": pending.add(PRODUCT, products, name, in_objects=True)}


def _give_points(_name: str, value: object, _pending: PendingReferences) -> Gift:
    points = whole_number(_value_of(value))
    if not 1 <= points <= MAX_BONUS_POINTS:
        raise InvalidValue(f"is {points}; expected 1 to {MAX_BONUS_POINTS} points")
    return {"gift": "give_points", "points": points}


def _give_coupon(name: str, value: object, pending: PendingReferences) -> Gift:
    """Parse the promotion of which a customer gets a coupon; `promotions` checks that it takes such coupons."""
    promotions = values_of(_value_of(value))
    if len(promotions) != 1:
        raise InvalidValue(f"names {len(promotions)} promotions; expected one")
    return {"gift": "give_coupon", "promotions": pending.add(PROMOTION, promotions, name)}


def _value_of(value: object) -> object:
    return value.get("value") if isinstance(value, Mapping) else value


_BONUSES: Mapping[str, Callable[[str, object, PendingReferences], Gift | None]] = {
    "order_discount": _order_discount,
    "product_discount": _product_discount,
    "discount_on_products": _discount_on("products"),
    "discount_on_categories": _discount_on("categories"),
    "free_shipping": _free_shipping,
    "free_products": _free_products,
    "give_points": _give_points,
    "give_coupon": _give_coupon,
}
GIFTS = tuple(name for name in _BONUSES if not name.startswith("discount_on_"))
"""The kinds of bonuses; the others are CS-Cart's names of `product_discount`."""
EXTENDED_GIFTS = frozenset({"give_points", "give_coupon"})
"""The gifts that versions before 0.3 don't know (`domain.promotions.promotions`)."""
