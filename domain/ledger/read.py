"""Queryable fields of the ledger and of payouts: visibility, filters and sort orders."""

from __future__ import annotations

from dataclasses import replace

from domain.filters import created_range, exact, ids, optional_references, references, sorts, substring
from domain.visibility import VisibleRows
from models.reading.queries import Entity, EntityFilter, Sort, compares

# Vendors see their own account; the store's own is for its staff.
_VISIBLE = VisibleRows(admin=("view_marketplace", "view_payments"), app="read_orders", vendor="t.vendor_id = {company}")

LEDGER_ENTRIES = Entity(
    table="ledger_entries",
    visible=_VISIBLE,
    filters={
        "id": ids("entries"),
        "vendor_id": optional_references(
            "vendors", "of the account of any of these vendors; 0 means of the store's own"
        ),
        "order_id": references("orders", "of any of these orders"),
        "payout_id": references("payouts", "of any of these payouts"),
        **exact("ledger_entry_kind", kind="any of these kinds"),
        **created_range(),
        "available_from": EntityFilter("time", compares("t.available_at", ">="), "available at or after this time"),
        "available_before": EntityFilter("time", compares("t.available_at", "<"), "available before this time"),
    },
    sorts={
        **sorts("created_at"),
        "amount_cents": Sort("t.amount_cents", "bigint", "amount"),
        "available_at": Sort("t.available_at", "timestamptz", "time from which it is available"),
        **sorts("id"),
    },
    default_sort="-created_at",
)

# A vendor that was deleted is listed while the store owes it something, or it the store.
_HAS_ACCOUNT = """(t.deleted_at IS NULL OR 0 <> (SELECT coalesce(sum(e.amount_cents), 0)
    FROM ledger_entries e WHERE e.tenant_id = t.tenant_id AND e.vendor_id = t.id AND NOT e.is_split))"""

VENDOR_ACCOUNTS = Entity(
    table="vendors",
    base_condition=_HAS_ACCOUNT,
    visible=replace(_VISIBLE, vendor="t.id = {company}"),
    filters={"id": ids("vendors"), "search": substring("name", "t.name")},
    sorts=sorts("name", "created_at", "id"),
)

PAYOUTS = Entity(
    table="payouts",
    visible=_VISIBLE,
    filters={
        "id": ids("payouts"),
        "vendor_id": references("vendors", "to any of these vendors"),
        **exact("payout_status", status="any of these statuses"),
        **created_range(),
    },
    sorts={
        **sorts("created_at"),
        "amount_cents": Sort("t.amount_cents", "bigint", "amount"),
        **sorts("status", "id"),
    },
    default_sort="-created_at",
)
