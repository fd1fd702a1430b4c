"""Numbers as a person of the page's language types them, and what a new record lacks."""

from __future__ import annotations

import pytest

from tests.browser.office import OFFICE_MARKS, Clerk, on_desktop
from tests.harness.records import PASSWORD, add_user
from tests.harness.scopes import value

pytestmark = OFFICE_MARKS
_SHOWN = "document.querySelector('[name=\"input.{}\"]').value"


async def enter(clerk: Clerk, *privileges: str) -> None:
    user = await add_user(clerk.store, *privileges)
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")


@on_desktop
async def test_a_rate_is_typed_and_shown_in_percent_with_a_decimal_comma(clerk: Clerk) -> None:
    await enter(clerk, "manage_payments")
    await clerk.go("/tax/create", "Criar imposto")
    await clerk.fill("input.name", "ISS")
    await clerk.fill("input.rate_value", "7,5")
    await clerk.fill("input.priority", "1.500")
    await clerk.press("Salvar")
    await clerk.see("Criado")
    assert await value(clerk.store, "select rate_value from taxes where name = 'ISS'") == 7500
    assert await value(clerk.store, "select priority from taxes where name = 'ISS'") == 1500
    await clerk.page.wait_for("document.querySelector('main h1')?.innerText.includes('ISS')")
    assert await clerk.page.evaluate(_SHOWN.format("rate_value")) == "7,5"
    await clerk.go("/tax", "Impostos")
    await clerk.see("7,5")


@on_desktop
@pytest.mark.parametrize("text", ["R$ 10", "2,5"])
async def test_what_is_no_whole_number_stays_and_is_refused_at_its_input(clerk: Clerk, text: str) -> None:
    await enter(clerk, "manage_payments")
    await clerk.go("/tax/create", "Criar imposto")
    await clerk.fill("input.name", "ICMS")
    await clerk.fill("input.priority", text)
    await clerk.press("Salvar")
    await clerk.see("Número inválido")
    assert await clerk.page.evaluate(_SHOWN.format("priority")) == text
    assert await value(clerk.store, "select count(*) from taxes where priority > 1 and name = 'ICMS'") == 0


@on_desktop
async def test_what_a_new_record_lacks_is_said_at_its_input(clerk: Clerk) -> None:
    await enter(clerk, "manage_content", "manage_warehouses")
    await clerk.go("/redirect/create", "Criar redirecionamento")
    await clerk.press("Salvar")
    await clerk.page.wait_for("document.querySelector('[name=\"input.path\"]').getAttribute('aria-invalid') === 'true'")
    await clerk.go("/warehouse_area/create", "Criar área")
    await clerk.press("Salvar")
    await clerk.see("Depósito: Obrigatório")
