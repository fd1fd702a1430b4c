"""Load the customer and the methods that an order refers to, in one statement, and reject unavailable methods and products."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from domain.carriers.source import TABLE, CarrierPrice
from domain.catalog import stock
from domain.purchase.lines import Offer, PricedLine, needs_shipping
from domain.purchase.totals import MethodRate, PaymentSurcharge, weight_grams
from kernel.errors import RuleViolation, ValidationFailed
from kernel.ids import Reference, ShownId, parse_reference, split_reference
from kernel.scope import Scope
from models.connection.database import fetchrow
from models.references import NOT_FOUND, PAYMENT_METHOD, SHIPPING_METHOD, USER, ReferenceType, missing_message

# The text that docs/reference/legacy.md#errors prescribes.
_LEGACY_SHIPPING_REQUIRED = "shipping_service_unavailable: a shipping method is required for physical products"
# Values of a vendor's `shippings`.
_FLAGS: Mapping[str, bool] = {"y": True, "n": False, "true": True, "false": False}


@dataclass(frozen=True, slots=True)
class CustomerAccount:
    """A customer with an account; `is_limited`: order limits are set for it."""

    id: int
    public_id: UUID
    email: str
    firstname: str
    lastname: str
    phone: str
    is_limited: bool = False

    @property
    def contact(self) -> dict[str, str]:
        """Return the contact fields that an order copies."""
        return {"email": self.email, "firstname": self.firstname, "lastname": self.lastname, "phone": self.phone}


@dataclass(frozen=True, slots=True)
class ChosenPaymentMethod:
    """A payment method as an order needs it; `hold_minutes` 0: unpaid orders never expire."""

    id: int
    available: bool
    processor: str
    settles_at_once: bool
    hold_minutes: int
    surcharge: PaymentSurcharge


@dataclass(frozen=True, slots=True)
class ChosenShippingMethod:
    """A shipping method as an order needs it; weights in grams, a maximum of 0 means none.

    `delivery_time` is the one quoted for the order, without a quote the method's own. Of a method that is quoted for lines and address
    (`domain.shipping.quotes`) the rate is the one quoted, and nothing more is to be decided. `carrier` is the price of a source of rates,
    None if its own table is used.
    """

    id: int
    public_id: UUID
    rate: MethodRate
    delivery_time: str
    available: bool = True
    is_current: bool = False
    min_weight_grams: int = 0
    max_weight_grams: int = 0
    is_quoted: bool = False
    rate_source: str = TABLE
    carrier: CarrierPrice | None = None
    has_table: bool = True

    @property
    def carrier_record(self) -> dict[str, Any] | None:
        """Return what an order keeps of the price that a carrier quoted, None for that of a table."""
        return self.carrier.record(self.rate_source) if self.carrier is not None else None


@dataclass(frozen=True, slots=True)
class OrderReferences:
    """What an order refers to besides products."""

    customer: CustomerAccount | None = None
    payment_method: ChosenPaymentMethod | None = None
    shipping_method: ChosenShippingMethod | None = None


NO_REFERENCES = OrderReferences()

_REFERENCES = """
SELECT u.id AS user_id, u.public_id AS user_public_id, coalesce(u.email, '') AS email, u.firstname, u.lastname,
    coalesce(u.phone, '') AS phone,
    EXISTS (SELECT 1 FROM order_limits ol WHERE ol.tenant_id = u.tenant_id AND ol.user_id = u.id) AS is_limited,
    pm.id AS payment_method_id, pm.status = 'A' OR pm.id = $8 AS payment_available, pm.processor, pm.settles_at_once, pm.hold_minutes,
    pm.surcharge_cents, pm.surcharge_percent,
    sm.id AS shipping_method_id, sm.public_id AS shipping_public_id, sm.id = $9 AS is_current_shipping,
    sm.status = 'A' OR sm.id = $9 AS shipping_available, sm.min_weight_grams, sm.max_weight_grams,
    sm.base_cents, sm.per_kg_cents, sm.per_item_cents, sm.free_from_cents, sm.delivery_time,
    sm.rate_source, sm.base_cents + sm.per_kg_cents + sm.per_item_cents > 0
        OR EXISTS (SELECT 1 FROM shipping_rates r WHERE r.tenant_id = sm.tenant_id AND r.shipping_method_id = sm.id) AS has_table
FROM (VALUES (1)) AS one
LEFT JOIN users u
    ON u.tenant_id = $1 AND (u.id = $2 OR u.public_id = $3) AND u.deleted_at IS NULL
LEFT JOIN payment_methods pm
    ON pm.tenant_id = $1 AND (pm.id = $4 OR pm.public_id = $5) AND (pm.deleted_at IS NULL OR pm.id = $8)
LEFT JOIN shipping_methods sm
    ON sm.tenant_id = $1 AND (sm.id = $6 OR sm.public_id = $7) AND (sm.deleted_at IS NULL OR sm.id = $9)
"""


async def load_references(
    scope: Scope,
    *,
    user: object | None = None,
    payment_method: object | None = None,
    shipping_method: object | None = None,
    current_payment_method: int | None = None,
    current_shipping_method: int | None = None,
) -> OrderReferences:
    """Load the referenced customer and methods; None stays None. Raises ValidationFailed for missing ones.

    The order's current methods stay usable after they were disabled or deleted.
    """
    if user is None and payment_method is None and shipping_method is None:
        return NO_REFERENCES
    keys = [*split_reference(user), *split_reference(payment_method), *split_reference(shipping_method)]
    record = await fetchrow(_REFERENCES, scope.store.id, *keys, current_payment_method, current_shipping_method)
    assert record is not None  # VALUES yields one row whatever the joins match
    _reject_unknown(USER, user, record["user_id"], "user")
    _reject_unknown(PAYMENT_METHOD, payment_method, record["payment_method_id"], "payment_method")
    _reject_unknown(SHIPPING_METHOD, shipping_method, record["shipping_method_id"], "shipping_method")
    return OrderReferences(
        customer=_customer(record) if user is not None else None,
        payment_method=_payment_method(record) if payment_method is not None else None,
        shipping_method=_shipping_method(record) if shipping_method is not None else None,
    )


def reject_unsaleable(lines: Sequence[PricedLine], *, existing: Iterable[int] = ()) -> None:
    """Raise RuleViolation for products not on sale, missing required products, and quantities outside a product's limits.

    `existing` are the ids of products already in the order, which may stay although no longer on sale.
    """
    existing_ids = set(existing)
    offers = {line.offer.id: line.offer for line in lines}
    unavailable = [offer for offer in offers.values() if not offer.is_on_sale and offer.id not in existing_ids]
    if unavailable:
        raise _unsaleable_error("product_unavailable", "not for sale", unavailable)
    _reject_without_required(offers)
    for product_id, quantity in stock.sum_quantities((line.offer.id, line.quantity) for line in lines).items():
        offer = offers[product_id]
        if quantity < offer.min_quantity:
            raise _unsaleable_error("quantity_too_small", f"sold from {offer.min_quantity} units on", [offer])
        if offer.max_quantity and quantity > offer.max_quantity:
            raise _unsaleable_error("quantity_too_large", f"sold up to {offer.max_quantity} units", [offer])
        if not offer.is_in_steps(quantity):
            raise _unsaleable_error("quantity_not_in_steps", f"sold in steps of {offer.quantity_step} units", [offer])


def _reject_without_required(offers: Mapping[int, Offer]) -> None:
    missing = {
        number: name for offer in offers.values() for number, name in offer.required.items() if number not in offers
    }
    if missing:
        affected = [offer for offer in offers.values() if offer.required.keys() & missing.keys()]
        error = _unsaleable_error(
            "required_products", f"sold only together with {', '.join(missing.values())}", affected
        )
        error.details["required"] = [{"name": name} for name in missing.values()]
        raise error


def reject_unavailable(
    scope: Scope, references: OrderReferences, lines: Sequence[PricedLine], *, needs_method: bool = True
) -> None:
    """Reject disabled methods, products without a shipping method where it `needs_method`, one that a vendor doesn't offer, and weights
    outside its limits.
    """
    if references.payment_method is not None and not references.payment_method.available:
        raise RuleViolation("the payment method is not available", reason="payment_unavailable")
    shipping = references.shipping_method
    if shipping is None:
        if needs_method and needs_shipping(lines):
            raise _shipping_required(scope)
        return
    if shipping.is_quoted:
        return
    if not shipping.available:
        raise RuleViolation("the shipping method is not available", reason="shipping_unavailable")
    if not shipping.is_current and not _is_offered(shipping, lines):
        raise RuleViolation("a vendor does not offer the shipping method", reason="shipping_unavailable")
    weight = weight_grams([line.totals_line for line in lines])
    too_heavy = shipping.max_weight_grams and weight > shipping.max_weight_grams
    if needs_shipping(lines) and (too_heavy or weight < shipping.min_weight_grams):
        raise RuleViolation(
            f"the shipping method does not carry {weight} grams",
            reason="shipping_unavailable",
            details={"weight_grams": weight},
        )


def _unsaleable_error(reason: str, message: str, offers: Sequence[Offer]) -> RuleViolation:
    names = ", ".join(offer.name for offer in offers)
    return RuleViolation(
        f"{message}: {names}",
        reason=reason,
        details={
            "products": [{"product_id": ShownId(offer.public_id, offer.id), "name": offer.name} for offer in offers]
        },
    )


def offers_method(shippings: Mapping[str, Any], method_id: int, public_id: UUID) -> bool:
    """Return whether a vendor offers the method (docs/reference/legacy.md#stores); without any method in its `shippings` it offers all.

    `shippings` has either methods as values (`{"0": "8"}`) or a flag for each (`{"8": "Y"}`); other members are the client's own.
    """
    named = list(_named_methods(shippings))
    return not named or any(is_offered and method in (method_id, public_id) for method, is_offered in named)


def _named_methods(shippings: Mapping[str, Any]) -> Iterator[tuple[Reference, bool]]:
    for key, value in shippings.items():
        flag = _FLAGS.get(str(value).strip().lower()) if isinstance(value, str | bool) else None
        is_id = isinstance(value, str | int) and not isinstance(value, bool)
        method = parse_reference(key if flag is not None else value if is_id else None)
        if method is not None:
            yield method, flag is not False


def _is_offered(shipping: ChosenShippingMethod, lines: Sequence[PricedLine]) -> bool:
    """Return whether every vendor offers the method for what is shipped."""
    shipped = (line.offer.vendor_shippings for line in lines if line.totals_line.is_shipped)
    return all(offers_method(shippings, shipping.id, shipping.public_id) for shippings in shipped)


def _shipping_required(scope: Scope) -> ValidationFailed | RuleViolation:
    if scope.family == "legacy":
        return ValidationFailed(_LEGACY_SHIPPING_REQUIRED, field="shipping_method", code="shipping_service_unavailable")
    return RuleViolation("a shipping method is required for physical products", reason="shipping_required")


def _reject_unknown(type_: ReferenceType, reference: object | None, record_id: int | None, field: str) -> None:
    if reference is not None and record_id is None:
        raise ValidationFailed(missing_message(type_, [reference]), field=field, code=NOT_FOUND)


def _customer(record: Mapping[str, Any]) -> CustomerAccount:
    return CustomerAccount(
        id=record["user_id"],
        public_id=record["user_public_id"],
        email=record["email"],
        firstname=record["firstname"],
        lastname=record["lastname"],
        phone=record["phone"],
        is_limited=record["is_limited"],
    )


def _payment_method(record: Mapping[str, Any]) -> ChosenPaymentMethod:
    return ChosenPaymentMethod(
        id=record["payment_method_id"],
        available=record["payment_available"],
        processor=record["processor"],
        settles_at_once=record["settles_at_once"],
        hold_minutes=record["hold_minutes"],
        surcharge=PaymentSurcharge(record["surcharge_cents"], record["surcharge_percent"]),
    )


def _shipping_method(record: Mapping[str, Any]) -> ChosenShippingMethod:
    return ChosenShippingMethod(
        id=record["shipping_method_id"],
        public_id=record["shipping_public_id"],
        available=record["shipping_available"],
        is_current=bool(record["is_current_shipping"]),
        min_weight_grams=record["min_weight_grams"],
        max_weight_grams=record["max_weight_grams"],
        rate=MethodRate(
            record["base_cents"], record["per_kg_cents"], record["per_item_cents"], record["free_from_cents"]
        ),
        delivery_time=record["delivery_time"],
        rate_source=record["rate_source"],
        has_table=record["has_table"],
    )
