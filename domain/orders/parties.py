"""Find who buys, how it is paid and how it travels, in one statement, and refuse what is not available."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from domain.orders.lines import PricedLine, need_shipping
from domain.orders.totals import Rate, Surcharge, weight_grams
from domain.references import (
    NOT_FOUND,
    PAYMENT_METHOD,
    SHIPPING_METHOD,
    USER,
    ReferenceType,
    missing_text,
)
from kernel.errors import RuleViolation, ValidationFailed
from kernel.ids import parse_reference
from kernel.scope import Scope
from models.database import row

# The legacy contract's own text (Errors, 400).
_LEGACY_SHIPPING_REQUIRED = (
    "shipping_service_unavailable: a shipping method is required for physical products"
)


@dataclass(frozen=True, slots=True)
class CustomerAccount:
    """Describe a buyer who has an account; `is_limited` says that order limits are set for it."""

    id: int
    public_id: UUID
    email: str
    firstname: str
    lastname: str
    phone: str
    is_limited: bool = False

    @property
    def contact(self) -> dict[str, str]:
        """Give what an order copies of its buyer."""
        return {
            "email": self.email,
            "firstname": self.firstname,
            "lastname": self.lastname,
            "phone": self.phone,
        }


@dataclass(frozen=True, slots=True)
class WayToPay:
    """Describe a payment method as an order needs it; `hold_minutes` 0 means for ever."""

    id: int
    available: bool
    processor: str
    settles_at_once: bool
    hold_minutes: int
    surcharge: Surcharge


@dataclass(frozen=True, slots=True)
class WayToShip:
    """Describe a shipping method as an order needs it; weights in grams, a maximum of 0 means none."""

    id: int
    available: bool
    min_weight_grams: int
    max_weight_grams: int
    rate: Rate


@dataclass(frozen=True, slots=True)
class Parties:
    """Hold what an order refers to besides products."""

    buyer: CustomerAccount | None = None
    payment: WayToPay | None = None
    shipping: WayToShip | None = None


_PARTIES = """
SELECT u.id AS user_id, u.public_id AS user_public_id, coalesce(u.email, '') AS email, u.firstname, u.lastname,
    coalesce(u.phone, '') AS phone,
    EXISTS (SELECT 1 FROM order_limits ol WHERE ol.tenant_id = u.tenant_id AND ol.user_id = u.id) AS is_limited,
    pm.id AS payment_method_id, pm.status = 'A' OR pm.id = $8 AS payment_available, pm.processor, pm.settles_at_once, pm.hold_minutes,
    pm.surcharge_cents, pm.surcharge_percent,
    sm.id AS shipping_method_id, sm.status = 'A' OR sm.id = $9 AS shipping_available, sm.min_weight_grams, sm.max_weight_grams,
    sm.base_cents, sm.per_kg_cents, sm.per_item_cents, sm.free_from_cents
FROM (VALUES (1)) AS one
LEFT JOIN users u
    ON u.tenant_id = $1 AND (u.id = $2 OR u.public_id = $3) AND u.deleted_at IS NULL
LEFT JOIN payment_methods pm
    ON pm.tenant_id = $1 AND (pm.id = $4 OR pm.public_id = $5) AND (pm.deleted_at IS NULL OR pm.id = $8)
LEFT JOIN shipping_methods sm
    ON sm.tenant_id = $1 AND (sm.id = $6 OR sm.public_id = $7) AND (sm.deleted_at IS NULL OR sm.id = $9)
"""


async def find_parties(
    scope: Scope,
    *,
    user: object | None = None,
    payment_method: object | None = None,
    shipping_method: object | None = None,
    kept_payment: int | None = None,
    kept_shipping: int | None = None,
) -> Parties:
    """Find the buyer and the methods referred to; null stays null. Raises ValidationFailed for those there are not.

    The methods an order has already are `kept`: they go on serving it when they are switched off or deleted.
    """
    if user is None and payment_method is None and shipping_method is None:
        return Parties()
    keys = [*_keys(user), *_keys(payment_method), *_keys(shipping_method)]
    found = await row(_PARTIES, scope.store.id, *keys, kept_payment, kept_shipping)
    assert found is not None  # one row is selected from VALUES whatever the joins find
    _refuse_unknown(USER, user, found["user_id"], "user")
    _refuse_unknown(PAYMENT_METHOD, payment_method, found["payment_method_id"], "payment_method")
    _refuse_unknown(SHIPPING_METHOD, shipping_method, found["shipping_method_id"], "shipping_method")
    return Parties(
        buyer=_buyer(found) if user is not None else None,
        payment=_way_to_pay(found) if payment_method is not None else None,
        shipping=_way_to_ship(found) if shipping_method is not None else None,
    )


def refuse_unavailable(scope: Scope, parties: Parties, lines: Sequence[PricedLine]) -> None:
    """Refuse methods that are switched off, goods without a way to travel, and parcels too light or too heavy."""
    if parties.payment is not None and not parties.payment.available:
        raise RuleViolation("the payment method is not available", reason="payment_unavailable")
    shipping = parties.shipping
    if shipping is None:
        if need_shipping(lines):
            raise _shipping_required(scope)
        return
    if not shipping.available:
        raise RuleViolation("the shipping method is not available", reason="shipping_unavailable")
    weight = weight_grams([line.goods for line in lines])
    too_heavy = shipping.max_weight_grams and weight > shipping.max_weight_grams
    if need_shipping(lines) and (too_heavy or weight < shipping.min_weight_grams):
        raise RuleViolation(
            f"the shipping method does not carry {weight} grams",
            reason="shipping_unavailable",
            details={"weight_grams": weight},
        )


def _shipping_required(scope: Scope) -> ValidationFailed | RuleViolation:
    if scope.family == "legacy":
        return ValidationFailed(
            _LEGACY_SHIPPING_REQUIRED, field="shipping_method", code="shipping_service_unavailable"
        )
    return RuleViolation("a shipping method is required for physical products", reason="shipping_required")


def _refuse_unknown(kind: ReferenceType, given: object | None, found: int | None, field: str) -> None:
    if given is not None and found is None:
        raise ValidationFailed(missing_text(kind, [given]), field=field, code=NOT_FOUND)


def _keys(given: object | None) -> tuple[int | None, UUID | None]:
    reference = parse_reference(given)
    if isinstance(reference, int):
        return reference, None
    return None, reference


def _buyer(found: Mapping[str, Any]) -> CustomerAccount:
    return CustomerAccount(
        id=found["user_id"],
        public_id=found["user_public_id"],
        email=found["email"],
        firstname=found["firstname"],
        lastname=found["lastname"],
        phone=found["phone"],
        is_limited=found["is_limited"],
    )


def _way_to_pay(found: Mapping[str, Any]) -> WayToPay:
    return WayToPay(
        id=found["payment_method_id"],
        available=found["payment_available"],
        processor=found["processor"],
        settles_at_once=found["settles_at_once"],
        hold_minutes=found["hold_minutes"],
        surcharge=Surcharge(found["surcharge_cents"], found["surcharge_percent"]),
    )


def _way_to_ship(found: Mapping[str, Any]) -> WayToShip:
    return WayToShip(
        id=found["shipping_method_id"],
        available=found["shipping_available"],
        min_weight_grams=found["min_weight_grams"],
        max_weight_grams=found["max_weight_grams"],
        rate=Rate(
            found["base_cents"], found["per_kg_cents"], found["per_item_cents"], found["free_from_cents"]
        ),
    )
