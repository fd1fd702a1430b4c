"""`vitrine keys`: rotate the signing key of access tokens, and encrypt stored values under the present secret key."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from server.commands.context import open_context, read_settings
from server.commands.errors import CommandError
from server.commands.output import add_json_option, print_json, print_line, print_table

if TYPE_CHECKING:
    from domain.reencryption import Reencryption

MAX_PLACES = 20


def add(commands: Any) -> None:
    """Declare the commands."""
    keys = commands.add_parser("keys", help="manage the signing keys of access tokens and the secret key")
    key_commands = keys.add_subparsers(title="commands", metavar="COMMAND", required=True)
    rotate = key_commands.add_parser(
        "rotate",
        help="create a new signing key",
        description="Create a new signing key. Tokens signed with the old one stay valid until they expire.",
    )
    add_json_option(rotate, _rotate)
    reencrypt = key_commands.add_parser(
        "reencrypt",
        help="encrypt stored values under VITRINE_SECRET_KEY",
        description="Encrypt every stored value that a key of VITRINE_SECRET_KEY_FALLBACKS can read under VITRINE_SECRET_KEY, while the"
        " server runs; exit 1 when a value can't be read. An interrupted run is continued by the next one.",
    )
    reencrypt.add_argument(
        "--forget-hash-keys",
        action="store_true",
        help="after a disclosure: don't retain what verifies order tokens, recovery codes and other things that earlier keys made, and"
        " delete what was",
    )
    add_json_option(reencrypt, _reencrypt)


async def _rotate(args: argparse.Namespace) -> None:
    from auth.signing_keys import process_key_ring
    from kernel.clock import now

    async with open_context(read_settings()):
        kid = await process_key_ring().rotate(now())
    if args.json:
        print_json({"kid": kid})
    else:
        print_line(f"tokens are now signed with the key {kid}; older tokens stay valid until they expire")


async def _reencrypt(args: argparse.Namespace) -> None:
    settings = read_settings()

    from domain.reencryption import current_key_id, reencrypt_values

    async with open_context(settings):
        result, key = await reencrypt_values(forget_hash_keys=args.forget_hash_keys), current_key_id()

    unreadable = [place for report in result.after for place in report.unreadable]
    outdated = sum(report.outdated for report in result.after)
    if args.json:
        print_json(
            {
                "key": key,
                "columns": [
                    {"name": report.column.name, "values": report.values, "reencrypted": report.outdated}
                    for report in result.before
                ],
                "unreadable": unreadable,
                "outdated": outdated,
            }
        )
    else:
        _print_columns(result, unreadable)
        if not outdated:
            advice = ": VITRINE_SECRET_KEY_FALLBACKS can be removed" if settings.secret_key_fallbacks else ""
            print_line(f"every readable value is encrypted under the key {key}{advice}")
    if unreadable:
        raise CommandError(f"{len(unreadable)} values can't be read with any configured key, first: {unreadable[0]}")
    if outdated:
        raise CommandError(
            f"{outdated} values were written under another key meanwhile: restart every process with the new "
            "VITRINE_SECRET_KEY and repeat this"
        )


def _print_columns(result: Reencryption, unreadable: list[str]) -> None:
    print_table(
        ("column", "values", "re-encrypted", "unreadable"),
        [
            (report.column.name, report.values, report.outdated, len(report.unreadable))
            for report in result.before
            if report.values
        ],
    )
    for place in unreadable[:MAX_PLACES]:
        print_line(f"unreadable: {place}")
    if len(unreadable) > MAX_PLACES:
        print_line(f"unreadable: {len(unreadable) - MAX_PLACES} more")
