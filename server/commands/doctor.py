"""`vitrine doctor`: look whether the deployment is as it should be."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from server.commands.opened import run
from server.commands.output import complain, say, say_json

if TYPE_CHECKING:
    from server.commands.findings import Finding


def add(commands: Any) -> None:
    """Declare the command."""
    doctor = commands.add_parser(
        "doctor",
        help="look whether all is as it should be",
        description="Check settings, database, roles, store isolation, keys, stores and background work; exit 1 when a check fails.",
    )
    doctor.add_argument("--json", action="store_true", help="write JSON")
    doctor.set_defaults(run=_doctor)


def _doctor(asked: argparse.Namespace) -> int:
    import logging

    logging.disable(logging.ERROR)  # what there is to say stands in the findings
    findings = run(_examine(aloud=not asked.json))
    failed = [finding for finding in findings if finding.level == "fail"]
    if asked.json:
        say_json(
            {
                "ok": not failed,
                "findings": [
                    {"check": finding.check, "level": finding.level.value, "text": finding.text}
                    for finding in findings
                ],
            }
        )
    if failed:
        complain(f"{len(failed)} of {len(findings)} checks failed, the first: {failed[0].check}")
        return 1
    return 0


async def _examine(*, aloud: bool) -> list[Finding]:
    from server.commands.findings import examine

    findings = []
    async for finding in examine():
        if aloud:
            say(f"{finding.level.value:<4}  {finding.check:<12}  {finding.text}")
        findings.append(finding)
    return findings
