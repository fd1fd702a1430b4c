"""User groups: a group can't grant more privileges than the caller has (docs/reference/shared.md#privileges)."""

import pytest

from domain.people.usergroups import create_usergroup, delete_usergroup, set_membership, update_usergroup
from kernel.errors import Forbidden, InsufficientPrivileges, NotFound, RuleViolation, ValidationFailed
from kernel.ids import uuid7
from kernel.scope import active_scope
from tests.auth.kit import add_admin, add_owner, add_user, user_scope
from tests.harness.scopes import rows, system_scope, value


async def create(scope, **fields):
    with active_scope(scope):
        return await create_usergroup(scope, {"name": "Estoque", "type": "A"} | fields)


async def update(scope, group, **fields):
    with active_scope(scope):
        return await update_usergroup(scope, group, fields)


async def add_member(scope, user, group, status="A"):
    with active_scope(scope):
        await set_membership(scope, user, group, status)


async def privileges_of(store, user_id):
    return (await user_scope(store, user_id)).actor.privileges


async def test_active_members_have_the_group_privileges(store):
    user_id = await add_admin(store, "view_orders")
    group = await create(system_scope(store), privileges=["manage_products"])
    for status, privileges in (
        ("P", {"view_orders"}),
        ("A", {"view_orders", "manage_products", "view_products"}),
        ("F", {"view_orders"}),
        ("active", {"view_orders", "manage_products", "view_products"}),
        ("D", {"view_orders"}),
    ):
        await add_member(system_scope(store), user_id, group.public_id, status)
        assert await privileges_of(store, user_id) == privileges
    assert await value(store, "select count(*) from usergroup_memberships") == 1


@pytest.mark.parametrize("status", ["D", "H"])
async def test_a_disabled_or_deleted_group_grants_nothing(store, status):
    user_id = await add_admin(store)
    group = await create(system_scope(store), privileges=["manage_products"])
    await add_member(system_scope(store), user_id, group.id)
    await update(system_scope(store), group.id, status=status)
    assert await privileges_of(store, user_id) == frozenset()
    await update(system_scope(store), group.id, status="A")
    assert await privileges_of(store, user_id)
    scope = system_scope(store)
    with active_scope(scope):
        await delete_usergroup(scope, group.id)
        with pytest.raises(NotFound, match="usergroup not found"):
            await delete_usergroup(scope, group.id)
    assert await privileges_of(store, user_id) == frozenset()


@pytest.mark.parametrize(
    "fields, wrong",
    [
        ({"name": " "}, {"name": "name_required"}),
        ({"type": "X"}, {"type": "type_invalid"}),
        ({"status": "P"}, {"status": "status_invalid"}),
        ({"privileges": ["manage_everything"]}, {"privileges": "privilege_unknown"}),
        ({"privileges": "manage_orders"}, {"privileges": "privilege_unknown"}),
        ({"type": "C", "privileges": ["view_orders"]}, {"privileges": "privileges_not_allowed"}),
    ],
    ids=str,
)
async def test_invalid_fields_are_named(store, fields, wrong):
    with pytest.raises(ValidationFailed) as refused:
        await create(system_scope(store), **fields)
    assert refused.value.fields == wrong


async def test_groups_require_manage_users(store):
    for caller, error in (
        (await user_scope(store, await add_admin(store, "view_users")), InsufficientPrivileges),
        (await user_scope(store, await add_user(store)), Forbidden),
    ):
        with pytest.raises(error):
            await create(caller)


async def test_group_privileges_are_limited_to_the_callers(store):
    caller = await user_scope(store, await add_admin(store, "manage_users", "manage_orders"))
    with pytest.raises(InsufficientPrivileges) as refused:
        await create(caller, privileges=["view_payments"])
    assert refused.value.details == {"required": "view_payments"}
    group = await create(caller, privileges=["view_orders"])
    with pytest.raises(InsufficientPrivileges):
        await update(caller, group.id, privileges=["view_orders", "view_payments"])
    assert await update(caller, group.id, privileges=["manage_orders"])


async def test_existing_group_privileges_can_be_retained_or_removed(store):
    group = await create(system_scope(store), privileges=["manage_payments"])
    caller = await user_scope(store, await add_admin(store, "manage_users"))
    await update(caller, group.id, name="Caixa", privileges=["manage_payments"])
    await update(caller, group.id, privileges=[])
    with pytest.raises(InsufficientPrivileges):
        await update(caller, group.id, privileges=["manage_payments"])


@pytest.mark.parametrize("off", [{"status": "D"}, {"status": "H"}])
async def test_enabling_a_group_requires_its_privileges(store, off):
    group = await create(system_scope(store), privileges=["manage_payments"], **off)
    caller = await user_scope(store, await add_admin(store, "manage_users"))
    with pytest.raises(InsufficientPrivileges):
        await update(caller, group.id, status="A")
    assert await update(system_scope(store), group.id, status="A")


async def test_privileges_cannot_be_added_to_a_disabled_group(store):
    caller = await user_scope(store, await add_admin(store, "manage_users"))
    group = await create(caller, status="D")
    with pytest.raises(InsufficientPrivileges):
        await update(caller, group.id, privileges=["manage_payments"])


async def test_a_customer_group_cannot_have_privileges(store):
    group = await create(system_scope(store), privileges=["view_orders"])
    await update(system_scope(store), group.id, type="C")
    (row,) = await rows(store, "select type, privileges from usergroups")
    assert (row["type"], row["privileges"]) == ("C", [])
    with pytest.raises(ValidationFailed):
        await update(system_scope(store), group.id, privileges=["view_orders"])


async def test_adding_a_member_requires_the_group_privileges(store):
    group = await create(system_scope(store), privileges=["manage_payments"])
    user_id = await add_admin(store, "manage_users")
    caller = await user_scope(store, user_id)
    for target in (user_id, await add_admin(store)):
        for status in ("A", "P", "F"):
            with pytest.raises(InsufficientPrivileges) as refused:
                await add_member(caller, target, group.id, status)
            assert refused.value.details == {"required": "manage_payments"}, (target, status)


async def test_removing_a_member_requires_the_members_privileges(store):
    group = await create(system_scope(store), privileges=["manage_payments"])
    target = await add_admin(store)
    await add_member(system_scope(store), target, group.id)
    with pytest.raises(InsufficientPrivileges):
        await add_member(await user_scope(store, await add_admin(store, "manage_users")), target, group.id, "D")
    assert "manage_payments" in await privileges_of(store, target)


async def test_only_administrators_can_join_administrator_groups(store):
    group, open_group = await create(system_scope(store)), await create(system_scope(store), type="C")
    customer = await add_user(store)
    with pytest.raises(RuleViolation):
        await add_member(system_scope(store), customer, group.id)
    await add_member(system_scope(store), customer, open_group.id)


async def test_only_the_owner_can_change_the_owners_groups(store):
    owned, owner = await add_owner(store)
    group = await create(system_scope(owned), type="C")
    deputy = await user_scope(owned, await add_admin(owned, "manage_users"))
    with pytest.raises(InsufficientPrivileges):
        await add_member(deputy, owner, group.id)
    await add_member(await user_scope(owned, owner), owner, group.id)


async def test_unknown_users_groups_and_codes_are_reported(store, other_store):
    group = await create(system_scope(store))
    foreign = [await create(system_scope(other_store)) for _ in range(4)][-1]
    user_id = await add_admin(store)
    for user, wanted in ((uuid7(), group.id), (user_id, foreign.id), (user_id, "garbage")):
        with pytest.raises(NotFound):
            await add_member(system_scope(store), user, wanted)
    with pytest.raises(ValidationFailed) as refused:
        await add_member(system_scope(store), user_id, group.id, "X")
    assert refused.value.fields == {"status": "status_invalid"}
