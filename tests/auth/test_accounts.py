"""Users: who may make and change them, and what a change brings with it (decisions section 3, Privileges and More)."""

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
from kernel.scope import Actor, ActorKind, entered
from tests.auth.kit import (
    PASSWORD,
    add_admin,
    add_user,
    add_vendor,
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
    visitor,
)


def given(**fields):
    return {
        "email": f"{uuid7().hex}@example.com",
        "password": PASSWORD,
        "firstname": "Ana",
        "lastname": "Souza",
    } | fields


async def make(scope, **fields):
    with entered(scope):
        return await create_user(scope, given(**fields))


async def change(scope, user, **fields):
    with entered(scope):
        return await update_user(scope, user, fields)


async def user_row(store, user_id):
    return (await rows(store, "select * from users where id = $1", user_id))[0]


def app_with(store, *scopes):
    return replace(visitor(store), actor=Actor(ActorKind.APP, scopes=frozenset(scopes), app_id=1))


# --- Making ------------------------------------------------------------------------------------------------------------------


async def test_a_new_user_signs_in_and_is_told_of(store):
    made = await make(system(store), email=" Ana@Loja.com.BR ", phone="(11) 91234-5678", cpf="111.444.777-35")
    scope = visitor(store)
    with entered(scope):
        for identifier in ("ana@loja.com.br", "11912345678", "11144477735"):
            assert (await login(scope, identifier, PASSWORD)).user_id == made.public_id
    (event,) = await rows(store, "select * from outbox_events where name = 'user.registered'")
    assert (event["subject_id"], event["sequence"]) == (made.public_id, 1)
    data = orjson.loads(event["data"])
    assert {name: data[name] for name in ("id", "name", "email", "role")} == {
        "id": str(made.public_id),
        "name": "Ana Souza",
        "email": "ana@loja.com.br",
        "role": "customer",
    }


async def test_a_name_given_whole_is_split_at_its_first_space(store):
    made = await make(system(store), firstname="", lastname="")
    await change(system(store), made.id, name="  Maria da Silva ")
    user = await user_row(store, made.id)
    assert (user["firstname"], user["lastname"], user["name"]) == ("Maria", "da Silva", "Maria da Silva")


async def test_a_whole_name_does_not_replace_its_parts(store):
    made = await make(system(store), name="Other Name")
    assert (await user_row(store, made.id))["name"] == "Ana Souza"


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
async def test_wrong_fields_are_named(store, fields, wrong):
    with pytest.raises(ValidationFailed) as refused:
        await make(system(store), **fields)
    assert refused.value.fields == wrong
    assert await value(store, "select count(*) from users") == 0


async def test_an_email_is_required(store):
    scope = system(store)
    with entered(scope), pytest.raises(ValidationFailed) as refused:
        await create_user(scope, {"password": PASSWORD})
    assert refused.value.fields == {"email": "required"}


async def test_an_email_that_another_has_is_taken_in_every_spelling(store, other_store):
    await add_user(other_store, email="ana@loja.com.br")
    await make(system(store), email="ana@loja.com.br")
    with pytest.raises(ValidationFailed) as refused:
        await make(system(store), email="ANA@loja.com.br")
    assert refused.value.fields == {"email": "email_taken"}
    second = await make(system(store))
    with pytest.raises(ValidationFailed) as refused:
        await change(system(store), second.id, email="Ana@Loja.com.br")
    assert refused.value.fields == {"email": "email_taken"}


async def test_another_stores_vendor_is_unknown(store, other_store):
    foreign = await add_vendor(other_store)
    with pytest.raises(ValidationFailed) as refused:
        await make(system(store), user_type="V", vendor_id=foreign)
    assert refused.value.fields == {"vendor_id": "not_found"}


@pytest.mark.parametrize("nothing", [None, "", 0, "0"])
async def test_no_vendor_is_written_in_several_ways(store, nothing):
    assert (await user_row(store, (await make(system(store), vendor_id=nothing)).id))["vendor_id"] is None


async def test_a_new_administrator_holds_no_privilege(store):
    scope = await as_user(store, await add_admin(store, "manage_users", "manage_orders"))
    made = await make(scope, user_type="A", privileges=["manage_orders"], is_root="Y")
    actor = await ask(store, "admin", bearer((await sign_in(store, made.id)).access_token))
    assert actor.privileges == frozenset()


async def test_users_are_made_with_manage_users_or_an_apps_scope(store):
    with pytest.raises(InsufficientPrivileges) as refused:
        await make(await as_user(store, await add_admin(store, "view_users")))
    assert refused.value.details == {"required": "manage_users"}
    with pytest.raises(Forbidden, match="insufficient permissions"):
        await make(await as_user(store, await add_user(store)))
    with pytest.raises(Forbidden):
        await make(visitor(store))
    with pytest.raises(MissingScope):
        await make(app_with(store, "read_users"))
    assert await make(app_with(store, "write_users"))


async def test_an_app_makes_and_touches_no_administrator(store):
    app = app_with(store, "write_users")
    admin = await add_admin(store)
    customer = await add_user(store)
    with pytest.raises(InsufficientPrivileges):
        await make(app, user_type="A")
    with pytest.raises(InsufficientPrivileges):
        await change(app, customer, user_type="A")
    with pytest.raises(InsufficientPrivileges):
        await change(app, admin, password="a new password")
    assert await change(app, customer, password="a new password")


# --- Changing ----------------------------------------------------------------------------------------------------------------


async def test_only_what_is_given_changes(store):
    made = await make(system(store), phone="11912345678")
    before = dict(await user_row(store, made.id))
    await change(system(store), made.public_id, lastname="Lima")
    after = dict(await user_row(store, made.id))
    differing = {name for name in before if before[name] != after[name]}
    assert differing == {"lastname", "name", "updated_at", "search"}


async def test_a_change_is_audited_by_names_without_values(store):
    made = await make(system(store))
    await change(system(store), made.id, firstname="Beatriz", password="a new password")
    (line,) = await rows(store, "select * from audit_entries where action = 'user.updated'")
    assert orjson.loads(line["details"]) == {"changed": ["firstname", "password_changed_at", "password_hash"]}
    assert "Beatriz" not in line["details"]


async def test_a_new_password_replaces_the_old_one(store):
    user_id = await add_user(store)
    await change(system(store), user_id, password="a new password")
    scope = visitor(store)
    with entered(scope):
        with pytest.raises(Unauthenticated):
            await login(scope, await email_of(store, user_id), PASSWORD)
        assert await login(scope, await email_of(store, user_id), "a new password")


async def test_users_that_are_not_there_are_not_found(store, other_store):
    foreign = await add_user(other_store)
    for user in (foreign, uuid7(), 0, "garbage"):
        with pytest.raises(NotFound, match="user not found"):
            await change(system(store), user, firstname="x")


@pytest.mark.parametrize("user_type", ["V", "C"])
async def test_vendors_and_customers_change_their_own_name_and_credentials_and_nothing_else(store, user_type):
    vendor_id, other_vendor = await add_vendor(store), await add_vendor(store)
    user_id = await add_user(store, user_type=user_type, vendor_id=vendor_id if user_type == "V" else None)
    before = dict(await user_row(store, user_id))
    await change(
        await as_user(store, user_id),
        user_id,
        firstname="Novo",
        phone="11912345678",
        email="novo@loja.com.br",
        password="a new password",
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
        "email",
        "password_hash",
        "password_changed_at",
        "updated_at",
        "search",
    }
    other = await add_user(store)
    with pytest.raises(Forbidden, match="insufficient permissions"):
        await change(await as_user(store, user_id), other, firstname="x")


async def test_an_administrator_without_manage_users_changes_only_its_own_name_and_credentials(store):
    user_id = await add_admin(store, "manage_orders")
    scope = await as_user(store, user_id)
    await change(scope, user_id, lastname="Lima", password="a new password")
    for fields in ({"status": "P"}, {"user_type": "C"}, {"company_name": "x"}):
        with pytest.raises(InsufficientPrivileges) as refused:
            await change(scope, user_id, **fields)
        assert refused.value.details == {"required": "manage_users"}
    with pytest.raises(InsufficientPrivileges):
        await change(scope, await add_user(store), lastname="Lima")


@pytest.mark.parametrize(
    "fields",
    [{"email": "x@example.com"}, {"password": "a new password"}, {"status": "D"}, {"user_type": "C"}],
    ids=str,
)
async def test_an_administrators_account_is_changed_only_by_who_holds_all_its_privileges(store, fields):
    target = await add_admin(store, "manage_users", "manage_payments")
    lesser = await as_user(store, await add_admin(store, "manage_users", "view_payments"))
    with pytest.raises(InsufficientPrivileges) as refused:
        await change(lesser, target, **fields)
    assert refused.value.details == {"required": "manage_payments"}
    equal = await as_user(store, await add_admin(store, "manage_users", "manage_payments"))
    assert await change(equal, target, **fields)


async def test_privileges_of_groups_count_among_a_users(store):
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
        await change(await as_user(store, caller), target, password="a new password")
    await execute(store, "update usergroups set status = 'D' where id = $1", group)
    assert await change(await as_user(store, caller), target, password="a new password")


async def test_nobody_but_the_owner_changes_the_owner(store):
    owned, owner = await owner_of(store)
    everything = sorted((await as_user(owned, owner)).actor.privileges)
    deputy = await as_user(owned, await add_admin(owned, *everything))
    for fields in (
        {"lastname": "x"},
        {"password": "a new password"},
        {"email": "x@example.com"},
        {"phone": "11912345678"},
    ):
        with pytest.raises(InsufficientPrivileges):
            await change(deputy, owner, **fields)
    assert await change(await as_user(owned, owner), owner, lastname="x", password="a new password")


@pytest.mark.parametrize("fields", [{"status": "D"}, {"status": "P"}, {"user_type": "C"}], ids=str)
async def test_the_owner_stays_an_active_administrator(store, fields):
    await add_admin(store)
    owned, owner = await owner_of(store)
    with pytest.raises(RuleViolation) as refused:
        await change(await as_user(owned, owner), owner, **fields)
    assert refused.value.reason == "owner"


@pytest.mark.parametrize("fields", [{"status": "D"}, {"user_type": "C"}], ids=str)
async def test_the_last_active_administrator_stays_one(store, fields):
    user_id = await add_admin(store)
    await add_admin(store, status="D")
    with pytest.raises(RuleViolation) as refused:
        await change(system(store), user_id, **fields)
    assert refused.value.reason == "last_admin"
    await add_admin(store)
    assert await change(system(store), user_id, **fields)


async def test_somebody_made_administrator_again_has_lost_the_old_privileges(store):
    await add_admin(store)
    user_id = await add_admin(store, "manage_orders")
    await change(system(store), user_id, user_type="C")
    await change(await as_user(store, await add_admin(store, "manage_users")), user_id, user_type="A")
    actor = await ask(store, "admin", bearer((await sign_in(store, user_id)).access_token))
    assert actor.privileges == frozenset()
