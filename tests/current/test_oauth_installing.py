"""Administrators register apps, let them into their store within their own rights, and remove them."""

import asyncio

import pytest

from auth.apps import find_app, signing_secret
from kernel.ids import has_valid_checksum
from kernel.scope import entered
from tests.current import kit
from tests.current.oauth import (
    INSTALL,
    INSTALLED,
    REDIRECT,
    REGISTER,
    SCOPES,
    UNINSTALL,
    UPDATE,
    approve,
    challenge,
    done,
    exchange,
    graphql,
    installation,
    query_of,
    refused,
    register,
    renew,
    tokens_of,
)
from tests.current.test_oauth_tokens import PRODUCTS, works
from tests.shop import NOBODY

ADMIN_APPS = "/api/v1/admin/installed-apps"


# --- Registering -------------------------------------------------------------------------------------------------------------


async def test_an_administrator_registers_an_app_and_sees_its_secret_once(admin):
    made = await done(
        admin,
        REGISTER,
        input={
            "name": "  Etiquetas ",
            "redirect_uris": [REDIRECT, "http://localhost:3000/cb?a=1", "http://127.0.0.1:9/", REDIRECT],
            "scopes": ["write_orders", "read_orders", "read_users"],
            "mode": "test",
        },
    )
    assert made["name"] == "Etiquetas"
    assert made["mode"] == "test"
    assert made["redirect_uris"] == [REDIRECT, "http://localhost:3000/cb?a=1", "http://127.0.0.1:9/"]
    assert made["scopes"] == ["read_orders", "read_users", "write_orders"]
    assert has_valid_checksum(made["client_secret"])
    shown = await done(
        admin, "{ registered_apps { id client_id name mode redirect_uris scopes created_at } }"
    )
    assert shown == [{name: made[name] for name in shown[0]}]
    with entered(kit.system(admin.store)):
        app = await find_app(made["client_id"])
        assert app is not None
        assert await signing_secret(app.number) == made["client_secret"]


@pytest.mark.parametrize(
    "wrong,fields",
    [
        ({"name": ""}, {"name": "name_required"}),
        ({"name": None}, {"name": "name_required"}),
        ({"name": "x" * 101}, {"name": "name_invalid"}),
        ({"scopes": []}, {"scopes": "scope_unknown"}),
        ({"scopes": ["read_payments"]}, {"scopes": "scope_unknown"}),
        ({"scopes": ["manage_orders"]}, {"scopes": "scope_unknown"}),
        ({"mode": "prod"}, {"mode": "mode_invalid"}),
        ({"redirect_uris": []}, {"redirect_uris": "redirect_uri_invalid"}),
        ({"redirect_uris": [REDIRECT + str(number) for number in range(11)]}, {"redirect_uris": "redirect_uri_invalid"}),
        ({"name": None, "scopes": None, "redirect_uris": None},
         {"name": "name_required", "redirect_uris": "required", "scopes": "required"}),
    ],
)  # fmt: skip
async def test_a_wrong_app_names_its_fields(admin, wrong, fields):
    standard = {"name": "Etiquetas", "redirect_uris": [REDIRECT], "scopes": SCOPES}
    error = await refused(admin, REGISTER, input=standard | wrong)
    assert error["extensions"]["code"] == "VALIDATION_FAILED"
    assert error["extensions"]["details"]["fields"] == fields


@pytest.mark.parametrize(
    "address",
    [
        "http://app.example/callback",
        "https://app.example/callback#part",
        "https://app.example/callback#",
        "https://",
        "https:///callback",
        "/callback",
        "app.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "myapp://callback",
        "https://user@app.example/",
        "https://app.example\\@evil.example/",
        "https://app.example/ a",
        "https://app.example/\n",
        "https://exämple.com/",
        "https://app.example:99999/",
        "http://localhost.evil.example/",
        "http://10.0.0.1/",
        "https://[::1",
        "",
        "https://app.example/" + "a" * 1_000,
    ],
)
async def test_an_address_that_is_not_safe_is_refused(admin, address):
    error = await refused(admin, REGISTER, input={"name": "x", "redirect_uris": [address], "scopes": SCOPES})
    assert error["extensions"]["details"]["fields"] == {"redirect_uris": "redirect_uri_invalid"}


async def test_only_who_manages_apps_touches_them(caller, admin):
    app = await register(admin)
    await tokens_of(admin, app)
    installed = await installation(admin, app)
    viewer, clerk, shopper = (
        await caller("view_apps"),
        await caller("manage_orders"),
        await caller(user_type="C"),
    )
    changes = (
        (REGISTER, {"input": {"name": "x", "redirect_uris": [REDIRECT], "scopes": SCOPES}}),
        (INSTALL, {"client_id": app.client_id, "scopes": ["read_orders"]}),
        (UPDATE, {"id": installed["id"], "input": {"scopes": ["read_orders"]}}),
        (UNINSTALL, {"id": installed["id"]}),
    )
    for query, variables in changes:
        for who in (viewer, clerk, shopper):
            assert (await refused(who, query, **variables))["extensions"]["code"] == "FORBIDDEN"
    assert [each["id"] for each in await done(viewer, INSTALLED)] == [installed["id"]]
    for who in (clerk, shopper):
        assert (await refused(who, INSTALLED))["extensions"]["code"] == "FORBIDDEN"


# --- Installing --------------------------------------------------------------------------------------------------------------


async def test_an_approval_leads_back_to_the_app_with_code_and_state(admin):
    app = await register(admin, redirect_uris=[f"{REDIRECT}?keep=1"])
    approval = await approve(admin, app, state="a b&c=d#é", redirect_uri=f"{REDIRECT}?keep=1")
    assert approval["redirect_to"].startswith(f"{REDIRECT}?keep=1&code=")
    assert query_of(approval["redirect_to"]) == {
        "keep": ["1"], "code": [approval["code"]], "state": ["a b&c=d#é"],
    }  # fmt: skip
    assert "state" not in query_of((await approve(admin, app))["redirect_to"])


async def test_the_address_may_be_left_out_where_there_is_one(admin):
    several = await register(admin, redirect_uris=[REDIRECT, "https://other.example/"])
    error = await refused(admin, INSTALL, client_id=several.client_id, scopes=SCOPES)
    assert error["extensions"]["details"]["fields"] == {"redirect_uri": "redirect_uri_invalid"}
    assert (await approve(admin, several, redirect_uri="https://other.example/"))["redirect_to"].startswith(
        "https://other.example/?code="
    )


@pytest.mark.parametrize(
    "wrong,field",
    [
        ({"redirect_uri": "https://evil.example/"}, "redirect_uri"),
        ({"redirect_uri": f"{REDIRECT}/"}, "redirect_uri"),
        ({"redirect_uri": f"{REDIRECT}?x"}, "redirect_uri"),
        ({"redirect_uri": ""}, "redirect_uri"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["read_users"]}, "scopes"),
        ({"scopes": ["write_orders"]}, "scopes"),
        ({"scopes": ["everything"]}, "scopes"),
        ({"state": "x" * 2_001}, "state"),
        ({"code_challenge": "short"}, "code_challenge"),
        ({"code_challenge": challenge() + "="}, "code_challenge"),
    ],
)
async def test_a_wrong_approval_names_its_field_and_installs_nothing(admin, wrong, field):
    app = await register(admin)
    error = await refused(admin, INSTALL, **{"client_id": app.client_id, "scopes": SCOPES} | wrong)
    assert list(error["extensions"]["details"]["fields"]) == [field]
    assert await done(admin, INSTALLED) == []


@pytest.mark.parametrize("client_id", ["vci_unknown", "", "x" * 10_000])
async def test_an_unknown_app_is_not_found(admin, client_id):
    error = await refused(admin, INSTALL, client_id=client_id, scopes=SCOPES)
    assert (error["message"], error["extensions"]["code"]) == ("app not found", "NOT_FOUND")


async def test_nobody_lets_an_app_do_what_they_may_not_do(admin, caller):
    app = await register(
        admin, scopes=["write_orders", "write_products", "write_categories", "write_inventory"]
    )
    clerk = await caller("manage_apps", "manage_orders", "view_products", "view_catalog", "view_warehouses")
    for scope, privilege in (
        ("write_products", "manage_products"),
        ("write_categories", "manage_catalog"),
        ("write_inventory", "manage_warehouses"),
    ):
        error = await refused(clerk, INSTALL, client_id=app.client_id, scopes=["write_orders", scope])
        assert error["message"] == "insufficient privileges"
        assert error["extensions"]["details"] == {"required": privilege}
    scopes = ["write_orders", "read_products", "read_categories", "read_inventory"]
    assert (await exchange(admin, app, (await approve(clerk, app, scopes))["code"])).status == 200


async def test_an_app_is_installed_in_any_store_apart(admin, other_admin):
    app = await register(admin)
    mine, theirs = await tokens_of(admin, app), await tokens_of(other_admin, app)
    assert await done(other_admin, "{ registered_apps { client_id } }") == []
    assert (await installation(admin, app))["id"] != (await installation(other_admin, app))["id"]
    assert await works(admin, mine)
    assert await works(other_admin, theirs)
    await done(admin, UNINSTALL, id=(await installation(admin, app))["id"])
    assert not await works(admin, mine)
    assert await works(other_admin, theirs)
    error = await refused(admin, UNINSTALL, id=(await installation(other_admin, app))["id"])
    assert error["message"] == "installed app not found"


async def test_two_approvals_at_once_make_one_installation(admin):
    app = await register(admin)
    codes = await asyncio.gather(*(approve(admin, app) for _ in range(5)))
    assert len(await done(admin, INSTALLED)) == 1
    assert [(await exchange(admin, app, each["code"])).status for each in codes] == [200] * 5


# --- Narrowing and removing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["update", "approval"])
async def test_narrowing_binds_the_tokens_that_are_out(admin, how):
    app = await register(admin)
    first = await tokens_of(admin, app)
    client = admin.with_token(first["access_token"])
    assert (await client.post(PRODUCTS, {})).body["error"] == "validation_failed"
    if how == "update":
        changed = await done(
            admin, UPDATE, id=(await installation(admin, app))["id"], input={"scopes": ["read_products"]}
        )
        assert changed["scopes"] == ["read_products"]
    else:
        await approve(admin, app, ["read_products"])
    refusal = await client.post(PRODUCTS, {})
    assert (refusal.status, refusal.body["error"]) == (403, "token_scope")
    assert (await client.get("/api/v1/admin/orders")).body["error"] == "token_scope"
    assert (await client.get(PRODUCTS)).status == 200
    assert (await renew(admin, first["refresh_token"])).body["scopes"] == ["read_products"]


async def test_more_than_was_approved_is_not_given_by_an_update(admin):
    app = await register(admin)
    await tokens_of(admin, app, ["read_products"])
    found = await installation(admin, app)
    for scopes in (["write_products"], ["read_orders"], [], ["x"]):
        error = await refused(admin, UPDATE, id=found["id"], input={"scopes": scopes})
        assert "scopes" in error["extensions"]["details"]["fields"]
    assert (await installation(admin, app))["scopes"] == ["read_products"]


async def test_removing_an_app_ends_its_access_at_once(admin):
    app = await register(admin)
    first, pending = await tokens_of(admin, app), (await approve(admin, app))["code"]
    assert await works(admin, first)
    found = await installation(admin, app)
    assert await done(admin, UNINSTALL, id=found["id"]) == {"id": found["id"]}
    answer = await admin.with_token(first["access_token"]).get(PRODUCTS)
    assert (answer.status, answer.body["error"]) == (401, "token revoked: app removed")
    assert (await renew(admin, first["refresh_token"])).body["error"] == "invalid_grant"
    assert (await exchange(admin, app, pending)).body["error"] == "invalid_grant"
    assert await done(admin, INSTALLED) == []
    assert (await refused(admin, UNINSTALL, id=found["id"]))["extensions"]["code"] == "NOT_FOUND"
    # Installed again, what was given before stays worthless.
    again = await tokens_of(admin, app)
    assert await works(admin, again)
    assert not await works(admin, first)
    assert (await installation(admin, app))["id"] != found["id"]


async def test_what_administrators_do_is_audited(admin):
    app = await register(admin)
    await tokens_of(admin, app)
    found = await installation(admin, app)
    await done(admin, UPDATE, id=found["id"], input={"scopes": ["read_orders"]})
    await done(admin, UNINSTALL, id=found["id"])
    rows = await kit.rows(
        admin.store,
        "select action, user_id, subject_id from audit_entries where action like 'app.%' order by id",
    )
    assert [row["action"] for row in rows] == [
        "app.registered",
        "app.installed",
        "app.narrowed",
        "app.uninstalled",
    ]
    assert {row["user_id"] for row in rows} == {admin.user.number}
    assert {row["subject_id"] for row in rows[1:]} == {found["id"]}


# --- /api/v1/admin/installed-apps --------------------------------------------------------------------------------------------


async def test_the_admin_routes_list_show_and_remove(admin):
    app = await register(admin)
    first = await tokens_of(admin, app)
    found = await installation(admin, app)
    listed = await admin.get(ADMIN_APPS)
    assert listed.body == {"installed_apps": [found], "total": 1, "page": 1, "per_page": 20}
    assert (await admin.get(f"{ADMIN_APPS}/{found['id']}")).body == found
    gone = await admin.delete(f"{ADMIN_APPS}/{found['id']}")
    assert (gone.status, gone.raw) == (204, b"")
    assert not await works(admin, first)
    for method in ("GET", "DELETE"):
        answer = await admin.ask(method, f"{ADMIN_APPS}/{found['id']}")
        assert (answer.status, answer.body) == (404, {"error": "installed app not found"})
    assert (await admin.delete(f"{ADMIN_APPS}/x")).status == 404


async def test_the_admin_routes_change_the_limit_and_narrow_the_scopes(admin, caller):
    app = await register(admin)
    await tokens_of(admin, app)
    found = await installation(admin, app)
    path = f"{ADMIN_APPS}/{found['id']}"
    assert found["rate_limit"] == 120
    changed = await admin.patch(path, {"rate_limit": 30})
    assert (changed.status, changed.body) == (
        200,
        found | {"rate_limit": 30, "updated_at": changed.body["updated_at"]},
    )
    narrowed = await admin.put(path, {"scopes": ["read_orders"], "unknown": 1})
    assert (narrowed.status, narrowed.body["scopes"], narrowed.body["rate_limit"]) == (
        200,
        ["read_orders"],
        30,
    )
    assert (await admin.get(path)).body == narrowed.body
    for body, fields in (
        ({"rate_limit": 0}, {"rate_limit": "rate_limit_invalid"}),
        ({"rate_limit": 100_001}, {"rate_limit": "rate_limit_invalid"}),
        ({"rate_limit": "30"}, {"rate_limit": "rate_limit_invalid"}),
        ({"rate_limit": 2**40}, {"rate_limit": "rate_limit_invalid"}),
        ({"scopes": 5}, {"scopes": "scope_unknown"}),
    ):
        answer = await admin.put(path, body)
        assert (answer.status, answer.body) == (400, {"error": "validation_failed", "fields": fields})
    assert (await admin.put(path, data=b"[]", headers={"Content-Type": "application/json"})).status == 400
    assert (await admin.get(path)).body == narrowed.body
    for id in (NOBODY, "x", "1"):
        assert (await admin.put(f"{ADMIN_APPS}/{id}", {"rate_limit": 5})).status == 404
    viewer = await caller("view_apps")
    assert (await viewer.put(path, {"rate_limit": 5})).status == 403


async def test_the_admin_routes_ask_for_the_privilege(caller, admin):
    viewer, clerk = await caller("view_apps"), await caller("manage_orders")
    assert (await viewer.get(ADMIN_APPS)).status == 200
    assert (await viewer.delete(f"{ADMIN_APPS}/x")).body == {
        "error": "insufficient privileges", "required": "manage_apps",
    }  # fmt: skip
    assert (await clerk.get(ADMIN_APPS)).body == {"error": "insufficient privileges", "required": "view_apps"}


async def test_strange_arguments_are_no_accident(admin):
    for query, variables in (
        (INSTALL, {"client_id": "a", "scopes": ["\x01"], "state": "\x7f"}),
        (UPDATE, {"id": "0", "input": {}}),
        (UPDATE, {"id": "x", "input": {"rate_limit": 2**40}}),
        (UNINSTALL, {"id": "9" * 50}),
    ):
        body = await graphql(admin, query, **variables)
        assert body["errors"][0]["extensions"]["code"] in ("VALIDATION_FAILED", "NOT_FOUND")
