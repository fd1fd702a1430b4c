"""Registering, installing and uninstalling apps (docs/reference/current.md#app-installation)."""

import asyncio

import pytest

from domain.apps.registration import find_app
from kernel.ids import has_valid_checksum
from kernel.scope import active_scope
from tests.current.test_oauth_tokens import PRODUCTS, works
from tests.harness import scopes
from tests.harness.oauth import (
    INSTALL,
    INSTALLED,
    REDIRECT,
    REGISTER,
    SCOPES,
    UNINSTALL,
    UPDATE,
    approve_app,
    challenge,
    exchange_code,
    find_installation,
    graphql,
    graphql_error,
    graphql_result,
    issue_tokens,
    query_parameters,
    refresh_tokens,
    register_app,
    signing_secret,
)
from tests.harness.records import UNKNOWN_ID

ADMIN_APPS = "/api/v1/admin/installed-apps"


# --- Registering -------------------------------------------------------------------------------------------------------------


async def test_registering_an_app_returns_its_secret_once(admin):
    made = await graphql_result(
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
    shown = await graphql_result(
        admin, "{ registered_apps { id client_id name mode redirect_uris scopes created_at } }"
    )
    assert shown == [{name: made[name] for name in shown[0]}]
    with active_scope(scopes.system_scope(admin.store)):
        app = await find_app(made["client_id"])
        assert app is not None
        assert await signing_secret(app.number) == made["client_secret"]


@pytest.mark.parametrize(
    "wrong,fields",
    [
        ({"name": ""}, {"name": "name_required"}),
        ({"name": "x" * 101}, {"name": "name_invalid"}),
        ({"name": "Banco\nOficial"}, {"name": "name_invalid"}),
        ({"name": "Banco \u202elaicifO"}, {"name": "name_invalid"}),
        ({"scopes": []}, {"scopes": "scope_unknown"}),
        ({"scopes": ["write_payments"]}, {"scopes": "scope_unknown"}),
        ({"call_urls": {"payments": "http://10.0.0.1/"}}, {"call_urls": "url_invalid"}),
        ({"scopes": ["manage_orders"]}, {"scopes": "scope_unknown"}),
        ({"redirect_uris": []}, {"redirect_uris": "redirect_uri_invalid"}),
        ({"redirect_uris": [REDIRECT + str(number) for number in range(11)]}, {"redirect_uris": "redirect_uri_invalid"}),
        ({"name": "", "scopes": [], "redirect_uris": []},
         {"name": "name_required", "redirect_uris": "redirect_uri_invalid", "scopes": "scope_unknown"}),
    ],
)  # fmt: skip
async def test_invalid_app_fields_are_named(admin, wrong, fields):
    standard = {"name": "Etiquetas", "redirect_uris": [REDIRECT], "scopes": SCOPES}
    error = await graphql_error(admin, REGISTER, input=standard | wrong)
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
async def test_an_unsafe_redirect_uri_is_rejected(admin, address):
    error = await graphql_error(admin, REGISTER, input={"name": "x", "redirect_uris": [address], "scopes": SCOPES})
    assert error["extensions"]["details"]["fields"] == {"redirect_uris": "redirect_uri_invalid"}


async def test_managing_apps_requires_the_privilege(new_client, admin):
    app = await register_app(admin)
    await issue_tokens(admin, app)
    installed = await find_installation(admin, app)
    viewer, clerk, customer = (
        await new_client("view_apps"),
        await new_client("manage_orders"),
        await new_client(user_type="C"),
    )
    changes = (
        (REGISTER, {"input": {"name": "x", "redirect_uris": [REDIRECT], "scopes": SCOPES}}),
        (INSTALL, {"client_id": app.client_id, "scopes": ["read_orders"]}),
        (UPDATE, {"id": installed["id"], "input": {"scopes": ["read_orders"]}}),
        (UNINSTALL, {"id": installed["id"]}),
    )
    for query, variables in changes:
        for user in (viewer, clerk, customer):
            assert (await graphql_error(user, query, **variables))["extensions"]["code"] == "FORBIDDEN"
    assert [item["id"] for item in await graphql_result(viewer, INSTALLED)] == [installed["id"]]
    for user in (clerk, customer):
        assert (await graphql_error(user, INSTALLED))["extensions"]["code"] == "FORBIDDEN"


# --- Installing --------------------------------------------------------------------------------------------------------------


async def test_an_approval_redirects_to_the_app_with_code_and_state(admin):
    app = await register_app(admin, redirect_uris=[f"{REDIRECT}?keep=1"])
    approval = await approve_app(admin, app, state="a b&c=d#é", redirect_uri=f"{REDIRECT}?keep=1")
    assert approval["redirect_to"].startswith(f"{REDIRECT}?keep=1&code=")
    assert query_parameters(approval["redirect_to"]) == {
        "keep": ["1"], "code": [approval["code"]], "state": ["a b&c=d#é"],
    }  # fmt: skip
    assert "state" not in query_parameters((await approve_app(admin, app))["redirect_to"])


async def test_the_redirect_uri_is_optional_when_only_one_is_registered(admin):
    multi_redirect_app = await register_app(admin, redirect_uris=[REDIRECT, "https://other.example/"])
    error = await graphql_error(admin, INSTALL, client_id=multi_redirect_app.client_id, scopes=SCOPES)
    assert error["extensions"]["details"]["fields"] == {"redirect_uri": "redirect_uri_invalid"}
    assert (await approve_app(admin, multi_redirect_app, redirect_uri="https://other.example/"))[
        "redirect_to"
    ].startswith("https://other.example/?code=")


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
async def test_an_invalid_approval_names_the_field_and_installs_nothing(admin, wrong, field):
    app = await register_app(admin)
    error = await graphql_error(admin, INSTALL, **{"client_id": app.client_id, "scopes": SCOPES} | wrong)
    assert list(error["extensions"]["details"]["fields"]) == [field]
    assert await graphql_result(admin, INSTALLED) == []


@pytest.mark.parametrize("client_id", ["vci_unknown", "", "x" * 10_000])
async def test_an_unknown_app_is_not_found(admin, client_id):
    error = await graphql_error(admin, INSTALL, client_id=client_id, scopes=SCOPES)
    assert (error["message"], error["extensions"]["code"]) == ("app not found", "NOT_FOUND")


async def test_approving_scopes_requires_the_privileges_they_cover(admin, new_client):
    app = await register_app(admin, scopes=["write_orders", "write_products", "write_categories", "write_inventory"])
    clerk = await new_client("manage_apps", "manage_orders", "view_products", "view_catalog", "view_warehouses")
    for scope, privilege in (
        ("write_products", "manage_products"),
        ("write_categories", "manage_catalog"),
        ("write_inventory", "manage_warehouses"),
    ):
        error = await graphql_error(clerk, INSTALL, client_id=app.client_id, scopes=["write_orders", scope])
        assert error["message"] == "insufficient privileges", (scope, privilege)
        assert error["extensions"]["details"] == {"required": privilege}
    scopes = ["write_orders", "read_products", "read_categories", "read_inventory"]
    assert (await exchange_code(admin, app, (await approve_app(clerk, app, scopes))["code"])).status == 200


async def test_installations_of_different_stores_are_independent(admin, other_admin):
    app = await register_app(admin)
    own_tokens, other_tokens = await issue_tokens(admin, app), await issue_tokens(other_admin, app)
    assert await graphql_result(other_admin, "{ registered_apps { client_id } }") == []
    assert (await find_installation(admin, app))["id"] != (await find_installation(other_admin, app))["id"]
    assert await works(admin, own_tokens)
    assert await works(other_admin, other_tokens)
    await graphql_result(admin, UNINSTALL, id=(await find_installation(admin, app))["id"])
    assert not await works(admin, own_tokens)
    assert await works(other_admin, other_tokens)
    error = await graphql_error(admin, UNINSTALL, id=(await find_installation(other_admin, app))["id"])
    assert error["message"] == "installed app not found"


async def test_concurrent_approvals_create_one_installation(admin):
    app = await register_app(admin)
    codes = await asyncio.gather(*(approve_app(admin, app) for _ in range(5)))
    assert len(await graphql_result(admin, INSTALLED)) == 1
    assert [(await exchange_code(admin, app, item["code"])).status for item in codes] == [200] * 5


# --- Narrowing and removing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["update", "approval"])
async def test_narrowing_scopes_applies_to_issued_tokens(admin, method):
    app = await register_app(admin)
    first = await issue_tokens(admin, app)
    client = admin.with_token(first["access_token"])
    assert (await client.post(PRODUCTS, {})).body["error"] == "validation_failed"
    if method == "update":
        changed = await graphql_result(
            admin, UPDATE, id=(await find_installation(admin, app))["id"], input={"scopes": ["read_products"]}
        )
        assert changed["scopes"] == ["read_products"]
    else:
        await approve_app(admin, app, ["read_products"])
    answer = await client.post(PRODUCTS, {})
    assert (answer.status, answer.body["error"]) == (403, "token_scope")
    assert (await client.get("/api/v1/admin/orders")).body["error"] == "token_scope"
    assert (await client.get(PRODUCTS)).status == 200
    assert (await refresh_tokens(admin, first["refresh_token"])).body["scopes"] == ["read_products"]


async def test_an_update_cannot_add_scopes(admin):
    app = await register_app(admin)
    await issue_tokens(admin, app, ["read_products"])
    installation = await find_installation(admin, app)
    for added in (["write_products"], ["read_orders"], [], ["x"]):
        error = await graphql_error(admin, UPDATE, id=installation["id"], input={"scopes": added})
        assert "scopes" in error["extensions"]["details"]["fields"], added
    assert (await find_installation(admin, app))["scopes"] == ["read_products"]


async def test_uninstalling_an_app_revokes_its_tokens_immediately(admin):
    app = await register_app(admin)
    first, pending = await issue_tokens(admin, app), (await approve_app(admin, app))["code"]
    assert await works(admin, first)
    installation = await find_installation(admin, app)
    assert await graphql_result(admin, UNINSTALL, id=installation["id"]) == {"id": installation["id"]}
    answer = await admin.with_token(first["access_token"]).get(PRODUCTS)
    assert (answer.status, answer.body["error"]) == (401, "token revoked: app removed")
    assert (await refresh_tokens(admin, first["refresh_token"])).body["error"] == "invalid_grant"
    assert (await exchange_code(admin, app, pending)).body["error"] == "invalid_grant"
    assert await graphql_result(admin, INSTALLED) == []
    assert (await graphql_error(admin, UNINSTALL, id=installation["id"]))["extensions"]["code"] == "NOT_FOUND"
    # Installing again does not restore the revoked tokens.
    again = await issue_tokens(admin, app)
    assert await works(admin, again)
    assert not await works(admin, first)
    assert (await find_installation(admin, app))["id"] != installation["id"]


async def test_installing_updating_and_uninstalling_are_audited(admin):
    app = await register_app(admin)
    await issue_tokens(admin, app)
    installation = await find_installation(admin, app)
    await graphql_result(admin, UPDATE, id=installation["id"], input={"scopes": ["read_orders"]})
    await graphql_result(admin, UNINSTALL, id=installation["id"])
    rows = await scopes.rows(
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
    assert {row["subject_id"] for row in rows[1:]} == {installation["id"]}


# --- /api/v1/admin/installed-apps --------------------------------------------------------------------------------------------


async def test_admin_routes_list_return_and_uninstall_apps(admin):
    app = await register_app(admin)
    first = await issue_tokens(admin, app)
    installation = await find_installation(admin, app)
    listed = await admin.get(ADMIN_APPS)
    assert listed.body == {"installed_apps": [installation], "total": 1, "page": 1, "per_page": 20}
    assert (await admin.get(f"{ADMIN_APPS}/{installation['id']}")).body == installation
    gone = await admin.delete(f"{ADMIN_APPS}/{installation['id']}")
    assert (gone.status, gone.raw) == (204, b"")
    assert not await works(admin, first)
    for method in ("GET", "DELETE"):
        answer = await admin.request(method, f"{ADMIN_APPS}/{installation['id']}")
        assert (answer.status, answer.body) == (404, {"error": "installed app not found"}), method
    assert (await admin.delete(f"{ADMIN_APPS}/x")).status == 404


async def test_admin_routes_update_the_rate_limit_and_narrow_the_scopes(admin, new_client):
    app = await register_app(admin)
    await issue_tokens(admin, app)
    installation = await find_installation(admin, app)
    path = f"{ADMIN_APPS}/{installation['id']}"
    assert installation["rate_limit"] == 120
    changed = await admin.patch(path, {"rate_limit": 30})
    assert (changed.status, changed.body) == (
        200,
        installation | {"rate_limit": 30, "updated_at": changed.body["updated_at"]},
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
        ({"scopes": "read_orders"}, {"scopes": "scope_unknown"}),
    ):
        answer = await admin.put(path, body)
        assert (answer.status, answer.body) == (400, {"error": "validation_failed", "fields": fields})
    assert (await admin.put(path, data=b"[]", headers={"Content-Type": "application/json"})).status == 400
    assert (await admin.get(path)).body == narrowed.body
    for id in (UNKNOWN_ID, "x", "1"):
        assert (await admin.put(f"{ADMIN_APPS}/{id}", {"rate_limit": 5})).status == 404
    viewer = await new_client("view_apps")
    assert (await viewer.put(path, {"rate_limit": 5})).status == 403


async def test_admin_routes_require_the_privilege(new_client, admin):
    viewer, clerk = await new_client("view_apps"), await new_client("manage_orders")
    assert (await viewer.get(ADMIN_APPS)).status == 200
    assert (await viewer.delete(f"{ADMIN_APPS}/x")).body == {
        "error": "insufficient privileges", "required": "manage_apps",
    }  # fmt: skip
    assert (await clerk.get(ADMIN_APPS)).body == {"error": "insufficient privileges", "required": "view_apps"}


async def test_unusual_arguments_are_handled(admin):
    for query, variables in (
        (INSTALL, {"client_id": "a", "scopes": ["\x01"], "state": "\x7f"}),
        (UPDATE, {"id": "0", "input": {}}),
        (UPDATE, {"id": "x", "input": {"rate_limit": 2**40}}),
        (UNINSTALL, {"id": "9" * 50}),
    ):
        body = await graphql(admin, query, **variables)
        assert body["errors"][0]["extensions"]["code"] in ("VALIDATION_FAILED", "NOT_FOUND"), (query, variables)
