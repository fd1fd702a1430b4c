"""`vitrine import`: import external data into a store."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from server.commands.context import open_context, read_settings
from server.commands.errors import CommandError
from server.commands.output import add_json_option, print_error, print_json, print_line

if TYPE_CHECKING:
    from kernel.scope import Store
    from server.commands.context import CommandContext
    from server.importers.cscart.report import Report
    from server.importers.cscart.source import Source
    from server.importers.olist import ImportReport
    from server.importers.record_files import FileReport

Command: TypeAlias = Callable[[argparse.Namespace], Awaitable[int]]

_KINDS = ("products", "customers", "orders")


def add(commands: Any) -> None:
    """Declare the commands."""
    importing = commands.add_parser("import", help="import external data into a store")
    sources = importing.add_subparsers(title="sources", metavar="SOURCE", required=True)
    olist = sources.add_parser(
        "olist",
        help="import the public dataset of the Olist marketplace",
        description="Import customers, vendors, products, orders, payments and reviews. Idempotent.",
    )
    olist.add_argument("directory", metavar="DIR", type=Path, help="the folder with the CSV files")
    olist.add_argument("--tenant", metavar="ID", required=True, help="the store: UUID or host")
    olist.add_argument("--events", action="store_true", help="emit events for imported records")
    olist.add_argument("--no-progress", action="store_true", help="show no progress bar")
    _add_wait(olist)
    add_json_option(olist, _one_at_a_time(_olist))
    _add_cscart(sources)
    for format_, name in (("csv", "a CSV file"), ("jsonl", "a file of JSON Lines")):
        records = sources.add_parser(
            format_,
            help=f"import the products, customers or orders of {name}",
            description=f"Create the records of {name}, and update products and customers (docs/reference/bulk.md#files-of-records)."
            " It can be repeated: what was imported before is found.",
        )
        records.add_argument("file", metavar="FILE", type=Path)
        records.add_argument("--tenant", metavar="ID", required=True, help="the store: UUID or host")
        records.add_argument("--kind", choices=_KINDS, default=_KINDS[0], help="what the file has; default: products")
        records.add_argument("--dry-run", action="store_true", help="check everything, write nothing")
        records.add_argument("--events", action="store_true", help="also emit events for new customers and orders")
        records.add_argument("--no-progress", action="store_true", help="show no progress bar")
        _add_wait(records)
        records.set_defaults(format=format_)
        add_json_option(records, _one_at_a_time(_records))


def _add_cscart(sources: Any) -> None:
    cscart = sources.add_parser(
        "cscart",
        help="move a CS-Cart or Multi-Vendor shop here",
        description="Read a CS-Cart 4.x or Multi-Vendor shop through its REST API and make the same shop here, with the same"
        " numbers. It can be interrupted and run again (docs/moving-from-cs-cart.md).",
    )
    cscart.add_argument(
        "directory", metavar="DIR", type=Path, nargs="?", help="a folder of saved answers, in place of --url"
    )
    cscart.add_argument("--url", metavar="URL", help="the shop's address")
    cscart.add_argument("--email", metavar="E", help="e-mail of an administrator of that shop")
    cscart.add_argument(
        "--api-key", metavar="K", help="the administrator's API key; - reads it from the standard input"
    )
    cscart.add_argument("--tenant", metavar="ID", required=True, help="the store to fill: UUID or host")
    cscart.add_argument("--dry-run", action="store_true", help="read and check everything, write nothing")
    cscart.add_argument(
        "--images",
        choices=("copies", "links"),
        default="copies",
        help="copy the pictures (the default), or leave links to the shop",
    )
    cscart.add_argument(
        "--since", metavar="TIME", type=_time, help="also bring what changed since: ISO 8601, or Unix seconds"
    )
    cscart.add_argument(
        "--redirects",
        metavar="FILE",
        type=Path,
        help="write the store's redirects, those of the shop's addresses among them: a line `old new 301` for each",
    )
    cscart.add_argument("--no-progress", action="store_true", help="show no progress bars")
    _add_wait(cscart)
    add_json_option(cscart, _one_at_a_time(_cscart))


def _add_wait(command: Any) -> None:
    command.add_argument(
        "--wait",
        action="store_true",
        help="wait while another import fills the store; without it this one ends at once",
    )


def _time(text: str) -> datetime:
    """Parse the argument of `--since`; a time without zone is UTC."""
    try:
        if text.isascii() and text.isdigit():
            return datetime.fromtimestamp(int(text), UTC)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; expected such as 2026-11-22T14:00") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


async def _olist(args: argparse.Namespace) -> int:
    from server.importers import olist

    if not args.directory.is_dir():
        raise CommandError(f"{args.directory} is not a folder; expected the one with the Olist CSV files")
    async with open_context(read_settings()) as context, _turn(args, context) as store:
        report = await olist.run(args.directory, store.public_id, events=args.events, progress=not args.no_progress)
    *lines, last = report.summary().splitlines()
    _print_report(args, report, lines if report.is_rejected else [*lines, last])
    if report.is_rejected:
        print_error(last)
    return 1 if report.is_rejected else 0


def _print_report(args: argparse.Namespace, report: ImportReport | FileReport | Report, lines: Iterable[str]) -> None:
    if args.json:
        print_json(report.as_json())
        return
    for line in lines:
        print_line(line)


async def _records(args: argparse.Namespace) -> int:
    from server.importers import customer_files, order_files, product_files, record_files

    kinds = (product_files.PRODUCTS, customer_files.CUSTOMERS, order_files.ORDERS)
    kind = next(kind for kind in kinds if kind.name == args.kind)
    async with open_context(read_settings()) as context, _turn(args, context) as store:
        options = {"dry_run": args.dry_run, "events": args.events, "progress": not args.no_progress}
        report = await record_files.run(kind, args.file, args.format, store.public_id, **options)
    _print_report(args, report, report.lines())
    if report.failed:
        print_error(f"{report.failed} {args.kind} were not imported; they are listed above")
    return 1 if report.failed else 0


async def _cscart(args: argparse.Namespace) -> int:
    from server.domain_settings import configure_domain
    from server.importers.cscart import run
    from server.importers.cscart.http_source import HttpSource
    from server.importers.cscart.progress import ProgressBars, print_wait
    from server.importers.cscart.source import FolderSource
    from server.media.child_pool import image_renderer
    from server.outgoing import outgoing_client

    _check_source(args)
    settings = read_settings()

    async def fill(source: Source, store: Store) -> Report:
        progress = None if args.no_progress else ProgressBars()
        return await run.run(
            source,
            store.public_id,
            since=args.since,
            dry_run=args.dry_run,
            copies_images=args.images == "copies",
            progress=progress,
        )

    async with (
        open_context(settings) as context,
        _turn(args, context) as store,
        outgoing_client(allows_private=settings.allows_private_endpoints),
        image_renderer(),
    ):
        configure_domain(settings)
        if args.directory is not None:
            report = await fill(FolderSource(args.directory), store)
        else:
            async with HttpSource(args.url, args.email, _api_key(args.api_key), on_wait=print_wait) as source:
                report = await fill(source, store)
        _print_report(args, report, report.lines())
        if args.redirects is not None:
            await _write_redirects(args.redirects, store)
    if report.stopped:
        print_error(report.stopped)
    elif report.failures:
        print_error(f"{len(report.failures)} could not be brought; they are listed above")
    return 1 if report.stopped or report.failures else 0


async def _write_redirects(file: Path, store: Store) -> None:
    from kernel.scope import active_scope
    from server.importers.cscart.addresses import redirect_lines
    from server.operations.store_admin import system_scope
    from server.operations.written_files import replaced_file

    scope = system_scope(store)
    with active_scope(scope), replaced_file(file) as lines:
        async for line in redirect_lines(scope):
            print(line, file=lines)


def _one_at_a_time(command: Command) -> Command:
    """Return the command so that it does nothing while another import fills the same store, which is no failure of a cron job."""

    async def run(args: argparse.Namespace) -> int:
        from server.exclusive import RunsElsewhere

        try:
            return await command(args)
        except RunsElsewhere:
            text = "another import fills the store at the moment; nothing was done (--wait waits for its end)"
            if args.json:
                print_json({"skipped": text})
            else:
                print_line(text)
            return 0

    return run


@asynccontextmanager
async def _turn(args: argparse.Namespace, context: CommandContext) -> AsyncIterator[Store]:
    """Find the store and hold the lock of its imports: of two at once neither would see what the other is about to write."""
    from server.exclusive import exclusive
    from server.operations import store_admin

    store = (await store_admin.find_scope(args.tenant)).store
    async with exclusive(context.location.serving_url, f"import into {store.public_id}", waits=args.wait):
        yield store


def _check_source(args: argparse.Namespace) -> None:
    if (args.directory is None) == (args.url is None):
        raise CommandError("expected either --url or a folder of saved answers")
    if args.directory is not None and not args.directory.is_dir():
        raise CommandError(f"{args.directory} is not a folder; expected one with saved answers of the shop")
    if args.directory is not None and not any(args.directory.glob("*.json")):
        raise CommandError(f"{args.directory} has no saved answer of the shop; expected lists such as products.json")
    if args.url is not None and not (args.email and args.api_key):
        raise CommandError("--url needs --email and --api-key")
    if args.redirects is not None and args.dry_run:
        raise CommandError("--redirects lists what an import has written; leave out --dry-run")
    if args.redirects is not None and (args.redirects.is_dir() or not args.redirects.parent.is_dir()):
        raise CommandError(f"{args.redirects} can't be written; expected a file in a folder that exists")


def _api_key(argument: str) -> str:
    """Return the key; the process list shows arguments to every user of the machine, but not the standard input."""
    return sys.stdin.readline().strip() if argument == "-" else argument
