"""Read the bonuses of a promotion, in either of the two forms they are written in, and make gifts of them.

A plain object keyed by bonus, or CS-Cart's list (or map of any keys) of objects that name theirs:

    {"order_discount": "10%", "free_shipping": true}
    {"1": {"bonus": "order_discount", "discount_bonus": "by_percentage", "discount_value": "10"}}

A gift is JSON: `{gift: order_discount|product_discount, way, value, products?, categories?}`, `{gift: free_shipping, methods}` or
`{gift: free_products, products [{id, amount}]}`. `way` is `by_percent` or `to_percent` (thousandths of a percent), `by_cents` or
`to_cents`. Source: decisions-legacy section 3, promotions; `docs/promotions.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from domain.promotions.conditions import CATALOG
from domain.promotions.reading import Unresolved, amount_cents, each_of, flag, thousandths
from domain.references import CATEGORY, PRODUCT, SHIPPING_METHOD
from kernel.text import Malformed, shown

Gift = dict[str, Any]

MAX_BONUSES = 20
MAX_FREE_UNITS = 10_000
_WHOLE_PERCENT = 100_000
_PERCENT = "percent"

_CSCART_WAYS: Mapping[str, str] = {
    "by_percentage": "by_percent",
    "to_percentage": "to_percent",
    "by_fixed": "by_cents",
    "to_fixed": "to_cents",
}
_AMOUNTS = ("value", "discount_value", "discount", "amount")
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


def gifts_from(given: object, zone: str, unresolved: Unresolved) -> list[Gift]:
    """Make the gifts of some bonuses; the records they name are left in `unresolved`.

    Raises Malformed, in a sentence that goes on from the field's name, for what no bonus means and for what the zone doesn't give.
    """
    if given is None or given == [] or given == {}:
        return []
    if not isinstance(given, Mapping | list):
        raise Malformed(f"is {shown(given)}; expected an object")
    entries = _entries(given)
    if len(entries) > MAX_BONUSES:
        raise Malformed(f"are {len(entries)}; expected at most {MAX_BONUSES}")
    return [gift for name, value in entries if (gift := _gift(name, value, zone, unresolved)) is not None]


def _entries(given: Mapping[str, Any] | list[Any]) -> list[tuple[str, Any]]:
    """Give names and values, whichever form they came in."""
    values: list[Any] = list(given.values()) if isinstance(given, Mapping) else given
    if isinstance(given, Mapping) and not all(
        isinstance(value, Mapping) and "bonus" in value for value in values
    ):
        return list(given.items())
    entries = []
    for value in values:
        if not isinstance(value, Mapping) or not isinstance(value.get("bonus"), str):
            raise Malformed(f"hold {shown(value)}; expected objects such as {{bonus, discount_bonus}}")
        entries.append((value["bonus"], value))
    return entries


def _gift(name: str, value: object, zone: str, unresolved: Unresolved) -> Gift | None:
    read = _BONUSES.get(name)
    if read is None:
        raise Malformed(f"hold the unknown bonus {shown(name)}; expected some of {', '.join(_BONUSES)}")
    if zone == CATALOG and name != "product_discount":
        raise Malformed(f"hold {name}, which the zone {CATALOG} doesn't give; expected product_discount")
    try:
        return read(name, value, unresolved)
    except Malformed as error:
        text = str(error)
        raise Malformed(text if text.startswith("hold ") else f"hold {name}, which {text}") from error


# --- Discounts ---------------------------------------------------------------------------------------------------------------


def _discount(value: object) -> Gift:
    """Read how much is taken off: `"10%"`, `"5.00"`, or an object."""
    if isinstance(value, str) and value.strip().endswith("%"):
        return _way("by_percent", value.strip()[:-1])
    if not isinstance(value, Mapping):
        return _way("by_cents", value)
    if "discount_bonus" in value:
        way = _CSCART_WAYS.get(str(value["discount_bonus"]))
        if way is None:
            raise Malformed(
                f"has the discount_bonus {shown(value['discount_bonus'])}; expected one of {', '.join(_CSCART_WAYS)}"
            )
        return _way(way, value.get("discount_value"))
    kind = value.get("type", value.get("discount_type"))
    if kind is not None:
        way = _TYPES.get(str(kind).lower())
        if way is None:
            raise Malformed(f"has the type {shown(kind)}; expected percent or amount")
        return _way(way, next((value[name] for name in _AMOUNTS if name in value), None))
    for name in ("percent", "percentage"):
        if name in value:
            return _way("by_percent", value[name])
    if "amount" in value:
        return _way("by_cents", value["amount"])
    if "amount_cents" in value:
        cents = value["amount_cents"]
        if isinstance(cents, bool) or not isinstance(cents, int) or not 0 <= cents <= 10**15:
            raise Malformed(f"has the amount_cents {shown(cents)}; expected cents, zero or more")
        return {"way": "by_cents", "value": cents}
    if "discount_value" in value:
        return _discount(value["discount_value"])
    raise Malformed(f"is {shown(value)}; expected a percent or an amount")


def _way(way: str, value: object) -> Gift:
    if not way.endswith(_PERCENT):
        return {"way": way, "value": amount_cents(value)}
    percent = thousandths(value)
    if percent > _WHOLE_PERCENT:
        raise Malformed(f"is {shown(value)} percent; expected at most 100")
    return {"way": way, "value": percent}


def _order_discount(_name: str, value: object, _unresolved: Unresolved) -> Gift:
    return {"gift": "order_discount", **_discount(value)}


def _product_discount(name: str, value: object, unresolved: Unresolved) -> Gift:
    gift: Gift = {"gift": "product_discount", **_discount(value)}
    if isinstance(value, Mapping):
        for key, kind in (("products", PRODUCT), ("categories", CATEGORY)):
            if value.get(key) not in (None, "", [], {}):
                gift[key] = unresolved.later(kind, [_id_of(each) for each in each_of(value[key])], name)
    return gift


def _discount_on(key: str) -> Callable[[str, object, Unresolved], Gift]:
    """Read CS-Cart's discounts on products and categories, whose `value` names which."""
    kind = PRODUCT if key == "products" else CATEGORY

    def read(name: str, value: object, unresolved: Unresolved) -> Gift:
        named = each_of(value.get("value")) if isinstance(value, Mapping) else []
        if not named:
            raise Malformed(f"names no {key}")
        found = unresolved.later(kind, [_id_of(each) for each in named], name)
        return {"gift": "product_discount", **_discount(value), key: found}

    return read


def _id_of(value: object) -> object:
    return value.get("product_id") if isinstance(value, Mapping) else value


# --- Other gifts -------------------------------------------------------------------------------------------------------------


def _free_shipping(name: str, value: object, unresolved: Unresolved) -> Gift | None:
    """Read yes or no, or the methods that are free; none at all means every one."""
    if isinstance(value, Mapping) and "bonus" in value:
        value = value.get("value")
    if isinstance(value, bool) or (isinstance(value, str) and value.strip().upper() in ("Y", "N")):
        return {"gift": "free_shipping", "methods": []} if flag(value) else None
    methods = unresolved.later(SHIPPING_METHOD, each_of(value), name)
    return {"gift": "free_shipping", "methods": methods}


def _free_products(name: str, value: object, unresolved: Unresolved) -> Gift:
    if isinstance(value, Mapping) and "bonus" in value:
        value = value.get("value")
    products = []
    for each in each_of(value):
        given = each if isinstance(each, Mapping) else {"product_id": each}
        amount = given.get("amount", 1)
        if isinstance(amount, str) and amount.isascii() and amount.isdigit():
            amount = int(amount)
        if isinstance(amount, bool) or not isinstance(amount, int) or not 1 <= amount <= MAX_FREE_UNITS:
            raise Malformed(f"holds the amount {shown(amount)}; expected 1 to {MAX_FREE_UNITS}")
        products.append({"id": given.get("product_id"), "amount": amount})
    if not products:
        raise Malformed("names no products")
    return {"gift": "free_products", "products": unresolved.later(PRODUCT, products, name)}


_BONUSES: Mapping[str, Callable[[str, object, Unresolved], Gift | None]] = {
    "order_discount": _order_discount,
    "product_discount": _product_discount,
    "discount_on_products": _discount_on("products"),
    "discount_on_categories": _discount_on("categories"),
    "free_shipping": _free_shipping,
    "free_products": _free_products,
}
