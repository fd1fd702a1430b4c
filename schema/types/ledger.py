"""Define the marketplace's ledger: entries, balances, payouts, the sales report."""

from __future__ import annotations

from typing import Any

from auth.access import Access
from domain.ledger.balances import load_balances
from domain.ledger.read import LEDGER_ENTRIES, PAYOUTS, VENDOR_ACCOUNTS
from kernel.scope import Scope
from models.reading.queries import Row, ToOne
from schema.enums import LedgerEntryKind, PayoutStatus
from schema.fields import INHERITED, calculated, column, entity_type, object_type, output_field, referenced, relation
from schema.scalars import ID, BigInt, DateTime
from schema.types.references import Order, Payment, Vendor
from schema.unset import Unset

READ_LEDGER = Access(
    privileges=("view_marketplace", "view_payments"),
    app_scope="read_orders",
    vendor=True,
    note="A vendor sees only its own account.",
)
_NO_VENDOR = "null for the store's own account."


@object_type("VendorBalance", access=INHERITED)
class VendorBalanceObject:
    """What the store owes a vendor, by the ledger; negative what the vendor owes."""

    available_cents: BigInt = output_field("What can be paid out, in cents.")
    pending_cents: BigInt = output_field("What becomes available later, in cents.")
    total_cents: BigInt = output_field("The sum of both, in cents.")


async def _calculate_balances(scope: Scope, vendors: list[int]) -> list[Any]:
    balances = await load_balances(scope, vendors)
    return [
        Row(
            available_cents=balances[vendor].available_cents,
            pending_cents=balances[vendor].pending_cents,
            total_cents=balances[vendor].total_cents,
        )
        for vendor in vendors
    ]


def vendor_balance() -> Any:
    """Declare the balance of the vendor of the row, summed for all vendors of a list at once."""
    return calculated("t.id", _calculate_balances, "The balance of its account in the ledger.", guard=READ_LEDGER)


@entity_type(PAYOUTS, "Payout")
class PayoutObject:
    """A payout of a vendor's balance; no money moves by itself."""

    id: ID = column("public_id", "The unique ID (UUID).")
    number: BigInt = column("id", "The number of the payout in the store.")
    vendor_id: ID | None = column(referenced("vendors", "vendor_id"), "The vendor.")
    vendor: Vendor | None = relation(ToOne("vendor_id"), "The vendor.")
    vendor_name: str | None = column(
        "(SELECT v.name FROM vendors v WHERE v.tenant_id = t.tenant_id AND v.id = t.vendor_id)", "The vendor's name."
    )
    cnpj: str | None = column(
        "(SELECT v.cnpj FROM vendors v WHERE v.tenant_id = t.tenant_id AND v.id = t.vendor_id)",
        "The vendor's CNPJ, without punctuation.",
    )
    amount_cents: BigInt = column(description="The amount, in cents.")
    currency: str = column(description="The currency, ISO 4217.")
    status: PayoutStatus = column(description="The status.")
    note: str = column(description="A note of the administrator.")
    created_at: DateTime = column(description="When it was created, and taken from the balance.")
    paid_at: DateTime | None = column(description="When it was marked as paid.")


@entity_type(VENDOR_ACCOUNTS, "VendorAccount", key="")
class VendorAccountObject:
    """The account of a vendor in the ledger; also of vendors that were suspended, and of those that were deleted until its balance is 0."""

    id: ID = column("public_id", "The vendor.")
    name: str = column(description="The vendor's name.")
    cnpj: str | None = column(description="The vendor's CNPJ, without punctuation.")
    recipient_id: str = column(
        description="The vendor's recipient at a gateway that divides payments.", unset=Unset.NULL
    )
    balance: VendorBalanceObject | None = vendor_balance()
    created_at: DateTime = column(description="When the vendor was created.")


@entity_type(LEDGER_ENTRIES, "LedgerEntry")
class LedgerEntryObject:
    """An entry of the account of a vendor, or of the store's own; never changed or deleted."""

    id: ID = column("public_id", "The unique ID (UUID).")
    kind: LedgerEntryKind = column(description="What the entry is.")
    amount_cents: BigInt = column(description="What the account gains, in cents; negative: loses.")
    vendor_id: ID | None = column(referenced("vendors", "vendor_id"), f"The vendor; {_NO_VENDOR}")
    vendor: Vendor | None = relation(ToOne("vendor_id"), f"The vendor; {_NO_VENDOR}")
    order_id: ID | None = column(referenced("orders", "order_id"), "The order; null for adjustments and payouts.")
    order: Order | None = relation(ToOne("order_id"), "The order; null for adjustments and payouts.")
    payment_id: ID | None = column(
        referenced("payments", "payment_id"), "The payment that it is a part of, where a single one is known."
    )
    payment: Payment | None = relation(
        ToOne("payment_id"), "The payment that it is a part of, where a single one is known and the caller may see it."
    )
    payout_id: ID | None = column(referenced("payouts", "payout_id"), "The payout.")
    payout: PayoutObject | None = relation(ToOne("payout_id"), "The payout.")
    is_split: bool = column(description="Whether the gateway itself pays it to the vendor; it is in no balance then.")
    reason: str = column(description="The reason of an adjustment.", unset=Unset.NULL)
    available_at: DateTime = column(description="From when on a payout can include it.")
    created_at: DateTime = column(
        description="When it was written; of orders from before the ledger, when they were paid."
    )


@object_type("VendorSales", access=READ_LEDGER)
class VendorSalesObject:
    """The sales of a vendor in a month, by the ledger."""

    month: str = output_field("The month, UTC: `2026-11`.")
    vendor_id: ID = output_field("The vendor.")
    vendor_name: str = output_field("The vendor's name.")
    cnpj: str | None = output_field("The vendor's CNPJ, without punctuation.")
    gross_cents: BigInt = output_field("Lines and shipping of paid orders, in cents.")
    commission_cents: BigInt = output_field("The store's commission, less that of refunds, in cents.")
    refunds_cents: BigInt = output_field("Refunds and chargebacks, in cents.")
    net_cents: BigInt = output_field("Gross less commission and refunds, in cents.")
    orders: BigInt = output_field("The number of orders that were paid, also in part.")
