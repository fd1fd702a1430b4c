"""Apps in the database: row-level security of the platform's table, and cleanup."""

import pytest

from auth.app_tokens import find_app_token
from domain.apps.installations import approve_app
from domain.apps.oauth import exchange_code, refresh_app_tokens
from domain.apps.registration import (
    authenticate_client,
    find_app,
    list_registered_apps,
    register_app,
    register_platform_app,
    reset_secret,
)
from domain.retention import delete_expired
from kernel.errors import NotFound, OAuthError
from kernel.scope import active_scope
from models.connection import database
from models.connection.database import WrongStore
from tests.auth.kit import later
from tests.harness.scopes import anonymous_scope, rows, system_scope, value

VALUES = {"name": "Etiquetas", "redirect_uris": ["https://app.example/"], "scopes": ["write_orders"]}


async def tokens_of(store, app):
    scope = system_scope(store)
    with active_scope(scope):
        approval = await approve_app(scope, app.client_id, ["read_orders"])
        return await exchange_code(scope, app.client_id, app.client_secret, approval.code)


async def test_a_store_can_insert_its_own_apps_but_not_update_any(store, other_store):
    mine, theirs = (
        await register_app(system_scope(store), VALUES),
        await register_app(system_scope(other_store), VALUES),
    )
    platforms = await register_platform_app(VALUES)
    with active_scope(system_scope(store)):
        for app in (mine, theirs, platforms):
            assert await authenticate_client(app.client_id, app.client_secret) is not None
        assert [app.client_id for app in await list_registered_apps(system_scope(store))] == [mine.client_id]
        for statement in (
            "update apps set redirect_uris = '{https://evil.example/}'",
            "delete from apps",
            "insert into apps (public_id, client_id, name, mode, redirect_uris, scopes, secret_hash, secret_sealed, registered_in)"
            " select gen_random_uuid(), 'x', name, mode, redirect_uris, scopes, secret_hash, secret_sealed, null from apps limit 1",
            "insert into apps (public_id, client_id, name, mode, redirect_uris, scopes, secret_hash, secret_sealed, registered_in)"
            f" select gen_random_uuid(), 'y', name, mode, redirect_uris, scopes, secret_hash, secret_sealed, {other_store.id}"
            " from apps limit 1",
        ):
            with pytest.raises(WrongStore):
                await database.execute(statement)


async def test_resetting_a_secret_revokes_the_old_one(store):
    app = await register_app(system_scope(store), VALUES)
    secret = await reset_secret(app.client_id)
    with active_scope(system_scope(store)):
        assert await authenticate_client(app.client_id, app.client_secret) is None
        assert await authenticate_client(app.client_id, secret) is not None
    with pytest.raises(NotFound):
        await reset_secret("vci_unknown")


@pytest.mark.parametrize("client_id", ["", "\x00", "\ud800", "x" * 10_000, "vci_unknown"])
async def test_a_malformed_client_id_is_unknown(store, client_id):
    with active_scope(system_scope(store)):
        assert await find_app(client_id) is None
        assert await authenticate_client(client_id, "\ud800") is None


async def test_cleanup_deletes_only_long_expired_rows(store):
    app = await register_app(system_scope(store), VALUES)
    first = await tokens_of(store, app)
    scope = anonymous_scope(store)
    await delete_expired(later(scope, days=119))
    # The access token is long gone, the refresh token expired 29 days ago.
    kinds = await rows(store, "select kind from app_tokens")
    assert [row["kind"] for row in kinds] == ["R"]
    await delete_expired(later(scope, days=121))
    assert await value(store, "select count(*) from app_tokens") == 0
    await delete_expired(later(scope, days=121))  # an approval goes in the run after its last token
    assert await value(store, "select count(*) from app_grants") == 0
    assert await value(store, "select count(*) from app_installations") == 1
    with active_scope(scope):
        assert await find_app_token(scope, first.access_token) is None
        with pytest.raises(OAuthError):
            await refresh_app_tokens(scope, first.refresh_token)


async def test_a_revocation_survives_the_rollback_of_the_rejected_request(store):
    """Reject the request inside a transaction that is rolled back, as `resolvers.execute` does."""
    app = await register_app(system_scope(store), VALUES)
    first = await tokens_of(store, app)
    scope = anonymous_scope(store)
    with active_scope(scope):
        await refresh_app_tokens(scope, first.refresh_token)
    with pytest.raises(OAuthError):
        async with database.transaction(later(scope, seconds=1)):
            await refresh_app_tokens(scope, first.refresh_token)
    assert await value(store, "select count(*) from app_grants where revoked_at is not null") == 1
    actions = await rows(store, "select action from audit_entries")
    assert "app.refresh_token_reused" in [row["action"] for row in actions]
