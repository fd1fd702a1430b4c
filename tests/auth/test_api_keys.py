"""API keys: who may make and revoke them, and that they are shown once and their use recorded (decisions-legacy section 6)."""

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
from kernel.scope import Actor, ActorKind, entered
from kernel.signatures import token_hash
from tests.auth.kit import (
    add_admin,
    add_user,
    add_vendor,
    as_user,
    ask,
    email_of,
    execute,
    rows,
    system,
    value,
    visitor,
)
from tests.auth.test_schemes import basic


async def make(scope, user, name=""):
    with entered(scope):
        return await create_api_key(scope, user, name)


async def test_a_key_is_40_random_characters_kept_as_a_hash(store):
    user_id = await add_admin(store)
    key, other = [await make(system(store), user_id, "ERP") for _ in range(2)]
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
    first, second = [await make(system(store), user_id, name) for name in ("ERP", "PDV")]
    scope = await as_user(store, user_id)
    with entered(scope):
        listed = await list_api_keys(scope, user_id)
    assert [(key.id, key.name, key.hint) for key in listed] == [
        (key.info.id, key.info.name, key.secret[-4:]) for key in (second, first)
    ]


async def test_a_key_works_until_it_is_revoked(store):
    user_id = await add_admin(store)
    key = await make(system(store), user_id)
    headers = basic(await email_of(store, user_id), key.secret)
    assert (await ask(store, "legacy_admin", headers)).user_id == user_id
    scope = await as_user(store, user_id)
    with entered(scope):
        await revoke_api_key(scope, key.info.id)
        assert await list_api_keys(scope, user_id) == []
        with pytest.raises(NotFound, match="API key not found"):
            await revoke_api_key(scope, key.info.id)
    with pytest.raises(Unauthenticated, match="Invalid credentials"):
        await ask(store, "legacy_admin", headers)


@pytest.mark.parametrize("column", ["status", "deleted_at", "email"])
async def test_a_key_of_somebody_who_is_gone_or_renamed_is_wrong(store, column):
    user_id = await add_admin(store)
    headers = basic(await email_of(store, user_id), (await make(system(store), user_id)).secret)
    values = {"status": "D", "deleted_at": datetime.now(UTC), "email": "other@example.com"}
    await execute(store, f"update users set {column} = $2 where id = $1", user_id, values[column])
    with pytest.raises(Unauthenticated, match="Invalid credentials"):
        await ask(store, "legacy_admin", headers)


async def test_a_locked_account_keeps_its_keys(store):
    user_id = await add_admin(store)
    headers = basic(await email_of(store, user_id), (await make(system(store), user_id)).secret)
    await execute(
        store,
        "insert into lockouts (tenant_id, public_id, subject, until) values ($1, $2, $3, now() + interval '1 hour')",
        store.id,
        uuid7(),
        f"user:{user_id}",
    )
    assert await ask(store, "legacy_admin", headers)


async def test_a_use_is_recorded_at_most_once_a_minute(store):
    user_id = await add_admin(store)
    headers = basic(await email_of(store, user_id), (await make(system(store), user_id)).secret)
    now = datetime.now(UTC)

    async def used_at(seconds):
        await ask(store, "legacy_admin", headers, now=now + timedelta(seconds=seconds))
        return (await value(store, "select last_used_at from api_keys") - now).total_seconds()

    assert [await used_at(seconds) for seconds in (0, 30, 59, 61, 90, 122)] == [0, 0, 0, 61, 61, 122]


# --- Who may -----------------------------------------------------------------------------------------------------------------


async def test_everybody_makes_keys_for_themselves(store):
    admin = await add_admin(store)
    vendor = await add_user(store, user_type="V", vendor_id=await add_vendor(store))
    for user_id in (admin, vendor):
        assert await make(await as_user(store, user_id), user_id)


async def test_a_key_for_another_administrator_takes_all_that_users_privileges(store):
    target = await add_admin(store, "manage_products", "view_orders")
    lesser = await as_user(store, await add_admin(store, "manage_users", "manage_products"))
    equal = await as_user(store, await add_admin(store, "manage_users", "manage_products", "manage_orders"))
    with pytest.raises(InsufficientPrivileges) as refused:
        await make(lesser, target)
    assert refused.value.details == {"required": "view_orders"}
    key = await make(equal, target)
    with entered(lesser):
        for call in (revoke_api_key(lesser, key.info.id), list_api_keys(lesser, target)):
            with pytest.raises(InsufficientPrivileges):
                await call


async def test_a_key_for_anybody_else_takes_manage_users(store):
    vendor = await add_user(store, user_type="V", vendor_id=await add_vendor(store))
    with pytest.raises(InsufficientPrivileges) as refused:
        await make(await as_user(store, await add_admin(store, "view_users")), vendor)
    assert refused.value.details == {"required": "manage_users"}
    assert await make(await as_user(store, await add_admin(store, "manage_users")), vendor)


async def test_customers_have_no_keys(store):
    customer = await add_user(store)
    with pytest.raises(RuleViolation):
        await make(system(store), customer)
    with pytest.raises(Forbidden, match="insufficient permissions"):
        await make(await as_user(store, customer), customer)


@pytest.mark.parametrize("kind", [ActorKind.ANONYMOUS, ActorKind.APP, ActorKind.STOREFRONT])
async def test_keys_are_administered_with_user_tokens_only(store, kind):
    from dataclasses import replace

    actor = Actor(kind, scopes=frozenset({"write_users"}))
    user_id = await add_user(store, user_type="V", vendor_id=await add_vendor(store))
    with pytest.raises(Forbidden, match="insufficient permissions"):
        await make(replace(visitor(store), actor=actor), user_id)


async def test_unknown_users_and_keys_are_not_found(store, other_store):
    foreign = await add_admin(other_store)
    for user in (foreign, 0, uuid7(), "garbage"):
        with pytest.raises(NotFound, match="user not found"):
            await make(system(store), user)
    key = await make(system(other_store), foreign)
    scope = system(store)
    with entered(scope):
        for reference in (key.info.id, 0, "garbage"):
            with pytest.raises(NotFound, match="API key not found"):
                await revoke_api_key(scope, reference)


async def test_a_long_name_is_refused(store):
    with pytest.raises(ValidationFailed) as refused:
        await make(system(store), await add_admin(store), "x" * 101)
    assert refused.value.fields == {"name": "too_long"}
