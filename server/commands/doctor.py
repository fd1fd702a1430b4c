"""`vitrine doctor`: check the deployment."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from server.commands.output import add_json_option, print_error, print_json, print_line

if TYPE_CHECKING:
    from server.operations.check_results import CheckResult


def add(commands: Any) -> None:
    """Declare the command."""
    doctor = commands.add_parser(
        "doctor",
        help="check the deployment",
        description="Check settings, database, roles, tenant isolation, keys, stores and background jobs; exit 1 when a check fails.",
    )
    doctor.add_argument(
        "--delete-orphans",
        action="store_true",
        help="delete the objects of media files in the storage that are a day old and belong to no file",
    )
    add_json_option(doctor, _doctor)


async def _doctor(args: argparse.Namespace) -> int:
    import logging

    logging.disable(logging.ERROR)  # the results are printed instead
    results = await _run_checks(prints=not args.json, deletes_orphans=args.delete_orphans)
    failed = [result for result in results if result.level == "fail"]
    if args.json:
        print_json(
            {
                "ok": not failed,
                "findings": [
                    {"check": result.check, "level": result.level.value, "text": result.text} for result in results
                ],
            }
        )
    if failed:
        print_error(f"{len(failed)} of {len(results)} checks failed, first: {failed[0].check}")
        return 1
    return 0


async def _run_checks(*, prints: bool, deletes_orphans: bool) -> list[CheckResult]:
    from server.operations.checks import run_checks

    results = []
    async for result in run_checks(deletes_orphans=deletes_orphans):
        if prints:
            print_line(f"{result.level.value:<4}  {result.check:<12}  {result.text}")
        results.append(result)
    return results
