"""`vitrine tenant`: create, list, suspend, resume, maintain, move and delete stores; hosts are in `hosts`, limits in `store_use`."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.commands import hosts, moves, store_use
from server.commands.context import open_context, read_settings
from server.commands.errors import CommandError
from server.commands.output import add_json_option, print_fields, print_json, print_json_line, print_line, print_table

if TYPE_CHECKING:
    from server.importers.store_files import StoreResult
    from server.operations.store_admin import StoreWithHosts
    from server.operations.store_transfer import Moved


def add(commands: Any) -> None:
    """Declare the commands."""
    tenant = commands.add_parser("tenant", help="manage stores")
    tenant_commands = tenant.add_subparsers(title="commands", metavar="COMMAND", required=True)

    create = tenant_commands.add_parser("create", help="create a store, or those of a file")
    create.add_argument("name", metavar="NAME", nargs="?", help="the store's name")
    create.add_argument(
        "--from",
        metavar="FILE",
        type=Path,
        dest="file",
        help="create the stores of a file, *.csv or JSON Lines, with the columns name, hosts, currency, owner_email, owner_name and"
        " owner_password; lines whose host a store has are left",
    )
    create.add_argument("--host", metavar="H", action="append", default=[], help="a host name of the store; repeatable")
    create.add_argument("--currency", metavar="CODE", default="BRL", help="currency, ISO 4217 (default BRL)")
    create.add_argument("--owner-email", metavar="EMAIL", help="create an administrator as its owner")
    create.add_argument("--owner-name", metavar="NAME", default="", help="the owner's first and last name")
    create.add_argument("--owner-password", metavar="P", help="the owner's password; generated and shown by default")
    add_json_option(create, _create)

    add_json_option(tenant_commands.add_parser("list", help="list the stores"), _list)

    suspend = tenant_commands.add_parser("suspend", help="close a store: every request gets a 503")
    resume = tenant_commands.add_parser("resume", help="reopen a store")
    maintenance = tenant_commands.add_parser(
        "maintenance", help="close a store for maintenance; gateway notifications are still accepted"
    )
    read_only = tenant_commands.add_parser(
        "read-only", help="answer reads and sign-ins only: other mutations get a 503, as in maintenance"
    )
    for subparser, status in ((suspend, "S"), (resume, "A"), (maintenance, "M"), (read_only, "A")):
        subparser.add_argument("id", metavar="ID", help="the store: UUID or host")
        subparser.set_defaults(status=status, message=None, read_only=subparser is read_only)
        add_json_option(subparser, _set_status)
    _add_moves(tenant_commands)
    moves.add(tenant_commands)
    hosts.add(tenant_commands)
    store_use.add(tenant_commands)
    for subparser in (maintenance, read_only):
        subparser.add_argument("--message", metavar="TEXT", help="message for customers instead of the default")


def _add_moves(tenant_commands: Any) -> None:
    export = tenant_commands.add_parser(
        "export",
        help="write a store to a file",
        description="Write all rows of a store, read in one snapshot, to a new file for vitrine tenant import. The key of its encrypted"
        " values is written to a second file: send them separately.",
    )
    export.add_argument("id", metavar="STORE", help="the store: UUID or host")
    export.add_argument(
        "--read-only", action="store_true", help="first let the store answer reads and sign-ins only, and leave it so"
    )
    imported = tenant_commands.add_parser(
        "import",
        help="insert an exported store",
        description="Insert a store from the file of vitrine tenant export, all or nothing, and compare every table with it.",
    )
    for subparser, command in ((export, _export), (imported, _import)):
        subparser.add_argument("path", metavar="FILE", type=Path, help="the file")
        subparser.add_argument("--key-file", metavar="KEY", type=Path, help="the file of the key (default: FILE.key)")
        add_json_option(subparser, command)
    delete = tenant_commands.add_parser(
        "delete",
        help="delete a store for ever",
        description="Suspend a store, delete every row that belongs to it, and print a receipt. Backups still contain it.",
    )
    delete.add_argument("id", metavar="STORE", help="the store: UUID or host")
    delete.add_argument("--yes", action="store_true", help="don't ask for the store's name")
    add_json_option(delete, _delete)


async def _create(args: argparse.Namespace) -> None:
    if (args.name is None) == (args.file is None):
        raise CommandError("either NAME or --from FILE is required, not both")
    if args.file is not None:
        await _create_from_file(args)
        return
    if args.owner_email is None and (args.owner_name or args.owner_password):
        raise CommandError("--owner-name and --owner-password need --owner-email")

    from domain import stores
    from server.importers.store_files import read_owner
    from server.operations import store_admin

    settings = read_settings()
    async with open_context(settings):
        owner = read_owner(args.owner_email, args.owner_name, args.owner_password)
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


async def _create_from_file(args: argparse.Namespace) -> None:
    from server.importers.file_rows import CSV, JSONL, read_rows
    from server.importers.store_files import STORE_FILE, create_stores

    if args.host or args.owner_email or args.owner_name or args.owner_password:
        raise CommandError("--host and --owner-… are columns of the file")
    counts: Counter[str] = Counter()
    failed = 0
    with args.file.open("rb") as file:
        rows = read_rows(file, CSV if args.file.suffix.lower() == ".csv" else JSONL, STORE_FILE)
        async with open_context(read_settings()):
            async for result in create_stores(rows):
                counts[result.state] += 1
                failed += bool(result.errors)
                _print_line_of_file(result, as_json=args.json)
    if not args.json:
        print_line(f"{counts['created']} created, {counts['exists']} exist, {counts['refused']} refused")
    if counts["refused"]:
        raise CommandError(f"{counts['refused']} of {counts.total()} lines were refused")
    if failed:
        raise CommandError(f"{failed} stores were created without their owners")


def _print_line_of_file(result: StoreResult, *, as_json: bool) -> None:
    if as_json:
        print_json_line(result.as_json())
        return
    owner = result.owner or {}
    parts = [f"line {result.line}", result.state, *result.hosts[:1], str(result.tenant_id or "")]
    parts += [owner.get("email", ""), owner.get("password", ""), "; ".join(result.errors)]
    print_line("  ".join(part for part in parts if part))


async def _list(args: argparse.Namespace) -> None:
    from server.operations import store_admin

    async with open_context(read_settings()):
        entries = await store_admin.list_stores()
    if args.json:
        print_json([entry.as_json() for entry in entries])
    elif not entries:
        print_line("there is no store: create one with vitrine tenant create, or vitrine demo")
    else:
        print_table(("ID", "STATUS", "CURRENCY", "NAME", "ADDRESSES"), [_table_row(entry) for entry in entries])


def _table_row(entry: StoreWithHosts) -> tuple[object, ...]:
    store = entry.store
    return (store.public_id, entry.status_name, store.currency, store.name, ", ".join(entry.hosts))


async def _set_status(args: argparse.Namespace) -> None:
    from server.operations import store_admin

    async with open_context(read_settings()):
        updated = await store_admin.set_status(args.id, args.status, args.message, read_only=args.read_only)
    if args.json:
        print_json(updated.as_json())
    else:
        print_line(f"{updated.store.name} is {updated.status_name}")


async def _export(args: argparse.Namespace) -> None:
    from server.domain_settings import configure_domain
    from server.operations import store_admin
    from server.operations.store_transfer import connect_owner, export_store, wait_for_transactions

    async with open_context(read_settings()) as context:
        configure_domain(context.settings)
        url = context.location.owner_url
        if args.read_only:
            await store_admin.set_status(args.id, "A", read_only=True)
            async with connect_owner(url) as connection:
                await wait_for_transactions(connection)
        entry = await store_admin.find_store(args.id)
        store_admin.reject_moved(entry)
        moved = await export_store(url, entry.store, entry.hosts, args.path, _key_path(args))
    _print_moved("exported", moved, args)


async def _import(args: argparse.Namespace) -> None:
    from server.domain_settings import configure_domain
    from server.operations.store_transfer import import_store

    async with open_context(read_settings()) as context:
        configure_domain(context.settings)
        moved = await import_store(context.location.owner_url, args.path, _key_path(args))
    _print_moved("imported", moved, args)


def _key_path(args: argparse.Namespace) -> Path:
    return args.key_file or Path(f"{args.path}.key")


def _print_moved(verb: str, moved: Moved, args: argparse.Namespace) -> None:
    if args.json:
        print_json(
            {
                "tenant_id": moved.public_id,
                "name": moved.name,
                "hosts": moved.hosts,
                "tables": {name: table._asdict() for name, table in moved.tables.items()},
                "media": {"files": moved.media.files, "bytes": moved.media.bytes, "missing": moved.media.missing},
            }
        )
        return
    print_line(f"{verb} {moved.name}: {moved.rows} rows, {moved.media.files} media files")
    if moved.media.missing:
        print_line(f"not in the storage: {len(moved.media.missing)} media files, first: {moved.media.missing[0]}")
    print_fields({"tenant_id": moved.public_id, "file": args.path, "key": _key_path(args)})


async def _delete(args: argparse.Namespace) -> None:
    from server.domain_settings import configure_domain
    from server.operations import store_admin
    from server.operations.store_deletion import delete_store

    async with open_context(read_settings()) as context:
        configure_domain(context.settings)
        entry = await store_admin.find_store(args.id)
        if not args.yes:
            _confirm(entry)
        receipt = (await delete_store(context.location.owner_url, entry.store, entry.hosts)).as_json()
    if args.json:
        print_json(receipt)
        return
    print_line(f"deleted {receipt['name']} at {receipt['deleted_at']}: {receipt['rows']} rows")
    print_table(("TABLE", "ROWS", "CHECKSUM"), [(name, *table.values()) for name, table in receipt["tables"].items()])
    for file in receipt["files"]:
        print_line(f"deleted the file {file}")
    for client_id in receipt["remaining_apps"]:
        print_line(f"not deleted: the app {client_id}, which other stores have installed")
    print_fields({"tenant_id": receipt["tenant_id"], "sha256": receipt["sha256"]})
    print_line("backups made before still contain the store")


def _confirm(entry: StoreWithHosts) -> None:
    print_line(f"{entry.store.name} ({entry.store.public_id}) will be deleted for ever. Enter its name to go on:")
    try:
        answer = input()
    except EOFError:
        answer = ""
    if answer.strip() != entry.store.name:
        raise CommandError("not deleted: the name differs; --yes deletes without asking")
