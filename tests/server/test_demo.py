"""The demo stores: what they hold, who can sign in with what, and that making them again changes only what must change."""

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
from auth.apps import verify_client
from auth.configuration import configure
from auth.oauth import renew
from auth.schemes import authenticate
from auth.sessions import login, refresh, verify_two_factor
from auth.tenancy import StoreDirectory
from domain import stores as store_business
from kernel.clock import now
from kernel.errors import AccountBarred, Conflict, DomainError, RuleViolation, TenantClosed, Unauthenticated
from kernel.ids import uuid7
from kernel.scope import ANONYMOUS, Actor, Scope, entered
from kernel.settings import Settings
from models import database as db
from rest_facade.routing import Needs
from server import operating
from server.database import DatabaseLocation
from server.demo import making
from server.demo.stores import DEMO, OTHER, STORES
from tests.server.commanding import SECRET, Vitrine

pytestmark = pytest.mark.usefixtures("database")

LETTERS = set("OPCDFIB")


@pytest.fixture(scope="module")
async def made(database, database_url: str):
    """Make the demo, unless tests of this file ran here before; `json` is what was printed last."""
    configure(SECRET.encode())
    settings = Settings(secret_key=SECRET, data_dir=Path("no such folder"))
    place = DatabaseLocation(database_url, database_url, is_embedded=False)
    demo = await making.make(settings, place)
    return SimpleNamespace(settings=settings, place=place, json=demo.json)


async def make_again(made, **options: bool) -> making.Demo:
    demo = await making.make(made.settings, made.place, **options)
    made.json = demo.json
    return demo


async def visitor(tenant_id: str) -> Scope:
    store = await store_business.find_store(UUID(tenant_id))
    address = f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(1, 255)}"
    return Scope(store, ANONYMOUS, str(uuid7()), now(), client_ip=address)


async def sign_in(tenant_id: str, identifier: str, password: str):
    scope = await visitor(tenant_id)
    with entered(scope):
        return await login(scope, identifier, password)


async def rows(sql: str, store: str = str(DEMO.public_id)) -> list[Any]:
    scope = operating.system_scope(await store_business.find_store(UUID(store)))
    with entered(scope):
        return await db.rows(sql, scope.store.id)


async def value(sql: str, store: str = str(DEMO.public_id)) -> Any:
    return (await rows(sql, store))[0][0]


# --- What is printed -------------------------------------------------------------------------------------------------


def test_the_json_has_the_keys_of_the_decisions(made):
    shown = made.json
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


async def test_the_store_is_stocked(made):
    assert await value("select count(*) from products where tenant_id = $1") >= 40
    assert await value("select count(distinct category_id) from products where tenant_id = $1") >= 8
    without_picture = """
        select count(*) from products p where tenant_id = $1
        and not exists (select from product_images i where i.tenant_id = p.tenant_id and i.product_id = p.id)"""
    assert await value(without_picture) == 0
    assert {
        each[0] for each in await rows("select distinct status from products where tenant_id = $1")
    } == set("ADHP")
    assert len(await rows("select distinct type from features where tenant_id = $1")) >= 5
    assert await value("select count(*) from feature_values where tenant_id = $1") >= 100
    assert await value("select count(*) from vendors where tenant_id = $1") == 3
    assert (
        await value("select count(*) from users where tenant_id = $1 and user_type = 'C' and status = 'A'")
        >= 25
    )
    assert await value("select count(*) from payment_methods where tenant_id = $1") >= 3
    assert await value("select count(*) from shipping_methods where tenant_id = $1") >= 3
    assert await value("select count(*) from destinations where tenant_id = $1") >= 6
    assert await value("select count(*) from shipping_rates where tenant_id = $1") >= 11
    assert await value("select count(*) from taxes where tenant_id = $1") >= 2
    assert await value("select count(*) from order_taxes where tenant_id = $1") >= 60
    assert await value("select count(*) from promotions where tenant_id = $1 and coupon_code <> ''") >= 3
    assert await value("select count(*) from discussion_posts where tenant_id = $1") >= 30


async def test_there_is_something_to_choose(made):
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


async def test_goods_lie_in_two_warehouses_one_of_which_sends_everywhere(made):
    warehouses = await rows(
        "select id, vendor_id, is_default from warehouses where tenant_id = $1 order by vendor_id nulls first"
    )
    assert [(each["vendor_id"] is None, each["is_default"]) for each in warehouses] == [
        (True, True),
        (False, True),
    ]
    states = "select count(distinct s) from warehouse_areas a, unnest(a.states) s where a.tenant_id = $1 and a.warehouse_id ="
    assert await value(f"{states} {warehouses[0]['id']}") == 27
    assert await value("select count(*) from warehouse_zipcodes where tenant_id = $1") == 2
    assert await value("select count(*) from warehouse_usergroups where tenant_id = $1") == 2


async def test_people_were_told_what_happened_and_the_owner_read_what_is_old(made):
    types = await rows("select distinct type from notifications where tenant_id = $1 order by type")
    assert {"order", "app"} <= {each["type"] for each in types}
    told = await rows(
        "select n.read_at is null as unread, n.created_at < now() - interval '8 days' as old from notifications n"
        " join tenants t on t.id = n.tenant_id and t.owner_id = n.user_id where n.tenant_id = $1"
    )
    assert {(each["unread"], each["old"]) for each in told} >= {(True, False), (False, True)}
    assert (True, True) not in {(each["unread"], each["old"]) for each in told}
    assert await value("select count(*) from shipments where tenant_id = $1") >= 10


async def test_the_store_sells_to_companies(made):
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
    odd = """
        select count(*) from managers m where tenant_id = $1 and balance_cents <> (
            select coalesce(sum(case type when 'C' then amount_cents else -amount_cents end), 0) from manager_transactions t
            where t.tenant_id = m.tenant_id and t.manager_id = m.id)
    """
    assert await value(odd) == 0
    setting = "select settings ->> 'credit_bureau_url' from tenants where id = $1"
    assert await value(setting) == "/dev/credit-bureau"


async def test_some_carts_were_left_standing(made):
    carts = await rows(
        "select status, expires_at <= now() as is_over, address, total_cents from carts where tenant_id = $1 order by created_at"
    )
    assert [each["is_over"] for each in carts] == [True, False, False]
    assert all(each["total_cents"] and each["address"] for each in carts)


async def test_the_store_speaks_for_itself(made):
    pages = await rows("select type, status, parent_id from pages where tenant_id = $1")
    assert {page["type"] for page in pages} == set("TLFB")
    assert {page["status"] for page in pages} == set("AD")
    assert any(page["parent_id"] for page in pages)
    assert await value("select count(*) from blocks where tenant_id = $1") >= 4
    assert [
        each[0] for each in await rows("select code from languages where tenant_id = $1 order by id")
    ] == ["pt", "en"]
    assert await value("select status_letters::text from tenants where id = $1") == '{"O": {"X": "D"}}'
    assert await value("select count(*) from subscribers where tenant_id = $1") >= 8
    called = await rows("select distinct status from call_requests where tenant_id = $1")
    assert {each[0] for each in called} == set("NICF")
    spoken_of = await rows("select distinct object_type from discussion_threads where tenant_id = $1")
    assert {each[0] for each in spoken_of} == set("PE")


async def test_sixty_orders_stand_in_every_status_and_tell_a_likely_story(made):
    letters = [each[0] for each in await rows("select status from orders where tenant_id = $1")]
    assert len(letters) == 60
    assert set(letters) == LETTERS
    # What was delivered was paid and shipped, whole; what is cancelled holds no money.
    assert {
        tuple(each)
        for each in await rows("""
        select o.payment_status, (select sum(l.quantity) from order_lines l where l.tenant_id = $1 and l.order_id = o.id)
            = (select sum(s.quantity) from shipment_lines s join order_lines l
               on l.tenant_id = s.tenant_id and l.id = s.order_line_id where l.tenant_id = $1 and l.order_id = o.id)
        from orders o where tenant_id = $1 and status = 'C'""")
    } == {("paid", True)}
    cancelled = await rows("select distinct payment_status from orders where tenant_id = $1 and status = 'I'")
    assert {each[0] for each in cancelled} <= {"refunded", "unpaid"}
    assert await value("select count(*) from orders where tenant_id = $1 and hold_until is not null") == 0
    assert (
        len(await rows("select order_id from shipments where tenant_id = $1 group by 1 having count(*) > 1"))
        >= 1
    )
    ages = await rows(
        "select now() - min(created_at), now() - max(created_at) from orders where tenant_id = $1"
    )
    assert ages[0][0].days >= 60
    assert 0 <= ages[0][1].days <= 3
    future = """
        select count(*) from orders o join order_status_changes c on c.tenant_id = o.tenant_id and c.order_id = o.id
        where o.tenant_id = $1 and (c.at > now() or c.at < o.created_at)"""
    assert await value(future) == 0
    numbered = await rows("select created_at from orders where tenant_id = $1 order by id")
    assert numbered == sorted(numbered)


async def test_the_gateway_told_of_payments_and_got_two_things_wrong(made):
    told = await rows(
        "select event_type, error_message, processed, unsigned from gateway_notifications where tenant_id = $1 order by id"
    )
    assert len(told) >= 20
    assert {each["event_type"] for each in told} == {
        "charge.paid",
        "charge.payment_failed",
        "charge.refunded",
    }
    assert {(each["processed"], each["unsigned"]) for each in told} == {(True, False)}
    wrong = [each["error_message"] for each in told if each["error_message"]]
    assert wrong == ["an order can't go from C to D; allowed: I", "order not found: 'PDV-0042'"]
    unlike = """
        select count(*) from orders o where tenant_id = $1 and paid_cents <> (
            select coalesce(sum(p.amount_cents), 0) from payments p where p.tenant_id = $1 and p.order_id = o.id)"""
    assert await value(unlike) == 0


async def test_stock_agrees_with_the_orders(made):
    reserved = """
        select count(*) from products p where tenant_id = $1 and tracking = 'B' and reserved <> (
            select coalesce(sum(l.quantity), 0) from order_lines l join orders o
            on o.tenant_id = l.tenant_id and o.id = l.order_id
            where l.tenant_id = $1 and l.product_id = p.id and o.status in ('O', 'B'))"""
    assert await value(reserved) == 0


async def test_the_other_store_has_its_own_shop(made):
    other = made.json["other_store"]["tenant_id"]
    assert await value("select count(*) from products where tenant_id = $1", other) == 10
    assert await value("select count(*) from orders where tenant_id = $1", other) == 8


# --- Who can do what -------------------------------------------------------------------------------------------------


async def test_those_who_may_enter_can_sign_in(made):
    shown = made.json
    for key in ("admin", "staff", "vendor", "customer"):
        signed_in = await sign_in(shown["tenant_id"], shown[key]["email"], shown[key]["password"])
        assert str(signed_in.user_id) == shown[key]["user_id"]
    challenge = await sign_in(
        shown["tenant_id"], shown["two_factor"]["email"], shown["two_factor"]["password"]
    )
    scope = await visitor(shown["tenant_id"])
    with entered(scope):
        code = pyotp.TOTP(shown["two_factor"]["totp_secret"]).at(scope.now)
        signed_in = await verify_two_factor(scope, challenge.temp_token, code)
    assert str(signed_in.user_id) == shown["two_factor"]["user_id"]
    other = shown["other_store"]
    assert await sign_in(other["tenant_id"], other["admin"]["email"], other["admin"]["password"])


async def test_the_others_are_barred_for_their_reason(made):
    shown = made.json
    reasons = {
        "unverified": "email_not_verified",
        "disabled": "account_disabled",
        "pending": "account_pending_approval",
        "platform_user": "wrong_panel",
    }
    for key, reason in reasons.items():
        with pytest.raises(AccountBarred) as barred:
            await sign_in(shown["tenant_id"], shown[key]["email"], shown[key]["password"])
        assert barred.value.reason == reason
    shared = shown["shared_cpf"]
    with pytest.raises(Conflict) as conflict:
        await sign_in(shown["tenant_id"], shared["identifier"], shared["password"])
    assert conflict.value.reason == "multiple_accounts_cpf"
    for email in shared["emails"]:
        assert await sign_in(shown["tenant_id"], email, shared["password"])


async def test_tokens_keys_and_privileges_are_as_printed(made):
    shown = made.json
    scope = await visitor(shown["tenant_id"])
    headers = {"Authorization": f"Bearer {shown['admin']['access_token']}"}
    given = {"now": scope.now, "client_ip": scope.client_ip, "request_id": "r", "family": "current"}
    admin = await authenticate(scope.store, Needs.ADMIN, headers, **given)
    assert admin.is_owner
    assert admin.holds("manage_settings")
    with entered(scope):
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
    secret = await store_business.gateway_secret(operating.system_scope(scope.store))
    assert secret == shown["gateway"]["secret_key"]


async def test_programs_get_in_with_what_is_printed(made):
    for shown in (made.json, made.json["other_store"]):
        at = await visitor(shown["tenant_id"])
        key = await _asked(at, {"X-API-Key": shown["storefront_key"]})
        assert key.scopes == {"storefront:read", "storefront:cart", "storefront:checkout"}
        app = await _asked(at, {"Authorization": f"Bearer {shown['app']['access_token']}"})
        assert len(app.scopes) == 14
        assert shown["app"]["scopes"] == sorted(app.scopes)
        with entered(at):
            client = await verify_client(shown["app"]["client_id"], shown["app"]["client_secret"])
            assert client is not None
            assert client.redirect_uris == [shown["app"]["redirect_uri"]]
            tokens = await renew(at, shown["app"]["refresh_token"])
            assert tokens.scopes == shown["app"]["scopes"]


async def test_made_again_it_ends_what_programs_were_given(made):
    first = made.json
    await make_again(made)
    at = await visitor(first["tenant_id"])
    assert made.json["app"]["client_id"] == first["app"]["client_id"]
    with pytest.raises(Unauthenticated, match="invalid_api_key"):
        await _asked(at, {"X-API-Key": first["storefront_key"]})
    with pytest.raises(Unauthenticated, match="token revoked: app removed"):
        await _asked(at, {"Authorization": f"Bearer {first['app']['access_token']}"})
    with entered(at):
        assert await verify_client(first["app"]["client_id"], first["app"]["client_secret"]) is None
    await test_programs_get_in_with_what_is_printed(made)


async def _asked(at: Scope, headers: dict[str, str]) -> Actor:
    return await authenticate(
        at.store,
        Needs.GRAPHQL,
        headers,
        now=at.now,
        client_ip=at.client_ip,
        request_id=at.request_id,
        family="graphql",
    )


async def test_the_stores_answer_at_their_addresses_in_their_state(made):
    directory = StoreDirectory({"localhost"})
    for key, host in (("tenant_id", made.json["host"]), ("other", made.json["other_store"]["host"])):
        store = await directory.resolve(f"{host}:8000", None, public=True)
        assert str(store.public_id) == (
            made.json[key] if key == "tenant_id" else made.json["other_store"]["tenant_id"]
        )
    for key, reason in (("suspended_store", "tenant_suspended"), ("maintenance_store", "tenant_maintenance")):
        with pytest.raises(TenantClosed) as closed:
            await directory.resolve(made.json[key]["host"], None, public=True)
        assert closed.value.reason == reason


# --- Made again ------------------------------------------------------------------------------------------------------


def ids(shown: Any) -> Any:
    """What must not change from one time to the next."""
    if isinstance(shown, dict):
        changing = {
            "password", "api_key", "access_token", "refresh_token", "expires_at", "totp_secret", "storefront_key", "client_secret",
        }  # fmt: skip
        return {key: ids(each) for key, each in shown.items() if key not in changing}
    return shown


def secrets(shown: Any) -> list[str]:
    if isinstance(shown, dict):
        names = (
            "password", "api_key", "access_token", "refresh_token", "totp_secret", "storefront_key", "client_secret",
        )  # fmt: skip
        own = [shown[key] for key in names if key in shown]
        return own + [secret for each in shown.values() for secret in secrets(each)]
    return []


async def test_made_again_it_gives_the_same_stores_and_ids_and_new_secrets(made):
    first, orders = made.json, await rows("select public_id from orders where tenant_id = $1 order by id")
    second = await make_again(made)
    assert second.filled == ()
    assert ids(second.json) == ids(first)
    assert set(secrets(first)).isdisjoint(secrets(second.json))
    assert await rows("select public_id from orders where tenant_id = $1 order by id") == orders
    admin = first["admin"]
    with pytest.raises(Unauthenticated):
        await sign_in(first["tenant_id"], admin["email"], admin["password"])
    scope = await visitor(first["tenant_id"])
    with entered(scope):
        with pytest.raises(DomainError):
            await refresh(scope, admin["refresh_token"])
        assert await verify_api_key(scope, admin["email"], admin["api_key"]) is None
    assert await value("select count(*) from api_keys where tenant_id = $1 and revoked_at is null") == 3


async def test_made_again_it_puts_right_what_was_changed(made):
    scope = operating.system_scope(await store_business.find_store(DEMO.public_id))
    with entered(scope):
        for change in (
            "status = 'D', privileges = '{manage_users}' where email = 'staff@demo.example'",
            "status = 'A' where email = 'pending@demo.example'",
            "email_verified_at = now() where email = 'unverified@demo.example'",
            "deleted_at = now(), email = null where email = 'customer@demo.example'",
        ):
            await db.execute(f"update users set {change} and tenant_id = $1", scope.store.id)
    await store_business.suspend(OTHER.public_id)
    await store_business.remove_host(DEMO.public_id, DEMO.host)
    await store_business.set_gateway_secret(scope, "")
    await make_again(made)
    assert made.json["gateway"]["secret_key"]
    await test_those_who_may_enter_can_sign_in(made)
    await test_the_others_are_barred_for_their_reason(made)
    await test_the_stores_answer_at_their_addresses_in_their_state(made)


async def test_a_demo_that_was_cut_short_is_filled_anew(made):
    scope = operating.system_scope(await store_business.find_store(OTHER.public_id))
    with entered(scope):
        await db.execute("delete from external_references where tenant_id = $1", scope.store.id)
    again = await make_again(made)
    assert again.filled == (OTHER.name,)
    assert again.json["other_store"]["tenant_id"] == str(OTHER.public_id)
    await test_the_other_store_has_its_own_shop(made)


async def test_reset_empties_the_demo_stores_and_no_other(made, store):
    scope = operating.system_scope(store)
    with entered(scope):
        await db.execute(
            "insert into categories (tenant_id, public_id, name) values ($1, $2, 'Fica')", store.id, uuid7()
        )
    before = await value("select min(id) from orders where tenant_id = $1")
    demo = await make_again(made, reset=True)
    assert demo.filled == (DEMO.name, OTHER.name)
    assert {demo.json["tenant_id"], demo.json["other_store"]["tenant_id"]} == {
        str(DEMO.public_id),
        str(OTHER.public_id),
    }
    assert await value("select min(id) from orders where tenant_id = $1") > before
    assert await value("select count(*) from orders where tenant_id = $1") == 60
    assert await value("select name from categories where tenant_id = $1", str(store.public_id)) == "Fica"
    await test_those_who_may_enter_can_sign_in(made)


# --- Refused, and as a command ---------------------------------------------------------------------------------------


async def test_the_demo_is_refused_in_production(made, tmp_path: Path):
    with pytest.raises(RuleViolation):
        await making.make(replace(made.settings, env="production"), made.place)
    refusal = Vitrine(tmp_path, VITRINE_ENV="production")("demo").refusal
    assert refusal == "vitrine demo is for development, and VITRINE_ENV is production"


async def test_an_address_that_another_store_has_is_named(made, new_store):
    await store_business.remove_host(OTHER.public_id, OTHER.host)
    another = await new_store()
    await store_business.add_host(another.id, OTHER.host)
    with pytest.raises(Conflict, match=f"the address {OTHER.host} is in use"):
        await make_again(made)
    await store_business.remove_host(another.id, OTHER.host)


async def test_the_command_prints_it_for_people_and_for_programs(made, tmp_path: Path, database_url: str):
    vitrine = Vitrine(tmp_path, DATABASE_URL=database_url, VITRINE_BASE_URL="http://127.0.0.1:8123")
    shown = vitrine("demo", "--json").json
    assert ids(shown) == {**ids(made.json), "base_url": "http://127.0.0.1:8123"}
    assert await sign_in(shown["tenant_id"], shown["admin"]["email"], shown["admin"]["password"])
    said = vitrine("demo")
    assert said.code == 0
    for demo in STORES:
        assert str(demo.public_id) in said.out
    assert "admin@demo.example" in said.out
