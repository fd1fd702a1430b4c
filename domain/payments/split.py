"""Divide a charge among the recipients of a gateway that pays them itself: vendors and the store (docs/payments-pagarme.md#split).

Who gets what is what the ledger would give each account for the payment. A vendor without a recipient leaves its share to the store, which
owes it to the vendor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from domain.ledger.entries import OrderMoney, order_targets, read_order_money
from domain.ledger.split import ChargeShare, refunded_parts
from domain.payments.gateway import Share
from domain.store_settings import SPLIT_STORE, setting
from kernel.money import allocate
from kernel.scope import Scope
from models.connection.database import fetch

_RECIPIENTS = """
SELECT DISTINCT v.id, btrim(v.recipient_id) AS recipient_id
FROM order_lines l JOIN vendors v ON v.tenant_id = l.tenant_id AND v.id = l.vendor_id
WHERE l.tenant_id = $1 AND l.order_id = $2 AND btrim(v.recipient_id) NOT IN ('', $3)
"""


async def divide_payment(scope: Scope, order_id: int, amount_cents: int) -> list[ChargeShare]:
    """Return the shares of a payment of a locked order; none where no vendor of the order gets its share from the gateway."""
    store_recipient = setting(scope, "split_recipient_id").strip()
    if not store_recipient:
        return []
    rows = await fetch(_RECIPIENTS, scope.store.id, order_id, store_recipient)
    recipients = {row["id"]: row["recipient_id"] for row in rows}
    if not recipients:
        return []
    order = await read_order_money(scope, order_id)
    return divide_charge(
        order,
        amount_cents,
        recipients,
        store_recipient,
        store_is_liable=setting(scope, "split_liable") == SPLIT_STORE,
        store_pays_fees=setting(scope, "split_fees") == SPLIT_STORE,
    )


def divide_charge(
    order: OrderMoney,
    amount_cents: int,
    recipients: Mapping[int, str],
    store_recipient: str,
    *,
    store_is_liable: bool,
    store_pays_fees: bool,
) -> list[ChargeShare]:
    """Return what each recipient gets of a payment: what the ledger gives it, the store the rest; they add up to the amount.

    Where the store gets nothing, because it pays more discounts than it earns, the vendors divide the amount, unless the store is liable or
    pays the fees: then nothing is divided, since it has to be one of the recipients.
    """
    gains = _gains(order, amount_cents, recipients)
    rest = amount_cents - sum(gains.values())
    if not gains or (rest <= 0 and (store_is_liable or store_pays_fees)):
        return []
    if rest < 0:
        gains = dict(zip(gains, allocate(amount_cents, list(gains.values())), strict=True))
    vendors = [
        ChargeShare(vendor, recipients[vendor], cents, not store_is_liable, not store_pays_fees)
        for vendor, cents in gains.items()
        if cents
    ]
    # Last: it takes what remains of roundings.
    return [*vendors, ChargeShare(None, store_recipient, rest, True, True)] if rest > 0 else vendors


def _gains(order: OrderMoney, amount_cents: int, recipients: Mapping[int, str]) -> dict[int, int]:
    """Return what the payment adds to the accounts of the vendors with a recipient, in the order of their ids."""
    paid = replace(order, paid_cents=order.paid_cents + amount_cents)
    added = dict.fromkeys(sorted(recipients), 0)
    for state, sign in ((order, -1), (paid, 1)):
        for (account, _), cents in order_targets(state).items():
            if account in added:
                added[account] += sign * cents
    return {vendor: cents for vendor, cents in added.items() if cents > 0}


def gateway_shares(shares: Sequence[ChargeShare]) -> tuple[Share, ...]:
    """Return what the gateway is asked to pay to whom."""
    return tuple(_gateway_share(share, share.cents) for share in shares)


def refund_shares(
    shares: Sequence[ChargeShare], paid_cents: int, refunded_cents: int, amount_cents: int
) -> tuple[Share, ...]:
    """Return what a refund takes back from whom, after refunds of `refunded_cents`."""
    before = refunded_parts(shares, paid_cents, refunded_cents)
    after = refunded_parts(shares, paid_cents, refunded_cents + amount_cents)
    parts = zip(shares, before, after, strict=True)
    return tuple(_gateway_share(share, end - start) for share, start, end in parts if end > start)


def _gateway_share(share: ChargeShare, cents: int) -> Share:
    return Share(share.recipient_id, cents, share.account is None, share.is_liable, share.pays_fees)
