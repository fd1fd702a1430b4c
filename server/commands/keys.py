"""`vitrine keys rotate`: sign access tokens with a new key."""

from __future__ import annotations

import argparse
from typing import Any

from server.commands.opened import opened, read_settings, run
from server.commands.output import say, say_json


def add(commands: Any) -> None:
    """Declare the commands."""
    keys = commands.add_parser("keys", help="the keys that sign access tokens")
    about = keys.add_subparsers(title="commands", metavar="COMMAND", required=True)
    rotate = about.add_parser(
        "rotate",
        help="sign with a new key from now on",
        description="Make a new signing key. Tokens signed with the old one are good until they expire.",
    )
    rotate.add_argument("--json", action="store_true", help="write JSON")
    rotate.set_defaults(run=_rotate)


def _rotate(asked: argparse.Namespace) -> None:
    async def work() -> str:
        from auth.keys import process_ring
        from kernel.clock import now

        async with opened(read_settings()):
            return await process_ring().rotate(now())

    kid = run(work())
    if asked.json:
        say_json({"kid": kid})
    else:
        say(f"tokens are now signed with the key {kid}; those of the old key are good until they expire")
