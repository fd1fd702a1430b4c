"""Serve event endpoints and their deliveries, for apps as `webhooks` and for administrators as `event-endpoints`.

What both families do is the same: lists, single records and changes of endpoints; below one, `ping`, `replay`, the list of its
deliveries, and `redeliver`. What is only queued is answered with 202.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from kernel.codes import SWITCH_STATUSES
from kernel.errors import NotFound, ValidationFailed
from kernel.ids import parse_uuid
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.bodies import read_json_object
from rest_facade.collections import Collection, as_given
from rest_facade.field_errors import translated
from rest_facade.list_parameters import Listing, Parameter, code_of, one_of
from rest_facade.records import Records, public_id
from rest_facade.responses import json_response
from rest_facade.routing import Needs, Route, scope_of

STATES = ("pending", "delivering", "delivered", "failed", "dead", "cancelled")

ENDPOINTS = Collection(
    name="event-endpoints",
    thing="event endpoint",
    plural="EventEndpoints",
    singular="EventEndpoint",
    listing=Listing(
        filters={
            "status": Parameter("status", code_of(SWITCH_STATUSES)),
            "installed_app_id": Parameter("installed_app_id", str),
        },
        sorts={"id": "ID"},
    ),
    body={
        "url": as_given,
        "events": as_given,
        "query": as_given,
        "status": as_given,
        "installed_app_id": as_given,
    },
    codes={
        "url": "url_invalid",
        "events": "event_unknown",
        "query": "query_invalid",
        "status": "status_invalid",
    },
)
DELIVERIES = Listing(
    filters={"state": Parameter("state", one_of("state", STATES)), "event": Parameter("event", str)},
    sorts={"id": "ID"},
)
_THING = "event delivery"
_REPLAY_FIELDS = ("since", "until", "events")
_REPLAY_CODES = {"since": "date_invalid", "until": "date_invalid", "events": "event_unknown"}


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Serve the endpoints of one family at `path`, by the operations that begin with `prefix`; `size` is its word for a page's size."""

    path: str
    prefix: str
    needs: Needs
    operations: Mapping[str, FacadeOperation] = field(repr=False)
    size: str = "per_page"

    def routes(self) -> list[Route]:
        """List the routes."""
        records = Records(ENDPOINTS.listed(size=self.size), self.prefix, self.operations)
        all_, single = self.path, f"{self.path}/{{id}}"
        deliveries = f"{single}/deliveries"
        return [
            Route("GET", all_, records.list, self.needs),
            Route("POST", all_, records.create, self.needs, creates=True),
            Route("GET", single, records.show, self.needs),
            Route("PUT", single, records.update, self.needs),
            Route("PATCH", single, records.update, self.needs),
            Route("DELETE", single, records.delete, self.needs),
            Route("POST", f"{single}/ping", self._ping, self.needs, creates=True),
            Route("POST", f"{single}/replay", self._replay, self.needs),
            Route("GET", deliveries, self._deliveries, self.needs),
            Route("GET", f"{deliveries}/{{delivery_id}}", self._delivery, self.needs),
            Route("POST", f"{deliveries}/{{delivery_id}}/redeliver", self._redeliver, self.needs),
        ]

    async def _ping(self, request: web.Request) -> web.Response:
        """Send the endpoint a `ping`."""
        return json_response(
            await self._done(request, "EventEndpointPing", {"id": _endpoint(request)}), status=202
        )

    async def _replay(self, request: web.Request) -> web.Response:
        """Send the events of a span of time again: `{since, until?, events?}`."""
        operation = self._admitted(request, "EventEndpointReplay")
        body = await read_json_object(request)
        given = {name: body[name] for name in _REPLAY_FIELDS if body.get(name) is not None}
        if "since" not in given:
            raise ValidationFailed("since is required", field="since", code="required")
        variables = {"id": _endpoint(request), **given}
        try:
            data = await execute(scope_of(request), operation, variables)
        except ValidationFailed as error:
            raise translated(error, _REPLAY_CODES) from error
        return json_response(data[operation.fields[0]], status=202)

    async def _deliveries(self, request: web.Request) -> web.Response:
        """List what was delivered to the endpoint, the newest first."""
        operation = self._admitted(request, "EventDeliveries")
        endpoint = _endpoint(request)
        listing = Listing(DELIVERIES.filters, DELIVERIES.sorts, {"endpoint_id": [endpoint]}, self.size)
        variables = {"endpoint": endpoint, **listing.variables(request.query, scope_of(request).store)}
        data = await execute(scope_of(request), operation, variables)
        if data["endpoint"] is None:
            raise NotFound(ENDPOINTS.thing)
        return json_response(data["page"])

    async def _delivery(self, request: web.Request) -> web.Response:
        """Show one delivery to the endpoint."""
        endpoint, delivery = _endpoint(request), _delivery(request)
        record = await self._done(
            request, "EventDelivery", {"filter": {"id": [delivery], "endpoint_id": [endpoint]}}
        )
        if not record:
            raise NotFound(_THING)
        return json_response(record[0])

    async def _redeliver(self, request: web.Request) -> web.Response:
        """Send one delivery to the endpoint again."""
        variables = {"id": _delivery(request), "endpoint_id": _endpoint(request)}
        return json_response(await self._done(request, "EventDeliveryRedeliver", variables), status=202)

    def _admitted(self, request: web.Request, what: str) -> FacadeOperation:
        operation = self.operations[f"{self.prefix}{what}"]
        authorize(scope_of(request), operation)
        return operation

    async def _done(self, request: web.Request, what: str, variables: Mapping[str, Any]) -> Any:
        operation = self._admitted(request, what)
        return (await execute(scope_of(request), operation, variables))[operation.fields[0]]


def _endpoint(request: web.Request) -> str:
    return public_id(request, ENDPOINTS.thing)


def _delivery(request: web.Request) -> str:
    found = parse_uuid(request.match_info["delivery_id"])
    if found is None:
        raise NotFound(_THING)
    return str(found)
