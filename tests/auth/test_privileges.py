"""Privileges: what an administrator holds, and that nobody gives what they don't hold (decisions section 3, Privileges)."""

import pytest

from domain.people.accounts import set_privileges
from kernel.errors import InsufficientPrivileges, RuleViolation, ValidationFailed
from kernel.scope import entered
from tests.auth.kit import add_admin, add_user, as_user, ask, bearer, owner_of, sign_in, system, value


async def held_by(store, user_id):
    return await value(store, "select privileges from users where id = $1", user_id)


async def grant(scope, user, *names):
    with entered(scope):
        return await set_privileges(scope, user, list(names))


async def test_privileges_are_replaced_and_managing_brings_viewing(store):
    user_id = await add_admin(store, "manage_products")
    await grant(system(store), user_id, "manage_orders")
    assert await held_by(store, user_id) == ["manage_orders"]
    actor = await ask(store, "admin", bearer((await sign_in(store, user_id)).access_token))
    assert actor.privileges == {"manage_orders", "view_orders"}


async def test_the_owner_holds_every_privilege(store):
    owned, owner = await owner_of(store)
    actor = await ask(owned, "admin", bearer((await sign_in(owned, owner)).access_token))
    assert actor.is_owner
    assert len(actor.privileges) == 24
    assert await grant(await as_user(owned, owner), await add_admin(owned), "manage_payments")


async def test_nobody_gives_a_privilege_they_do_not_hold(store):
    target = await add_admin(store)
    caller = await as_user(store, await add_admin(store, "manage_users", "manage_orders"))
    with pytest.raises(InsufficientPrivileges) as refused:
        await grant(caller, target, "view_orders", "view_payments")
    assert refused.value.details == {"required": "view_payments"}
    assert await held_by(store, target) == []
    assert await grant(caller, target, "view_orders", "view_users")


async def test_nobody_gives_themselves_more(store):
    user_id = await add_admin(store, "manage_users")
    with pytest.raises(InsufficientPrivileges):
        await grant(await as_user(store, user_id), user_id, "manage_users", "view_payments")


async def test_privileges_take_manage_users(store):
    caller = await as_user(store, await add_admin(store, "manage_orders"))
    with pytest.raises(InsufficientPrivileges):
        await grant(caller, await add_admin(store), "view_orders")


async def test_a_user_who_holds_more_is_not_cut_down(store):
    target = await add_admin(store, "manage_payments")
    with pytest.raises(InsufficientPrivileges):
        await grant(await as_user(store, await add_admin(store, "manage_users")), target)


@pytest.mark.parametrize("names", [["manage_everything"], ["orders"], [""], ["manage_orders", "x"]], ids=str)
async def test_unknown_privileges_are_refused(store, names):
    with pytest.raises(ValidationFailed) as refused:
        await grant(system(store), await add_admin(store), *names)
    assert refused.value.fields == {"privileges": "privilege_unknown"}


async def test_only_administrators_hold_privileges(store):
    with pytest.raises(RuleViolation):
        await grant(system(store), await add_user(store), "view_orders")
