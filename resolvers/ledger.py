"""Resolve the marketplace's ledger: entries, payouts, the sales report."""

from __future__ import annotations

from strawberry import Info

from auth.access import Access
from domain.ledger import payouts
from domain.ledger.sales_report import load_sales_report
from models.reading import row_reads
from models.reading.queries import by_ids
from models.reading.response_shapes import ResponseShape, ScalarField
from resolvers.engine.complete import load_record
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import rename_error_fields
from schema.declaration import declare
from schema.fields import root_field
from schema.pagination import check_page_bounds
from schema.scalars import ID, BigInt
from schema.selection import requested_shape
from schema.types.ledger import READ_LEDGER, LedgerEntryObject, PayoutObject, VendorAccountObject, VendorSalesObject

_PAY = Access(privileges=("manage_payments",))
_VENDOR = {"vendor_id": "vendor"}
_MAX_ROWS = 1_000


@declare
class LedgerQueries:
    """Further queries of the ledger."""

    @root_field(READ_LEDGER)
    async def sales_report(
        self,
        info: Info,
        vendor_id: ID | None = None,
        month_from: str | None = None,
        month_to: str | None = None,
        limit: int = _MAX_ROWS,
        offset: int = 0,
    ) -> list[VendorSalesObject]:
        """Return the sales of vendors by month, latest first, by default of the present month (`2026-11`, UTC).

        At most 36 months and 1,000 rows; a vendor gets its own.
        """
        check_page_bounds(limit, offset, _MAX_ROWS, "limit")
        return await load_sales_report(  # type: ignore[return-value]
            info.context.scope, vendor_id, month_from, month_to, limit=limit, offset=offset
        )


@declare
class LedgerMutations:
    """Mutations of payouts and accounts."""

    @root_field(_PAY)
    async def payout_create(
        self, info: Info, vendor_id: ID | None = None, amount_cents: BigInt | None = None, note: str = ""
    ) -> list[PayoutObject]:
        """Create a payout of what a vendor has available, or less, or of what each vendor has if it is the store's minimum.

        It is taken from the balance at once; no money moves. Emits `payout.created`.
        """
        scope = info.context.scope
        with rename_error_fields(_VENDOR):
            numbers = await payouts.create_payouts(scope, vendor_id, amount_cents, note)
        order = {number: index for index, number in enumerate(numbers)}
        shape = requested_shape(info)
        keyed = ResponseShape(shape.entity, (*shape.fields, ScalarField("@number", "t.id")))
        rows = await row_reads.fetch_many(scope, keyed, conditions=[by_ids(list(order))], limit=len(order))
        return sorted(rows, key=lambda row: order[row["@number"]])  # type: ignore[arg-type, index, return-value]

    @root_field(_PAY)
    async def payout_mark_paid(self, info: Info, id: ID, note: str | None = None) -> PayoutObject | None:
        """Record that a payout was transferred. Emits `payout.paid`."""
        return await load_record(info, await payouts.mark_paid(info.context.scope, id, note))

    @root_field(_PAY)
    async def payout_cancel(self, info: Info, id: ID, note: str | None = None) -> PayoutObject | None:
        """Cancel a payout that was not transferred; its amount returns to the balance."""
        return await load_record(info, await payouts.cancel_payout(info.context.scope, id, note))

    @root_field(_PAY)
    async def ledger_adjust(
        self, info: Info, amount_cents: BigInt, reason: str, vendor_id: ID | None = None
    ) -> LedgerEntryObject | None:
        """Correct the account of a vendor, or the store's own without one, by an entry with a reason; it is recorded in the audit log."""
        with rename_error_fields(_VENDOR):
            number = await payouts.adjust_ledger(info.context.scope, vendor_id, amount_cents, reason)
        return await load_record(info, number)


QUERIES = (
    LedgerQueries,
    build_entity_queries(VendorAccountObject),
    build_entity_queries(LedgerEntryObject),
    build_entity_queries(PayoutObject),
)
MUTATIONS = (LedgerMutations,)
