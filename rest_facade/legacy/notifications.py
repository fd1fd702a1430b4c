"""Show a user's inbox: `GET notifications`, whose query, records and envelope are the contract's own (legacy contract, Notifications)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from kernel.errors import ValidationFailed
from kernel.ids import parse_uuid
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.legacy.queries import natural, page_number, parameters
from rest_facade.responses import json_response
from rest_facade.routing import Needs, Route, scope_of

PATH = "/api/notifications"
DEFAULT_SIZE = 10
MAX_SIZE = 250
_NUMBER = re.compile(r"[0-9]+")


def route(operations: Mapping[str, FacadeOperation]) -> Route:
    """Describe the route; everybody who signed in may call it, and sees what the operation lets them see."""
    operation = operations["NotificationInbox"]

    async def listed(request: web.Request) -> web.Response:
        scope = scope_of(request)
        authorize(scope, operation)
        given = parameters(request.rel_url.raw_query_string)
        variables = {
            "user_id": _user(given.get("user_id")),
            "page": page_number(given),
            "per_page": _size(natural(given.get("items_per_page"))),
        }
        found = (await execute(scope, operation, variables))["page"]
        search = {
            "page": variables["page"],
            "items_per_page": variables["per_page"],
            "total_items": found["total"],
        }
        return json_response({"notifications": found["items"], "search": search})

    return Route("GET", PATH, listed, Needs.LEGACY_ANY)


def _user(given: Any) -> str:
    """Read whose inbox is asked for: a UUID or a number."""
    if given is None or given == "":
        raise ValidationFailed("user_id is required", field="user_id", code="required")
    if isinstance(given, str) and (parse_uuid(given) is not None or _NUMBER.fullmatch(given)):
        return given
    raise ValidationFailed("user_id must be a UUID or a number", field="user_id")


def _size(given: int) -> int:
    """Give the size of a page; outside 1 to 250 it is 10, also above, unlike other lists."""
    return given if 1 <= given <= MAX_SIZE else DEFAULT_SIZE
