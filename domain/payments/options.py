"""What a store offers to pay an order or a cart with: the kinds, their totals, and the instalments of cards with their interest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from domain.carts import totals as carts
from domain.carts.locked import OPEN, find_cart
from domain.orders.locked import read_order
from domain.payments.gateway import PaymentKind
from domain.payments.gateways import GatewayMethod, gateway_methods
from domain.payments.orders import PAYABLE, find_order
from domain.purchase import repricing
from domain.store_settings import setting
from kernel.errors import NotFound
from kernel.installments import InstallmentOption, installment_options, parse_rules
from kernel.scope import Scope, active_scope
from models.connection.database import fetchrow

_CURRENCY = "BRL"
# The interest of instalments in an order's total: of the payment that it waits for, and of those that were received.
_INTEREST = """
SELECT coalesce(sum(surcharge_cents) FILTER (WHERE status IN ('PENDING', 'AUTHORIZED')), 0)::bigint AS live,
    coalesce(sum(surcharge_cents) FILTER (WHERE status NOT IN ('PENDING', 'AUTHORIZED', 'FAILED', 'CANCELLED', 'EXPIRED')), 0)::bigint
        AS counted
FROM payments WHERE tenant_id = $1 AND order_id = $2
"""
_IN_REAIS = (PaymentKind.PIX, PaymentKind.BOLETO)


def first_of_each_kind(methods: Sequence[GatewayMethod], currency: str) -> list[GatewayMethod]:
    """Return the first method of each kind that can be paid in a currency, in the order of the methods."""
    chosen: dict[PaymentKind, GatewayMethod] = {}
    for method in methods:
        if method.kind not in _IN_REAIS or currency == _CURRENCY:
            chosen.setdefault(method.kind, method)
    return list(chosen.values())


async def order_options(scope: Scope, order: object, token: str | None) -> list[dict[str, Any]]:
    """Return the options for an order that the caller may pay; none for one that is paid or can't be."""
    order_id = await find_order(scope, order, token)
    system = scope.as_system()
    with active_scope(system):
        locked = await read_order(system, order_id)
        if locked is None:
            raise NotFound("order")
        received = locked.paid_cents - locked.refunded_cents
        if locked.status not in PAYABLE or received >= locked.total_cents:
            return []
        methods = first_of_each_kind(await gateway_methods(system, locked.payment_method_id), locked.currency)

        interest = await fetchrow(_INTEREST, scope.store.id, order_id)
        assert interest is not None  # an aggregate always returns one row
        live, counted = int(interest["live"]), int(interest["counted"])

        async def total(method: GatewayMethod) -> int:
            if (
                method.id == locked.payment_method_id
            ):  # the price as it is, without the payment that the next one cancels
                return locked.total_cents - live - received
            return await repricing.total_with_method(system, locked, method.id) + counted - received

        return await _options(system, methods, total)


async def cart_options(scope: Scope, cart: object) -> list[dict[str, Any]]:
    """Return the options for a cart as it is now, none for one that is ordered or expired; raises NotFound."""
    locked = await find_cart(scope, cart)
    if locked.status_at(scope.now) != OPEN:
        return []
    with active_scope(scope):
        methods = first_of_each_kind(await gateway_methods(scope, None), scope.store.currency)

        async def total(method: GatewayMethod) -> int:
            return await carts.total_with_method(scope, locked, method.id)

        return await _options(scope, methods, total)


async def _options(
    scope: Scope, methods: Sequence[GatewayMethod], total: Callable[[GatewayMethod], Awaitable[int]]
) -> list[dict[str, Any]]:
    options = []
    for method in methods:
        cents = await total(method)
        if cents > 0:
            options.append(_option(scope, method, cents))
    return options


def _option(scope: Scope, method: GatewayMethod, total_cents: int) -> dict[str, Any]:
    rules = parse_rules(setting(scope, "installments")) if method.kind is PaymentKind.CARD else ()
    return {
        "kind": method.kind.value,
        "payment_method": method.id,
        "gateway": method.gateway.name,
        "public_key": method.gateway.public_key,
        "total_cents": total_cents,
        "installments": [_installment(option) for option in installment_options(rules, total_cents)],
    }


def _installment(option: InstallmentOption) -> dict[str, Any]:
    return {
        "number": option.number,
        "monthly_rate": str(option.monthly_rate),
        "surcharge_cents": option.surcharge_cents,
        "total_cents": option.total_cents,
        "first_cents": option.first_cents,
        "other_cents": option.other_cents,
    }
