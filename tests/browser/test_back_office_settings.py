"""Settings, sessions and the sign-out of an idle browser in the back office."""

from __future__ import annotations

import json

from tests.browser.chromium import Browser
from tests.browser.office import OFFICE_MARKS, SHOWN, Clerk, each_width, on_desktop
from tests.browser.shop import DESKTOP
from tests.harness.records import PASSWORD, add_user
from tests.harness.scopes import value

pytestmark = OFFICE_MARKS
STAFF = ("view_settings", "manage_settings")
_IDLE_FOR = "localStorage.setItem('vitrine.used.', String(Date.now() - %d * 1000))"


async def open_settings(clerk: Clerk, *privileges: str) -> None:
    user = await add_user(clerk.store, *(privileges or STAFF))
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go("/setting", "Configurações")
    await clerk.see("Fuso horário")


async def stored(clerk: Clerk, name: str) -> int | None:
    settings = await value(clerk.store, "select settings from tenants where id = $1", clerk.store.id)
    setting: int | None = (json.loads(settings) if isinstance(settings, str) else settings).get(name)
    return setting


@each_width
async def test_settings_are_grouped_and_changed_by_their_types(clerk: Clerk) -> None:
    minutes = "30" if clerk.width.is_phone else "45"
    await open_settings(clerk)
    needs_approval = bool(await stored(clerk, "customers_need_approval"))
    await clerk.check("settings")
    await clerk.press("Alterar: Pessoas e acesso")
    await clerk.page.wait_for("document.querySelector(\"[name='input.browser_idle_minutes']\") !== null")
    await clerk.check("settings-people")
    await clerk.fill("input.browser_idle_minutes", "2")
    await clerk.submit(closes=False)
    refused = "document.querySelector(\"[name='input.browser_idle_minutes']\").getAttribute('aria-invalid') === 'true'"
    await clerk.page.wait_for(refused)
    await clerk.fill("input.browser_idle_minutes", minutes)
    await clerk.page.click("[name='input.customers_need_approval']")
    await clerk.submit()
    await clerk.page.wait_for(
        f"document.querySelector('[data-setting=browser_idle_minutes]').innerText === '{minutes}'"
    )
    assert await stored(clerk, "browser_idle_minutes") == int(minutes)
    assert bool(await stored(clerk, "customers_need_approval")) is not needs_approval
    await clerk.fill("search", "rastreio")
    await clerk.page.wait_for("document.querySelectorAll('[data-setting]').length === 1")


@on_desktop
async def test_the_setting_that_was_refused_alone_is_saved_by_the_next_attempt(clerk: Clerk) -> None:
    await open_settings(clerk)
    await clerk.press("Alterar: Pagamentos")
    await clerk.page.wait_for("document.querySelector(\"[name='input.pix_minutes']\") !== null")
    await clerk.fill("input.pix_minutes", "55")
    await clerk.fill("input.boleto_days", "-1")
    await clerk.submit(closes=False)
    refused = "document.querySelector(\"[name='input.boleto_days']\").getAttribute('aria-invalid') === 'true'"
    await clerk.page.wait_for(refused)
    assert await stored(clerk, "pix_minutes") == 55
    await clerk.fill("input.boleto_days", "4")
    await clerk.submit()
    assert await stored(clerk, "boleto_days") == 4


@on_desktop
async def test_who_may_only_read_settings_is_offered_no_change(clerk: Clerk) -> None:
    await open_settings(clerk, "view_settings")
    assert await clerk.page.evaluate("document.querySelectorAll('main button').length") == 0


@each_width
async def test_another_session_of_the_user_is_shown_and_ended(clerk: Clerk, browser: Browser, address: str) -> None:
    user = await add_user(clerk.store, *STAFF)
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    page = await browser.open(f"{address}/admin", width=DESKTOP.width, height=DESKTOP.height)
    elsewhere = Clerk(page, clerk.store, address, DESKTOP)
    await elsewhere.page.wait_for("document.querySelector('[name=identifier]') !== null")
    await elsewhere.sign_in(user.email, PASSWORD)
    await elsewhere.see("Início")
    await clerk.press("Conta")
    await clerk.press("Onde você entrou")
    await clerk.page.wait_for("document.querySelectorAll('[data-session]').length === 2")
    await clerk.see("este navegador")
    await clerk.check("sessions")
    await clerk.page.click("[data-session=other] button")
    await clerk.page.wait_for("document.querySelectorAll('[data-session]').length === 1")
    live = "select count(*) from sessions where user_id = $1 and ended_at is null"
    assert await value(clerk.store, live, user.number) == 1
    await elsewhere.press("Conta")
    await elsewhere.press("Onde você entrou")
    await elsewhere.see("Sua sessão terminou")
    elsewhere.excuse("401")
    assert elsewhere.page.complaints == []
    await clerk.press("Encerrar todas")
    await clerk.see("E-mail, CPF ou telefone")


@each_width
async def test_a_browser_without_use_is_warned_and_signed_out(clerk: Clerk) -> None:
    user = await add_user(clerk.store, *STAFF)
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    minutes = await stored(clerk, "browser_idle_minutes") or 480
    await clerk.page.evaluate(_IDLE_FOR % (minutes * 60 - 40))
    await clerk.see("Você ainda está aí?")
    await clerk.check("idle")
    await clerk.press("Continuar")
    await clerk.page.wait_for("document.querySelector('[role=alertdialog]') === null")
    assert "Início" in await clerk.page.evaluate(SHOWN)
    await clerk.page.evaluate(_IDLE_FOR % (minutes * 60 - 2))
    await clerk.see("Você saiu por falta de uso.")
    assert (await clerk.page.call("Network.getAllCookies"))["cookies"] == []
    live = "select count(*) from sessions where user_id = $1 and ended_at is null"
    assert await value(clerk.store, live, user.number) == 0


@each_width
async def test_the_audit_log_shows_who_changed_what(clerk: Clerk) -> None:
    await open_settings(clerk)
    await clerk.press("Alterar: Geral")
    await clerk.page.wait_for("document.querySelector(\"[name='input.support_phone']\") !== null")
    await clerk.fill("input.support_phone", "1133334444")
    await clerk.submit()
    await clerk.go("/audit_entry", "Auditoria")
    await clerk.see("Configurações: alteração")
    await clerk.check("audit")
    entry = await value(
        clerk.store, "select public_id from audit_entries where action = 'settings.updated' order by id desc limit 1"
    )
    await clerk.go(f"/audit_entry/{entry}", "Registro")
    await clerk.see("support_phone")
    await clerk.check("audit-entry")


@each_width
async def test_privileges_are_chosen_among_those_that_the_caller_has(clerk: Clerk) -> None:
    new = await add_user(clerk.store, "view_orders")
    caller = await add_user(clerk.store, "view_orders", "manage_users", "view_users", "view_products")
    await clerk.sign_in(caller.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go(f"/user/{new.id}", "Usuário")
    await clerk.press("Privilégios")
    await clerk.page.click("[role=dialog] [role=combobox]")
    await clerk.see("Pedidos: ver")
    offered = await clerk.page.evaluate("[...document.querySelectorAll('[role=option]')].map(each => each.innerText)")
    assert offered == [
        "Clientes e usuários: ver",
        "Clientes e usuários: ver e alterar",
        "Pedidos: ver",
        "Produtos: ver",
    ]
    await clerk.press("Produtos: ver")
    await clerk.page.press("Escape")
    await clerk.page.wait_for("document.querySelector('[role=option]') === null")
    await clerk.check("privileges")
    await clerk.submit()
    granted = await value(clerk.store, "select privileges from users where public_id = $1", new.id)
    assert sorted(granted) == ["view_orders", "view_products"]
