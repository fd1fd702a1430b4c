"""`vitrine report`: sales and payouts of vendors, for the books (docs/ledger.md#sales-report)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from server.commands.context import open_context, read_settings
from server.commands.output import print_json, print_table

if TYPE_CHECKING:
    from kernel.scope import Scope

_BATCH = 1_000


def add(commands: Any) -> None:
    """Declare the commands."""
    report = commands.add_parser("report", help="print sales and payouts of vendors")
    report_commands = report.add_subparsers(title="commands", metavar="COMMAND", required=True)

    sales = report_commands.add_parser("sales", help="print the sales of vendors by month")
    _add_options(sales)
    sales.add_argument(
        "--from", metavar="MONTH", dest="month_from", help="the first month (2026-11); default: this one"
    )
    sales.add_argument("--to", metavar="MONTH", dest="month_to", help="the last month; default: the first one")
    sales.set_defaults(run=_sales)

    payouts = report_commands.add_parser("payouts", help="print the payouts of vendors")
    _add_options(payouts)
    payouts.set_defaults(run=_payouts)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tenant", metavar="ID", required=True, help="the store: UUID or host")
    parser.add_argument("--vendor", metavar="ID", help="one vendor: UUID or number; default: all")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print CSV")
    form.add_argument("--json", action="store_true", help="print JSON")


async def _sales(args: argparse.Namespace) -> None:
    from dataclasses import asdict

    from domain.ledger.sales_report import load_sales_report
    from rest_facade.current.ledger import SALES_COLUMNS

    async def read(scope: Scope) -> list[Mapping[str, Any]]:
        rows: list[Mapping[str, Any]] = []
        while True:
            page = await load_sales_report(
                scope, args.vendor, args.month_from, args.month_to, limit=_BATCH, offset=len(rows)
            )
            rows += [asdict(row) for row in page]
            if len(page) < _BATCH:
                return rows

    await _print(args, SALES_COLUMNS, read)


async def _payouts(args: argparse.Namespace) -> None:
    from domain.ledger.payouts import read_payouts
    from rest_facade.current.ledger import PAYOUT_COLUMNS

    await _print(args, PAYOUT_COLUMNS, lambda scope: read_payouts(scope, args.vendor))


async def _print(args: argparse.Namespace, columns: Sequence[str], read: Any) -> None:
    from kernel.csv_text import csv_text
    from kernel.scope import active_scope
    from server.operations import store_admin

    async with open_context(read_settings()):
        scope = await store_admin.find_scope(args.tenant)
        with active_scope(scope):
            rows = await read(scope)
    if args.json:
        print_json([{name: row[name] for name in columns} for row in rows])
    elif args.csv:
        sys.stdout.write(csv_text(columns, rows))
        sys.stdout.flush()
    else:
        shown = [name for name in columns if name not in ("id", "vendor_id")]
        print_table(shown, [["" if row[name] is None else row[name] for name in shown] for row in rows])
