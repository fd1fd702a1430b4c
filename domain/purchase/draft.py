"""Parse the input of a new order into an `OrderDraft`, the one form for legacy bodies, GraphQL inputs, carts and imports.

`parse_draft` reads the mapping that the GraphQL layer passes; domain code (carts) builds an `OrderDraft` itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kernel.documents import CHAVE_NOTA_CHECK, MAX_PHONE_DIGITS, cep_text, is_chave_nota, only_digits
from kernel.errors import ValidationFailed
from kernel.fields import (
    InputField,
    InputValues,
    cents,
    email_text,
    integer,
    raise_field_errors,
    read_fields,
    short_text,
    text,
    timestamp,
)
from kernel.geography import BRAZIL, is_state
from kernel.text import InvalidValue, repr_value

BILLING, SHIPPING = "B", "S"
MAX_LINES = 1_000
MAX_UNITS = 10**9


@dataclass(frozen=True, slots=True)
class DraftLine:
    """A requested quantity of a product; `price_cents` is honoured only where prices are trusted.

    `options` are the selected options: option → variant, or a text for text options. In place of a product, `stays` is a line of the order
    that doesn't change.
    """

    product: object
    quantity: int
    price_cents: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    stays: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderDraft:
    """A requested order. `user`, products and methods are references: legacy ids or public ids.

    `user` None means a guest, who needs an `email`. Of an order with a `vendor` every line must be of it. `addresses` are keyed `B` and
    `S`. `discount_cents` None leaves the discount to promotions, including those of `coupon_code`; an explicit discount replaces them.
    `priced`: domain code calculated line prices and discount, so they are trusted for any caller and promotions are skipped. `origin`
    None is derived from the caller; `created_at` is honoured only for the system (demo data). `points_to_use` are reward points, with
    `points_up_to` as many of them as the account has.
    """

    lines: Sequence[DraftLine] = ()
    user: object | None = None
    vendor: object | None = None
    email: str = ""
    firstname: str = ""
    lastname: str = ""
    phone: str = ""
    company_name: str = ""
    fax: str = ""
    addresses: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    payment_method: object | None = None
    shipping_method: object | None = None
    status: str | None = None
    discount_cents: int | None = None
    coupon_code: str = ""
    points_to_use: int = 0
    notes: str = ""
    details: str = ""
    ip_address: str = ""
    tracking_code: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    origin: str | None = None
    priced: bool = False
    points_up_to: bool = False
    created_at: datetime | None = None


def phone_errors(address: Mapping[str, str], *, least_digits: int = 1) -> dict[str, tuple[str, str]]:
    """Return the error of a phone that is none: too few digits, or too many."""
    phone = address.get("phone", "")
    if not phone.strip() or least_digits <= len(only_digits(phone)) <= MAX_PHONE_DIGITS:
        return {}
    return {"phone": ("phone_invalid", f"phone is {repr_value(phone)}; expected a telephone number")}


def state_errors(address: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the error of a state that is none of Brazil's, in an address of Brazil, where the state is compared by its code."""
    state = address.get("state", "")
    if not state.strip() or (address.get("country") or BRAZIL) != BRAZIL or is_state(state):
        return {}
    return {"state": ("state_invalid", f"state is {repr_value(state)}; expected a state of Brazil such as SP")}


def json_object(value: object) -> dict[str, Any]:
    """Parse an object of arbitrary fields."""
    if not isinstance(value, Mapping):
        raise InvalidValue(f"is {repr_value(value)}; expected an object")
    return dict(value)


def order_fields(value: object) -> object:
    """Parse the free fields of an order; of a fiscal note's access key among them, `chave_nota_valid` is calculated, not taken."""
    fields = {name: member for name, member in json_object(value).items() if name != CHAVE_NOTA_CHECK}
    if "chave_nota" not in fields:
        return fields
    return {**fields, CHAVE_NOTA_CHECK: "Y" if is_chave_nota(fields["chave_nota"]) else "N"}


def options_object(value: object) -> object:
    """Parse the selected options: an object; null and [] mean none."""
    return {} if value is None or value == [] else json_object(value)


# Also changeable by a partial update (`edit`); the columns have the same names.
CONTACT_FIELDS: Mapping[str, InputField] = {
    "email": InputField("email", email_text, code="email_invalid"),
    "firstname": InputField("firstname", short_text),
    "lastname": InputField("lastname", short_text),
    **{name: InputField(name, short_text) for name in ("phone", "company_name", "fax")},
    "notes": InputField("notes", text()),
    "details": InputField("details", text()),
    "ip_address": InputField("ip_address", short_text),
}
ORDER_FIELDS: Mapping[str, InputField] = {
    **CONTACT_FIELDS,
    "tracking_code": InputField("tracking_code", short_text),
    "discount_cents": InputField("discount_cents", cents(nullable=True), code="discount_invalid"),
    "coupon_code": InputField("coupon_code", short_text, code="coupon_invalid"),
    "points_to_use": InputField("points_to_use", integer(), code="points_invalid"),
    "fields": InputField("fields", order_fields),
    "created_at": InputField("created_at", timestamp),
}
LINE_FIELDS: Mapping[str, InputField] = {
    "quantity": InputField("quantity", integer(1, MAX_UNITS), code="quantity_invalid", required="required"),
    "price_cents": InputField("price_cents", cents(nullable=True), code="price_invalid"),
    "extra": InputField("extra", json_object),
    "options": InputField("options", options_object, code="options_invalid"),
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
_INPUTS: Mapping[str, str] = {BILLING: "billing_address", SHIPPING: "shipping_address"}
_PASSED_THROUGH = ("vendor", "user", "payment_method", "shipping_method", "status", "origin")


def parse_draft(values: InputValues) -> OrderDraft:
    """Parse a draft: `lines [{product, quantity, price_cents?, extra?}]`, `user`, contact fields, `addresses {B, S}`, and the other fields.

    Keys are those of `OrderDraft`; unknown ones are ignored, and `priced` and `points_up_to` can't be set. Raises ValidationFailed.
    """
    addresses = parse_addresses(values.get("addresses") or {})
    check_addresses(addresses)
    return OrderDraft(
        lines=parse_lines(values.get("lines") or ()),
        addresses=addresses,
        **{name: values[name] for name in _PASSED_THROUGH if name in values},
        **read_fields(ORDER_FIELDS, values),
    )


def parse_lines(values: Sequence[InputValues], *, may_stay: bool = False) -> list[DraftLine]:
    """Parse the lines of an order; of one that exists they may name a line that stays in place of a product."""
    if len(values) > MAX_LINES:
        raise ValidationFailed(
            f"the order has {len(values)} lines; expected at most {MAX_LINES}", field="lines", code="too_many"
        )
    lines = []
    for line in values:
        product, stays = line.get("product"), line.get("id") if may_stay else None
        if product is None and stays is None:
            raise ValidationFailed("product_id is required", field="product", code="required")
        if product is not None and stays is not None:
            raise ValidationFailed("expected id or product_id, not both", field="id", code="invalid")
        lines.append(DraftLine(product=product, stays=stays, **read_fields(LINE_FIELDS, line, creating=True)))
    return lines


def parse_addresses(values: Mapping[str, InputValues | None]) -> dict[str, dict[str, str]]:
    """Parse the billing (`B`) and shipping (`S`) addresses; null omits one."""
    return {
        kind: read_fields(ADDRESS_FIELDS, values[kind] or {})
        for kind in (BILLING, SHIPPING)
        if values.get(kind) is not None
    }


def check_addresses(
    addresses: Mapping[str, Mapping[str, str]], current: Mapping[str, Mapping[str, str]] | None = None
) -> None:
    """Raise ValidationFailed for addresses with a state that is none of Brazil's, or a phone that is none.

    What an order's `current` addresses have already, of another system perhaps, may be sent back.
    """
    for kind, address in addresses.items():
        before = (current or {}).get(kind, {})
        errors = state_errors(address) | phone_errors(address)
        raise_field_errors(
            {
                f"{_INPUTS[kind]}.{name}": (code, f"{_INPUTS[kind]}.{sentence}")
                for name, (code, sentence) in errors.items()
                if address[name] != before.get(name)
            }
        )
