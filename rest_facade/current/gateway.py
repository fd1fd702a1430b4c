"""Be the routes of the payment gateway: its notifications come in, administrators look at them and have them processed again.

The body of a notification goes inward as it was sent: the signature is over its bytes, and nothing reads them before it is proven.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from kernel import logging
from kernel.errors import Conflict, DomainError, MalformedRequest, NotFound, RuleViolation
from kernel.text import shown
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.bodies import read_raw
from rest_facade.list_parameters import Query, page_number, page_size
from rest_facade.responses import UNEXPECTED, json_response
from rest_facade.routing import Needs, Route, request_id_of, scope_of

LIST = "/api/v1/admin/gateway/webhooks"
SIGNATURE_HEADERS = ("X-Hub-Signature-256", "X-Hub-Signature")
REPROCESSED = "webhook reprocessed"
NOT_REPROCESSED = "failed to reprocess webhook"
NOT_LISTED = "failed to list webhooks"

_BOOLEANS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_INTEGER = re.compile(r"[+-]?[0-9]+")


class GatewayRoutes:
    """Serve the gateway's routes."""

    def __init__(self, operations: Mapping[str, FacadeOperation]) -> None:
        self._receive = operations["GatewayNotificationReceive"]
        self._list = operations["AdminGatewayNotifications"]
        self._reprocess = operations["AdminGatewayNotificationReprocess"]

    def routes(self) -> list[Route]:
        """List the routes."""
        return [
            # A payment made before the store closed for maintenance is told of meanwhile.
            Route("POST", "/api/v1/webhooks/gateway", self.receive, Needs.SIGNATURE, allow_maintenance=True),
            Route("GET", LIST, self.listed, Needs.ADMIN),
            Route("POST", f"{LIST}/{{id}}/reprocess", self.reprocess, Needs.ADMIN),
        ]

    async def receive(self, request: web.Request) -> web.Response:
        """Take a notification, whatever its content type says: 200 once it is stored."""
        body = await read_raw(request)
        signatures = [value for name in SIGNATURE_HEADERS for value in request.headers.getall(name, ())]
        data = await execute(scope_of(request), self._receive, {"body": body, "signatures": signatures})
        return json_response(data["gateway_notification_receive"])

    async def listed(self, request: web.Request) -> web.Response:
        """List notifications, the newest first."""
        scope = scope_of(request)
        authorize(scope, self._list)
        variables = {
            "filter": processed_filter(request.query),
            "page": page_number(request.query),
            "per_page": page_size(request.query),
        }
        try:
            data = await execute(scope, self._list, variables)
        except DomainError:
            raise
        except Exception as error:
            logging.failure("notifications could not be listed", error, request_id=request_id_of(request))
            return json_response({"error": NOT_LISTED, "detail": UNEXPECTED}, status=500)
        found = data["gateway_notification_page"]
        return json_response({**found, "webhooks": [_record(each) for each in found["webhooks"]]})

    async def reprocess(self, request: web.Request) -> web.Response:
        """Process a notification again; what can't be done is 422 here, unlike at its first arrival."""
        scope = scope_of(request)
        authorize(scope, self._reprocess)
        given = request.match_info["id"]
        if not given.isascii() or not _INTEGER.fullmatch(given):
            raise MalformedRequest("invalid webhook id", detail=f"id is {shown(given)}; expected an integer")
        try:
            # Python reads no integer of thousands of digits, and no notification has one of twenty.
            await execute(scope, self._reprocess, {"id": given.lstrip("+0")[:20]})
        except (NotFound, Conflict, RuleViolation) as refusal:
            raise RuleViolation(NOT_REPROCESSED, details={"detail": refusal.message}) from refusal
        return json_response({"message": REPROCESSED})


def processed_filter(query: Query) -> dict[str, bool]:
    """Read `processed`; empty is absent, as forms send it."""
    text = query.get("processed", "").strip()
    if not text:
        return {}
    if text.lower() not in _BOOLEANS:
        raise MalformedRequest(
            "invalid processed filter",
            detail=f"processed is {shown(text)}; expected one of {', '.join(_BOOLEANS)}",
        )
    return {"processed": _BOOLEANS[text.lower()]}


def _record(found: Mapping[str, Any]) -> dict[str, Any]:
    """Write a record; `charge_id` is there when the event carries one."""
    return {name: value for name, value in found.items() if name != "charge_id" or value is not None}
