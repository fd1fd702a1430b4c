"""Serve the vendor app's configuration and sales dashboard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from aiohttp import web

from kernel.clock import format_rfc3339
from kernel.codes import ORDER_STATUSES
from kernel.money import format_cents
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.legacy.queries import query_parser
from rest_facade.legacy.resource import CombinedFilter, Record
from rest_facade.legacy.resources import order_parts
from rest_facade.legacy.resources.orders import ORDERS
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Handler

_PERIOD = replace(
    ORDERS,
    fields=(),
    detail_fields=(),
    filters=(CombinedFilter(("period", "time_from", "time_to"), order_parts.parse_period),),
)


def start(operation: FacadeOperation) -> Handler:
    """Build the handler that returns the app's configuration."""

    async def handler(request: web.Request) -> web.Response:
        scope = authorize(request[SCOPE], operation)
        config = (await execute(scope, operation))["start"]
        return json_response(_render_start(config))

    return handler


def dashboard(operation: FacadeOperation) -> Handler:
    """Build the handler of the sales dashboard; an unknown period contains no orders, as in the order list."""
    parse_query = query_parser(_PERIOD)

    async def handler(request: web.Request) -> web.Response:
        scope = authorize(request[SCOPE], operation)
        query = parse_query(request.rel_url.raw_query_string, scope)
        period: dict[str, Any] = dict.fromkeys(("created_from", "created_before"), format_rfc3339(scope.now))
        if not query.matches_nothing:
            period = {name: query.filter.get(name) for name in period}
        return json_response(_render_dashboard((await execute(scope, operation, period))["dashboard"]))

    return handler


def _render_start(config: Record) -> dict[str, Any]:
    return {
        "app": _with_prefix("app_", config),
        "store": _with_prefix("store_", config),
        "languages": _choices(config["languages"], "lang_code", "name"),
        "currencies": _choices(config["currencies"], "currency_code", "symbol"),
        "statuses": {
            "orders": _choices(config["order_statuses"], "status", "description"),
            "products": _choices(config["product_statuses"], "status", "description"),
        },
        "menus": [{"menu_id": menu["code"], "title": menu["name"], "route": menu["route"]} for menu in config["menus"]],
        "permissions": config["permissions"],
        "support": _with_prefix("support_", config),
    }


def _with_prefix(prefix: str, config: Record) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in config.items() if name.startswith(prefix)}


def _choices(items: Iterable[Mapping[str, str]], code: str, name: str) -> list[dict[str, str]]:
    return [{code: item["code"], name: item["name"]} for item in items]


def _render_dashboard(totals: Record) -> dict[str, Any]:
    by_status = dict.fromkeys(ORDER_STATUSES.codes, "0")
    by_status |= {row["status"]: str(row["orders"]) for row in totals["orders_by_status"]}
    return {
        "sales": format_cents(totals["sales_cents"]),
        "orders_count": str(totals["order_count"]),
        "average_ticket": format_cents(totals["average_ticket_cents"]),
        "balance": format_cents(totals["balance_cents"]),
        "products": {name: str(count) for name, count in totals["product_counts"].items()},
        "orders_by_status": by_status,
        "graph": [
            {"date": str(day["date_unix"]), "total": format_cents(day["total_cents"]), "orders": str(day["orders"])}
            for day in totals["days"]
        ],
    }
