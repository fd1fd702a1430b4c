"""The back office in several tabs of one browser: each is its user's and its store's."""

from __future__ import annotations

from kernel.scope import Store
from tests.browser.chromium import Browser, Page
from tests.browser.office import OFFICE_MARKS, SHOWN, Clerk, on_desktop
from tests.browser.shop import DESKTOP
from tests.harness.database import NewStore
from tests.harness.http import HttpClient
from tests.harness.records import PASSWORD, add_category, add_user
from tests.harness.scopes import value

pytestmark = OFFICE_MARKS
EDITOR = ("view_catalog", "manage_catalog")
_END_ACCESS = "(() => { const now = Date.now; Date.now = () => now() + 3_600_000; })()"
_SIGN_IN = "document.querySelector('[name=identifier]') !== null"


@on_desktop
async def test_a_tab_does_not_go_on_as_another_user(clerk: Clerk, browser: Browser) -> None:
    user, other = [await add_user(clerk.store, *EDITOR) for _ in range(2)]
    category = await add_category(clerk.store)
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go(f"/category/{category.id}", "Categoria")
    await clerk.fill("input.name", "De quem digitou")
    # The session of this tab ends, and another user signs in in another one.
    await clerk.page.call("Network.clearBrowserCookies")
    await clerk.page.evaluate(_END_ACCESS)
    page = await browser.open(f"{clerk.address}/admin", storage_of=clerk.page)
    second = Clerk(page, clerk.store, clerk.address, DESKTOP)
    await second.page.wait_for(_SIGN_IN)
    await second.sign_in(other.email, PASSWORD)
    await second.see("Início")
    await clerk.press("Salvar")
    await clerk.see("Outra pessoa entrou neste navegador.")
    await clerk.check("replaced")
    assert await value(clerk.store, "select name from categories where id = $1", category.number) != "De quem digitou"
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.page.wait_for(f"!({_SIGN_IN})")
    await clerk.press("Salvar")
    await clerk.see("Salvo")
    audited = "select user_id from audit_entries where subject_id = $1 order by id desc limit 1"
    assert await value(clerk.store, "select name from categories where id = $1", category.number) == "De quem digitou"
    assert await value(clerk.store, audited, category.id) == user.number
    # Nor does that of the other one.
    await second.page.evaluate(_END_ACCESS)
    await second.press("Categorias")
    await second.see("Outra pessoa entrou neste navegador.")


async def enter(browser: Browser, server: HttpClient, store: Store, name: str, first: Page | None = None) -> Clerk:
    """Choose a store at the address that stores share."""
    address = f"http://localhost:{server.make_url('/').port}"
    page = await browser.open(f"{address}/admin", storage_of=first)
    clerk = Clerk(page, store, address, DESKTOP)
    await clerk.fill("store", name)
    await clerk.page.press("Enter")
    return clerk


async def test_a_sign_out_ends_the_tabs_of_its_store_alone(
    browser: Browser, server: HttpClient, demo_store: Store, new_store: NewStore
) -> None:
    stores = [demo_store, await new_store(name="Outra")]
    tabs: list[Clerk] = []
    for store in stores:
        tab = await enter(browser, server, store, str(store.public_id), tabs[0].page if tabs else None)
        await tab.page.wait_for(_SIGN_IN)
        user = await add_user(store, "view_catalog")
        await tab.sign_in(user.email, PASSWORD)
        await tab.see("Início")
        tabs.append(tab)
    # The same store, by another spelling of its ID.
    again = await enter(browser, server, stores[1], stores[1].public_id.hex.upper(), tabs[0].page)
    await again.see("Início")
    await again.press("Conta")
    await again.press("Sair")
    await tabs[1].page.wait_for(_SIGN_IN)
    assert "Início" in await tabs[0].page.evaluate(SHOWN)
    await tabs[0].press("Conta")
    await tabs[0].press("Sair")
    await tabs[0].page.wait_for(_SIGN_IN)
