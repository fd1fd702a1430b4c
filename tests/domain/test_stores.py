"""Stores: creation with a secret, opening and closing, and cache invalidation in every process."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from auth.store_resolution import CachedStoreResolver
from domain import hosts, stores
from domain.store_settings import STORE_SETTINGS, setting
from kernel.errors import Conflict, TenantClosed, TenantNotFound, ValidationFailed
from models.connection import database
from tests.harness.scopes import system_scope


def a_host():
    return f"{uuid4().hex}.example.com"


@pytest.fixture
async def directory(database):
    directory = CachedStoreResolver(["localhost"])
    await directory.listen()
    return directory


async def eventually(claim, seconds=3.0):
    """Wait for a PostgreSQL notification."""
    for _ in range(int(seconds / 0.02)):
        if await claim():
            return True
        await asyncio.sleep(0.02)
    return False


async def test_a_new_store_has_its_own_secret(database):
    one, other = await stores.create_store({"name": "Loja"}), await stores.create_store({"name": "Loja"})
    assert one.gateway_secret != other.gateway_secret
    assert len(one.gateway_secret) >= 40
    assert await stores.gateway_secret(system_scope(one.store)) == one.gateway_secret
    assert (one.store.currency, one.store.status, one.store.settings) == ("BRL", "A", {})
    assert await stores.find_store(one.store.id) == await stores.find_store(str(one.store.public_id)) == one.store


async def test_a_store_is_served_at_its_hosts(database, directory):
    host = a_host()
    created = await stores.create_store({"name": "Loja"}, hosts=[host.upper() + ":8000"])
    assert await directory.resolve(host, None, public=True) == replace(created.store, host=host)
    second = a_host()
    with pytest.raises(TenantNotFound):
        await directory.resolve(second, None, public=True)
    await hosts.add_host(created.store.id, second)
    assert await eventually(lambda: answers(directory, second))


async def answers(directory, host):
    try:
        await directory.resolve(host, None, public=True)
    except TenantNotFound:
        return False
    return True


async def test_a_host_belongs_to_one_store(database):
    host = a_host()
    await stores.create_store({"name": "One"}, hosts=[host])
    with pytest.raises(Conflict) as error:
        await stores.create_store({"name": "Other"}, hosts=[a_host(), host])
    assert error.value.reason == "host_taken"
    for bad in ("", "with space", "a/b", "x" * 300):
        with pytest.raises(ValidationFailed):
            await stores.create_store({"name": "Other"}, hosts=[bad])


@pytest.mark.parametrize("status, reason", [("S", "tenant_suspended"), ("M", "tenant_maintenance")])
async def test_closing_a_store_takes_effect_in_every_process(database, directory, status, reason):
    host = a_host()
    created = await stores.create_store({"name": "Loja"}, hosts=[host])
    await directory.resolve(host, None, public=True)
    closed = await stores.change_status(created.store.id, status)
    assert closed.status == status

    async def is_closed():
        try:
            await directory.resolve(host, None, public=True)
        except TenantClosed as error:
            return error.reason == reason
        return False

    assert await eventually(is_closed)
    await stores.change_status(created.store.public_id, stores.ACTIVE)
    assert await eventually(lambda: is_open(directory, host))


async def is_open(directory, host):
    try:
        await directory.resolve(host, None, public=True)
    except TenantClosed:
        return False
    return True


async def test_maintenance_shows_its_message(database):
    created = await stores.create_store({"name": "Loja"})
    closed = await stores.change_status(created.store.id, "M", message="Voltamos às 10h")
    assert closed.maintenance_message == "Voltamos às 10h"
    assert (await stores.change_status(created.store.id, "M")).maintenance_message == "Voltamos às 10h"


async def test_an_unknown_store_is_not_found(database):
    for reference in (10**12, uuid4(), "x"):
        with pytest.raises(TenantNotFound):
            await stores.suspend(reference)


@pytest.mark.parametrize(
    "values, fields",
    [
        ({}, {"name": "name_required"}),
        ({"name": "x", "currency": "brl"}, {"currency": "currency_invalid"}),
        ({"name": "x", "status": "Z"}, {"status": "status_invalid"}),
    ],
)
async def test_store_field_errors_are_reported(database, values, fields):
    with pytest.raises(ValidationFailed) as error:
        await stores.create_store(values)
    assert error.value.fields == fields


# --- Settings ------------------------------------------------------------------------------------------------------------------------


async def stored_settings(scope):
    return dict((await stores.find_store(scope.store.id)).settings)


async def test_only_settings_that_differ_from_defaults_are_stored(scope):
    await stores.update_settings(scope, {"products_require_category": "Y", "legacy_lists": "cscart"})
    assert await stored_settings(scope) == {"products_require_category": True, "legacy_lists": "cscart"}
    await stores.update_settings(scope, {"legacy_lists": "contract"})
    assert await stored_settings(scope) == {"products_require_category": True}


async def test_settings_have_defaults_and_types(scope):
    assert {name: setting(scope, name) for name in STORE_SETTINGS} == {
        name: known.default for name, known in STORE_SETTINGS.items()
    }
    for known in STORE_SETTINGS.values():
        assert known.read(known.default) == known.default
    assert (
        stores.masked_settings(replace(scope, store=replace(scope.store, settings={"legacy_lists": "cscart"})))[
            "legacy_lists"
        ]
        == "cscart"
    )


@pytest.mark.parametrize(
    "values, fields",
    [
        ({"legacy_lists": "x"}, {"legacy_lists": "setting_invalid"}),
        ({"products_require_category": 3}, {"products_require_category": "setting_invalid"}),
        ({"nothing": 1}, {"nothing": "setting_unknown"}),
    ],
)
async def test_an_invalid_setting_value_is_rejected(scope, values, fields):
    with pytest.raises(ValidationFailed) as error:
        await stores.update_settings(scope, values)
    assert error.value.fields == fields


async def test_concurrent_setting_changes_are_all_stored(scope):
    await asyncio.gather(
        stores.update_settings(scope, {"legacy_lists": "cscart"}),
        stores.update_settings(scope, {"reviews_need_approval": True}),
        stores.update_settings(scope, {"logo_url": "https://x.example/logo.png"}),
    )
    assert set(await stored_settings(scope)) == {"legacy_lists", "reviews_need_approval", "logo_url"}


async def test_renaming_a_store_changes_nothing_else(scope):
    await stores.update_store(scope, {"name": "Loja Nova"})
    store = await stores.find_store(scope.store.id)
    assert (store.name, store.currency) == ("Loja Nova", "BRL")


async def test_the_gateway_secret_is_set_cleared_and_masked(scope, kit):
    await stores.set_gateway_secret(scope, "new secret")
    await stores.set_gateway_secret(scope, stores.MASK)
    assert await stores.gateway_secret(scope) == "new secret"
    await stores.set_gateway_secret(scope, "")
    assert await stores.gateway_secret(scope) is None
    actions = [
        row["action"] for row in await kit.rows("SELECT action FROM audit_entries WHERE tenant_id = $1 ORDER BY id")
    ]
    assert actions == ["gateway_secret.updated", "gateway_secret.emptied"]


async def test_another_store_never_changes(scope, other_scope):
    await stores.update_settings(scope, {"legacy_lists": "cscart"})
    await stores.update_store(scope, {"name": "x"})
    other = await stores.find_store(other_scope.store.id)
    assert (other.settings, other.name) == ({}, "Other store")
    assert database.in_transaction() is False
