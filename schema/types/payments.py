"""Define payments, their refunds, and what a store offers to pay with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson
import strawberry

from auth.access import Access
from domain.payments.read import PAID_CENTS, PAYMENT_REFUNDS, PAYMENTS, RECEIVED_KIND
from kernel.scope import Scope
from models.reading.queries import Row, ToMany, ToOne
from schema.enums import PaymentKind, PaymentState, RefundState
from schema.fields import calculated, column, computed, entity_type, object_type, output_field, referenced, relation
from schema.inputs import input_type, optional_copies, optional_field
from schema.scalars import ID, BigInt, DateTime
from schema.types.interfaces import AddressObject
from schema.types.pricing import PaymentMethodObject
from schema.types.references import Order
from schema.unset import Unset

PAY = Access(
    privileges=("manage_orders", "manage_payments"),
    customer=True,
    storefront="storefront:checkout",
    note="The order's access token grants access to it; a customer token grants access to that customer's orders.",
)


@object_type("PaymentFailure")
class PaymentFailureObject:
    """Why a payment failed."""

    code: str = output_field("`declined`, `technical`, `not_received`, `unanswered`, or a word of the gateway.")
    message: str = output_field("What the customer may read, in Portuguese.")


@object_type("PixCode")
class PixCodeObject:
    """The code of a Pix payment."""

    code: str = output_field("The code that a bank's program pays (BR Code, `copia e cola`).")
    qr_svg: str = output_field("Its QR code, an SVG element.")
    qr_png_url: str = output_field("The gateway's picture of it; empty for none.", unset=Unset.NULL)


@object_type("Boleto")
class BoletoObject:
    """A boleto."""

    line: str = output_field("The 47 digits that people type (`linha digitável`).")
    barcode: str = output_field("The 44 digits of the barcode.")
    pdf_url: str = output_field("The URL of the document; empty for none.", unset=Unset.NULL)
    due_at: DateTime = output_field("When it is due.")


@object_type("PaymentCard")
class PaymentCardObject:
    """What the store may know of a card."""

    brand: str = output_field("The brand, in lower case.")
    last_four: str = output_field("The last four digits.")


async def _objects(_: Scope, values: Sequence[str | None]) -> list[Any]:
    return [None if value is None else Row(orjson.loads(value)) for value in values]


async def _boletos(_: Scope, values: Sequence[str | None]) -> list[Any]:
    boletos = [None if value is None else orjson.loads(value) for value in values]
    return [None if boleto is None else Row({**boleto, "due_at": _time(boleto["due_at"])}) for boleto in boletos]


def _time(text: str) -> Any:
    return datetime.fromisoformat(text)


@entity_type(PAYMENT_REFUNDS, "PaymentRefund")
class PaymentRefundObject:
    """A refund that a payment's gateway was asked for."""

    id: ID = column("public_id", "The unique ID (UUID).")
    amount_cents: BigInt = column(description="The amount, in cents.")
    status: RefundState = column(description="The status.")
    failure: PaymentFailureObject | None = calculated("t.failure::text", _objects, "Why it failed; null unless it did.")
    created_at: DateTime = column(description="When it was asked for.")
    updated_at: DateTime = column(description="When its status last changed.")


@entity_type(PAYMENTS, "Payment")
class PaymentObject:
    """A payment of an order: created here and asked of a gateway, or reported as received."""

    id: ID = column("public_id", "The unique ID (UUID).")
    number: str = computed(
        "t.order_id || '-' || t.sequence", "The number shown to people: the order's, and its own within it."
    )
    kind: str = column(
        description="`PIX`, `BOLETO`, `CARD` or `OFFLINE`; of a reported payment the reporter's word: `credit_card`, `boleto`, `pix`, etc."
    )
    status: PaymentState = column(description="The status.")
    installments: int = column(description="The number of installments.")
    amount_cents: BigInt = column(description="The amount, in cents.")
    currency: str = computed(
        f"coalesce(nullif(t.currency, ''), {referenced('orders', 'order_id', 'currency')})", "The currency, ISO 4217."
    )
    surcharge_cents: BigInt = column(description="The interest of the instalments in it, in cents.")
    paid_cents: BigInt = computed(PAID_CENTS, "What was received, refunds included, in cents.")
    refunded_cents: BigInt = column(description="What was refunded of it, in cents.")
    gateway: str = column(
        description="The gateway: `sandbox`, `pagarme` or `app:<client ID>`; empty for a reported payment.",
        unset=Unset.NULL,
    )
    gateway_charge_id: str | None = column(description="The gateway's charge ID.")
    expires_at: DateTime | None = column(description="Until when it can be paid; null for no limit.")
    failure: PaymentFailureObject | None = calculated("t.failure::text", _objects, "Why it failed; null unless it did.")
    pix: PixCodeObject | None = calculated("t.pix::text", _objects, "The code of a Pix payment.")
    boleto: BoletoObject | None = calculated("t.boleto::text", _boletos, "The boleto.")
    card: PaymentCardObject | None = calculated("t.card::text", _objects, "The card.")
    refunds: list[PaymentRefundObject] = relation(
        ToMany("t.payment_id", "t.id"), "The refunds that were asked for here, oldest first."
    )
    sequence: int = column(description="The sequence number among the order's payments.")
    order_id: ID = column(referenced("orders", "order_id"), "The order.")
    order: Order | None = relation(ToOne("order_id"), "The order.")
    received_kind: str = computed(RECEIVED_KIND, "The kind, in the words of reported payments.", internal=True)
    created_at: DateTime = column(description="When it was created, or reported.")
    paid_at: DateTime | None = column(
        "coalesce(t.paid_at, CASE WHEN t.gateway = '' THEN t.created_at END)", "When it was paid."
    )


HANDLE_PAYMENTS = Access(app_scope="handle_payments", admin=False)


@object_type("ReportedPayment", access=HANDLE_PAYMENTS)
class ReportedPaymentObject:
    """A payment after the report of the app that is its gateway."""

    id: ID = output_field("The unique ID (UUID).")
    status: PaymentState = output_field("The status.")
    amount_cents: BigInt = output_field("The amount, in cents.")
    currency: str = output_field("The currency, ISO 4217.")
    paid_cents: BigInt = output_field("What was received, refunds included, in cents.")
    refunded_cents: BigInt = output_field("What was refunded of it, in cents.")


@input_type
class PaymentFailureInput:
    """Why a payment failed."""

    code: str = strawberry.field(description="Small letters, digits and `_`, such as `declined` or `technical`.")
    message: str = strawberry.field(description="What the customer may read.")


@input_type
class PaymentReportInput:
    """What an app says about a payment that it is the gateway of."""

    status: PaymentState = strawberry.field(description="The status.")
    paid_cents: BigInt | None = optional_field("What was received, refunds included, in cents; 0 by default.")
    refunded_cents: BigInt | None = optional_field("What was refunded of it, in cents; 0 by default.")
    charge_id: str | None = optional_field("The app's charge ID; the payment's by default.")
    amount_cents: BigInt | None = optional_field(
        "The charge's amount, in cents, if the app has it; must be the payment's."
    )
    currency: str | None = optional_field("The charge's currency, if the app has it; must be the payment's.")
    failure: PaymentFailureInput | None = optional_field("Why it failed.")


@object_type("InstallmentOption", access=PAY)
class InstallmentOptionObject:
    """A number of instalments that is offered."""

    number: int = output_field("The number of instalments.")
    monthly_rate: str = output_field("The interest, in percent a month: a decimal string.")
    surcharge_cents: BigInt = output_field("The interest in all, in cents.")
    total_cents: BigInt = output_field("What is paid in all, in cents.")
    first_cents: BigInt = output_field("The first instalment, in cents.")
    other_cents: BigInt = output_field("Each further instalment, in cents.")


@object_type("PaymentOption", access=PAY)
class PaymentOptionObject:
    """A kind of payment that the store offers for an amount."""

    kind: PaymentKind = output_field("The kind.")
    payment_method: PaymentMethodObject | None = relation(
        ToOne("payment_method_id"), "The payment method that takes it."
    )
    gateway: str = output_field("The gateway: `sandbox`, `pagarme` or `app:<client ID>`.")
    public_key: str = output_field(
        "The key with which the page makes a token of a card; empty for none.", unset=Unset.NULL
    )
    total_cents: BigInt = output_field("What is paid at once by this kind, in cents.")
    installments: list[InstallmentOptionObject] = output_field(
        "The instalments that are offered; one for all but cards.", list_size=4
    )


@input_type
@optional_copies(AddressObject, "street number complement district city state zipcode country")
class BillingAddressInput:
    """The address of who pays."""

    state: str | None = optional_field("The state.")


@input_type
class BillingInput:
    """Who pays, where it isn't the order's customer. It is sent to the gateway and not stored."""

    name: str | None = optional_field("The name.")
    email: str | None = optional_field("The e-mail address.")
    document: str | None = optional_field("The CPF or CNPJ.")
    phone: str | None = optional_field("The telephone number.")
    address: BillingAddressInput | None = optional_field("The address.")
