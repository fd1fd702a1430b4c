"""Execute operations in a demo store as its owner, at any point in time, through the same entry point as the facades."""

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
from kernel.scope import Actor, ActorKind, Scope, Store, active_scope
from resolvers.execute import FacadeOperation, execute, load_operations

OPERATIONS = Path(__file__).parent / "operations"


@cache
def _irregular() -> Mapping[str, FacadeOperation]:
    return load_operations(OPERATIONS)


@cache
def _operation(name: str) -> FacadeOperation:
    """Return the operation with the name of its root field: one of the folder, or a mutation that returns the id of a record."""
    operation = _irregular().get(name)
    return operation or load_operations(documents=lambda _: {name: f"mutation {name} {{ {name} {{ id }} }}"})[name]


class DemoOwner:
    """Act as a store's owner, who has all privileges."""

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
        """Return a scope like a request of the owner at that time (default: now)."""
        return Scope(
            store=self.store, actor=self._actor, request_id=f"demo-{uuid7()}", now=at or now(), family="graphql"
        )

    async def execute(self, operation: str, at: datetime | None = None, /, **variables: Any) -> Any:
        """Execute the operation of a root field and return the field's value."""
        document = _operation(operation)
        scope = self.scope(at)
        with active_scope(scope):
            data = await execute(scope, document, variables)
        return data[document.fields[0]]

    async def create(self, entity: str, at: datetime, /, **fields: Any) -> str:
        """Create a record of an entity with these input fields and return its id."""
        created: dict[str, str] = await self.execute(f"{entity}_create", at, input=fields)
        return created["id"]
