"""Check what PostgreSQL keeps on disk: the free space for its data, and the archive of its write-ahead log (WAL)."""

from __future__ import annotations

import asyncio
import re
import shutil
from datetime import timedelta
from ipaddress import ip_interface
from pathlib import Path

import asyncpg

from server.operations.check_results import CheckResult, fail, ok, warn

MIN_FREE_BYTES = 64 * 2**20
LOW_FREE_BYTES = 2**30
MAX_ARCHIVE_AGE = timedelta(minutes=10)
# A restore after a loss of the disk would lack as much.
MAX_UNARCHIVED_BYTES = 2**30

_SEGMENT = re.compile(r"[0-9A-F]{24}")


def mebibytes(size: int) -> str:
    """Return a number of bytes as text in MiB."""
    return f"{size / 2**20:,.1f} MiB"


# --- Disk ------------------------------------------------------------------------------------------------------------------


async def check_disk(connection: asyncpg.Connection, embedded: Path | None = None) -> CheckResult:
    """Report the free space where PostgreSQL's data is, if that is on this machine and known; `embedded` is the embedded one's folder."""
    if embedded is not None:
        return await asyncio.to_thread(_check_free_space, embedded)
    address = await connection.fetchval("select inet_server_addr()")
    if address is not None and not ip_interface(str(address)).ip.is_loopback:
        return ok("disk", f"free space is not known: PostgreSQL's data is on another machine, {address}")
    try:
        folder = await connection.fetchval("select current_setting('data_directory')")
    except asyncpg.InsufficientPrivilegeError:
        role = await connection.fetchval("select current_user::text")
        return ok(
            "disk",
            f"free space is not known: {role} may not see where the data is; GRANT pg_read_all_settings TO {role}",
        )
    return await asyncio.to_thread(_check_free_space, Path(folder))


def _check_free_space(folder: Path) -> CheckResult:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return ok("disk", f"free space of {folder} is not known: {error.strerror}")
    text = f"{mebibytes(free)} are free for PostgreSQL's data in {folder}"
    if free < MIN_FREE_BYTES:
        return fail("disk", f"{text}: PostgreSQL stops when it can't write")
    return warn("disk", text) if free < LOW_FREE_BYTES else ok("disk", text)


# --- Archive ---------------------------------------------------------------------------------------------------------------

_ARCHIVER = """
    select current_setting('archive_mode') as mode, a.last_archived_wal, a.last_failed_wal,
        clock_timestamp() - a.last_archived_time as archived_age, clock_timestamp() - a.last_failed_time as failed_age,
        coalesce(a.last_failed_time > a.last_archived_time, a.last_failed_time is not null) as is_failing,
        pg_size_bytes(current_setting('wal_segment_size')) as segment_bytes,
        case when not pg_is_in_recovery() then pg_current_wal_lsn() - '0/0' end::bigint as written
    from pg_stat_archiver a
"""


async def check_archive(connection: asyncpg.Connection) -> CheckResult:
    """Report when a segment of the WAL was last archived or not, and how much is not archived yet."""
    row = await connection.fetchrow(_ARCHIVER)
    assert row is not None
    if row["mode"] == "off":
        return ok("archive", "archive_mode is off: no recovery to a point in time")
    text = (
        f"the last segment was archived {_age(row['archived_age'])} ago"
        if row["last_archived_wal"] is not None
        else "no segment was archived yet"
    )
    if row["is_failing"]:
        return fail(
            "archive", f"archive_command failed for {row['last_failed_wal']} {_age(row['failed_age'])} ago; {text}"
        )
    end = _segment_end(row["last_archived_wal"], row["segment_bytes"])
    if end is None or row["written"] is None:
        return ok("archive", text)
    behind = max(0, row["written"] - end)
    text += f", {mebibytes(behind)} are not archived"
    is_late = behind > row["segment_bytes"] and row["archived_age"] > MAX_ARCHIVE_AGE
    return warn("archive", text) if is_late or behind > MAX_UNARCHIVED_BYTES else ok("archive", text)


def _segment_end(name: str | None, segment_bytes: int) -> int | None:
    """Return the position after a segment of the WAL: its name is timeline, upper half of positions, and number, 8 digits each."""
    if name is None or not _SEGMENT.match(name):
        return None
    return (int(name[8:16], 16) << 32) + (int(name[16:24], 16) + 1) * segment_bytes


def _age(age: timedelta) -> str:
    minutes = age // timedelta(minutes=1)
    return f"{minutes} minutes" if minutes else f"{max(0, age // timedelta(seconds=1))} seconds"
