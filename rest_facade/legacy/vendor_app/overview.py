"""Show a vendor's app how to begin and how the business goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from aiohttp import web

from kernel.clock import rfc3339
from kernel.codes import ORDER_STATUSES
from kernel.money import decimal_text
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.legacy.queries import query_reader
from rest_facade.legacy.resource import Record, Together
from rest_facade.legacy.resources import order_parts
from rest_facade.legacy.resources.orders import ORDERS
from rest_facade.responses import json_response
from rest_facade.routing import Handler, scope_of

_PERIOD = replace(
    ORDERS,
    fields=(),
    single=(),
    filters=(Together(("period", "time_from", "time_to"), order_parts.placed_within),),
)


def start(operation: FacadeOperation) -> Handler:
    """Make the handler that gives the app what it needs to begin."""

    async def handler(request: web.Request) -> web.Response:
        scope = scope_of(request)
        authorize(scope, operation)
        begin = (await execute(scope, operation))["start"]
        return json_response(_start_shown(begin))

    return handler


def dashboard(operation: FacadeOperation) -> Handler:
    """Make the handler that sums a vendor's business up; a period nobody knows holds no orders, as in the list of orders."""
    read_query = query_reader(_PERIOD)

    async def handler(request: web.Request) -> web.Response:
        scope = scope_of(request)
        authorize(scope, operation)
        asked = read_query(request.rel_url.raw_query_string, scope)
        span: dict[str, Any] = dict.fromkeys(("created_from", "created_before"), rfc3339(scope.now))
        if not asked.matches_nothing:
            span = {name: asked.filter.get(name) for name in span}
        return json_response(_dashboard_shown((await execute(scope, operation, span))["dashboard"]))

    return handler


def _start_shown(begin: Record) -> dict[str, Any]:
    return {
        "app": _below("app_", begin),
        "store": _below("store_", begin),
        "languages": _choices(begin["languages"], "lang_code", "name"),
        "currencies": _choices(begin["currencies"], "currency_code", "symbol"),
        "statuses": {
            "orders": _choices(begin["order_statuses"], "status", "description"),
            "products": _choices(begin["product_statuses"], "status", "description"),
        },
        "menus": [
            {"menu_id": menu["code"], "title": menu["name"], "route": menu["route"]}
            for menu in begin["menus"]
        ],
        "permissions": begin["permissions"],
        "support": _below("support_", begin),
    }


def _below(prefix: str, begin: Record) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in begin.items() if name.startswith(prefix)}


def _choices(found: Iterable[Mapping[str, str]], code: str, name: str) -> list[dict[str, str]]:
    return [{code: each["code"], name: each["name"]} for each in found]


def _dashboard_shown(found: Record) -> dict[str, Any]:
    by_status = dict.fromkeys(ORDER_STATUSES.codes, "0")
    by_status |= {each["status"]: str(each["orders"]) for each in found["orders_by_status"]}
    return {
        "sales": decimal_text(found["sales_cents"]),
        "orders_count": str(found["order_count"]),
        "average_ticket": decimal_text(found["average_ticket_cents"]),
        "balance": decimal_text(found["balance_cents"]),
        "products": {name: str(count) for name, count in found["products"].items()},
        "orders_by_status": by_status,
        "graph": [
            {
                "date": str(day["date_unix"]),
                "total": decimal_text(day["total_cents"]),
                "orders": str(day["orders"]),
            }
            for day in found["days"]
        ],
    }
