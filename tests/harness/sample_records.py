"""The sample data of a store: users, two vendors, a small catalogue, payment and shipping methods, B2B, content and three orders."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from domain.catalog import combinations, option_exceptions, options
from domain.catalog.attachments import ATTACHMENT_RECORDS
from domain.catalog.boxes import BOX_RECORDS, DESCRIPTION_RECORDS
from domain.purchase.placement import place_order
from domain.settings import find_setting
from domain.store_settings import SANDBOX_BUREAU
from kernel.scope import Scope, active_scope
from models.connection import database
from models.tables.b2b import BusinessPartner, CreditCheck, Manager, ManagerTransaction, MixProduct, PaymentCode
from models.tables.boxes import BoxDescription, ProductBox
from models.tables.carts import Cart, CartItem
from models.tables.catalog import (
    Category,
    Feature,
    FeatureValue,
    FeatureVariant,
    Product,
    ProductCategory,
    ProductImage,
    VariationGroup,
)
from models.tables.content import Block, CallRequest, Language, LanguageVariable, Page, Subscriber
from models.tables.marketplace import DiscussionPost, DiscussionThread, Vendor
from models.tables.options import Combination, Option, OptionException, OptionVariant
from models.tables.orders import OrderLine, Status
from models.tables.payments import PaymentMethod
from models.tables.promotions import Promotion
from models.tables.shipping import Destination, DestinationZipcode, Shipment, ShipmentLine, ShippingMethod
from models.tables.taxes import Tax, TaxRate
from models.tables.users import Usergroup, UsergroupMembership
from models.tables.warehouses import Warehouse, WarehouseArea, WarehouseUsergroup, WarehouseZipcodes
from tests.harness.records import NamedRecord, Record, create_user, record_of

__all__ = ["CNPJ", "SANDBOX_BUREAU", "create_sample_records", "language_code", "place", "setting_records"]

CNPJ = "11222333000181"


async def create_sample_records(scope: Scope, *, combination: bool = False) -> dict[str, Any]:
    """Add the sample data to the empty store in scope; with the `combination` of a mug, mugs are sold in combinations only."""
    with active_scope(scope):
        async with database.transaction(scope):
            records = await _users()
            records |= await _catalogue(records)
            records |= await _option_records(scope, records)
            records |= await _methods()
            records |= await _statuses()
            records |= {name: record_of(row) for name, row in (await _b2b_records(records)).items()}
            records |= await _content(records)
            records["cart"] = await _cart(records)
        records |= await setting_records(scope)
        records |= await _orders(scope, records)
        records |= await _shipments(records)
        records |= await _warehouses(records)
        if combination:
            records["combination"] = await _combination(scope, records)
    return records


async def _users() -> dict[str, Any]:
    vendor = record_of(await Vendor.create(name="Ateliê Sol", email="sol@example.com", cnpj="11222333000181"))
    rival = record_of(await Vendor.create(name="Casa Lua", email="lua@example.com"))
    wholesale = record_of(await Usergroup.create(name="Atacado"))
    team = record_of(await Usergroup.create(name="Equipe", type="A", privileges=["view_orders"]))
    caio = await create_user(firstname="Caio", lastname="Reis", email="caio@example.com", cpf="52998224725")
    await UsergroupMembership.create(usergroup_id=wholesale.number, user_id=caio.number)
    return {
        "owner": await create_user(user_type="A", firstname="Olga", email="olga@example.com"),
        "staff": await create_user("view_orders", firstname="Saulo", email="saulo@example.com"),
        "vendor": vendor,
        "rival": rival,
        "vendor_user": await create_user(
            user_type="V", vendor_id=vendor.number, firstname="Vera", email="vera@example.com"
        ),
        "rival_vendor_user": await create_user(
            user_type="V", vendor_id=rival.number, firstname="Rui", email="rui@example.com"
        ),
        "caio": caio,
        "bia": await create_user(firstname="Bia", lastname="Lima", email="bia@example.com"),
        "wholesale": wholesale,
        "team": team,
    }


async def _catalogue(records: Mapping[str, Any]) -> dict[str, Any]:
    home = record_of(await Category.create(name="Casa"))
    kitchen = record_of(await Category.create(name="Cozinha", parent_id=home.number, position=1))
    hidden = record_of(await Category.create(name="Oculta", status="H", position=2))
    await Category.filter(id=home.number).update(id_path=str(home))
    await Category.filter(id=kitchen.number).update(id_path=f"{home}/{kitchen}")
    await Category.filter(id=hidden.number).update(id_path=str(hidden))
    mug = await Product.create(
        name="Caneca de Ágata",
        sku="CAN-1",
        slug="caneca-de-agata",
        description="<p>Esmaltada</p>",
        short_description="Uma caneca",
        price_cents=4_990,
        compare_at_cents=5_990,
        on_hand=50,
        weight_grams=350,
        vendor_id=records["vendor"].number,
        category_id=kitchen.number,
    )
    plate = await Product.create(
        name="Prato Raso",
        sku="PRA-1",
        slug="prato-raso",
        price_cents=2_500,
        on_hand=20,
        vendor_id=records["rival"].number,
        category_id=home.number,
    )
    ebook = await Product.create(
        name="Livro de Receitas",
        sku="LIV-1",
        slug="livro-de-receitas",
        price_cents=1_500,
        is_edp=True,
        tracking="D",
        vendor_id=records["vendor"].number,
    )
    secret = await Product.create(
        name="Vaso", slug="vaso", price_cents=9_900, status="H", vendor_id=records["vendor"].number
    )
    for product, category in ((mug, kitchen), (mug, home), (plate, home)):
        await ProductCategory.create(product_id=product.id, category_id=category.number)
    await ProductImage.create(
        product_id=mug.id, url="https://img.example.com/caneca.jpg", alt="Caneca", width=800, height=600
    )
    await ProductImage.create(product_id=mug.id, url="https://img.example.com/caneca-2.jpg", position=1)
    colour = await Feature.create(name="Cor", type="S")
    blue = await FeatureVariant.create(feature_id=colour.id, name="Azul")
    material = await Feature.create(name="Material", type="T", position=1)
    volume = await Feature.create(name="Volume", type="N", position=2)
    await FeatureValue.create(product_id=mug.id, feature_id=colour.id, variant_id=blue.id)
    await FeatureValue.create(product_id=mug.id, feature_id=material.id, value="Ágata")
    thread = await DiscussionThread.create(object_type="P", object_id=mug.id)
    review = await DiscussionPost.create(
        thread_id=thread.id, user_id=records["caio"].number, name="Caio", message="Linda", rating=5
    )
    return {
        "home": home,
        "kitchen": kitchen,
        "hidden": hidden,
        "mug": record_of(mug),
        "plate": record_of(plate),
        "ebook": record_of(ebook),
        "secret": record_of(secret),
        "colour": record_of(colour),
        "blue": record_of(blue),
        "material": record_of(material),
        "volume": record_of(volume),
        "variations": record_of(await VariationGroup.create(code="CORES")),
        "review": record_of(review),
    }


async def _methods() -> dict[str, Any]:
    return {
        "pix": record_of(await PaymentMethod.create(name="Pix", processor="pix")),
        "card": record_of(await PaymentMethod.create(name="Cartão", processor="pagarme", position=1)),
        "sedex": record_of(await ShippingMethod.create(name="Sedex", base_cents=1_500, delivery_time="3 dias")),
        **await _terms(),
    }


async def _statuses() -> dict[str, Any]:
    """Return the statuses that every store has: `status_OP` of orders, `status_SA` of shipments."""
    return {f"status_{status.type}{status.letter}": record_of(status) for status in await Status.all()}


async def _terms() -> dict[str, Any]:
    """Create a destination, a tax and a promotion that don't change the totals of the orders."""
    south = record_of(await Destination.create(name="Sul", countries=["BR"], states=["PR", "RS", "SC"]))
    await DestinationZipcode.create(destination_id=south.number, zipcode_from="80000000", zipcode_to="99999999")
    icms = record_of(await Tax.create(name="ICMS", rate_value=18_000, regnumber="123"))
    await TaxRate.create(tax_id=icms.number, destination_id=south.number, rate_value=17_500)
    ten = await Promotion.create(
        name="Dez por cento",
        conditions={"min_subtotal": "50.00"},
        bonuses={"order_discount": "10%"},
        rule={"set": "all", "holds": True, "of": [{"test": "subtotal", "op": "gte", "value": 5_000}]},
        gifts=[{"gift": "order_discount", "way": "by_percent", "value": 10_000}],
        coupon_code="DEZ",
        coupon_key="dez",
        usage_limit=100,
        usage_cap=100,
        from_at=datetime(2020, 1, 1, tzinfo=UTC),
    )
    return {"south": south, "icms": icms, "ten": record_of(ten)}


async def _content(records: Mapping[str, Any]) -> dict[str, Any]:
    rows = await _content_records(records)
    language = rows.pop("language")
    named = NamedRecord(language.id, str(language.public_id), language.code)
    return {"language": named, **{name: record_of(row) for name, row in rows.items()}}


async def setting_records(scope: Scope) -> dict[str, Any]:
    record = await find_setting(scope, "legacy_lists")
    assert record is not None
    return {"setting": Record(record.number, str(record.id))}


async def _orders(scope: Scope, records: Mapping[str, Any]) -> dict[str, Any]:
    address = {
        "firstname": "Caio",
        "lastname": "Reis",
        "street": "Rua do Sol",
        "number": "10",
        "district": "Centro",
        "city": "Recife",
        "state": "PE",
        "zipcode": "50010000",
    }
    return {
        # Of one vendor, by a customer, to be shipped.
        "order": await place(scope, records, (records["mug"], 2), user=records["caio"].id, addresses={"S": address}),
        # Of two vendors.
        "shared_order": await place(scope, records, (records["mug"], 1), (records["plate"], 3), user=records["bia"].id),
        # Of a guest, nothing to be shipped, paid.
        "guest_order": await place(
            scope,
            records,
            (records["ebook"], 1),
            email="guest@example.com",
            firstname="Gil",
            shipping_method=None,
            status="P",
        ),
    }


async def _shipments(records: Mapping[str, Any]) -> dict[str, Any]:
    """Create a shipment of the guest's order."""
    shipment = await Shipment.create(
        order_id=records["guest_order"].number,
        shipping_method_id=records["sedex"].number,
        shipping_name="Sedex",
        carrier="Correios",
        tracking_number="BR1",
        group_key="0",
    )
    line = await OrderLine.filter(order_id=records["guest_order"].number).get()
    await ShipmentLine.create(shipment_id=shipment.id, order_line_id=line.id, quantity=1)
    order_line = await OrderLine.filter(order_id=records["order"].number).get()
    return {
        "shipment": record_of(shipment),
        "shipped_line": record_of(line),
        "order_line": record_of(order_line),
    }


async def _warehouses(records: Mapping[str, Any]) -> dict[str, Any]:
    """Create a disabled warehouse of the store that serves Pernambuco only, and a warehouse of a vendor that serves every destination."""
    warehouse = await Warehouse.create(
        name="Galpão Recife",
        code="REC",
        status="D",
        city="Recife",
        state="PE",
        zipcode="50030-000",
        priority=10,
        is_default=True,
        shipping_delay=1,
    )
    area = await WarehouseArea.create(warehouse_id=warehouse.id, name="Pernambuco", states=["PE"], delivery_time=48)
    await WarehouseZipcodes.create(
        area_id=area.id,
        zipcode_from="50000-000",
        zipcode_to="56999-999",
        first_cep=50_000_000,
        last_cep=56_999_999,
    )
    await WarehouseUsergroup.create(warehouse_id=warehouse.id, usergroup_id=records["wholesale"].number, priority=5)
    depot = await Warehouse.create(name="Depósito Lua", vendor_id=records["rival"].number)
    return {"warehouse": record_of(warehouse), "delivery_area": record_of(area), "depot": record_of(depot)}


async def place(scope: Scope, records: Mapping[str, Any], *lines: tuple[Record, int], **draft: Any) -> Record:
    """Place an order through the domain."""
    standard = {
        "payment_method": records["pix"].id,
        "shipping_method": records["sedex"].id,
        "lines": [{"product": product.id, "quantity": quantity} for product, quantity in lines],
    }
    placed = await place_order(scope, standard | draft)
    return Record(placed.id, str(placed.public_id))


async def _b2b_records(records: Mapping[str, Any]) -> dict[str, Any]:
    """Create a manager, payment terms, a partner with a mix product, and a credit check."""
    manager = await Manager.create(name="Márcia Lopes", email="marcia@example.com", phone="1130000000")
    terms = await PaymentCode.create(code="30/60", description="Em 30 e 60 dias", installments=2, days=[30, 60])
    partner = await BusinessPartner.create(
        name="Padaria Sol", cnpj=CNPJ, email="padaria@example.com", contact_name="Seu Zé", credit_limit_cents=500_000,
        payment_code_id=terms.id, manager_id=manager.id,
    )  # fmt: skip
    mix = await MixProduct.create(
        product_id=records["mug"].number,
        partner_id=partner.id,
        manager_id=manager.id,
        min_quantity=10,
        price_cents=4_500,
    )
    await CreditCheck.create(
        cnpj=CNPJ, score=720, risk="low", limit_cents=3_600_000, source="sandbox", bureau_url=SANDBOX_BUREAU,
        checked_at=datetime.now(UTC),
    )  # fmt: skip
    transaction = await ManagerTransaction.create(
        manager_id=manager.id, type="C", amount_cents=10_000, balance_cents=10_000, description="Comissão"
    )
    await Manager.filter(id=manager.id).update(balance_cents=10_000)
    return {"transaction": transaction, "manager": manager, "terms": terms, "partner": partner, "mix": mix}


async def _cart(records: Mapping[str, Any]) -> Record:
    """Insert an open cart and return its customer, by whom the back office names it."""
    customer: Record = records["bia"]
    cart = await Cart.create(
        public_id=uuid4(),
        user_id=customer.number,
        subtotal_cents=9_980,
        total_cents=9_980,
        expires_at=datetime.now(UTC) + timedelta(days=30),
    )
    mug = records["mug"].number
    await CartItem.create(
        cart_id=cart.id, product_id=mug, quantity=2, product_name="Caneca de Ágata", price_cents=4_990
    )
    return customer


def language_code() -> str:
    """Return a language code unique across stores: routes identify languages by code."""
    return "qx-" + "".join(random.choices("bcdfghjklmnp", k=8))


async def _content_records(records: Mapping[str, Any]) -> dict[str, Any]:
    """Insert the rows into the store in scope and return them by name."""
    about = await Page.create(name="Quem somos", description="<p>Oi</p>", lang_code="pt")
    return {
        "language": await Language.create(code=language_code(), name="Língua", status="D"),
        "langvar": await LanguageVariable.create(name="text_welcome", value="Boas-vindas", lang_code="pt"),
        "about": about,
        "page": await Page.create(name="Contato", parent_id=about.id, type="F", position=1, lang_code="pt"),
        "draft_page": await Page.create(name="Rascunho", status="D", position=2, lang_code="pt"),
        "block": await Block.create(type="banner", name="Topo", content={"text": "Frete grátis"}, lang_code="pt"),
        "subscriber": await Subscriber.create(email="leitora@example.com", lang_code="pt"),
        "call_request": await CallRequest.create(name="Bia", phone="81988880000", product_id=records["mug"].number),
    }


async def _combination(scope: Scope, records: Mapping[str, Any]) -> NamedRecord:
    number = await combinations.create_combination(
        scope,
        {
            "product": records["mug"].number,
            "choices": {
                records["size"].number: records["large"].number,
                records["print"].number: records["plain"].number,
            },
            "sku": "CAN-1-G",
            "stock": 3,
            "price_cents": 200,
        },
    )
    row = await Combination.get(id=number)
    return NamedRecord(row.id, str(row.public_id), row.hash)


async def _option_records(scope: Scope, records: Mapping[str, Any]) -> dict[str, Any]:
    """Create the records through the domain in the store in scope."""
    mug = records["mug"].number
    size = await options.create_option(
        scope,
        {
            "name": "Tamanho",
            "product": mug,
            "variants": [{"name": "Pequena"}, {"name": "Grande", "modifier": 500}],
        },
    )
    print_ = await options.create_option(
        scope,
        {
            "name": "Estampa",
            "type": "R",
            "position": 1,
            "products": [mug],
            "variants": [{"name": "Lisa"}, {"name": "Poá", "modifier": 1_000, "modifier_type": "P"}],
        },
    )
    engraving = await options.create_option(scope, {"name": "Gravação", "type": "I", "product": mug, "position": 2})
    small, large = await OptionVariant.filter(option_id=size).order_by("position")
    plain, dotted = await OptionVariant.filter(option_id=print_).order_by("position")
    exception = await option_exceptions.create_exception(
        scope, {"product": mug, "type": "F", "choices": {size: small.id, print_: dotted.id}}
    )
    await ATTACHMENT_RECORDS.create(
        scope,
        {"product": mug, "filename": "cuidados.pdf", "url": "https://files.example.com/c.pdf", "filesize": 9},
    )
    box = await BOX_RECORDS.create(
        scope,
        {
            "name": "Caixa P",
            "height_mm": 105,
            "width_mm": 200,
            "length_mm": 300,
            "weight_grams": 150,
            "max_weight_grams": 5_000,
        },
    )
    bare_box = await BOX_RECORDS.create(scope, {"name": "Envelope"})
    description = await DESCRIPTION_RECORDS.create(scope, {"box": box, "title": "Caixa pequena"})
    return {
        "size": record_of(await Option.get(id=size)),
        "small": record_of(small),
        "large": record_of(large),
        "print": record_of(await Option.get(id=print_)),
        "plain": record_of(plain),
        "dotted": record_of(dotted),
        "engraving": record_of(await Option.get(id=engraving)),
        "exception": record_of(await OptionException.get(id=exception)),
        "box": record_of(await ProductBox.get(id=box)),
        "bare_box": record_of(await ProductBox.get(id=bare_box)),
        "box_description": record_of(await BoxDescription.get(id=description)),
    }
