"""The page of a product in the back office: pictures, options and combinations, price, stock and the shop's page of it."""

from __future__ import annotations

import json

import pytest

from domain.promotions.promotions import PROMOTION_RECORDS
from domain.purchase.placement import place_order
from domain.shipping.methods import SHIPPING_METHOD_RECORDS
from domain.warehouses.write import WAREHOUSE_RECORDS
from kernel.scope import active_scope
from kernel.settings import Settings
from tests.browser.office import OFFICE_MARKS, Clerk, each_width, on_desktop
from tests.harness.http import HttpClient, ServeApplication
from tests.harness.records import PASSWORD, add_user
from tests.harness.scopes import system_scope, value

pytestmark = OFFICE_MARKS
CLERK = ("view_products", "manage_products", "view_catalog", "manage_catalog", "view_content")
# A picture of one colour, dropped as a file.
_DROP = """
    new Promise(resolve => {
        const canvas = Object.assign(document.createElement('canvas'), {width: 300, height: 300});
        const context = canvas.getContext('2d');
        context.fillStyle = %s;
        context.fillRect(0, 0, 300, 300);
        canvas.toBlob(blob => {
            const dropped = new DataTransfer();
            dropped.items.add(new File([blob], 'foto.png', {type: 'image/png'}));
            const drop = new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: dropped});
            document.querySelector('[data-pictures]').dispatchEvent(drop);
            resolve(true);
        });
    })
"""
_DRAG = """
    (([from, to]) => {
        const dataTransfer = new DataTransfer();
        const send = (element, name) => element.dispatchEvent(new DragEvent(name, {bubbles: true, cancelable: true, dataTransfer}));
        send(from.querySelector('[draggable]'), 'dragstart');
        return new Promise(resolve => setTimeout(() => { send(to, 'drop'); resolve(true); }, 100));
    })([document.querySelector('[data-picture="%d"]'), document.querySelector('[data-picture="%d"]')])
"""
_PICTURES = "document.querySelectorAll('[data-picture]').length"

# Nothing has been received for half a second.
QUIET = (
    "performance.now() - Math.max(0, ...performance.getEntriesByType('resource').map(each => each.responseEnd)) > 500"
)


@pytest.fixture(scope="module")
async def server(serve_application: ServeApplication) -> HttpClient:
    return await serve_application(Settings(ip_rate=0, failed_auth_rate=0, example_storefront=True))


async def open_product(clerk: Clerk, name: str, *privileges: str) -> str:
    """Sign a clerk in and open the page of a new product; return its ID."""
    user = await add_user(clerk.store, *(privileges or CLERK))
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go("/product/create", "Criar")
    await clerk.fill("input.name", name)
    await clerk.fill("input.price_cents", "50,00")
    await clerk.press("Salvar")
    await clerk.page.wait_for(f"document.querySelector('main h1')?.innerText.endsWith({json.dumps(name)})")
    return str(
        await value(clerk.store, "select public_id from products where name = $1 order by id desc limit 1", name)
    )


async def of_product(clerk: Clerk, product: str, sql: str) -> object:
    return await value(clerk.store, f"select {sql} from products p where public_id = $1", product)


@each_width
async def test_dropped_pictures_are_shown_ordered_described_and_removed(clerk: Clerk) -> None:
    product = await open_product(clerk, f"Fotos {clerk.width.name}")
    pictures = "(select string_agg(i.alt, ',' order by i.position) from product_images i where i.product_id = p.id)"
    for count, color in enumerate(("#b5523b", "#1f4e46", "#d8c3a5"), start=1):
        await clerk.page.evaluate(_DROP % json.dumps(color))
        await clerk.page.wait_for(f"{_PICTURES} === {count}")
        await clerk.page.fill(f"[data-picture='{count - 1}'] input", f"Foto {count}")
    await clerk.page.evaluate(_DRAG % (2, 0))
    await clerk.page.wait_for("document.querySelector('[data-picture=\"0\"] input').value === 'Foto 3'")
    await clerk.check("product-pictures")
    await clerk.page.evaluate("document.querySelectorAll('[data-picture=\"1\"] button')[1].click()")
    await clerk.press("Salvar")
    await clerk.see("Salvo")
    assert await of_product(clerk, product, pictures) == "Foto 3,Foto 2"
    # By the address that the server signed, not in a form.
    assert [url for url in clerk.page.requests if "/files/media/" in url]


@on_desktop
async def test_what_is_no_picture_is_refused_by_name(clerk: Clerk) -> None:
    await open_product(clerk, "Sem foto")
    drop = _DROP.replace("new File([blob]", "new File(['texto']")
    await clerk.page.evaluate(drop % '"#000"')
    await clerk.see("foto.png:")
    assert await clerk.page.evaluate(_PICTURES) == 0


@each_width
async def test_combinations_are_created_and_edited_in_place(clerk: Clerk) -> None:
    product = await open_product(clerk, f"Camiseta {clerk.width.name}")
    for name, values in (("Tamanho", "P, M"), ("Cor", "Azul, Verde")):
        await clerk.press("Nova opção")
        await clerk.page.fill("[role=dialog] [name='input.name']", name)
        await clerk.page.fill("[role=dialog] [name='input.variants']", values)
        await clerk.page.evaluate("document.querySelector('[role=dialog] [type=submit]').click()")
        await clerk.page.wait_for("document.querySelector('[role=dialog]') === null")
        await clerk.see(name)
    await clerk.press("Criar as que faltam (4)")
    await clerk.page.wait_for("document.querySelectorAll('[data-combination]').length === 4")
    rows = await clerk.page.evaluate(
        "[...document.querySelectorAll('[data-combination]')].map(row => row.dataset.combination)"
    )
    for index, row in enumerate(rows[:2]):
        await clerk.page.fill(f"[name='modifier_cents.{row}']", "7,50")
        await clerk.page.fill(f"[name='stock.{row}']", str(index + 3))
        await clerk.page.fill(f"[name='sku.{row}']", "CAM-1")
    await clerk.check("product-combinations")
    await clerk.press("Salvar as combinações (2)")
    # Two may not have one SKU: the first is saved, the second says why and keeps what was typed.
    await clerk.page.wait_for(
        f"document.querySelector(\"[name='sku.{rows[1]}']\").getAttribute('aria-invalid') === 'true'"
    )
    await clerk.see("1 linha não foi salva")
    await clerk.see("R$ 57,50")
    await clerk.page.fill(f"[name='sku.{rows[1]}']", "CAM-2")
    await clerk.press("Salvar as combinações (1)")
    await clerk.page.wait_for(
        "![...document.querySelectorAll('button')].some(each => each.innerText.startsWith('Salvar as'))"
    )
    saved = (
        "(select string_agg(c.sku || ' ' || c.price_cents || ' ' || c.on_hand, ',' order by c.sku)"
        " from combinations c where c.product_id = p.id and c.sku <> '')"
    )
    assert await of_product(clerk, product, saved) == "CAM-1 750 3,CAM-2 750 4"
    # What the save reads again has arrived before anything is typed.
    await clerk.page.wait_for(QUIET)
    await clerk.fill("input.name", "Nome digitado")
    await clerk.page.fill(f"[name='stock.{rows[0]}']", "9")
    await clerk.press("Salvar as combinações (1)")
    await clerk.page.wait_for(
        "![...document.querySelectorAll('button')].some(each => each.innerText.startsWith('Salvar as'))"
    )
    # What was typed into the form isn't replaced, and what was typed next to it is asked for.
    assert await clerk.page.evaluate("document.querySelector(\"[name='input.name']\").value") == "Nome digitado"
    await clerk.page.wait_for(QUIET)
    await clerk.page.fill(f"[name='stock.{rows[0]}']", "8")
    await clerk.press("Salvar")
    await clerk.see("Produto: Nome digitado")
    await clerk.page.evaluate("void (window.confirm = text => { window.asked = text; return false; })")
    await clerk.page.evaluate("document.querySelector(\"header a[href='/admin']\").click()")
    await clerk.page.wait_for("window.asked === 'Há alterações que não foram salvas. Sair mesmo assim?'")
    assert await clerk.page.evaluate(f"document.querySelector(\"[name='stock.{rows[0]}']\").value") == "8"
    await clerk.page.evaluate("void (window.confirm = () => true)")
    await clerk.page.evaluate("document.querySelector(\"header a[href='/admin']\").click()")
    await clerk.see("Início")


@each_width
async def test_stock_is_divided_among_warehouses_and_an_order_says_where_its_units_are(clerk: Clerk) -> None:
    scope = system_scope(clerk.store)
    width = clerk.width.name
    warehouses = [
        await WAREHOUSE_RECORDS.create(scope, {"name": f"{name} {width}", "priority": priority, "status": status})
        for name, priority, status in (("Centro", 20, "A"), ("Galpão Norte", 10, "A"), ("Antigo", 0, "D"))
    ]
    centre, north, _ = [
        str(await value(clerk.store, "select public_id from warehouses where id = $1", number)) for number in warehouses
    ]
    privileges = (*CLERK, "view_warehouses", "view_orders", "manage_orders")
    product = await open_product(clerk, f"Chaleira {width}", *privileges)
    await clerk.see("Sem números, o estoque é um só.")
    await clerk.fill(f"warehouse.{product}.{centre}", "1")
    await clerk.fill(f"warehouse.{product}.{north}", "x")
    await clerk.see("Informe um número inteiro")
    await clerk.fill(f"warehouse.{product}.{north}", "5")
    await clerk.check("product-warehouses")
    await clerk.press("Salvar os depósitos (2)")
    await clerk.see("Total: 6")
    assert await of_product(clerk, product, "stock") == 6
    number = await value(clerk.store, "select id from products where public_id = $1", product)
    method = await SHIPPING_METHOD_RECORDS.create(scope, {"name": "Retirada"})
    draft = {"email": "ana@example.com", "lines": [{"product": number, "quantity": 3}], "shipping_method": method}
    placed = await place_order(scope, draft)
    await clerk.go(f"/order/{placed.public_id}", "Pedido")
    await clerk.see(f"Sai de Centro {width}: 1 × Chaleira {width}")
    await clerk.see(f"Sai de Galpão Norte {width}: 2 × Chaleira {width}")
    await clerk.check("order-warehouses")
    await clerk.go(f"/product/{product}", "Produto")
    await clerk.fill(f"warehouse.{product}.{centre}", "")
    await clerk.press("Salvar os depósitos (1)")
    await clerk.see("Salvo")
    assert await of_product(clerk, product, "(select count(*) from warehouse_stock s where s.product_id = p.id)") == 1
    for each in warehouses:
        await WAREHOUSE_RECORDS.delete(scope, each)


@on_desktop
async def test_a_product_shows_its_promotion_and_its_page_in_the_shop(clerk: Clerk) -> None:
    scope = system_scope(clerk.store)
    with active_scope(scope):
        bonuses = {"product_discount": "10%"}
        await PROMOTION_RECORDS.create(scope, {"name": "Tudo menos dez", "zone": "catalog", "bonuses": bonuses})
    await open_product(clerk, "Vaso em promoção")
    await clerk.see("Tudo menos dez")
    await clerk.see("R$ 45,00")
    link = "document.querySelector('main a[target=_blank]').href"
    assert await clerk.page.evaluate(link) == f"{clerk.address}/produto/vaso-em-promocao"
    status = f"fetch({link}).then(answer => answer.status)"
    assert await clerk.page.evaluate(status) == 200


@on_desktop
async def test_who_may_only_read_products_changes_nothing(clerk: Clerk) -> None:
    user = await add_user(clerk.store, "view_products")
    product = await value(
        clerk.store,
        "select p.public_id from products p join combinations c on c.product_id = p.id where c.deleted_at is null limit 1",
    )
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go(f"/product/{product}", "Produto")
    await clerk.check("product-read-only")
    assert await clerk.page.evaluate("document.querySelectorAll('main input:not(:disabled)').length") == 0


@on_desktop
async def test_a_file_that_is_no_picture_says_so(clerk: Clerk) -> None:
    await open_product(clerk, "Com foto quebrada")
    drop = """
        (dropped => {
            dropped.items.add(new File(['x'], %s, {type: %s}));
            const drop = new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: dropped});
            document.querySelector('[data-pictures]').dispatchEvent(drop);
        })(new DataTransfer())
    """
    await clerk.page.evaluate(drop % ("'nota.txt'", "'text/plain'"))
    await clerk.see("nota.txt: Este tipo de arquivo não é aceito")
    await clerk.page.evaluate(drop % ("'foto.png'", "'image/png'"))
    await clerk.see("foto.png: O arquivo está danificado, ou não é deste tipo")
    assert await clerk.page.evaluate(_PICTURES) == 0
