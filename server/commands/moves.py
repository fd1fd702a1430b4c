"""`vitrine tenant move`: move a store to another database while it serves (`server.operations.store_move`)."""

from __future__ import annotations

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from server.commands.context import CommandContext, open_context, read_settings
from server.commands.errors import CommandError, describe_error
from server.commands.output import add_json_option, print_error, print_json, print_line

if TYPE_CHECKING:
    from kernel.scope import Store
    from server.operations.store_copy import Side


_TO = "VITRINE_MOVE_TO_URL"
"""The variable for `--to`: other users of the machine see the arguments of a process, with the password."""


def add(tenant_commands: Any) -> None:
    """Declare the command."""
    move = tenant_commands.add_parser(
        "move",
        help="move a store to another database while it serves",
        description="Copy a store to another database, follow its changes, make it read-only for some seconds, and let it be served there."
        " An interrupted move is continued by the same command. What is here remains, closed, until it is deleted.",
    )
    move.add_argument("id", metavar="STORE", help="the store: UUID or host")
    move.add_argument(
        "--to", metavar="URL", default=os.environ.get(_TO), help=f"the other database, as its owner; by default {_TO}"
    )
    move.add_argument("--to-storage", metavar="URL", help="the other storage of files, as VITRINE_STORAGE_URL")
    other = move.add_mutually_exclusive_group()
    other.add_argument("--undo", action="store_true", help="move the store back, with what was written there")
    other.add_argument(
        "--abandon",
        action="store_true",
        help="let the store serve here again, because the other database is lost for ever, with what was written there",
    )
    add_json_option(move, _move)


async def _move(args: argparse.Namespace) -> None:
    from server.operations import store_admin
    from server.operations.store_move import StoreMove, lock_move

    if not args.to:
        raise CommandError(f"the other database is missing: set {_TO}, or use --to")
    _check_addresses(args)
    async with open_context(read_settings()) as context:
        entry = await store_admin.find_store(args.id)
        public_id = entry.store.public_id
        if args.abandon:
            await _abandon(args, context, entry.store)
            return
        await _check_key(args, context)
        async with _sides(args, context) as (here, there):
            source, target = (there, here) if args.undo else (here, there)
            await lock_move(source, target, public_id)
            result = await StoreMove(source, target, lambda step: print_error(step)).run()
    if args.json:
        print_json(
            {
                "tenant_id": str(public_id),
                "rows": result.rows,
                "rounds": result.rounds,
                "files": result.files,
                "missing_files": result.missing,
                "pause_seconds": round(result.pause_seconds, 3),
                "late": result.late,
            }
        )
        return
    print_line(
        f"moved {entry.store.name}: {result.rows} rows, {result.files} files, read-only for {result.pause_seconds:.1f} s"
    )
    if result.missing:
        print_line(f"not in the storage: {len(result.missing)} files, first: {result.missing[0]}")
    if result.late:
        tables = ", ".join(f"{name} {count}" for name, count in result.late.items())
        print_line(f"written after the last copy, and not moved: {tables}")


def _check_addresses(args: argparse.Namespace) -> None:
    from kernel.setting_types import STORAGE_URL, InvalidSetting
    from kernel.settings import POSTGRESQL

    for option, type_, address in (
        (f"--to or {_TO}", POSTGRESQL, args.to),
        ("--to-storage", STORAGE_URL, args.to_storage),
    ):
        try:
            if address is not None:
                type_.parse(address)
        except InvalidSetting as error:  # the address isn't quoted: it may have a password
            raise CommandError(f"{option}: expected {error}") from error


async def _abandon(args: argparse.Namespace, context: CommandContext, store: Store) -> None:
    from domain.storage import open_storage
    from server.operations.move_abandonment import abandon_move, as_json, describe
    from server.operations.store_copy import Side
    from server.operations.store_transfer import connect_owner

    url = context.location.owner_url
    async with connect_owner(url) as connection:
        here = Side(connection, url, open_storage(context.settings.storage_address))
        done = await abandon_move(here, store, args.to)
    if args.json:
        print_json(as_json(store, done))
        return
    for line in describe(store.name, done):
        print_line(line)


async def _check_key(args: argparse.Namespace, context: CommandContext) -> None:
    import asyncpg

    from kernel.errors import Unavailable
    from kernel.settings import SettingError
    from server.start_checks import check_secret_key

    try:
        await check_secret_key(context.settings, replace(context.location, owner_url=args.to, serving_url=args.to))
    except (SettingError, Unavailable, asyncpg.PostgresError) as error:
        raise CommandError(f"the other database: {describe_error(error)}") from error


@asynccontextmanager
async def _sides(args: argparse.Namespace, context: CommandContext) -> AsyncIterator[tuple[Side, Side]]:
    from domain.storage import open_storage
    from server.operations.store_copy import Side
    from server.operations.store_transfer import connect_owner

    own = open_storage(context.settings.storage_address)
    other = own if args.to_storage is None else open_storage(args.to_storage)
    owner_url = context.location.owner_url
    async with connect_owner(owner_url) as first, connect_owner(args.to) as second:
        yield Side(first, owner_url, own), Side(second, args.to, other)
