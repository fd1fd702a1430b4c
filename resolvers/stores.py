"""Tell about the store in scope, and change it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from domain import stores
from kernel.errors import ValidationFailed
from kernel.scope import Scope
from models.reading import Row
from resolvers.changes import renamed
from schema.fields import root
from schema.inputs.stores import StoreInput
from schema.scalars import Json
from schema.types.stores import StoreObject

_ANYBODY = Access(anonymous=True, note="What it shows is public; settings need `view_settings`.")
_WRITE = Access(privileges=("manage_settings",))
_GATEWAY = Access(privileges=("manage_payments",))


@strawberry.type
class StoreQueries:
    """The store's root field."""

    @root(_ANYBODY, "The store that answers.")
    async def store(self, info: Info) -> StoreObject:
        """Show the store in scope."""
        return _shown(info.context.scope)


@strawberry.type
class StoreMutations:
    """What can be changed of the store."""

    @root(_WRITE, "Change the store's name, currency or maintenance message.")
    async def store_update(self, info: Info, input: StoreInput) -> StoreObject:
        """Change the store."""
        scope = info.context.scope
        await stores.update_store(scope, renamed(input, {}))
        return _shown(await as_it_is_now(scope))

    @root(_WRITE, "Set some of the store's settings; a value that equals the default is forgotten.")
    async def store_settings_update(self, info: Info, settings: Json) -> StoreObject:
        """Set settings by name."""
        scope = info.context.scope
        if not isinstance(settings, dict):
            raise ValidationFailed("settings must be an object", field="settings")
        await stores.update_settings(scope, settings)
        return _shown(await as_it_is_now(scope))

    @root(
        _GATEWAY,
        "Set the secret that the payment gateway signs its notifications with. An empty one lets them in unsigned, which is audited;"
        " `****` leaves it as it is.",
    )
    async def store_gateway_secret_set(self, info: Info, secret: str) -> StoreObject:
        """Set the gateway's secret."""
        scope = info.context.scope
        await stores.set_gateway_secret(scope, secret)
        return _shown(scope)


async def as_it_is_now(scope: Scope) -> Scope:
    """Give the scope with the store as it is after a change of its settings."""
    return replace(scope, store=await stores.find_store(scope.store.public_id))


def _shown(scope: Scope) -> Any:
    store = scope.store
    settings = stores.shown_settings(scope) if scope.actor.holds("view_settings") else None
    return Row(
        id=store.public_id, name=store.name, currency=store.currency, status=store.status, settings=settings
    )


QUERIES = (StoreQueries,)
MUTATIONS = (StoreMutations,)
