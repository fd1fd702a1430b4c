"""A store in which every writing operation touches the same few records, and the clients that send the operations."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol
from uuid import uuid4

from graphql import get_named_type

from resolvers import root

STAFF, SHOPPER = "staff", "shopper"
STOCK = 200
USES = 20
LIMIT_CENTS = 300_000
HOLD_MINUTES = 30
POINTS = 400
OWED_CENTS = 1_000_000
GATEWAY_SECRET = "the gateway's secret of the races"
PLACED = "order { id number }"
ADDRESS = {"name": "Ana", "street": "Rua A", "number": "1", "city": "São Paulo", "state": "SP", "zipcode": "01001-000"}


class Refused(Exception):
    """An operation was refused; `code` is its GraphQL error code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Client(Protocol):
    """Sends operations to one store; each raises `Refused`."""

    async def mutate(self, caller: str, document: str, variables: Mapping[str, Any]) -> Any:
        """Execute a mutation as `STAFF` or `SHOPPER`; return the data of its field."""

    async def notify(self, body: bytes, signature: str) -> None:
        """Send a notification of the payment gateway."""

    async def expire(self, minutes: int) -> None:
        """Expire unpaid orders as if so many minutes had passed."""

    async def write_ledgers(self) -> None:
        """Write the ledgers that are left to the job."""

    async def rows(self, sql: str, *params: Any) -> Sequence[Any]:
        """Read rows; `$1` is the store's number."""


@cache
def document(name: str, arguments: tuple[str, ...], selection: str = "") -> str:
    """Return the mutation with these arguments as variables, which selects the id of the result by default."""
    mutations = root.public_schema().mutation_type
    assert mutations is not None
    declared = mutations.fields[name]
    fields = selection or ("id" if "id" in get_named_type(declared.type).fields else "__typename")
    if not arguments:
        return f"mutation {{ {name} {{ {fields} }} }}"
    variables = ", ".join(f"${argument}: {declared.args[argument].type}" for argument in arguments)
    passed = ", ".join(f"{argument}: ${argument}" for argument in arguments)
    return f"mutation ({variables}) {{ {name}({passed}) {{ {fields} }} }}"


@dataclass(frozen=True)
class PlacedOrder:
    """An order: its id and its number, by which the payment gateway names it."""

    id: str
    number: int


@dataclass(frozen=True)
class FilledCart:
    """A cart ready for checkout, with the ids of its items."""

    id: str
    items: Sequence[str]


@dataclass
class Arena:
    """The records that the operations race for; `size` is the number of orders and carts."""

    client: Client
    size: int
    marker: str = field(default_factory=lambda: uuid4().hex[:12])
    products: list[str] = field(default_factory=list)
    spare: list[str] = field(default_factory=list)
    choices: dict[str, str] = field(default_factory=dict)
    combination: str = ""
    warehouses: list[str] = field(default_factory=list)
    customer: str = ""
    vendor: str = ""
    payment: str = ""
    shipping: str = ""
    promotions: list[str] = field(default_factory=list)
    limit: str = ""
    orders: list[PlacedOrder] = field(default_factory=list)
    carts: list[FilledCart] = field(default_factory=list)

    @property
    def coupon(self) -> str:
        return f"DEZ{self.marker}"

    @property
    def points_input(self) -> dict[str, Any]:
        return {"user_id": self.customer, "points": POINTS // 4}

    @property
    def limit_input(self) -> dict[str, Any]:
        return {"user_id": self.customer, "vendor_id": self.vendor, "limit_cents": LIMIT_CENTS}

    def order(self, number: int) -> PlacedOrder:
        return self.orders[number % self.size]

    def cart(self, number: int) -> FilledCart:
        return self.carts[number % self.size]

    def lines(self, number: int, quantity: int = 1) -> list[dict[str, Any]]:
        """Return order lines of the products, in opposite order for every other number."""
        lines: list[dict[str, Any]] = [
            {"product_id": self.products[0], "quantity": quantity},
            {"product_id": self.products[1], "quantity": 1},
            {"product_id": self.products[2], "quantity": 1, "options": self.choices},
        ]
        return lines[:: -1 if number % 2 else 1]

    def draft(self, number: int, **values: Any) -> dict[str, Any]:
        """Return the input of an order of the customer."""
        address = {"state": "SP", "city": "São Paulo", "zipcode": "01001000"}
        return {
            "customer_id": self.customer,
            "payment_method_id": self.payment,
            "shipping_method_id": self.shipping,
            "shipping_address": address,
            "items": self.lines(number),
            **values,
        }

    def stocked_rows(self, number: int) -> list[dict[str, Any]]:
        """Return the rows of an import of the products, in opposite order for every other number."""
        rows = [
            {"id": product, "name": "Copo", "price_cents": 1_000, "stock": STOCK, "vendor_id": self.vendor}
            for product in self.products
        ]
        return rows[:: -1 if number % 2 else 1]

    def divided(self, first: int, **values: str) -> list[dict[str, Any]]:
        """Return the stock by warehouse, of which the first has that many units."""
        places = zip(self.warehouses, (first, STOCK - first), strict=True)
        return [{"warehouse_id": warehouse, "quantity": quantity, **values} for warehouse, quantity in places]

    async def mutate(self, caller: str, name: str, selection: str = "", /, **arguments: Any) -> Any:
        return await self.client.mutate(caller, document(name, tuple(arguments), selection), arguments)

    async def create(self, record: str, /, **values: Any) -> str:
        return str((await self.mutate(STAFF, f"{record}_create", input=values))["id"])


async def create_arena(client: Client, size: int) -> Arena:
    """Create the records of a race; several arenas of one store share nothing but the store."""
    arena = Arena(client, size)
    mark = arena.marker
    arena.vendor = await arena.create("vendor", name=f"Loja {mark}", email=f"{mark}@example.com")
    arena.products = [await _product(arena, number) for number in range(3)]
    arena.spare = [await _product(arena, 10 + number) for number in range(size)]
    size_option = await arena.mutate(
        STAFF,
        "option_create",
        "id variants { id }",
        input={"name": "Tamanho", "product_id": arena.products[2], "variants": [{"name": "P"}, {"name": "G"}]},
    )
    option, variant = size_option["id"], size_option["variants"][0]["id"]
    arena.choices = {option: variant}
    choice = [{"option_id": option, "variant_id": variant}]
    arena.combination = await arena.create("combination", product_id=arena.products[2], choices=choice, stock=STOCK)
    arena.warehouses = [await arena.create("warehouse", name=f"{mark} {n}", vendor_id=arena.vendor) for n in range(2)]
    divided = arena.divided(3)
    await arena.mutate(STAFF, "product_warehouse_stock_set", id=arena.products[0], stock=divided)
    divided = arena.divided(3, combination_id=arena.combination)
    await arena.mutate(STAFF, "product_warehouse_stock_set", id=arena.products[2], stock=divided)
    arena.customer = await arena.create(
        "user", email=f"cliente-{mark}@example.com", firstname="Ana", role="customer", points=POINTS
    )
    await arena.mutate(STAFF, "ledger_adjust", vendor_id=arena.vendor, amount_cents=OWED_CENTS, reason="Saldo anterior")
    arena.payment = await arena.create("payment_method", name="Pix", processor="pix", hold_minutes=HOLD_MINUTES)
    for kind in ("PIX", "CARD"):
        await arena.create("payment_method", name=kind, processor="sandbox", kind=kind, hold_minutes=HOLD_MINUTES)
    arena.shipping = await arena.create("shipping_method", name="Correio")
    for values in (
        {"bonuses": {"order_discount": "10%"}},
        {"coupon_code": arena.coupon, "usage_limit": USES, "bonuses": {"order_discount": "5%"}},
        {"bonuses": {"order_discount": "1%", "give_points": 7}},
    ):
        # Other arenas of the store don't share the promotions.
        mine = {"conditions": {"products": arena.products}}
        arena.promotions.append(await arena.create("promotion", name="Oferta", **mine, **values))
    arena.limit = (await arena.mutate(STAFF, "order_limit_set", input=arena.limit_input))["id"]
    arena.carts = await asyncio.gather(*(_fill_cart(arena) for _ in range(2 * size)))
    placed = [_place(arena, number) if number % 2 else _check_out(arena) for number in range(size)]
    arena.orders = await asyncio.gather(*placed)
    return arena


async def _product(arena: Arena, number: int) -> str:
    return await arena.create(
        "product", name=f"Copo {number}", price_cents=1_000, stock=STOCK, vendor_id=arena.vendor, sku=f"{arena.marker}-{number}"
    )  # fmt: skip


async def _fill_cart(arena: Arena) -> FilledCart:
    items = [{"product_id": product, "quantity": 1} for product in arena.products[:2]]
    values = {"items": items, "customer_email": "ana@example.com"}
    cart = await arena.mutate(SHOPPER, "cart_create", "id items { id }", input=values)
    await arena.mutate(SHOPPER, "cart_set_address", id=cart["id"], input=ADDRESS)
    await arena.mutate(SHOPPER, "cart_set_shipping_option", id=cart["id"], shipping_id=arena.shipping)
    return FilledCart(cart["id"], [item["id"] for item in cart["items"]])


async def _place(arena: Arena, number: int) -> PlacedOrder:
    order = await arena.mutate(STAFF, "order_create", "id number", input=arena.draft(number))
    return PlacedOrder(order["id"], order["number"])


async def _check_out(arena: Arena) -> PlacedOrder:
    """Place an order through a storefront, which expires without a payment."""
    cart = arena.carts.pop()
    placed = await arena.mutate(SHOPPER, "cart_checkout", PLACED, id=cart.id, input={"payment_id": arena.payment})
    return PlacedOrder(placed["order"]["id"], placed["order"]["number"])
