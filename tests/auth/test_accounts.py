"""Users: who may create and change them, and the effects of a change (docs/reference/shared.md#privileges)."""

from dataclasses import replace

import orjson
import pytest

from auth.sessions import login
from domain.people.accounts import create_user, update_user
from kernel.errors import (
    Forbidden,
    InsufficientPrivileges,
    MissingScope,
    NotFound,
    RuleViolation,
    Unauthenticated,
    ValidationFailed,
)
from kernel.ids import uuid7
from kernel.scope import Actor, ActorKind, active_scope
from tests.auth.kit import (
    add_admin,
    add_owner,
    add_user,
    add_vendor,
    authenticate_request,
    email_of,
    sign_in,
    user_scope,
)
from tests.harness.http import bearer
from tests.harness.records import PASSWORD
from tests.harness.scopes import anonymous_scope, execute, rows, system_scope, value


def user_fields(**fields):
    return {
        "email": f"{uuid7().hex}@example.com",
        "password": PASSWORD,
        "firstname": "Ana",
        "lastname": "Souza",
    } | fields


async def create(scope, **fields):
    with active_scope(scope):
        return await create_user(scope, user_fields(**fields))


async def update(scope, user, **fields):
    with active_scope(scope):
        return await update_user(scope, user, fields)


async def user_row(store, user_id):
    return (await rows(store, "select * from users where id = $1", user_id))[0]


def app_with(store, *scopes):
    return replace(anonymous_scope(store), actor=Actor(ActorKind.APP, scopes=frozenset(scopes), app_id=1))


# --- Creating ----------------------------------------------------------------------------------------------------------------


async def test_a_created_user_can_sign_in_and_emits_an_event(store):
    user = await create(system_scope(store), email=" Ana@Loja.com.BR ", phone="(11) 91234-5678", cpf="111.444.777-35")
    scope = anonymous_scope(store)
    with active_scope(scope):
        for identifier in ("ana@loja.com.br", "11912345678", "11144477735"):
            assert (await login(scope, identifier, PASSWORD)).user_id == user.public_id
    (event,) = await rows(store, "select * from outbox_events where name = 'user.registered'")
    assert (event["subject_id"], event["sequence"]) == (user.public_id, 1)
    data = orjson.loads(event["data"])
    assert {name: data[name] for name in ("id", "name", "email", "role")} == {
        "id": str(user.public_id),
        "name": "Ana Souza",
        "email": "ana@loja.com.br",
        "role": "customer",
    }


async def test_a_full_name_is_split_at_its_first_space(store):
    user = await create(system_scope(store), firstname="", lastname="")
    await update(system_scope(store), user.id, name="  Maria da Silva ")
    user = await user_row(store, user.id)
    assert (user["firstname"], user["lastname"], user["name"]) == ("Maria", "da Silva", "Maria da Silva")


async def test_a_full_name_does_not_override_first_and_last_name(store):
    user = await create(system_scope(store), name="Other Name")
    assert (await user_row(store, user.id))["name"] == "Ana Souza"


@pytest.mark.parametrize(
    "fields, wrong",
    [
        ({"email": None}, {"email": "required"}),
        ({"email": " "}, {"email": "required"}),
        ({"email": "ana"}, {"email": "email_invalid"}),
        ({"password": "short"}, {"password": "password_invalid"}),
        ({"password": None}, {"password": "password_invalid"}),
        ({"password": 12345678}, {"password": "password_invalid"}),
        ({"user_type": "X"}, {"user_type": "user_type_invalid"}),
        ({"status": "H"}, {"status": "status_invalid"}),
        ({"cpf": "11144477736"}, {"cpf": "cpf_invalid"}),
        ({"cnpj": "1122233300018"}, {"cnpj": "cnpj_invalid"}),
        ({"phone": "no digits"}, {"phone": "phone_invalid"}),
        ({"firstname": "x" * 256}, {"firstname": "firstname_invalid"}),
        ({"user_type": "V"}, {"vendor_id": "required"}),
        ({"vendor_id": 999_999_999}, {"vendor_id": "not_found"}),
        ({"vendor_id": "garbage"}, {"vendor_id": "not_found"}),
        ({"email": "ana", "status": "H"}, {"email": "email_invalid", "status": "status_invalid"}),
    ],
    ids=str,
)
async def test_invalid_fields_are_named(store, fields, wrong):
    with pytest.raises(ValidationFailed) as refused:
        await create(system_scope(store), **fields)
    assert refused.value.fields == wrong
    assert await value(store, "select count(*) from users") == 0


async def test_an_email_is_required(store):
    scope = system_scope(store)
    with active_scope(scope), pytest.raises(ValidationFailed) as refused:
        await create_user(scope, {"password": PASSWORD})
    assert refused.value.fields == {"email": "required"}


async def test_a_duplicate_email_is_rejected_in_every_spelling(store, other_store):
    await add_user(other_store, email="ana@loja.com.br")
    await create(system_scope(store), email="ana@loja.com.br")
    with pytest.raises(ValidationFailed) as refused:
        await create(system_scope(store), email="ANA@loja.com.br")
    assert refused.value.fields == {"email": "email_taken"}
    second = await create(system_scope(store))
    with pytest.raises(ValidationFailed) as refused:
        await update(system_scope(store), second.id, email="Ana@Loja.com.br")
    assert refused.value.fields == {"email": "email_taken"}


async def test_another_stores_vendor_is_unknown(store, other_store):
    foreign = await add_vendor(other_store)
    with pytest.raises(ValidationFailed) as refused:
        await create(system_scope(store), user_type="V", vendor_id=foreign)
    assert refused.value.fields == {"vendor_id": "not_found"}


@pytest.mark.parametrize("nothing", [None, "", 0, "0"])
async def test_several_values_mean_no_vendor(store, nothing):
    assert (await user_row(store, (await create(system_scope(store), vendor_id=nothing)).id))["vendor_id"] is None


async def test_a_new_administrator_has_no_privileges(store):
    scope = await user_scope(store, await add_admin(store, "manage_users", "manage_orders"))
    user = await create(scope, user_type="A", privileges=["manage_orders"], is_root="Y")
    actor = await authenticate_request(store, "admin", bearer((await sign_in(store, user.id)).access_token))
    assert actor.privileges == frozenset()


async def test_creating_users_requires_manage_users_or_an_app_scope(store):
    with pytest.raises(InsufficientPrivileges) as refused:
        await create(await user_scope(store, await add_admin(store, "view_users")))
    assert refused.value.details == {"required": "manage_users"}
    with pytest.raises(Forbidden, match="insufficient permissions"):
        await create(await user_scope(store, await add_user(store)))
    with pytest.raises(Forbidden):
        await create(anonymous_scope(store))
    with pytest.raises(MissingScope):
        await create(app_with(store, "read_users"))
    assert await create(app_with(store, "write_users"))


async def test_an_app_cannot_create_or_change_administrators(store):
    app = app_with(store, "write_users")
    admin = await add_admin(store)
    customer = await add_user(store)
    with pytest.raises(InsufficientPrivileges):
        await create(app, user_type="A")
    with pytest.raises(InsufficientPrivileges):
        await update(app, customer, user_type="A")
    with pytest.raises(InsufficientPrivileges):
        await update(app, admin, password="a new password")
    assert await update(app, customer, firstname="Bia")


@pytest.mark.parametrize("fields", [{"password": "a new password"}, {"email": "x@example.com"}], ids=str)
async def test_an_app_cannot_change_the_credentials_of_others(store, fields):
    app, customer = app_with(store, "write_users"), await add_user(store)
    before = dict(await user_row(store, customer))
    with pytest.raises(InsufficientPrivileges):
        await update(app, customer, firstname="Bia", **fields)
    assert dict(await user_row(store, customer)) == before
    assert await update(app, customer, firstname="Bia", email=await email_of(store, customer))


async def test_vendor_users_are_managed_only_with_manage_marketplace(store):
    vendor_id, other_vendor = await add_vendor(store), await add_vendor(store)
    user = await add_user(store, user_type="V", vendor_id=vendor_id)
    customer = await add_user(store)
    lesser = await user_scope(store, await add_admin(store, "manage_users", "view_marketplace"))
    allowed = await user_scope(store, await add_admin(store, "manage_users", "manage_marketplace"))
    changes = (
        {"password": "a new password"},
        {"email": f"{uuid7().hex}@example.com"},
        {"status": "D"},
        {"vendor_id": other_vendor},
    )
    for caller in (lesser, app_with(store, "write_users")):
        with pytest.raises(InsufficientPrivileges):
            await create(caller, user_type="V", vendor_id=vendor_id)
        with pytest.raises(InsufficientPrivileges):
            await update(caller, customer, user_type="V", vendor_id=vendor_id)
        for fields in changes:
            with pytest.raises(InsufficientPrivileges):
                await update(caller, user, **fields)
        assert await update(caller, user, firstname="Bia")
    for fields in changes:
        assert await update(allowed, user, **fields)
    assert await create(allowed, user_type="V", vendor_id=vendor_id)
    with pytest.raises(InsufficientPrivileges) as refused:
        await create(lesser, user_type="V", vendor_id=vendor_id)
    assert refused.value.details == {"required": "manage_marketplace"}


# --- Changing ----------------------------------------------------------------------------------------------------------------


async def test_only_supplied_fields_change(store):
    user = await create(system_scope(store), phone="11912345678")
    before = dict(await user_row(store, user.id))
    await update(system_scope(store), user.public_id, lastname="Lima")
    after = dict(await user_row(store, user.id))
    differing = {name for name in before if before[name] != after[name]}
    assert differing == {"lastname", "name", "updated_at", "search"}


async def test_an_update_is_audited_with_field_names_without_values(store):
    user = await create(system_scope(store))
    await update(system_scope(store), user.id, firstname="Beatriz", password="a new password")
    (line,) = await rows(store, "select * from audit_entries where action = 'user.updated'")
    assert orjson.loads(line["details"]) == {"changed": ["firstname", "password_changed_at", "password_hash"]}
    assert "Beatriz" not in line["details"]


async def test_a_new_password_replaces_the_old_one(store):
    user_id = await add_user(store)
    await update(system_scope(store), user_id, password="a new password")
    scope = anonymous_scope(store)
    with active_scope(scope):
        with pytest.raises(Unauthenticated):
            await login(scope, await email_of(store, user_id), PASSWORD)
        assert await login(scope, await email_of(store, user_id), "a new password")


async def test_unknown_users_are_not_found(store, other_store):
    foreign = await add_user(other_store)
    for user in (foreign, uuid7(), 0, "garbage"):
        with pytest.raises(NotFound, match="user not found"):
            await update(system_scope(store), user, firstname="x")


async def test_a_new_phone_has_the_digits_of_one_and_an_old_one_may_be_sent_back(store):
    scope = system_scope(store)
    with pytest.raises(ValidationFailed, match="phone is '1'; expected a telephone number"):
        await create_user(scope, {"email": "x@example.com", "phone": "1"})
    user_id = await add_user(store)
    await execute(store, "update users set phone = '1' where id = $1", user_id)
    await update(scope, user_id, phone="1", firstname="Novo")
    assert (await user_row(store, user_id))["firstname"] == "Novo"
    with pytest.raises(ValidationFailed) as refused:
        await update(scope, user_id, phone="12")
    assert refused.value.fields == {"phone": "phone_invalid"}


@pytest.mark.parametrize("user_type", ["V", "C"])
async def test_vendors_and_customers_can_change_only_their_own_name_and_phone(store, user_type):
    vendor_id, other_vendor = await add_vendor(store), await add_vendor(store)
    user_id = await add_user(store, user_type=user_type, vendor_id=vendor_id if user_type == "V" else None)
    before = dict(await user_row(store, user_id))
    await update(
        await user_scope(store, user_id),
        user_id,
        firstname="Novo",
        phone="11912345678",
        user_type="A",
        status="P",
        vendor_id=other_vendor,
        company_name="x",
        cpf="11144477735",
        cnpj="11222333000181",
        privileges=["manage_users"],
        points=10,
    )
    after = dict(await user_row(store, user_id))
    assert {name for name in before if before[name] != after[name]} == {
        "firstname",
        "name",
        "phone",
        "updated_at",
        "search",
    }
    other = await add_user(store)
    with pytest.raises(Forbidden, match="insufficient permissions"):
        await update(await user_scope(store, user_id), other, firstname="x")


async def test_an_administrator_without_manage_users_can_change_only_its_own_name(store):
    user_id = await add_admin(store, "manage_orders")
    scope = await user_scope(store, user_id)
    await update(scope, user_id, lastname="Lima")
    for fields in ({"status": "P"}, {"user_type": "C"}, {"company_name": "x"}):
        with pytest.raises(InsufficientPrivileges) as refused:
            await update(scope, user_id, **fields)
        assert refused.value.details == {"required": "manage_users"}, fields
    with pytest.raises(InsufficientPrivileges):
        await update(scope, await add_user(store), lastname="Lima")


@pytest.mark.parametrize(
    "fields",
    [{"email": "x@example.com"}, {"password": "a new password"}, {"status": "D"}, {"user_type": "C"}],
    ids=str,
)
async def test_changing_an_administrator_requires_all_its_privileges(store, fields):
    target = await add_admin(store, "manage_users", "manage_payments")
    lesser = await user_scope(store, await add_admin(store, "manage_users", "view_payments"))
    with pytest.raises(InsufficientPrivileges) as refused:
        await update(lesser, target, **fields)
    assert refused.value.details == {"required": "manage_payments"}
    equal = await user_scope(store, await add_admin(store, "manage_users", "manage_payments"))
    assert await update(equal, target, **fields)


async def test_group_privileges_count_as_the_users(store):
    target, caller = await add_admin(store), await add_admin(store, "manage_users")
    group = await value(
        store,
        "insert into usergroups (tenant_id, public_id, name, type, privileges) values ($1, $2, 'Caixa', 'A', $3) returning id",
        store.id,
        uuid7(),
        ["manage_payments"],
    )
    await execute(
        store,
        "insert into usergroup_memberships (tenant_id, public_id, usergroup_id, user_id) values ($1, $2, $3, $4)",
        store.id,
        uuid7(),
        group,
        target,
    )
    with pytest.raises(InsufficientPrivileges):
        await update(await user_scope(store, caller), target, password="a new password")
    await execute(store, "update usergroups set status = 'D' where id = $1", group)
    assert await update(await user_scope(store, caller), target, password="a new password")


async def test_only_the_owner_can_change_the_owner(store):
    owned, owner = await add_owner(store)
    everything = sorted((await user_scope(owned, owner)).actor.privileges)
    deputy = await user_scope(owned, await add_admin(owned, *everything))
    for fields in (
        {"lastname": "x"},
        {"password": "a new password"},
        {"email": "x@example.com"},
        {"phone": "11912345678"},
    ):
        with pytest.raises(InsufficientPrivileges):
            await update(deputy, owner, **fields)
    assert await update(await user_scope(owned, owner), owner, lastname="x", phone="11912345678")


@pytest.mark.parametrize("fields", [{"status": "D"}, {"status": "P"}, {"user_type": "C"}], ids=str)
async def test_the_owner_cannot_be_demoted_or_disabled(store, fields):
    await add_admin(store)
    owned, owner = await add_owner(store)
    with pytest.raises(RuleViolation) as refused:
        await update(await user_scope(owned, owner), owner, **fields)
    assert refused.value.reason == "owner"


@pytest.mark.parametrize("fields", [{"status": "D"}, {"user_type": "C"}], ids=str)
async def test_the_last_active_administrator_cannot_be_demoted_or_disabled(store, fields):
    user_id = await add_admin(store)
    await add_admin(store, status="D")
    with pytest.raises(RuleViolation) as refused:
        await update(system_scope(store), user_id, **fields)
    assert refused.value.reason == "last_admin"
    await add_admin(store)
    assert await update(system_scope(store), user_id, **fields)


async def test_a_user_who_becomes_administrator_again_has_no_old_privileges(store):
    await add_admin(store)
    user_id = await add_admin(store, "manage_orders")
    await update(system_scope(store), user_id, user_type="C")
    await update(await user_scope(store, await add_admin(store, "manage_users")), user_id, user_type="A")
    actor = await authenticate_request(store, "admin", bearer((await sign_in(store, user_id)).access_token))
    assert actor.privileges == frozenset()
