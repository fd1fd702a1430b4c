"""Create the data of a demo store: vendors, catalog, payment and shipping methods, customers, orders, reviews.

Everything goes through the operations that users and apps use, and payments through the gateway's notifications.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from server.demo import b2b, carts, content, menus, options, orders, payments, pricing, warehouses
from server.demo.catalog import COMMON, DemoCatalog, input_fields
from server.demo.customers import DemoCustomer, cnpj, create_customers
from server.demo.gateway import DemoGateway, ensure_secret
from server.demo.orders import DemoOrder, DemoOrderStep
from server.demo.owner import DemoOwner
from server.demo.pictures.pictures import banner, category_picture, logo, product_pictures, store_logo
from server.demo.pictures.uploads import StorePictures, upload_pictures
from server.demo.stores import DemoStore

# Age of the store; its products were created over time, those in no order first: lists begin with what can be bought.
STORE_AGE = timedelta(days=200)
_FIRST_CUSTOMER_AGE, _LAST_CUSTOMER_AGE = timedelta(days=190), timedelta(days=100)


@dataclass(slots=True)
class CreatedIds:
    """The ids of created rows, by the keys of the catalog."""

    vendors: dict[str, str] = field(default_factory=dict)
    categories: dict[str, str] = field(default_factory=dict)
    features: dict[str, str] = field(default_factory=dict)
    payments: dict[str, str] = field(default_factory=dict)
    shippings: dict[str, str] = field(default_factory=dict)
    taxes: list[str] = field(default_factory=list)
    products: list[str] = field(default_factory=list)
    customers: list[str] = field(default_factory=list)


# A vendor that waits for its approval.
_APPLICANT = {
    "name": "Fios do Sertão",
    "email": "contato@fiosdosertao.example",
    "status": "P",
    "city": "Crato",
    "state": "CE",
    "country": "BR",
}


async def seed_store(owner: DemoOwner, demo: DemoStore, now: datetime, pictures_folder: Path | None) -> None:
    """Create all data of the store's catalog, in chronological order.

    The folder keeps rendered pictures for the next demo store; without one the store has none.
    """
    catalog = demo.catalog
    if catalog is None:
        return
    ids = CreatedIds()
    await owner.execute("store_settings_update", now - STORE_AGE, settings={"image_copies": True})
    pictures = await upload_pictures(owner, catalog, pictures_folder, now - STORE_AGE)
    shown = pictures.image(store_logo(catalog), demo.name)
    await owner.execute("store_update", now - STORE_AGE, input={"logo": shown})
    await _create_catalog(owner, catalog, ids, pictures, now - STORE_AGE)
    await warehouses.create_warehouses(owner, catalog, ids.vendors, now - STORE_AGE)
    await _create_products(owner, catalog, ids, pictures, now)
    await _create_collections(owner, catalog, ids, pictures, now)
    customer_data = _customers_of(demo, catalog)
    await _create_users(owner, customer_data, ids, now)
    planned_orders = orders.plan_orders(catalog, customer_data, now)
    gateway = DemoGateway(owner, await ensure_secret(owner.store))
    await _create_orders(owner, gateway, customer_data, planned_orders, ids)
    await _create_reviews(owner, catalog, customer_data, planned_orders, ids, now)
    # After the past orders, which have no options.
    await options.create_options(owner, catalog, ids.products, now - STORE_AGE)
    await carts.create_carts(owner, catalog, customer_data, ids.products, now)
    await warehouses.mark_inbox_read(owner, now)
    page_ids = await content.create_content(
        owner, customer_data, ids.customers, ids.products, pictures.image(banner(catalog), demo.name), now
    )
    await menus.create_menus(owner, catalog, ids.categories, page_ids, now - STORE_AGE)
    await payments.connect_sandbox(owner, catalog, ids.payments, now)
    await payments.pay_open_order(owner, now)
    await owner.create("vendor", now, **_APPLICANT)
    await b2b.create_b2b_data(owner, ids.vendors, ids.products, ids.customers, now)


# --- Catalog ---------------------------------------------------------------------------------------------------------------


async def _create_catalog(
    owner: DemoOwner, catalog: DemoCatalog, ids: CreatedIds, pictures: StorePictures, at: datetime
) -> None:
    for vendor in catalog.vendors:
        values = input_fields(vendor) | {"cnpj": cnpj(vendor.cnpj), "country": "BR", "commission_type": "P"}
        values["image"] = pictures.image(logo(vendor.key), vendor.name)
        ids.vendors[vendor.key] = await owner.create("vendor", at, **values)
    for position, category in enumerate(catalog.categories):
        parent = {} if category.parent is None else {"parent_id": ids.categories[category.parent]}
        values = {"name": category.name, "description": f"<p>{category.text}</p>", "position": position, **parent}
        values["image"] = pictures.image(category_picture(category.key), category.name)
        ids.categories[category.key] = await owner.create("category", at, **values)
    for position, feature in enumerate(catalog.features):
        values = {"name": feature.name, "type": feature.type, "suffix": feature.suffix, "position": position}
        if feature.variants:
            values |= {"variants": [{"name": name} for name in feature.variants], "filterable": True}
        ids.features[feature.key] = await owner.create("feature", at, **values)
    await _create_payment_and_shipping_methods(owner, catalog, ids, at)
    await pricing.create_promotions(owner, catalog, ids.categories, at)


async def _create_payment_and_shipping_methods(
    owner: DemoOwner, catalog: DemoCatalog, ids: CreatedIds, at: datetime
) -> None:
    for position, method in enumerate(catalog.payments):
        params = {"mode": "test", "secret_key": f"sk_test_{method.key}"}
        fields = {name: value for name, value in input_fields(method).items() if name != "kind"}
        ids.payments[method.key] = await owner.create(
            "payment_method", at, **fields, processor_params=params, position=position
        )
    pricing_ids = await pricing.create_destinations_and_taxes(owner, at)
    ids.taxes += pricing_ids.taxes
    for position, shipping in enumerate(catalog.shippings):
        rates = pricing.shipping_rates(shipping, pricing_ids, is_express=shipping.key == "expressa")
        ids.shippings[shipping.key] = await owner.create(
            "shipping_method", at, **input_fields(shipping), rates=rates, position=position
        )


async def _create_products(
    owner: DemoOwner, catalog: DemoCatalog, ids: CreatedIds, pictures: StorePictures, now: datetime
) -> None:
    texts = {category.key: category.text for category in catalog.categories}
    for index, product in enumerate(catalog.products):
        at = now - STORE_AGE + (timedelta(hours=7 * (index + 1)) if product.sells else timedelta(minutes=index))
        values = {
            "name": product.name,
            "sku": f"{product.vendor[:3].upper()}-{index + 1:03d}",
            "short_description": product.text,
            "description": f"<p>{product.text}</p><p>{texts[product.category]}</p>",
            "status": product.status,
            "price_cents": product.price,
            "compare_at_cents": product.compare_at,
            "stock": product.stock,
            "tracking": "D" if product.download else "B",
            "weight_grams": product.weight,
            **dict(zip(("length_mm", "width_mm", "height_mm"), product.size, strict=True)),
            "is_edp": product.download,
            "free_shipping": product.free_shipping,
            "vendor_id": ids.vendors[product.vendor],
            "category_id": ids.categories[product.category],
            "tax_ids": ids.taxes,
            "tags": list(product.tags),
            "images": pictures.images(*product_pictures(catalog, product)),
            "features": [{"feature_id": ids.features[key], "value": text} for key, text in product.features.items()],
        }
        ids.products.append(await owner.create("product", at, **values))


async def _create_collections(
    owner: DemoOwner, catalog: DemoCatalog, ids: CreatedIds, pictures: StorePictures, now: datetime
) -> None:
    products = {product.name: product for product in catalog.products}
    id_of = dict(zip(products, ids.products, strict=True))
    for position, collection in enumerate(catalog.collections):
        images = pictures.images(*product_pictures(catalog, products[collection.products[0]]))
        await owner.create(
            "collection",
            now - timedelta(days=30),
            name=collection.name,
            description=f"<p>{collection.text}</p>",
            position=position,
            image=images[0] if images else None,
            product_ids=[id_of[name] for name in collection.products],
        )


# --- Customers and orders --------------------------------------------------------------------------------------------------


def _customers_of(demo: DemoStore, catalog: DemoCatalog) -> list[DemoCustomer]:
    """Return the store's customers; the first is the one whose credentials are printed, so that it has orders."""
    customer_data = create_customers(catalog.customers, demo.domain)
    for persona in demo.personas:
        if persona.key == "customer":
            first, _, last = persona.name.partition(" ")
            cpf = persona.cpf or customer_data[0].cpf
            customer_data[0] = replace(customer_data[0], firstname=first, lastname=last, email=persona.email, cpf=cpf)
    return customer_data


async def _create_users(
    owner: DemoOwner, customer_data: Sequence[DemoCustomer], ids: CreatedIds, now: datetime
) -> None:
    interval = (_FIRST_CUSTOMER_AGE - _LAST_CUSTOMER_AGE) / max(1, len(customer_data))
    for index, customer in enumerate(customer_data):
        values = {name: getattr(customer, name) for name in ("email", "firstname", "lastname", "cpf", "phone")}
        at = now - _FIRST_CUSTOMER_AGE + index * interval
        ids.customers.append(await owner.create("user", at, **values, role="customer"))


async def _create_orders(
    owner: DemoOwner,
    gateway: DemoGateway,
    customer_data: Sequence[DemoCustomer],
    planned_orders: Sequence[DemoOrder],
    ids: CreatedIds,
) -> None:
    """Apply the steps of all orders chronologically, and send two invalid gateway notifications."""
    history: list[tuple[datetime, int, DemoOrderStep | None]] = []
    for index, planned in enumerate(planned_orders):
        history.append((planned.placed_at, index, None))
        history += [(planned.placed_at + step.after, index, step) for step in planned.steps]
    created: dict[int, dict[str, object]] = {}
    for at, index, step in sorted(history, key=lambda entry: (entry[0], entry[1])):
        if step is None:
            created[index] = await _create_order(owner, customer_data, planned_orders[index], ids)
        else:
            await _apply_step(owner, gateway, planned_orders[index], created[index], step, at)
    # Last, so that the numbers of notifications are in the order of their times.
    await _send_invalid_notifications(gateway, planned_orders, created, max(at for at, _, _ in history))


async def _send_invalid_notifications(
    gateway: DemoGateway,
    planned_orders: Sequence[DemoOrder],
    created: Mapping[int, Mapping[str, Any]],
    at: datetime,
) -> None:
    """Send notifications for an unknown order and, late, for a failed payment."""
    delivered = [
        index for index, planned in enumerate(planned_orders) if planned.steps and planned.steps[-1].kind == "C"
    ]
    for index in delivered[-1:]:
        planned, order = planned_orders[index], created[index]
        await gateway.notify("charge.payment_failed", at, order, planned.payment.processor)
        unknown = {**order, "id": "PDV-0042", "number": "PDV-0042"}
        await gateway.notify("charge.paid", at, unknown, planned.payment.processor)


async def _create_order(
    owner: DemoOwner, customer_data: Sequence[DemoCustomer], planned: DemoOrder, ids: CreatedIds
) -> dict[str, object]:
    values = {
        "customer_id": ids.customers[planned.customer],
        "items": [{"product_id": ids.products[line.product], "quantity": line.quantity} for line in planned.lines],
        "payment_method_id": ids.payments[planned.payment.key],
        "shipping_method_id": ids.shippings[planned.shipping.key],
        "shipping_address": customer_data[planned.customer].address,
        "notes": planned.notes,
    }
    if planned.starts_open:
        values["status"] = "O"
    order: dict[str, object] = await owner.execute("order_create", planned.placed_at, input=values)
    return order


async def _apply_step(
    owner: DemoOwner,
    gateway: DemoGateway,
    planned: DemoOrder,
    order: dict[str, object],
    step: DemoOrderStep,
    at: datetime,
) -> None:
    if step.kind == "pay":
        await gateway.notify("charge.paid", at, order, planned.payment.processor)
    elif step.kind == "refund":
        total = order["total_cents"]
        await gateway.notify("charge.refunded", at, order, planned.payment.processor, canceled_amount=total)
    elif step.kind == "D":
        await gateway.notify("charge.payment_failed", at, order, planned.payment.processor)
    elif step.kind == "ship":
        items = order["items"]
        assert isinstance(items, list)
        lines = [{"line_id": items[0]["id"], "quantity": 1}]
        sent = {"tracking_number": step.tracking_code, "carrier": step.carrier}
        await owner.create("shipment", at, order_id=order["id"], lines=lines, **sent)
    else:
        await owner.execute(
            "order_set_status",
            at,
            id=order["id"],
            status=step.kind,
            reason=step.reason,
            restock=step.restock,
            tracking_code=step.tracking_code or None,
            carrier=step.carrier or None,
        )


async def _create_reviews(
    owner: DemoOwner,
    catalog: DemoCatalog,
    customer_data: Sequence[DemoCustomer],
    planned_orders: Sequence[DemoOrder],
    ids: CreatedIds,
    now: datetime,
) -> None:
    """Create reviews by customers with completed orders; the last one awaits moderation."""
    purchases = [entry for entry in orders.bought_products(planned_orders, catalog.products) if entry[2] < now]
    for index, (product, customer, at) in enumerate(purchases[: catalog.reviews]):
        review = COMMON["reviews"][index % len(COMMON["reviews"])]
        await owner.create(
            "review",
            at,
            product_id=ids.products[product],
            customer_id=ids.customers[customer],
            name=customer_data[customer].firstname,
            message=review["text"],
            rating=review["rating"],
            status="P" if index == min(len(purchases), catalog.reviews) - 1 else "A",
        )
