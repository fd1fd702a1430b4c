"""Taking users away (decisions section 1, Deleting)."""

import asyncio

import pytest

from auth.api_keys import create_api_key
from domain.people.accounts import create_user
from domain.people.removal import anonymize_user, delete_user
from kernel.errors import InsufficientPrivileges, NotFound, RuleViolation, TokenRevoked, Unauthenticated
from kernel.scope import entered
from tests.auth.kit import (
    PASSWORD,
    add_admin,
    add_order,
    add_user,
    as_user,
    ask,
    bearer,
    email_of,
    execute,
    owner_of,
    rows,
    sign_in,
    system,
    value,
)
from tests.auth.test_schemes import basic

REMOVALS = pytest.mark.parametrize("remove", [delete_user, anonymize_user])


async def act(remove, scope, user):
    with entered(scope):
        await remove(scope, user)


async def test_a_user_without_orders_is_erased(store):
    user_id = await add_user(store)
    pair = await sign_in(store, user_id)
    await ask(store, "user", bearer(pair.access_token))
    await act(delete_user, system(store), user_id)
    assert await value(store, "select count(*) from users") == 0
    assert await value(store, "select count(*) from sessions") == 0
    with pytest.raises(Unauthenticated, match="invalid or expired token"):
        await ask(store, "user", bearer(pair.access_token))


async def test_a_user_with_orders_is_hidden_and_its_email_is_free_again(store):
    user_id = await add_user(store)
    email = await email_of(store, user_id)
    pair = await sign_in(store, user_id)
    await add_order(store, user_id)
    await act(delete_user, system(store), user_id)
    assert await value(store, "select deleted_at is not null from users where id = $1", user_id)
    assert await value(store, "select user_id from orders") == user_id
    with pytest.raises(TokenRevoked, match="token revoked: account deleted"):
        await ask(store, "user", bearer(pair.access_token))
    with pytest.raises(NotFound, match="user not found"):
        await act(delete_user, system(store), user_id)
    scope = system(store)
    with entered(scope):
        assert await create_user(scope, {"email": email, "password": PASSWORD})


async def test_a_deleted_users_keys_are_worthless(store):
    await add_admin(store)
    user_id = await add_admin(store)
    scope = system(store)
    with entered(scope):
        headers = basic(await email_of(store, user_id), (await create_api_key(scope, user_id)).secret)
    await ask(store, "legacy_admin", headers)
    await add_order(store, user_id)
    await act(delete_user, scope, user_id)
    with pytest.raises(Unauthenticated, match="Invalid credentials"):
        await ask(store, "legacy_admin", headers)


async def test_who_acted_on_orders_stays_in_their_history(store):
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
    await act(delete_user, system(store), user_id)
    assert await value(store, "select user_id from order_status_changes") == user_id


async def test_an_anonymised_user_has_nothing_personal_left(store):
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
    await ask(store, "user", bearer(pair.access_token))
    order_id = await add_order(store, user_id)
    await act(anonymize_user, system(store), user_id)
    (left,) = await rows(store, "select * from users")
    written = str(dict(left)).lower()
    for personal in ("ana", "souza", "11912345678", "11144477735", "11222333000181", "argon2"):
        assert personal not in written
    assert left["status"] == "D"
    assert await value(store, "select user_id from orders where id = $1", order_id) == user_id
    assert await value(store, "select count(*) from sessions") == 0
    with pytest.raises(Unauthenticated):
        await ask(store, "user", bearer(pair.access_token))
    assert "souza" not in str(await rows(store, "select * from audit_entries")).lower()


@REMOVALS
async def test_the_owner_stays(store, remove):
    await add_admin(store)
    owned, owner = await owner_of(store)
    with pytest.raises(RuleViolation) as refused:
        await act(remove, system(owned), owner)
    assert (refused.value.status, refused.value.reason) == (422, "owner")
    deputy = await as_user(owned, await add_admin(owned, "manage_users"))
    with pytest.raises(InsufficientPrivileges):
        await act(remove, deputy, owner)


@REMOVALS
async def test_the_last_administrator_stays(store, remove):
    user_id = await add_admin(store)
    with pytest.raises(RuleViolation) as refused:
        await act(remove, system(store), user_id)
    assert (refused.value.status, refused.value.reason) == (422, "last_admin")
    assert await value(store, "select count(*) from users where deleted_at is null") == 1


@REMOVALS
async def test_nobody_removes_themselves(store, remove):
    await add_admin(store)
    user_id = await add_admin(store, "manage_users")
    with pytest.raises(RuleViolation) as refused:
        await act(remove, await as_user(store, user_id), user_id)
    assert refused.value.reason == "oneself"


@REMOVALS
async def test_removing_takes_manage_users_and_all_that_an_administrator_holds(store, remove):
    customer, admin = await add_user(store), await add_admin(store, "manage_payments")
    with pytest.raises(InsufficientPrivileges):
        await act(remove, await as_user(store, await add_admin(store, "view_users")), customer)
    caller = await as_user(store, await add_admin(store, "manage_users"))
    with pytest.raises(InsufficientPrivileges):
        await act(remove, caller, admin)
    await act(remove, caller, customer)


@REMOVALS
async def test_another_stores_user_is_not_found(store, other_store, remove):
    foreign = await add_user(other_store)
    for user in (foreign, "garbage"):
        with pytest.raises(NotFound, match="user not found"):
            await act(remove, system(store), user)
    assert await value(other_store, "select email is not null from users where id = $1", foreign)


async def test_two_administrators_do_not_remove_each_other(store):
    for _ in range(5):
        first, second = await add_admin(store, "manage_users"), await add_admin(store, "manage_users")
        scopes = [await as_user(store, first), await as_user(store, second)]
        outcomes = await asyncio.gather(
            act(delete_user, scopes[0], second), act(delete_user, scopes[1], first), return_exceptions=True
        )
        assert (
            await value(store, "select count(*) from users where user_type = 'A' and deleted_at is null") == 1
        )
        assert sum(outcome is None for outcome in outcomes) == 1
        await execute(store, "delete from users")


async def test_a_removal_that_is_refused_changes_nothing(store):
    user_id = await add_admin(store)
    pair = await sign_in(store, user_id)
    with pytest.raises(RuleViolation):
        await act(delete_user, system(store), user_id)
    assert await ask(store, "admin", bearer(pair.access_token))
