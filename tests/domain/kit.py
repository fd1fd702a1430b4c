"""A shop to try things in: short words for what every test of the domain arranges and looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import orjson

from domain.catalog.products import create_product
from domain.marketplace.vendors import create_vendor
from domain.orders.place import Placed, place_order
from domain.payments.methods import create_payment_method
from domain.shipping.methods import create_shipping_method
from kernel.ids import uuid7
from kernel.scope import Actor, ActorKind, Scope, entered
from models import database
from models.people import User


@dataclass
class Shop:
    """One store, seen by the system; `as_…` give the scopes of other callers."""

    scope: Scope
    made: int = 0
    methods: dict[str, int] = field(default_factory=dict)

    # --- Callers ---

    def as_actor(self, kind: ActorKind, *, family: str = "graphql", **known: Any) -> Scope:
        return replace(self.scope, actor=Actor(kind, **known), family=family)

    def as_admin(self, *, family: str = "graphql") -> Scope:
        return self.as_actor(ActorKind.ADMIN, family=family)

    def as_app(self) -> Scope:
        return self.as_actor(ActorKind.APP, family="apps", app_id=7)

    def as_storefront(self) -> Scope:
        return self.as_actor(ActorKind.STOREFRONT)

    def as_vendor(self, vendor: int, *, family: str = "legacy") -> Scope:
        return self.as_actor(ActorKind.VENDOR, family=family, company_id=vendor)

    def as_customer(self, user: int) -> Scope:
        return self.as_actor(ActorKind.CUSTOMER, user_id=user)

    # --- Things ---

    def next(self) -> int:
        self.made += 1
        return self.made

    async def product(self, **given: Any) -> int:
        number = self.next()
        return await create_product(
            self.scope, {"name": f"Product {number}", "price_cents": 1_000, "stock": 10, **given}
        )

    async def vendor(self, **given: Any) -> int:
        number = self.next()
        return await create_vendor(
            self.scope, {"name": f"Vendor {number}", "email": f"vendor{number}@example.com", **given}
        )

    async def customer(self, **given: Any) -> int:
        number = self.next()
        values = {"email": f"customer{number}@example.com", "firstname": "Ana", "lastname": "Souza", **given}
        with entered(self.scope):
            user = User(**values)
            await user.save()
        return int(user.id)

    async def shipping(self, **given: Any) -> int:
        return await create_shipping_method(self.scope, {"name": "Correio", **given})

    async def payment(self, **given: Any) -> int:
        return await create_payment_method(self.scope, {"name": "Pix", "processor": "pix", **given})

    async def delivery(self) -> int:
        """Give the one shipping method that orders use unless told otherwise; it costs nothing."""
        if "shipping" not in self.methods:
            self.methods["shipping"] = await self.shipping()
        return self.methods["shipping"]

    async def order(
        self, *lines: tuple[int, int] | dict[str, Any], scope: Scope | None = None, **given: Any
    ) -> Placed:
        """Place an order of `(product, quantity)` for a guest, by the system unless told otherwise."""
        draft = {
            "email": "guest@example.com",
            "shipping_method": await self.delivery(),
            "lines": [line if isinstance(line, dict) else _line(*line) for line in lines],
            **given,
        }
        return await place_order(scope or self.scope, draft)

    # --- What is there ---

    async def rows(self, sql: str, *args: Any) -> list[Any]:
        with entered(self.scope):
            return await database.rows(sql, self.scope.store.id, *args)

    async def value(self, sql: str, *args: Any) -> Any:
        with entered(self.scope):
            return await database.value(sql, self.scope.store.id, *args)

    async def figures(self, product: int) -> tuple[int, int]:
        """Give what is on hand and what is reserved."""
        [row] = await self.rows(
            "SELECT on_hand, reserved FROM products WHERE tenant_id = $1 AND id = $2", product
        )
        return row["on_hand"], row["reserved"]

    async def record(self, table: str, number: int) -> dict[str, Any]:
        [row] = await self.rows(f"SELECT * FROM {table} WHERE tenant_id = $1 AND id = $2", number)
        return dict(row)

    async def status(self, order: int) -> str:
        return str(await self.value("SELECT status FROM orders WHERE tenant_id = $1 AND id = $2", order))

    async def force_status(self, order: int, status: str, stock_state: str) -> None:
        """Put an order into a state without the lifecycle; the caller sees to the stock."""
        await self.rows(
            "UPDATE orders SET status = $3, stock_state = $4 WHERE tenant_id = $1 AND id = $2",
            order,
            status,
            stock_state,
        )

    async def history(self, order: int) -> list[tuple[str, str]]:
        found = await self.rows(
            "SELECT from_status, to_status FROM order_status_changes WHERE tenant_id = $1 AND order_id = $2 ORDER BY id",
            order,
        )
        return [(row["from_status"], row["to_status"]) for row in found]

    async def lines(self, order: int) -> list[dict[str, Any]]:
        found = await self.rows(
            "SELECT * FROM order_lines WHERE tenant_id = $1 AND order_id = $2 ORDER BY position", order
        )
        return [dict(row) for row in found]

    async def events(self, subject: UUID | None = None) -> list[dict[str, Any]]:
        found = await self.rows(
            "SELECT name, subject_type, subject_id, sequence, data::text, request_id FROM outbox_events"
            " WHERE tenant_id = $1 AND ($2::uuid IS NULL OR subject_id = $2) ORDER BY id",
            subject,
        )
        return [{**row, "data": orjson.loads(row["data"])} for row in found]

    async def event_names(self, subject: UUID | None = None) -> list[str]:
        return [event["name"] for event in await self.events(subject)]

    async def public_id(self, table: str, number: int) -> UUID:
        found = await self.value(f"SELECT public_id FROM {table} WHERE tenant_id = $1 AND id = $2", number)
        assert isinstance(found, UUID)
        return found


def unknown() -> UUID:
    """Give an id that nothing has."""
    return uuid7()


def codes(refusal: Any) -> dict[str, str]:
    return dict(refusal.value.fields)


def _line(product: int, quantity: int) -> dict[str, Any]:
    return {"product": product, "quantity": quantity}


def summed(rows: Sequence[dict[str, Any]], column: str) -> int:
    return sum(row[column] for row in rows)
