"""The gateway of an installed app: a payment method with the processor `app:<client id>` charges by calls to that app.

The app answers by the schemas of `domain/app_calls/schemas/payments.json`, and reports changes by `payment_report`
(`domain/payments/app_reports.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from domain.app_calls.call_types import PAYMENT_CANCEL, PAYMENT_CREATE, PAYMENT_READ, PAYMENT_REFUND, CallType
from domain.app_calls.calling import AppCallFailed, AppNotCalled, call_app
from domain.payments.gateway import (
    Boleto,
    Card,
    ChargeRequest,
    ChargeState,
    Failure,
    GatewayNotCalled,
    GatewayRefused,
    GatewayUnanswered,
    PaymentStatus,
    PixCode,
    Share,
    read_time,
)
from kernel.clock import format_rfc3339
from kernel.scope import Scope

PREFIX = "app:"
ADDRESS_FIELDS = ("street", "number", "complement", "district", "city", "state", "zipcode", "country")
NOT_CALLED = "gateway_unavailable"


class AppGateway:
    """The gateway of one app in one store; `name` is the processor."""

    splits = False

    def __init__(self, scope: Scope, client_id: str, public_key: str = "") -> None:
        self._scope = scope
        self._client_id = client_id
        self.name = gateway_name(client_id)
        self.public_key = public_key

    async def create(self, request: ChargeRequest) -> ChargeState:
        """Create the charge of a payment."""
        return read_charge((await self._call(PAYMENT_CREATE, describe_request(request)))["charge"])

    async def read(self, payment_id: UUID, charge_id: str | None) -> ChargeState | None:
        """Return the charge of a payment; None if the app knows no such payment."""
        answer = await self._call(PAYMENT_READ, {"payment_id": str(payment_id), "charge_id": charge_id})
        return None if answer["charge"] is None else read_charge(answer["charge"])

    async def cancel(self, charge_id: str, key: str) -> ChargeState:
        """Cancel a charge that isn't paid."""
        return read_charge((await self._call(PAYMENT_CANCEL, {"charge_id": charge_id, "key": key}))["charge"])

    async def refund(self, charge_id: str, amount_cents: int, key: str, _: tuple[Share, ...] = ()) -> ChargeState:
        """Refund a part of a paid charge, in cents."""
        data = {"charge_id": charge_id, "amount_cents": amount_cents, "key": key}
        return read_charge((await self._call(PAYMENT_REFUND, data))["charge"])

    async def _call(self, call: CallType, data: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = await call_app(self._scope, self._client_id, call, data)
        except AppNotCalled as error:
            if call is PAYMENT_CREATE:
                raise GatewayNotCalled(NOT_CALLED, "Esta forma de pagamento não está disponível agora.") from error
            # Later it can be: what the charge is now, or becomes, is not known.
            raise GatewayUnanswered(str(error)) from error
        except AppCallFailed as error:
            raise GatewayUnanswered(str(error)) from error
        if "refusal" in answer:
            raise GatewayRefused(answer["refusal"]["code"], answer["refusal"]["message"])
        return answer


def gateway_name(client_id: str) -> str:
    """Return the processor, and the gateway of payments, of an app."""
    return f"{PREFIX}{client_id}"


def app_gateway(scope: Scope, processor: str, params: Mapping[str, Any]) -> AppGateway | None:
    """Return the gateway of a processor `app:<client id>`, None for another one; `public_key` is shown to the page that pays."""
    if not processor.startswith(PREFIX):
        return None
    return AppGateway(scope, processor.removeprefix(PREFIX), str(params.get("public_key") or ""))


def describe_request(request: ChargeRequest) -> dict[str, Any]:
    """Return what is sent to create a charge."""
    payer = request.payer
    return {
        "payment_id": str(request.payment_id),
        "order": {"id": str(request.order_id), "number": request.order_number},
        "kind": request.kind.value,
        "amount_cents": request.amount_cents,
        "currency": request.currency,
        "installments": request.installments,
        "card_token": request.card_token,
        "expires_at": None if request.expires_at is None else format_rfc3339(request.expires_at),
        "payer": {
            "name": payer.name,
            "email": payer.email,
            "document": payer.document,
            "phone": payer.phone,
            "address": {name: str(payer.address.get(name) or "") for name in ADDRESS_FIELDS},
        },
        "items": [
            {
                "code": item.code,
                "description": item.description,
                "quantity": item.quantity,
                "amount_cents": item.amount_cents,
            }
            for item in request.items
        ],
        "shares": [
            {"recipient_id": share.recipient_id, "amount_cents": share.amount_cents, "is_store": share.is_store}
            for share in request.shares
        ],
        "statement_descriptor": request.statement_descriptor,
    }


def find_contradiction(state: ChargeState) -> str:
    """Return what of a charge's status and amounts doesn't fit the other, "" if they do."""
    paid, refunded = state.paid_cents, state.refunded_cents
    if not 0 <= refunded <= paid <= state.amount_cents:
        return (
            f"paid_cents is {paid} and refunded_cents {refunded}; expected no more refunded than paid, "
            f"and no more paid than {state.amount_cents}"
        )
    status = state.status
    fits = {
        PaymentStatus.PAID: paid > 0 and refunded == 0,
        PaymentStatus.PARTIALLY_REFUNDED: 0 < refunded < paid,
        PaymentStatus.REFUNDED: 0 < refunded == paid,
        PaymentStatus.DISPUTED: paid > 0,
    }.get(status, paid == 0)
    return "" if fits else f"status is {status}; paid_cents {paid} and refunded_cents {refunded} don't fit it"


def read_charge(charge: Mapping[str, Any]) -> ChargeState:
    """Return the state of a charge that fits the schema; raise `GatewayUnanswered` for one that contradicts itself."""
    state = _read_charge(charge)
    wrong = find_contradiction(state)
    if wrong:
        raise GatewayUnanswered(f"the answer contradicts itself: {wrong}")
    return state


def _read_charge(charge: Mapping[str, Any]) -> ChargeState:
    pix, boleto, card, failure = (charge.get(name) for name in ("pix", "boleto", "card", "failure"))
    return ChargeState(
        charge_id=charge["charge_id"],
        status=PaymentStatus(charge["status"]),
        # JSON has one type of number: 5.0 is an integer of the schema too.
        amount_cents=int(charge["amount_cents"]),
        currency=charge["currency"],
        paid_cents=int(charge.get("paid_cents", 0)),
        refunded_cents=int(charge.get("refunded_cents", 0)),
        expires_at=_read_time(charge.get("expires_at")),
        pix=None if pix is None else PixCode(pix["code"], pix.get("qr_png_url") or ""),
        boleto=None
        if boleto is None
        else Boleto(
            "".join(filter(str.isdigit, boleto["line"])),
            boleto["barcode"],
            boleto.get("pdf_url") or "",
            _required_time(boleto["due_at"]),
        ),
        card=None if card is None else Card(card["brand"], card["last_four"]),
        failure=None if failure is None else Failure(failure["code"], failure["message"]),
    )


def _read_time(value: str | None) -> datetime | None:
    return None if value is None else _required_time(value)


def _required_time(value: str) -> datetime:
    time = read_time(value)
    if time is None:
        raise GatewayUnanswered(f"the answer has the time {value}, which can't be used")
    return time
