"""Fixtures: a store with one record of every type, and queries on the public schema as any caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias
from uuid import UUID, uuid4

import pytest

from auth.privileges import ALL
from domain.settings import find_setting
from kernel.ids import uuid7
from kernel.scope import ActorKind, Scope, active_scope
from models.connection import database
from models.tables.apps import AppCall, AppInstallation, SchemaUsage, StorefrontKey
from models.tables.b2b import BusinessPartner, Manager, ManagerTransaction, MixProduct, OrderLimit, PaymentCode
from models.tables.boxes import Attachment, BoxDescription, ProductBox
from models.tables.bulk import BulkOperation
from models.tables.carts import Cart
from models.tables.catalog import (
    Category,
    CollectionProduct,
    Feature,
    FeatureValue,
    FeatureVariant,
    Product,
    ProductCategory,
    ProductCollection,
    ProductImage,
    ProductTag,
    VariationGroup,
    VariationGroupFeature,
    VariationGroupProduct,
)
from models.tables.content import (
    Block,
    CallRequest,
    Language,
    LanguageVariable,
    Menu,
    MenuItem,
    Page,
    Redirect,
    Subscriber,
)
from models.tables.credentials import AuditEntry, Session
from models.tables.events import EventDelivery, EventEndpoint, OutboxEvent
from models.tables.ledger import LedgerEntry, Payout
from models.tables.marketplace import DiscussionPost, DiscussionThread, Vendor
from models.tables.media import MediaFile
from models.tables.notifications import Notification
from models.tables.options import (
    Combination,
    CombinationChoice,
    ExceptionChoice,
    Option,
    OptionException,
    OptionVariant,
    ProductOption,
)
from models.tables.orders import Order, OrderAddress, OrderLine, OrderStatusChange, Status
from models.tables.payments import Charge, GatewayNotification, Payment, PaymentMethod
from models.tables.points import PointEntry
from models.tables.promotions import IssuedCoupon, Promotion
from models.tables.shipping import (
    Destination,
    DestinationZipcode,
    Shipment,
    ShipmentLine,
    ShippingMethod,
    ShippingRate,
)
from models.tables.taxes import OrderTax, PaymentMethodTax, ProductTax, ShippingMethodTax, Tax, TaxRate
from models.tables.users import User, Usergroup, UsergroupMembership
from models.tables.warehouses import Warehouse, WarehouseArea, WarehouseUsergroup, WarehouseZipcodes
from resolvers import root
from resolvers.engine.executor import ExecutionContext, execute_document, format_error
from resolvers.engine.prepare import DocumentCache
from tests.harness.database import NewStore
from tests.harness.scopes import StoreAccess, system_scope

SCOPES = frozenset(
    f"{verb}_{area}"
    for verb in ("read", "write")
    for area in ("products", "orders", "users", "categories", "inventory", "content", "shipping")
)


@dataclass
class GraphQLResponse:
    """The response of a query: data and formatted errors."""

    data: Any
    errors: list[dict[str, Any]] = field(default_factory=list)

    def codes(self) -> list[str]:
        return [error["extensions"]["code"] for error in self.errors]


class RecordIds(dict[str, str]):
    """The ids of the records; a missing one is an entity that was forgotten here."""

    def __missing__(self, name: str) -> str:
        raise KeyError(f"{name}: create one in tests/graphql/conftest.py; every type is read as every caller")


@dataclass
class StoreRecords(StoreAccess):
    """One record of every type, with a second product, order and user."""

    scope: Scope
    ids: dict[str, str]
    numbers: dict[str, int]

    @property
    def callers(self) -> dict[str, Scope]:
        """Return a scope for each kind of caller."""

        def user(name: str) -> dict[str, Any]:
            return {"user_id": self.numbers[name], "user_public_id": UUID(self.ids[name])}

        return {
            "admin": self.as_admin(privileges=ALL, **user("admin")),
            "clerk": self.as_admin(privileges=frozenset({"view_orders"}), **user("admin")),
            "admin_without_privileges": self.as_admin(**user("admin")),
            "vendor": self.as_vendor(self.numbers["vendor"], family="graphql", **user("vendor_user")),
            "customer": self.as_actor(ActorKind.CUSTOMER, **user("customer")),
            "app": self.as_actor(ActorKind.APP, app_id=1, scopes=SCOPES),
            "app_without": self.as_actor(ActorKind.APP, app_id=1),
            "storefront": self.as_storefront(storefront_key_id=1, scopes=frozenset({"storefront:read"})),
            "storefront_without": self.as_storefront(storefront_key_id=1),
            "anonymous": self.as_anonymous(family="graphql"),
        }


ExecuteQuery: TypeAlias = Callable[..., Awaitable[GraphQLResponse]]


@pytest.fixture(scope="session")
def documents() -> DocumentCache:
    """Return the cache of documents, which a server has too."""
    return DocumentCache(root.public_schema())


@pytest.fixture
def execute_query(documents: DocumentCache) -> ExecuteQuery:
    """Return a function that executes a document on the public schema in a scope."""

    async def execute(scope: Scope, text: str, **variables: Any) -> GraphQLResponse:
        prepared = documents.prepare_now(text)
        assert prepared.errors == (), prepared.errors
        with active_scope(scope):
            result = await execute_document(documents.schema, prepared, ExecutionContext(scope), variables)
        return GraphQLResponse(result.data, [format_error(error, scope) for error in result.errors or ()])

    return execute


async def add_installed_app(scope: Scope) -> AppInstallation:
    """Register an app in the store and install it there."""
    app_id = await database.fetchval(
        """
        insert into apps (public_id, client_id, name, mode, redirect_uris, scopes, secret_hash, secret_sealed, registered_in)
        values ($1, $2, 'Etiquetas', 'live', '{https://app.example/}', '{read_orders}', $3, $3, $4) returning id
        """,
        uuid7(),
        uuid7().hex,
        uuid7().bytes * 2,
        scope.store.id,
    )
    return await AppInstallation.create(app_id=app_id, scopes=["read_orders"])


async def create_records(scope: Scope) -> StoreRecords:
    """Create one record of every type through the models."""
    with active_scope(scope):
        vendor = await Vendor.create(name="Ateliê Sol", email="sol@example.com", cnpj="11222333000181")
        rival = await Vendor.create(name="Casa Lua", email="lua@example.com")
        admin = await User.create(email="ana@example.com", user_type="A", firstname="Ana", privileges=["view_orders"])
        clerk = await User.create(email="vera@example.com", user_type="V", vendor_id=vendor.id, firstname="Vera")
        customer = await User.create(email="caio@example.com", firstname="Caio", lastname="Reis", cpf="52998224725")
        other = await User.create(email="bia@example.com", firstname="Bia")
        group = await Usergroup.create(name="Atacado")
        await UsergroupMembership.create(usergroup_id=group.id, user_id=customer.id)
        root_category = await Category.create(name="Casa", id_path="1")
        child_category = await Category.create(name="Cozinha", parent_id=root_category.id)
        hidden = await Category.create(name="Oculta", status="D")
        product = await Product.create(
            name="Caneca de Ágata",
            sku="CAN-1",
            slug="caneca",
            price_cents=4990,
            on_hand=7,
            vendor_id=vendor.id,
            category_id=child_category.id,
        )
        draft = await Product.create(name="Prato", slug="prato", price_cents=100, status="D", vendor_id=rival.id)
        await ProductCategory.create(product_id=product.id, category_id=child_category.id)
        media_file = await MediaFile.create(
            sha256=uuid4().hex * 2,
            mime_type="image/jpeg",
            bytes=90_000,
            width=900,
            height=600,
            status="ready",
            alt="Caneca azul",
        )
        await ProductImage.create(product_id=product.id, url="https://img.example.com/caneca.jpg", alt="Caneca")
        await ProductImage.create(product_id=product.id, url="/media/caneca", position=1, media_id=media_file.id)
        feature = await Feature.create(name="Cor", type="S")
        variant = await FeatureVariant.create(feature_id=feature.id, name="Azul")
        await FeatureValue.create(product_id=product.id, feature_id=feature.id, variant_id=variant.id)
        variation_group = await VariationGroup.create(code="CANECAS")
        await VariationGroupFeature.create(
            group_id=variation_group.id, feature_id=feature.id, purpose="group_variation_catalog_item"
        )
        await VariationGroupProduct.create(group_id=variation_group.id, product_id=product.id)
        choice_records = await _create_options(product.id, vendor.id)
        payment_method = await PaymentMethod.create(name="Pix", processor="pix")
        shipping_method = await ShippingMethod.create(name="Sedex", base_cents=1500)
        pricing = await _create_pricing(product.id, payment_method.id, shipping_method.id)
        chosen = [
            {"option_id": str(choice_records["option"].public_id), "name": "Tamanho", "value": "G", "modifier": 500,
             "variant_id": str(choice_records.pop("option_variant").public_id), "modifier_type": "A"},
            {"option_id": str(uuid4()), "name": "Gravação", "value": "Caio", "modifier": 0, "variant_id": None,
             "modifier_type": "A"},
        ]  # fmt: skip
        orders = []
        for orderer, lines in (
            (customer, [(product, vendor, 2)]),
            (other, [(product, vendor, 1), (draft, rival, 3)]),
        ):
            sole_vendor = lines[0][1].id if len(lines) == 1 else None
            order = await Order.create(
                user_id=orderer.id,
                vendor_id=sole_vendor,
                email=orderer.email,
                firstname=orderer.firstname,
                subtotal_cents=9980,
                total_cents=11480,
                shipping_cents=1500,
                payment_method_id=payment_method.id,
                shipping_method_id=shipping_method.id,
            )
            orders.append(order)
            for position, (item, vendor_row, quantity) in enumerate(lines, 1):
                line = await OrderLine.create(
                    order_id=order.id,
                    position=position,
                    product_id=item.id,
                    vendor_id=vendor_row.id,
                    product_name=item.name,
                    quantity=quantity,
                    price_cents=item.price_cents,
                    base_price_cents=item.price_cents,
                    options=chosen if item is product else [],
                )
            await OrderAddress.create(order_id=order.id, kind="S", city="Recife")
            await OrderStatusChange.create(order_id=order.id, to_status="O")
            await Payment.create(order_id=order.id, amount_cents=11480, kind="pix")
            await Charge.create(order_id=order.id, charge_id=f"ch_{order.id}", amount_cents=11480)
            await OrderTax.create(order_id=order.id, tax_id=pricing["tax"].id, name="ICMS", amount_cents=10)
            shipment = await Shipment.create(order_id=order.id, carrier="Correios")
            await ShipmentLine.create(shipment_id=shipment.id, order_line_id=line.id, quantity=1)
        b2b = await _create_b2b_records(product.id, vendor.id, customer.id, orders[0].id)
        cart = await Cart.create(expires_at=scope.now + timedelta(days=1))
        customer_cart = await Cart.create(user_id=customer.id, expires_at=scope.now + timedelta(days=1))
        language_variable = await LanguageVariable.create(name="checkout", value="Comprar", lang_code="pt")
        redirect = await Redirect.create(path="/antiga", product_id=product.id)
        collection = await ProductCollection.create(name="Presentes")
        await CollectionProduct.create(collection_id=collection.id, product_id=product.id)
        await ProductTag.create(product_id=product.id, tag="novo")
        menu = await Menu.create(handle="rodape", name="Rodapé")
        await MenuItem.create(menu_id=menu.id, place=1, name="Ajuda")
        status = await Status.create(type="O", letter="Q", description="Na fila", inventory="D")
        content = await _create_content(product.id)
        setting = await find_setting(scope, "legacy_lists")
        assert setting is not None
        thread = await DiscussionThread.create(object_type="P", object_id=product.id)
        warehouse = await Warehouse.create(name="Galpão", vendor_id=vendor.id)
        delivery_area = await WarehouseArea.create(warehouse_id=warehouse.id, name="Tudo")
        await WarehouseZipcodes.create(
            area_id=delivery_area.id,
            zipcode_from="01000-000",
            zipcode_to="02000-000",
            first_cep=1_000_000,
            last_cep=2_000_000,
        )
        served_group = await WarehouseUsergroup.create(warehouse_id=warehouse.id, usergroup_id=group.id)
        inbox_message = await Notification.create(user_id=customer.id, type="order", title="Pedido")
        review = await DiscussionPost.create(thread_id=thread.id, user_id=customer.id, message="Linda", rating=5)
        await Session.create(user_id=admin.id, expires_at=scope.now)
        user_session = await Session.create(user_id=customer.id, expires_at=scope.now + timedelta(days=1))
        installed_app = await add_installed_app(scope)
        schema_usage = await SchemaUsage.create(field="Query.pages", is_deprecated=False, caller="admin", uses=3)
        storefront_key = await StorefrontKey.create(
            key_hash=uuid7().bytes * 2, name="Vitrine", scopes=["storefront:read"]
        )
        endpoint = await EventEndpoint.create(
            installation_id=installed_app.id, url="https://hooks.example.com/", events=["order.created"]
        )
        event = await OutboxEvent.create(
            name="order.created",
            subject_type="order",
            subject_id=orders[0].public_id,
            sequence=1,
            data={"id": str(orders[0].public_id)},
        )
        delivery = await EventDelivery.create(
            event_id=event.id, endpoint_id=endpoint.id, name=event.name, due_at=scope.now
        )
        point_entry = await PointEntry.create(
            user_id=customer.id, order_id=orders[0].id, kind="earned", points=5, balance=5
        )
        await IssuedCoupon.create(
            promotion_id=pricing["promotion"].id, order_id=orders[0].id, code="ABC", code_key="abc", active_at=scope.now
        )
        bulk_operation = await BulkOperation.create(
            kind="query",
            credential=f"user:{admin.id}",
            user_id=admin.id,
            document="{ products { id } }",
            due_at=scope.now,
        )
        payout = await Payout.create(vendor_id=vendor.id, amount_cents=500, currency="BRL")
        ledger_entry = await LedgerEntry.create(
            vendor_id=vendor.id, kind="payout", amount_cents=-500, payout_id=payout.id, available_at=scope.now
        )
        app_call = await AppCall.create(
            installation_id=installed_app.id, name="payments.read", state="answered", status=200
        )
        audit_entry = await AuditEntry.create(action="product.deleted", subject_type="product", subject_id="1")
    created = {
        **pricing,
        "media_file": media_file,
        **choice_records,
        **b2b,
        "cart": cart,
        "customer_cart": customer_cart,
        "language_variable": language_variable,
        "redirect": redirect,
        "collection": collection,
        "menu": menu,
        "status": status,
        **content,
        "audit_entry": audit_entry,
        "admin": admin,
        "vendor_user": clerk,
        "customer": customer,
        "user": customer,
        "other_user": other,
        "usergroup": group,
        "vendor": vendor,
        "vendor_account": vendor,
        "rival": rival,
        "payout": payout,
        "ledger_entry": ledger_entry,
        "category": child_category,
        "top_category": root_category,
        "hidden_category": hidden,
        "product": product,
        "draft": draft,
        "feature": feature,
        "variation_group": variation_group,
        "payment_method": payment_method,
        "shipping_method": shipping_method,
        "order": orders[0],
        "mixed_order": orders[1],
        "shipment": shipment,
        "notification": inbox_message,
        "warehouse": warehouse,
        "warehouse_area": delivery_area,
        "warehouse_usergroup": served_group,
        "review": review,
        "point_entry": point_entry,
        "installed_app": installed_app,
        "app_call": app_call,
        "event_endpoint": endpoint,
        "event_delivery": delivery,
        "bulk_operation": bulk_operation,
        "storefront_key": storefront_key,
        "schema_usage": schema_usage,
        "user_session": user_session,
    }
    ids = RecordIds({name: str(record.public_id) for name, record in created.items()})
    ids["setting"] = str(setting.id)
    with active_scope(scope):
        notification = await GatewayNotification.create(
            event_type="charge.paid", fingerprint=uuid7().bytes * 2, body=b"{}"
        )
        ids["gateway_notification"] = str(notification.id)  # its public id is the numeric id
        ids["payment"] = str((await Payment.all().order_by("id"))[0].public_id)
    numbers = {name: record.id for name, record in created.items()}
    return StoreRecords(scope, ids, {**numbers, "setting": setting.number})


async def _create_content(product: int) -> dict[str, Any]:
    """Create content, a subscriber and a callback request."""
    return {
        "language": await Language.create(code="fr", name="Français"),
        "page": await Page.create(name="Ajuda", lang_code="pt"),
        "block": await Block.create(type="html", name="Rodapé", lang_code="pt"),
        "subscriber": await Subscriber.create(email="leitora@example.com", lang_code="pt"),
        "call_request": await CallRequest.create(phone="81", product_id=product),
    }


async def _create_b2b_records(product: int, vendor: int, user: int, order: int) -> dict[str, Any]:
    """Create B2B records."""
    manager = await Manager.create(name="Márcia", email="marcia@example.com")
    payment_terms = await PaymentCode.create(code="30/60", installments=2, days=[30, 60])
    partner = await BusinessPartner.create(
        name="Bistrô", cnpj="11222333000181", manager_id=manager.id, payment_code_id=payment_terms.id
    )
    return {
        "manager": manager,
        "payment_code": payment_terms,
        "business_partner": partner,
        "mix_product": await MixProduct.create(product_id=product, partner_id=partner.id),
        "manager_transaction": await ManagerTransaction.create(
            manager_id=manager.id, order_id=order, type="C", amount_cents=5, balance_cents=5
        ),
        "order_limit": await OrderLimit.create(user_id=user, vendor_id=vendor, limit_cents=1),
    }


async def _create_options(product: int, vendor: int) -> dict[str, Any]:
    """Create options, combinations, exceptions, attachments and boxes."""
    option = await Option.create(name="Tamanho", product_id=product, vendor_id=vendor, inventory=True)
    variant = await OptionVariant.create(option_id=option.id, name="G", modifier=500)
    await ProductOption.create(product_id=product, option_id=option.id)
    hash_ = f"{option.id}_{variant.id}"
    combination = await Combination.create(product_id=product, hash=hash_, on_hand=4, sku="CAN-1-G")
    exception = await OptionException.create(product_id=product, type="A", hash=hash_)
    choice_records = {"option_id": option.id, "variant_id": variant.id}
    await CombinationChoice.create(combination_id=combination.id, **choice_records)
    await ExceptionChoice.create(exception_id=exception.id, **choice_records)
    attachment = await Attachment.create(product_id=product, filename="a.pdf", url="https://files.example.com/a.pdf")
    box = await ProductBox.create(name="Caixa P")
    description = await BoxDescription.create(box_id=box.id, title="Caixa pequena")
    return {
        "option": option,
        "option_variant": variant,
        "combination": combination,
        "option_exception": exception,
        "attachment": attachment,
        "product_box": box,
        "box_description": description,
    }


async def _create_pricing(product: int, payment: int, shipping: int) -> dict[str, Any]:
    """Create destinations, rates, taxes and promotions."""
    destination = await Destination.create(name="São Paulo", states=["SP"])
    closed = await Destination.create(name="Antiga", status="D")
    await DestinationZipcode.create(destination_id=destination.id, zipcode_from="01000000", zipcode_to="19999999")
    await ShippingRate.create(shipping_method_id=shipping, destination_id=destination.id, base_cents=900)
    tax = await Tax.create(name="ICMS", rate_value=18_000)
    await Tax.create(name="Extinto", status="D")
    await TaxRate.create(tax_id=tax.id, destination_id=destination.id, rate_value=12_000)
    await ProductTax.create(product_id=product, tax_id=tax.id)
    await PaymentMethodTax.create(payment_method_id=payment, tax_id=tax.id)
    await ShippingMethodTax.create(shipping_method_id=shipping, tax_id=tax.id)
    promotion = await Promotion.create(name="Dez", conditions={"subtotal": "1"}, coupon_code="DEZ")
    return {"destination": destination, "closed_destination": closed, "tax": tax, "promotion": promotion}


# Queries only read, so the records are created once per process.


@pytest.fixture(scope="session")
async def records(new_store: NewStore) -> StoreRecords:
    """Return the records of a store."""
    return await create_records(system_scope(await new_store()))


@pytest.fixture(scope="session")
async def other_records(new_store: NewStore) -> StoreRecords:
    """Return the records of another store."""
    return await create_records(system_scope(await new_store()))
