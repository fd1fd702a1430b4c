"""Write the ledger of orders: what each account should have of an order, less what is written already (docs/ledger.md).

An account is a vendor's, by its id, or the store's own (None). `order_targets` decides from the state of an order alone, so that writing it
again, or after a change that was missed, is right. `write_order_entries` takes two statements, whatever the number of lines and orders; it
is called in the transaction that changes the order, which is locked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import orjson

from domain.ledger.kinds import (
    COMMISSION,
    COMMISSION_REFUND,
    DISCOUNT,
    REFUND,
    SALE,
    SHIPPING,
    SURCHARGE,
    TAX,
    UNAPPLIED,
    Account,
    Targets,
)
from domain.ledger.old_lines import COMMISSION_SQL, RATE_OF_OLD_LINES, RATE_TYPE_OF_OLD_LINES
from domain.ledger.split import DividedPayment, marked_parts, moved_cents, read_shares, written_cents
from domain.store_settings import setting
from kernel.ids import uuid7
from kernel.money import allocate, divide_half_up
from kernel.scope import Scope
from models.connection.database import execute_later, fetch
from models.rows import from_row, insert_sql, json_text
from models.tables.ledger import LedgerEntry

SOLD = ("P", "C")
"""The statuses that say that an order is paid, whether payments of it were recorded or not."""
# As `domain.orders.transitions` has them, which imports this package.
_CLOSED = ("D", "F", "I")
_CHARGEBACK = "chargeback"


class OrderPart(NamedTuple):
    """What an account has of an order that is paid in full: its lines, shipping, and the commission on the lines, in cents."""

    account: Account
    lines_cents: int
    shipping_cents: int
    commission_cents: int


@dataclass(frozen=True, slots=True)
class OrderMoney:
    """What the entries of an order depend on, in cents. `parts` are those of its lines; the shipping is `shipper_id`'s."""

    status: str
    payment_status: str
    total_cents: int
    discount_cents: int
    shipping_cents: int
    surcharge_cents: int
    tax_cents: int
    paid_cents: int
    refunded_cents: int
    shipper_id: Account
    parts: Sequence[OrderPart]
    is_deleted: bool = False


class Settlement(NamedTuple):
    """How much of an order's total was received for it, how much of that is taken back, and what the store holds besides."""

    received_cents: int
    reversed_cents: int
    unapplied_cents: int


def settle(
    status: str,
    payment_status: str,
    total_cents: int,
    paid_cents: int,
    refunded_cents: int,
    *,
    is_deleted: bool = False,
) -> Settlement:
    """Return the settlement of an order with this state; received less reversed plus unapplied is what was paid less refunded.

    Of an order without a total, 1 of 1 is received when it is sold.
    """
    is_charged_back, is_closed = payment_status == _CHARGEBACK, is_deleted or status in _CLOSED
    net = 0 if is_charged_back else paid_cents - refunded_cents
    is_sold = status in SOLD and not is_deleted
    received = total_cents if is_sold else min(total_cents, paid_cents)
    if is_charged_back or is_closed:
        reversed_ = received
    else:
        # What was paid beyond the total is returned first.
        reversed_ = min(received, max(0, refunded_cents - max(0, paid_cents - total_cents)))
    if not total_cents:
        return Settlement(int(is_sold), int(is_sold and is_charged_back), net)
    return Settlement(received, reversed_, net - received + reversed_)


def order_targets(order: OrderMoney) -> Targets:
    """Return what each account should have of an order, by kind, in cents; their sum is what was paid less what was refunded."""
    settlement = settle(
        order.status,
        order.payment_status,
        order.total_cents,
        order.paid_cents,
        order.refunded_cents,
        is_deleted=order.is_deleted,
    )
    amounts = _amounts_of_sale(order)
    received = _share(amounts, settlement.received_cents, order.total_cents)
    reversed_ = _share(amounts, settlement.reversed_cents, order.total_cents)
    targets: Targets = {**received, (None, UNAPPLIED): settlement.unapplied_cents}
    for (account, _), cents in reversed_.items():
        targets[account, REFUND] = targets.get((account, REFUND), 0) - cents
    for part in order.parts:
        if part.account is None:
            continue
        for kind, sign, cents, shares in (
            (COMMISSION, 1, settlement.received_cents, received),
            (COMMISSION_REFUND, -1, settlement.reversed_cents, reversed_),
        ):
            commission = sign * _commission(part, cents, order.total_cents, shares[part.account, SALE])
            targets[part.account, kind] = -commission
            targets[None, kind] = targets.get((None, kind), 0) + commission
    return targets


def _amounts_of_sale(order: OrderMoney) -> Targets:
    """Return what the accounts have of an order that is paid in full, before commissions; their sum is its total.

    What the lines and amounts of an imported order don't explain of its total is a sale of the store.
    """
    amounts: Targets = {(None, SALE): 0, (None, SHIPPING): order.shipping_cents}
    for part in order.parts:
        amounts[part.account, SALE] = part.lines_cents
        if part.account is not None:
            shipping = order.shipping_cents if part.account == order.shipper_id else part.shipping_cents
            amounts[part.account, SHIPPING] = shipping
            amounts[None, SHIPPING] -= shipping
    amounts |= {
        (None, DISCOUNT): -order.discount_cents,
        (None, SURCHARGE): order.surcharge_cents,
        (None, TAX): order.tax_cents,
    }
    amounts[None, SALE] += order.total_cents - sum(amounts.values())
    return amounts


def _share(amounts: Targets, cents: int, total_cents: int) -> Targets:
    """Return the part of the amounts that `cents` are of their total, to the cent."""
    if not cents:
        return dict.fromkeys(amounts, 0)
    if cents == total_cents or not total_cents:
        return amounts
    return dict(zip(amounts, allocate(cents, list(amounts.values())), strict=True))


def _commission(part: OrderPart, cents: int, total_cents: int, lines_cents: int) -> int:
    """Return the part of the commission that `cents` are of the order's total; at most the part of the lines."""
    if not cents:
        return 0
    if cents == total_cents or not total_cents:
        return part.commission_cents
    return min(lines_cents, divide_half_up(part.commission_cents * cents, total_cents))


# --- Writing ----------------------------------------------------------------------------------------------------------

# Entries that take away count from $3, or with the account's first entries of the order if these count later.
# The payment's date is that of the latest payment, or of the change to a status that says the order is paid.
_RECEIVED = "'PAID', 'PARTIALLY_REFUNDED', 'REFUNDED', 'DISPUTED'"
_STATE = f"""
SELECT o.id, o.status, o.payment_status, o.deleted_at IS NOT NULL AS is_deleted, o.total_cents, o.discount_cents, o.shipping_cents,
    o.surcharge_cents, o.tax_cents, o.paid_cents, o.refunded_cents, o.updated_at,
    nullif(coalesce(o.shipping_account, m.vendor_id), 0) AS shipper_id, p.sole_id AS sole_payment_id,
    coalesce(greatest(p.latest_at, (
        SELECT max(h.at) FROM order_status_changes h
        WHERE h.tenant_id = $1 AND h.order_id = o.id AND h.to_status IN ('P', 'C') AND h.from_status NOT IN ('P', 'C')
    )), o.created_at) AS paid_at,
    (SELECT json_agg(json_build_array(l.vendor_id, l.lines_cents, l.shipping_cents, l.commission_cents
            + CASE WHEN l.old_cents > 0
                THEN {COMMISSION_SQL.format(cents="l.old_cents", rate=RATE_OF_OLD_LINES, type=RATE_TYPE_OF_OLD_LINES)}
                ELSE 0 END) ORDER BY l.vendor_id NULLS FIRST)
        FROM (
            SELECT vendor_id, sum(quantity * price_cents)::bigint AS lines_cents, sum(shipping_cents)::bigint AS shipping_cents,
                coalesce(sum(commission_cents), 0)::bigint AS commission_cents,
                coalesce(sum(quantity * price_cents) FILTER (WHERE commission_cents IS NULL AND vendor_id IS NOT NULL), 0)::bigint
                    AS old_cents
            FROM order_lines WHERE tenant_id = $1 AND order_id = o.id GROUP BY vendor_id
        ) l LEFT JOIN vendors v ON v.tenant_id = $1 AND v.id = l.vendor_id)::text AS parts,
    (SELECT json_agg(json_build_array(x.id, x.status, coalesce(x.paid_cents, 0), x.refunded_cents, x.shares))
        FROM payments x WHERE x.tenant_id = $1 AND x.order_id = o.id AND x.shares IS NOT NULL AND x.status IN ({_RECEIVED}))::text
        AS divided,
    (SELECT json_agg(json_build_array(w.vendor_id, w.kind, w.cents, w.marked_cents, w.reversed_at))
        FROM (
            SELECT vendor_id, kind, sum(amount_cents)::bigint AS cents,
                coalesce(sum(amount_cents) FILTER (WHERE is_split), 0)::bigint AS marked_cents,
                greatest(min(min(available_at)) OVER (PARTITION BY vendor_id), $3::timestamptz) AS reversed_at
            FROM ledger_entries WHERE tenant_id = $1 AND order_id = o.id GROUP BY vendor_id, kind
        ) w)::text AS written
FROM orders o
LEFT JOIN shipping_methods m ON m.tenant_id = $1 AND m.id = o.shipping_method_id
CROSS JOIN LATERAL (
    SELECT max(coalesce(x.paid_at, x.created_at)) AS latest_at,
        CASE WHEN count(*) = 1 AND sum(coalesce(x.paid_cents, x.amount_cents)) = o.paid_cents THEN min(x.id) END AS sole_id
    FROM payments x WHERE x.tenant_id = $1 AND x.order_id = o.id AND x.status IN ({_RECEIVED})
) p
WHERE o.tenant_id = $1 AND o.id = ANY($2::bigint[])
ORDER BY o.id
"""
_COLUMNS = LedgerEntry.column_defaults()
_WRITE = f"""
WITH written AS (DELETE FROM ledger_queue WHERE tenant_id = $1 AND order_id = ANY($3::bigint[]))
{insert_sql("ledger_entries", _COLUMNS)}
"""


class AppliedPayment(NamedTuple):
    """A payment that a change adds to the paid total of an order, in cents; 0 when it is refunded."""

    id: int
    cents: int


class _Change(NamedTuple):
    account: Account
    kind: str
    cents: int
    payment_id: int | None
    is_split: bool = False


class _Written(NamedTuple):
    """What the entries of an order say: sums by account and kind, of all and of those that are marked as split."""

    cents: Targets
    marked: Targets


async def write_order_entries(
    scope: Scope, *order_ids: int, payments: Sequence[AppliedPayment] = (), is_late: bool = False
) -> None:
    """Write what the ledger lacks of locked orders; nothing where it agrees with them.

    The entries refer to the `payments` that the change applies, the shares of each add up to its amount. `is_late`: the change was made
    before, so that its entries have the time of the orders' payments, or of their last change where they take back.
    """
    states = await fetch(_STATE, scope.store.id, list(order_ids), scope.now)
    rows = [row for state in states for row in _entry_rows(scope, state, payments, is_late=is_late)]
    await execute_later(_WRITE, scope.store.id, json_text(rows), list(order_ids))


async def read_order_money(scope: Scope, order_id: int) -> OrderMoney:
    """Return what the entries of a locked order depend on."""
    [state] = await fetch(_STATE, scope.store.id, [order_id], scope.now)
    return _order_money(state)


def _order_money(state: Mapping[str, Any]) -> OrderMoney:
    return from_row(OrderMoney, state, parts=[OrderPart(*part) for part in orjson.loads(state["parts"] or "[]")])


def _entry_rows(
    scope: Scope, state: Mapping[str, Any], payments: Sequence[AppliedPayment], *, is_late: bool
) -> list[dict[str, Any]]:
    order = _order_money(state)
    written = _Written({}, {})
    reversed_at: dict[Account, str] = {}
    for account, kind, cents, marked, time in orjson.loads(state["written"] or "[]"):
        written.cents[account, kind] = cents
        if marked:
            written.marked[account, kind] = marked
        reversed_at[account] = time
    sole = state["sole_payment_id"]
    if not payments and sole is not None and not written.cents:
        payments = (AppliedPayment(sole, order.paid_cents),)
    divided = [
        DividedPayment(number, status, paid, refunded, read_shares(shares))
        for number, status, paid, refunded, shares in orjson.loads(state["divided"] or "[]")
    ]
    changes = _changes(order, written, payments, divided)
    gains: dict[tuple[Account, bool], int] = {}
    for change in changes:
        key = (change.account, change.is_split)
        gains[key] = gains.get(key, 0) + change.cents
    available_at = state["paid_at"] + timedelta(days=setting(scope, "payout_days"))
    rows = []
    for account, kind, cents, payment_id, is_split in changes:
        # What an account gains counts after the store's days, what it loses together with what it gained of the order.
        is_gain = gains[account, is_split] >= 0
        counts_at = available_at if is_gain else reversed_at.get(account, scope.now)
        row = entry_row(scope, account, kind, cents, counts_at)
        row |= {"order_id": state["id"], "payment_id": payment_id, "is_split": is_split}
        if is_late:
            row["created_at"] = state["paid_at" if is_gain else "updated_at"]
        rows.append(row)
    return rows


def _changes(
    order: OrderMoney,
    written: _Written,
    payments: Sequence[AppliedPayment],
    divided: Sequence[DividedPayment] = (),
) -> list[_Change]:
    """Return what is to be written, for each payment apart: as if the later ones hadn't been received yet."""
    changes: list[_Change] = []
    later = sum(payment.cents for payment in payments)
    waiting = {payment.id for payment in payments}
    for payment in payments or (None,):
        if payment is not None:
            later -= payment.cents
            waiting.discard(payment.id)
        targets = order_targets(replace(order, paid_cents=order.paid_cents - later))
        keys = sorted(targets.keys() | written.cents.keys(), key=_in_order)
        lacking = {key: targets.get(key, 0) - written.cents.get(key, 0) for key in keys}
        marked: Targets = {}
        if divided or written.marked:
            marked = marked_parts(lacking, moved_cents(divided, waiting), written_cents(written.marked))
        payment_id = payment.id if payment is not None else None
        for key in sorted(lacking.keys() | marked.keys(), key=_in_order):
            moved = marked.get(key, 0)
            parts = ((moved, True), (lacking.get(key, 0) - moved, False))
            changes += [_Change(*key, cents, payment_id, is_split) for cents, is_split in parts if cents]
        written = _Written(targets, _added(written.marked, marked))
    return changes


def _added(written: Targets, marked: Targets) -> Targets:
    return {key: written.get(key, 0) + marked.get(key, 0) for key in written.keys() | marked.keys()}


def _in_order(key: tuple[Account, str]) -> tuple[int, str]:
    return key[0] or 0, key[1]


def entry_row(
    scope: Scope, account: Account, kind: str, cents: int, available_at: datetime | str, *, reason: str = ""
) -> dict[str, Any]:
    """Return the columns of an entry."""
    return {
        **_COLUMNS,
        "public_id": uuid7(),
        "vendor_id": account,
        "kind": kind,
        "amount_cents": cents,
        "reason": reason,
        "available_at": available_at,
        "created_at": scope.now,
    }
