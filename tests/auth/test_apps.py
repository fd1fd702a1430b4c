"""Apps at the database: what stores may do with the platform's table, and what time takes away."""

import pytest

from auth.app_tokens import find_app_token
from auth.apps import (
    find_app,
    list_registered,
    register_app,
    register_app_of_platform,
    renew_secret,
    verify_client,
)
from auth.installations import approve
from auth.oauth import exchange_code, renew
from auth.upkeep import forget_expired
from kernel.errors import GrantRefused, NotFound
from kernel.scope import entered
from models import database
from models.database import WrongStore
from tests.auth.kit import later, rows, system, value, visitor

GIVEN = {"name": "Etiquetas", "redirect_uris": ["https://app.example/"], "scopes": ["write_orders"]}


async def tokens_of(store, app):
    scope = system(store)
    with entered(scope):
        approval = await approve(scope, app.client_id, ["read_orders"])
        return await exchange_code(scope, app.client_id, app.client_secret, approval.code)


async def test_a_store_adds_its_own_apps_and_changes_none(store, other_store):
    mine, theirs = await register_app(system(store), GIVEN), await register_app(system(other_store), GIVEN)
    platforms = await register_app_of_platform(GIVEN)
    with entered(system(store)):
        for app in (mine, theirs, platforms):
            assert await verify_client(app.client_id, app.client_secret) is not None
        assert [app.client_id for app in await list_registered(system(store))] == [mine.client_id]
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


async def test_a_new_secret_ends_the_old_one(store):
    app = await register_app(system(store), GIVEN)
    secret = await renew_secret(app.client_id)
    with entered(system(store)):
        assert await verify_client(app.client_id, app.client_secret) is None
        assert await verify_client(app.client_id, secret) is not None
    with pytest.raises(NotFound):
        await renew_secret("vci_unknown")


@pytest.mark.parametrize("client_id", ["", "\x00", "\ud800", "x" * 10_000, "vci_unknown"])
async def test_a_strange_client_id_is_unknown(store, client_id):
    with entered(system(store)):
        assert await find_app(client_id) is None
        assert await verify_client(client_id, "\ud800") is None


async def test_what_is_long_over_is_deleted_and_the_rest_kept(store):
    app = await register_app(system(store), GIVEN)
    first = await tokens_of(store, app)
    scope = visitor(store)
    await forget_expired(later(scope, days=119))
    # The access token is long gone, the refresh token expired 29 days ago.
    kinds = await rows(store, "select kind from app_tokens")
    assert [row["kind"] for row in kinds] == ["R"]
    await forget_expired(later(scope, days=121))
    assert await value(store, "select count(*) from app_tokens") == 0
    assert await value(store, "select count(*) from app_grants") == 0
    assert await value(store, "select count(*) from app_installations") == 1
    with entered(scope):
        assert await find_app_token(scope, first.access_token) is None
        with pytest.raises(GrantRefused):
            await renew(scope, first.refresh_token)


async def test_what_is_revoked_stays_revoked_although_the_request_is_refused(store):
    """Arrange the refusal as the one door does, inside a transaction that rolls back."""
    app = await register_app(system(store), GIVEN)
    first = await tokens_of(store, app)
    scope = visitor(store)
    with entered(scope):
        await renew(scope, first.refresh_token)
    with pytest.raises(GrantRefused):
        async with database.transaction(later(scope, seconds=1)):
            await renew(scope, first.refresh_token)
    assert await value(store, "select count(*) from app_grants where revoked_at is not null") == 1
    actions = await rows(store, "select action from audit_entries")
    assert "app.refresh_token_reused" in [row["action"] for row in actions]
