"""The back office where the server doesn't answer, answers with an error, or refuses: what was typed stays, and a person reads why."""

from __future__ import annotations

from tests.browser.office import OFFICE_MARKS, Clerk, on_desktop
from tests.harness.records import PASSWORD, add_user
from tests.harness.scopes import value

pytestmark = OFFICE_MARKS
# The access token seems to have ended, its renewal is answered by `renewed`, and the user isn't idle.
_RENEWAL = """
    (() => {
        const now = Date.now(), fetched = window.fetch;
        Date.now = () => now + 86_400_000;
        window.fetch = (path, request) =>
            String(path).endsWith('/browser-session') && window.renewed ? window.renewed() : fetched(path, request);
        window.renewed = () => Promise.reject(new TypeError('Failed to fetch'));
        document.dispatchEvent(new Event('pointerdown'));
    })()
"""

# What is sent arrives; its answer doesn't.
_LOSE_AN_ANSWER = """
    (fetched => {
        window.fetch = async (...request) => {
            await fetched(...request);
            window.fetch = fetched;
            throw new TypeError('Failed to fetch');
        };
    })(window.fetch)
"""


@on_desktop
async def test_a_renewal_that_fails_is_no_end_of_the_session(clerk: Clerk) -> None:
    user = await add_user(clerk.store, "view_catalog", "manage_catalog")
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go("/category/create", "Criar categoria")
    await clerk.fill("input.name", "Sem rede")
    await clerk.page.evaluate(_RENEWAL)
    await clerk.press("Salvar")
    await clerk.see("O servidor não respondeu.")
    await clerk.page.evaluate("void (window.renewed = async () => new Response('<h1>Bad Gateway</h1>', {status: 502}))")
    await clerk.press("Salvar")
    await clerk.see("O servidor está ocupado.")
    assert await clerk.page.evaluate("document.querySelector('[name=password]') === null")
    assert await clerk.page.evaluate("document.querySelector(\"[name='input.name']\").value") == "Sem rede"
    await clerk.page.evaluate("void (window.renewed = null)")
    await clerk.press("Salvar")
    await clerk.see("Categoria: Sem rede")


@on_desktop
async def test_a_sign_out_that_fails_says_so(clerk: Clerk) -> None:
    user = await add_user(clerk.store, "view_catalog")
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.page.evaluate("void (window.fetch = () => Promise.reject(new TypeError('Failed to fetch')))")
    for leave in ("Sair", "Sair de todos os aparelhos"):
        await clerk.press("Conta")
        await clerk.press(leave)
        await clerk.see("O servidor não respondeu.")
        await clerk.page.wait_for("!document.body.innerText.includes('O servidor não respondeu.')")
    await clerk.page.call("Page.reload")
    await clerk.see("Início")


@on_desktop
async def test_a_change_whose_answer_was_lost_is_made_once(clerk: Clerk) -> None:
    user = await add_user(clerk.store, "view_users", "manage_users")
    customer = await add_user(clerk.store, user_type="C")
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go(f"/user/{customer.id}", "Usuário")
    await clerk.press("Ajustar pontos")
    await clerk.fill("input.added", "15")
    await clerk.page.evaluate(_LOSE_AN_ANSWER)
    await clerk.submit(closes=False)
    await clerk.see("O servidor não respondeu.")
    assert await value(clerk.store, "select points from users where id = $1", customer.number) == 15
    await clerk.submit()
    await clerk.see("Pontos: 15")
    assert await value(clerk.store, "select points from users where id = $1", customer.number) == 15
    # With an answer the next one is another change, also of the same values.
    await clerk.press("Ajustar pontos")
    await clerk.fill("input.added", "15")
    await clerk.submit()
    await clerk.see("Pontos: 30")
    await clerk.press("Adicionar endereço")
    await clerk.page.fill("[role=dialog] [name='input.name']", "Galpão")
    await clerk.fill("input.zipcode", "28990-000")
    await clerk.fill("input.city", "Saquarema")
    await clerk.page.evaluate(_LOSE_AN_ANSWER)
    await clerk.submit(closes=False)
    await clerk.see("O servidor não respondeu.")
    await clerk.submit()
    assert await value(clerk.store, "select count(*) from user_addresses where name = 'Galpão'") == 1


@on_desktop
async def test_a_part_of_the_program_that_does_not_load_offers_to_reload(clerk: Clerk) -> None:
    user = await add_user(clerk.store, "view_catalog")
    await clerk.page.call("Network.setBlockedURLs", urls=["*/admin-office*"])
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Algo deu errado, e a página não pôde ser mostrada.")
    await clerk.page.call("Network.setBlockedURLs", urls=[])
    await clerk.press("Recarregar")
    await clerk.see("Início")
    await clerk.page.call("Network.setBlockedURLs", urls=["*/admin-list*"])
    await clerk.press("Categorias")
    await clerk.see("Algo deu errado, e a página não pôde ser mostrada.")
    clerk.excuse("")


@on_desktop
async def test_a_refusal_is_in_portuguese(clerk: Clerk) -> None:
    user = await add_user(clerk.store, "view_catalog", "manage_catalog")
    category = await value(
        clerk.store,
        "select c.public_id from categories c join product_categories p on p.category_id = c.id order by c.id limit 1",
    )
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go(f"/category/{category}", "Categoria")
    await clerk.press("Excluir")
    await clerk.press("Confirmar")
    await clerk.see("A categoria tem produtos ou subcategorias.")
