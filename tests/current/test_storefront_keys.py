"""Keys of headless storefronts: creation, revocation, access (docs/reference/current.md#storefront-keys)."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from kernel.ids import checksummed_token, has_valid_checksum
from tests.harness import scopes
from tests.harness.http import Client
from tests.harness.oauth import graphql_error, graphql_result
from tests.harness.records import add_category, add_order, add_product

KEYS = "/api/v1/admin/storefront-keys"
ALL = ["storefront:read", "storefront:cart", "storefront:checkout"]
CREATE = (
    "mutation ($input: StorefrontKeyInput!) { storefront_key_create(input: $input)"
    " { key storefront_key { id name hint scopes rate_limit per_address server_side created_at last_used_at } } }"
)
REVOKE = "mutation ($id: ID!) { storefront_key_revoke(id: $id) { id } }"
INVALID = {
    "error": "invalid_api_key",
    "message": "invalid_api_key",
    "status": 401,
    "errors": [{"message": "invalid_api_key", "extensions": {"code": "UNAUTHENTICATED"}}],
}


async def run_graphql(caller: Client, query: str, *, key: str | None = None, bearer: str | None = None):
    """Execute a GraphQL operation with a key in either header."""
    headers = {"X-API-Key": key, "Authorization": f"Bearer {bearer}" if bearer else None}
    return await caller.with_token(None).post("/graphql", {"query": query}, headers=headers)


async def create_key(admin: Client, **fields) -> str:
    answer = await admin.post(KEYS, fields)
    assert answer.status == 201, answer
    return answer.body["key"]


async def test_creating_a_key_returns_it_once(admin):
    answer = await admin.post(
        KEYS,
        {
            "name": "Site",
            "scopes": ["storefront:cart", "storefront:read"],
            "rate_limit": 50,
            "server_side": True,
        },
    )
    assert answer.status == 201
    assert answer.headers["Cache-Control"] == "no-store"
    made = answer.body
    key = made.pop("key")
    assert key.startswith("sfk_")
    assert has_valid_checksum(key)
    assert made == {
        "id": made["id"],
        "name": "Site",
        "hint": key[-4:],
        "scopes": ["storefront:read", "storefront:cart"],
        "rate_limit": 50,
        "per_address": 50,
        "server_side": True,
        "created_at": made["created_at"],
        "last_used_at": None,
    }
    listed = await admin.get(KEYS)
    assert listed.body == {"storefront_keys": [made], "total": 1, "page": 1, "per_page": 20}
    assert (await admin.get(f"{KEYS}/{answer.body['id']}")).body == made
    assert key not in str(await scopes.rows(admin.store, "select * from storefront_keys"))


async def test_a_key_defaults_to_all_scopes_and_60000_requests_a_minute_1200_per_address(admin):
    made = await graphql_result(admin, CREATE, input={})
    assert made["storefront_key"]["scopes"] == ALL
    assert made["storefront_key"]["rate_limit"] == 60_000
    assert made["storefront_key"]["per_address"] == 1_200
    assert made["storefront_key"]["server_side"] is False
    assert (await run_graphql(admin, "{ products { id } }", key=made["key"])).status == 200


@pytest.mark.parametrize("per_address", [0, 7, 100_000])
async def test_the_share_of_an_address_is_set_with_the_key(admin, per_address):
    answer = await admin.post(KEYS, {"rate_limit": 50, "per_address": per_address})
    assert (answer.status, answer.body["rate_limit"], answer.body["per_address"]) == (201, 50, per_address)


async def test_an_address_over_its_share_of_a_key_is_429_on_every_route(admin):
    key = await create_key(admin, rate_limit=50, per_address=1)
    answer = await run_graphql(admin, "{ products { id } }", key=key)
    assert (answer.status, answer.headers["X-RateLimit-Limit"]) == (200, "50")
    answer = await run_graphql(admin, "{ products { id } }", key=key)
    assert (answer.status, answer.body["error"]) == (429, "rate_limit_exceeded")


@pytest.mark.parametrize(
    "body,fields",
    [
        ({"scopes": []}, {"scopes": "scope_unknown"}),
        ({"scopes": ["storefront:admin"]}, {"scopes": "scope_unknown"}),
        ({"scopes": ["read_orders"]}, {"scopes": "scope_unknown"}),
        ({"scopes": "storefront:admin"}, {"scopes": "scope_unknown"}),
        ({"scopes": "storefront:read"}, {"scopes": "scope_unknown"}),
        ({"scopes": 5}, {"scopes": "scope_unknown"}),
        ({"rate_limit": 0}, {"rate_limit": "rate_limit_invalid"}),
        ({"rate_limit": 10**6}, {"rate_limit": "rate_limit_invalid"}),
        ({"rate_limit": "many"}, {"rate_limit": "rate_limit_invalid"}),
        ({"rate_limit": 1.5}, {"rate_limit": "rate_limit_invalid"}),
        ({"rate_limit": 2**40}, {"rate_limit": "rate_limit_invalid"}),
        ({"per_address": -1}, {"per_address": "rate_limit_invalid"}),
        ({"per_address": 10**6}, {"per_address": "rate_limit_invalid"}),
        ({"per_address": "many"}, {"per_address": "rate_limit_invalid"}),
        ({"name": "x" * 101}, {"name": "name_invalid"}),
        ({"name": {}}, {"name": "name_invalid"}),
        ({"server_side": "yes"}, {"server_side": "invalid"}),
    ],
)
async def test_invalid_key_fields_are_named(admin, body, fields):
    answer = await admin.post(KEYS, body)
    assert (answer.status, answer.body) == (400, {"error": "validation_failed", "fields": fields})
    assert (await admin.get(KEYS)).body["total"] == 0


async def test_creating_and_revoking_keys_requires_manage_apps(new_client, admin):
    await create_key(admin)
    made = (await admin.get(KEYS)).body["storefront_keys"][0]
    viewer, clerk, customer = (
        await new_client("view_apps"),
        await new_client("manage_products"),
        await new_client(user_type="C"),
    )
    assert (await viewer.get(KEYS)).body["total"] == 1
    for user, text in (
        (viewer, "insufficient privileges"),
        (clerk, "insufficient privileges"),
        (customer, "insufficient permissions"),
    ):
        assert (await user.post(KEYS, {})).body["error"] == text
        assert (await user.delete(f"{KEYS}/{made['id']}")).body["error"] == text
    assert (await clerk.get(KEYS)).body == {"error": "insufficient privileges", "required": "view_apps"}


@pytest.mark.parametrize("header", ["key", "bearer"])
async def test_graphql_accepts_a_key_in_either_header(admin, header):
    await add_product(admin.store, name="Caneca")
    answer = await run_graphql(admin, "{ products { name } }", **{header: await create_key(admin)})
    assert (answer.status, answer.body["data"]) == (200, {"products": [{"name": "Caneca"}]})
    assert (answer.headers["X-RateLimit-Limit"], answer.headers["X-RateLimit-Remaining"]) == (
        "60000",
        "59999",
    )


async def test_a_key_reads_only_public_data(admin):
    key = await create_key(admin)
    category = await add_category(admin.store, name="Oculta", status="D")
    shown = await add_product(admin.store, name="Caneca", status="A", on_hand=5)
    await add_product(admin.store, name="Rascunho", status="D", category_id=category.number)
    await add_order(admin.store, product=shown)
    answer = await run_graphql(
        admin,
        "{ products { name stock } product_page { total } categories { name } store { name } }",
        key=key,
    )
    assert answer.body["data"] == {
        "products": [{"name": "Caneca", "stock": answer.body["data"]["products"][0]["stock"]}],
        "product_page": {"total": 1},
        "categories": [],
        "store": {"name": "Test store"},
    }
    for query in (
        "{ orders { id } }",
        "{ users { id } }",
        "{ me { id } }",
        "{ shipments { id } }",
        "{ storefront_keys { id } }",
        "{ installed_apps { id } }",
        "{ privileges }",
        'mutation { product_create(input: {name: "x"}) { id } }',
        "mutation { storefront_key_create(input: {}) { key } }",
        'mutation { order_delete(id: "1") { id } }',
    ):
        error = (await run_graphql(admin, query, key=key)).body["errors"][0]
        assert error["extensions"]["code"] == "FORBIDDEN", query
    guarded = await run_graphql(admin, "{ products { name on_hand } }", key=key)
    assert guarded.body["errors"][0]["path"] == ["products", 0, "on_hand"]


async def test_a_key_without_the_scope_is_rejected(admin):
    key = await create_key(admin, scopes=["storefront:cart"])
    error = (await run_graphql(admin, "{ products { id } }", key=key)).body["errors"][0]
    assert error["extensions"] == {"code": "FORBIDDEN", "path": error["path"], "details": {"scope": "storefront:read"}}


async def test_an_unknown_key_is_401(admin, other_admin):
    foreign_key = await create_key(other_admin)
    for key in ("sfk_unknown", checksummed_token("sfk_"), foreign_key, "", "x", "sfk_" + "a" * 7_000):
        answer = await run_graphql(admin, "{ products { id } }", key=key)
        assert (answer.status, answer.body) == (401, INVALID), key
    for bearer in ("sfk_unknown", foreign_key):
        assert (await run_graphql(admin, "{ products { id } }", bearer=bearer)).body == INVALID


async def test_a_revoked_key_is_rejected_immediately(admin):
    key = await create_key(admin)
    made = (await admin.get(KEYS)).body["storefront_keys"][0]
    assert (await run_graphql(admin, "{ products { id } }", key=key)).status == 200
    gone = await admin.delete(f"{KEYS}/{made['id']}")
    assert (gone.status, gone.raw) == (204, b"")
    assert (await run_graphql(admin, "{ products { id } }", key=key)).body == INVALID
    assert (await admin.get(KEYS)).body["total"] == 0
    for path in (f"{KEYS}/{made['id']}", f"{KEYS}/x"):
        assert (await admin.delete(path)).body == {"error": "storefront key not found"}
    assert (await graphql_error(admin, REVOKE, id=made["id"]))["extensions"]["code"] == "NOT_FOUND"
    actions = await scopes.rows(
        admin.store, "select action from audit_entries where action like 'storefront_key%' order by id"
    )
    assert [row["action"] for row in actions] == ["storefront_key.created", "storefront_key.revoked"]


@pytest.mark.parametrize("path", ["/api/v1/admin/products", KEYS, "/api/v1/auth/me"])
async def test_admin_and_user_routes_reject_keys(admin, path):
    key = await create_key(admin)
    anonymous = admin.with_token(None)
    answer = await anonymous.request("GET", path, headers={"X-API-Key": key})
    assert (answer.status, answer.body) == (401, {"error": "missing authorization header"})
    answer = await admin.with_token(key).get(path)
    assert (answer.status, answer.body) == (401, {"error": "invalid or expired token"})


async def test_a_key_has_its_own_rate_limit(admin):
    key, other = await create_key(admin, rate_limit=2), await create_key(admin)
    answers = [await run_graphql(admin, "{ products { id } }", key=key) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert answers[2].body["error"] == "rate_limit_exceeded"
    assert answers[2].headers["Retry-After"] == "60"
    assert answers[2].headers["X-RateLimit-Limit"] == "2"
    assert (await run_graphql(admin, "{ products { id } }", key=other)).status == 200


async def test_the_use_of_a_key_is_recorded_at_most_a_minute_late(admin):
    key = await create_key(admin)
    await asyncio.gather(*(run_graphql(admin, "{ products { id } }", key=key) for _ in range(5)))
    used = (await admin.get(KEYS)).body["storefront_keys"][0]["last_used_at"]
    assert timedelta() <= datetime.now(UTC) - datetime.fromisoformat(used) < timedelta(minutes=1)


async def test_a_response_with_a_key_is_not_stored_for_idempotency(admin):
    """Routes that return a secret ignore Idempotency-Key (docs/reference/shared.md#idempotency)."""
    again = {"Idempotency-Key": "the same"}
    answers = [await admin.post(KEYS, {}, headers=again) for _ in range(2)]
    assert [answer.status for answer in answers] == [201, 201]
    assert answers[0].body["key"] != answers[1].body["key"]
    documents = [
        await admin.post("/graphql", {"query": CREATE, "variables": {"input": {}}}, headers=again) for _ in range(2)
    ]
    keys = {answer.body["data"]["storefront_key_create"]["key"] for answer in documents}
    assert len(keys) == 2
    assert "Idempotent-Replayed" not in documents[1].headers
