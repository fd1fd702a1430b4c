"""Which credential each kind of route takes, and the contract's answers to all others (current-api and legacy-api, Authentication)."""

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
from kernel.scope import ActorKind, entered
from rest_facade.routing import Needs
from tests.auth.kit import (
    PASSWORD,
    add_admin,
    add_user,
    add_vendor,
    ask,
    bearer,
    email_of,
    execute,
    sign_in,
    system,
    visitor,
)

BEARER_ROUTES = ["user", "admin", "app", "graphql"]
LEGACY_ROUTES = ["legacy_any", "legacy_admin", "vendor"]
LEGACY_MISSING = "Authentication required. Use Basic with email and API key or a Bearer JWT."
ADMIN_ONLY = "Forbidden: admin scope required"


def basic(email, key):
    return {"Authorization": "Basic " + base64.b64encode(f"{email}:{key}".encode()).decode()}


async def key_of(store, user_id):
    scope = system(store)
    with entered(scope):
        return (await create_api_key(scope, user_id)).secret


async def basic_of(store, user_id):
    return basic(await email_of(store, user_id), await key_of(store, user_id))


async def legacy_token_of(store, user_id):
    scope = visitor(store)
    with entered(scope):
        return (await issue_legacy_token(scope, await email_of(store, user_id), None, PASSWORD)).token


async def jwt_of(store, user_id, **when):
    return (await sign_in(store, user_id, **when)).access_token


async def error_of(store, needs, headers, **options):
    with pytest.raises((Unauthenticated, Forbidden)) as refused:
        await ask(store, needs, headers, **options)
    return refused.value


def test_every_need_of_a_route_has_a_scheme():
    assert set(SCHEMES) == {str(need) for need in Needs}


@pytest.mark.parametrize("needs", ["nothing", "store"])
async def test_public_routes_look_at_no_credential(store, needs):
    for headers in ({}, bearer("garbage"), {"Authorization": "garbage"}):
        actor = await ask(store, needs, headers)
        assert actor.kind is ActorKind.ANONYMOUS
        assert actor.credential.startswith("ip:10.")


# --- Bearer ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("needs", BEARER_ROUTES)
async def test_a_missing_header_is_told(store, needs):
    refusal = await error_of(store, needs, {})
    assert (refusal.status, refusal.message) == (401, "missing authorization header")


@pytest.mark.parametrize("needs", BEARER_ROUTES)
@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Token abc", "abc", "Bearer a b", "Basic YTpi", "Bearer " + "x" * 9000],
)
async def test_another_format_is_told(store, needs, header):
    refusal = await error_of(store, needs, {"Authorization": header})
    assert (refusal.status, refusal.message) == (401, "invalid authorization format")


@pytest.mark.parametrize("needs", BEARER_ROUTES)
@pytest.mark.parametrize("token", ["abc", "vat_live_unknown", "vat_test_unknown", "vlt_unknown", "\udce9"])
async def test_an_unknown_token_is_invalid(store, needs, token):
    refusal = await error_of(store, needs, bearer(token))
    assert (refusal.status, refusal.message) == (401, "invalid or expired token")


@pytest.mark.parametrize("needs", ["user", "admin", "app"])
async def test_a_storefront_key_opens_no_other_route(store, needs):
    assert (await error_of(store, needs, bearer("sfk_unknown"))).message == "invalid or expired token"


async def test_the_scheme_and_the_header_are_read_in_any_case(store):
    token = await jwt_of(store, await add_user(store))
    assert await ask(store, "user", CIMultiDict({"authorization": f"bearer  {token}"}))


async def test_a_refresh_token_is_never_a_bearer(store):
    pair = await sign_in(store, await add_admin(store))
    for needs in BEARER_ROUTES:
        assert (
            await error_of(store, needs, bearer(pair.refresh_token))
        ).message == "invalid or expired token"


async def test_a_users_token_on_a_route_for_apps_is_401(store):
    token = await jwt_of(store, await add_admin(store))
    refusal = await error_of(store, "app", bearer(token))
    assert (refusal.status, refusal.message) == (401, "invalid or expired token")


async def test_an_administrator_passes_admin_routes_with_its_privileges(store):
    user_id = await add_admin(store, "manage_orders", "view_products")
    actor = await ask(store, "admin", bearer(await jwt_of(store, user_id)))
    assert (actor.kind, actor.user_id, actor.credential) == (ActorKind.ADMIN, user_id, f"user:{user_id}")
    assert actor.privileges == {"manage_orders", "view_orders", "view_products"}
    assert actor.session_id is not None
    assert not actor.is_owner


@pytest.mark.parametrize("user_type", ["C", "V"])
async def test_other_users_are_told_insufficient_permissions_on_admin_routes(store, user_type):
    user_id = await add_user(store, user_type=user_type, vendor_id=await add_vendor(store))
    refusal = await error_of(store, "admin", bearer(await jwt_of(store, user_id)))
    assert (refusal.status, refusal.message) == (403, "insufficient permissions")


@pytest.mark.parametrize("needs", ["user", "admin", "graphql"])
async def test_another_stores_token_is_told_so(store, other_store, needs):
    token = await jwt_of(other_store, await add_admin(other_store))
    refusal = await error_of(store, needs, bearer(token))
    assert isinstance(refusal, TenantMismatch)
    assert (refusal.status, refusal.message) == (403, "token not valid for this storefront")
    assert await ask(other_store, needs, bearer(token))


async def test_another_stores_token_that_was_revoked_is_told_that_first(store, other_store):
    pair = await sign_in(other_store, await add_admin(other_store))
    scope = visitor(other_store)
    with entered(scope):
        await logout(scope, pair.refresh_token)
    refusal = await error_of(store, "admin", bearer(pair.access_token))
    assert (refusal.status, refusal.message) == (401, "token revoked: logged out")


async def test_an_expired_token_is_invalid_also_when_it_is_remembered(store):
    now = datetime.now(UTC)
    token = await jwt_of(store, await add_user(store), now=now)
    assert await ask(store, "user", bearer(token), now=now + timedelta(seconds=890))
    refusal = await error_of(store, "user", bearer(token), now=now + timedelta(seconds=901))
    assert refusal.message == "invalid or expired token"


async def test_a_token_that_was_good_here_is_still_told_apart_elsewhere(store, other_store):
    token = await jwt_of(store, await add_user(store))
    assert await ask(store, "user", bearer(token))
    assert isinstance(await error_of(other_store, "user", bearer(token)), TenantMismatch)


async def test_a_disabled_users_token_is_revoked_although_the_session_stands(store):
    user_id = await add_user(store)
    token = await jwt_of(store, user_id)
    await execute(store, "update users set status = 'D' where id = $1", user_id)
    refusal = await error_of(store, "user", bearer(token))
    assert isinstance(refusal, TokenRevoked)
    assert refusal.message == "token revoked: account disabled"


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
async def test_a_missing_or_unknown_storefront_key_has_one_answer(store, headers):
    refusal = await error_of(store, "storefront_key", headers)
    assert (refusal.status, refusal.message) == (401, "invalid_api_key")


async def test_a_users_token_is_no_storefront_key(store):
    token = await jwt_of(store, await add_admin(store))
    assert (await error_of(store, "storefront_key", bearer(token))).message == "invalid_api_key"


@pytest.mark.parametrize(
    "headers", [{"X-API-Key": "sfk_unknown"}, {"Authorization": "Bearer sfk_unknown"}], ids=str
)
async def test_graphql_knows_a_storefront_key_by_its_form(store, headers):
    refusal = await error_of(store, "graphql", headers)
    assert (refusal.status, refusal.message) == (401, "invalid_api_key")


# --- Legacy ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("needs", LEGACY_ROUTES)
@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": ""}, {"Authorization": "  "}, {"X-API-Key": "abc"}], ids=str
)
async def test_legacy_tells_what_is_missing(store, needs, headers):
    refusal = await error_of(store, needs, headers)
    assert (refusal.status, refusal.message) == (401, LEGACY_MISSING)


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
async def test_legacy_has_one_answer_to_a_wrong_credential(store, needs, header):
    refusal = await error_of(store, needs, {"Authorization": header})
    assert (refusal.status, refusal.message) == (401, "Invalid credentials")


async def test_an_administrator_enters_by_basic_jwt_and_legacy_token(store):
    user_id = await add_admin(store, "view_orders")
    credentials = [
        await basic_of(store, user_id),
        bearer(await jwt_of(store, user_id)),
        bearer(await legacy_token_of(store, user_id)),
    ]
    for headers in credentials:
        for needs in ("legacy_any", "legacy_admin"):
            for _ in range(2):  # from the database, then from memory
                actor = await ask(store, needs, headers, family="legacy")
                assert (actor.kind, actor.user_id, actor.privileges) == (
                    ActorKind.ADMIN,
                    user_id,
                    {"view_orders"},
                )


async def test_the_email_of_basic_is_read_in_any_case(store):
    user_id = await add_admin(store, email="ana@loja.com.br")
    assert await ask(store, "legacy_admin", basic(" Ana@Loja.com.BR", await key_of(store, user_id)))


async def test_a_key_goes_with_its_own_email_only(store):
    ana, rui = await add_admin(store), await add_admin(store)
    refusal = await error_of(
        store, "legacy_admin", basic(await email_of(store, rui), await key_of(store, ana))
    )
    assert (refusal.status, refusal.message) == (401, "Invalid credentials")


async def test_a_password_is_no_api_key(store):
    user_id = await add_admin(store)
    refusal = await error_of(store, "legacy_admin", basic(await email_of(store, user_id), PASSWORD))
    assert refusal.message == "Invalid credentials"


async def test_another_stores_key_is_unknown_here(store, other_store):
    headers = await basic_of(other_store, await add_admin(other_store))
    assert (await error_of(store, "legacy_admin", headers)).message == "Invalid credentials"


async def test_customers_and_vendors_are_told_admin_scope_required(store):
    customer = await add_user(store)
    vendor = await add_user(store, user_type="V", vendor_id=await add_vendor(store))
    for headers in (
        bearer(await jwt_of(store, customer)),
        bearer(await legacy_token_of(store, customer)),
        bearer(await legacy_token_of(store, vendor)),
        await basic_of(store, vendor),
    ):
        refusal = await error_of(store, "legacy_admin", headers)
        assert (refusal.status, refusal.message) == (403, ADMIN_ONLY)


async def test_a_stores_setting_opens_the_entity_routes_to_vendors(store):
    vendor_id = await add_vendor(store)
    headers = await basic_of(store, await add_user(store, user_type="V", vendor_id=vendor_id))
    opened = replace(store, settings={"legacy_vendor_keys": "Y"})
    actor = await ask(opened, "legacy_admin", headers)
    assert (actor.kind, actor.company_id) == (ActorKind.VENDOR, vendor_id)
    customer = bearer(await legacy_token_of(store, await add_user(store)))
    assert (await error_of(opened, "legacy_admin", customer)).message == ADMIN_ONLY


async def test_another_stores_token_is_403_on_the_legacy_layer(store, other_store):
    user_id = await add_admin(other_store)
    for token in (await jwt_of(other_store, user_id), await legacy_token_of(other_store, user_id)):
        refusal = await error_of(store, "legacy_admin", bearer(token))
        assert (refusal.status, refusal.message) == (403, ADMIN_ONLY)
        assert (await error_of(store, "legacy_any", bearer(token))).status == 403
        assert (await error_of(store, "vendor", bearer(token))).status == 403


async def test_a_forged_token_of_another_store_is_401(store, other_store):
    forged = f"vlt_{other_store.public_id.hex}_{'x' * 43}"
    assert (await error_of(store, "legacy_admin", bearer(forged))).status == 401


async def test_any_user_enters_routes_for_any_user(store):
    user_id = await add_user(store)
    for headers in (bearer(await jwt_of(store, user_id)), bearer(await legacy_token_of(store, user_id))):
        assert (await ask(store, "legacy_any", headers)).kind is ActorKind.CUSTOMER


async def test_only_vendors_enter_the_vendor_app(store):
    vendor_id = await add_vendor(store)
    vendor = await add_user(store, user_type="V", vendor_id=vendor_id)
    for headers in (bearer(await legacy_token_of(store, vendor)), await basic_of(store, vendor)):
        assert (await ask(store, "vendor", headers)).company_id == vendor_id
    for user_id in (await add_user(store), await add_admin(store)):
        refusal = await error_of(store, "vendor", bearer(await legacy_token_of(store, user_id)))
        assert (refusal.status, refusal.message) == (403, "Forbidden: vendor scope required")


async def test_revoked_and_expired_ones_are_invalid_credentials_on_the_legacy_layer(store):
    pair = await sign_in(store, await add_admin(store))
    scope = visitor(store)
    with entered(scope):
        await logout(scope, pair.refresh_token)
    assert (await error_of(store, "legacy_admin", bearer(pair.access_token))).message == "Invalid credentials"


async def test_legacy_credentials_open_nothing_else(store):
    user_id = await add_admin(store)
    token, key = await legacy_token_of(store, user_id), await basic_of(store, user_id)
    for needs in BEARER_ROUTES:
        assert (await error_of(store, needs, bearer(token))).message == "invalid or expired token"
        assert (await error_of(store, needs, key)).message == "invalid authorization format"
