"""API keys: who may create and revoke them, their secrecy and the record of their use (docs/reference/legacy.md#credentials)."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from auth.api_keys import create_api_key, list_api_keys, revoke_api_key
from kernel.errors import (
    Forbidden,
    InsufficientPrivileges,
    NotFound,
    RuleViolation,
    Unauthenticated,
    ValidationFailed,
)
from kernel.ids import uuid7
from kernel.scope import Actor, ActorKind, active_scope
from kernel.signatures import token_hash
from tests.auth.kit import add_admin, add_user, add_vendor, authenticate_request, email_of, user_scope
from tests.auth.test_schemes import basic
from tests.harness.scopes import anonymous_scope, execute, rows, system_scope, value


async def create(scope, user, name=""):
    with active_scope(scope):
        return await create_api_key(scope, user, name)


async def test_a_key_is_40_random_characters_stored_as_a_hash(store):
    user_id = await add_admin(store)
    key, other = [await create(system_scope(store), user_id, "ERP") for _ in range(2)]
    assert re.fullmatch(r"[A-Za-z0-9]{40}", key.secret)
    assert key.secret != other.secret
    stored = (await rows(store, "select * from api_keys order by id"))[0]
    assert (stored["key_hash"], stored["hint"], stored["name"]) == (
        token_hash(key.secret),
        key.secret[-4:],
        "ERP",
    )
    assert key.secret not in str(dict(stored))


async def test_keys_are_listed_by_their_last_four_characters(store):
    user_id = await add_admin(store)
    first, second = [await create(system_scope(store), user_id, name) for name in ("ERP", "PDV")]
    scope = await user_scope(store, user_id)
    with active_scope(scope):
        listed = await list_api_keys(scope, user_id)
    assert [(key.id, key.name, key.hint) for key in listed] == [
        (key.info.id, key.info.name, key.secret[-4:]) for key in (second, first)
    ]


async def test_a_key_is_valid_until_it_is_revoked(store):
    user_id = await add_admin(store)
    key = await create(system_scope(store), user_id)
    headers = basic(await email_of(store, user_id), key.secret)
    assert (await authenticate_request(store, "legacy_admin", headers)).user_id == user_id
    scope = await user_scope(store, user_id)
    with active_scope(scope):
        await revoke_api_key(scope, key.info.id)
        assert await list_api_keys(scope, user_id) == []
        with pytest.raises(NotFound, match="API key not found"):
            await revoke_api_key(scope, key.info.id)
    with pytest.raises(Unauthenticated, match="Invalid credentials"):
        await authenticate_request(store, "legacy_admin", headers)


@pytest.mark.parametrize("column", ["status", "deleted_at", "email"])
async def test_a_key_of_a_disabled_deleted_or_renamed_user_is_invalid(store, column):
    user_id = await add_admin(store)
    headers = basic(await email_of(store, user_id), (await create(system_scope(store), user_id)).secret)
    values = {"status": "D", "deleted_at": datetime.now(UTC), "email": "other@example.com"}
    await execute(store, f"update users set {column} = $2 where id = $1", user_id, values[column])
    with pytest.raises(Unauthenticated, match="Invalid credentials"):
        await authenticate_request(store, "legacy_admin", headers)


async def test_a_lockout_does_not_affect_api_keys(store):
    user_id = await add_admin(store)
    headers = basic(await email_of(store, user_id), (await create(system_scope(store), user_id)).secret)
    await execute(
        store,
        "insert into lockouts (tenant_id, public_id, subject, until) values ($1, $2, $3, now() + interval '1 hour')",
        store.id,
        uuid7(),
        f"user:{user_id}",
    )
    assert await authenticate_request(store, "legacy_admin", headers)


async def test_a_use_is_recorded_at_most_once_a_minute(store):
    user_id = await add_admin(store)
    headers = basic(await email_of(store, user_id), (await create(system_scope(store), user_id)).secret)
    now = datetime.now(UTC)

    async def used_at(seconds):
        await authenticate_request(store, "legacy_admin", headers, now=now + timedelta(seconds=seconds))
        return (await value(store, "select last_used_at from api_keys") - now).total_seconds()

    assert [await used_at(seconds) for seconds in (0, 30, 59, 61, 90, 122)] == [0, 0, 0, 61, 61, 122]


# --- Who may -----------------------------------------------------------------------------------------------------------------


async def test_users_can_create_their_own_keys(store):
    admin = await add_admin(store)
    vendor = await add_user(store, user_type="V", vendor_id=await add_vendor(store))
    for user_id in (admin, vendor):
        assert await create(await user_scope(store, user_id), user_id)


async def test_a_key_for_another_administrator_requires_all_its_privileges(store):
    target = await add_admin(store, "manage_products", "view_orders")
    lesser = await user_scope(store, await add_admin(store, "manage_users", "manage_products"))
    equal = await user_scope(store, await add_admin(store, "manage_users", "manage_products", "manage_orders"))
    with pytest.raises(InsufficientPrivileges) as refused:
        await create(lesser, target)
    assert refused.value.details == {"required": "view_orders"}
    key = await create(equal, target)
    with active_scope(lesser):
        for call in (revoke_api_key(lesser, key.info.id), list_api_keys(lesser, target)):
            with pytest.raises(InsufficientPrivileges):
                await call


async def test_a_key_for_another_user_requires_manage_users(store):
    vendor = await add_user(store, user_type="V", vendor_id=await add_vendor(store))
    with pytest.raises(InsufficientPrivileges) as refused:
        await create(await user_scope(store, await add_admin(store, "view_users")), vendor)
    assert refused.value.details == {"required": "manage_users"}
    with pytest.raises(InsufficientPrivileges) as refused:
        await create(await user_scope(store, await add_admin(store, "manage_users")), vendor)
    assert refused.value.details == {"required": "manage_marketplace"}
    admin = await add_admin(store, "manage_users", "manage_marketplace")
    assert await create(await user_scope(store, admin), vendor)


async def test_customers_cannot_have_keys(store):
    customer = await add_user(store)
    with pytest.raises(RuleViolation):
        await create(system_scope(store), customer)
    with pytest.raises(Forbidden, match="insufficient permissions"):
        await create(await user_scope(store, customer), customer)


@pytest.mark.parametrize("kind", [ActorKind.ANONYMOUS, ActorKind.APP, ActorKind.STOREFRONT])
async def test_key_administration_requires_a_user_token(store, kind):
    from dataclasses import replace

    actor = Actor(kind, scopes=frozenset({"write_users"}))
    user_id = await add_user(store, user_type="V", vendor_id=await add_vendor(store))
    with pytest.raises(Forbidden, match="insufficient permissions"):
        await create(replace(anonymous_scope(store), actor=actor), user_id)


async def test_unknown_users_and_keys_are_not_found(store, other_store):
    foreign = await add_admin(other_store)
    for user in (foreign, 0, uuid7(), "garbage"):
        with pytest.raises(NotFound, match="user not found"):
            await create(system_scope(store), user)
    key = await create(system_scope(other_store), foreign)
    scope = system_scope(store)
    with active_scope(scope):
        for reference in (key.info.id, 0, "garbage"):
            with pytest.raises(NotFound, match="API key not found"):
                await revoke_api_key(scope, reference)


async def test_a_long_name_is_rejected(store):
    with pytest.raises(ValidationFailed) as refused:
        await create(system_scope(store), await add_admin(store), "x" * 101)
    assert refused.value.fields == {"name": "too_long"}
