"""Deleting users (docs/reference/shared.md#deletion)."""

import asyncio

import pytest

from auth.api_keys import create_api_key
from domain.people.accounts import create_user
from domain.people.removal import anonymize_user, delete_user
from kernel.errors import InsufficientPrivileges, NotFound, RuleViolation, TokenRevoked, Unauthenticated
from kernel.scope import active_scope
from tests.auth.kit import (
    add_admin,
    add_order,
    add_owner,
    add_user,
    authenticate_request,
    email_of,
    sign_in,
    user_scope,
)
from tests.auth.test_schemes import basic
from tests.harness.http import bearer
from tests.harness.records import PASSWORD
from tests.harness.scopes import execute, rows, system_scope, value

REMOVALS = pytest.mark.parametrize("remove", [delete_user, anonymize_user])


async def act(remove, scope, user):
    with active_scope(scope):
        await remove(scope, user)


async def test_a_user_without_orders_is_deleted(store):
    user_id = await add_user(store)
    pair = await sign_in(store, user_id)
    await authenticate_request(store, "user", bearer(pair.access_token))
    await act(delete_user, system_scope(store), user_id)
    assert await value(store, "select count(*) from users") == 0
    assert await value(store, "select count(*) from sessions") == 0
    with pytest.raises(Unauthenticated, match="invalid or expired token"):
        await authenticate_request(store, "user", bearer(pair.access_token))


async def test_a_user_with_orders_is_hidden_and_its_email_is_released(store):
    user_id = await add_user(store)
    email = await email_of(store, user_id)
    pair = await sign_in(store, user_id)
    await add_order(store, user_id)
    await act(delete_user, system_scope(store), user_id)
    assert await value(store, "select deleted_at is not null from users where id = $1", user_id)
    assert await value(store, "select user_id from orders") == user_id
    with pytest.raises(TokenRevoked, match="token revoked: account deleted"):
        await authenticate_request(store, "user", bearer(pair.access_token))
    with pytest.raises(NotFound, match="user not found"):
        await act(delete_user, system_scope(store), user_id)
    scope = system_scope(store)
    with active_scope(scope):
        assert await create_user(scope, {"email": email, "password": PASSWORD})


async def test_a_deleted_users_credentials_are_revoked(store):
    await add_admin(store)
    user_id = await add_admin(store)
    scope = system_scope(store)
    with active_scope(scope):
        headers = basic(await email_of(store, user_id), (await create_api_key(scope, user_id)).secret)
    await authenticate_request(store, "legacy_admin", headers)
    await add_order(store, user_id)
    await act(delete_user, scope, user_id)
    with pytest.raises(Unauthenticated, match="Invalid credentials"):
        await authenticate_request(store, "legacy_admin", headers)


async def test_a_deleted_user_stays_in_order_history(store):
    await add_admin(store)
    user_id = await add_admin(store)
    order_id = await add_order(store, await add_user(store))
    await execute(
        store,
        """
        insert into order_status_changes (tenant_id, public_id, order_id, from_status, to_status, user_id)
        values ($1, gen_random_uuid(), $2, 'O', 'P', $3)
        """,
        store.id,
        order_id,
        user_id,
    )
    await act(delete_user, system_scope(store), user_id)
    assert await value(store, "select user_id from order_status_changes") == user_id


async def test_an_anonymised_user_has_no_personal_data_left(store):
    user_id = await add_user(
        store,
        email="ana@loja.com.br",
        firstname="Ana",
        lastname="Souza",
        phone="11912345678",
        cpf="11144477735",
        cnpj="11222333000181",
        company_name="Souza Ltda",
    )
    pair = await sign_in(store, user_id)
    await authenticate_request(store, "user", bearer(pair.access_token))
    order_id = await add_order(store, user_id)
    await act(anonymize_user, system_scope(store), user_id)
    (left,) = await rows(store, "select * from users")
    written = str(dict(left)).lower()
    for personal in ("ana", "souza", "11912345678", "11144477735", "11222333000181", "argon2"):
        assert personal not in written
    assert left["status"] == "D"
    assert await value(store, "select user_id from orders where id = $1", order_id) == user_id
    assert await value(store, "select count(*) from sessions") == 0
    with pytest.raises(Unauthenticated):
        await authenticate_request(store, "user", bearer(pair.access_token))
    assert "souza" not in str(await rows(store, "select * from audit_entries")).lower()


@REMOVALS
async def test_the_owner_cannot_be_deleted(store, remove):
    await add_admin(store)
    owned, owner = await add_owner(store)
    with pytest.raises(RuleViolation) as refused:
        await act(remove, system_scope(owned), owner)
    assert (refused.value.status, refused.value.reason) == (422, "owner")
    deputy = await user_scope(owned, await add_admin(owned, "manage_users"))
    with pytest.raises(InsufficientPrivileges):
        await act(remove, deputy, owner)


@REMOVALS
async def test_the_last_administrator_cannot_be_deleted(store, remove):
    user_id = await add_admin(store)
    with pytest.raises(RuleViolation) as refused:
        await act(remove, system_scope(store), user_id)
    assert (refused.value.status, refused.value.reason) == (422, "last_admin")
    assert await value(store, "select count(*) from users where deleted_at is null") == 1


@REMOVALS
async def test_users_cannot_delete_themselves(store, remove):
    await add_admin(store)
    user_id = await add_admin(store, "manage_users")
    with pytest.raises(RuleViolation) as refused:
        await act(remove, await user_scope(store, user_id), user_id)
    assert refused.value.reason == "oneself"


@REMOVALS
async def test_deleting_requires_manage_users_and_all_of_an_administrators_privileges(store, remove):
    customer, admin = await add_user(store), await add_admin(store, "manage_payments")
    with pytest.raises(InsufficientPrivileges):
        await act(remove, await user_scope(store, await add_admin(store, "view_users")), customer)
    caller = await user_scope(store, await add_admin(store, "manage_users"))
    with pytest.raises(InsufficientPrivileges):
        await act(remove, caller, admin)
    await act(remove, caller, customer)


@REMOVALS
async def test_another_stores_user_is_not_found(store, other_store, remove):
    foreign = await add_user(other_store)
    for user in (foreign, "garbage"):
        with pytest.raises(NotFound, match="user not found"):
            await act(remove, system_scope(store), user)
    assert await value(other_store, "select email is not null from users where id = $1", foreign)


async def test_two_administrators_cannot_delete_each_other_concurrently(store):
    for repetition in range(5):
        first, second = await add_admin(store, "manage_users"), await add_admin(store, "manage_users")
        scopes = [await user_scope(store, first), await user_scope(store, second)]
        outcomes = await asyncio.gather(
            act(delete_user, scopes[0], second), act(delete_user, scopes[1], first), return_exceptions=True
        )
        assert await value(store, "select count(*) from users where user_type = 'A' and deleted_at is null") == 1, (
            repetition
        )
        assert sum(outcome is None for outcome in outcomes) == 1, repetition
        await execute(store, "delete from users")


async def test_a_rejected_deletion_changes_nothing(store):
    user_id = await add_admin(store)
    pair = await sign_in(store, user_id)
    with pytest.raises(RuleViolation):
        await act(delete_user, system_scope(store), user_id)
    assert await authenticate_request(store, "admin", bearer(pair.access_token))
