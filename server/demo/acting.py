"""Act in a demo store as its owner, at whatever moment the story needs, through the door that every facade uses."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from auth.privileges import ALL
from domain.people.accounts import UserRef
from kernel.clock import now
from kernel.ids import uuid7
from kernel.scope import Actor, ActorKind, Scope, Store, entered
from resolvers.execute import FacadeOperation, execute, load

OPERATIONS = Path(__file__).parent / "operations"


@cache
def operations() -> Mapping[str, FacadeOperation]:
    """Load the demo's operations, once."""
    return load(OPERATIONS)


class StoreOwner:
    """Act as a store's owner, who may do everything that an administrator can."""

    def __init__(self, store: Store, user: UserRef) -> None:
        self.store = store
        self.user = user
        self._actor = Actor(
            ActorKind.ADMIN,
            user_id=user.id,
            user_public_id=user.public_id,
            privileges=ALL,
            is_owner=True,
            credential=f"user:{user.id}",
        )

    def scope(self, at: datetime | None = None) -> Scope:
        """Give a scope as a request of the owner's would have at that moment, or now."""
        return Scope(
            store=self.store,
            actor=self._actor,
            request_id=f"demo-{uuid7()}",
            now=at or now(),
            family="graphql",
        )

    async def do(self, operation: str, at: datetime | None = None, /, **variables: Any) -> Any:
        """Execute an operation and give what its root field shows."""
        wanted = operations()[operation]
        scope = self.scope(at)
        with entered(scope):
            data = await execute(scope, wanted, variables)
        return data[wanted.fields[0]]
