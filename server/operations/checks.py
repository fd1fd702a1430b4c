"""Check a deployment: settings, database, roles, tenant isolation, keys, stores, background jobs."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from uuid import UUID

import asyncpg

import auth
from auth import signing_keys
from auth.secrets import DecryptionError, decrypt
from domain.jobs import DELETE_MOVED_STORES, JOBS
from domain.payments.sandbox.gateway import NAME as SANDBOX
from domain.reencryption import current_key_id, survey_values
from domain.storage import StorageAddressError, open_storage
from domain.stores import GATEWAY_PURPOSE
from kernel.errors import DomainError, StorageFull, Unavailable
from kernel.ip_addresses import is_loopback
from kernel.settings import SETTINGS, SettingError, Settings
from models import migrate
from models.connection import database
from models.connection.roles import APP_ROLE, BACKUP_ROLE, MIN_POSTGRESQL_VERSION, SEARCH_ROLE
from server.database import FOLDER, DatabaseLocation, connection_pools, database_location
from server.embedded_postgres import EmbeddedPostgresError
from server.operations.all_stores import readers
from server.operations.check_results import CheckResult, Severity, fail, join_names, ok, warn
from server.operations.media_checks import check_media, check_renderer
from server.operations.operation_checks import check_operation
from server.operations.privilege_checks import check_privileges
from server.operations.storage_checks import MIN_FREE_BYTES
from server.secret_key import with_secret_key
from server.start_checks import UNPROTECTED, check_login

ASSETS = Path(__file__).resolve().parents[1] / "assets" / "built" / "version"
OVERDUE = timedelta(minutes=10)
_TIMEOUT_SECONDS = 5.0
# What a connection may fail with, the third when it is terminated during a response.
_NOT_CONNECTED = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)


async def run_checks(*, deletes_orphans: bool = False) -> AsyncIterator[CheckResult]:
    """Yield the results one by one, skipping checks that depend on a failed one. Changes nothing, unless it `deletes_orphans`."""
    try:
        settings = Settings.from_environment(os.environ)
    except SettingError as error:
        yield fail("settings", str(error))
        return
    for result in check_settings(settings):
        yield result
    yield await _check_redis(settings)
    yield (files := await check_storage(settings))
    yield await check_renderer()
    if settings.secret_key is None and not _has_data(settings):
        yield warn("database", f"not created yet: vitrine serve creates an embedded one in {settings.data_dir}")
        return
    try:
        keys = with_secret_key(settings).secret_keys
    except SettingError as error:
        yield fail("secret key", str(error))
        return
    source = (
        "VITRINE_SECRET_KEY" if settings.secret_key else f"generated for development, stored in {settings.data_dir}"
    )
    fallbacks = len(settings.secret_key_fallbacks)
    yield ok("secret key", f"{source}; {fallbacks} in VITRINE_SECRET_KEY_FALLBACKS" if fallbacks else source)
    auth.configure(*keys)
    has_storage = files.level is not Severity.FAIL
    async for result in _check_database(settings, has_storage=has_storage, deletes_orphans=deletes_orphans):
        yield result


# --- Settings, email and Redis ---------------------------------------------------------------------------------------------


def check_settings(settings: Settings) -> list[CheckResult]:
    """Check the settings alone."""
    configured = [setting.name for setting in SETTINGS if os.environ.get(setting.name, "").strip()]
    results = [ok("settings", f"{settings.env}; set: {', '.join(configured) or 'none'}")]
    if not settings.is_production and not settings.is_private_development:
        results.append(
            warn("bind", "development mode is reachable from other machines; use VITRINE_ENV=production for that")
        )
    results += _check_names()
    if settings.is_production and settings.public_url.startswith("http://"):
        results.append(warn("base URL", f"VITRINE_BASE_URL is {settings.public_url}; links and tokens need https"))
    results.append(_check_email(settings))
    if settings.is_production and not settings.trusted_proxies:
        results.append(_warn_of_proxies(settings))
    if not ASSETS.is_file():
        results.append(warn("playground", "browser files are not built: run make assets"))
    return results


def _check_names() -> list[CheckResult]:
    """Name the variables that no setting reads, with the nearest setting."""
    known = [setting.name for setting in SETTINGS]
    unknown = sorted(name for name in os.environ if name.startswith("VITRINE_") and name not in known)
    return [
        warn("settings", f"{name} is not a setting; the nearest is {nearest[0]}")
        for name in unknown
        if (nearest := get_close_matches(name, known, 1))
    ]


def _warn_of_proxies(settings: Settings) -> CheckResult:
    text = f"VITRINE_TRUSTED_PROXIES is not set and the server listens on {join_names(list(settings.bind_addresses))}: "
    shared = "all clients of a proxy in front count as one address and share its limits"
    if all(is_loopback(address) for address in settings.bind_addresses):
        return warn("proxies", text + shared)
    return warn("proxies", f"{text}{shared}, and without a proxy passwords and tokens are sent without TLS")


def _check_email(settings: Settings) -> CheckResult:
    if settings.smtp_url is not None:
        return ok("mail", "SMTP_URL is set: vitrine worker sends emails")
    if settings.is_private_development:
        return ok("mail", "SMTP_URL is not set: emails are not sent but shown at /dev/mails")
    return warn("mail", "SMTP_URL is not set: emails stay queued")


async def _check_redis(settings: Settings) -> CheckResult:
    if settings.redis_url is None:
        if settings.processes > 1:
            return warn(
                "limits", f"REDIS_URL is not set: each of {settings.processes} processes counts rate limits alone"
            )
        return ok("limits", "counted in this process (REDIS_URL is not set)")
    from server.http.shared_limits import UNAVAILABLE, SharedCounters

    counters = SharedCounters(settings.redis_url)
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            await counters.check()
    except UNAVAILABLE as error:
        return fail("limits", f"REDIS_URL can't be used, so each process counts alone: {_describe(error)}")
    finally:
        await counters.close()
    return ok("limits", "shared through Redis")


async def check_storage(settings: Settings) -> CheckResult:
    """Store and delete a file in the storage."""
    url = settings.storage_address
    where = url.partition("?")[0]
    try:
        storage = open_storage(url)
        folder = storage.local_path("")
        if folder is not None:
            await asyncio.to_thread(folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            await storage.check()
    except TimeoutError:
        return fail("files", f"{where} does not answer")
    except OSError as error:
        return fail("files", f"{where} can't be written to: {error.strerror}")
    except StorageAddressError as error:
        return fail("files", str(error))
    except (StorageFull, Unavailable) as error:
        return fail("files", f"{where} can't be used: {_describe(error.__cause__ or error)}")
    folder = storage.local_path("")
    free = None if folder is None else shutil.disk_usage(folder).free
    if free is not None and free < MIN_FREE_BYTES:
        return fail("files", f"{where} has {free // 2**20} MiB of free space")
    return ok("files", f"in {where}" if free is None else f"in {where}, {free // 2**30} GiB free")


def _describe(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _has_data(settings: Settings) -> bool:
    return settings.database_url is not None or (settings.data_dir / FOLDER / "data").is_dir()


# --- The database ----------------------------------------------------------------------------------------------------------


async def _check_database(
    settings: Settings, *, has_storage: bool, deletes_orphans: bool
) -> AsyncIterator[CheckResult]:
    if not _has_data(settings):
        yield warn("database", f"not created yet: vitrine serve creates an embedded one in {settings.data_dir}")
        return
    # Contents are read without the pooler, which has a result of its own.
    direct = replace(settings, pooler_url=None)
    try:
        unreachable = [result async for result in _check_urls(settings)]
        for result in unreachable:
            yield result
        if unreachable:
            return
        async with database_location(direct) as location:
            has_passed = True
            async for result in _check_server(settings, location):
                has_passed = has_passed and result.level is not Severity.FAIL
                yield result
            if settings.pooler_url is not None:
                yield await _check_pooler(location, settings.pooler_url)
            if has_passed:
                async with connection_pools(direct, location):
                    async for result in _check_contents(location, settings.default_store):
                        yield result
                    if settings.is_production:
                        yield await _check_sandbox(settings, location)
                    if has_storage:
                        yield await check_media(settings, deletes_orphans=deletes_orphans)
    except Unavailable as error:
        yield fail("database", f"DATABASE_URL can't be reached: {_describe(error.__cause__ or error)}")
    except (
        EmbeddedPostgresError,
        DomainError,
        database.UnsafeRole,
        database.UnsafePooler,
        *_NOT_CONNECTED,
    ) as error:
        yield fail("database", _describe(error))


async def _check_urls(settings: Settings) -> AsyncIterator[CheckResult]:
    """Name the URLs at which PostgreSQL doesn't answer."""
    urls = (("DATABASE_URL", settings.database_url), ("VITRINE_APP_DATABASE_URL", settings.app_database_url))
    for name, url in urls:
        try:
            if url is not None:
                await (await asyncpg.connect(url, timeout=_TIMEOUT_SECONDS)).close()
        except _NOT_CONNECTED as error:
            yield fail("database", f"{name} can't be reached: {_describe(error)}")


async def _check_pooler(location: DatabaseLocation, url: str) -> CheckResult:
    try:
        await database.check_pooling(location.serving_url, url)
    except database.UnsafePooler as error:
        return fail("pooler", str(error))
    except _NOT_CONNECTED as error:
        return fail("pooler", f"VITRINE_POOLER_URL can't be reached: {_describe(error)}")
    return ok("pooler", "VITRINE_POOLER_URL leads to the same database, in transactions")


# What a login that only serves may act as, but needn't.
_EXCESS = """
    select string_agg(r.rolname, ', ' order by r.rolname)
    from pg_catalog.pg_class c join pg_catalog.pg_roles l on l.rolname = session_user and l.oid <> c.relowner
    join pg_catalog.pg_roles r on (r.oid = c.relowner or r.rolname = any($1::text[])) and pg_has_role(l.oid, r.oid, 'MEMBER')
    where c.relname = 'tenants' and c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
"""


async def _check_login_role(location: DatabaseLocation) -> CheckResult | None:
    connection = await asyncpg.connect(location.serving_url, timeout=_TIMEOUT_SECONDS)
    try:
        await check_login(connection)
        if excess := await connection.fetchval(_EXCESS, [BACKUP_ROLE, SEARCH_ROLE]):
            return warn(
                "role", f"the login role that serves may act as {excess} as well, which it doesn't need: REVOKE that"
            )
    except database.UnsafeRole as error:
        return fail("role", str(error))
    finally:
        await connection.close()
    return None


async def _check_server(settings: Settings, location: DatabaseLocation) -> AsyncIterator[CheckResult]:
    """Check the server, its tables and their isolation, connected as the owner."""
    connection = await asyncpg.connect(location.owner_url, timeout=_TIMEOUT_SECONDS)
    try:
        yield await _check_version(connection, location)
        try:
            pending = await migrate.pending_migrations(location.owner_url)
        except migrate.MigrationError as error:
            yield fail("migrations", str(error))
            return
        if pending:
            text = f"{len(pending)} pending, the first is {pending[0]}"
            # The embedded database is migrated by the next command that uses it.
            yield (
                warn("migrations", text) if location.is_embedded else fail("migrations", f"{text}: run vitrine migrate")
            )
            if len(pending) == len(migrate.disk_migrations()):
                return
        else:
            yield ok("migrations", "all applied")
        yield await _check_isolation(connection)
        yield await check_privileges(connection)
        if (refused := await _check_login_role(location)) is not None:
            yield refused
        async for result in check_operation(connection, settings, location.folder):
            yield result
    finally:
        await connection.close()


async def _check_version(connection: asyncpg.Connection, location: DatabaseLocation) -> CheckResult:
    version = connection.get_server_version()
    encoding = await connection.fetchval("show server_encoding")
    where = "embedded" if location.is_embedded else "DATABASE_URL"
    if version.major < MIN_POSTGRESQL_VERSION:
        return fail(
            "database", f"PostgreSQL {version.major}.{version.micro}; {MIN_POSTGRESQL_VERSION} or newer is needed"
        )
    if encoding != "UTF8":
        return fail("database", f"its encoding is {encoding}; UTF8 is needed")
    if await connection.fetchval("select pg_is_in_recovery()"):
        return fail("database", f"{where} leads to a replica, which can't be written to")
    if await connection.fetchval("show transaction_read_only") == "on":
        return fail("database", "is read-only: default_transaction_read_only is on")
    return ok("database", f"PostgreSQL {version.major}.{version.micro}, {where}")


_STORE_TABLES = """
    select count(*) from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
    where a.attname = 'tenant_id' and not a.attisdropped and c.relkind in ('r', 'p')
      and c.relnamespace = current_schema()::regnamespace
"""


async def _check_isolation(connection: asyncpg.Connection) -> CheckResult:
    unprotected = [record["name"] for record in await connection.fetch(UNPROTECTED)]
    if unprotected:
        return fail("isolation", f"no forced row-level security on {', '.join(unprotected)}")
    tables = await connection.fetchval(_STORE_TABLES)
    return ok("isolation", f"row-level security is forced on all {tables} store tables")


# --- Contents of the database ----------------------------------------------------------------------------------------------


async def _check_contents(location: DatabaseLocation, default: UUID | None) -> AsyncIterator[CheckResult]:
    """Check what the serving role and the worker see."""
    role = await database.fetchval("select current_user::text")
    if role == APP_ROLE:
        yield ok("role", f"serves as {role}, which is bound by row-level security")
    else:
        yield warn(
            "role",
            f"serves as {role}: the role {APP_ROLE} could not be created; FORCE ROW LEVEL SECURITY applies to the owner",
        )
    yield await _check_signing_keys()
    yield await _check_stores(default)
    for result in await _check_gateways():
        yield result
    yield await _check_encrypted_values(location)
    yield await _check_jobs()
    yield await _check_events()


_ACTIVE_KEY = "select kid, private_key from signing_keys where retired_at is null order by created_at desc, kid limit 1"


async def _check_signing_keys() -> CheckResult:
    key = await database.fetchrow(_ACTIVE_KEY)
    if key is None:
        return ok("signing keys", "none yet: the first sign-in creates one")
    # Not through the key ring, which replaces an unreadable key.
    if not _is_readable(signing_keys.PURPOSE, key["private_key"]):
        return fail("signing keys", f"{key['kid']} was encrypted with another VITRINE_SECRET_KEY")
    return ok("signing keys", f"{key['kid']} signs")


async def _check_stores(default: UUID | None) -> CheckResult:
    async with database.cross_store_connection() as platform:
        stores = {row["public_id"] for row in await platform.fetch("select public_id from tenants")}
    if not stores:
        return warn("stores", "none: create one with vitrine tenant create, or the demo stores with vitrine demo")
    if default is not None and default not in stores:
        return warn("stores", f"VITRINE_DEFAULT_STORE is {default}, none of the {len(stores)}")
    return ok("stores", f"{len(stores)}")


async def _check_gateways() -> list[CheckResult]:
    async with database.cross_store_connection() as platform:
        rows = await platform.fetch("select name, gateway_secret from tenants order by id")
    unsigned = [store["name"] for store in rows if store["gateway_secret"] is None]
    unreadable = [store["name"] for store in rows if not _is_readable(GATEWAY_PURPOSE, store["gateway_secret"])]
    results = []
    if unsigned:
        results.append(warn("gateway", f"notifications are not signed in {join_names(unsigned)}"))
    if unreadable:
        results.append(
            fail("gateway", f"the secret was encrypted with another VITRINE_SECRET_KEY in {join_names(unreadable)}")
        )
    return results or [ok("gateway", "every store has a secret for its notifications")]


_NAMES_SANDBOX = """
    select t.name from tenants t where exists (select from payment_methods m
        where m.tenant_id = t.id and m.processor = $1 and m.kind <> '' and m.status = 'A' and m.deleted_at is null)
    order by t.id
"""


async def _check_sandbox(settings: Settings, location: DatabaseLocation) -> CheckResult:
    """Name the stores whose methods pay nothing: any administrator may make one, so that a start can't depend on it."""
    stores = [
        row["name"]
        async for reader in readers(location.owner_url)
        for row in await reader.fetch(_NAMES_SANDBOX, SANDBOX)
    ]
    if not stores:
        return ok("sandbox", "no payment method names it")
    if settings.has_sandbox:
        return warn("sandbox", f"orders are paid without money (VITRINE_SANDBOX_PAYMENTS) in {join_names(stores)}")
    return warn("sandbox", f"payment methods name it, and take no payments in production, in {join_names(stores)}")


async def _check_encrypted_values(location: DatabaseLocation) -> CheckResult:
    if await database.fetchval("select to_regclass('hash_keys')") is None:
        return ok("secrets", "not checked before the migration 0016_hash_keys")
    reports = await survey_values(readers(location.owner_url))
    unreadable = [place for report in reports for place in report.unreadable]
    outdated = sum(report.outdated for report in reports)
    if unreadable:
        return fail("secrets", f"no configured key reads {join_names(unreadable)}")
    if outdated:
        return warn("secrets", f"{outdated} values are under a fallback key: run vitrine keys reencrypt")
    return ok("secrets", f"{sum(report.values for report in reports)} values are under the key {current_key_id()}")


def _is_readable(purpose: str, encrypted: bytes | None) -> bool:
    try:
        return encrypted is None or bool(decrypt(purpose, bytes(encrypted)))
    except DecryptionError:
        return False


async def _check_jobs() -> CheckResult:
    async with database.cross_store_connection() as platform:
        rows = await platform.fetch(
            "select name, error, clock_timestamp() - due_at as late from job_runs where name = any($1::text[]) order by name",
            [*(job.name for job in JOBS), DELETE_MOVED_STORES],
        )
    failing = [f"{row['name']} ({row['error']})" for row in rows if row["error"]]
    late = [row["name"] for row in rows if row["late"] > OVERDUE]
    if failing:
        return warn("jobs", f"last run failed: {', '.join(failing)}")
    if late:
        return warn("jobs", f"overdue: {', '.join(late)}; run vitrine worker")
    if not rows:
        return ok("jobs", "none due yet: run by vitrine worker, or by serve without DATABASE_URL")
    return ok("jobs", f"{len(rows)} on time")


_OVERDUE_EVENTS = """
    select (select count(*) from outbox_events e where e.dispatched_at is null and e.created_at < clock_timestamp() - $1::interval)
        as unsent,
        (select count(*) from event_deliveries d join event_endpoints p on p.tenant_id = d.tenant_id and p.id = d.endpoint_id
            where d.due_at < clock_timestamp() - $1::interval and p.status = 'A' and p.deleted_at is null
                and (p.paused_until is null or p.paused_until < clock_timestamp() - $1::interval)) as undelivered,
        (select count(*) from event_endpoints p where p.failing_since is not null and p.status = 'A' and p.deleted_at is null)
            as failing
"""


async def _check_events() -> CheckResult:
    async with database.cross_store_connection() as platform:
        row = await platform.fetchrow(_OVERDUE_EVENTS, OVERDUE)
    assert row is not None
    if row["unsent"] or row["undelivered"]:
        overdue = row["unsent"] + row["undelivered"]
        return warn(
            "events", f"{overdue} overdue by more than {OVERDUE // timedelta(minutes=1)} minutes: run vitrine worker"
        )
    if row["failing"]:
        return warn("events", f"{row['failing']} webhook endpoints are failing; deliveries are retried")
    return ok("events", "none overdue")
