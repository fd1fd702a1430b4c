"""The gateway `pagarme`: charges are made by orders with one payment each (docs/payments-pagarme.md).

The parameters of a payment method: `secret_key` (sk_…), and `public_key` (pk_…) for the page that makes tokens of cards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote
from uuid import UUID

from domain.payments.gateway import (
    ChargeRequest,
    ChargeState,
    GatewayNotCalled,
    GatewayRefused,
    GatewayUnanswered,
    Share,
)
from domain.payments.pagarme.charges import read_charge
from domain.payments.pagarme.client import NAME, Client, NotThere
from domain.payments.pagarme.orders import order_body, split_rules
from kernel.payment_words import LIVE
from kernel.scope import Scope, active_scope
from models.connection.database import fetchval

# An order of the store has an order of Pagar.me for each attempt to pay it.
_MAX_ORDERS = 50
_ORDER = """
SELECT o.public_id FROM payments p JOIN orders o ON o.tenant_id = p.tenant_id AND o.id = p.order_id
WHERE p.tenant_id = $1 AND p.public_id = $2
"""


class PagarmeGateway:
    """The gateway with the keys of one payment method."""

    name = NAME
    splits = True

    def __init__(self, scope: Scope, secret_key: str, public_key: str) -> None:
        self._scope = scope
        self._client = Client(secret_key)
        self.public_key = public_key

    async def create(self, request: ChargeRequest) -> ChargeState:
        """Create the charge of a payment; repeated with the same payment, return the charge that exists."""
        body, key = order_body(request), str(request.payment_id)
        try:
            order = await self._client.send("POST", "/orders", body, key)
        except GatewayNotCalled:
            raise
        except GatewayRefused:
            # The refusal may be of a repeated request, whose token was used by the one that charged.
            existing = await self._find(request.order_id, request.payment_id)
            if existing is None:
                raise
            return existing
        return _charge_of(order)

    async def read(self, payment_id: UUID, charge_id: str | None) -> ChargeState | None:
        """Return the charge of a payment, by the order of the store where its own id isn't known; None if there is none."""
        if charge_id is None:
            with active_scope(self._scope):
                order_id = await fetchval(_ORDER, self._scope.store.id, payment_id)
            return None if order_id is None else await self._find(order_id, payment_id)
        charge = await self._load(_path(charge_id))
        return None if charge is None else read_charge(charge)

    async def cancel(self, charge_id: str, key: str) -> ChargeState:
        """Cancel a charge that can still be paid; one that was paid, which Pagar.me would refund, stays."""
        state = read_charge(await self._send("GET", _path(charge_id)))
        if state.status not in LIVE:
            return state
        return read_charge(await self._send("DELETE", _path(charge_id), key=key))

    async def refund(self, charge_id: str, amount_cents: int, key: str, shares: tuple[Share, ...] = ()) -> ChargeState:
        """Refund a part of a paid charge, in cents: Pagar.me cancels that part of it.

        Without shares it would take a part of a divided charge from the recipients by the rules of the whole charge.
        """
        body = {"amount": amount_cents} | ({"split": split_rules(shares)} if shares else {})
        return read_charge(await self._send("DELETE", _path(charge_id), body, key))

    async def _find(self, order_id: UUID, payment_id: UUID) -> ChargeState | None:
        answer = await self._load(f"/orders?code={order_id}&size={_MAX_ORDERS}")
        orders = [] if answer is None else answer.get("data")
        if not isinstance(orders, list):
            raise GatewayUnanswered("the answer has no list of orders")
        for order in orders:
            metadata = order.get("metadata") if isinstance(order, dict) else None
            if isinstance(metadata, dict) and metadata.get("payment_id") == str(payment_id):
                return _charge_of(order)
        return None

    async def _load(self, path: str) -> dict[str, Any] | None:
        """Read a record, None if it isn't there; that a read is refused says nothing about the charge."""
        try:
            return await self._send("GET", path)
        except NotThere:
            return None
        except GatewayRefused as error:
            raise GatewayUnanswered("it refused the read") from error

    async def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, key: str | None = None
    ) -> dict[str, Any]:
        """Send a request about a charge that exists or may exist: if Pagar.me didn't look at it, nothing is known."""
        try:
            return await self._client.send(method, path, body, key)
        except GatewayNotCalled as error:
            raise GatewayUnanswered("it takes no requests now") from error


def pagarme_gateway(scope: Scope, params: Mapping[str, Any]) -> PagarmeGateway | None:
    """Return the gateway with the parameters of a payment method; None without a secret key."""
    secret_key = params.get("secret_key")
    if not isinstance(secret_key, str) or not secret_key.strip():
        return None
    return PagarmeGateway(scope, secret_key.strip(), str(params.get("public_key") or ""))


def _charge_of(order: Mapping[str, Any]) -> ChargeState:
    charges = order.get("charges")
    if not isinstance(charges, list) or len(charges) != 1 or not isinstance(charges[0], dict):
        raise GatewayUnanswered("the order has not one charge")
    return read_charge(charges[0])


def _path(charge_id: str) -> str:
    return f"/charges/{quote(charge_id, safe='')}"
