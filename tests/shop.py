"""Give facade tests a whole shop: a fresh store with people, goods and orders, and the application to call it by.

    async def test_a_product_is_shown(shop):
        answer = await shop.get(f"/api/products/{shop.mug}")          # as the owner, by Basic
        answer = await shop.get("/api/orders", by=shop.staff)         # an administrator with `view_orders` only
        answer = await shop.get("/graphql", by=shop.seller, auth="bearer")
        answer = await shop.post("/api/auth_tokens", {"email": …}, auth=None)

`shop` is the store of the test, `new_shop(**settings)` makes others (`await new_shop(legacy_lists="cscart")`). Every answer carries
the number of SQL statements its handler took. Records are named by `Made`: `.number` (also what `f"{…}"` writes) and `.id`, the UUID.
"""

from __future__ import annotations

import base64
import json as json_module
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import Any, TypeAlias
from uuid import UUID

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from auth.configuration import configure
from auth.passwords import hash_password
from auth.schemes import authenticate
from auth.sessions import SessionTokens, login
from auth.store_resolution import CachedStoreResolver
from domain.orders.placement import place_order
from domain.settings import find_setting
from kernel.ids import uuid7
from kernel.scope import ANONYMOUS, SYSTEM, Scope, Store, active_scope
from kernel.settings import Settings
from kernel.signatures import token_hash
from models import database as models_database
from models.catalog import (
    Category,
    Feature,
    FeatureValue,
    FeatureVariant,
    Product,
    ProductCategory,
    ProductImage,
)
from models.credentials import ApiKey
from models.marketplace import DiscussionPost, DiscussionThread, Vendor
from models.orders import OrderLine, Status
from models.payments import PaymentMethod
from models.promotions import Promotion
from models.shipping import Destination, DestinationZipcode, Shipment, ShipmentLine, ShippingMethod
from models.taxes import Tax, TaxRate
from models.users import User, Usergroup, UsergroupMembership
from models.warehouses import Warehouse, WarehouseArea, WarehouseUsergroup, WarehouseZipcodes
from server.app import create_app
from server.embedded_postgres import EmbeddedServer
from tests import openapi_responses
from tests.b2b_records import SANDBOX_BUREAU, create_b2b_records
from tests.cloning import Cloner
from tests.content_records import create_content_records, language_code
from tests.option_records import create_option_records

SECRET = b"the secret of the tests, 32 bytes"
PASSWORD = "correct horse battery"
NOBODY = "018f0000-0000-7000-8000-000000000000"
"""A UUID that no record has."""
NO_NUMBER = 9_000_000_000_000
"""A number that no record has."""
_hashes: dict[str, str] = {}
STATEMENTS = "X-Test-Statements"


@dataclass(frozen=True)
class Made:
    """A record of the shop, by its legacy number and its UUID."""

    number: int
    id: str

    def __str__(self) -> str:
        return str(self.number)


@dataclass(frozen=True)
class Called(Made):
    """A record that legacy addresses name by something else than its number."""

    name: str = ""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Named(Made):
    """A record that has a name of its own in addresses."""

    name: str = ""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Person(Made):
    """Somebody with an account, and the credentials to prove it."""

    email: str = ""
    password: str = PASSWORD
    api_key: str = ""

    @property
    def basic(self) -> str:
        pair = f"{self.email}:{self.api_key}".encode()
        return "Basic " + base64.b64encode(pair).decode()


@dataclass
class Answer:
    """An answer, read whole; `body` is its JSON, or None when it has none."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json_module.loads(self.raw) if self.raw else None

    @property
    def statements(self) -> int:
        return int(self.headers[STATEMENTS])


@dataclass
class Shop:
    """A store, what is in it, and the way to call it."""

    client: TestClient
    store: Store
    host: str
    address: str = field(default_factory=lambda: some_address())
    made: dict[str, Any] = field(default_factory=dict)
    tokens: dict[int, str] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["made"][name]
        except KeyError:
            raise AttributeError(name) from None

    # --- calling -------------------------------------------------------------------------------------------------------------

    async def call(
        self,
        method: str,
        path: str,
        json: Any = None,
        *,
        auth: str | None = "basic",
        by: Person | None = None,
        at: Shop | None = None,
        data: Any = None,
        headers: Mapping[str, str] | None = None,
        params: Any = None,
    ) -> Answer:
        """Call a route as somebody (the owner unless said), by Basic or Bearer, `at` this store or another."""
        sent = {"X-Tenant-ID": str((at or self).store.public_id), "X-Forwarded-For": self.address}
        if auth is not None:
            person = by or self.owner
            sent["Authorization"] = person.basic if auth == "basic" else f"Bearer {await self.token(person)}"
        if json is not None:
            data = json_module.dumps(json).encode("utf-8", "surrogatepass")
            sent["Content-Type"] = "application/json"
        sent.update(headers or {})
        response = await self.client.request(
            method, path, data=data, headers=sent, params=params, allow_redirects=False
        )
        answer = Answer(response.status, response.headers, await response.read())
        assert answer.status != 500, (method, str(path)[:200], str(json or data)[:500], answer.raw)
        assert answer.headers.get("X-Request-Id"), (method, path)
        openapi_responses.check_response(method, str(path), answer.status, answer.raw)
        return answer

    async def get(self, path: str, **how: Any) -> Answer:
        return await self.call("GET", path, **how)

    async def post(self, path: str, json: Any = None, **how: Any) -> Answer:
        return await self.call("POST", path, json, **how)

    async def put(self, path: str, json: Any = None, **how: Any) -> Answer:
        return await self.call("PUT", path, json, **how)

    async def patch(self, path: str, json: Any = None, **how: Any) -> Answer:
        return await self.call("PATCH", path, json, **how)

    async def delete(self, path: str, **how: Any) -> Answer:
        return await self.call("DELETE", path, **how)

    async def token(self, person: Person) -> str:
        """Give the person's access token of the current API; made at first use, for it takes a password check."""
        if person.number not in self.tokens:
            scope = self.scope(anonymous=True, family="current")
            with active_scope(scope):
                signed_in = await login(scope, person.email, person.password)
            assert isinstance(signed_in, SessionTokens)  # nobody here has a second factor
            assert isinstance(signed_in, SessionTokens)
            self.tokens[person.number] = signed_in.access_token
        return self.tokens[person.number]

    # --- looking behind ------------------------------------------------------------------------------------------------------

    def scope(self, *, anonymous: bool = False, family: str = "system") -> Scope:
        """Give a scope in the store with every right, or none."""
        return Scope(
            store=self.store,
            actor=ANONYMOUS if anonymous else SYSTEM,
            request_id=str(uuid7()),
            now=datetime.now(UTC),
            family=family,
            client_ip=some_address(),
        )

    async def rows(self, sql: str, *args: Any) -> list[Any]:
        with active_scope(self.scope()):
            return await models_database.fetch(sql, *args)

    async def value(self, sql: str, *args: Any) -> Any:
        with active_scope(self.scope()):
            return await models_database.fetchval(sql, *args)

    async def execute(self, sql: str, *args: Any) -> int:
        with active_scope(self.scope()):
            return await models_database.execute(sql, *args)

    # --- adding --------------------------------------------------------------------------------------------------------------

    async def add(self, model: Any, **columns: Any) -> Made:
        """Write a row of a model."""
        with active_scope(self.scope()):
            return made(await model.create(**columns))

    async def new_person(
        self, *privileges: str, user_type: str | None = None, key: bool = True, **columns: Any
    ) -> Person:
        """Make somebody: an administrator where privileges are named, else a customer."""
        with active_scope(self.scope()):
            return await add_person(*privileges, user_type=user_type, key=key, **columns)

    async def new_product(self, **columns: Any) -> Made:
        """Make a product with a price and stock."""
        number = random.randrange(10**9)
        standard = {
            "name": f"Coisa {number}",
            "slug": f"coisa-{number}",
            "price_cents": 1_000,
            "on_hand": 100,
            "vendor_id": self.vendor.number,
        }
        return await self.add(Product, **standard | columns)

    async def new_order(self, *lines: tuple[Made, int], **draft: Any) -> Made:
        """Place an order of these units of products through the domain, as the system."""
        scope = self.scope()
        with active_scope(scope):
            return await place(scope, self.made, *lines, **draft)


NewShop: TypeAlias = Callable[..., Awaitable[Shop]]


def some_address() -> str:
    """An address no other test has used: attempts are counted in a table that all stores share."""
    return f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(1, 255)}"


def made(row: Any) -> Made:
    return Made(row.id, str(row.public_id))


@web.middleware
async def _count_statements(request: web.Request, handler: Any) -> web.StreamResponse:
    with models_database.count_statements() as counted:
        response = await handler(request)
    response.headers[STATEMENTS] = str(counted.count)
    return response


@pytest.fixture(scope="session")
async def shop_client(database: object) -> AsyncIterator[TestClient]:
    """Serve the whole application on a socket; X-Forwarded-For is believed, and no rate is limited by address."""
    configure(SECRET)
    settings = Settings(trusted_proxies=(ip_network("127.0.0.0/8"),), ip_rate=0, failed_auth_rate=0)
    app = create_app(settings, store_resolver=CachedStoreResolver(settings.shared_hosts), authenticate=authenticate)
    app.middlewares.append(_count_statements)
    async with TestClient(TestServer(app)) as client:
        yield client


@pytest.fixture(scope="session")
async def new_shop(shop_client: TestClient, postgres: EmbeddedServer, database_name: str) -> AsyncIterator[NewShop]:
    """Return a function that makes a store with sample data; keywords are settings of the store."""
    cloner: Cloner | None = None
    original: Shop

    async def make(**settings: Any) -> Shop:
        nonlocal cloner, original
        if cloner is None:
            original = await _empty_shop(shop_client, {})
            original.made.update(await furnish(original.scope()))
            unique_texts = [*_secrets(original.made).values(), original.language.name]
            cloner = Cloner(postgres.superuser_url(database_name), original.store, unique_texts)
        shop = await _empty_shop(shop_client, {"credit_bureau_url": SANDBOX_BUREAU} | settings)
        people = {name: record for name, record in original.made.items() if isinstance(record, Person)}
        secrets = {name: uuid7().hex for name, person in people.items() if person.api_key}
        language = language_code()
        texts = {
            **{token_hash(people[name].api_key).hex(): token_hash(secret).hex() for name, secret in secrets.items()},
            original.language.name: language,
        }
        offset, public_ids = await cloner.clone(shop.store.id, texts)
        for name, record in original.made.items():
            changed = {"api_key": secrets.get(name, "")} if isinstance(record, Person) else {}
            if isinstance(record, Named):
                changed = {"name": language}
            if isinstance(record, Called):
                changed = {"name": re.sub(r"\d+", lambda match: str(int(match.group()) + offset), record.name)}
            shop.made[name] = replace(
                record, number=record.number + offset, id=public_ids.get(record.id, record.id), **changed
            )
        shop.made |= await _settings(shop.scope())  # their ids are not rows' ids
        async with models_database.cross_store_connection() as everywhere:
            await everywhere.execute(
                "update tenants set owner_id = $2 where id = $1", shop.store.id, shop.owner.number
            )
        return shop

    yield make
    if cloner is not None:
        await cloner.close()


async def _empty_shop(client: TestClient, settings: Mapping[str, Any]) -> Shop:
    public_id = uuid7()
    host = f"shop-{public_id.hex}.test"
    async with models_database.cross_store_connection() as everywhere:
        row = await everywhere.fetchrow(
            "insert into tenants (public_id, name, settings) values ($1, 'Loja', $2::text::jsonb) returning id",
            public_id,
            json_module.dumps(settings),
        )
        assert row is not None
        await everywhere.execute("insert into store_hosts (host, store_id) values ($1, $2)", host, row["id"])
    return Shop(client, Store(row["id"], public_id, "Loja", settings=settings), host)


def _secrets(records: Mapping[str, Any]) -> dict[str, str]:
    """Map each API key of the records to its hash as PostgreSQL writes it."""
    keys = [record.api_key for record in records.values() if isinstance(record, Person) and record.api_key]
    return {key: token_hash(key).hex() for key in keys}


@pytest.fixture
async def shop(new_shop: NewShop) -> Shop:
    """Give a fresh shop of the test's own."""
    return await new_shop()


@pytest.fixture
async def other_shop(new_shop: NewShop) -> Shop:
    """Give another shop, whose records the first must never see."""
    return await new_shop()


# --- What is in it -----------------------------------------------------------------------------------------------------------


async def add_person(
    *privileges: str, user_type: str | None = None, key: bool = True, **columns: Any
) -> Person:
    """Write a user of the store in scope, with the password and, for administrators and vendors, an API key."""
    if PASSWORD not in _hashes:
        _hashes[PASSWORD] = await hash_password(PASSWORD)
    kind = user_type or ("A" if privileges else "C")
    standard: dict[str, Any] = {
        "email": f"{uuid7().hex}@example.com",
        "password_hash": _hashes[PASSWORD],
        "user_type": kind,
        "firstname": "Ana",
        "lastname": "Souza",
        "email_verified_at": datetime.now(UTC),
        "privileges": list(privileges),
    }
    user = await User.create(**standard | columns)
    secret = ""
    if key and kind != "C":
        secret = uuid7().hex
        await ApiKey.create(user_id=user.id, key_hash=token_hash(secret), hint=secret[-4:], name="test")
    return Person(user.id, str(user.public_id), user.email or "", PASSWORD, secret)


async def furnish(scope: Scope) -> dict[str, Any]:
    """Fill a store: people, a marketplace of two vendors, a small catalogue, ways to pay and ship, three orders."""
    with active_scope(scope):
        async with models_database.transaction(scope):
            found = await _people()
            found |= await _catalogue(found)
            found |= await create_option_records(scope, found)
            found |= await _methods()
            found |= await _statuses()
            found |= {name: made(row) for name, row in (await create_b2b_records(found)).items()}
            found |= await _content(found)
        found |= await _settings(scope)
        found |= await _orders(scope, found)
        found |= await _parcels(found)
        found |= await _warehouses(found)
    return found


async def _people() -> dict[str, Any]:
    vendor = made(await Vendor.create(name="Ateliê Sol", email="sol@example.com", cnpj="11222333000181"))
    rival = made(await Vendor.create(name="Casa Lua", email="lua@example.com"))
    wholesale = made(await Usergroup.create(name="Atacado"))
    team = made(await Usergroup.create(name="Equipe", type="A", privileges=["view_orders"]))
    caio = await add_person(firstname="Caio", lastname="Reis", email="caio@example.com", cpf="52998224725")
    await UsergroupMembership.create(usergroup_id=wholesale.number, user_id=caio.number)
    return {
        "owner": await add_person(user_type="A", firstname="Olga", email="olga@example.com"),
        "staff": await add_person("view_orders", firstname="Saulo", email="saulo@example.com"),
        "vendor": vendor,
        "rival": rival,
        "seller": await add_person(
            user_type="V", vendor_id=vendor.number, firstname="Vera", email="vera@example.com"
        ),
        "rival_seller": await add_person(
            user_type="V", vendor_id=rival.number, firstname="Rui", email="rui@example.com"
        ),
        "caio": caio,
        "bia": await add_person(firstname="Bia", lastname="Lima", email="bia@example.com"),
        "wholesale": wholesale,
        "team": team,
    }


async def _catalogue(found: Mapping[str, Any]) -> dict[str, Any]:
    home = made(await Category.create(name="Casa"))
    kitchen = made(await Category.create(name="Cozinha", parent_id=home.number, position=1))
    hidden = made(await Category.create(name="Oculta", status="H", position=2))
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
        vendor_id=found["vendor"].number,
        category_id=kitchen.number,
    )
    plate = await Product.create(
        name="Prato Raso",
        sku="PRA-1",
        slug="prato-raso",
        price_cents=2_500,
        on_hand=20,
        vendor_id=found["rival"].number,
        category_id=home.number,
    )
    ebook = await Product.create(
        name="Livro de Receitas",
        sku="LIV-1",
        slug="livro-de-receitas",
        price_cents=1_500,
        is_edp=True,
        tracking="D",
        vendor_id=found["vendor"].number,
    )
    secret = await Product.create(
        name="Vaso", slug="vaso", price_cents=9_900, status="H", vendor_id=found["vendor"].number
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
        thread_id=thread.id, user_id=found["caio"].number, name="Caio", message="Linda", rating=5
    )
    return {
        "home": home,
        "kitchen": kitchen,
        "hidden": hidden,
        "mug": made(mug),
        "plate": made(plate),
        "ebook": made(ebook),
        "secret": made(secret),
        "colour": made(colour),
        "blue": made(blue),
        "material": made(material),
        "volume": made(volume),
        "review": made(review),
    }


async def _methods() -> dict[str, Any]:
    return {
        "pix": made(await PaymentMethod.create(name="Pix", processor="pix")),
        "card": made(await PaymentMethod.create(name="Cartão", processor="pagarme", position=1)),
        "sedex": made(await ShippingMethod.create(name="Sedex", base_cents=1_500, delivery_time="3 dias")),
        **await _terms(),
    }


async def _statuses() -> dict[str, Any]:
    """Name the statuses that every store has: `status_OP` of orders, `status_SA` of parcels."""
    return {f"status_{status.type}{status.letter}": made(status) for status in await Status.all()}


async def _terms() -> dict[str, Any]:
    """Make a destination, a tax and a promotion, none of which changes what the shop's orders cost."""
    south = made(await Destination.create(name="Sul", countries=["BR"], states=["PR", "RS", "SC"]))
    await DestinationZipcode.create(
        destination_id=south.number, zipcode_from="80000000", zipcode_to="99999999"
    )
    icms = made(await Tax.create(name="ICMS", rate_value=18_000, regnumber="123"))
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
    return {"south": south, "icms": icms, "ten": made(ten)}


async def _content(found: Mapping[str, Any]) -> dict[str, Any]:
    rows = await create_content_records(found)
    language = rows.pop("language")
    named = Named(language.id, str(language.public_id), language.code)
    return {"language": named, **{name: made(row) for name, row in rows.items()}}


async def _settings(scope: Scope) -> dict[str, Any]:
    record = await find_setting(scope, "legacy_lists")
    assert record is not None
    return {"setting": Made(record.number, str(record.id))}


async def _orders(scope: Scope, found: Mapping[str, Any]) -> dict[str, Any]:
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
        "order": await place(
            scope, found, (found["mug"], 2), user=found["caio"].id, addresses={"S": address}
        ),
        # Of two vendors.
        "shared_order": await place(
            scope, found, (found["mug"], 1), (found["plate"], 3), user=found["bia"].id
        ),
        # Of a guest, nothing to be shipped, paid.
        "guest_order": await place(
            scope,
            found,
            (found["ebook"], 1),
            email="guest@example.com",
            firstname="Gil",
            shipping_method=None,
            status="P",
        ),
    }


async def _parcels(found: Mapping[str, Any]) -> dict[str, Any]:
    """Write a parcel of the order that nothing else is tried on."""
    shipment = await Shipment.create(
        order_id=found["guest_order"].number,
        shipping_method_id=found["sedex"].number,
        shipping_name="Sedex",
        carrier="Correios",
        tracking_number="BR1",
        group_key="0",
    )
    line = await OrderLine.filter(order_id=found["guest_order"].number).get()
    await ShipmentLine.create(shipment_id=shipment.id, order_line_id=line.id, quantity=1)
    order_line = await OrderLine.filter(order_id=found["order"].number).get()
    return {"shipment": made(shipment), "shipped_line": made(line), "order_line": made(order_line)}


async def _warehouses(found: Mapping[str, Any]) -> dict[str, Any]:
    """Write the store's own warehouse, for Pernambuco alone and not open yet, and one of a vendor's, which sends everywhere."""
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
    area = await WarehouseArea.create(
        warehouse_id=warehouse.id, name="Pernambuco", states=["PE"], delivery_time=48
    )
    await WarehouseZipcodes.create(
        area_id=area.id,
        zipcode_from="50000-000",
        zipcode_to="56999-999",
        first_cep=50_000_000,
        last_cep=56_999_999,
    )
    await WarehouseUsergroup.create(
        warehouse_id=warehouse.id, usergroup_id=found["wholesale"].number, priority=5
    )
    depot = await Warehouse.create(name="Depósito Lua", vendor_id=found["rival"].number)
    return {"warehouse": made(warehouse), "delivery_area": made(area), "depot": made(depot)}


async def place(scope: Scope, found: Mapping[str, Any], *lines: tuple[Made, int], **draft: Any) -> Made:
    """Place an order through the domain."""
    standard = {
        "payment_method": found["pix"].id,
        "shipping_method": found["sedex"].id,
        "lines": [{"product": product.id, "quantity": quantity} for product, quantity in lines],
    }
    placed = await place_order(scope, standard | draft)
    return Made(placed.id, str(placed.public_id))


def is_uuid(text: str) -> bool:
    return str(UUID(text)) == text
