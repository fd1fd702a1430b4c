"""An empty store with short helpers to arrange and inspect domain tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import orjson

from domain.catalog.products import create_product
from domain.marketplace.vendors import create_vendor
from domain.payments.methods import PAYMENT_METHOD_RECORDS
from domain.purchase.placement import PlacedOrder, place_order
from domain.shipping.methods import SHIPPING_METHOD_RECORDS
from kernel.ids import uuid7
from kernel.scope import Scope, Store, active_scope
from models.tables.users import User
from tests.harness.scopes import StoreAccess


@dataclass
class DomainStore(StoreAccess):
    """A store in the system's scope whose records are created through the domain; `rows` and `value` pass the store as $1."""

    scope: Scope
    created: int = 0
    methods: dict[str, int] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        return self.scope.store

    # --- Records ---

    def next(self) -> int:
        self.created += 1
        return self.created

    async def product(self, **overrides: Any) -> int:
        number = self.next()
        return await create_product(
            self.scope, {"name": f"Product {number}", "price_cents": 1_000, "stock": 10, **overrides}
        )

    async def vendor(self, **overrides: Any) -> int:
        number = self.next()
        return await create_vendor(
            self.scope, {"name": f"Vendor {number}", "email": f"vendor{number}@example.com", **overrides}
        )

    async def customer(self, **overrides: Any) -> int:
        number = self.next()
        values = {
            "email": f"customer{number}@example.com",
            "firstname": "Ana",
            "lastname": "Souza",
            **overrides,
        }
        with active_scope(self.scope):
            user = User(**values)
            await user.save()
        return int(user.id)

    async def shipping(self, **overrides: Any) -> int:
        return await SHIPPING_METHOD_RECORDS.create(self.scope, {"name": "Correio", **overrides})

    async def payment(self, **overrides: Any) -> int:
        return await PAYMENT_METHOD_RECORDS.create(self.scope, {"name": "Pix", "processor": "pix", **overrides})

    async def delivery(self) -> int:
        """Return the default shipping method of orders; it is free."""
        if "shipping" not in self.methods:
            self.methods["shipping"] = await self.shipping()
        return self.methods["shipping"]

    async def order(
        self, *lines: tuple[int, int] | dict[str, Any], scope: Scope | None = None, **overrides: Any
    ) -> PlacedOrder:
        """Place an order of `(product, quantity)` for a guest, by default as the system."""
        draft = {
            "email": "guest@example.com",
            "shipping_method": await self.delivery(),
            "lines": [line if isinstance(line, dict) else _line(*line) for line in lines],
            **overrides,
        }
        return await place_order(scope or self.scope, draft)

    # --- Inspection ---

    async def rows(self, sql: str, *args: Any) -> list[Any]:
        return await super().rows(sql, self.store.id, *args)

    async def value(self, sql: str, *args: Any) -> Any:
        return await super().value(sql, self.store.id, *args)

    async def figures(self, product: int) -> tuple[int, int]:
        """Return the stock on hand and reserved."""
        [row] = await self.rows("SELECT on_hand, reserved FROM products WHERE tenant_id = $1 AND id = $2", product)
        return row["on_hand"], row["reserved"]

    async def record(self, table: str, number: int) -> dict[str, Any]:
        [row] = await self.rows(f"SELECT * FROM {table} WHERE tenant_id = $1 AND id = $2", number)
        return dict(row)

    async def status(self, order: int) -> str:
        return str(await self.value("SELECT status FROM orders WHERE tenant_id = $1 AND id = $2", order))

    async def force_status(self, order: int, status: str, stock_state: str) -> None:
        """Set an order's status without the lifecycle or any stock change."""
        await self.rows(
            "UPDATE orders SET status = $3, stock_state = $4 WHERE tenant_id = $1 AND id = $2",
            order,
            status,
            stock_state,
        )

    async def history(self, order: int) -> list[tuple[str, str]]:
        records = await self.rows(
            "SELECT from_status, to_status FROM order_status_changes WHERE tenant_id = $1 AND order_id = $2 ORDER BY id",
            order,
        )
        return [(row["from_status"], row["to_status"]) for row in records]

    async def lines(self, order: int) -> list[dict[str, Any]]:
        records = await self.rows(
            "SELECT * FROM order_lines WHERE tenant_id = $1 AND order_id = $2 ORDER BY position", order
        )
        return [dict(row) for row in records]

    async def events(self, subject: UUID | None = None) -> list[dict[str, Any]]:
        records = await self.rows(
            "SELECT name, subject_type, subject_id, sequence, data::text, request_id FROM outbox_events"
            " WHERE tenant_id = $1 AND ($2::uuid IS NULL OR subject_id = $2) ORDER BY id",
            subject,
        )
        return [{**row, "data": orjson.loads(row["data"])} for row in records]

    async def event_names(self, subject: UUID | None = None) -> list[str]:
        return [event["name"] for event in await self.events(subject)]

    async def public_id(self, table: str, number: int) -> UUID:
        records = await self.value(f"SELECT public_id FROM {table} WHERE tenant_id = $1 AND id = $2", number)
        assert isinstance(records, UUID)
        return records


def unknown() -> UUID:
    """Return an unused id."""
    return uuid7()


def codes(error: Any) -> dict[str, str]:
    return dict(error.value.fields)


def _line(product: int, quantity: int) -> dict[str, Any]:
    return {"product": product, "quantity": quantity}


def summed(rows: Sequence[dict[str, Any]], column: str) -> int:
    return sum(row[column] for row in rows)
