"""The demo stores: their data, the printed credentials, and repeated runs."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pyotp
import pytest

from auth.api_keys import verify_api_key
from auth.configuration import configure
from auth.schemes import authenticate
from auth.sessions import login, refresh, verify_two_factor
from auth.store_resolution import CachedStoreResolver
from domain import hosts
from domain import stores as store_business
from domain.apps.oauth import refresh_app_tokens
from domain.apps.registration import authenticate_client
from domain.carriers.parcels import Box, ParcelItem, make_parcels
from kernel.clock import now
from kernel.errors import Conflict, DomainError, RuleViolation, SignInDenied, TenantClosed, Unauthenticated
from kernel.ids import uuid7
from kernel.scope import ANONYMOUS, Actor, Scope, active_scope
from kernel.settings import Settings
from models.connection import database as db
from rest_facade.routing import Credential
from server.database import DatabaseLocation
from server.demo import setup
from server.demo.pictures.pictures import all_pictures
from server.demo.stores import DEMO, OTHER, STORES, DemoStore
from server.operations import store_admin
from tests.harness.demo_pictures import keep_pictures
from tests.server.command_line import SECRET, Vitrine

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.slow]

STATUSES = set("OPCDFIB")


@pytest.fixture(scope="module")
async def created(database, database_url: str, demo_pictures: Path, tmp_path_factory: pytest.TempPathFactory):
    """Create the demo once for all tests of this file; `json` is the last output."""
    configure(SECRET.encode())
    settings = Settings(secret_key=SECRET, data_dir=keep_pictures(tmp_path_factory.mktemp("demo") / "data"))
    location = DatabaseLocation(database_url, database_url, is_embedded=False)
    demo = await setup.set_up_demo(settings, location)
    return SimpleNamespace(settings=settings, location=location, json=demo.json)


async def make_again(created, **options: bool) -> setup.DemoResult:
    demo = await setup.set_up_demo(created.settings, created.location, **options)
    created.json = demo.json
    return demo


async def visitor(tenant_id: str) -> Scope:
    store = await store_business.find_store(UUID(tenant_id))
    address = f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(1, 255)}"
    return Scope(store, ANONYMOUS, str(uuid7()), now(), client_ip=address)


async def sign_in(tenant_id: str, identifier: str, password: str):
    scope = await visitor(tenant_id)
    with active_scope(scope):
        return await login(scope, identifier, password)


async def rows(sql: str, store: str = str(DEMO.public_id)) -> list[Any]:
    scope = store_admin.system_scope(await store_business.find_store(UUID(store)))
    with active_scope(scope):
        return await db.fetch(sql, scope.store.id)


async def remove_host(host: str) -> None:
    async with db.cross_store_connection() as platform:
        await platform.execute("delete from store_hosts where host = $1", host)


async def value(sql: str, store: str = str(DEMO.public_id)) -> Any:
    return (await rows(sql, store))[0][0]


# --- What is printed -------------------------------------------------------------------------------------------------


def test_the_json_has_the_documented_keys(created):
    shown = created.json
    assert set(shown) == {
        "base_url", "tenant_id", "host", "admin", "staff", "vendor", "customer", "two_factor", "unverified", "disabled", "pending",
        "shared_cpf", "storefront_key", "app", "gateway", "other_store", "suspended_store", "maintenance_store", "platform_user",
    }  # fmt: skip
    account = {"user_id", "email", "password"}
    assert set(shown["admin"]) == {*account, "api_key", "access_token", "refresh_token", "expires_at"}
    assert set(shown["staff"]) == {*account, "api_key", "privileges"}
    assert set(shown["vendor"]) == {*account, "api_key", "company_id"}
    assert set(shown["customer"]) == account
    assert set(shown["two_factor"]) == {*account, "totp_secret"}
    for barred in ("unverified", "disabled", "pending", "platform_user"):
        assert set(shown[barred]) == {"email", "password"}
    assert set(shown["shared_cpf"]) == {"identifier", "password", "emails"}
    assert set(shown["gateway"]) == {"secret_key"}
    app = {"client_id", "client_secret", "redirect_uri", "scopes", "access_token", "refresh_token"}
    assert set(shown["app"]) == set(shown["other_store"]["app"]) == app
    assert set(shown["other_store"]) == {"tenant_id", "host", "admin", "storefront_key", "app"}
    assert set(shown["other_store"]["admin"]) == set(shown["admin"])
    for closed in ("suspended_store", "maintenance_store"):
        assert set(shown[closed]) == {"tenant_id", "host"}
    assert (shown["base_url"], shown["host"]) == ("http://localhost:8000", "demo.localhost")


# --- What the store holds --------------------------------------------------------------------------------------------


PICTURES = (
    "select sha256 from media_files where tenant_id = $1 and status = 'ready' and source_url is null order by sha256"
)


@pytest.mark.parametrize("demo", [DEMO, OTHER], ids=lambda demo: demo.key)
async def test_every_image_is_a_file_of_the_store(created, demo: DemoStore):
    store = str(demo.public_id)
    links = "select count(*) from product_images where tenant_id = $1 and media_id is null"
    assert await value(links, store) == 0
    for table in ("categories", "vendors", "collections"):
        without_file = f"select name from {table} where tenant_id = $1 and media_id is null and status <> 'P'"
        assert await rows(without_file, store) == [], table
    assert await value("select count(*) from pages where tenant_id = $1 and media_id is not null", store) == 1
    assert await value("select count(*) from store_logos where tenant_id = $1 and media_id is not null", store) == 1
    assert demo.catalog is not None
    assert len(await rows(PICTURES, store)) == len(all_pictures(demo.catalog))
    assert (await store_business.find_store(demo.public_id)).settings["image_copies"] is True


async def test_the_catalog_is_created(created):
    assert await value("select count(*) from products where tenant_id = $1") >= 40
    assert await value("select count(distinct category_id) from products where tenant_id = $1") >= 8
    without_image = """
        select count(*) from products p where tenant_id = $1
        and not exists (select from product_images i where i.tenant_id = p.tenant_id and i.product_id = p.id)"""
    assert await value(without_image) == 0
    assert {row[0] for row in await rows("select distinct status from products where tenant_id = $1")} == set("ADHP")
    assert len(await rows("select distinct type from features where tenant_id = $1")) >= 5
    assert await value("select count(*) from feature_values where tenant_id = $1") >= 100
    assert [
        tuple(row)
        for row in await rows("select status, count(*) from vendors where tenant_id = $1 group by 1 order by 1")
    ] == [
        ("A", 3),
        ("P", 1),
    ]
    assert await value("select count(distinct tag) from product_tags where tenant_id = $1") == 5
    in_order = """
        select array_agg(p.name order by l.position) from collection_products l
        join collections c on c.tenant_id = l.tenant_id and c.id = l.collection_id
        join products p on p.tenant_id = l.tenant_id and p.id = l.product_id
        where l.tenant_id = $1 and c.slug = 'para-presentear'"""
    assert await value(in_order) == ["Caneca Sereno", "Tábua Cumaru", "Manta Geada", "Abajur Ninho"]
    assert await value("select count(*) from users where tenant_id = $1 and user_type = 'C' and status = 'A'") >= 25
    payment_methods = await rows(
        "select processor, kind, settles_at_once from payment_methods where tenant_id = $1 order by id"
    )
    assert [tuple(row) for row in payment_methods] == [("sandbox", kind, False) for kind in ("PIX", "BOLETO", "CARD")]
    assert await value("select count(*) from shipping_methods where tenant_id = $1") >= 3
    assert await value("select count(*) from destinations where tenant_id = $1") >= 6
    assert await value("select count(*) from shipping_rates where tenant_id = $1") >= 11
    assert await value("select count(*) from taxes where tenant_id = $1") >= 2
    assert await value("select count(*) from order_taxes where tenant_id = $1") >= 60
    assert await value("select count(*) from promotions where tenant_id = $1 and coupon_code <> ''") >= 3
    assert await value("select count(*) from discussion_posts where tenant_id = $1") >= 30


async def check_numbers() -> None:
    """Check that the records of each store are numbered from 1."""
    for demo in (DEMO, OTHER):
        for table in (
            "users",
            "vendors",
            "categories",
            "products",
            "product_images",
            "orders",
            "order_lines",
            "statuses",
        ):
            [first] = await rows(f"select min(id) from {table} where tenant_id = $1", str(demo.public_id))
            assert first["min"] == 1, (demo.key, table)


async def test_the_numbers_of_each_store_begin_at_1(created):
    await check_numbers()


@pytest.mark.parametrize("demo", [DEMO, OTHER], ids=lambda demo: demo.key)
async def test_carriers_can_quote_every_product_that_is_shipped(created, demo: DemoStore):
    store = str(demo.public_id)
    products = await rows(
        "select name, weight_grams, length_mm, width_mm, height_mm from products where tenant_id = $1 and not is_edp",
        store,
    )
    boxes = [
        Box(**box)
        for box in await rows(
            "select id, length_mm, width_mm, height_mm, weight_grams, max_weight_grams from product_boxes where tenant_id = $1",
            store,
        )
    ]
    assert len(products) >= 10
    for product in products:
        measures = {name: product[name] for name in ("weight_grams", "length_mm", "width_mm", "height_mm")}
        assert all(measures.values()), product["name"]
        [parcel] = make_parcels([ParcelItem(1, **measures, price_cents=1_000)], boxes)
        assert parcel.box_id is not None or not boxes, product["name"]


async def test_product_options_are_created(created):
    for table, least in (
        ("options", 8),
        ("option_variants", 20),
        ("combinations", 20),
        ("option_exceptions", 1),
        ("attachments", 3),
        ("required_products", 1),
        ("product_boxes", 3),
        ("box_descriptions", 3),
    ):
        assert await value(f"select count(*) from {table} where tenant_id = $1") >= least, table
    assert await value("select count(*) from options where tenant_id = $1 and required") == 0
    assert await value("select count(*) from options where tenant_id = $1 and product_id is null") == 1
    assert await value("select min(stock) from combinations where tenant_id = $1") > 0


async def test_two_warehouses_exist_one_of_which_ships_everywhere(created):
    warehouses = await rows(
        "select id, vendor_id, is_default from warehouses where tenant_id = $1 order by vendor_id nulls first"
    )
    assert [(row["vendor_id"] is None, row["is_default"]) for row in warehouses] == [
        (True, True),
        (False, True),
    ]
    states = "select count(distinct s) from warehouse_areas a, unnest(a.states) s where a.tenant_id = $1 and a.warehouse_id ="
    assert await value(f"{states} {warehouses[0]['id']}") == 27
    assert await value("select count(*) from warehouse_zipcodes where tenant_id = $1") == 2
    assert await value("select count(*) from warehouse_usergroups where tenant_id = $1") == 2


async def test_notifications_were_emitted_and_old_ones_are_read(created):
    types = await rows("select distinct type from notifications where tenant_id = $1 order by type")
    assert {"order", "app"} <= {row["type"] for row in types}
    recorded = await rows(
        "select n.read_at is null as unread, n.created_at < now() - interval '8 days' as old from notifications n"
        " join tenants t on t.id = n.tenant_id and t.owner_id = n.user_id where n.tenant_id = $1"
    )
    assert {(row["unread"], row["old"]) for row in recorded} >= {(True, False), (False, True)}
    assert (True, True) not in {(row["unread"], row["old"]) for row in recorded}
    assert await value("select count(*) from shipments where tenant_id = $1") >= 10


async def test_b2b_data_is_created(created):
    tables = (
        "managers",
        "payment_codes",
        "business_partners",
        "mix_products",
        "manager_transactions",
        "order_limits",
    )
    for table in tables:
        assert await value(f"select count(*) from {table} where tenant_id = $1") >= 2, table
    mismatched = """
        select count(*) from managers m where tenant_id = $1 and balance_cents <> (
            select coalesce(sum(case type when 'C' then amount_cents else -amount_cents end), 0) from manager_transactions t
            where t.tenant_id = m.tenant_id and t.manager_id = m.id)
    """
    assert await value(mismatched) == 0
    setting = "select settings ->> 'credit_bureau_url' from tenants where id = $1"
    assert await value(setting) == "/dev/credit-bureau"


async def test_open_carts_are_created(created):
    carts = await rows(
        "select status, expires_at <= now() as is_over, address, total_cents from carts where tenant_id = $1 order by created_at"
    )
    assert [row["is_over"] for row in carts] == [True, False, False]
    assert all(row["total_cents"] and row["address"] for row in carts)


async def test_content_is_created(created):
    pages = await rows("select type, status, parent_id from pages where tenant_id = $1")
    assert {page["type"] for page in pages} == set("TLFB")
    assert {page["status"] for page in pages} == set("AD")
    assert any(page["parent_id"] for page in pages)
    assert await value("select count(*) from blocks where tenant_id = $1") >= 4
    assert [row[0] for row in await rows("select code from languages where tenant_id = $1 order by id")] == [
        "pt",
        "en",
    ]
    assert await value("select status_letters::text from tenants where id = $1") == "{}"  # no own ones
    assert await value("select count(*) from subscribers where tenant_id = $1") >= 8
    called = await rows("select distinct status from call_requests where tenant_id = $1")
    assert {row[0] for row in called} == set("NICF")
    spoken_of = await rows("select distinct object_type from discussion_threads where tenant_id = $1")
    assert {row[0] for row in spoken_of} == set("PE")


async def test_free_objects_hold_texts_as_legacy_records_do(created):
    """Programs that read a store through the legacy API meet no booleans and numbers there."""
    objects = "select properties || content from blocks where tenant_id = $1"
    objects += " union all select conditions || bonuses from promotions where tenant_id = $1"
    flat = f"select distinct jsonb_typeof(m.value) from ({objects}) o (v), jsonb_each(o.v) m"
    assert {row[0] for row in await rows(flat)} <= {"string", "array", "object"}


async def test_gateway_notifications_are_numbered_in_the_order_of_their_times(created):
    times = [
        row[0] for row in await rows("select created_at from gateway_notifications where tenant_id = $1 order by id")
    ]
    assert times == sorted(times)
    assert len(times) > 2


async def test_sixty_orders_cover_every_status_with_a_plausible_history(created):
    statuses = [row[0] for row in await rows("select status from orders where tenant_id = $1")]
    assert len(statuses) == 60
    assert set(statuses) == STATUSES
    # Completed orders are fully paid and shipped; cancelled ones are refunded.
    assert {
        tuple(row)
        for row in await rows("""
        select o.payment_status, (select sum(l.quantity) from order_lines l where l.tenant_id = $1 and l.order_id = o.id)
            = (select sum(s.quantity) from shipment_lines s join order_lines l
               on l.tenant_id = s.tenant_id and l.id = s.order_line_id where l.tenant_id = $1 and l.order_id = o.id)
        from orders o where tenant_id = $1 and status = 'C'""")
    } == {("paid", True)}
    cancelled = await rows("select distinct payment_status from orders where tenant_id = $1 and status = 'I'")
    assert {row[0] for row in cancelled} <= {"refunded", "unpaid"}
    assert await value("select count(*) from orders where tenant_id = $1 and hold_until is not null") == 0
    assert len(await rows("select order_id from shipments where tenant_id = $1 group by 1 having count(*) > 1")) >= 1
    ages = await rows("select now() - min(created_at), now() - max(created_at) from orders where tenant_id = $1")
    assert ages[0][0].days >= 60
    assert 0 <= ages[0][1].days <= 3
    future_changes = """
        select count(*) from orders o join order_status_changes c on c.tenant_id = o.tenant_id and c.order_id = o.id
        where o.tenant_id = $1 and (c.at > now() or c.at < o.created_at)"""
    assert await value(future_changes) == 0
    numbered = await rows("select created_at from orders where tenant_id = $1 order by id")
    assert numbered == sorted(numbered)


async def test_gateway_notifications_are_recorded_two_of_them_invalid(created):
    recorded = await rows(
        "select event_type, error_message, processed, unsigned from gateway_notifications where tenant_id = $1 order by id"
    )
    assert len(recorded) >= 20
    assert {row["event_type"] for row in recorded} == {
        "charge.paid",
        "charge.payment_failed",
        "charge.refunded",
    }
    assert {(row["processed"], row["unsigned"]) for row in recorded} == {(True, False)}
    messages = [row["error_message"] for row in recorded if row["error_message"]]
    assert messages == ["an order can't go from C to D; allowed: I", "order not found: 'PDV-0042'"]
    mismatched_payments = """
        select count(*) from orders o where tenant_id = $1 and paid_cents <> (
            select coalesce(sum(p.amount_cents), 0) from payments p where p.tenant_id = $1 and p.order_id = o.id)"""
    assert await value(mismatched_payments) == 0


async def test_stock_is_consistent_with_the_orders(created):
    reserved = """
        select count(*) from products p where tenant_id = $1 and tracking = 'B' and reserved <> (
            select coalesce(sum(l.quantity), 0) from order_lines l join orders o
            on o.tenant_id = l.tenant_id and o.id = l.order_id
            where l.tenant_id = $1 and l.product_id = p.id and o.status in ('O', 'B'))"""
    assert await value(reserved) == 0


async def test_the_other_store_has_its_own_data(created):
    other = created.json["other_store"]["tenant_id"]
    assert await value("select count(*) from products where tenant_id = $1", other) == 10
    assert await value("select count(*) from orders where tenant_id = $1", other) == 8


# --- Who can do what -------------------------------------------------------------------------------------------------


async def test_active_users_can_sign_in(created):
    shown = created.json
    for key in ("admin", "staff", "vendor", "customer"):
        signed_in = await sign_in(shown["tenant_id"], shown[key]["email"], shown[key]["password"])
        assert str(signed_in.user_id) == shown[key]["user_id"]
    challenge = await sign_in(shown["tenant_id"], shown["two_factor"]["email"], shown["two_factor"]["password"])
    scope = await visitor(shown["tenant_id"])
    with active_scope(scope):
        code = pyotp.TOTP(shown["two_factor"]["totp_secret"]).at(scope.now)
        signed_in = await verify_two_factor(scope, challenge.temp_token, code)
    assert str(signed_in.user_id) == shown["two_factor"]["user_id"]
    other = shown["other_store"]
    assert await sign_in(other["tenant_id"], other["admin"]["email"], other["admin"]["password"])


async def test_other_users_are_rejected_with_the_right_error(created):
    shown = created.json
    reasons = {
        "unverified": "email_not_verified",
        "disabled": "account_disabled",
        "pending": "account_pending_approval",
        "platform_user": "wrong_panel",
    }
    for key, reason in reasons.items():
        with pytest.raises(SignInDenied) as barred:
            await sign_in(shown["tenant_id"], shown[key]["email"], shown[key]["password"])
        assert barred.value.reason == reason
    shared = shown["shared_cpf"]
    with pytest.raises(Conflict) as conflict:
        await sign_in(shown["tenant_id"], shared["identifier"], shared["password"])
    assert conflict.value.reason == "multiple_accounts_cpf"
    for email in shared["emails"]:
        assert await sign_in(shown["tenant_id"], email, shared["password"])


async def test_printed_tokens_keys_and_privileges_are_valid(created):
    shown = created.json
    scope = await visitor(shown["tenant_id"])
    headers = {"Authorization": f"Bearer {shown['admin']['access_token']}"}
    values = {"now": scope.now, "client_ip": scope.client_ip, "request_id": "r", "family": "current"}
    admin = await authenticate(scope.store, Credential.ADMIN, headers, **values)
    assert admin.is_owner
    assert admin.has_privilege("manage_settings")
    with active_scope(scope):
        assert await refresh(scope, shown["admin"]["refresh_token"])
        for key in ("admin", "staff", "vendor"):
            assert await verify_api_key(scope, shown[key]["email"], shown[key]["api_key"])
    staff = await rows("select privileges from users where tenant_id = $1 and email = 'staff@demo.example'")
    assert staff[0][0] == shown["staff"]["privileges"] == ["view_orders"]
    company = await rows("""
        select v.public_id from users u join vendors v on v.tenant_id = u.tenant_id and v.id = u.vendor_id
        where u.tenant_id = $1 and u.email = 'vendor@demo.example'""")
    assert str(company[0][0]) == shown["vendor"]["company_id"]
    bought = "select count(*) from orders where tenant_id = $1 and email = 'customer@demo.example'"
    assert await value(bought) >= 1
    secret = await store_business.gateway_secret(store_admin.system_scope(scope.store))
    assert secret == shown["gateway"]["secret_key"]


async def test_printed_app_credentials_are_valid(created):
    for shown in (created.json, created.json["other_store"]):
        at = await visitor(shown["tenant_id"])
        key = await _asked(at, {"X-API-Key": shown["storefront_key"]})
        assert key.scopes == {"storefront:read", "storefront:cart", "storefront:checkout"}, shown
        app = await _asked(at, {"Authorization": f"Bearer {shown['app']['access_token']}"})
        assert len(app.scopes) == 17, shown
        assert shown["app"]["scopes"] == sorted(app.scopes)
        with active_scope(at):
            client = await authenticate_client(shown["app"]["client_id"], shown["app"]["client_secret"])
            assert client is not None, shown
            assert client.redirect_uris == [shown["app"]["redirect_uri"]]
            tokens = await refresh_app_tokens(at, shown["app"]["refresh_token"])
            assert tokens.scopes == shown["app"]["scopes"]


async def test_a_second_run_revokes_app_credentials(created):
    first = created.json
    await make_again(created)
    at = await visitor(first["tenant_id"])
    assert created.json["app"]["client_id"] == first["app"]["client_id"]
    with pytest.raises(Unauthenticated, match="invalid_api_key"):
        await _asked(at, {"X-API-Key": first["storefront_key"]})
    with pytest.raises(Unauthenticated, match="token revoked: app removed"):
        await _asked(at, {"Authorization": f"Bearer {first['app']['access_token']}"})
    with active_scope(at):
        assert await authenticate_client(first["app"]["client_id"], first["app"]["client_secret"]) is None
    await test_printed_app_credentials_are_valid(created)


async def _asked(at: Scope, headers: dict[str, str]) -> Actor:
    return await authenticate(
        at.store,
        Credential.GRAPHQL,
        headers,
        now=at.now,
        client_ip=at.client_ip,
        request_id=at.request_id,
        family="graphql",
    )


async def test_the_stores_resolve_by_host_with_their_status(created):
    directory = CachedStoreResolver({"localhost"})
    for key, host in (("tenant_id", created.json["host"]), ("other", created.json["other_store"]["host"])):
        store = await directory.resolve(f"{host}:8000", None, public=True)
        assert str(store.public_id) == (
            created.json[key] if key == "tenant_id" else created.json["other_store"]["tenant_id"]
        )
    for key, reason in (("suspended_store", "tenant_suspended"), ("maintenance_store", "tenant_maintenance")):
        with pytest.raises(TenantClosed) as closed:
            await directory.resolve(created.json[key]["host"], None, public=True)
        assert closed.value.reason == reason


# --- Made again ------------------------------------------------------------------------------------------------------


def ids(shown: Any) -> Any:
    """Return what a repeated run must not change."""
    if isinstance(shown, dict):
        changing = {
            "password", "api_key", "access_token", "refresh_token", "expires_at", "totp_secret", "storefront_key", "client_secret",
        }  # fmt: skip
        return {key: ids(row) for key, row in shown.items() if key not in changing}
    return shown


def secrets(shown: Any) -> list[str]:
    if isinstance(shown, dict):
        names = (
            "password", "api_key", "access_token", "refresh_token", "totp_secret", "storefront_key", "client_secret",
        )  # fmt: skip
        own = [shown[key] for key in names if key in shown]
        return own + [secret for row in shown.values() for secret in secrets(row)]
    return []


async def test_a_second_run_keeps_stores_and_ids_and_renews_secrets(created):
    first, orders = created.json, await rows("select public_id from orders where tenant_id = $1 order by id")
    second = await make_again(created)
    assert second.created == ()
    assert ids(second.json) == ids(first)
    assert set(secrets(first)).isdisjoint(secrets(second.json))
    assert await rows("select public_id from orders where tenant_id = $1 order by id") == orders
    admin = first["admin"]
    with pytest.raises(Unauthenticated):
        await sign_in(first["tenant_id"], admin["email"], admin["password"])
    scope = await visitor(first["tenant_id"])
    with active_scope(scope):
        with pytest.raises(DomainError):
            await refresh(scope, admin["refresh_token"])
        assert await verify_api_key(scope, admin["email"], admin["api_key"]) is None
    assert await value("select count(*) from api_keys where tenant_id = $1 and revoked_at is null") == 3


async def test_a_second_run_restores_changed_accounts(created):
    scope = store_admin.system_scope(await store_business.find_store(DEMO.public_id))
    with active_scope(scope):
        for change in (
            "status = 'D', privileges = '{manage_users}' where email = 'staff@demo.example'",
            "status = 'A' where email = 'pending@demo.example'",
            "email_verified_at = now() where email = 'unverified@demo.example'",
            "deleted_at = now(), email = null where email = 'customer@demo.example'",
        ):
            await db.execute(f"update users set {change} and tenant_id = $1", scope.store.id)
    await store_business.suspend(OTHER.public_id)
    await remove_host(DEMO.host)
    await store_business.set_gateway_secret(scope, "")
    await make_again(created)
    assert created.json["gateway"]["secret_key"]
    await test_active_users_can_sign_in(created)
    await test_other_users_are_rejected_with_the_right_error(created)
    await test_the_stores_resolve_by_host_with_their_status(created)


async def test_an_interrupted_demo_is_created_again(created):
    scope = store_admin.system_scope(await store_business.find_store(OTHER.public_id))
    with active_scope(scope):
        await db.execute("delete from external_references where tenant_id = $1", scope.store.id)
    again = await make_again(created)
    assert again.created == (OTHER.name,)
    assert again.json["other_store"]["tenant_id"] == str(OTHER.public_id)
    await test_the_other_store_has_its_own_data(created)


async def test_reset_deletes_the_data_of_demo_stores_only(created, store):
    scope = store_admin.system_scope(store)
    with active_scope(scope):
        await db.execute(
            "insert into categories (tenant_id, public_id, name) values ($1, $2, 'Fica')", store.id, uuid7()
        )
    before = await value("select min(public_id::text) from orders where tenant_id = $1")
    pictures = await rows(PICTURES)
    demo = await make_again(created, reset=True)
    assert await rows(PICTURES) == pictures
    await check_numbers()
    assert demo.created == (DEMO.name, OTHER.name)
    assert {demo.json["tenant_id"], demo.json["other_store"]["tenant_id"]} == {
        str(DEMO.public_id),
        str(OTHER.public_id),
    }
    assert await value("select min(public_id::text) from orders where tenant_id = $1") > before
    assert await value("select count(*) from orders where tenant_id = $1") == 60
    assert await value("select name from categories where tenant_id = $1", str(store.public_id)) == "Fica"
    await test_active_users_can_sign_in(created)


# --- Refused, and as a command ---------------------------------------------------------------------------------------


async def test_the_demo_is_rejected_in_production(created, tmp_path: Path):
    with pytest.raises(RuleViolation):
        await setup.set_up_demo(replace(created.settings, env="production"), created.location)
    error_line = Vitrine(tmp_path, VITRINE_ENV="production")("demo").error_line
    assert error_line == "vitrine demo is not available in production (VITRINE_ENV)"


async def test_a_host_of_another_store_is_reported(created, new_store):
    await remove_host(OTHER.host)
    another = await new_store()
    await hosts.add_host(another.id, OTHER.host)
    with pytest.raises(Conflict, match=f"the address {OTHER.host} is in use"):
        await make_again(created)
    await remove_host(OTHER.host)


async def test_the_command_prints_text_and_json(created, tmp_path: Path, database_url: str):
    vitrine = Vitrine(tmp_path, DATABASE_URL=database_url, VITRINE_BASE_URL="http://127.0.0.1:8123")
    shown = vitrine("demo", "--json").json
    assert ids(shown) == {**ids(created.json), "base_url": "http://127.0.0.1:8123"}
    assert await sign_in(shown["tenant_id"], shown["admin"]["email"], shown["admin"]["password"])
    output = vitrine("demo")
    assert output.code == 0
    for demo in STORES:
        assert str(demo.public_id) in output.out
    assert "admin@demo.example" in output.out
