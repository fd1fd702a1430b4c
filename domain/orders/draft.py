"""Describe an order that is to be placed, in one form for every door: legacy bodies, GraphQL inputs, carts and imports.

`draft_from` reads the plain mapping the GraphQL layer hands over; domain code that places orders (carts) makes a `Draft` itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from domain.fields import Given, InputField, cents, moment, read_fields, short_text, text, whole
from kernel.documents import is_email, normalise_cep, normalise_email
from kernel.errors import ValidationFailed
from kernel.text import Malformed, shown

BILLING, SHIPPING = "B", "S"
MAX_LINES = 1_000
MAX_UNITS = 10**9


@dataclass(frozen=True, slots=True)
class DraftLine:
    """Ask for some units of a product; `price_cents` is honoured only where prices are trusted.

    `options` say what is chosen of it: option → variant, or a text where the option takes one.
    """

    product: object
    quantity: int
    price_cents: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Ask for an order. `user`, the products and the methods are references: legacy numbers or public ids.

    `user` null means a guest, who needs an `email`. `addresses` are keyed `B` and `S`. `discount_cents` null leaves the discount to
    promotions, and `coupon_code` asks for those that want it; a discount that is given takes their place. `priced` says that domain
    code computed line prices and discount, so they are trusted whoever asks, and promotions are its own business. `origin` null is
    told from the caller; `created_at` is taken from the system alone, which makes the demo's past.
    """

    lines: Sequence[DraftLine] = ()
    user: object | None = None
    email: str = ""
    firstname: str = ""
    lastname: str = ""
    phone: str = ""
    addresses: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    payment_method: object | None = None
    shipping_method: object | None = None
    status: str | None = None
    discount_cents: int | None = None
    coupon_code: str = ""
    notes: str = ""
    details: str = ""
    ip_address: str = ""
    tracking_code: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    origin: str | None = None
    priced: bool = False
    created_at: datetime | None = None


def email_text(value: object) -> object:
    """Read an e-mail address, normalised; the empty text stands for none."""
    given = text(254)(value)
    normal = normalise_email(str(given))
    if normal and not is_email(normal):
        raise Malformed(f"is {shown(value)}; expected an e-mail address")
    return normal


def cep_text(value: object) -> object:
    """Read a postal code: a CEP as its eight digits, anything else as given."""
    given = str(short_text(value))
    return normalise_cep(given) or given


def json_object(value: object) -> object:
    """Read an object of free fields."""
    if not isinstance(value, Mapping):
        raise Malformed(f"is {shown(value)}; expected an object")
    return dict(value)


def chosen_options(value: object) -> object:
    """Read what is chosen of a product's options: an object, empty or null where nothing is."""
    return {} if value is None or value == [] else json_object(value)


# What a partial update of an order may change too (`edit`): the columns bear the same names.
CONTACT_FIELDS: Mapping[str, InputField] = {
    "email": InputField("email", email_text, code="email_invalid"),
    "firstname": InputField("firstname", short_text),
    "lastname": InputField("lastname", short_text),
    "phone": InputField("phone", short_text),
    "notes": InputField("notes", text()),
    "details": InputField("details", text()),
    "ip_address": InputField("ip_address", short_text),
}
ORDER_FIELDS: Mapping[str, InputField] = {
    **CONTACT_FIELDS,
    "tracking_code": InputField("tracking_code", short_text),
    "discount_cents": InputField("discount_cents", cents(nullable=True), code="discount_invalid"),
    "coupon_code": InputField("coupon_code", short_text, code="coupon_invalid"),
    "fields": InputField("fields", json_object),
    "created_at": InputField("created_at", moment),
}
LINE_FIELDS: Mapping[str, InputField] = {
    "quantity": InputField("quantity", whole(1, MAX_UNITS), code="quantity_invalid", required="required"),
    "price_cents": InputField("price_cents", cents(nullable=True), code="price_invalid"),
    "extra": InputField("extra", json_object),
    "options": InputField("options", chosen_options, code="options_invalid"),
}
ADDRESS_FIELDS: Mapping[str, InputField] = {
    name: InputField(name, cep_text if name == "zipcode" else short_text)
    for name in (
        "firstname",
        "lastname",
        "street",
        "number",
        "complement",
        "district",
        "city",
        "state",
        "country",
        "zipcode",
        "phone",
    )
}
_AS_GIVEN = ("user", "payment_method", "shipping_method", "status", "origin")


def draft_from(given: Given) -> Draft:
    """Read a draft: `lines [{product, quantity, price_cents?, extra?}]`, `user`, contact fields, `addresses {B, S}`, and the rest.

    The words are those of `Draft`; what it doesn't know is ignored, and `priced` can't be asked for. Raises ValidationFailed.
    """
    return Draft(
        lines=lines_from(given.get("lines") or ()),
        addresses=addresses_from(given.get("addresses") or {}),
        **{name: given[name] for name in _AS_GIVEN if name in given},
        **read_fields(ORDER_FIELDS, given),
    )


def lines_from(given: Sequence[Given]) -> list[DraftLine]:
    """Read the lines of an order."""
    if len(given) > MAX_LINES:
        raise ValidationFailed(
            f"the order has {len(given)} lines; expected at most {MAX_LINES}", field="lines", code="too_many"
        )
    lines = []
    for line in given:
        if line.get("product") is None:
            raise ValidationFailed("product_id is required", field="product", code="required")
        lines.append(DraftLine(product=line["product"], **read_fields(LINE_FIELDS, line, creating=True)))
    return lines


def addresses_from(given: Mapping[str, Given | None]) -> dict[str, dict[str, str]]:
    """Read the addresses an order is billed (`B`) and shipped (`S`) to; null leaves one out."""
    return {
        kind: read_fields(ADDRESS_FIELDS, given[kind] or {})
        for kind in (BILLING, SHIPPING)
        if given.get(kind) is not None
    }


def with_both(addresses: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    """Ship to the billing address, or bill the shipping address, where only one was given."""
    if not addresses:
        return {}
    only = next(iter(addresses.values()))
    return {kind: addresses.get(kind, only) for kind in (BILLING, SHIPPING)}
