"""Privileges of administrators, and the limits on granting them (docs/reference/shared.md#privileges)."""

from pathlib import Path

import pytest

from auth.privileges import ALL, AREAS
from domain.people.accounts import set_privileges
from kernel.errors import InsufficientPrivileges, RuleViolation, ValidationFailed
from kernel.scope import active_scope
from tests.auth.kit import add_admin, add_owner, add_user, authenticate_request, sign_in, user_scope
from tests.harness.http import bearer
from tests.harness.scopes import system_scope, value

REFERENCE = Path(__file__).parents[2] / "docs/reference/shared.md"


def test_the_reference_lists_every_area():
    section = REFERENCE.read_text().split("## Privileges\n")[1]
    listed = section.split("Areas: ")[1].split(".")[0].replace("\n", " ")
    assert listed.replace("`", "").split(", ") == [*AREAS], f"list the areas in {REFERENCE.name}#privileges"


async def privileges_of(store, user_id):
    return await value(store, "select privileges from users where id = $1", user_id)


async def grant(scope, user, *names):
    with active_scope(scope):
        return await set_privileges(scope, user, list(names))


async def test_privileges_are_replaced_and_manage_implies_view(store):
    user_id = await add_admin(store, "manage_products")
    await grant(system_scope(store), user_id, "manage_orders")
    assert await privileges_of(store, user_id) == ["manage_orders"]
    actor = await authenticate_request(store, "admin", bearer((await sign_in(store, user_id)).access_token))
    assert actor.privileges == {"manage_orders", "view_orders"}


async def test_the_owner_has_every_privilege(store):
    owned, owner = await add_owner(store)
    actor = await authenticate_request(owned, "admin", bearer((await sign_in(owned, owner)).access_token))
    assert actor.is_owner
    assert actor.privileges == ALL == {f"{verb}_{area}" for area in AREAS for verb in ("view", "manage")}
    assert await grant(await user_scope(owned, owner), await add_admin(owned), "manage_payments")


async def test_granting_a_privilege_requires_having_it(store):
    target = await add_admin(store)
    caller = await user_scope(store, await add_admin(store, "manage_users", "manage_orders"))
    with pytest.raises(InsufficientPrivileges) as refused:
        await grant(caller, target, "view_orders", "view_payments")
    assert refused.value.details == {"required": "view_payments"}
    assert await privileges_of(store, target) == []
    assert await grant(caller, target, "view_orders", "view_users")


async def test_users_cannot_extend_their_own_privileges(store):
    user_id = await add_admin(store, "manage_users")
    with pytest.raises(InsufficientPrivileges):
        await grant(await user_scope(store, user_id), user_id, "manage_users", "view_payments")


async def test_granting_privileges_requires_manage_users(store):
    caller = await user_scope(store, await add_admin(store, "manage_orders"))
    with pytest.raises(InsufficientPrivileges):
        await grant(caller, await add_admin(store), "view_orders")


async def test_the_privileges_of_a_user_with_more_cannot_be_reduced(store):
    target = await add_admin(store, "manage_payments")
    with pytest.raises(InsufficientPrivileges):
        await grant(await user_scope(store, await add_admin(store, "manage_users")), target)


@pytest.mark.parametrize("names", [["manage_everything"], ["orders"], [""], ["manage_orders", "x"]], ids=str)
async def test_unknown_privileges_are_rejected(store, names):
    with pytest.raises(ValidationFailed) as refused:
        await grant(system_scope(store), await add_admin(store), *names)
    assert refused.value.fields == {"privileges": "privilege_unknown"}


async def test_only_administrators_have_privileges(store):
    with pytest.raises(RuleViolation):
        await grant(system_scope(store), await add_user(store), "view_orders")
