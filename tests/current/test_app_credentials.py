"""Access of app tokens: routes and fields of their scopes, one store, a rate limit (docs/reference/current.md#app-tokens)."""

import asyncio

import pytest

from auth import credential_cache
from auth.credential_cache import CredentialCache
from kernel.ids import checksummed_token
from tests.harness.oauth import (
    UNINSTALL,
    UPDATE,
    App,
    find_installation,
    graphql,
    graphql_error,
    graphql_result,
    issue_tokens,
    register_app,
)
from tests.harness.records import add_category, add_order, add_product

ALL = [f"write_{part}" for part in ("products", "orders", "users", "categories", "inventory", "content", "shipping")]


@pytest.fixture
async def app(admin) -> App:
    return await register_app(admin, scopes=ALL)


@pytest.fixture
async def client(admin, app):
    """Return the app as a caller with every scope."""
    return admin.with_token((await issue_tokens(admin, app, ALL))["access_token"])


async def test_admin_routes_require_the_scopes_of_their_collection(admin, app):
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
        reader = admin.with_token((await issue_tokens(admin, app, [f"read_{part}"]))["access_token"])
        assert (await reader.get(f"{base}/{part}")).status == 200
        assert (await reader.get(read)).status == 200
        answer = await reader.request(*write)
        assert (answer.status, answer.body) == (
            403,
            {
                "error": "token_scope",
                "detail": f"the scope write_{part} is required",
                "scope": f"write_{part}",
            },
        )
        writer = admin.with_token((await issue_tokens(admin, app, [f"write_{part}"]))["access_token"])
        assert (await writer.get(read)).status == 200
        assert (await writer.request(*write)).status == 200
        other = "users" if part != "users" else "orders"
        answer = await writer.get(f"{base}/{other}")
        assert (answer.status, answer.body["error"]) == (403, "token_scope"), (part, read, write)


async def test_graphql_fields_require_scopes(admin, app):
    await add_product(admin.store, name="Caneca")
    reader = admin.with_token((await issue_tokens(admin, app, ["read_products"]))["access_token"])
    assert await graphql_result(reader, "{ products { name } }") == [{"name": "Caneca"}]
    error = await graphql_error(reader, "{ orders { id } }")
    assert error["extensions"] == {"code": "FORBIDDEN", "path": error["path"], "details": {"scope": "read_orders"}}
    error = await graphql_error(reader, 'mutation { product_create(input: {name: "x", price_cents: 1}) { id } }')
    assert error["extensions"]["details"] == {"scope": "write_products"}


@pytest.mark.parametrize(
    "method,path",
    [("GET", "/api/v1/auth/me"), ("GET", "/api/v1/auth/sessions"), ("POST", "/api/v1/auth/logout-all")],
)
async def test_user_routes_reject_app_tokens(client, method, path):
    answer = await client.request(method, path)
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
async def test_app_administration_rejects_app_tokens(client, method, path):
    answer = await client.request(method, path)
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
        'mutation { app_register(input: {name: "x", redirect_uris: [], scopes: []}) { client_secret } }',
        "mutation { storefront_key_create(input: {}) { key } }",
    ],
)
async def test_user_fields_reject_app_tokens(client, query):
    error = await graphql_error(client, query)
    assert (error["message"], error["extensions"]["code"]) == ("insufficient permissions", "FORBIDDEN")


async def test_a_token_of_another_store_is_403_and_a_forged_one_401(client, other_store, store):
    foreign_client = client.at(other_store)
    for answer in (
        await foreign_client.get("/api/v1/admin/products"),
        await foreign_client.post("/graphql", {"query": "{ x }"}),
    ):
        assert answer.status == 403
        assert answer.body["error"] == "token not valid for this storefront"
    # A forged token that names the other store is not accepted there.
    for named_store in (store, other_store):
        forged = checksummed_token(f"vat_live_{named_store.public_id.hex}_")
        answer = await foreign_client.with_token(forged).get("/api/v1/admin/products")
        assert (answer.status, answer.body) == (401, {"error": "invalid or expired token"}), named_store


async def test_a_token_with_a_wrong_checksum_is_not_looked_up(client):
    wrong_checksum = client.token[:-1] + ("0" if client.token[-1] != "0" else "1")
    for token in (wrong_checksum, client.token + "0", "vat_live_", "vat_x"):
        answer = await client.with_token(token).get("/api/v1/admin/products")
        assert (answer.status, answer.body["error"]) == (401, "invalid or expired token"), token


async def test_graphql_reports_a_revoked_token_in_both_error_formats(admin, app, client):
    await graphql_result(admin, UNINSTALL, id=(await find_installation(admin, app))["id"])
    answer = await client.post("/graphql", {"query": "{ products { id } }"})
    text = "token revoked: app removed"
    errors = [{"message": text, "extensions": {"code": "UNAUTHENTICATED"}}]
    assert (answer.status, answer.body) == (401, {"error": text, "message": text, "status": 401, "errors": errors})


async def test_the_legacy_api_rejects_app_tokens(client):
    answer = await client.http.get(
        "/api/products",
        headers={"Authorization": f"Bearer {client.token}", "X-Tenant-ID": str(client.store.public_id)},
    )
    assert answer.status == 401


async def test_another_process_evicts_an_uninstalled_app_within_a_second(admin, app, client):
    other_cache = CredentialCache()
    await credential_cache.listen(other_cache)
    assert (await client.get("/api/v1/admin/products")).status == 200
    here = credential_cache.process_cache()
    entries = [
        (key, entry)
        for key, entry in here._entries.items()
        if entry.store_id == admin.store.id and entry.actor.installation_id is not None
    ]
    assert len(entries) == 1
    other_cache.keep(*entries[0], other_cache.generation)
    await graphql_result(admin, UNINSTALL, id=(await find_installation(admin, app))["id"])
    for _ in range(200):
        if not other_cache._entries:
            return
        await asyncio.sleep(0.005)
    raise AssertionError("not seen within a second")


# --- Rate limit ----------------------------------------------------------------------------------------------------------------


async def test_an_app_is_rate_limited_and_sees_its_limit(admin, app, client):
    answer = await client.post("/graphql", {"query": "{ products { id } }"})
    assert (answer.headers["X-RateLimit-Limit"], answer.headers["X-RateLimit-Remaining"]) == ("120", "119")
    assert int(answer.headers["X-RateLimit-Reset"]) > 1_700_000_000
    await graphql_result(admin, UPDATE, id=(await find_installation(admin, app))["id"], input={"rate_limit": 3})
    left = []
    for _ in range(3):
        answer = await client.post("/graphql", {"query": "{ products { id } }"})
        left.append((answer.status, answer.headers["X-RateLimit-Limit"], answer.headers["X-RateLimit-Remaining"]))
    assert left == [(200, "3", "1"), (200, "3", "0"), (429, "3", "0")]
    assert answer.headers["Retry-After"] == "60"
    assert answer.body["error"] == "rate limit exceeded"
    # All tokens of the installation share the limit, in every API; users of the store do not.
    other = admin.with_token((await issue_tokens(admin, app, ALL))["access_token"])
    answer = await other.get("/api/v1/admin/products")
    assert (answer.status, answer.headers["Retry-After"]) == (429, "60")
    assert (await admin.get("/api/v1/admin/products")).status == 200


@pytest.mark.parametrize("rate", [0, -1, 100_001])
async def test_a_rate_limit_out_of_bounds_is_rejected(admin, app, client, rate):
    error = await graphql_error(
        admin, UPDATE, id=(await find_installation(admin, app))["id"], input={"rate_limit": rate}
    )
    assert error["extensions"]["details"]["fields"] == {"rate_limit": "rate_limit_invalid"}


async def test_an_app_cannot_execute_a_document_cached_for_a_user(client):
    body = await graphql(client, "{ a: products { id } b: installed_apps { id } }")
    assert [error["path"] for error in body["errors"]] == [["b"]]
