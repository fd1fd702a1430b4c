"""`vitrine tenant limit`: the limits of a store (`domain.store_limits`)."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from server.commands.context import open_context, read_settings
from server.commands.errors import CommandError
from server.commands.output import add_json_option, print_json, print_table


def add(tenant_commands: Any) -> None:
    """Declare the command."""
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


async def _limit(args: argparse.Namespace) -> None:
    from domain import stores
    from domain.store_limits import LIMITS, find_limits
    from kernel.scope import active_scope
    from server.operations import store_admin

    changes = dict(_parse(text) for text in args.set)
    async with open_context(read_settings()):
        scope = store_admin.system_scope((await store_admin.find_store(args.id)).store)
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
