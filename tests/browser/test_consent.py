"""An administrator signs in on the OAuth consent page of the real application and approves or denies an app."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from pyotp import TOTP

from auth.privileges import ALL
from domain.apps.registration import RegisteredApp, register_app
from domain.people import two_factor
from kernel.scope import active_scope
from models.connection import database
from tests.browser.chromium import Browser, Page
from tests.browser.test_playground import SCREENSHOTS, needs_chromium
from tests.harness.records import PASSWORD, UserRecord
from tests.harness.sample_store import SampleStore

SCOPES = ["read_orders", "write_products", "read_users"]
VISIBLE = "document.querySelector('{}')?.getBoundingClientRect().height > 0"
CHECKED = "[...document.querySelectorAll('input[name=scope]:checked')].map(box => box.value).join()"


@dataclass(frozen=True)
class ConsentPage:
    """The consent page of an app's authorization request, at the store's own host."""

    sample: SampleStore
    app: RegisteredApp
    address: str
    redirect_uri: str

    async def open(self, browser: Browser, **query: str) -> Page:
        params = {"response_type": "code", "client_id": self.app.client_id, "state": "a&b", "ui_locales": "en", **query}
        return await browser.open(f"{self.address}/api/v1/oauth/authorize?{urlencode(params)}", width=900, height=800)

    def at_shared_address(self) -> ConsentPage:
        port = self.sample.http.make_url("/").port
        return replace(self, address=f"http://localhost:{port}")

    async def sign_in(self, page: Page, person: UserRecord, password: str = PASSWORD) -> None:
        await page.wait_for(VISIBLE.format("#sign-in"))
        for field, text in (("identifier", person.email), ("password", password)):
            await page.evaluate(f"document.querySelector('[name={field}]').select()")
            await page.type(text)
        await page.click("#sign-in button:not([data-cancel])")


@pytest.fixture
async def consent_page(sample: SampleStore) -> ConsentPage:
    host = f"{sample.host.removesuffix('.test')}.localhost"
    port = sample.http.make_url("/").port
    async with database.cross_store_connection() as platform:
        await platform.execute("insert into store_hosts (host, store_id) values ($1, $2)", host, sample.store.id)
        await platform.execute("delete from signin_counts")  # all tests sign in from the browser's address
    address = f"http://{host}:{port}"
    redirect_uri = f"http://localhost:{port}/health/live?keep=1"
    scope = sample.scope
    with active_scope(scope):
        app = await register_app(
            scope,
            {"name": "Etiquetas Ágeis", "redirect_uris": [redirect_uri], "scopes": SCOPES, "mode": "test"},
        )
    return ConsentPage(sample, app, address, redirect_uri)


async def wait_for_redirect(page: Page) -> dict[str, list[str]]:
    """Wait until the browser is redirected to the app, and return the query parameters."""
    address = await page.wait_for("location.pathname === '/health/live' && location.href")
    return parse_qs(urlsplit(address).query)


async def save_screenshot(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    await page.screenshot(SCREENSHOTS / f"consent-{name}.png")


pytestmark = [pytest.mark.browser, pytest.mark.slow, needs_chromium]


async def test_an_administrator_approves_an_app(consent_page: ConsentPage, browser: Browser) -> None:
    page = await consent_page.open(browser)
    await page.wait_for(VISIBLE.format("#sign-in"))
    await save_screenshot(page, "sign-in")
    await consent_page.sign_in(page, consent_page.sample.owner)
    await page.wait_for(VISIBLE.format("#consent"))
    assert await page.evaluate(CHECKED) == "read_orders,read_users,write_products"
    await save_screenshot(page, "scopes")
    await page.click("input[value=read_users]")
    await page.click("#install")
    redirect_params = await wait_for_redirect(page)
    assert (redirect_params["keep"], redirect_params["state"]) == (["1"], ["a&b"])
    at_the_app = consent_page.redirect_uri.partition("/health")[0]
    assert [each for each in page.complaints if at_the_app not in each] == []
    ours = (consent_page.address, at_the_app, "data:")
    assert [each for each in page.requests if not each.startswith(ours)] == []

    answer = await consent_page.sample.post(
        "/api/v1/oauth/token",
        {
            "grant_type": "authorization_code",
            "client_id": consent_page.app.client_id,
            "client_secret": consent_page.app.client_secret,
            "code": redirect_params["code"][0],
        },
        auth=None,
    )
    assert (answer.status, answer.body["scopes"]) == (200, ["read_orders", "write_products"])
    # The page signed out and stored nothing in the browser.
    assert await consent_page.sample.value("select count(*) from sessions where ended_at is null") == 0
    assert (await page.call("Network.getAllCookies"))["cookies"] == []


async def test_wrong_passwords_and_missing_privileges_are_reported(consent_page: ConsentPage, browser: Browser) -> None:
    page = await consent_page.open(browser)
    await consent_page.sign_in(page, consent_page.sample.owner, "not the password")
    assert (
        await page.wait_for("document.querySelector('#problem').textContent") == "The e-mail or the password is wrong."
    )
    await save_screenshot(page, "wrong-password")
    clerk = await consent_page.sample.add_user("manage_orders")
    await consent_page.sign_in(page, clerk)
    await page.wait_for("document.querySelector('#problem').textContent.includes('manage_apps')")
    assert await page.evaluate(VISIBLE.format("#sign-in"))
    manager = await consent_page.sample.add_user(*sorted(ALL - {"manage_products", "view_users", "manage_users"}))
    await consent_page.sign_in(page, manager)
    await page.wait_for(VISIBLE.format("#consent"))
    assert await page.evaluate(CHECKED) == "read_orders"
    await save_screenshot(page, "some-scopes")
    await page.click("input[value=read_orders]")
    assert await page.evaluate("document.querySelector('#install').disabled")


async def test_an_administrator_with_two_factor_enters_the_code(consent_page: ConsentPage, browser: Browser) -> None:
    scope = consent_page.sample.scope
    with active_scope(scope):
        secret = await two_factor.enable_for_demo(scope, consent_page.sample.owner.number)
    page = await consent_page.open(browser)
    await consent_page.sign_in(page, consent_page.sample.owner)
    await page.wait_for(VISIBLE.format("#second-factor"))
    await save_screenshot(page, "second-factor")
    await page.type("000000")
    await page.press("Enter")
    assert await page.wait_for("document.querySelector('#problem').textContent") == "The code is wrong."
    await page.evaluate("document.querySelector('[name=code]').focus()")
    await page.type(TOTP(secret).now())
    await page.press("Enter")
    await page.wait_for(VISIBLE.format("#consent"))
    await page.click("#install")
    assert "code" in await wait_for_redirect(page)


async def test_a_denied_consent_redirects_with_an_error(consent_page: ConsentPage, browser: Browser) -> None:
    page = await consent_page.open(browser)
    await page.click("#sign-in [data-cancel]")
    assert await wait_for_redirect(page) == {"keep": ["1"], "error": ["access_denied"], "state": ["a&b"]}
    assert await consent_page.sample.value("select count(*) from app_installations") == 0


async def test_an_app_is_approved_at_an_address_that_stores_share(consent_page: ConsentPage, browser: Browser) -> None:
    shared = consent_page.at_shared_address()
    page = await shared.open(browser, tenant=str(shared.sample.store.public_id))
    await shared.sign_in(page, shared.sample.owner)
    await page.wait_for(VISIBLE.format("#consent"))
    await page.click("#install")
    assert "code" in await wait_for_redirect(page)
    assert await shared.sample.value("select count(*) from app_installations") == 1


async def test_the_page_can_not_be_framed(consent_page: ConsentPage, browser: Browser) -> None:
    page = await browser.open(f"{consent_page.address}/health/live")
    params = f"/api/v1/oauth/authorize?client_id={consent_page.app.client_id}"
    frame = (
        f"Object.assign(document.createElement('iframe'), {{src: {params!r}, onload: () => {{ window.tried = true }}}})"
    )
    await page.evaluate(f"document.body.append({frame}) ?? true")
    await page.wait_for("window.tried")
    inside = "(() => { try { return frames[0].document.forms.length } catch { return 'closed' } })()"
    assert await page.evaluate(inside) == "closed"
    assert any("frame-ancestors" in complaint for complaint in page.complaints)


async def test_an_invalid_request_is_reported_without_a_redirect(consent_page: ConsentPage, browser: Browser) -> None:
    page = await consent_page.open(browser, redirect_uri="https://evil.example/")
    await page.wait_for("document.querySelector('.problem')?.textContent.includes('redirect_uri')")
    await save_screenshot(page, "wrong")
    assert await page.evaluate("location.pathname") == "/api/v1/oauth/authorize"


async def test_the_page_is_in_the_language_of_the_store(consent_page: ConsentPage, browser: Browser) -> None:
    page = await consent_page.open(browser, ui_locales="")
    await consent_page.sign_in(page, consent_page.sample.owner, "not the password")
    assert (
        await page.wait_for("document.querySelector('#problem').textContent") == "O e-mail ou a senha está incorreto."
    )
    await consent_page.sign_in(page, consent_page.sample.owner)
    await page.wait_for(VISIBLE.format("#consent"))
    assert await page.evaluate("document.documentElement.lang") == "pt-BR"
    assert await page.evaluate("document.title") == "Instalar Etiquetas Ágeis · Vitrine"
    shown = await page.evaluate(
        "[...document.querySelectorAll('#scopes label span')].map(span => span.firstChild.data.trim())"
    )
    assert shown == ["ver pedidos", "ver clientes e outros usuários", "ver e alterar produtos"]
    await save_screenshot(page, "portuguese")
    await page.click("#install")
    assert "code" in await wait_for_redirect(page)
