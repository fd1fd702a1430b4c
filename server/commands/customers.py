"""`vitrine customer`: everything a store knows of a person as JSON, and its erasure (docs/security.md#erasure)."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from server.commands.context import open_context, read_settings
from server.commands.errors import CommandError
from server.commands.output import add_json_option, print_created

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernel.scope import Scope


def add(commands: Any) -> None:
    """Declare the commands."""
    customer = commands.add_parser("customer", help="export and erase the data of a person")
    customer_commands = customer.add_subparsers(title="commands", metavar="COMMAND", required=True)

    export = customer_commands.add_parser("export", help="print everything a store knows of a person, as JSON")
    _add_person(export)
    export.add_argument(
        "--output", metavar="FILE", type=Path, help="write it to a new file that only its owner can read"
    )
    export.set_defaults(run=_export)

    erase = customer_commands.add_parser("erase", help="erase a person, except what tax law keeps")
    _add_person(erase)
    add_json_option(erase, _erase)


def _add_person(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tenant", metavar="ID", required=True, help="the store: UUID or host")
    person = parser.add_mutually_exclusive_group(required=True)
    person.add_argument("--email", help="the e-mail, of an account or a guest")
    person.add_argument("--user", metavar="ID", help="the user: UUID or number")


async def _export(args: argparse.Namespace) -> None:
    from server.operations import store_admin

    async with open_context(read_settings()):
        scope = await store_admin.find_scope(args.tenant)
        records = _records(scope, args)
        first = await anext(records, None)
        if first is None:
            raise _unknown(scope, args)
        with _opened(args.output) as file:
            # Written while it is read: a person may have any number of orders.
            file.write("{")
            section, separator = "", ""
            async for table, record in _chained(first, records):
                if table != section:
                    file.write(f"{']' if section else ''}{',' if section else ''}\n{json.dumps(table)}: [")
                    section, separator = table, ""
                file.write(f"{separator}\n{json.dumps(record, ensure_ascii=False)}")
                separator = ","
            file.write("]\n}\n")


async def _records(scope: Scope, args: argparse.Namespace) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    from domain.people.export import export_user

    after: str | None = None
    while True:
        page = await export_user(scope, args.user, args.email, after)
        for table, records in page.data.items():
            for record in records:
                yield table, record
        after = page.next
        if after is None:
            return


async def _chained(
    first: tuple[str, dict[str, Any]], rest: AsyncIterator[tuple[str, dict[str, Any]]]
) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    yield first
    async for each in rest:
        yield each


@contextmanager
def _opened(path: Path | None) -> Iterator[IO[str]]:
    from server.operations.written_files import named_in_errors

    if path is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise CommandError(f"{path} exists already") from None
    try:
        with named_in_errors(path), os.fdopen(descriptor, "w", encoding="utf-8") as file:
            yield file
    except BaseException:
        path.unlink()  # a part would pass for all that the store knows
        raise


async def _erase(args: argparse.Namespace) -> None:
    from domain.people import removal
    from domain.people.export import find_user
    from kernel.clock import format_rfc3339
    from kernel.scope import active_scope
    from server.operations import store_admin

    async with open_context(read_settings()):
        scope = await store_admin.find_scope(args.tenant)
        with active_scope(scope):
            user_id = await find_user(scope, args.user, args.email)
            if user_id is None:
                erasure = await removal.anonymize_guest(scope, args.email)
            else:
                _, erasure = await removal.anonymize_user(scope, user_id)
    result = {
        "rows": erasure.rows,
        "kept_orders": erasure.kept_orders,
        "newest_kept_order": None if erasure.kept_from is None else format_rfc3339(erasure.kept_from),
    }
    note = "Backups contain the person until they are deleted." if erasure.rows else "Nothing of the person was left."
    print_created(args, result, note)


def _unknown(scope: Scope, args: argparse.Namespace) -> CommandError:
    return CommandError(f"{scope.store.name} knows nothing of {args.email or args.user!r}")
