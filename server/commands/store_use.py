"""`vitrine tenant limit` and `stats`: the limits of a store (`domain.store_limits`), and which stores use most (`domain.store_usage`)."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from kernel.store_usage import MEASURES
from server.commands.context import open_context, read_settings
from server.commands.errors import CommandError
from server.commands.output import add_json_option, print_json, print_table


def add(tenant_commands: Any) -> None:
    """Declare the commands."""
    limit = tenant_commands.add_parser(
        "limit",
        help="show or set the limits of a store",
        description="Show the limits of a store and what is used of each, after the changes. Processes know of a change within 5 seconds.",
    )
    limit.add_argument("id", metavar="STORE", help="the store: UUID or host")
    limit.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="set a limit, or with NAME=none remove it; repeatable",
    )
    add_json_option(limit, _limit)
    stats = tenant_commands.add_parser(
        "stats",
        help="show which stores use most, or each hour of one",
        description="Show what stores used in the last hours, and what they store. Processes store what they count once a minute; rows and"
        " bytes are measured once an hour. Kept for 90 days.",
    )
    stats.add_argument("--store", metavar="STORE", help="each hour of this store alone: UUID or host")
    stats.add_argument("--top", metavar="N", type=int, default=20, help="how many stores (default 20)")
    stats.add_argument("--hours", metavar="N", type=int, default=24, help="of how many hours (default 24)")
    stats.add_argument("--sort", metavar="MEASURE", default="cpu_seconds", help=f"one of {', '.join(MEASURES)}")
    add_json_option(stats, _stats)


async def _stats(args: argparse.Namespace) -> None:
    from domain.store_usage import MOST_HOURS, list_hours, sum_usage
    from kernel.clock import format_rfc3339, now
    from kernel.scope import active_scope
    from server.operations import store_admin

    if args.sort not in MEASURES:
        raise CommandError(f"--sort is {args.sort!r}; expected one of {', '.join(MEASURES)}")
    for name, number, most in (("--top", args.top, 100_000), ("--hours", args.hours, MOST_HOURS)):
        if not 1 <= number <= most:
            raise CommandError(f"{name} is {number}; expected a number from 1 to {most}")
    async with open_context(read_settings()):
        since = now() - timedelta(hours=args.hours)
        if args.store is None:
            rows = await sum_usage(since, sort=args.sort, top=args.top)
        else:
            scope = store_admin.system_scope((await store_admin.find_store(args.store)).store)
            with active_scope(scope):
                rows = await list_hours(scope, since)
    key = "stores" if args.store is None else "hours"
    if args.json:
        print_json({"since": format_rfc3339(since), key: [_as_json(row) for row in rows]})
        return
    columns = ("public_id", *MEASURES, "name") if args.store is None else ("hour", *MEASURES)
    headers = ["STORE" if name == "public_id" else name.upper() for name in columns]
    print_table(headers, [[_cell(row[name]) for name in columns] for row in rows])


def _as_json(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the name of the store's id that all commands have."""
    return {"tenant_id" if name == "public_id" else name: _as_member(value) for name, value in row.items()}


def _as_member(value: Any) -> Any:
    from kernel.clock import format_rfc3339

    if isinstance(value, datetime):
        return format_rfc3339(value)
    if isinstance(value, float):
        return round(value, 3)
    return int(value) if isinstance(value, Decimal) else str(value) if isinstance(value, UUID) else value


def _cell(value: Any) -> object:
    return "" if value is None else _as_member(value)


async def _limit(args: argparse.Namespace) -> None:
    from domain import stores
    from domain.store_limits import LIMITS, find_limits
    from kernel.scope import active_scope
    from server.operations import store_admin

    changes = dict(_parse(text) for text in args.set)
    async with open_context(read_settings()):
        scope = await store_admin.find_scope(args.id)
        if changes:
            scope = replace(scope, store=await stores.set_limits(scope, changes))
        with active_scope(scope):
            limits = await find_limits(scope)
    if args.json:
        print_json([{name: limit[name] for name in ("name", "limit", "used")} for limit in limits])
        return
    by_name = {limit["name"]: limit for limit in limits}
    print_table(("LIMIT", "VALUE", "USED"), [(name, *_values(by_name.get(name))) for name in LIMITS])


def _values(limit: dict[str, Any] | None) -> tuple[object, object]:
    if limit is None:
        return ("none", "")
    return (limit["limit"], "" if limit["used"] is None else limit["used"])


def _parse(text: str) -> tuple[str, int | None]:
    name, separator, value = text.partition("=")
    if not separator or not (value == "none" or (value.isdecimal() and len(value) <= 18)):
        raise CommandError(f"--set is {text!r}; expected NAME=VALUE with a whole number, or NAME=none")
    return name, None if value == "none" else int(value)
