"""Shared by the auth tests: users by number, their scopes, and client requests."""

from collections.abc import Awaitable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from auth import privileges
from auth.schemes import authenticate
from auth.sessions import SessionTokens, login
from kernel.ids import uuid7
from kernel.scope import Actor, ActorKind, Scope, Store, active_scope
from models.connection import database
from tests.harness import records
from tests.harness.records import PASSWORD
from tests.harness.scopes import anonymous_scope, execute, system_scope, unused_ip, value

_KINDS = {"A": ActorKind.ADMIN, "V": ActorKind.VENDOR, "C": ActorKind.CUSTOMER}


def later(scope: Scope, **delta: float) -> Scope:
    return replace(scope, now=scope.now + timedelta(**delta))


def from_other_ip(scope: Scope) -> Scope:
    return replace(scope, client_ip=unused_ip())


async def add_user(store: Store, password: str | None = PASSWORD, **columns: Any) -> int:
    """Insert a user and return its number; unverified with `email_verified_at=None`."""
    return (await records.add_user(store, password=password, **columns)).number


async def add_admin(store: Store, *granted: str, **columns: Any) -> int:
    return await add_user(store, user_type="A", privileges=list(granted), **columns)


async def add_vendor(store: Store, **columns: Any) -> int:
    return (await records.add_vendor(store, **columns)).number


async def add_order(store: Store, user_id: int) -> int:
    return await value(
        store,
        "insert into orders (tenant_id, public_id, user_id) values ($1, $2, $3) returning id",
        store.id,
        uuid7(),
        user_id,
    )


async def user_scope(store: Store, user_id: int) -> Scope:
    """Return a scope with the user as its caller, with its current privileges."""
    with active_scope(system_scope(store)):
        account = await privileges.load_account(system_scope(store), user_id)
    assert account is not None
    actor = Actor(
        kind=_KINDS[account.user_type],
        user_id=account.id,
        user_public_id=account.public_id,
        vendor_id=account.vendor_id,
        privileges=account.privileges,
        is_owner=account.is_owner,
        credential=f"user:{account.id}",
    )
    return replace(anonymous_scope(store), actor=actor)


async def run_and_roll_back(store: Store, work: Awaitable[object]) -> None:
    """Run the work in a transaction that fails afterwards."""

    class LaterFailure(Exception):
        pass

    try:
        async with database.transaction(system_scope(store)):
            await work
            raise LaterFailure
    except LaterFailure:
        return


async def add_owner(store, *granted):
    """Add an owner to the store; return the changed store and the owner's number."""
    owner = await add_admin(store, *granted)
    await execute(store, "update tenants set owner_id = $2 where id = $1", store.id, owner)
    return replace(store, owner_id=owner), owner


async def email_of(store: Store, user_id: int) -> str:
    return await value(store, "select email from users where id = $1", user_id)


async def sign_in(store: Store, user_id: int, *, now: datetime | None = None) -> SessionTokens:
    scope = anonymous_scope(store, now=now)
    with active_scope(scope):
        pair = await login(scope, await email_of(store, user_id), PASSWORD)
    assert isinstance(pair, SessionTokens)
    return pair


async def authenticate_request(
    store: Store,
    needs: str,
    headers: Mapping[str, str] | None = None,
    *,
    now: datetime | None = None,
    family: str = "current",
) -> Actor:
    """Authenticate a request like the server."""
    return await authenticate(
        store,
        needs,
        headers or {},
        now=now or datetime.now(UTC),
        client_ip=unused_ip(),
        request_id=str(uuid7()),
        family=family,
    )
