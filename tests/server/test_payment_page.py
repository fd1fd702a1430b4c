"""`/dev/payments`: where it exists, what it shows, and that its buttons work from the page alone."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

import pytest
from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient, TestServer

from auth.api_keys import create_api_key
from auth.configuration import configure
from auth.schemes import authenticate
from auth.store_resolution import CachedStoreResolver
from domain.payments import creation
from domain.payments.requests import parse_input
from domain.payments.sandbox import gateway as sandbox
from domain.stores import set_gateway_secret
from kernel.errors import RuleViolation
from kernel.scope import active_scope
from kernel.settings import Settings
from server.app import create_app
from server.database import DatabaseLocation
from server.operations import checks
from server.operations.check_results import Severity
from tests.harness.domain_store import DomainStore
from tests.harness.payments import add_sandbox_methods, enabled_sandbox

PATH = "/dev/payments"
PRIVATE = Settings(trusted_proxies=(ip_network("127.0.0.0/8"),), ip_rate=0, failed_auth_rate=0)
PRODUCTION = replace(PRIVATE, env="production", secret_key="x" * 32)


@pytest.fixture(autouse=True, scope="module")
def secret(database):
    configure(b"the secret of the tests, 32 bytes")


@pytest.fixture(autouse=True)
def enabled():
    with enabled_sandbox():
        yield


@asynccontextmanager
async def serving(settings: Settings = PRIVATE) -> AsyncIterator[TestClient]:
    app = create_app(settings, store_resolver=CachedStoreResolver(settings.shared_hosts), authenticate=authenticate)
    async with TestClient(TestServer(app)) as client:
        yield client


@pytest.fixture
async def kit(scope):
    kit = DomainStore(scope)
    await set_gateway_secret(scope, "a secret of the tests")
    return kit


async def pix(kit: DomainStore) -> tuple[int, str]:
    """Return an order with a payment by Pix, and the charge."""
    methods = await add_sandbox_methods(kit.scope)
    order = await kit.order((await kit.product(), 1), payment_method=methods["PIX"])
    number = await creation.create_payment(kit.scope, order.public_id, None, parse_input("PIX", {}))
    return order.id, (await kit.record("payments", number))["gateway_charge_id"]


async def press(client: TestClient, kit: DomainStore, charge: str, action: str, **headers: str) -> ClientResponse:
    own = {"Origin": f"http://127.0.0.1:{client.port}", "Sec-Fetch-Site": "same-origin", **headers}
    path = f"{PATH}/{kit.store.public_id}/{charge}/{action}"
    return await client.post(path, headers=own, allow_redirects=False)


async def test_a_button_pays_the_order(kit):
    order, charge = await pix(kit)
    async with serving() as client:
        page = await client.get(PATH, params={"store": str(kit.store.public_id)})
        text = await page.text()
        actions = re.findall(rf'action="{PATH}/{kit.store.public_id}/{charge}/([a-z]+)"', text)
        assert (page.status, actions) == (200, ["pay", "refuse", "expire"])
        answer = await press(client, kit, charge, "pay")
        assert (answer.status, answer.headers["Location"]) == (303, f"{PATH}#{charge}")
        assert await kit.status(order) == "P"
        page = await client.get(PATH, params={"store": str(kit.store.public_id)})
        assert re.findall(rf'/{charge}/([a-z]+)"', await page.text()) == ["refund", "dispute"]
    [notification] = await kit.rows("SELECT unsigned, error_message FROM gateway_notifications WHERE tenant_id = $1")
    assert tuple(notification) == (False, "")


async def test_a_button_that_comes_too_late_shows_what_happened(kit):
    _, charge = await pix(kit)
    async with serving() as client:
        assert (await press(client, kit, charge, "refuse")).status == 303
        assert (await press(client, kit, charge, "pay")).status == 303
    assert await kit.value("SELECT status FROM sandbox_charges WHERE tenant_id = $1") == "FAILED"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": ""},
        {"Origin": "null"},
    ],
    ids=str,
)
async def test_other_pages_press_no_button(kit, headers):
    order, charge = await pix(kit)
    async with serving() as client:
        assert (await press(client, kit, charge, "pay", **headers)).status == 403
    assert await kit.status(order) == "O"


async def test_unknown_charges_stores_and_actions_are_not_found(kit, other_scope):
    _, charge = await pix(kit)
    async with serving() as client:
        assert (await press(client, kit, charge, "explode")).status == 404
        assert (await press(client, kit, "sandbox_unknown", "pay")).status == 404
        assert (await press(client, DomainStore(other_scope), charge, "pay")).status == 404


async def test_the_page_may_send_forms_to_itself_and_run_nothing(kit):
    async with serving() as client:
        policy = (await client.get(PATH)).headers["Content-Security-Policy"]
    assert "form-action 'self'" in policy
    assert "script-src" not in policy
    assert "default-src 'none'" in policy


async def test_a_private_server_answers_to_local_names_only(kit):
    _, charge = await pix(kit)
    async with serving() as client:
        evil = {"Host": "evil.example"}
        assert (await client.get(PATH, headers=evil)).status == 404
        assert (await press(client, kit, charge, "pay", **evil, Origin="http://evil.example")).status == 404


@pytest.mark.parametrize("is_allowed", [None, False, True])
async def test_production_has_no_sandbox_unless_a_setting_says_so(kit, is_allowed):
    settings = replace(PRODUCTION, sandbox_payments=is_allowed)
    assert settings.has_sandbox is bool(is_allowed)
    async with serving(settings) as client:
        assert (await client.get(f"{PATH}/{kit.store.public_id}")).status == (401 if is_allowed else 404)


ALLOWED = replace(PRODUCTION, sandbox_payments=True)


async def basic(kit: DomainStore, email: str, **fields: Any) -> str:
    """Return the header of a new user with an API key."""
    user = await kit.customer(email=email, **fields)
    with active_scope(kit.scope):
        key = await create_api_key(kit.scope, await kit.public_id("users", user), "page")
    return "Basic " + base64.b64encode(f"{email}:{key.secret}".encode()).decode()


async def test_in_production_an_administrator_of_payments_sees_the_own_store_alone(kit, other_scope):
    order, charge = await pix(kit)
    other = DomainStore(other_scope)
    await set_gateway_secret(other_scope, "a secret of the tests")
    _, other_charge = await pix(other)
    header = await basic(kit, "money@example.com", user_type="A", privileges=["manage_payments"])
    path = f"{PATH}/{kit.store.public_id}"
    async with serving(ALLOWED) as client:
        asked = await client.get(path)
        # A browser repeats a credential wherever a host asks with the same realm, also for forms of other sites.
        assert (asked.status, asked.headers["WWW-Authenticate"]) == (401, 'Basic realm="vitrine payment page"')
        shown = await client.get(path, headers={"Authorization": header}, params={"store": str(other.store.public_id)})
        text = await shown.text()
        assert (shown.status, charge in text, other_charge in text) == (200, True, False)
        foreign = await client.get(f"{PATH}/{other.store.public_id}", headers={"Authorization": header})
        assert foreign.status == 404
        assert (await press(client, other, other_charge, "pay", Authorization=header)).status == 404
        stolen = f"{path}/{other_charge}/pay"
        own = {"Origin": f"http://127.0.0.1:{client.port}", "Authorization": header}
        assert (await client.post(stolen, headers=own)).status == 404
        assert await other.status((await other.rows("SELECT id FROM orders WHERE tenant_id = $1"))[0]["id"]) == "O"
        assert (await press(client, kit, charge, "pay")).status == 401
        answer = await press(client, kit, charge, "pay", Authorization=header)
        assert (answer.status, answer.headers["Location"]) == (303, f"{path}#{charge}")
    assert await kit.status(order) == "P"


@pytest.mark.parametrize("user_type", ["A", "V"])
async def test_in_production_nobody_else_sees_the_page(kit, user_type):
    _, charge = await pix(kit)
    rights = {"privileges": ["view_orders"]} if user_type == "A" else {"vendor_id": await kit.vendor()}
    header = await basic(kit, "other@example.com", user_type=user_type, **rights)
    async with serving(ALLOWED) as client:
        page = await client.get(f"{PATH}/{kit.store.public_id}", headers={"Authorization": header})
        pressed = await press(client, kit, charge, "pay", Authorization=header)
    assert (page.status, pressed.status) == (403, 403)


async def test_the_doctor_names_stores_whose_methods_pay_nothing(kit, database_url):
    await add_sandbox_methods(kit.scope)
    here = DatabaseLocation(database_url, database_url, is_embedded=False)
    allowed, refused = await checks._check_sandbox(ALLOWED, here), await checks._check_sandbox(PRODUCTION, here)
    assert (allowed.level, refused.level) == (Severity.WARN, Severity.WARN)
    assert "take no payments" in refused.text
    await kit.rows("UPDATE payment_methods SET status = 'D' WHERE tenant_id = $1")
    assert (await checks._check_sandbox(PRODUCTION, here)).text != refused.text, "one store less"


async def test_a_store_without_the_sandbox_offers_none_of_its_methods(kit):
    methods = await add_sandbox_methods(kit.scope)
    order = await kit.order((await kit.product(), 1), payment_method=methods["PIX"])
    sandbox.configure(False)
    with pytest.raises(RuleViolation) as refused:
        await creation.create_payment(kit.scope, order.public_id, None, parse_input("PIX", {}))
    assert refused.value.reason == "kind_unavailable"
