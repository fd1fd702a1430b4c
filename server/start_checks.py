"""What makes a start fail, in one line, although the database answers: a role, a table, a schema or a secret key that isn't safe to use."""

from __future__ import annotations

import asyncpg

import auth
from auth import signing_keys
from auth.secrets import DecryptionError, decrypt
from domain.stores import GATEWAY_PURPOSE
from kernel.settings import SettingError, Settings
from models import migrate
from models.connection import database
from models.connection.roles import APP_ROLE, SET_ROLE_PRIVILEGE, WORKER_ROLE, act_as_app
from server.database import DatabaseLocation

# Where the owner may not create the roles it acts in their place (docs/deploy.md#postgresql); any other login role needs both.
_LOGIN = f"""
    select r.rolname::text as name, r.rolsuper or r.rolbypassrls as bypasses, array(
        select m.rolname::text from pg_catalog.pg_roles m where m.rolname = any($1::text[])
            and not pg_has_role(r.oid, m.oid, {SET_ROLE_PRIVILEGE}) and exists (
                select from pg_catalog.pg_class c where c.relname = 'tenants' and c.relkind = 'r'
                    and not pg_has_role(r.oid, c.relowner, 'MEMBER')
            ) order by 1) as missing
    from pg_catalog.pg_roles r where r.rolname = session_user
"""
UNPROTECTED = """
    select c.relname::text as name from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
    where a.attname = 'tenant_id' and not a.attisdropped and c.relkind in ('r', 'p')
      and c.relnamespace = current_schema()::regnamespace
      and not (c.relrowsecurity and c.relforcerowsecurity and exists (
          select from pg_catalog.pg_policy p where p.polrelid = c.oid and p.polname = 'own_store'
      ))
    order by 1
"""
_ENCRYPTED = (
    (
        signing_keys.PURPOSE,
        "signing_keys",
        "private_key from signing_keys where retired_at is null order by created_at desc, kid",
    ),
    (GATEWAY_PURPOSE, "tenants", "gateway_secret from tenants where gateway_secret is not null order by id desc"),
)


async def check_start(settings: Settings, location: DatabaseLocation) -> None:
    """Check the login role and the tables; raises UnsafeRole, MigrationError or Unavailable."""
    with database.translate_errors():
        connection = await asyncpg.connect(location.serving_url, timeout=settings.request_timeout)
        try:
            await check_login(connection)
            names = [row["name"] for row in await connection.fetch(UNPROTECTED)]
        finally:
            await connection.close()
    if names:
        raise database.UnsafeRole(
            f"row-level security is not forced, or has no policy own_store, on {', '.join(names)}, so stores would not be isolated"
        )
    await migrate.pending_migrations(location.serving_url)


async def check_login(connection: asyncpg.Connection) -> None:
    """Raise UnsafeRole for a login role that bypasses row-level security or may not act as the roles that serve."""
    login = await connection.fetchrow(_LOGIN, [APP_ROLE, WORKER_ROLE])
    assert login is not None
    name, missing = login["name"], ", ".join(login["missing"])
    if login["bypasses"]:
        raise database.UnsafeRole(
            f"the login role {name} is a superuser or has BYPASSRLS, so stores would not be isolated; use one without either"
        )
    if missing:
        raise database.UnsafeRole(f"the login role {name} may not act as {missing}: GRANT {missing} TO {name}")


async def check_secret_key(settings: Settings, location: DatabaseLocation) -> None:
    """Raise SettingError when the secret keys don't read what the database has encrypted."""
    auth.configure(*settings.secret_keys, access_lifetime=settings.access_lifetime)
    with database.translate_errors():
        connection = await asyncpg.connect(location.serving_url, timeout=settings.request_timeout)
        try:
            await act_as_app(connection)
            values = [
                (purpose, await connection.fetchval(f"select {query} limit 1"))
                for purpose, table, query in _ENCRYPTED
                if await connection.fetchval("select to_regclass($1)", table)
            ]
        finally:
            await connection.close()
    for purpose, encrypted in values:
        try:
            if encrypted is not None:
                decrypt(purpose, bytes(encrypted))
        except DecryptionError as error:
            raise SettingError(
                "VITRINE_SECRET_KEY is not the key under which the database's secrets were encrypted, nor is one of"
                f" VITRINE_SECRET_KEY_FALLBACKS ({error}); without it: vitrine keys rotate"
            ) from error
