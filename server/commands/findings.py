"""Look whether a deployment is as it should be: settings, database, roles, isolation, keys, stores, background work."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

import asyncpg

import auth
from auth.secrets import Unreadable, decrypt
from domain.jobs import JOBS
from domain.stores import GATEWAY_PURPOSE
from kernel.clock import now
from kernel.errors import DomainError
from kernel.settings import SETTINGS, SettingError, Settings
from models import database, migrate
from models.roles import APP, OLDEST_POSTGRESQL
from server.database import FOLDER, DatabaseLocation, connected, reached
from server.embedded_postgres import EmbeddedPostgresError
from server.secret_key import with_secret_key

SIGNING_PURPOSE = "signing-keys"  # auth/keys.py
ASSETS = Path(__file__).resolve().parents[1] / "assets" / "built" / "version"
MOST_DRIFT = timedelta(seconds=5)
OVERDUE = timedelta(minutes=10)
NAMED = 5
_WAIT_SECONDS = 5.0


class Severity(StrEnum):
    """Say how bad it is: `warn` works but should be known, `fail` doesn't work or isn't safe."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """Tell what one check found, in one line."""

    check: str
    level: Severity
    text: str


def ok(check: str, text: str) -> Finding:
    """Tell that something is as it should be."""
    return Finding(check, Severity.OK, text)


def warn(check: str, text: str) -> Finding:
    """Tell of something that works and should be known."""
    return Finding(check, Severity.WARN, text)


def fail(check: str, text: str) -> Finding:
    """Tell of something that doesn't work or isn't safe."""
    return Finding(check, Severity.FAIL, text)


async def examine() -> AsyncIterator[Finding]:
    """Give the findings one by one; what rests on a failed check is left out. Nothing is changed."""
    try:
        settings = Settings.from_environment(os.environ)
    except SettingError as error:
        yield fail("settings", str(error))
        return
    for finding in findings_of(settings):
        yield finding
    yield await _redis(settings)
    if settings.secret_key is None and not _has_data(settings):
        yield warn("database", f"not made yet: vitrine serve makes an embedded one in {settings.data_dir}")
        return
    try:
        secret = with_secret_key(settings).secret_key
    except SettingError as error:
        yield fail("secret key", str(error))
        return
    assert secret is not None
    kept = (
        "VITRINE_SECRET_KEY" if settings.secret_key else f"made for development, kept in {settings.data_dir}"
    )
    yield ok("secret key", kept)
    auth.configure(secret.encode())
    async for finding in _of_database(settings):
        yield finding


# --- Settings and what stands beside the database ---------------------------------------------------------------------------


def findings_of(settings: Settings) -> list[Finding]:
    """Give what can be said of the settings alone."""
    given = [setting.name for setting in SETTINGS if os.environ.get(setting.name, "").strip()]
    found = [ok("settings", f"{settings.env}; set: {', '.join(given) or 'none'}")]
    if not settings.is_production and not settings.is_private_development:
        found.append(
            warn("bind", "development can be reached from other machines; VITRINE_ENV=production is for that")
        )
    found.append(_mail(settings))
    if not ASSETS.is_file():
        found.append(warn("playground", "its files are not built: make assets"))
    return found


def _mail(settings: Settings) -> Finding:
    if settings.smtp_url is not None:
        return ok("mail", "SMTP_URL is set: vitrine worker sends mails")
    if settings.is_private_development:
        return ok("mail", "SMTP_URL is not set: mails are not sent but shown at /dev/mails")
    return warn("mail", "SMTP_URL is not set: mails stay queued")


async def _redis(settings: Settings) -> Finding:
    if settings.redis_url is None:
        if settings.processes > 1:
            return warn(
                "limits",
                f"REDIS_URL is not set: each of {settings.processes} processes counts requests alone",
            )
        return ok("limits", "counted in this process (REDIS_URL is not set)")
    from server.shared_limits import LOST, SharedCounters

    counters = SharedCounters(settings.redis_url)
    try:
        async with asyncio.timeout(_WAIT_SECONDS):
            await counters.check()
    except LOST as error:
        return fail("limits", f"REDIS_URL can't be used, so each process counts alone: {_words(error)}")
    finally:
        await counters.close()
    return ok("limits", "shared through Redis")


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _has_data(settings: Settings) -> bool:
    return settings.database_url is not None or (settings.data_dir / FOLDER / "data").is_dir()


# --- The database ----------------------------------------------------------------------------------------------------------


async def _of_database(settings: Settings) -> AsyncIterator[Finding]:
    if not _has_data(settings):
        yield warn("database", f"not made yet: vitrine serve makes an embedded one in {settings.data_dir}")
        return
    try:
        async with reached(settings) as place:
            is_right = True
            async for finding in _of_server(place):
                is_right = is_right and finding.level is not Severity.FAIL
                yield finding
            if is_right:
                async with connected(settings, place):
                    async for finding in _of_contents():
                        yield finding
    except (EmbeddedPostgresError, DomainError, database.UnsafeRole, asyncpg.PostgresError, OSError) as error:
        yield fail("database", _words(error))


async def _of_server(place: DatabaseLocation) -> AsyncIterator[Finding]:
    """Look at the server, its tables and their isolation, as the owner."""
    try:
        connection = await asyncpg.connect(place.owner_url, timeout=_WAIT_SECONDS)
    except (asyncpg.PostgresError, OSError, TimeoutError) as error:
        yield fail("database", f"DATABASE_URL can't be reached: {_words(error)}")
        return
    try:
        yield await _version(connection, place)
        yield await _clock(connection)
        pending = await migrate.pending(place.owner_url)
        if pending:
            text = f"{len(pending)} pending, the first is {pending[0]}"
            # The embedded database is brought up to date by whatever uses it next.
            yield (
                warn("migrations", text)
                if place.is_embedded
                else fail("migrations", f"{text}: run vitrine migrate")
            )
            if len(pending) == len(await migrate.known()):
                return
        else:
            yield ok("migrations", "all applied")
        yield await _isolation(connection)
    finally:
        await connection.close()


async def _version(connection: asyncpg.Connection, place: DatabaseLocation) -> Finding:
    version = connection.get_server_version()
    encoding = await connection.fetchval("show server_encoding")
    where = "embedded" if place.is_embedded else "DATABASE_URL"
    if version.major < OLDEST_POSTGRESQL:
        return fail(
            "database", f"PostgreSQL {version.major}.{version.micro}; {OLDEST_POSTGRESQL} or newer is needed"
        )
    if encoding != "UTF8":
        return fail("database", f"its encoding is {encoding}; UTF8 is needed")
    return ok("database", f"PostgreSQL {version.major}.{version.micro}, {where}")


async def _clock(connection: asyncpg.Connection) -> Finding:
    drift = abs(await connection.fetchval("select clock_timestamp()") - now())
    if drift > MOST_DRIFT:
        return warn(
            "clock", f"the database's differs from this machine's by {drift.total_seconds():.0f} seconds"
        )
    return ok("clock", "the database's agrees with this machine's")


_UNPROTECTED = """
    select c.relname from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
    where a.attname = 'tenant_id' and not a.attisdropped and c.relkind in ('r', 'p')
      and c.relnamespace = current_schema()::regnamespace
      and not (c.relrowsecurity and c.relforcerowsecurity and exists (
          select from pg_catalog.pg_policy p where p.polrelid = c.oid and p.polname = 'own_store'
      ))
    order by 1
"""
_STORE_TABLES = """
    select count(*) from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
    where a.attname = 'tenant_id' and not a.attisdropped and c.relkind in ('r', 'p')
      and c.relnamespace = current_schema()::regnamespace
"""


async def _isolation(connection: asyncpg.Connection) -> Finding:
    bare = [record["relname"] for record in await connection.fetch(_UNPROTECTED)]
    if bare:
        return fail("isolation", f"no forced row-level security on {', '.join(bare)}")
    tables = await connection.fetchval(_STORE_TABLES)
    return ok("isolation", f"row-level security is forced on all {tables} tables of stores")


# --- What is in it ---------------------------------------------------------------------------------------------------------


async def _of_contents() -> AsyncIterator[Finding]:
    """Look at what the serving role and the worker see."""
    role = await database.value("select current_user::text")
    if role == APP:
        yield ok("role", f"serves as {role}, which row-level security binds")
    else:
        yield warn(
            "role", f"serves as {role}: the role {APP} could not be made, FORCE holds against the owner"
        )
    yield await _signing_keys()
    yield await _stores()
    for finding in await _gateways():
        yield finding
    yield await _jobs()
    yield await _events()


_SIGNS = (
    "select kid, private_key from signing_keys where retired_at is null order by created_at desc, kid limit 1"
)


async def _signing_keys() -> Finding:
    key = await database.row(_SIGNS)
    if key is None:
        return ok("signing keys", "none yet: the first sign-in makes one")
    # Not by the key ring, which replaces a key that it can't read.
    if not _is_readable(SIGNING_PURPOSE, key["private_key"]):
        return fail("signing keys", f"{key['kid']} was made with another VITRINE_SECRET_KEY")
    return ok("signing keys", f"{key['kid']} signs")


async def _stores() -> Finding:
    async with database.across_stores() as platform:
        found = await platform.rows("select name, owner_id from tenants order by id")
    if not found:
        return warn("stores", "none: vitrine tenant create makes one, vitrine demo the demo stores")
    return ok("stores", f"{len(found)}")


async def _gateways() -> list[Finding]:
    async with database.across_stores() as platform:
        found = await platform.rows("select name, gateway_secret from tenants order by id")
    unsigned = [store["name"] for store in found if store["gateway_secret"] is None]
    unreadable = [
        store["name"] for store in found if not _is_readable(GATEWAY_PURPOSE, store["gateway_secret"])
    ]
    findings = []
    if unsigned:
        findings.append(warn("gateway", f"notifications are not signed in {_listed(unsigned)}"))
    if unreadable:
        findings.append(
            fail("gateway", f"the secret was made with another VITRINE_SECRET_KEY in {_listed(unreadable)}")
        )
    return findings or [ok("gateway", "every store has a secret for its notifications")]


def _is_readable(purpose: str, sealed: bytes | None) -> bool:
    try:
        return sealed is None or bool(decrypt(purpose, bytes(sealed)))
    except Unreadable:
        return False


def _listed(names: list[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


async def _jobs() -> Finding:
    async with database.across_stores() as platform:
        found = await platform.rows(
            "select name, error, clock_timestamp() - due_at as late from job_runs where name = any($1::text[]) order by name",
            [job.name for job in JOBS],
        )
    failing = [f"{run['name']} ({run['error']})" for run in found if run["error"]]
    late = [run["name"] for run in found if run["late"] > OVERDUE]
    if failing:
        return warn("jobs", f"failed last time: {', '.join(failing)}")
    if late:
        return warn("jobs", f"nobody does {', '.join(late)}: run vitrine worker")
    if not found:
        return ok("jobs", "none was due yet: vitrine worker, or serve without DATABASE_URL, does them")
    return ok("jobs", f"{len(found)} done in time")


_WAITING = """
    select (select count(*) from outbox_events e where e.dispatched_at is null and e.created_at < clock_timestamp() - $1::interval)
        as unsent,
        (select count(*) from event_deliveries d join event_endpoints p on p.tenant_id = d.tenant_id and p.id = d.endpoint_id
            where d.due_at < clock_timestamp() - $1::interval and p.status = 'A' and p.deleted_at is null
                and (p.paused_until is null or p.paused_until < clock_timestamp() - $1::interval)) as undelivered,
        (select count(*) from event_endpoints p where p.failing_since is not null and p.status = 'A' and p.deleted_at is null)
            as failing
"""


async def _events() -> Finding:
    async with database.across_stores() as platform:
        found = await platform.row(_WAITING, OVERDUE)
    assert found is not None
    if found["unsent"] or found["undelivered"]:
        waiting = found["unsent"] + found["undelivered"]
        return warn(
            "events",
            f"{waiting} should have been sent {OVERDUE // timedelta(minutes=1)} minutes ago: run vitrine worker",
        )
    if found["failing"]:
        return warn("events", f"{found['failing']} endpoints don't take theirs; they are tried again")
    return ok("events", "none waits")
