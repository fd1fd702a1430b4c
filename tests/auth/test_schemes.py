"""The credentials that each kind of route accepts, and the errors for all others (docs/reference/shared.md#order-of-checks)."""

import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from multidict import CIMultiDict

from auth.api_keys import create_api_key
from auth.legacy_tokens import issue_legacy_token
from auth.schemes import SCHEMES
from auth.sessions import logout
from kernel.errors import Forbidden, TenantMismatch, TokenRevoked, Unauthenticated
from kernel.scope import ActorKind, active_scope
from rest_facade.routing import Credential
from tests.auth.kit import add_admin, add_user, add_vendor, authenticate_request, email_of, sign_in
from tests.harness.http import bearer
from tests.harness.records import PASSWORD
from tests.harness.scopes import anonymous_scope, execute, system_scope

BEARER_ROUTES = ["user", "admin", "app", "graphql"]
LEGACY_ROUTES = ["legacy_any", "legacy_admin", "vendor"]
LEGACY_MISSING = "Authentication required. Use Basic with email and API key or a Bearer JWT."
ADMIN_ONLY = "Forbidden: admin scope required"


def basic(email, key):
    return {"Authorization": "Basic " + base64.b64encode(f"{email}:{key}".encode()).decode()}


async def key_of(store, user_id):
    scope = system_scope(store)
    with active_scope(scope):
        return (await create_api_key(scope, user_id)).secret


async def basic_of(store, user_id):
    return basic(await email_of(store, user_id), await key_of(store, user_id))


async def legacy_token_of(store, user_id):
    scope = anonymous_scope(store)
    with active_scope(scope):
        return (await issue_legacy_token(scope, await email_of(store, user_id), None, PASSWORD)).token


async def jwt_of(store, user_id, **when):
    return (await sign_in(store, user_id, **when)).access_token


async def error_of(store, needs, headers, **options):
    with pytest.raises((Unauthenticated, Forbidden)) as refused:
        await authenticate_request(store, needs, headers, **options)
    return refused.value


def test_every_required_credential_has_a_scheme():
    assert set(SCHEMES) == {str(need) for need in Credential}


@pytest.mark.parametrize("needs", ["none", "store"])
async def test_public_routes_ignore_credentials(store, needs):
    for headers in ({}, bearer("garbage"), {"Authorization": "garbage"}):
        actor = await authenticate_request(store, needs, headers)
        assert actor.kind is ActorKind.ANONYMOUS, headers
        assert actor.credential.startswith("ip:10."), headers


# --- Bearer ------------------------------------------------------------------------------------------------------------------


async def test_graphql_callers_without_a_credential_are_anonymous(store):
    assert (await authenticate_request(store, "graphql", {})).kind is ActorKind.ANONYMOUS


@pytest.mark.parametrize("needs", sorted({*BEARER_ROUTES} - {"graphql"}))
async def test_a_missing_header_is_reported(store, needs):
    error = await error_of(store, needs, {})
    assert (error.status, error.message) == (401, "missing authorization header")


@pytest.mark.parametrize("needs", BEARER_ROUTES)
@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Token abc", "abc", "Bearer a b", "Basic YTpi", "Bearer " + "x" * 9000],
)
async def test_a_malformed_header_is_reported(store, needs, header):
    error = await error_of(store, needs, {"Authorization": header})
    assert (error.status, error.message) == (401, "invalid authorization format")


@pytest.mark.parametrize("needs", BEARER_ROUTES)
@pytest.mark.parametrize("token", ["abc", "vat_live_unknown", "vat_test_unknown", "vlt_unknown", "\udce9"])
async def test_an_unknown_token_is_invalid(store, needs, token):
    error = await error_of(store, needs, bearer(token))
    assert (error.status, error.message) == (401, "invalid or expired token")


@pytest.mark.parametrize("needs", ["user", "admin", "app"])
async def test_a_storefront_key_is_rejected_on_other_routes(store, needs):
    assert (await error_of(store, needs, bearer("sfk_unknown"))).message == "invalid or expired token"


async def test_the_scheme_and_the_header_are_case_insensitive(store):
    token = await jwt_of(store, await add_user(store))
    assert await authenticate_request(store, "user", CIMultiDict({"authorization": f"bearer  {token}"}))


async def test_a_refresh_token_is_not_accepted_as_bearer(store):
    pair = await sign_in(store, await add_admin(store))
    for needs in BEARER_ROUTES:
        assert (await error_of(store, needs, bearer(pair.refresh_token))).message == "invalid or expired token"


async def test_a_users_token_on_a_route_for_apps_is_401(store):
    token = await jwt_of(store, await add_admin(store))
    error = await error_of(store, "app", bearer(token))
    assert (error.status, error.message) == (401, "invalid or expired token")


async def test_an_administrator_is_accepted_on_admin_routes_with_its_privileges(store):
    user_id = await add_admin(store, "manage_orders", "view_products")
    actor = await authenticate_request(store, "admin", bearer(await jwt_of(store, user_id)))
    assert (actor.kind, actor.user_id, actor.credential) == (ActorKind.ADMIN, user_id, f"user:{user_id}")
    assert actor.privileges == {"manage_orders", "view_orders", "view_products"}
    assert actor.session_id is not None
    assert not actor.is_owner


@pytest.mark.parametrize("user_type", ["C", "V"])
async def test_other_users_have_insufficient_permissions_on_admin_routes(store, user_type):
    user_id = await add_user(store, user_type=user_type, vendor_id=await add_vendor(store))
    error = await error_of(store, "admin", bearer(await jwt_of(store, user_id)))
    assert (error.status, error.message) == (403, "insufficient permissions")


@pytest.mark.parametrize("needs", ["user", "admin", "graphql"])
async def test_another_stores_token_is_a_tenant_mismatch(store, other_store, needs):
    token = await jwt_of(other_store, await add_admin(other_store))
    error = await error_of(store, needs, bearer(token))
    assert isinstance(error, TenantMismatch)
    assert (error.status, error.message) == (403, "token not valid for this storefront")
    assert await authenticate_request(other_store, needs, bearer(token))


async def test_another_stores_revoked_token_is_reported_as_revoked(store, other_store):
    pair = await sign_in(other_store, await add_admin(other_store))
    scope = anonymous_scope(other_store)
    with active_scope(scope):
        await logout(scope, pair.refresh_token)
    error = await error_of(store, "admin", bearer(pair.access_token))
    assert (error.status, error.message) == (401, "token revoked: logged out")


async def test_an_expired_token_is_invalid_even_when_cached(store):
    now = datetime.now(UTC)
    token = await jwt_of(store, await add_user(store), now=now)
    assert await authenticate_request(store, "user", bearer(token), now=now + timedelta(seconds=890))
    error = await error_of(store, "user", bearer(token), now=now + timedelta(seconds=901))
    assert error.message == "invalid or expired token"


async def test_a_cached_token_is_still_rejected_in_another_store(store, other_store):
    token = await jwt_of(store, await add_user(store))
    assert await authenticate_request(store, "user", bearer(token))
    assert isinstance(await error_of(other_store, "user", bearer(token)), TenantMismatch)


async def test_a_disabled_users_token_is_revoked_although_its_session_is_active(store):
    user_id = await add_user(store)
    token = await jwt_of(store, user_id)
    await execute(store, "update users set status = 'D' where id = $1", user_id)
    error = await error_of(store, "user", bearer(token))
    assert isinstance(error, TokenRevoked)
    assert error.message == "token revoked: account disabled"


# --- Storefront keys ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-API-Key": ""},
        {"X-API-Key": "sfk_unknown"},
        {"X-API-Key": "garbage"},
        {"Authorization": "garbage"},
        {"Authorization": "Bearer sfk_unknown"},
        {"Authorization": "Bearer vat_live_unknown"},
        {"X-API-Key": "sfk_" + "x" * 9000},
    ],
    ids=str,
)
async def test_a_missing_or_unknown_storefront_key_is_invalid_api_key(store, headers):
    error = await error_of(store, "storefront_key", headers)
    assert (error.status, error.message) == (401, "invalid_api_key")


async def test_a_users_token_is_no_storefront_key(store):
    token = await jwt_of(store, await add_admin(store))
    assert (await error_of(store, "storefront_key", bearer(token))).message == "invalid_api_key"


@pytest.mark.parametrize("headers", [{"X-API-Key": "sfk_unknown"}, {"Authorization": "Bearer sfk_unknown"}], ids=str)
async def test_graphql_recognises_a_storefront_key_by_its_prefix(store, headers):
    error = await error_of(store, "graphql", headers)
    assert (error.status, error.message) == (401, "invalid_api_key")


# --- Legacy ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("needs", LEGACY_ROUTES)
@pytest.mark.parametrize("headers", [{}, {"Authorization": ""}, {"Authorization": "  "}, {"X-API-Key": "abc"}], ids=str)
async def test_legacy_reports_a_missing_credential(store, needs, headers):
    error = await error_of(store, needs, headers)
    assert (error.status, error.message) == (401, LEGACY_MISSING)


@pytest.mark.parametrize("needs", LEGACY_ROUTES)
@pytest.mark.parametrize(
    "header",
    [
        "Basic",
        "Basic !!!",
        "Basic YQ",
        "Basic " + base64.b64encode(b"no colon").decode(),
        "Basic " + base64.b64encode(b"\xff\xfe:\xff").decode(),
        "Basic " + base64.b64encode(b"a\x00b:c").decode(),
        "Basic " + base64.b64encode(b":").decode(),
        "Basic é",
        "Bearer",
        "Bearer abc",
        "Bearer vat_live_unknown",
        "Bearer sfk_unknown",
        "Digest abc",
        "\udce9",
        "Basic " + "x" * 9000,
    ],
)
async def test_legacy_has_one_message_for_an_invalid_credential(store, needs, header):
    error = await error_of(store, needs, {"Authorization": header})
    assert (error.status, error.message) == (401, "Invalid credentials")


async def test_an_administrator_can_use_basic_jwt_and_legacy_token(store):
    user_id = await add_admin(store, "view_orders")
    credentials = [
        await basic_of(store, user_id),
        bearer(await jwt_of(store, user_id)),
        bearer(await legacy_token_of(store, user_id)),
    ]
    for headers in credentials:
        for needs in ("legacy_any", "legacy_admin"):
            for _ in range(2):  # from the database, then from the cache
                actor = await authenticate_request(store, needs, headers, family="legacy")
                assert (actor.kind, actor.user_id, actor.privileges) == (
                    ActorKind.ADMIN,
                    user_id,
                    {"view_orders"},
                ), (headers, needs)


async def test_the_email_of_basic_is_case_insensitive(store):
    user_id = await add_admin(store, email="ana@loja.com.br")
    assert await authenticate_request(store, "legacy_admin", basic(" Ana@Loja.com.BR", await key_of(store, user_id)))


async def test_a_key_is_valid_only_with_its_own_email(store):
    ana, rui = await add_admin(store), await add_admin(store)
    error = await error_of(store, "legacy_admin", basic(await email_of(store, rui), await key_of(store, ana)))
    assert (error.status, error.message) == (401, "Invalid credentials")


async def test_a_password_is_no_api_key(store):
    user_id = await add_admin(store)
    error = await error_of(store, "legacy_admin", basic(await email_of(store, user_id), PASSWORD))
    assert error.message == "Invalid credentials"


async def test_another_stores_key_is_unknown_here(store, other_store):
    headers = await basic_of(other_store, await add_admin(other_store))
    assert (await error_of(store, "legacy_admin", headers)).message == "Invalid credentials"


async def test_customers_and_vendors_get_admin_scope_required(store):
    customer = await add_user(store)
    vendor = await add_user(store, user_type="V", vendor_id=await add_vendor(store))
    for headers in (
        bearer(await jwt_of(store, customer)),
        bearer(await legacy_token_of(store, customer)),
        bearer(await legacy_token_of(store, vendor)),
        await basic_of(store, vendor),
    ):
        error = await error_of(store, "legacy_admin", headers)
        assert (error.status, error.message) == (403, ADMIN_ONLY), headers


async def test_a_store_setting_allows_vendors_on_the_entity_routes(store):
    vendor_id = await add_vendor(store)
    headers = await basic_of(store, await add_user(store, user_type="V", vendor_id=vendor_id))
    opened = replace(store, settings={"legacy_vendor_keys": "Y"})
    actor = await authenticate_request(opened, "legacy_admin", headers)
    assert (actor.kind, actor.vendor_id) == (ActorKind.VENDOR, vendor_id)
    customer = bearer(await legacy_token_of(store, await add_user(store)))
    assert (await error_of(opened, "legacy_admin", customer)).message == ADMIN_ONLY


async def test_another_stores_token_is_403_on_the_legacy_api(store, other_store):
    user_id = await add_admin(other_store)
    for token in (await jwt_of(other_store, user_id), await legacy_token_of(other_store, user_id)):
        error = await error_of(store, "legacy_admin", bearer(token))
        assert (error.status, error.message) == (403, ADMIN_ONLY), token
        assert (await error_of(store, "legacy_any", bearer(token))).status == 403
        assert (await error_of(store, "vendor", bearer(token))).status == 403


async def test_a_forged_token_of_another_store_is_401(store, other_store):
    forged = f"vlt_{other_store.public_id.hex}_{'x' * 43}"
    assert (await error_of(store, "legacy_admin", bearer(forged))).status == 401


async def test_any_user_is_accepted_on_routes_for_any_user(store):
    user_id = await add_user(store)
    for headers in (bearer(await jwt_of(store, user_id)), bearer(await legacy_token_of(store, user_id))):
        assert (await authenticate_request(store, "legacy_any", headers)).kind is ActorKind.CUSTOMER


async def test_only_vendors_are_accepted_in_the_vendor_app(store):
    vendor_id = await add_vendor(store)
    vendor = await add_user(store, user_type="V", vendor_id=vendor_id)
    for headers in (bearer(await legacy_token_of(store, vendor)), await basic_of(store, vendor)):
        assert (await authenticate_request(store, "vendor", headers)).vendor_id == vendor_id
    for user_id in (await add_user(store), await add_admin(store)):
        error = await error_of(store, "vendor", bearer(await legacy_token_of(store, user_id)))
        assert (error.status, error.message) == (403, "Forbidden: vendor scope required"), user_id


async def test_revoked_and_expired_tokens_are_invalid_credentials_on_the_legacy_api(store):
    pair = await sign_in(store, await add_admin(store))
    scope = anonymous_scope(store)
    with active_scope(scope):
        await logout(scope, pair.refresh_token)
    assert (await error_of(store, "legacy_admin", bearer(pair.access_token))).message == "Invalid credentials"


async def test_legacy_credentials_are_rejected_on_other_routes(store):
    user_id = await add_admin(store)
    token, key = await legacy_token_of(store, user_id), await basic_of(store, user_id)
    for needs in BEARER_ROUTES:
        assert (await error_of(store, needs, bearer(token))).message == "invalid or expired token"
        assert (await error_of(store, needs, key)).message == "invalid authorization format"
