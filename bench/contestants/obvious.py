"""The obvious server: Strawberry, Tortoise and aiodataloader as in their tutorials.

Its own models on the same tables (only the columns used), Strawberry's view for aiohttp, and a dataloader per relation and request. Without
authentication and rate limits.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import jwt
import strawberry
import uvloop
from aiodataloader import DataLoader
from aiohttp import web
from argon2 import PasswordHasher, Type
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from strawberry.aiohttp.views import GraphQLView
from strawberry.scalars import JSON
from strawberry.schema.config import StrawberryConfig
from tortoise import Tortoise, fields
from tortoise.expressions import F
from tortoise.models import Model
from tortoise.transactions import in_transaction

STORE = int(os.environ["BENCH_STORE"])

BigInt: Any = strawberry.scalar(int, name="BigInt", serialize=int, parse_value=int)

# --- Models ------------------------------------------------------------------------------------------------------------------


class CategoryRow(Model):
    id = fields.BigIntField(primary_key=True)
    tenant_id = fields.BigIntField()
    public_id = fields.UUIDField()
    name = fields.TextField()

    class Meta:
        table = "categories"


class ProductRow(Model):
    id = fields.BigIntField(primary_key=True)
    tenant_id = fields.BigIntField()
    public_id = fields.UUIDField()
    category_id = fields.BigIntField(null=True)
    vendor_id = fields.BigIntField(null=True)
    name = fields.TextField()
    sku = fields.TextField()
    price_cents = fields.BigIntField()
    on_hand = fields.BigIntField()
    reserved = fields.BigIntField()
    weight_grams = fields.BigIntField()
    created_at = fields.DatetimeField()
    deleted_at = fields.DatetimeField(null=True)

    class Meta:
        table = "products"


class ImageRow(Model):
    id = fields.BigIntField(primary_key=True)
    tenant_id = fields.BigIntField()
    product_id = fields.BigIntField()
    url = fields.TextField()
    alt = fields.TextField()
    position = fields.IntField()

    class Meta:
        table = "product_images"


class UserRow(Model):
    id = fields.BigIntField(primary_key=True)
    tenant_id = fields.BigIntField()
    public_id = fields.UUIDField()
    firstname = fields.TextField()
    lastname = fields.TextField()
    email = fields.TextField()
    password_hash = fields.TextField(null=True)
    last_login_at = fields.DatetimeField(null=True)
    deleted_at = fields.DatetimeField(null=True)

    class Meta:
        table = "users"


class OrderRow(Model):
    id = fields.BigIntField(primary_key=True, generated=True)
    tenant_id = fields.BigIntField()
    public_id = fields.UUIDField()
    user_id = fields.BigIntField(null=True)
    payment_method_id = fields.BigIntField(null=True)
    shipping_method_id = fields.BigIntField(null=True)
    status = fields.TextField()
    stock_state = fields.TextField()
    subtotal_cents = fields.BigIntField()
    shipping_cents = fields.BigIntField()
    total_cents = fields.BigIntField()
    email = fields.TextField()
    firstname = fields.TextField()
    lastname = fields.TextField()
    created_at = fields.DatetimeField(auto_now_add=True)
    deleted_at = fields.DatetimeField(null=True)

    class Meta:
        table = "orders"


class LineRow(Model):
    id = fields.BigIntField(primary_key=True, generated=True)
    tenant_id = fields.BigIntField()
    public_id = fields.UUIDField()
    order_id = fields.BigIntField()
    position = fields.IntField()
    product_id = fields.BigIntField(null=True)
    vendor_id = fields.BigIntField(null=True)
    product_name = fields.TextField()
    product_code = fields.TextField()
    quantity = fields.BigIntField()
    price_cents = fields.BigIntField()
    base_price_cents = fields.BigIntField()
    weight_grams = fields.BigIntField()

    class Meta:
        table = "order_lines"


class ChangeRow(Model):
    id = fields.BigIntField(primary_key=True, generated=True)
    tenant_id = fields.BigIntField()
    public_id = fields.UUIDField()
    order_id = fields.BigIntField()
    to_status = fields.TextField()
    actor_kind = fields.TextField()

    class Meta:
        table = "order_status_changes"


class MethodRow(Model):
    id = fields.BigIntField(primary_key=True)
    tenant_id = fields.BigIntField()
    public_id = fields.UUIDField()

    class Meta:
        abstract = True


class PaymentRow(MethodRow):
    surcharge_cents = fields.BigIntField()

    class Meta:
        table = "payment_methods"


class ShippingRow(MethodRow):
    base_cents = fields.BigIntField()

    class Meta:
        table = "shipping_methods"


class SequenceRow(Model):
    id = fields.BigIntField(primary_key=True, generated=True)
    tenant_id = fields.BigIntField()
    public_id = fields.UUIDField()
    subject_type = fields.TextField()
    subject_id = fields.UUIDField()
    latest_number = fields.BigIntField(source_field="latest")

    class Meta:
        table = "event_sequences"


class EventRow(Model):
    id = fields.BigIntField(primary_key=True, generated=True)
    tenant_id = fields.BigIntField()
    public_id = fields.UUIDField()
    name = fields.TextField()
    subject_type = fields.TextField()
    subject_id = fields.UUIDField()
    sequence = fields.BigIntField()
    data: Any = fields.JSONField()

    class Meta:
        table = "outbox_events"


class SessionRow(Model):
    id = fields.BigIntField(primary_key=True, generated=True)
    tenant_id = fields.BigIntField()
    public_id = fields.UUIDField()
    user_id = fields.BigIntField()
    expires_at = fields.DatetimeField()

    class Meta:
        table = "sessions"


class RefreshRow(Model):
    id = fields.BigIntField(primary_key=True, generated=True)
    tenant_id = fields.BigIntField()
    public_id = fields.UUIDField()
    session_id = fields.BigIntField()
    token_hash = fields.BinaryField()
    expires_at = fields.DatetimeField()

    class Meta:
        table = "refresh_tokens"


# --- Dataloaders -----------------------------------------------------------------------------------------------------------------


class Categories(DataLoader[int, Any]):
    async def batch_load_fn(self, keys: list[int]) -> list[Any]:
        rows = {row.id: row for row in await CategoryRow.filter(tenant_id=STORE, id__in=keys)}
        return [rows.get(key) for key in keys]


class Users(DataLoader[int, Any]):
    async def batch_load_fn(self, keys: list[int]) -> list[Any]:
        rows = {row.id: row for row in await UserRow.filter(tenant_id=STORE, id__in=keys)}
        return [rows.get(key) for key in keys]


class Images(DataLoader[int, Any]):
    async def batch_load_fn(self, keys: list[int]) -> list[Any]:
        rows = defaultdict(list)
        for row in await ImageRow.filter(tenant_id=STORE, product_id__in=keys).order_by("position", "id"):
            rows[row.product_id].append(row)
        return [rows[key] for key in keys]


class Lines(DataLoader[int, Any]):
    async def batch_load_fn(self, keys: list[int]) -> list[Any]:
        rows = defaultdict(list)
        for row in await LineRow.filter(tenant_id=STORE, order_id__in=keys).order_by("position"):
            rows[row.order_id].append(row)
        return [rows[key] for key in keys]


# --- Types -------------------------------------------------------------------------------------------------------------------


@strawberry.type
class Category:
    id: strawberry.ID
    name: str


@strawberry.type
class Image:
    url: str
    alt: str


@strawberry.type
class Product:
    row: strawberry.Private[Any]
    id: strawberry.ID
    name: str
    price_cents: BigInt

    @strawberry.field
    async def category(self, info: strawberry.Info) -> Category | None:
        row = await info.context["categories"].load(self.row.category_id)
        return None if row is None else Category(id=strawberry.ID(str(row.public_id)), name=row.name)

    @strawberry.field
    async def images(self, info: strawberry.Info) -> list[Image]:
        return [Image(url=row.url, alt=row.alt) for row in await info.context["images"].load(self.row.id)]


@strawberry.type
class Customer:
    id: strawberry.ID
    name: str
    email: str


@strawberry.type
class Line:
    name: str
    quantity: BigInt
    price_cents: BigInt


@strawberry.type
class Order:
    row: strawberry.Private[Any]
    id: strawberry.ID
    number: BigInt
    status: str
    total_cents: BigInt

    @strawberry.field
    async def customer(self, info: strawberry.Info) -> Customer:
        row = await info.context["users"].load(self.row.user_id)
        return Customer(id=strawberry.ID(str(row.public_id)), name=f"{row.firstname} {row.lastname}", email=row.email)

    @strawberry.field
    async def items(self, info: strawberry.Info) -> list[Line]:
        return [
            Line(name=row.product_name, quantity=row.quantity, price_cents=row.price_cents)
            for row in await info.context["lines"].load(self.row.id)
        ]


def _product(row: ProductRow) -> Product:
    return Product(row=row, id=strawberry.ID(str(row.public_id)), name=row.name, price_cents=row.price_cents)


def _order(row: OrderRow) -> Order:
    return Order(
        row=row,
        id=strawberry.ID(str(row.public_id)),
        number=row.id,
        status=row.status,
        total_cents=row.total_cents,
    )


@strawberry.type
class Query:
    @strawberry.field
    async def products(self, limit: int = 20) -> list[Product]:
        rows = ProductRow.filter(tenant_id=STORE, deleted_at=None).order_by("-created_at", "-id").limit(limit)
        return [_product(row) for row in await rows]

    @strawberry.field
    async def product(self, id: strawberry.ID) -> Product | None:
        row = await ProductRow.get_or_none(tenant_id=STORE, public_id=UUID(id), deleted_at=None)
        return None if row is None else _product(row)

    @strawberry.field
    async def orders(self, limit: int = 20) -> list[Order]:
        rows = OrderRow.filter(tenant_id=STORE, deleted_at=None).order_by("-created_at", "-id").limit(limit)
        return [_order(row) for row in await rows]

    @strawberry.field
    async def order(self, id: strawberry.ID) -> Order | None:
        row = await OrderRow.get_or_none(tenant_id=STORE, public_id=UUID(id), deleted_at=None)
        return None if row is None else _order(row)


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def order_create(self, input: JSON) -> Order:
        values: Any = input
        async with in_transaction():
            customer = await UserRow.get(tenant_id=STORE, public_id=UUID(values["customer_id"]))
            payment = await PaymentRow.get(tenant_id=STORE, public_id=UUID(values["payment_method_id"]))
            shipping = await ShippingRow.get(tenant_id=STORE, public_id=UUID(values["shipping_method_id"]))
            lines = []
            for item in values["items"]:
                product = await ProductRow.get(tenant_id=STORE, public_id=UUID(item["product_id"]), deleted_at=None)
                lines.append((product, item["quantity"]))
            subtotal = sum(product.price_cents * quantity for product, quantity in lines)
            order = await OrderRow.create(
                tenant_id=STORE,
                public_id=uuid4(),
                user_id=customer.id,
                payment_method_id=payment.id,
                shipping_method_id=shipping.id,
                status="O",
                stock_state="R",
                subtotal_cents=subtotal,
                shipping_cents=shipping.base_cents,
                total_cents=subtotal + shipping.base_cents + payment.surcharge_cents,
                email=customer.email,
                firstname=customer.firstname,
                lastname=customer.lastname,
            )
            for position, (product, quantity) in enumerate(lines, start=1):
                _ = await LineRow.create(
                    tenant_id=STORE,
                    public_id=uuid4(),
                    order_id=order.id,
                    position=position,
                    product_id=product.id,
                    vendor_id=product.vendor_id,
                    product_name=product.name,
                    product_code=product.sku,
                    quantity=quantity,
                    price_cents=product.price_cents,
                    base_price_cents=product.price_cents,
                    weight_grams=product.weight_grams,
                )
            _ = await ChangeRow.create(
                tenant_id=STORE, public_id=uuid4(), order_id=order.id, to_status="O", actor_kind="admin"
            )
            for product, quantity in sorted(lines, key=lambda pair: pair[0].id):
                changed = await ProductRow.filter(
                    tenant_id=STORE, id=product.id, on_hand__gte=F("reserved") + quantity
                ).update(reserved=F("reserved") + quantity)
                if not changed:
                    raise ValueError("out of stock")
            await _emit(order, customer, lines)
        return _order(order)


async def _emit(order: OrderRow, customer: UserRow, lines: list[tuple[ProductRow, int]]) -> None:
    _ = await SequenceRow.create(
        tenant_id=STORE, public_id=uuid4(), subject_type="order", subject_id=order.public_id, latest_number=1
    )
    _ = await EventRow.create(
        tenant_id=STORE,
        public_id=uuid4(),
        name="order.created",
        subject_type="order",
        subject_id=order.public_id,
        sequence=1,
        data={
            "id": str(order.public_id),
            "status": order.status,
            "total_cents": order.total_cents,
            "customer": {"id": str(customer.public_id), "email": customer.email},
            "items": [{"name": product.name, "quantity": quantity} for product, quantity in lines],
        },
    )


# --- Serving -----------------------------------------------------------------------------------------------------------------


class View(GraphQLView[Any, Any]):
    async def get_context(self, request: Any, response: Any) -> Any:
        return {
            "categories": Categories(),
            "images": Images(),
            "users": Users(),
            "lines": Lines(),
        }


class SignIn:
    def __init__(self) -> None:
        self._hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)
        self._key = Ed25519PrivateKey.generate()

    async def __call__(self, request: web.Request) -> web.Response:
        values = await request.json()
        user = await UserRow.get(tenant_id=STORE, email=values["email"], deleted_at=None)
        assert user.password_hash is not None
        self._hasher.verify(user.password_hash, values["password"])
        refresh_token, now = secrets.token_urlsafe(32), datetime.now(UTC)
        async with in_transaction():
            user.last_login_at = now
            await user.save(update_fields=["last_login_at"])
            session = await SessionRow.create(
                tenant_id=STORE, public_id=uuid4(), user_id=user.id, expires_at=now + timedelta(days=30)
            )
            _ = await RefreshRow.create(
                tenant_id=STORE,
                public_id=uuid4(),
                session_id=session.id,
                token_hash=sha256(refresh_token.encode()).digest(),
                expires_at=now + timedelta(days=30),
            )
        expires_at = now + timedelta(minutes=15)
        claims = {"sub": str(user.public_id), "sid": str(session.public_id), "iat": now, "exp": expires_at}
        token = jwt.encode(claims, self._key, algorithm="EdDSA")
        return web.json_response(
            {"access_token": token, "refresh_token": refresh_token, "expires_at": expires_at.isoformat()}
        )


async def _ready(_request: web.Request) -> web.Response:
    return web.json_response({})


async def application() -> web.Application:
    await Tortoise.init(
        config={
            "connections": {
                "default": {
                    "engine": "tortoise.backends.asyncpg",
                    "credentials": {
                        "host": os.environ["BENCH_SOCKET"],
                        "port": int(os.environ["BENCH_PG_PORT"]),
                        "database": os.environ["BENCH_DATABASE"],
                        "user": os.environ["BENCH_USER"],
                        "password": None,
                        "minsize": 8,
                        "maxsize": 10,
                        "server_settings": {
                            "role": "vitrine_app",
                            "vitrine.tenant": str(STORE),
                            "jit": "off",
                        },
                    },
                }
            },
            "apps": {"bench": {"models": [__name__], "default_connection": "default"}},
            "use_tz": True,
        },
        _enable_global_fallback=True,
    )
    schema = strawberry.Schema(Query, Mutation, config=StrawberryConfig(auto_camel_case=False))
    app = web.Application()
    app.router.add_get("/", _ready)
    app.router.add_route("*", "/graphql", View(schema=schema, graphql_ide=None))
    app.router.add_post("/a1", SignIn())
    return app


if __name__ == "__main__":
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    web.run_app(application(), host="127.0.0.1", port=int(os.environ["BENCH_PORT"]), access_log=None, print=None)
