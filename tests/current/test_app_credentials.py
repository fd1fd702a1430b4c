"""What an app's token opens: the routes and fields of its scopes, in its store, at its rate, and nothing else."""

import asyncio

import pytest

from auth import credential_cache
from auth.credential_cache import CredentialMemory
from kernel.ids import checksummed_token
from tests.current.kit import add_category, add_order, add_product
from tests.current.oauth import (
    UNINSTALL,
    UPDATE,
    App,
    done,
    graphql,
    installation,
    refused,
    register,
    tokens_of,
)

ALL = [
    f"write_{part}"
    for part in ("products", "orders", "users", "categories", "inventory", "content", "shipping")
]


@pytest.fixture
async def app(admin) -> App:
    return await register(admin, scopes=ALL)


@pytest.fixture
async def client(admin, app):
    """The app as a caller, with every scope."""
    return admin.with_token((await tokens_of(admin, app, ALL))["access_token"])


async def test_each_collection_of_the_admin_routes_asks_for_its_scopes(admin, app):
    product, category = await add_product(admin.store), await add_category(admin.store)
    order = await add_order(admin.store, product=product)
    base = "/api/v1/admin"
    for part, read, write in (
        (
            "products",
            f"{base}/products/{product.id}",
            ("PATCH", f"{base}/products/{product.id}", {"name": "X"}),
        ),
        (
            "categories",
            f"{base}/categories/{category.id}",
            ("PUT", f"{base}/categories/{category.id}", {"name": "X"}),
        ),
        ("orders", f"{base}/orders/{order.id}", ("PUT", f"{base}/orders/{order.id}/status", {"status": "P"})),
    ):
        reader = admin.with_token((await tokens_of(admin, app, [f"read_{part}"]))["access_token"])
        assert (await reader.get(f"{base}/{part}")).status == 200
        assert (await reader.get(read)).status == 200
        refusal = await reader.ask(*write)
        assert (refusal.status, refusal.body) == (
            403,
            {
                "error": "token_scope",
                "detail": f"the scope write_{part} is required",
                "scope": f"write_{part}",
            },
        )
        writer = admin.with_token((await tokens_of(admin, app, [f"write_{part}"]))["access_token"])
        assert (await writer.get(read)).status == 200
        assert (await writer.ask(*write)).status == 200
        other = "users" if part != "users" else "orders"
        answer = await writer.get(f"{base}/{other}")
        assert (answer.status, answer.body["error"]) == (403, "token_scope")


async def test_graphql_opens_what_the_scopes_open(admin, app):
    await add_product(admin.store, name="Caneca")
    reader = admin.with_token((await tokens_of(admin, app, ["read_products"]))["access_token"])
    assert await done(reader, "{ products { name } }") == [{"name": "Caneca"}]
    error = await refused(reader, "{ orders { id } }")
    assert error["extensions"] == {"code": "FORBIDDEN", "details": {"scope": "read_orders"}}
    error = await refused(reader, 'mutation { product_create(input: {name: "x", price_cents: 1}) { id } }')
    assert error["extensions"]["details"] == {"scope": "write_products"}


@pytest.mark.parametrize(
    "method,path",
    [("GET", "/api/v1/auth/me"), ("GET", "/api/v1/auth/sessions"), ("POST", "/api/v1/auth/logout-all")],
)
async def test_routes_of_users_refuse_apps(client, method, path):
    answer = await client.ask(method, path)
    assert (answer.status, answer.body) == (401, {"error": "invalid or expired token"})


@pytest.mark.parametrize(
    "method,path",
    [
        ("GET", "/api/v1/admin/installed-apps"),
        ("DELETE", "/api/v1/admin/installed-apps/x"),
        ("GET", "/api/v1/admin/storefront-keys"),
        ("POST", "/api/v1/admin/storefront-keys"),
        ("DELETE", "/api/v1/admin/storefront-keys/x"),
    ],
)
async def test_the_administration_of_apps_refuses_apps(client, method, path):
    answer = await client.ask(method, path)
    assert (answer.status, answer.body) == (403, {"error": "insufficient permissions"})


@pytest.mark.parametrize(
    "query",
    [
        "{ me { id } }",
        "{ sessions { id } }",
        "{ api_keys { id } }",
        "{ installed_apps { id } }",
        "{ registered_apps { id } }",
        "{ storefront_keys { id } }",
        'mutation { api_key_create(name: "x") { key } }',
        "mutation { sign_out_everywhere { message } }",
        'mutation { app_install(client_id: "x", scopes: ["read_orders"]) { code } }',
        'mutation { app_uninstall(id: "x") { id } }',
        'mutation { app_register(input: {name: "x"}) { client_secret } }',
        "mutation { storefront_key_create(input: {}) { key } }",
    ],
)
async def test_fields_for_users_refuse_apps(client, query):
    error = await refused(client, query)
    assert (error["message"], error["extensions"]["code"]) == ("insufficient permissions", "FORBIDDEN")


async def test_a_token_of_another_store_is_403_and_a_forged_one_401(client, other_store, store):
    abroad = client.at(other_store)
    for answer in (
        await abroad.get("/api/v1/admin/products"),
        await abroad.post("/graphql", {"query": "{ x }"}),
    ):
        assert answer.status == 403
        assert answer.body["error"] == "token not valid for this storefront"
    # One that only says it is of the other store proves nothing there.
    for named in (store, other_store):
        forged = checksummed_token(f"vat_live_{named.public_id.hex}_")
        answer = await abroad.with_token(forged).get("/api/v1/admin/products")
        assert (answer.status, answer.body) == (401, {"error": "invalid or expired token"})


async def test_a_token_with_a_slip_is_not_looked_up(client):
    slipped = client.token[:-1] + ("0" if client.token[-1] != "0" else "1")
    for token in (slipped, client.token + "0", "vat_live_", "vat_x"):
        answer = await client.with_token(token).get("/api/v1/admin/products")
        assert (answer.status, answer.body["error"]) == (401, "invalid or expired token")


async def test_graphql_says_a_revoked_token_in_both_forms(admin, app, client):
    await done(admin, UNINSTALL, id=(await installation(admin, app))["id"])
    answer = await client.post("/graphql", {"query": "{ products { id } }"})
    text = "token revoked: app removed"
    assert (answer.status, answer.body) == (401, {"error": text, "message": text, "status": 401})


async def test_the_legacy_layer_takes_no_app_token(client):
    answer = await client.client.get(
        "/api/products",
        headers={"Authorization": f"Bearer {client.token}", "X-Tenant-ID": str(client.store.public_id)},
    )
    assert answer.status == 401


async def test_another_process_sees_a_removal_within_a_second(admin, app, client):
    elsewhere = CredentialMemory()
    await credential_cache.listen(elsewhere)
    assert (await client.get("/api/v1/admin/products")).status == 200
    here = credential_cache.process_memory()
    mine = [
        (key, entry)
        for key, entry in here._entries.items()
        if entry.store_id == admin.store.id and entry.actor.installation_id is not None
    ]
    assert len(mine) == 1
    elsewhere.put(*mine[0], elsewhere.generation)
    await done(admin, UNINSTALL, id=(await installation(admin, app))["id"])
    for _ in range(200):
        if not elsewhere._entries:
            return
        await asyncio.sleep(0.005)
    raise AssertionError("not seen within a second")


# --- Its rate ----------------------------------------------------------------------------------------------------------------


async def test_an_app_is_told_its_rate_and_stopped_at_it(admin, app, client):
    answer = await client.post("/graphql", {"query": "{ products { id } }"})
    assert (answer.headers["X-RateLimit-Limit"], answer.headers["X-RateLimit-Remaining"]) == ("120", "119")
    assert int(answer.headers["X-RateLimit-Reset"]) > 1_700_000_000
    await done(admin, UPDATE, id=(await installation(admin, app))["id"], input={"rate_limit": 3})
    left = []
    for _ in range(3):
        answer = await client.post("/graphql", {"query": "{ products { id } }"})
        left.append(
            (answer.status, answer.headers["X-RateLimit-Limit"], answer.headers["X-RateLimit-Remaining"])
        )
    assert left == [(200, "3", "1"), (200, "3", "0"), (429, "3", "0")]
    assert answer.headers["Retry-After"] == "60"
    assert answer.body["error"] == "rate limit exceeded"
    # All tokens of the installation share it, on every door; the store's own people don't.
    other = admin.with_token((await tokens_of(admin, app, ALL))["access_token"])
    answer = await other.get("/api/v1/admin/products")
    assert (answer.status, answer.headers["Retry-After"]) == (429, "60")
    assert (await admin.get("/api/v1/admin/products")).status == 200


@pytest.mark.parametrize("rate", [0, -1, 100_001])
async def test_a_rate_out_of_bounds_is_refused(admin, app, client, rate):
    error = await refused(
        admin, UPDATE, id=(await installation(admin, app))["id"], input={"rate_limit": rate}
    )
    assert error["extensions"]["details"]["fields"] == {"rate_limit": "rate_limit_invalid"}


async def test_a_document_of_a_user_is_not_opened_by_the_app(client):
    body = await graphql(client, "{ a: products { id } b: installed_apps { id } }")
    assert [error["path"] for error in body["errors"]] == [["b"]]
