"""Usergroups: through a group nobody gives a privilege they don't hold (decisions section 3, Privileges)."""

import pytest

from domain.people.usergroups import create_usergroup, delete_usergroup, set_membership, update_usergroup
from kernel.errors import Forbidden, InsufficientPrivileges, NotFound, RuleViolation, ValidationFailed
from kernel.ids import uuid7
from kernel.scope import entered
from tests.auth.kit import add_admin, add_user, as_user, owner_of, rows, system, value


async def make(scope, **given):
    with entered(scope):
        return await create_usergroup(scope, {"name": "Estoque", "type": "A"} | given)


async def change(scope, group, **given):
    with entered(scope):
        return await update_usergroup(scope, group, given)


async def place(scope, user, group, status="A"):
    with entered(scope):
        await set_membership(scope, user, group, status)


async def privileges_of(store, user_id):
    return (await as_user(store, user_id)).actor.privileges


async def test_members_hold_what_the_group_gives_while_they_are_active(store):
    user_id = await add_admin(store, "view_orders")
    group = await make(system(store), privileges=["manage_products"])
    for status, held in (
        ("P", {"view_orders"}),
        ("A", {"view_orders", "manage_products", "view_products"}),
        ("F", {"view_orders"}),
        ("active", {"view_orders", "manage_products", "view_products"}),
        ("D", {"view_orders"}),
    ):
        await place(system(store), user_id, group.public_id, status)
        assert await privileges_of(store, user_id) == held
    assert await value(store, "select count(*) from usergroup_memberships") == 1


@pytest.mark.parametrize("status", ["D", "H"])
async def test_a_group_that_is_off_or_deleted_gives_nothing(store, status):
    user_id = await add_admin(store)
    group = await make(system(store), privileges=["manage_products"])
    await place(system(store), user_id, group.id)
    await change(system(store), group.id, status=status)
    assert await privileges_of(store, user_id) == frozenset()
    await change(system(store), group.id, status="A")
    assert await privileges_of(store, user_id)
    scope = system(store)
    with entered(scope):
        await delete_usergroup(scope, group.id)
        with pytest.raises(NotFound, match="usergroup not found"):
            await delete_usergroup(scope, group.id)
    assert await privileges_of(store, user_id) == frozenset()


@pytest.mark.parametrize(
    "given, wrong",
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
async def test_wrong_fields_are_named(store, given, wrong):
    with pytest.raises(ValidationFailed) as refused:
        await make(system(store), **given)
    assert refused.value.fields == wrong


async def test_groups_take_manage_users(store):
    for caller, refusal in (
        (await as_user(store, await add_admin(store, "view_users")), InsufficientPrivileges),
        (await as_user(store, await add_user(store)), Forbidden),
    ):
        with pytest.raises(refusal):
            await make(caller)


async def test_a_group_is_made_and_widened_only_with_what_its_maker_holds(store):
    caller = await as_user(store, await add_admin(store, "manage_users", "manage_orders"))
    with pytest.raises(InsufficientPrivileges) as refused:
        await make(caller, privileges=["view_payments"])
    assert refused.value.details == {"required": "view_payments"}
    group = await make(caller, privileges=["view_orders"])
    with pytest.raises(InsufficientPrivileges):
        await change(caller, group.id, privileges=["view_orders", "view_payments"])
    assert await change(caller, group.id, privileges=["manage_orders"])


async def test_what_others_put_into_a_group_may_stay_and_go(store):
    group = await make(system(store), privileges=["manage_payments"])
    caller = await as_user(store, await add_admin(store, "manage_users"))
    await change(caller, group.id, name="Caixa", privileges=["manage_payments"])
    await change(caller, group.id, privileges=[])
    with pytest.raises(InsufficientPrivileges):
        await change(caller, group.id, privileges=["manage_payments"])


@pytest.mark.parametrize("off", [{"status": "D"}, {"status": "H"}])
async def test_turning_a_group_on_gives_its_privileges(store, off):
    group = await make(system(store), privileges=["manage_payments"], **off)
    caller = await as_user(store, await add_admin(store, "manage_users"))
    with pytest.raises(InsufficientPrivileges):
        await change(caller, group.id, status="A")
    assert await change(system(store), group.id, status="A")


async def test_a_group_that_is_off_is_not_loaded_either(store):
    caller = await as_user(store, await add_admin(store, "manage_users"))
    group = await make(caller, status="D")
    with pytest.raises(InsufficientPrivileges):
        await change(caller, group.id, privileges=["manage_payments"])


async def test_a_group_for_customers_has_no_privileges(store):
    group = await make(system(store), privileges=["view_orders"])
    await change(system(store), group.id, type="C")
    (row,) = await rows(store, "select type, privileges from usergroups")
    assert (row["type"], row["privileges"]) == ("C", [])
    with pytest.raises(ValidationFailed):
        await change(system(store), group.id, privileges=["view_orders"])


async def test_nobody_is_placed_by_somebody_who_holds_less_than_the_group(store):
    group = await make(system(store), privileges=["manage_payments"])
    user_id = await add_admin(store, "manage_users")
    caller = await as_user(store, user_id)
    for target in (user_id, await add_admin(store)):
        for status in ("A", "P", "F"):
            with pytest.raises(InsufficientPrivileges) as refused:
                await place(caller, target, group.id, status)
            assert refused.value.details == {"required": "manage_payments"}


async def test_nobody_is_put_out_by_somebody_who_holds_less_than_they(store):
    group = await make(system(store), privileges=["manage_payments"])
    target = await add_admin(store)
    await place(system(store), target, group.id)
    with pytest.raises(InsufficientPrivileges):
        await place(await as_user(store, await add_admin(store, "manage_users")), target, group.id, "D")
    assert "manage_payments" in await privileges_of(store, target)


async def test_only_administrators_are_in_groups_for_administrators(store):
    group, open_group = await make(system(store)), await make(system(store), type="C")
    customer = await add_user(store)
    with pytest.raises(RuleViolation):
        await place(system(store), customer, group.id)
    await place(system(store), customer, open_group.id)


async def test_the_owners_groups_are_the_owners_business(store):
    owned, owner = await owner_of(store)
    group = await make(system(owned), type="C")
    deputy = await as_user(owned, await add_admin(owned, "manage_users"))
    with pytest.raises(InsufficientPrivileges):
        await place(deputy, owner, group.id)
    await place(await as_user(owned, owner), owner, group.id)


async def test_unknown_users_groups_and_letters_are_told(store, other_store):
    group, foreign = await make(system(store)), await make(system(other_store))
    user_id = await add_admin(store)
    for user, wanted in ((uuid7(), group.id), (user_id, foreign.id), (user_id, "garbage")):
        with pytest.raises(NotFound):
            await place(system(store), user, wanted)
    with pytest.raises(ValidationFailed) as refused:
        await place(system(store), user_id, group.id, "X")
    assert refused.value.fields == {"status": "status_invalid"}
