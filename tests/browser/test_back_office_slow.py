"""The back office over a slow connection: what is typed while something is being sent isn't lost without a word."""

from __future__ import annotations

from domain.promotions.promotions import PROMOTION_RECORDS
from kernel.scope import active_scope
from tests.browser.office import OFFICE_MARKS, Clerk, on_desktop
from tests.harness.records import PASSWORD, add_user
from tests.harness.scopes import system_scope, value

pytestmark = OFFICE_MARKS
# Changes are answered when `release` is called.
_HOLD = """
    (fetched => {
        const released = new Promise(resolve => { window.release = resolve; });
        window.fetch = async (path, request) => {
            const answer = await fetched(path, request);
            if (String(request?.body).includes('mutation')) { window.isHeld = true; await released; }
            return answer;
        };
    })(window.fetch)
"""
_LOSE = """
    (fetched => {
        window.fetch = (path, request) =>
            String(request?.body).includes('mutation') ? Promise.reject(new TypeError('Failed to fetch')) : fetched(path, request);
    })(window.fetch)
"""
_REFUSE_TO_LEAVE = "void (window.confirm = () => { window.isAsked = true; return false; })"
_HOME = "[...document.querySelectorAll('a')].find(each => each.innerText.trim() === 'Início')"
_NAME = "document.querySelector(\"[name='input.name']\")"


async def open_promotion(clerk: Clerk) -> str:
    user = await add_user(clerk.store, "view_content", "manage_content", "view_products")
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    scope = system_scope(clerk.store)
    with active_scope(scope):
        number = await PROMOTION_RECORDS.create(scope, {"name": "Lenta", "conditions": {"min_subtotal": "10.00"}})
    record = str(await value(clerk.store, "select public_id from promotions where id = $1", number))
    await clerk.go(f"/promotion/{record}", "Promoção")
    return record


async def type_more(clerk: Clerk, text: str) -> None:
    """Type at the end of the name as a person does, who sees whether it is taken."""
    box = await clerk.page.evaluate(
        f"(({{x, y, width, height}}) => [x + width - 20, y + height / 2])({_NAME}.getBoundingClientRect())"
    )
    for event in ("mousePressed", "mouseReleased"):
        await clerk.page.call("Input.dispatchMouseEvent", type=event, x=box[0], y=box[1], button="left", clickCount=1)
    await clerk.page.press("End")
    await clerk.page.type(text)


@on_desktop
async def test_a_form_takes_no_input_while_it_is_saved_and_all_that_is_typed_afterwards(clerk: Clerk) -> None:
    record = await open_promotion(clerk)
    await clerk.page.call("Emulation.setCPUThrottlingRate", rate=6)
    await clerk.fill("input.name", "Nova")
    await clerk.page.evaluate(_HOLD)
    await clerk.press("Salvar")
    await clerk.page.wait_for("window.isHeld")
    await type_more(clerk, " perdida")
    assert await clerk.page.evaluate(f"{_NAME}.value") == "Nova"
    await clerk.page.evaluate("window.release()")
    await clerk.fill("input.name", "Mais nova")
    await clerk.press("Adicionar condição")
    await clerk.see("Salvo")
    await clerk.press("Salvar")
    saved = "select name || ' ' || (conditions -> 'conditions' ? '2') from promotions where public_id = $1::text::uuid"
    await clerk.page.wait_for("document.querySelector('main h1').innerText.includes('Mais nova')")
    assert await value(clerk.store, saved, record) == "Mais nova true"


@on_desktop
async def test_a_form_whose_saving_failed_or_is_under_way_is_asked_for(clerk: Clerk) -> None:
    await open_promotion(clerk)
    await clerk.page.evaluate(_REFUSE_TO_LEAVE)
    await clerk.fill("input.name", "Nova")
    await clerk.page.evaluate(_HOLD)
    await clerk.press("Salvar")
    await clerk.page.wait_for("window.isHeld")
    await clerk.page.click_on(_HOME)
    await clerk.page.wait_for("window.isAsked")
    await clerk.page.evaluate("window.release()")
    await clerk.see("Salvo")
    await clerk.fill("input.name", "Mais nova")
    await clerk.page.evaluate(f"void (window.isAsked = false); {_LOSE}")
    await clerk.press("Salvar")
    await clerk.see("O servidor não respondeu.")
    await clerk.page.click_on(_HOME)
    await clerk.page.wait_for("window.isAsked")
    assert await clerk.page.evaluate(f"{_NAME}.value") == "Mais nova"


@on_desktop
async def test_a_new_record_and_a_dialog_take_no_input_while_they_are_sent(clerk: Clerk) -> None:
    user = await add_user(clerk.store, "view_catalog", "manage_catalog", "view_users", "manage_users")
    customer = await add_user(clerk.store, user_type="C")
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go("/category/create", "Criar categoria")
    await clerk.fill("input.name", "Nova")
    await clerk.page.evaluate(_HOLD)
    await clerk.press("Salvar")
    await clerk.page.wait_for("window.isHeld")
    await type_more(clerk, " perdida")
    assert await clerk.page.evaluate(f"{_NAME}.value") == "Nova"
    await clerk.page.evaluate("window.release()")
    await clerk.see("Categoria: Nova")
    await clerk.go(f"/user/{customer.id}", "Usuário")
    await clerk.press("Ajustar pontos")
    await clerk.fill("input.added", "15")
    await clerk.page.evaluate(_HOLD)
    await clerk.page.press("Enter")
    await clerk.page.wait_for("window.isHeld")
    await clerk.page.type("0")
    assert await clerk.page.evaluate("document.querySelector(\"[name='input.added']\").value") == "15"
    await clerk.page.evaluate("window.release()")
    await clerk.see("Pontos: 15")


@on_desktop
async def test_what_is_refused_has_the_focus_again(clerk: Clerk) -> None:
    await open_promotion(clerk)
    await clerk.fill("input.name", "Nova")
    await clerk.page.evaluate(_LOSE)
    await clerk.page.press("Enter")
    await clerk.see("O servidor não respondeu.")
    await clerk.page.wait_for(f"document.activeElement === {_NAME}")
