"""`vitrine tenant`: create, list, suspend, resume and maintain stores."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from server.commands.context import open_context, read_settings, run_command
from server.commands.errors import CommandError
from server.commands.output import print_fields, print_json, print_line, print_table

if TYPE_CHECKING:
    from server.store_admin import StoreWithHosts


def add(commands: Any) -> None:
    """Declare the commands."""
    tenant = commands.add_parser("tenant", help="manage stores")
    tenant_commands = tenant.add_subparsers(title="commands", metavar="COMMAND", required=True)

    create = tenant_commands.add_parser("create", help="create a store")
    create.add_argument("name", metavar="NAME", help="the store's name")
    create.add_argument("--host", metavar="H", action="append", default=[], help="a host name of the store; repeatable")
    create.add_argument("--currency", metavar="CODE", default="BRL", help="currency, ISO 4217 (default BRL)")
    create.add_argument("--owner-email", metavar="EMAIL", help="create an administrator as its owner")
    create.add_argument("--owner-name", metavar="NAME", default="", help="the owner's first and last name")
    create.add_argument("--owner-password", metavar="P", help="the owner's password; generated and shown by default")
    _configure(create, _create)

    _configure(tenant_commands.add_parser("list", help="list the stores"), _list)

    suspend = tenant_commands.add_parser("suspend", help="close a store: every request gets a 503")
    resume = tenant_commands.add_parser("resume", help="reopen a store")
    maintenance = tenant_commands.add_parser(
        "maintenance", help="close a store for maintenance; gateway notifications are still accepted"
    )
    for subparser, command in ((suspend, _suspend), (resume, _resume), (maintenance, _maintenance)):
        subparser.add_argument("id", metavar="ID", help="the store: UUID or host")
        _configure(subparser, command)
    maintenance.add_argument("--message", metavar="TEXT", help="message for customers instead of the default")


def _configure(parser: argparse.ArgumentParser, command: Any) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=command)


def _create(args: argparse.Namespace) -> None:
    if args.owner_email is None and (args.owner_name or args.owner_password):
        raise CommandError("--owner-name and --owner-password need --owner-email")

    async def execute() -> dict[str, Any]:
        from domain import stores
        from server import store_admin

        settings = read_settings()
        async with open_context(settings):
            store_admin.reject_shared_hosts(args.host, settings.shared_hosts)
            owner = _read_owner(args)
            new = await stores.create_store({"name": args.name, "currency": args.currency.upper()}, hosts=args.host)
            created = await store_admin.find_store(str(new.store.public_id))
            result = {**created.as_json(), "gateway": {"secret_key": new.gateway_secret}}
            if owner is not None:
                user = await store_admin.create_owner(new.store, owner)
                result["owner"] = {
                    "user_id": str(user.public_id),
                    "email": owner["email"],
                    "password": owner["password"],
                }
        return result

    result = run_command(execute())
    if args.json:
        print_json(result)
        return
    owner = result.get("owner", {})
    print_fields(
        {
            "store": f"{result['name']} ({result['currency']})",
            "tenant_id": result["tenant_id"],
            "addresses": ", ".join(result["hosts"]) or "none: use a shared host with X-Tenant-ID",
            "gateway secret": result["gateway"]["secret_key"],
            "owner": owner.get("email"),
            "password": owner.get("password"),
        }
    )


def _read_owner(args: argparse.Namespace) -> dict[str, Any] | None:
    """Validate the owner's data before the store is created."""
    if args.owner_email is None:
        return None
    from domain.people.account_fields import ACCOUNT_FIELDS, split_name
    from kernel.fields import read_fields
    from kernel.ids import random_token

    values = split_name(
        {
            "email": args.owner_email,
            "password": args.owner_password or random_token(96),
            "name": args.owner_name,
        }
    )
    read_fields(ACCOUNT_FIELDS, values, creating=True)
    return values


def _list(args: argparse.Namespace) -> None:
    async def execute() -> list[StoreWithHosts]:
        from server import store_admin

        async with open_context(read_settings()):
            return await store_admin.list_stores()

    entries = run_command(execute())
    if args.json:
        print_json([entry.as_json() for entry in entries])
    elif not entries:
        print_line("there is no store: create one with vitrine tenant create, or vitrine demo")
    else:
        print_table(("ID", "STATUS", "CURRENCY", "NAME", "ADDRESSES"), [_table_row(entry) for entry in entries])


def _table_row(entry: StoreWithHosts) -> tuple[object, ...]:
    from server.store_admin import STATUS_NAMES

    store = entry.store
    return (store.public_id, STATUS_NAMES[store.status], store.currency, store.name, ", ".join(entry.hosts))


def _suspend(args: argparse.Namespace) -> None:
    _set_status(args, "S")


def _resume(args: argparse.Namespace) -> None:
    _set_status(args, "A")


def _maintenance(args: argparse.Namespace) -> None:
    _set_status(args, "M", args.message)


def _set_status(args: argparse.Namespace, status: str, message: str | None = None) -> None:
    async def execute() -> StoreWithHosts:
        from server import store_admin

        async with open_context(read_settings()):
            return await store_admin.set_status(args.id, status, message)

    updated = run_command(execute())
    if args.json:
        print_json(updated.as_json())
        return
    from server.store_admin import STATUS_NAMES

    print_line(f"{updated.store.name} is {STATUS_NAMES[updated.store.status]}")
