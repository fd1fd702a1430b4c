"""Serve webhook endpoints and their deliveries, for apps as `webhooks` and for administrators as `event-endpoints`.

Both families have CRUD routes for endpoints and, below one, `ping`, `replay`, its deliveries and `redeliver`. Queued work returns
202 (docs/reference/shared.md#webhook-endpoints).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from kernel.codes import SWITCH_STATUSES
from kernel.errors import NotFound, ValidationFailed
from resolvers.execute import FacadeOperation, authorize, execute, execute_field
from rest_facade.bodies import read_json_object
from rest_facade.collections import Collection, array
from rest_facade.list_parameters import FilterParameter, ListDefinition, choice_parser, code_parser, query_of
from rest_facade.records import CollectionHandlers, execute_with_codes, path_uuid
from rest_facade.responses import json_response, page_response
from rest_facade.routing import SCOPE, Credential, Route

DELIVERY_STATES = ("pending", "delivering", "delivered", "failed", "dead", "cancelled")

ENDPOINT_COLLECTION = Collection(
    name="event-endpoints",
    display_name="event endpoint",
    plural="EventEndpoints",
    singular="EventEndpoint",
    list_definition=ListDefinition(
        filters={
            "status": FilterParameter("status", code_parser(SWITCH_STATUSES)),
            "installed_app_id": FilterParameter("installed_app_id", str),
        },
        sorts={"id": "ID"},
    ),
    body={"url": None, "events": array, "query": None, "status": None, "installed_app_id": None},
    field_codes={"url": "url_invalid", "events": "event_unknown", "query": "query_invalid", "status": "status_invalid"},
)
DELIVERY_LIST = ListDefinition(
    filters={
        "state": FilterParameter("state", choice_parser("state", DELIVERY_STATES)),
        "event": FilterParameter("event", str),
    },
    sorts={"id": "ID"},
)
_DELIVERY_NAME = "event delivery"
_REPLAY_FIELDS = ("since", "until", "events")
_REPLAY_CODES = {"since": "date_invalid", "until": "date_invalid", "events": "event_unknown"}


@dataclass(frozen=True, slots=True)
class WebhookEndpointHandlers:
    """Serve the webhook endpoints of one family at `path`; `prefix` begins its operation names."""

    path: str
    prefix: str
    credential: Credential
    operations: Mapping[str, FacadeOperation] = field(repr=False)
    size_parameter: str = "per_page"

    def routes(self) -> list[Route]:
        """List the routes."""
        records = CollectionHandlers(
            ENDPOINT_COLLECTION.with_listing(size_parameter=self.size_parameter), self.prefix, self.operations
        )
        single = f"{self.path}/{{id}}"
        deliveries = f"{single}/deliveries"
        return [
            *records.routes(self.path, self.credential),
            Route("POST", f"{single}/ping", self.ping, self.credential, creates=True),
            Route("POST", f"{single}/replay", self.replay, self.credential),
            Route("GET", deliveries, self.list_deliveries, self.credential),
            Route("GET", f"{deliveries}/{{delivery_id}}", self.show_delivery, self.credential),
            Route("POST", f"{deliveries}/{{delivery_id}}/redeliver", self.redeliver, self.credential),
        ]

    async def ping(self, request: web.Request) -> web.Response:
        """Send a `ping` event to the endpoint."""
        return json_response(
            await self._execute(request, "EventEndpointPing", {"id": _endpoint_id(request)}), status=202
        )

    async def replay(self, request: web.Request) -> web.Response:
        """Redeliver the events of a period: `{since, until?, events?}`."""
        operation = self._authorize(request, "EventEndpointReplay")
        body = await read_json_object(request)
        values = {name: body[name] for name in _REPLAY_FIELDS if body.get(name) is not None}
        if "since" not in values:
            raise ValidationFailed("since is required", field="since", code="required")
        variables = {"id": _endpoint_id(request), **values}
        return json_response(await execute_with_codes(request[SCOPE], operation, variables, _REPLAY_CODES), status=202)

    async def list_deliveries(self, request: web.Request) -> web.Response:
        """List the endpoint's deliveries, newest first."""
        operation = self._authorize(request, "EventDeliveries")
        endpoint = _endpoint_id(request)
        definition = ListDefinition(
            DELIVERY_LIST.filters, DELIVERY_LIST.sorts, {"endpoint_id": [endpoint]}, self.size_parameter
        )
        variables = {"id": endpoint, **definition.variables(query_of(request), request[SCOPE].store)}
        data = await execute(request[SCOPE], operation, variables)
        if data["endpoint"] is None:
            raise NotFound(ENDPOINT_COLLECTION.display_name)
        return page_response(request, data["page"])

    async def show_delivery(self, request: web.Request) -> web.Response:
        """Return one delivery."""
        endpoint, delivery = _endpoint_id(request), _delivery_id(request)
        record = await self._execute(
            request, "EventDelivery", {"filter": {"id": [delivery], "endpoint_id": [endpoint]}}
        )
        if not record:
            raise NotFound(_DELIVERY_NAME)
        return json_response(record[0])

    async def redeliver(self, request: web.Request) -> web.Response:
        """Redeliver one delivery."""
        variables = {"id": _delivery_id(request), "endpoint_id": _endpoint_id(request)}
        return json_response(await self._execute(request, "EventDeliveryRedeliver", variables), status=202)

    def _authorize(self, request: web.Request, suffix: str) -> FacadeOperation:
        operation = self.operations[f"{self.prefix}{suffix}"]
        authorize(request[SCOPE], operation)
        return operation

    async def _execute(self, request: web.Request, suffix: str, variables: Mapping[str, Any]) -> Any:
        operation = self._authorize(request, suffix)
        return await execute_field(request[SCOPE], operation, variables)


def _endpoint_id(request: web.Request) -> str:
    return path_uuid(request, ENDPOINT_COLLECTION.display_name)


def _delivery_id(request: web.Request) -> str:
    return path_uuid(request, _DELIVERY_NAME, "delivery_id")
