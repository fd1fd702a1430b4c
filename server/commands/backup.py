"""`vitrine backup` and `vitrine restore`: the whole database in one file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel.clock import now
from server.commands.context import quiet_logging, read_settings
from server.commands.output import add_json_option, print_fields, print_json, print_line

if TYPE_CHECKING:
    from server.operations.backup import Backup


def add(commands: Any) -> None:
    """Declare the commands."""
    backup = commands.add_parser(
        "backup",
        help="write the whole database to a file",
        description="Write a consistent backup of the whole database to a new file while the server runs, with PostgreSQL's pg_dump.",
    )
    backup.add_argument("path", metavar="PATH", type=Path, help="the new file, or a folder for one named by the time")
    backup.add_argument(
        "--with-secret-key",
        action="store_true",
        help="include VITRINE_SECRET_KEY and its fallbacks: who has the file can then read every secret",
    )
    backup.add_argument("--media", action="store_true", help="include the contents of media files")
    add_json_option(backup, _backup)
    restore = commands.add_parser(
        "restore",
        help="restore a backup",
        description="Restore a backup into the empty database of DATABASE_URL (else the embedded one), in one transaction, and compare the"
        " rows of every table with those that were backed up. Stop serve and worker first.",
    )
    restore.add_argument("path", metavar="FILE", type=Path, help="the file of vitrine backup")
    restore.add_argument("--replace", action="store_true", help="delete everything that the database contains")
    add_json_option(restore, _restore)


async def _backup(args: argparse.Namespace) -> None:
    from server.database import database_location
    from server.domain_settings import configure_domain
    from server.operations.backup import back_up, default_name
    from server.secret_key import with_secret_key

    settings = read_settings()
    quiet_logging(settings)
    path = args.path / default_name(now()) if args.path.is_dir() else args.path
    async with database_location(settings) as location:
        keyed_settings = with_secret_key(settings)
        configure_domain(settings)
        made = await back_up(
            keyed_settings, location.owner_url, path, with_secret_keys=args.with_secret_key, with_media=args.media
        )
    if args.json:
        print_json({"file": path, "bytes": path.stat().st_size, **_as_json(made)})
        return
    _print("backed up", made, path)
    if not made.has_secret_keys:
        print_line(f"not included: the secret key {made.key_ids[0]}; without it no encrypted value can be read")


async def _restore(args: argparse.Namespace) -> None:
    from server.database import database_location
    from server.domain_settings import configure_domain
    from server.operations.restore import missing_keys, read_secret_keys, restore
    from server.secret_key import with_secret_key

    settings = read_settings()
    quiet_logging(settings)
    keys = read_secret_keys(args.path)
    async with database_location(settings) as location:
        configure_domain(settings)
        restored = await restore(location.owner_url, args.path, replace=args.replace)
    keyed_settings = with_secret_key(settings, initial=keys[0] if keys else None)
    missing = missing_keys(restored, keyed_settings)
    if args.json:
        print_json({"file": args.path, **_as_json(restored), "missing_keys": missing})
        return
    _print("restored", restored, args.path)
    if missing:
        where = f"; unzip -p {args.path} secret_keys.json prints it" if restored.has_secret_keys else ""
        print_line(f"encrypted values need the secret key {', '.join(missing)}, which isn't configured{where}")


def _as_json(backup: Backup) -> dict[str, Any]:
    return {
        "created_at": backup.created_at,
        "stores": backup.stores,
        "rows": backup.rows,
        "secret_keys": list(backup.key_ids),
        "has_secret_keys": backup.has_secret_keys,
        "media": {"files": backup.media.files, "bytes": backup.media.bytes, "missing": backup.media.missing},
        "media_left": backup.media_left,
    }


def _print(verb: str, backup: Backup, path: Path) -> None:
    media = f", {backup.media.files} media files" if backup.media.files else ""
    print_line(f"{verb} {backup.stores} stores, {backup.rows} rows{media}, of {backup.created_at}")
    print_fields({"file": path, "bytes": path.stat().st_size})
    if backup.media.missing:
        print_line(f"not in the storage: {len(backup.media.missing)} media files, first: {backup.media.missing[0]}")
    if backup.media_left:
        print_line(
            f"not included: the contents of {backup.media_left} media files, which are in the storage of files (--media)"
        )
