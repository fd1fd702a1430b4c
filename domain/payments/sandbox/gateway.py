"""The gateway `sandbox`: it answers as a real one does, and `/dev/payments` decides what becomes of its charges (docs/payments.md#sandbox).

Tokens of cards, which a real gateway's script would make: `tok_approved`, `tok_declined` (or `tok_declined_<code>`), `tok_error` (a
technical failure), and `tok_timeout`, which is approved without an answer.
"""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

from domain.payments.gateway import (
    Card,
    ChargeRequest,
    ChargeState,
    Failure,
    GatewayRefused,
    GatewayUnanswered,
    PaymentKind,
    PaymentStatus,
    Share,
)
from domain.payments.sandbox import charges
from domain.payments.sandbox.boleto_code import barcode, typed_line
from domain.payments.sandbox.charges import SandboxCharge
from domain.payments.sandbox.pix_code import br_code
from kernel.clock import BRASILIA, now
from kernel.scope import Scope, active_scope

NAME = "sandbox"
PAGE = "/dev/payments"
_PUBLIC_KEY = "pk_sandbox"
_CITY = "BRASILIA"
# No bank has it.
_BANK = "999"
_MAX_BOLETO_CENTS = 10**10 - 1
_CARD = Card("visa", "1111")
_TOKEN = re.compile(r"tok_(approved|declined|error|timeout)(?:_([a-z0-9]{1,20}))?")
_LIVE = (PaymentStatus.PENDING, PaymentStatus.AUTHORIZED)
_PAID = (PaymentStatus.PAID, PaymentStatus.PARTIALLY_REFUNDED, PaymentStatus.DISPUTED)
_BAD_TOKEN = "expected tok_approved, tok_declined, tok_error or tok_timeout as the token of a card"


_is_enabled = False


def configure(enabled: bool) -> None:
    """Set whether stores may use the sandbox (VITRINE_SANDBOX_PAYMENTS)."""
    global _is_enabled
    _is_enabled = enabled


def is_enabled() -> bool:
    """Return whether stores may use the sandbox."""
    return _is_enabled


class SandboxGateway:
    """The sandbox of one store. Its own work is committed by itself, as that of another server is."""

    name = NAME
    splits = False
    public_key = _PUBLIC_KEY

    def __init__(self, scope: Scope) -> None:
        self._request_scope = scope.as_system()

    async def create(self, request: ChargeRequest) -> ChargeState:
        """Create the charge of a payment; repeated, return the one that exists."""
        status, details = self._outcome(request)
        with active_scope(self._scope):
            charge = await charges.insert_charge(self._scope, request, status, details)
        if request.card_token == "tok_timeout":
            raise GatewayUnanswered("the sandbox doesn't answer for this token")
        return charge.state(now())

    async def read(self, payment_id: UUID, charge_id: str | None) -> ChargeState | None:
        """Return the charge of a payment, None without one."""
        with active_scope(self._scope):
            charge = await charges.find_by_payment(self._scope, payment_id)
        return None if charge is None else charge.state(now())

    async def cancel(self, charge_id: str, key: str) -> ChargeState:
        """Cancel a charge that isn't paid."""
        with active_scope(self._scope):
            cancelled = await charges.change_charge(
                self._scope, charge_id, PaymentStatus.CANCELLED, expected=_LIVE, key=key
            )
            # What can't be cancelled any more shows that by its status.
            return (cancelled or await self._find(charge_id)).state(now())

    async def refund(self, charge_id: str, amount_cents: int, key: str, _: tuple[Share, ...] = ()) -> ChargeState:
        """Refund a part of a paid charge; once with each key."""
        with active_scope(self._scope):
            refunded = await charges.change_charge(
                self._scope,
                charge_id,
                PaymentStatus.PARTIALLY_REFUNDED,
                expected=_PAID,
                refunded_cents=amount_cents,
                key=key,
            )
            if refunded is not None:
                return refunded.state(now())
            charge = await self._find(charge_id)
        if key not in charge.done:
            raise GatewayRefused("amount", f"only {charge.remaining_cents} cents can still be refunded")
        return charge.state(now())

    @property
    def _scope(self) -> Scope:
        # Another server has a clock of its own.
        return replace(self._request_scope, now=now())

    async def _find(self, charge_id: str) -> SandboxCharge:
        charge = await charges.find_charge(self._scope, charge_id)
        if charge is None:
            raise GatewayRefused("not_found", "the sandbox has no such charge")
        return charge

    def _outcome(self, request: ChargeRequest) -> tuple[PaymentStatus, dict[str, Any]]:
        match request.kind:
            case PaymentKind.PIX:
                return PaymentStatus.PENDING, {"pix": self._pix(request)}
            case PaymentKind.BOLETO:
                return PaymentStatus.PENDING, {"boleto": _boleto(request)}
            case PaymentKind.CARD:
                return _card_outcome(request.card_token or "")
        raise GatewayRefused("kind", f"the sandbox makes no payments of the kind {request.kind}")

    def _pix(self, request: ChargeRequest) -> dict[str, Any]:
        location = f"pix.sandbox.invalid/v2/{request.payment_id.hex}"
        name = self._request_scope.store.name
        return {"code": br_code(location, name=name, city=_CITY, amount_cents=request.amount_cents)}


def _boleto(request: ChargeRequest) -> dict[str, Any]:
    if request.amount_cents > _MAX_BOLETO_CENTS:
        raise GatewayRefused("amount", f"a boleto is of at most {_MAX_BOLETO_CENTS} cents")
    if not request.payer.document:
        raise GatewayRefused("document", "Informe o CPF ou CNPJ de quem paga o boleto.")
    assert request.expires_at is not None  # every kind but cards has one
    due = request.expires_at.astimezone(BRASILIA)
    code = barcode(_BANK, due.date(), request.amount_cents, f"{request.payment_id.int % 10**25:025d}")
    return {"line": typed_line(code), "barcode": code, "pdf_url": "", "due_at": request.expires_at.isoformat()}


def _card_outcome(token: str) -> tuple[PaymentStatus, dict[str, Any]]:
    match = _TOKEN.fullmatch(token)
    if match is None:
        raise GatewayRefused("token", _BAD_TOKEN)
    details: dict[str, Any] = {"card": asdict(_CARD)}
    match match.group(1):
        case "declined":
            details["failure"] = asdict(Failure(match.group(2) or "declined", "O cartão foi recusado."))
            return PaymentStatus.FAILED, details
        case "error":
            details["failure"] = asdict(Failure("technical", "O pagamento não pôde ser processado. Tente outra vez."))
            return PaymentStatus.FAILED, details
    return PaymentStatus.PAID, details
