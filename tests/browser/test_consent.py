"""An administrator is sent to the consent page of the real application, signs in, and lets an app in, or doesn't."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from pyotp import TOTP

from auth.apps import RegisteredApp, register_app
from auth.privileges import ALL
from domain.people import two_factor
from kernel.scope import entered
from models import database
from tests.browser.chromium import Browser, Page, chromium
from tests.browser.test_playground import SCREENSHOTS, needs_chromium
from tests.shop import PASSWORD, Person, Shop, new_shop, shop, shop_client

__all__ = ["new_shop", "shop", "shop_client"]

SCOPES = ["read_orders", "write_products", "read_users"]
VISIBLE = "document.querySelector('{}')?.getBoundingClientRect().height > 0"
CHECKED = "[...document.querySelectorAll('input[name=scope]:checked')].map(box => box.value).join()"


@dataclass(frozen=True)
class Door:
    """The page of one app's request, at the store's own address."""

    shop: Shop
    app: RegisteredApp
    address: str
    back: str

    async def open(self, browser: Browser, **query: str) -> Page:
        asked = {"response_type": "code", "client_id": self.app.client_id, "state": "a&b", **query}
        return await browser.open(
            f"{self.address}/api/v1/oauth/authorize?{urlencode(asked)}", width=900, height=800
        )

    async def sign_in(self, page: Page, person: Person, password: str = PASSWORD) -> None:
        await page.wait_for(VISIBLE.format("#sign-in"))
        for field, text in (("identifier", person.email), ("password", password)):
            await page.evaluate(f"document.querySelector('[name={field}]').select()")
            await page.type(text)
        await page.click("#sign-in button:not([data-cancel])")


@pytest.fixture
async def door(shop: Shop) -> Door:
    host = f"{shop.host.removesuffix('.test')}.localhost"
    port = shop.client.make_url("/").port
    async with database.across_stores() as platform:
        await platform.execute(
            "insert into store_hosts (host, store_id) values ($1, $2)", host, shop.store.id
        )
    address = f"http://{host}:{port}"
    back = f"http://localhost:{port}/health/live?keep=1"
    scope = shop.scope()
    with entered(scope):
        app = await register_app(
            scope, {"name": "Etiquetas Ágeis", "redirect_uris": [back], "scopes": SCOPES, "mode": "test"}
        )
    return Door(shop, app, address, back)


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as running:
        yield running


async def arrived(page: Page) -> dict[str, list[str]]:
    """Wait until the browser is back at the app, and give what it brought."""
    address = await page.wait_for("location.pathname === '/health/live' && location.href")
    return parse_qs(urlsplit(address).query)


async def keep(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    await page.screenshot(SCREENSHOTS / f"consent-{name}.png")


pytestmark = [pytest.mark.browser, needs_chromium]


async def test_an_administrator_lets_an_app_in(door: Door, browser: Browser) -> None:
    page = await door.open(browser)
    await page.wait_for(VISIBLE.format("#sign-in"))
    await keep(page, "sign-in")
    await door.sign_in(page, door.shop.owner)
    await page.wait_for(VISIBLE.format("#consent"))
    assert await page.evaluate(CHECKED) == "read_orders,read_users,write_products"
    await keep(page, "scopes")
    await page.click("input[value=read_users]")
    await page.click("#install")
    brought = await arrived(page)
    assert (brought["keep"], brought["state"]) == (["1"], ["a&b"])
    at_the_app = door.back.partition("/health")[0]
    assert [each for each in page.complaints if at_the_app not in each] == []
    ours = (door.address, at_the_app, "data:")
    assert [each for each in page.requests if not each.startswith(ours)] == []

    answer = await door.shop.post(
        "/api/v1/oauth/token",
        {
            "grant_type": "authorization_code",
            "client_id": door.app.client_id,
            "client_secret": door.app.client_secret,
            "code": brought["code"][0],
        },
        auth=None,
    )
    assert (answer.status, answer.body["scopes"]) == (200, ["read_orders", "write_products"])
    # The page signed out behind itself, and left nothing in the browser.
    assert await door.shop.value("select count(*) from sessions where ended_at is null") == 0
    assert (await page.call("Network.getAllCookies"))["cookies"] == []


async def test_wrong_passwords_and_missing_rights_are_said(door: Door, browser: Browser) -> None:
    page = await door.open(browser)
    await door.sign_in(page, door.shop.owner, "not the password")
    assert (
        await page.wait_for("document.querySelector('#problem').textContent")
        == "The e-mail or the password is wrong."
    )
    await keep(page, "wrong-password")
    clerk = await door.shop.new_person("manage_orders")
    await door.sign_in(page, clerk)
    await page.wait_for("document.querySelector('#problem').textContent.includes('manage_apps')")
    assert await page.evaluate(VISIBLE.format("#sign-in"))
    manager = await door.shop.new_person(*sorted(ALL - {"manage_products", "view_users", "manage_users"}))
    await door.sign_in(page, manager)
    await page.wait_for(VISIBLE.format("#consent"))
    assert await page.evaluate(CHECKED) == "read_orders"
    await keep(page, "some-scopes")
    await page.click("input[value=read_orders]")
    assert await page.evaluate("document.querySelector('#install').disabled")


async def test_an_administrator_with_a_second_factor_gives_its_code(door: Door, browser: Browser) -> None:
    scope = door.shop.scope()
    with entered(scope):
        secret = await two_factor.install(scope, door.shop.owner.number)
    page = await door.open(browser)
    await door.sign_in(page, door.shop.owner)
    await page.wait_for(VISIBLE.format("#second-factor"))
    await keep(page, "second-factor")
    await page.type("000000")
    await page.press("Enter")
    assert await page.wait_for("document.querySelector('#problem').textContent") == "The code is wrong."
    await page.evaluate("document.querySelector('[name=code]').focus()")
    await page.type(TOTP(secret).now())
    await page.press("Enter")
    await page.wait_for(VISIBLE.format("#consent"))
    await page.click("#install")
    assert "code" in await arrived(page)


async def test_who_says_no_is_sent_back_with_that(door: Door, browser: Browser) -> None:
    page = await door.open(browser)
    await page.click("#sign-in [data-cancel]")
    assert await arrived(page) == {"keep": ["1"], "error": ["access_denied"], "state": ["a&b"]}
    assert await door.shop.value("select count(*) from app_installations") == 0


async def test_the_page_can_not_be_framed(door: Door, browser: Browser) -> None:
    page = await browser.open(f"{door.address}/health/live")
    asked = f"/api/v1/oauth/authorize?client_id={door.app.client_id}"
    frame = f"Object.assign(document.createElement('iframe'), {{src: {asked!r}, onload: () => {{ window.tried = true }}}})"
    await page.evaluate(f"document.body.append({frame}) ?? true")
    await page.wait_for("window.tried")
    inside = "(() => { try { return frames[0].document.forms.length } catch { return 'closed' } })()"
    assert await page.evaluate(inside) == "closed"
    assert any("frame-ancestors" in complaint for complaint in page.complaints)


async def test_a_wrong_request_is_told_and_leads_nowhere(door: Door, browser: Browser) -> None:
    page = await door.open(browser, redirect_uri="https://evil.example/")
    await page.wait_for("document.querySelector('.problem')?.textContent.includes('redirect_uri')")
    await keep(page, "wrong")
    assert await page.evaluate("location.pathname") == "/api/v1/oauth/authorize"
