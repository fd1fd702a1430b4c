"""`vitrine tenant host`: the addresses of a store, which the operator assigns without proof."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from server.commands.context import open_context, read_settings
from server.commands.errors import CommandError
from server.commands.output import add_json_option, print_json, print_line, print_table

if TYPE_CHECKING:
    from kernel.scope import Scope


def add(tenant_commands: Any) -> None:
    """Declare the commands."""
    commands = tenant_commands.add_parser("host", help="add, remove and list the addresses of a store").add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    adding = commands.add_parser(
        "add",
        help="assign an address to a store, or change one",
        description="Assign a host name to a store without proof, or change one that it has. Every process knows within 5 seconds.",
    )
    removing = commands.add_parser("remove", help="take an address from a store")
    listing = commands.add_parser(
        "list", help="list the addresses of a store, and those that it has not proved to control"
    )
    for parser in (adding, removing, listing):
        parser.add_argument("id", metavar="STORE", help="the store: UUID or host")
    for parser in (adding, removing):
        parser.add_argument("host", metavar="HOST", help="the host name, such as shop.example.com")
    flag = argparse.BooleanOptionalAction
    adding.add_argument("--primary", action=flag, help="use it for links in mails and of images")
    adding.add_argument("--redirect", action=flag, help="redirect browsers from its pages to the primary address")
    for parser, command in ((adding, _add), (removing, _remove), (listing, _list)):
        add_json_option(parser, command)


async def _add(args: argparse.Namespace) -> None:
    from domain import hosts

    async with open_context(read_settings()):
        scope = await _scope_of(args.id)
        name = hosts.parse_store_host(args.host)
        verified = {entry["host"] for entry in await hosts.find_hosts(scope) if entry["verified_at"]}
        if name not in verified:
            await hosts.assign_host(scope, name)
        if args.primary is not None or args.redirect is not None:
            await hosts.update_host(scope, name, is_primary=args.primary, is_redirected=args.redirect)
        await _print(args, scope)


async def _remove(args: argparse.Namespace) -> None:
    from domain import hosts
    from kernel.errors import NotFound

    async with open_context(read_settings()):
        scope = await _scope_of(args.id)
        try:
            await hosts.remove_host(scope, args.host)
        except NotFound as error:
            raise CommandError(f"the store has no address {args.host}") from error
        await _print(args, scope)


async def _list(args: argparse.Namespace) -> None:
    async with open_context(read_settings()):
        await _print(args, await _scope_of(args.id))


async def _scope_of(reference: str) -> Scope:
    from server.operations import store_admin

    return await store_admin.find_scope(reference)


async def _print(args: argparse.Namespace, scope: Scope) -> None:
    from domain import hosts

    entry = await hosts.find_hosts(scope)
    if args.json:
        print_json(entry)
    elif not entry:
        print_line("the store has no address of its own: use a shared host with X-Tenant-ID")
    else:
        print_table(("HOST", "VERIFIED", "PRIMARY", "REDIRECTED"), [_row(host) for host in entry])


def _row(host: dict[str, Any]) -> tuple[object, ...]:
    marks = ("yes" if host[name] else "" for name in ("is_primary", "is_redirected"))
    return (host["host"], (host["verified_at"] and f"{host['verified_at']:%Y-%m-%d %H:%M}") or "no", *marks)
