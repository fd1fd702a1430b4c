"""Resolve the current store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from strawberry import Info

from auth.access import Access
from domain import hosts, store_limits, stores
from domain.store_settings import SOCIAL_NETWORKS, setting
from kernel.errors import ValidationFailed
from kernel.scope import Scope
from resolvers.mutation_helpers import rename_fields
from resolvers.results import linked
from schema.declaration import declare
from schema.fields import root_field
from schema.inputs import provided_fields
from schema.scalars import JSON
from schema.types.stores import (
    READ_SETTINGS,
    StoreHostInput,
    StoreHostObject,
    StoreInput,
    StoreLimitObject,
    StoreObject,
)

_ANYBODY = Access(anonymous=True, note="The data is public; settings need `view_settings`.")
_WRITE = Access(privileges=("manage_settings",))
_GATEWAY = Access(privileges=("manage_payments",))


@declare
class StoreQueries:
    """Queries of the store."""

    @root_field(_ANYBODY)
    async def store(self, info: Info) -> StoreObject:
        """Return the current store."""
        return _store_row(info, info.context.scope)

    @root_field(READ_SETTINGS)
    async def store_hosts(self, info: Info) -> list[StoreHostObject]:
        """Return the hosts of the store and those that it asked for, the primary one first; it can ask for 50."""
        return linked(info, await hosts.find_hosts(info.context.scope))  # type: ignore[no-any-return]

    @root_field(READ_SETTINGS)
    async def store_limits(self, info: Info) -> list[StoreLimitObject]:
        """Return the limits that the platform set for the store, and what is used of them; a store without limits has none."""
        return linked(info, await store_limits.find_limits(info.context.scope))  # type: ignore[no-any-return]


@declare
class StoreMutations:
    """Mutations of the store."""

    @root_field(_WRITE)
    async def store_update(self, info: Info, input: StoreInput) -> StoreObject:
        """Update the store's name, currency, maintenance message or logo."""
        scope = info.context.scope
        await stores.update_store(scope, rename_fields(input, {}))
        return _store_row(info, await reload_store(scope))

    @root_field(_WRITE)
    async def store_settings_update(self, info: Info, settings: JSON) -> StoreObject:
        """Update some of the store's settings; values equal to the default are not stored."""
        scope = info.context.scope
        if not isinstance(settings, dict):
            raise ValidationFailed("settings must be an object", field="settings")
        await stores.update_settings(scope, settings)
        return _store_row(info, await reload_store(scope))

    @root_field(_GATEWAY)
    async def store_gateway_secret_set(self, info: Info, secret: str) -> StoreObject:
        """Set the secret that verifies payment gateway notifications. An empty value accepts unsigned notifications, which is audited;
        `****` leaves it unchanged.
        """
        scope = info.context.scope
        await stores.set_gateway_secret(scope, secret)
        return _store_row(info, scope)

    @root_field(_WRITE)
    async def store_host_add(self, info: Info, host: str) -> StoreHostObject:
        """Ask for a host, and return what proves that the store controls it; then call `store_host_verify`."""
        return await _host_row(info, await hosts.claim_host(info.context.scope, host))

    @root_field(_WRITE, calls_out=True)
    async def store_host_verify(self, info: Info, host: str) -> StoreHostObject:
        """Look for the proof of a host; requests with its name are then the store's within 5 seconds, in every process."""
        return await _host_row(info, await hosts.verify_host(info.context.scope, host))

    @root_field(_WRITE, calls_out=True)
    async def store_host_update(self, info: Info, host: str, input: StoreHostInput) -> StoreHostObject:
        """Make a verified host the primary one, or let browsers be redirected from it."""
        changes = {"is_primary": None, "is_redirected": None, **provided_fields(input)}
        return await _host_row(info, await hosts.update_host(info.context.scope, host, **changes))

    @root_field(_WRITE, calls_out=True)
    async def store_host_remove(self, info: Info, host: str) -> list[StoreHostObject]:
        """Give up a host, or one that the store asked for; return those that remain."""
        await hosts.remove_host(info.context.scope, host)
        return linked(info, await hosts.find_hosts(info.context.scope))  # type: ignore[no-any-return]


async def _host_row(info: Info, name: str) -> Any:
    return linked(info, [await hosts.find_host(info.context.scope, name)])[0]


async def reload_store(scope: Scope) -> Scope:
    """Return the scope with the store reloaded after a change."""
    return replace(scope, store=await stores.find_store(scope.store.public_id))


def _store_row(info: Info, scope: Scope) -> Any:
    store = scope.store
    settings = stores.masked_settings(scope) if scope.actor.has_privilege("view_settings") else None
    record = {
        "id": store.public_id,
        "name": store.name,
        "currency": store.currency,
        "status": store.status,
        "maintenance_message": store.maintenance_message,
        "contact": {
            name: setting(scope, source)
            for name, source in (("email", "support_email"), ("phone", "support_phone"), ("address", "contact_address"))
        },
        "social_links": [
            {"network": network, "name": name, "url": url}
            for network, name in SOCIAL_NETWORKS.items()
            if (url := setting(scope, f"social_{network}"))
        ],
        "logo": store.id,
        "browser_idle_minutes": setting(scope, "browser_idle_minutes"),
        "time_zone": setting(scope, "time_zone"),
        "settings": settings,
    }
    return linked(info, [record])[0]


QUERIES = (StoreQueries,)
MUTATIONS = (StoreMutations,)
