"""Serve the admin routes of the ledger besides its lists: payouts, adjustments, the sales report (docs/reference/current.md#ledger)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from kernel.csv_text import csv_text
from kernel.errors import MalformedRequest, NotFound, ValidationFailed
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.bodies import read_json_object
from rest_facade.collection_openapi import filter_query
from rest_facade.collections import LEDGER_ENTRIES, PAYOUTS
from rest_facade.current.admin import PREFIX
from rest_facade.field_errors import REQUIRED, FieldCodes
from rest_facade.list_parameters import MAX_PAGE, MAX_PAGE_SIZE, Query, page_number, page_size, query_of
from rest_facade.openapi import (
    INTEGER,
    PAGE,
    STRING,
    OperationResult,
    RouteDocs,
    RouteKey,
    described,
    enum,
    object_schema,
    page_size_schema,
    request_body,
)
from rest_facade.records import execute_with_codes, path_uuid
from rest_facade.responses import BytesResponse, json_response
from rest_facade.routing import SCOPE, Credential, Route

SALES = f"{PREFIX}/sales-report"
_PAYOUTS, _ENTRIES = f"{PREFIX}/{PAYOUTS.name}", f"{PREFIX}/{LEDGER_ENTRIES.name}"
_CSV = "text/csv; charset=utf-8"
_MAX_SALES = 1_000
_MAX_PAYOUTS = 10_000
# The operation that sets each status.
_STATUS_OPERATIONS = {"paid": "AdminPayoutMarkPaid", "cancelled": "AdminPayoutCancel"}
PAYOUT_COLUMNS = (
    "number", "vendor_name", "cnpj", "amount_cents", "currency", "status", "created_at", "paid_at", "note", "id", "vendor_id",
)  # fmt: skip
SALES_COLUMNS = (
    "month", "vendor_name", "cnpj", "gross_cents", "commission_cents", "refunds_cents", "net_cents", "orders", "vendor_id",
)  # fmt: skip


class LedgerHandlers:
    """Serve the routes of the ledger."""

    def __init__(self, operations: Mapping[str, FacadeOperation]) -> None:
        self._operations = operations

    def routes(self) -> list[Route]:
        """List the routes."""
        admin = Credential.ADMIN
        return [
            Route("POST", _ENTRIES, self.adjust, admin, creates=True),
            Route("POST", _PAYOUTS, self.create_payouts, admin, creates=True),
            Route("PUT", f"{_PAYOUTS}/{{id}}/status", self.set_status, admin),
            Route("GET", f"{PREFIX}/payouts.csv", self.list_payouts, admin),
            Route("GET", SALES, self.report_sales, admin),
            Route("GET", f"{SALES}.csv", self.list_sales, admin),
        ]

    async def adjust(self, request: web.Request) -> web.Response:
        """Correct an account: `{vendor_id?, amount_cents, reason}`."""
        record = await self._write(
            request, "AdminLedgerAdjust", ("vendor_id", "amount_cents", "reason"), LEDGER_ENTRIES.field_codes,
            required=("amount_cents", "reason"),
        )  # fmt: skip
        return json_response(record, status=201)

    async def create_payouts(self, request: web.Request) -> web.Response:
        """Create payouts to a vendor or to all: `{vendor_id?, amount_cents?, note?}`."""
        names = ("vendor_id", "amount_cents", "note")
        payouts = await self._write(request, "AdminPayoutCreate", names, PAYOUTS.field_codes)
        return json_response({"payouts": payouts}, status=201)

    async def set_status(self, request: web.Request) -> web.Response:
        """Mark a payout as paid, or cancel it: `{status, note?}`."""
        scope = authorize(request[SCOPE], self._operations["AdminPayoutMarkPaid"])
        body = await read_json_object(request)
        status = body.get("status")
        if not isinstance(status, str) or status not in _STATUS_OPERATIONS:
            code = REQUIRED if status in (None, "") else "status_invalid"
            raise ValidationFailed("status is invalid; expected paid or cancelled", fields={"status": code})
        variables = {"id": path_uuid(request, PAYOUTS.display_name), "note": body.get("note")}
        record = await execute_with_codes(scope, self._operations[_STATUS_OPERATIONS[status]], variables, {})
        if record is None:
            raise NotFound(PAYOUTS.display_name)
        return json_response(record)

    async def list_payouts(self, request: web.Request) -> web.Response:
        """Return payouts as CSV, oldest first; at most 10,000."""
        operation = self._operations["AdminPayouts"]
        scope = authorize(request[SCOPE], operation)
        filters = PAYOUTS.list_definition.filter(query_of(request), scope.store)
        rows: list[dict[str, Any]] = []
        for page in range(1, _MAX_PAYOUTS // MAX_PAGE_SIZE + 1):
            variables = {"page": page, "per_page": MAX_PAGE_SIZE, "filter": filters, "sort": "ID_ASC"}
            data = await execute(scope, operation, variables)
            listed = data[operation.fields[0]]["payouts"]
            rows += listed
            if len(listed) < MAX_PAGE_SIZE:
                break
        return _csv_response(csv_text(PAYOUT_COLUMNS, rows))

    async def report_sales(self, request: web.Request) -> web.Response:
        """Return the sales of vendors by month: `month_from`, `month_to` (`2026-11`), `vendor_id`."""
        return json_response({"sales": await self._sales(request, MAX_PAGE_SIZE)})

    async def list_sales(self, request: web.Request) -> web.Response:
        """Return the sales of vendors by month as CSV; at most 1,000 rows a page."""
        return _csv_response(csv_text(SALES_COLUMNS, await self._sales(request, _MAX_SALES)))

    async def _sales(self, request: web.Request, default: int) -> list[dict[str, Any]]:
        operation = self._operations["AdminSalesReport"]
        scope = authorize(request[SCOPE], operation)
        query = query_of(request)
        size = page_size(query, default=default, maximum=_MAX_SALES)
        # An Int of GraphQL: no report has as many rows.
        offset = min((page_number(query) - 1) * size, MAX_PAGE)
        variables = {"limit": size, "offset": offset, **_period(query)}
        try:
            data = await execute(scope, operation, variables)
        except ValidationFailed as error:
            raise MalformedRequest(f"invalid {error.field}", detail=error.message) from error
        sales: list[dict[str, Any]] = data["sales"]
        return sales

    async def _write(
        self,
        request: web.Request,
        name: str,
        names: tuple[str, ...],
        codes: FieldCodes,
        required: tuple[str, ...] = (),
    ) -> Any:
        operation = self._operations[name]
        scope = authorize(request[SCOPE], operation)
        body = await read_json_object(request)
        values = {name: body[name] for name in names if body.get(name) is not None}
        missing = {name: REQUIRED for name in required if values.get(name, "") == ""}
        if missing:
            raise ValidationFailed(f"{next(iter(missing))} is required", fields=missing)
        return await execute_with_codes(scope, operation, values, codes)


def _period(query: Query) -> dict[str, str]:
    return {name: query[name] for name in ("vendor_id", "month_from", "month_to") if query.get(name)}


def _csv_response(text: str) -> web.Response:
    return BytesResponse(text.encode(), content_type=_CSV)


_MONTH = {"type": "string", "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$"}
_SALES_QUERY = {
    "vendor_id": STRING,
    "month_from": described(_MONTH, "The first month, UTC; by default the last one, or the present."),
    "month_to": described(_MONTH, "The last month; by default the first one, or the present."),
    "page": PAGE,
}


def ledger_docs() -> dict[RouteKey, RouteDocs]:
    """Document the routes of `LedgerHandlers`."""
    sales = OperationResult("AdminSalesReport")
    return {
        ("POST", _ENTRIES): RouteDocs(
            "Correct the account of a vendor, or the store's own",
            OperationResult("AdminLedgerAdjust"),
            status=201,
            body=request_body("amount_cents", "reason", vendor_id=STRING, amount_cents=INTEGER, reason=STRING),
        ),
        ("POST", _PAYOUTS): RouteDocs(
            "Create payouts to a vendor, or to all",
            object_schema(payouts=OperationResult("AdminPayoutCreate")),
            status=201,
            body=request_body(vendor_id=STRING, amount_cents=INTEGER, note=STRING),
        ),
        ("PUT", f"{_PAYOUTS}/{{id}}/status"): RouteDocs(
            "Mark a payout as paid, or cancel it",
            OperationResult("AdminPayoutMarkPaid"),
            body=request_body("status", status=enum(tuple(_STATUS_OPERATIONS)), note=STRING),
        ),
        ("GET", f"{PREFIX}/payouts.csv"): RouteDocs(
            "List payouts as CSV",
            STRING,
            operation="AdminPayouts",
            query=filter_query(PAYOUTS.list_definition),
            media="text/csv",
        ),
        ("GET", SALES): RouteDocs(
            "Report the sales of vendors by month",
            object_schema(sales=sales),
            query={**_SALES_QUERY, "per_page": page_size_schema(MAX_PAGE_SIZE, _MAX_SALES)},
        ),
        ("GET", f"{SALES}.csv"): RouteDocs(
            "Report the sales of vendors by month as CSV",
            STRING,
            operation="AdminSalesReport",
            media="text/csv",
            query={**_SALES_QUERY, "per_page": page_size_schema(_MAX_SALES, _MAX_SALES)},
        ),
    }
