"""The gateways that a payment method's processor may name, and the method that takes a kind of payment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from auth.secrets import DecryptionError
from domain.payments.app_gateway import app_gateway
from domain.payments.gateway import PaymentGateway, PaymentKind
from domain.payments.methods import decrypt_params
from domain.payments.pagarme import client as pagarme
from domain.payments.pagarme.gateway import pagarme_gateway
from domain.payments.sandbox import gateway as sandbox
from kernel import logging
from kernel.scope import Scope, active_scope
from models.connection.database import fetchval

# A method of an app that can't be called takes no new payments.
_NEW_METHODS = """
SELECT coalesce(json_agg(m), '[]')::text FROM (
    SELECT id, kind, processor, encode(processor_params, 'hex') AS params, hold_minutes
    FROM payment_methods
    WHERE tenant_id = $1 AND kind <> '' AND (id = {preferred} OR (status = 'A' AND deleted_at IS NULL AND vendor_id IS NULL))
        AND (processor NOT LIKE 'app:%' OR EXISTS (
            SELECT FROM app_installations i JOIN apps a ON a.id = i.app_id
            WHERE i.tenant_id = $1 AND a.client_id = substr(processor, 5) AND i.removed_at IS NULL
                AND 'handle_payments' = ANY(i.scopes) AND a.call_urls ? 'payments'))
    ORDER BY id = {preferred} DESC, position, id LIMIT 100
) AS m
"""
NEW_METHODS_OF_ORDER = _NEW_METHODS.format(preferred="t.payment_method_id")
"""Select what `usable_methods` reads for a new payment of an order `t` of the store $1."""
_NEW_METHODS_WITH = _NEW_METHODS.format(preferred="$2")
_METHOD = """
SELECT coalesce(json_agg(m), '[]')::text FROM (
    SELECT id, kind, processor, encode(processor_params, 'hex') AS params, hold_minutes
    FROM payment_methods WHERE tenant_id = $1 AND kind <> '' AND id = $2
) AS m
"""


def _sandbox(scope: Scope, _: Mapping[str, Any]) -> PaymentGateway | None:
    return sandbox.SandboxGateway(scope) if sandbox.is_enabled() else None


GATEWAYS: dict[str, Callable[[Scope, Mapping[str, Any]], PaymentGateway | None]] = {
    sandbox.NAME: _sandbox,
    pagarme.NAME: pagarme_gateway,
}
"""What makes the gateway of a processor from the decrypted parameters of the method; None if they don't suffice."""


@dataclass(frozen=True, slots=True)
class GatewayMethod:
    """A payment method with its gateway."""

    id: int
    kind: PaymentKind
    hold_minutes: int
    gateway: PaymentGateway


def gateway_for(scope: Scope, processor: str, params: Mapping[str, Any]) -> PaymentGateway | None:
    """Return the gateway of a payment method; None if it has none: then the store takes payments as it did without gateways."""
    make = GATEWAYS.get(processor)
    return make(scope, params) if make is not None else app_gateway(scope, processor, params)


async def gateway_methods(scope: Scope, preferred: int | None) -> Sequence[GatewayMethod]:
    """Return the store's methods that take payments through a gateway, by their position; an order's own one is first, also if inactive."""
    with active_scope(scope):
        return usable_methods(scope, await fetchval(_NEW_METHODS_WITH, scope.store.id, preferred))


async def gateway_of_method(scope: Scope, method_id: int | None, name: str) -> PaymentGateway | None:
    """Return the gateway of a method, if it is still the one of this name; None for the payment of none, which was reported."""
    with active_scope(scope):
        methods = usable_methods(scope, await fetchval(_METHOD, scope.store.id, method_id))
    return next((method.gateway for method in methods if method.gateway.name == name), None)


def usable_methods(scope: Scope, rows: str) -> list[GatewayMethod]:
    """Return the methods of a selected JSON array whose gateway can be called."""
    methods = []
    for row in orjson.loads(rows):
        try:
            gateway = gateway_for(scope, row["processor"], decrypt_params(bytes.fromhex(row["params"] or "")))
        except DecryptionError as error:  # of this method alone: the others take payments
            logging.failure("the parameters of a payment method can't be decrypted", error, method=row["id"])
            continue
        if gateway is not None:
            methods.append(GatewayMethod(row["id"], PaymentKind(row["kind"]), row["hold_minutes"], gateway))
    return methods
