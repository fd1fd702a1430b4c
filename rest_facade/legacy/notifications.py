"""Serve a user's inbox, `GET notifications` (docs/reference/legacy.md#notifications)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from kernel.errors import ValidationFailed
from kernel.ids import parse_uuid
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.legacy.queries import natural_number, page_number, parse_query
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Route

PATH = "/api/notifications"
DEFAULT_SIZE = 10
MAX_SIZE = 250
_NUMBER = re.compile(r"[0-9]+")


def route(operations: Mapping[str, FacadeOperation]) -> Route:
    """Describe the route; every signed-in user may call it, the operation limits what each sees."""
    operation = operations["NotificationInbox"]

    async def list_notifications(request: web.Request) -> web.Response:
        scope = authorize(request[SCOPE], operation)
        parameters = parse_query(request.rel_url.raw_query_string)
        variables = {
            "user_id": _user_id(parameters.get("user_id")),
            "page": page_number(parameters),
            "per_page": _page_size(natural_number(parameters.get("items_per_page"))),
        }
        page = (await execute(scope, operation, variables))["page"]
        search = {"page": variables["page"], "items_per_page": variables["per_page"], "total_items": page["total"]}
        return json_response({"notifications": page["items"], "search": search})

    return Route("GET", PATH, list_notifications, Credential.LEGACY_ANY)


def _user_id(value: Any) -> str:
    """Parse the owner of the inbox: a UUID or a number."""
    if value is None or value == "":
        raise ValidationFailed("user_id is required", field="user_id", code="required")
    if isinstance(value, str) and (parse_uuid(value) is not None or _NUMBER.fullmatch(value)):
        return value
    raise ValidationFailed("user_id must be a UUID or a number", field="user_id")


def _page_size(requested: int) -> int:
    """Return the page size; outside 1 to 250 it is 10, unlike in other lists."""
    return requested if 1 <= requested <= MAX_SIZE else DEFAULT_SIZE
