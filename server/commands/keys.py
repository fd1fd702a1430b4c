"""`vitrine keys rotate`: rotate the signing key of access tokens."""

from __future__ import annotations

import argparse
from typing import Any

from server.commands.context import open_context, read_settings, run_command
from server.commands.output import print_json, print_line


def add(commands: Any) -> None:
    """Declare the commands."""
    keys = commands.add_parser("keys", help="manage the signing keys of access tokens")
    key_commands = keys.add_subparsers(title="commands", metavar="COMMAND", required=True)
    rotate = key_commands.add_parser(
        "rotate",
        help="create a new signing key",
        description="Create a new signing key. Tokens signed with the old one stay valid until they expire.",
    )
    rotate.add_argument("--json", action="store_true", help="print JSON")
    rotate.set_defaults(run=_rotate)


def _rotate(args: argparse.Namespace) -> None:
    async def execute() -> str:
        from auth.signing_keys import process_key_ring
        from kernel.clock import now

        async with open_context(read_settings()):
            return await process_key_ring().rotate(now())

    kid = run_command(execute())
    if args.json:
        print_json({"kid": kid})
    else:
        print_line(f"tokens are now signed with the key {kid}; older tokens stay valid until they expire")
