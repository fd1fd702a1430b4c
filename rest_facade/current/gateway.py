"""Serve the payment gateway's webhook and its admin routes: list notifications and reprocess one.

The raw body is passed on unparsed: the signature covers its bytes, and nothing is parsed before it is verified
(docs/reference/current.md#gateway-signature).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from kernel import logging
from kernel.errors import Conflict, DomainError, MalformedRequest, NotFound, RuleViolation
from kernel.text import repr_value
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.bodies import read_raw
from rest_facade.list_parameters import Query, page_number, page_size, query_of
from rest_facade.responses import UNEXPECTED_ERROR, json_response, page_response
from rest_facade.routing import REQUEST_ID, SCOPE, Credential, Route

LIST = "/api/v1/admin/gateway/webhooks"
SIGNATURE_HEADERS = ("X-Hub-Signature-256", "X-Hub-Signature")
REPROCESSED = "webhook reprocessed"
NOT_REPROCESSED = "failed to reprocess webhook"
NOT_LISTED = "failed to list webhooks"
INVALID_PROCESSED = "invalid processed filter"

_BOOLEANS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_INTEGER = re.compile(r"[+-]?[0-9]+")


class GatewayHandlers:
    """Serve the gateway routes."""

    def __init__(self, operations: Mapping[str, FacadeOperation]) -> None:
        self._receive = operations["GatewayNotificationReceive"]
        self._list = operations["AdminGatewayNotifications"]
        self._reprocess = operations["AdminGatewayNotificationReprocess"]

    def routes(self) -> list[Route]:
        """List the routes."""
        admin, signature = Credential.ADMIN, Credential.SIGNATURE
        return [
            # Payments made before maintenance began are reported during it.
            Route("POST", "/api/v1/webhooks/gateway", self.receive, signature, allow_maintenance=True),
            Route("GET", LIST, self.list_notifications, admin),
            Route("POST", f"{LIST}/{{id}}/reprocess", self.reprocess, admin),
        ]

    async def receive(self, request: web.Request) -> web.Response:
        """Receive a notification of any content type; 200 once it is stored."""
        body = await read_raw(request)
        signatures = [value for name in SIGNATURE_HEADERS for value in request.headers.getall(name, ())]
        data = await execute(request[SCOPE], self._receive, {"body": body, "signatures": signatures})
        return json_response(data["gateway_notification_receive"])

    async def list_notifications(self, request: web.Request) -> web.Response:
        """List notifications, newest first."""
        scope = authorize(request[SCOPE], self._list)
        query = query_of(request)
        variables = {"filter": processed_filter(query), "page": page_number(query), "per_page": page_size(query)}
        try:
            data = await execute(scope, self._list, variables)
        except DomainError:
            raise
        except Exception as error:
            logging.failure("notifications could not be listed", error, request_id=request[REQUEST_ID])
            return json_response({"error": NOT_LISTED, "detail": UNEXPECTED_ERROR}, status=500)
        page = data["gateway_notification_page"]
        return page_response(
            request, {**page, "webhooks": [_render(notification) for notification in page["webhooks"]]}
        )

    async def reprocess(self, request: web.Request) -> web.Response:
        """Reprocess a notification; unlike on receipt, a failure is a 422."""
        scope = authorize(request[SCOPE], self._reprocess)
        number = request.match_info["id"]
        if not number.isascii() or not _INTEGER.fullmatch(number):
            raise MalformedRequest("invalid webhook id", detail=f"id is {repr_value(number)}; expected an integer")
        try:
            # `int` rejects thousands of digits, and no id has twenty.
            await execute(scope, self._reprocess, {"id": number.lstrip("+0")[:20]})
        except (NotFound, Conflict, RuleViolation) as error:
            raise RuleViolation(NOT_REPROCESSED, details={"detail": error.message}) from error
        return json_response({"message": REPROCESSED})


def processed_filter(query: Query) -> dict[str, bool]:
    """Parse `processed`; an empty value counts as missing."""
    try:
        text = query.get("processed", "").strip()
    except MalformedRequest as error:  # two values
        raise MalformedRequest(INVALID_PROCESSED, detail=error.details["detail"]) from error
    if not text:
        return {}
    if text.lower() not in _BOOLEANS:
        detail = f"processed is {repr_value(text)}; expected one of {', '.join(_BOOLEANS)}"
        raise MalformedRequest(INVALID_PROCESSED, detail=detail)
    return {"processed": _BOOLEANS[text.lower()]}


def _render(notification: Mapping[str, Any]) -> dict[str, Any]:
    """Render a notification; `charge_id` is present only when the event has one."""
    return {name: value for name, value in notification.items() if name != "charge_id" or value is not None}
