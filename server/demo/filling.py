"""Fill a demo store with its shop: sellers, catalogue, ways to pay and deliver, customers, orders, reviews.

Everything goes through the operations that people and apps use, and what concerns money through the gateway's notifications.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote_plus

from server.demo import b2b, carts, choices, depots, sales, telling, terms
from server.demo.acting import StoreOwner
from server.demo.assortment import DemoCatalog, DemoProduct
from server.demo.gateway import DemoGateway, secret_of
from server.demo.population import OPINIONS, DemoCustomer, cnpj, customers
from server.demo.sales import Sale, SaleStep
from server.demo.stores import DemoStore

# The shop opened this long ago; its products came one by one, the newest just now.
OPENED = timedelta(days=200)
_CUSTOMERS_FROM, _CUSTOMERS_UNTIL = timedelta(days=190), timedelta(days=100)
_NEW_PRODUCTS = timedelta(days=6)


@dataclass(slots=True)
class Filled:
    """Keep the ids of what was made, by the keys of the shop's data."""

    vendors: dict[str, str] = field(default_factory=dict)
    categories: dict[str, str] = field(default_factory=dict)
    features: dict[str, str] = field(default_factory=dict)
    payments: dict[str, str] = field(default_factory=dict)
    shippings: dict[str, str] = field(default_factory=dict)
    taxes: list[str] = field(default_factory=list)
    products: list[str] = field(default_factory=list)
    customers: list[str] = field(default_factory=list)


async def fill(owner: StoreOwner, demo: DemoStore, now: datetime) -> None:
    """Make everything the store's shop describes, in the order of its history."""
    shop = demo.shop
    if shop is None:
        return
    made = Filled()
    await _found(owner, shop, made, now - OPENED)
    await depots.open_warehouses(owner, shop, made.vendors, now - OPENED)
    await _stock_shelves(owner, shop, made, now)
    people = _people(demo, shop)
    await _welcome(owner, people, made, now)
    stories = sales.plan(shop, people, now)
    gateway = DemoGateway(owner, await secret_of(owner.store))
    await _sell(owner, gateway, people, stories, made)
    await _hear(owner, shop, people, stories, made, now)
    # After the orders of the past, which chose nothing.
    await choices.offer(owner, shop, made.products, now - OPENED)
    await carts.leave(owner, shop, people, made.products, now)
    await depots.read_inbox(owner, now)
    await telling.tell(owner, people, made.customers, made.products, now)
    await b2b.trade(owner, made.vendors, made.products, made.customers, now)


# --- The shop --------------------------------------------------------------------------------------------------------------


async def _found(owner: StoreOwner, shop: DemoCatalog, made: Filled, at: datetime) -> None:
    for vendor in shop.vendors:
        given = {
            "name": vendor.name,
            "email": vendor.email,
            "cnpj": cnpj(vendor.cnpj),
            "phone": vendor.phone,
            "address": vendor.address,
            "city": vendor.city,
            "state": vendor.state,
            "country": "BR",
            "zipcode": vendor.zipcode,
            "commission": vendor.commission,
            "commission_type": "P",
        }
        made.vendors[vendor.key] = (await owner.do("DemoVendor", at, input=given))["id"]
    for position, category in enumerate(shop.categories):
        place: dict[str, object] = {
            "name": category.name,
            "description": f"<p>{category.text}</p>",
            "position": position,
        }
        if category.parent is not None:
            place["parent_id"] = made.categories[category.parent]
        made.categories[category.key] = (await owner.do("DemoCategory", at, input=place))["id"]
    for position, feature in enumerate(shop.features):
        asked: dict[str, object] = {
            "name": feature.name,
            "type": feature.type,
            "suffix": feature.suffix,
            "position": position,
        }
        if feature.variants:
            asked["variants"] = [{"name": name} for name in feature.variants]
        made.features[feature.key] = (await owner.do("DemoFeature", at, input=asked))["id"]
    await _take_money_and_parcels(owner, shop, made, at)
    await terms.promote(owner, shop, made.categories, at)


async def _take_money_and_parcels(owner: StoreOwner, shop: DemoCatalog, made: Filled, at: datetime) -> None:
    for position, way in enumerate(shop.payments):
        given = {
            "name": way.name,
            "description": way.text,
            "processor": way.processor,
            "settles_at_once": way.settles_at_once,
            "hold_minutes": way.hold_minutes,
            "surcharge_cents": way.surcharge_cents,
            "instructions": way.instructions,
            "processor_params": {"mode": "test", "secret_key": f"sk_test_{way.key}"},
            "position": position,
        }
        made.payments[way.key] = (await owner.do("DemoPaymentMethod", at, input=given))["id"]
    agreed = await terms.settle(owner, at)
    made.taxes += agreed.taxes
    for position, delivery in enumerate(shop.shippings):
        given = {
            "name": delivery.name,
            "delivery_time": delivery.time,
            "base_cents": delivery.base,
            "per_kg_cents": delivery.per_kg,
            "free_from_cents": delivery.free_from,
            "max_weight_grams": delivery.heaviest,
            "rates": terms.rates_of(delivery, agreed, is_express=delivery.key == "expressa"),
            "position": position,
        }
        made.shippings[delivery.key] = (await owner.do("DemoShippingMethod", at, input=given))["id"]


async def _stock_shelves(owner: StoreOwner, shop: DemoCatalog, made: Filled, now: datetime) -> None:
    texts = {category.key: category.text for category in shop.categories}
    for place, product in enumerate(shop.products):
        at = now - OPENED + timedelta(hours=7 * place) if product.sells else now - _NEW_PRODUCTS
        given = {
            "name": product.name,
            "sku": f"{product.vendor[:3].upper()}-{place + 1:03d}",
            "short_description": product.text,
            "description": f"<p>{product.text}</p><p>{texts[product.category]}</p>",
            "status": product.status,
            "price_cents": product.price,
            "compare_at_cents": product.before,
            "stock": product.stock,
            "tracking": "D" if product.download else "B",
            "weight_grams": product.weight,
            "is_edp": product.download,
            "free_shipping": product.free_shipping,
            "vendor_id": made.vendors[product.vendor],
            "category_id": made.categories[product.category],
            "tax_ids": made.taxes,
            "images": _images(product, shop.colour),
            "features": [
                {"feature_id": made.features[key], "value": text} for key, text in product.features.items()
            ],
        }
        made.products.append((await owner.do("DemoProduct", at, input=given))["id"])


def _images(product: DemoProduct, colour: str) -> list[dict[str, object]]:
    """Give links to pictures that a drawing service makes from the name: nothing is fetched here."""
    views = ("", " (detalhe)", " (em uso)")[: product.pictures]
    return [
        {
            "url": f"https://placehold.co/800x800/f3ece2/{colour}/png?text={quote_plus(product.name + view)}",
            "alt": product.name + view,
            "width": 800,
            "height": 800,
        }
        for view in views
    ]


# --- Its customers ---------------------------------------------------------------------------------------------------------


def _people(demo: DemoStore, shop: DemoCatalog) -> list[DemoCustomer]:
    """Give the shop's customers; the first is the one whose credentials are printed, so that it has orders to look at."""
    people = customers(shop.customers, demo.domain)
    for persona in demo.personas:
        if persona.key == "customer":
            first, _, last = persona.name.partition(" ")
            cpf = persona.cpf or people[0].cpf
            people[0] = replace(people[0], firstname=first, lastname=last, email=persona.email, cpf=cpf)
    return people


async def _welcome(owner: StoreOwner, people: Sequence[DemoCustomer], made: Filled, now: datetime) -> None:
    between = (_CUSTOMERS_FROM - _CUSTOMERS_UNTIL) / max(1, len(people))
    for place, customer in enumerate(people):
        given = {
            "email": customer.email,
            "firstname": customer.firstname,
            "lastname": customer.lastname,
            "role": "customer",
            "cpf": customer.cpf,
            "phone": customer.phone,
        }
        at = now - _CUSTOMERS_FROM + place * between
        made.customers.append((await owner.do("DemoUser", at, input=given))["id"])


async def _sell(
    owner: StoreOwner,
    gateway: DemoGateway,
    people: Sequence[DemoCustomer],
    stories: Sequence[Sale],
    made: Filled,
) -> None:
    """Play everything that happened to all orders in the order in which it happened, and two things the gateway got wrong."""
    happenings: list[tuple[datetime, int, SaleStep | None]] = []
    for place, sale in enumerate(stories):
        happenings.append((sale.placed_at, place, None))
        happenings += [(sale.placed_at + step.after, place, step) for step in sale.steps]
    orders: dict[int, dict[str, object]] = {}
    for at, place, step in sorted(happenings, key=lambda happening: (happening[0], happening[1])):
        if step is None:
            orders[place] = await _place(owner, people, stories[place], made)
        else:
            await _happen(owner, gateway, stories[place], orders[place], step, at)
    await _go_wrong(gateway, stories, orders)


async def _go_wrong(
    gateway: DemoGateway, stories: Sequence[Sale], orders: Mapping[int, Mapping[str, Any]]
) -> None:
    """Let the gateway tell of an order that is not there, and too late of a payment that failed."""
    delivered = [place for place, sale in enumerate(stories) if sale.steps and sale.steps[-1].kind == "C"]
    for place in delivered[-1:]:
        sale, order = stories[place], orders[place]
        at = sale.placed_at + sale.steps[-1].after
        await gateway.tell("charge.payment_failed", at, order, sale.payment.processor)
        unknown = {**order, "id": "PDV-0042", "number": "PDV-0042"}
        await gateway.tell("charge.paid", at, unknown, sale.payment.processor)


async def _place(
    owner: StoreOwner, people: Sequence[DemoCustomer], sale: Sale, made: Filled
) -> dict[str, object]:
    given = {
        "customer_id": made.customers[sale.customer],
        "items": [
            {"product_id": made.products[line.product], "quantity": line.quantity} for line in sale.lines
        ],
        "payment_method_id": made.payments[sale.payment.key],
        "shipping_method_id": made.shippings[sale.shipping.key],
        "shipping_address": people[sale.customer].address,
        "notes": sale.notes,
    }
    if sale.starts_open:
        given["status"] = "O"
    order: dict[str, object] = await owner.do("DemoOrder", sale.placed_at, input=given)
    return order


async def _happen(
    owner: StoreOwner,
    gateway: DemoGateway,
    sale: Sale,
    order: dict[str, object],
    step: SaleStep,
    at: datetime,
) -> None:
    if step.kind == "pay":
        await gateway.tell("charge.paid", at, order, sale.payment.processor)
    elif step.kind == "refund":
        total = order["total_cents"]
        await gateway.tell("charge.refunded", at, order, sale.payment.processor, canceled_amount=total)
    elif step.kind == "D":
        await gateway.tell("charge.payment_failed", at, order, sale.payment.processor)
    elif step.kind == "ship":
        items = order["items"]
        assert isinstance(items, list)
        given = {
            "order_id": order["id"],
            "lines": [{"line_id": items[0]["id"], "quantity": 1}],
            "tracking_number": step.tracking_code,
            "carrier": step.carrier,
        }
        await owner.do("DemoShipment", at, input=given)
    else:
        await owner.do(
            "DemoOrderMove",
            at,
            id=order["id"],
            status=step.kind,
            reason=step.reason,
            restock=step.restock,
            tracking_code=step.tracking_code or None,
            carrier=step.carrier or None,
        )


async def _hear(
    owner: StoreOwner,
    shop: DemoCatalog,
    people: Sequence[DemoCustomer],
    stories: Sequence[Sale],
    made: Filled,
    now: datetime,
) -> None:
    """Let those who got their orders say what they think; the last one waits for approval."""
    got = [each for each in sales.bought_products(stories, shop.products) if each[2] < now][: shop.reviews]
    for place, (product, customer, at) in enumerate(got):
        opinion = OPINIONS[place % len(OPINIONS)]
        given = {
            "product_id": made.products[product],
            "customer_id": made.customers[customer],
            "name": people[customer].firstname,
            "message": opinion.text,
            "rating": opinion.rating,
            "status": "P" if place == len(got) - 1 else "A",
        }
        await owner.do("DemoReview", at, input=given)
