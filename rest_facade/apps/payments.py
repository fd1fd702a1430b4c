"""Serve the report of an app about a payment that it is the gateway of, `POST /api/admin/payments/{id}/report`."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from kernel.errors import ValidationFailed
from resolvers.execute import FacadeOperation, authorize
from rest_facade.bodies import read_json_object
from rest_facade.field_errors import REQUIRED
from rest_facade.records import execute_with_codes, path_uuid
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Handler, Route

PATH = "/api/admin/payments/{id}/report"
FIELDS = ("status", "paid_cents", "refunded_cents", "charge_id", "amount_cents", "currency", "failure")
_CODES = {
    "status": "status_invalid",
    "paid_cents": "amount_invalid",
    "refunded_cents": "amount_invalid",
    "amount_cents": "amount_invalid",
    "charge_id": "charge_id_invalid",
    "failure": "failure_invalid",
}


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes."""
    return [Route("POST", PATH, _report_handler(operations["AppPaymentReport"]), Credential.APP)]


def _report_handler(operation: FacadeOperation) -> Handler:
    async def report(request: web.Request) -> web.Response:
        """Write what the app says about its payment: `{status, paid_cents?, refunded_cents?, …}`."""
        scope = authorize(request[SCOPE], operation)
        body = await read_json_object(request)
        values = {name: body[name] for name in FIELDS if body.get(name) is not None}
        if "status" not in values:
            raise ValidationFailed("status is required", fields={"status": REQUIRED})
        variables = {"payment_id": path_uuid(request, "payment"), "input": values}
        return json_response(await execute_with_codes(scope, operation, variables, _CODES))

    return report
