"""The example storefront in a browser: from the home page to a paid order, and an account with two factors and addresses."""

from __future__ import annotations

import json
import re
from binascii import crc_hqx
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pyotp
import pytest

from domain.apps.trusted_documents import read_manifest, set_trusted_documents
from domain.media import addresses as media_addresses
from domain.media import renderer as renderers
from domain.payments.sandbox import actions
from domain.purchase.placement import place_order
from kernel.clock import now
from kernel.ids import uuid7
from kernel.scope import Store, active_scope
from kernel.settings import Settings
from models.connection import database
from server.demo.credentials import ensure_owner
from server.demo.seeding import seed_store
from server.demo.stores import DEMO
from server.example_storefront import KEY_NAME
from server.http.playground import BUILT, built_version
from server.media.child_pool import Renderer
from tests.browser.chromium import Browser
from tests.browser.shop import DESKTOP, PHONE, Shopper, Width
from tests.browser.test_playground import needs_assets, needs_chromium
from tests.current.test_registration import mailed_token
from tests.harness.database import NewStore
from tests.harness.http import HttpClient, ServeApplication
from tests.harness.packages import COMMAND, EXAMPLE
from tests.harness.payments import enabled_sandbox
from tests.harness.scopes import rows, system_scope, value
from tests.media.conftest import renderer
from tests.media.pictures import encoded

__all__ = ["renderer"]  # a fixture

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow(seconds=5),
    needs_assets,
    needs_chromium,
    pytest.mark.skipif(not EXAMPLE.is_installed(), reason=f"{EXAMPLE.title}: not installed ({COMMAND})"),
]
each_width = pytest.mark.parametrize("width", [PHONE, DESKTOP], ids=lambda width: width.name)

MAX_SCRIPT_BYTES = 100 * 1024
ADDRESS = {
    "name": "Ana Souza",
    "street": "Rua das Flores",
    "number": "10",
    "district": "Centro",
    "city": "São Paulo",
    "state": "SP",
    "zipcode": "01001-000",
}
ADDRESS_LABELS = {
    "Nome de quem recebe": "name",
    "CEP": "zipcode",
    "Rua": "street",
    "Número": "number",
    "Bairro": "district",
    "Cidade": "city",
}
MAX_LAYOUT_SHIFT = 0.1
OBSERVE_SHIFTS = """
    window.shifted = 0;
    new PerformanceObserver(list => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
    }).observe({type: 'layout-shift', buffered: true});
"""
SHIFTED_AFTER_PAINT = """
    new Promise(done => requestAnimationFrame(() => setTimeout(done, 100))).then(() => window.shifted)
"""
DESCRIPTION = "document.querySelector('meta[name=description]').content"
FIRST_PICTURES = "[...document.querySelectorAll('main .picture img[loading=eager]')]"
PICTURE = """({
    has_size: image.width > 0 && image.hasAttribute('width') && image.hasAttribute('height') && image.srcset !== '',
    shown: Math.round(image.getBoundingClientRect().width),
    loaded: Number(image.currentSrc.match(/(\\d+)\\.auto$/)[1]),
})"""
OTHER_DOCUMENT = """
    fetch('/graphql', {
        method: 'POST',
        headers: {
            'Content-Type': 'application/json',
            'X-API-Key': JSON.parse(document.querySelector('#config').textContent).key,
        },
        body: JSON.stringify({query: '{ store { id } }'}),
    }).then(response => response.json())
"""
EARLIER_CUSTOMER = "cliente.antigo@example.com"
PASSWORD = "uma senha bem comprida"


@pytest.fixture(autouse=True, scope="module")
def sandbox() -> Iterator[None]:
    with enabled_sandbox():
        yield


@pytest.fixture(scope="module")
async def shop_server(serve_application: ServeApplication) -> HttpClient:
    return await serve_application(Settings(ip_rate=0, failed_auth_rate=0, example_storefront=True))


@pytest.fixture(scope="module")
async def demo_store(new_store: NewStore, demo_pictures: Path) -> Store:
    """Return a store with the demo store's name and data."""
    store = await new_store(name=DEMO.name)
    await seed_store(await ensure_owner(store, DEMO.personas[0]), DEMO, now(), demo_pictures)
    product = await value(store, "select id from products where name = 'Pilão de goiabeira'")
    method = await value(store, "select id from shipping_methods where name = 'Entrega econômica'")
    lines = [{"product": product, "quantity": 1}]
    draft = {"email": EARLIER_CUSTOMER, "lines": lines, "shipping_method": method, "coupon_code": "BEMVINDO10"}
    await place_order(system_scope(store), draft)
    return store


@pytest.fixture(scope="module")
async def address(shop_server: HttpClient, demo_store: Store) -> AsyncIterator[str]:
    host = f"shop-{demo_store.public_id.hex}.localhost"
    async with database.cross_store_connection() as platform:
        await platform.execute("insert into store_hosts (host, store_id) values ($1, $2)", host, demo_store.id)
    port = shop_server.make_url("/").port
    media_addresses.configure(f"http://localhost:{port}")
    yield f"http://{host}:{port}"
    media_addresses.configure("http://localhost")


@pytest.fixture
def decoding(renderer: Renderer) -> Iterator[None]:
    """Configure the renderer, which decodes uploads."""
    earlier = renderers._renderer
    renderers.configure(renderer)
    yield
    renderers.configure(earlier)


@pytest.fixture
async def shopper(browser: Browser, demo_store: Store, address: str, width: Width) -> AsyncIterator[Shopper]:
    async with database.cross_store_connection() as platform:
        await platform.execute("delete from signin_counts")  # all tests sign in from the browser's address
    shopper = await Shopper.enter(browser, demo_store, address, width)
    yield shopper
    assert shopper.page.complaints == []
    assert [url for url in shopper.page.requests if not url.startswith((f"{address}/", "data:"))] == []
    assert (await shopper.page.call("Network.getAllCookies"))["cookies"] == []


@each_width
async def test_from_the_home_page_to_a_paid_order(shopper: Shopper) -> None:
    await browse(shopper)
    await fill_cart(shopper)
    await order_as_guest(shopper)
    await pay(shopper, await read_pix(shopper))
    await shopper.see("Pago")
    await shopper.check("order-paid")
    await shopper.press("Comprar de novo")
    await shopper.see("Finalizar compra")
    assert "Camiseta Cordel" in await shopper.text("main .lines")


async def browse(shopper: Shopper) -> None:
    """Find products by search, category and facets."""
    await shopper.see("Novidades")
    await shopper.check("home")
    await shopper.page.fill("[role=search] input", "canecca")
    await shopper.page.press("Enter")
    await shopper.see("Mostrando caneca")
    await shopper.see_focus("Busca: canecca")
    await shopper.check("search")
    await shopper.page.fill("[role=search] input", "caderno")
    await shopper.page.press("Enter")
    await shopper.see("Caderno Capim")

    if shopper.width.is_phone:
        await shopper.press("Categorias", "summary")
    await shopper.press("Cozinha", "header a")
    await shopper.see("6 produtos")
    await shopper.see_focus("Cozinha")
    if shopper.width.is_phone:
        await shopper.press("Filtrar", "summary")
    await shopper.press("Madeira", ".facets label")
    await shopper.see("4 produtos")
    await shopper.press("R$ 100,00 a", ".facets label")
    await shopper.see("2 produtos")
    await shopper.check("category")
    await shopper.page.evaluate(
        "(select => { select.value = 'PRICE_ASC'; select.dispatchEvent(new Event('change', {bubbles: true})) })"
        "(document.querySelector('.toolbar select'))"
    )
    await shopper.page.wait_for("document.querySelector('.card .name')?.innerText === 'Pilão de goiabeira'")
    # The choices are in the address.
    await shopper.page.call("Page.reload")
    await shopper.see("2 produtos")
    await shopper.page.wait_for("document.querySelector('.card .name')?.innerText === 'Pilão de goiabeira'")

    await shopper.go("/categoria/cozinha?etiqueta=madeira")
    await shopper.see("3 produtos")
    if shopper.width.is_phone:
        await shopper.press("Filtrar", "summary")
    await shopper.press("presente", ".facets label")
    await shopper.page.wait_for("location.search === '?etiqueta=madeira&etiqueta=presente'")

    await shopper.go("/busca?q=")
    await shopper.page.evaluate(
        "void (window.fetch = (fetched => () => (window.fetch = fetched, Promise.reject(new TypeError()))) (window.fetch))"
    )
    await shopper.press("Mostrar mais produtos")
    await shopper.see("Sem conexão com a loja.")
    await shopper.press("Mostrar mais produtos")
    await shopper.see("48 de")
    await shopper.page.wait_for("[...document.querySelectorAll('.card a')].indexOf(document.activeElement) === 24")


async def fill_cart(shopper: Shopper) -> None:
    """Choose options, meet the limits of the stock, and try coupons."""
    await shopper.go("/produto/camiseta-cordel")
    await shopper.check("product")
    await shopper.press("GG", "label")
    await shopper.page.wait_for("document.querySelector('.purchase .price').innerText.includes('94,90')")
    # There is no black one of this size: it is offered as another choice, which changes the size.
    assert "indisponível" in await shopper.page.evaluate(
        "[...document.querySelectorAll('.variants label')].find(label => label.innerText.startsWith('Preta')).textContent"
    )
    await shopper.press("Preta", "label")
    await shopper.page.wait_for("document.querySelector('.purchase .price').innerText.includes('92,90')")
    await shopper.press("Natural", "label")
    await shopper.see("Só ")
    stock = int(re.sub(r"\D", "", await shopper.text(".purchase .quiet")))
    await shopper.press("Adicionar ao carrinho")
    await shopper.see("Adicionado.")
    await shopper.press("Ver carrinho")
    await shopper.see("Cor: Natural")
    await shopper.check("cart")
    for quantity in range(2, stock + 2):
        await shopper.press("Mais um")
        await shopper.page.wait_for(f"document.querySelector('.lines output').innerText === '{quantity}'")
    await shopper.press(f"Levar {stock}")
    await shopper.page.wait_for("document.querySelector('.warning') === null")
    for quantity in range(stock - 1, 0, -1):
        await shopper.press("Menos um")
        await shopper.page.wait_for(f"document.querySelector('.lines output').innerText === '{quantity}'")
    await shopper.fill(code="NAOEXISTE")
    await shopper.press("Aplicar")
    await shopper.see("O cupom não está disponível para este carrinho.")
    await shopper.check("cart-refused-coupon")
    await shopper.fill(code="BEMVINDO10")
    await shopper.press("Aplicar")
    await shopper.see("Desconto")


async def order_as_guest(shopper: Shopper) -> None:
    await shopper.press("Finalizar compra")
    await shopper.see("Endereço de entrega")
    await shopper.fill(email="nao-e-um-email")
    await shopper.press("Continuar")
    await shopper.see("Este e-mail não é válido.")
    await shopper.fill(email=EARLIER_CUSTOMER)
    await shopper.press("Continuar")
    await shopper.see("O cupom vale uma única vez por cliente e já foi usado.")
    await shopper.check("checkout-refused-coupon")
    await shopper.press("Remover cupom")
    await shopper.page.wait_for("document.querySelector('.warning') === null")
    await shopper.press("Trocar e-mail")
    email = f"{uuid7().hex}@example.com"  # the same order of the same customer would be a double submit
    await shopper.fill(email=email)
    await shopper.press("Continuar")
    await shopper.see(email)
    await shopper.fill(**{**ADDRESS, "zipcode": "1"})
    await shopper.press("Entregar neste endereço")
    await shopper.page.wait_for("document.activeElement.name === 'zipcode'")
    assert await shopper.page.evaluate("document.activeElement.getAttribute('aria-invalid')") == "true"
    await shopper.check("checkout-refused-address")
    await shopper.fill(zipcode=ADDRESS["zipcode"])
    await shopper.press("Entregar neste endereço")
    await shopper.press("Entrega econômica", "label")
    await shopper.press("Boleto bancário", "label")
    with_surcharge = await shopper.text(".steps form:last-of-type .primary")
    await shopper.press("Pix", "label")
    assert await shopper.text(".steps form:last-of-type .primary") != with_surcharge
    await shopper.check("checkout")
    await shopper.press("Fazer pedido")
    await shopper.see("Aguardando pagamento")
    assert "Cor: Natural" in await shopper.text("main .lines")
    await shopper.see("Pague com Pix")
    await shopper.check("order")


async def read_pix(shopper: Shopper) -> str:
    """Return the charge of the order shown, whose Pix code is of the order's total and stays when the page is opened again."""
    await shopper.see("Pague com Pix")
    code = await shopper.page.evaluate("document.querySelector('.pix textarea').value")
    assert code[-4:] == f"{crc_hqx(code[:-4].encode(), 0xFFFF):04X}"
    amount = re.search(r"53039865?4(\d\d)", code)
    assert amount is not None
    total = round(float(code[amount.end() : amount.end() + int(amount[1])]) * 100)
    assert total == int(re.sub(r"\D", "", await shopper.text(".totals div:last-child dd")))
    assert await shopper.page.evaluate("document.querySelector('.pix img').naturalWidth") > 0
    assert re.fullmatch(r"(29|30):\d\d", await shopper.text(".pix time"))
    await shopper.page.call("Page.reload")
    await shopper.see("Pague com Pix")
    assert await shopper.page.evaluate("document.querySelector('.pix textarea').value") == code
    return await charge_of(shopper)


async def charge_of(shopper: Shopper) -> str:
    """Return the charge of the payment that the order shown waits for."""
    order = await shopper.page.evaluate("new URLSearchParams(location.hash.slice(1)).get('id')")
    charge = "select gateway_charge_id from payments p join orders o on o.tenant_id = p.tenant_id and o.id = p.order_id"
    return str(
        await value(shopper.store, f"{charge} where p.status = 'PENDING' and o.public_id = $1::uuid", UUID(order))
    )


async def pay(shopper: Shopper, charge: str) -> None:
    """Pay as the customer's bank does."""
    assert await actions.act(system_scope(shopper.store), charge, "pay") == "received"


@each_width
async def test_an_order_is_paid_by_boleto_or_card_after_another_choice(shopper: Shopper) -> None:
    await shopper.go("/produto/vaso-jurema")
    await shopper.press("Adicionar ao carrinho")
    await shopper.see("Adicionado.")
    await shopper.go("/finalizar")
    await shopper.fill(email=f"{uuid7().hex}@example.com")
    await shopper.press("Continuar")
    await shopper.fill(**ADDRESS)
    await shopper.press("Entregar neste endereço")
    await shopper.press("Entrega econômica", "label")
    await shopper.press("Pix", "label")
    await shopper.press("Fazer pedido")
    await shopper.see("Pague com Pix")
    await shopper.press("Pagar de outra forma")
    await shopper.press("Boleto", "label")
    await shopper.fill(document="111.111.111-11")
    await shopper.press("Pagar R$", "button")
    await shopper.page.wait_for("document.activeElement.name === 'document'")
    await shopper.check("payment-refused-document")
    await shopper.fill(document="529.982.247-25")
    await shopper.press("Pagar R$", "button")
    await shopper.see("Pague o boleto")
    assert re.fullmatch(r"\d{47}", await shopper.page.evaluate("document.querySelector('.payment textarea').value"))
    assert "Acréscimo" in await shopper.text(".totals")
    await shopper.check("payment-boleto")
    await shopper.press("Pagar de outra forma")
    await shopper.press("Cartão de crédito", "label")
    await shopper.press("Cartão de teste recusado", "label")
    await shopper.page.evaluate(
        "(select => { select.value = '3'; select.dispatchEvent(new Event('change', {bubbles: true})) })"
        "(document.querySelector('.payment select'))"
    )
    await shopper.check("payment-card")
    await shopper.press("Pagar R$", "button")
    await shopper.see("O cartão foi recusado.")
    await shopper.press("Cartão de crédito", "label")
    await shopper.press("Cartão de teste aprovado", "label")
    await shopper.press("Pagar R$", "button")
    await shopper.see("Pago")
    await shopper.check("payment-paid")


@pytest.mark.parametrize("width", [PHONE], ids=["phone"])
async def test_a_percentage_that_a_choice_adds_is_shown_as_one(shopper: Shopper) -> None:
    owner = await ensure_owner(shopper.store, DEMO.personas[0])
    product = await value(shopper.store, "select public_id::text from products where name = 'Vaso Jurema'")
    variants = [
        {"name": name, "modifier": modifier, "modifier_type": "P"}
        for name, modifier in (("Brilho", 1000), ("Mate", -1250))
    ]
    option = await owner.create("option", now(), name="Esmalte", product_id=product, variants=variants)
    await shopper.go("/produto/vaso-jurema")
    await shopper.see("Brilho (+10%)")
    await shopper.see("Mate (−12,5%)")
    await shopper.check("product-percentage")
    await owner.execute("option_delete", now(), id=option)


@each_width
async def test_delivery_is_quoted_on_the_product_page(shopper: Shopper) -> None:
    await shopper.go("/produto/vaso-jurema")
    await shopper.fill(zipcode="1")
    await shopper.press("Calcular")
    await shopper.see("Este CEP não é válido.")
    await shopper.page.wait_for("document.activeElement.name === 'zipcode'")
    await shopper.check("product-refused-cep")
    await shopper.fill(zipcode="01001-000")
    await shopper.press("Calcular")
    await shopper.see("Entrega econômica")
    one = await shopper.text(".delivery dl")
    assert "R$" in one
    assert "dias" in one
    await shopper.check("product-delivery")
    for quantity in range(2, 6):
        await shopper.press("Mais um")
        await shopper.page.wait_for(f"document.querySelector('.purchase output').innerText === '{quantity}'")
    # More units weigh more.
    await shopper.page.wait_for(f"document.querySelector('.delivery dl').innerText !== {json.dumps(one)}")
    await shopper.press("Adicionar ao carrinho")
    await shopper.see("Adicionado.")


@pytest.mark.parametrize("width", [PHONE], ids=["phone"])
async def test_quantities_are_those_in_which_the_product_is_sold(shopper: Shopper) -> None:
    owner = await ensure_owner(shopper.store, DEMO.personas[0])
    vase, shirt = [
        await value(shopper.store, "select public_id::text from products where slug = $1", slug)
        for slug in ("vaso-jurema", "camiseta-cordel")
    ]
    sold = {"min_quantity": 3, "max_quantity": 7, "quantity_step": 2}
    await owner.execute("product_update", now(), id=vase, input=sold)
    try:
        await shopper.go("/produto/vaso-jurema")
        await shopper.page.wait_for("document.querySelector('.purchase output')?.innerText === '4'")
        await see_quantities(shopper, ".purchase")
        await shopper.press("Adicionar ao carrinho")
        await shopper.press("Ver carrinho")
        await shopper.page.wait_for("document.querySelector('.lines output')?.innerText === '4'")
        await see_quantities(shopper, ".lines")
        # The limits are for all lines of a product.
        await shopper.press("Remover")
        await shopper.see("Seu carrinho está vazio")
        for size in ("M", "GG"):
            await shopper.go("/produto/camiseta-cordel")
            await shopper.press(size, "label")
            await shopper.press("Adicionar ao carrinho")
            await shopper.see("Adicionado.")
        await owner.execute("product_update", now(), id=shirt, input={"quantity_step": 4})
        await shopper.go("/carrinho")
        await shopper.page.wait_for("document.querySelector('.warning') !== null")
        await shopper.press("Mais um")
        await shopper.page.wait_for("document.querySelector('.lines output').innerText === '3'")
        await shopper.page.wait_for("document.querySelector('.warning') === null")
    finally:
        unlimited = {"min_quantity": 0, "max_quantity": 0, "quantity_step": 0}
        for product in (vase, shirt):
            await owner.execute("product_update", now(), id=product, input=unlimited)


async def see_quantities(shopper: Shopper, place: str) -> None:
    """Go from the least quantity, 4, to the largest, 6, and back."""
    off = f"[...document.querySelectorAll('{place} .quantity button')].map(each => each.ariaDisabled)"
    shown = f"document.querySelector('{place} output').innerText"
    for button, quantity, state in (("Mais um", "6", ["false", "true"]), ("Menos um", "4", ["true", "false"])):
        await shopper.press(button)
        await shopper.page.wait_for(f"{shown} === '{quantity}' && String({off}) === '{','.join(state)}'")


@pytest.mark.parametrize("width", [PHONE], ids=["phone"])
async def test_a_feature_that_is_not_for_product_pages_is_not_shown(shopper: Shopper) -> None:
    owner = await ensure_owner(shopper.store, DEMO.personas[0])
    feature, name = await one_feature(shopper, "vaso-jurema")
    await shopper.go("/produto/vaso-jurema")
    await shopper.see(name)
    await owner.execute("feature_update", now(), id=feature, input={"display_on_product": False})
    try:
        await shopper.page.call("Page.reload")
        await shopper.see("Frete e prazo")
        assert name not in await shopper.text("main .product")
    finally:
        await owner.execute("feature_update", now(), id=feature, input={"display_on_product": True})


async def one_feature(shopper: Shopper, slug: str) -> tuple[str, str]:
    """Return the id and name of a feature that the product page shows."""
    (row,) = await rows(
        shopper.store,
        "select f.public_id::text, f.name from features f join feature_values v on v.tenant_id = f.tenant_id and v.feature_id = f.id"
        " join products p on p.tenant_id = v.tenant_id and p.id = v.product_id where p.slug = $1 order by f.id limit 1",
        slug,
    )
    return row[0], row[1]


@pytest.mark.parametrize("width", [PHONE], ids=["phone"])
async def test_a_picture_of_the_shopper_is_in_the_cart(shopper: Shopper, tmp_path: Path, decoding: None) -> None:
    owner = await ensure_owner(shopper.store, DEMO.personas[0])
    product = await value(shopper.store, "select public_id::text from products where name = 'Pilão de goiabeira'")
    fields = {"name": "Sua foto", "type": "F", "required": True, "allowed_extensions": "png"}
    option = await owner.create("option", now(), product_id=product, **fields)
    picture = tmp_path / "gato.png"
    picture.write_bytes(encoded(".png"))
    page = shopper.page
    await shopper.go("/produto/pilao-de-goiabeira")
    await shopper.see("Sua foto")
    assert await page.evaluate("document.querySelector('.buy .primary').disabled")
    root = (await page.call("DOM.getDocument"))["root"]["nodeId"]
    field = await page.call("DOM.querySelector", nodeId=root, selector="[type=file]")
    assert await page.evaluate("document.querySelector('[type=file]').accept") == ".png"
    await page.call("DOM.setFileInputFiles", nodeId=field["nodeId"], files=[str(picture)])
    await shopper.check("product-file")
    await shopper.press("Adicionar ao carrinho", "button")
    await shopper.see("Adicionado.")
    await shopper.go("/carrinho")
    await shopper.see("Sua foto: gato.png")
    await page.wait_for("document.querySelector('.upload').naturalWidth === 120")
    await shopper.check("cart-file")
    await owner.execute("option_delete", now(), id=option)


@pytest.mark.parametrize("width", [PHONE], ids=["phone"])
async def test_pages_describe_themselves_to_search_engines(shopper: Shopper) -> None:
    described = set()
    for path in ("/", "/categoria/mesa-posta", "/produto/camiseta-cordel", "/pagina/quem-somos"):
        await shopper.go(path)
        described.add(await shopper.page.wait_for(f"(text => text !== '{DEMO.name}' && text)({DESCRIPTION})"))
    assert len(described) == 4, described
    assert not any("<" in text for text in described), described
    await shopper.press("Carrinho")
    await shopper.page.wait_for(f"{DESCRIPTION} === '{DEMO.name}'")


@each_width
async def test_a_vendor_has_a_page_of_its_products(shopper: Shopper) -> None:
    await shopper.go("/produto/camiseta-cordel")
    vendor = (await shopper.text(".product .quiet a")).strip()
    await shopper.press(vendor, ".product .quiet a")
    await shopper.see("Ordenar")
    await shopper.see_focus(vendor)
    own = await value(
        shopper.store,
        "select count(*) from products p join vendors v on v.tenant_id = p.tenant_id and v.id = p.vendor_id"
        " where v.name = $1 and p.status = 'A'",
        vendor,
    )
    await shopper.see(f"{own} produto")
    await shopper.check("vendor")


@each_width
async def test_an_unknown_path_is_the_shops_own_page(shopper: Shopper) -> None:
    await shopper.see("Novidades")
    await shopper.go("/nada/aqui")
    await shopper.see("Página não encontrada")
    assert await shopper.page.evaluate("performance.getEntriesByType('navigation')[0].responseStatus") == 404
    await shopper.check("not-found")
    await shopper.press(DEMO.name, "header a")
    await shopper.see("Novidades")
    (complaint,) = shopper.page.complaints
    assert "the server responded with a status of 404" in complaint
    shopper.page.complaints.clear()
    await shopper.go("/produto/%ff")  # which is no text
    await shopper.see("Página não encontrada")
    (complaint,) = shopper.page.complaints
    assert "the server responded with a status of 404" in complaint
    shopper.page.complaints.clear()


@each_width
async def test_pictures_have_their_place_before_they_are_there(shopper: Shopper) -> None:
    # A larger size that is in the cache is shown in place of a smaller one.
    await shopper.page.call("Network.setCacheDisabled", cacheDisabled=True)
    await shopper.page.call("Page.addScriptToEvaluateOnNewDocument", source=OBSERVE_SHIFTS)
    await shopper.go("/produto/bolsa-tropeira")
    await shopper.press("Adicionar ao carrinho")
    await shopper.see("Adicionado.")
    for path in ("/", "/categoria/mesa-posta", "/produto/camiseta-cordel", "/carrinho", "/pagina/quem-somos"):
        await shopper.go(path)
        await shopper.page.wait_for(f"{FIRST_PICTURES}.every(image => image.complete)")
        pictures = await shopper.page.evaluate(f"{FIRST_PICTURES}.map(image => {PICTURE})")
        assert await shopper.page.evaluate("document.querySelectorAll('main .initials').length") == 0, path
        for picture in pictures:
            assert picture["has_size"], (path, picture)
            # Each size is twice the one before.
            assert picture["shown"] <= picture["loaded"] <= max(128, 2 * picture["shown"]), (path, picture)
        shift = await shopper.page.evaluate("window.shifted")
        assert shift < MAX_LAYOUT_SHIFT, path
        assert len(pictures) > 0 or path == "/pagina/quem-somos", path


@each_width
async def test_products_that_arrive_late_replace_others_without_a_layout_shift(shopper: Shopper) -> None:
    await shopper.page.call("Page.addScriptToEvaluateOnNewDocument", source=OBSERVE_SHIFTS)
    await shopper.go("/categoria/mesa-posta")
    if shopper.width.is_phone:
        await shopper.page.evaluate("document.querySelector('.cards').scrollIntoView()")
    # A shift in the half second after an input is expected by the browser; this one is later.
    slow = {"offline": False, "latency": 800, "downloadThroughput": -1, "uploadThroughput": -1}
    await shopper.page.call("Network.emulateNetworkConditions", **slow)
    for order in ("PRICE_DESC", "NAME_ASC"):
        before = await shopper.text(".cards")
        await shopper.page.evaluate(
            f"(select => {{ select.value = '{order}'; select.dispatchEvent(new Event('change', {{bubbles: true}})) }})"
            "(document.querySelector('.toolbar select'))"
        )
        await shopper.page.wait_for(
            f"document.querySelector('.cards').innerText !== {json.dumps(before)}"
            f" && document.querySelector('[aria-busy=true]') === null && {FIRST_PICTURES}.every(image => image.complete)"
        )
        assert await shopper.page.evaluate(SHIFTED_AFTER_PAINT) < MAX_LAYOUT_SHIFT, order


@each_width
async def test_pictures_below_the_screen_wait_and_show_a_placeholder(shopper: Shopper) -> None:
    await shopper.see("Novidades")
    loading = await shopper.page.evaluate("[...document.querySelectorAll('.card img')].map(image => image.loading)")
    # 12 new products, and two collections of four.
    assert loading == ["eager"] * 4 + ["lazy"] * 16
    placeholder = """(canvas => {
        const pixels = canvas?.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data ?? [];
        return [pixels.filter((_, index) => index % 4 === 3).every(alpha => alpha === 255), new Set(pixels).size];
    })([...document.querySelectorAll('.card canvas')].at(-1))"""
    is_opaque, colours = await shopper.page.evaluate(placeholder)
    assert is_opaque
    assert colours > 10
    await shopper.page.evaluate("document.querySelector('.card:last-child').scrollIntoView()")
    await shopper.page.wait_for("document.querySelector('.card:last-child canvas') === null")
    assert await shopper.page.evaluate("document.querySelector('.card:last-child img').naturalWidth") > 0


@each_width
async def test_an_account_with_two_factors_and_addresses(shopper: Shopper) -> None:
    email = f"{uuid7().hex}@example.com"
    await shopper.go("/produto/vaso-jurema")
    await shopper.press("Adicionar ao carrinho")
    await shopper.see("Adicionado.")
    await sign_up(shopper, email)
    await sign_in(shopper, email)
    # The guest's cart is the customer's now.
    assert (await shopper.text(".badge")).startswith("1")
    await manage_addresses(shopper)
    email = await change_own_data(shopper, email)
    await order_to_saved_address(shopper)
    secret = await enable_two_factor(shopper)
    await sign_in_with_two_factor(shopper, email, secret)
    # A new tab's page has the refresh token only.
    await shopper.page.call("Page.reload")
    await shopper.see("Olá, Ana Souza")
    assert await shopper.text(".orders .status") == "Aguardando pagamento"
    await shopper.check("account")
    await shopper.press("Pedido", ".orders a")
    await shopper.see("Comprar de novo")


async def sign_up(shopper: Shopper, email: str) -> None:
    await shopper.go("/criar-conta")
    await shopper.fill(name="Ana Souza", email="ana", password="curta")
    await shopper.press("Criar conta", "button")
    await shopper.see("Este e-mail não é válido.")
    await shopper.see("Use de 8 a 128 caracteres.")
    await shopper.check("sign-up-refused")
    await shopper.fill(email=email, password=PASSWORD)
    await shopper.press("Criar conta", "button")
    await shopper.see("Confirme seu e-mail")
    await shopper.check("sign-up")
    await shopper.fill(token=await mailed_token(shopper.store, "email_verification"))
    await shopper.press("Confirmar e-mail")
    await shopper.see("E-mail confirmado.")


async def sign_in(shopper: Shopper, email: str) -> None:
    await shopper.go("/entrar")
    await shopper.fill(identifier=email, password="não é esta")
    await shopper.press("Entrar", "main button")
    await shopper.see("E-mail ou senha incorretos.")
    await shopper.check("sign-in-refused")
    await shopper.fill(password=PASSWORD)
    await shopper.press("Entrar", "main button")
    await shopper.see("Olá, Ana Souza")
    await shopper.see("Você ainda não fez pedidos.")


async def manage_addresses(shopper: Shopper) -> None:
    """Create two addresses, change one, change the default, delete the other."""
    await shopper.press("Endereços")
    await shopper.see("Nenhum endereço salvo.")
    await shopper.press("Novo endereço")
    await shopper.page.wait_for("document.activeElement.name === 'name'")
    await shopper.fill(**ADDRESS)
    await shopper.check("address-form")
    await shopper.press("Salvar endereço")
    await shopper.see("Rua das Flores, 10")
    await shopper.press("Novo endereço")
    await shopper.fill(**{**ADDRESS, "street": "Rua Augusta", "number": "500"})
    await shopper.press("Salvar endereço")
    await shopper.see("Rua Augusta, 500")
    await shopper.press("Usar para entrega: Rua Augusta")
    await shopper.page.wait_for(
        "[...document.querySelectorAll('.addresses li')].find(li => li.innerText.includes('Augusta')).innerText.includes('Entrega')"
    )
    await shopper.press("Editar: Rua Augusta")
    await shopper.fill(complement="ap. 12")
    await shopper.press("Salvar endereço")
    await shopper.see("Rua Augusta, 500, ap. 12")
    await shopper.press("Excluir: Rua das Flores")
    await shopper.page.wait_for("document.querySelectorAll('.addresses li').length === 1")
    await shopper.check("addresses")


async def change_own_data(shopper: Shopper, email: str) -> str:
    """Change name, phone and e-mail address; return the new address, which counts once its code was typed."""
    await shopper.press("Dados")
    await shopper.see_focus("Meus dados")
    await shopper.fill(name="Ana de Souza", phone="12")
    await shopper.press("Salvar")
    await shopper.see("Este telefone não é válido.")
    await shopper.see("Confira os campos destacados.")
    await shopper.page.wait_for("document.activeElement.name === 'phone'")
    await shopper.check("profile-refused")
    await shopper.fill(name="Ana Souza", phone="(11) 98765-4321")
    await shopper.press("Salvar")
    await shopper.see("Dados salvos.")
    assert await value(shopper.store, "select phone from users where email = $1", email) == "11987654321"
    new = f"{uuid7().hex}@example.com"
    await shopper.press("Trocar o e-mail")
    await shopper.fill(new_email=new, password="não é esta")
    await shopper.press("Enviar código", "button")
    await shopper.see("A senha não confere.")
    await shopper.fill(password=PASSWORD)
    await shopper.press("Enviar código", "button")
    await shopper.page.wait_for("document.activeElement.name === 'token'")
    await shopper.see(f"Você entra com {email}.")
    await shopper.check("profile-email")
    await shopper.fill(token="não é este")
    await shopper.press("Confirmar e-mail")
    await shopper.see("O código não vale mais. Peça outro.")
    await shopper.fill(token=await mailed_token(shopper.store, "email_change"))
    await shopper.press("Confirmar e-mail")
    await shopper.see(f"Você entra com {new}.")
    await shopper.see("E-mail trocado.")
    await shopper.check("profile")
    return new


@each_width
async def test_a_customer_changes_the_password_and_deletes_the_account(shopper: Shopper) -> None:
    email = f"{uuid7().hex}@example.com"
    await sign_up(shopper, email)
    await sign_in(shopper, email)
    await shopper.press("Segurança")
    await shopper.see_focus("Segurança")
    await shopper.press("Trocar a senha")
    await shopper.fill(current_password="não é esta", new_password="outra senha bem comprida")
    await shopper.press("Trocar senha", "button")
    await shopper.see("A senha não confere.")
    await shopper.check("password-refused")
    await shopper.fill(current_password=PASSWORD)
    await shopper.press("Trocar senha", "button")
    await shopper.see("Senha trocada.")
    await shopper.see_focus("Senha trocada. Nos outros aparelhos, entre de novo.")
    await shopper.check("security")

    await shopper.press("Dados")
    await shopper.see_focus("Meus dados")
    await shopper.press("Excluir minha conta")
    await shopper.fill(password=PASSWORD)
    await shopper.press("Enviar código de exclusão")
    await shopper.see("A senha não confere.")
    await shopper.fill(password="outra senha bem comprida")
    await shopper.press("Enviar código de exclusão")
    await shopper.page.wait_for("document.activeElement.name === 'token'")
    await shopper.check("deletion")
    assert await value(shopper.store, "select count(*) from users where email = $1", email) == 1
    token = await mailed_token(shopper.store, "account_deletion")
    await shopper.go(f"/conta/codigo#account_deletion={token}")
    await shopper.check("deletion-by-mail")
    await shopper.press("Excluir definitivamente")
    await shopper.see("Apagamos os seus dados.")
    await shopper.see_focus("Conta excluída")
    await shopper.check("deleted")
    assert await value(shopper.store, "select count(*) from users where email = $1", email) == 0
    assert await shopper.page.evaluate("localStorage.length") == 0


async def order_to_saved_address(shopper: Shopper) -> None:
    await shopper.press("Carrinho")
    await shopper.press("Finalizar compra")
    await shopper.press("Entregar em Rua Augusta")
    await shopper.press("Retirada no ateliê", "label")
    await shopper.press("Pix", "label")
    await shopper.check("checkout-signed-in")
    await shopper.press("Fazer pedido")
    await shopper.see("Aguardando pagamento")


async def enable_two_factor(shopper: Shopper) -> str:
    """Turn two factors on; return the secret in the authenticator app."""
    await shopper.press("Conta", "header a")
    await shopper.press("Segurança")
    await shopper.press("Ativar")
    secret = await shopper.text("#secret")
    await shopper.check("two-factor")
    await shopper.fill(code=pyotp.TOTP(secret).at(now()))
    await shopper.press("Confirmar")
    await shopper.see("Guarde estes códigos")
    assert (
        len(await shopper.page.evaluate("[...document.querySelectorAll('.codes li')].map(code => code.innerText)")) >= 8
    )
    await shopper.check("recovery-codes")
    return secret


async def sign_in_with_two_factor(shopper: Shopper, email: str, secret: str) -> None:
    await shopper.press("Pedidos")
    await shopper.press("Sair")
    await shopper.see("Novidades")
    assert await shopper.page.evaluate("localStorage.length") == 0
    await shopper.press("Entrar", "header a")
    await shopper.fill(identifier=email, password=PASSWORD)
    await shopper.press("Entrar", "main button")
    await shopper.see("Verificação em duas etapas")
    await shopper.see_focus("Verificação em duas etapas")
    await shopper.fill(code="000000")
    await shopper.press("Confirmar")
    await shopper.see("O código não confere ou expirou.")
    await shopper.check("second-step")
    # A code is accepted once, so this is that of the next time step.
    await shopper.fill(code=pyotp.TOTP(secret).at(now() + timedelta(seconds=30)))
    await shopper.press("Confirmar")
    await shopper.see("Olá, Ana Souza")


@pytest.mark.parametrize("width", [PHONE], ids=["phone"])
async def test_the_shop_sends_trusted_documents_alone(shopper: Shopper) -> None:
    documents = read_manifest(json.loads(EXAMPLE.sources.joinpath("documents.json").read_bytes()))
    scope = system_scope(shopper.store)
    with active_scope(scope):
        key = await value(shopper.store, "select public_id from storefront_keys where name = $1", KEY_NAME)
        pushed = await set_trusted_documents(scope, documents, key, trusted_documents_only=True)
    assert (pushed.count, pushed.trusted_documents_only) == (len(documents), True)
    try:
        await shopper.page.call("Page.reload")
        await shopper.see("Novidades")
        await shopper.press("Categorias", "summary")
        await shopper.press("Cozinha", "header a")
        await shopper.see("6 produtos")
        await shopper.go("/produto/camiseta-cordel")
        await shopper.press("GG", "label")
        await shopper.fill(zipcode="01001-000")
        await shopper.press("Calcular")
        await shopper.see("Entrega econômica")
        await shopper.press("Adicionar ao carrinho")
        await shopper.see("Adicionado.")
        await shopper.press("Ver carrinho")
        await shopper.see("Finalizar compra")
        email = f"{uuid7().hex}@example.com"
        await sign_up(shopper, email)
        await sign_in(shopper, email)
        await shopper.press("Endereços")
        await shopper.see("Nenhum endereço salvo.")
        refused = await shopper.page.evaluate(OTHER_DOCUMENT)
        assert refused["errors"][0]["extensions"]["details"]["reason"] == "document_not_trusted"
    finally:
        with active_scope(scope):
            await set_trusted_documents(scope, [], key, trusted_documents_only=False)


@each_width
async def test_a_page_is_used_by_keyboard_alone(shopper: Shopper) -> None:
    await shopper.see("Novidades")
    await shopper.page.press("Tab")
    await shopper.see_focus("Pular para o conteúdo")
    await shopper.page.press("Enter")
    await shopper.page.press("Tab")
    await shopper.see_focus("Conheça a loja")
    await shopper.page.press("Enter")
    await shopper.see("Reunimos ateliês")
    await shopper.see_focus("Quem somos")
    await shopper.check("content")
    await shopper.page.evaluate("history.back()")
    await shopper.see("Novidades")
    await shopper.see_focus(DEMO.name)


@each_width
async def test_from_the_cart_to_an_order_by_keyboard_alone_the_focus_stays_where_it_is_expected(
    shopper: Shopper,
) -> None:
    page = shopper.page
    for path in ("/produto/caderno-capim", "/produto/vaso-jurema"):
        await shopper.go(path)
        await shopper.tab_to("Adicionar ao carrinho")
        await page.press("Enter")
        await shopper.see("Adicionado.")
        await shopper.see_control_focused("Adicionar ao carrinho")
    await shopper.tab_to("Ver carrinho")
    await page.press("Enter")
    await shopper.see_focus("Carrinho")
    await shopper.tab_to("Remover Caderno Capim")
    await page.press("Enter")
    await page.wait_for("document.querySelectorAll('.lines li').length === 1")
    await shopper.see_control_focused("Vaso Jurema")
    await shopper.tab_to("Mais um")
    await page.press("Enter")
    await page.wait_for("document.querySelector('.lines output').innerText === '2'")
    await shopper.see_control_focused("Mais um")
    await shopper.tab_to("Cupom de desconto")
    await page.type("BEMVINDO10")
    await page.press("Enter")
    await shopper.see_control_focused("Remover cupom")
    await page.press("Enter")
    await shopper.see_control_focused("Cupom de desconto")
    await shopper.tab_to("Finalizar compra")
    await page.press("Enter")
    await shopper.see_focus("Finalizar compra")
    await shopper.tab_to("E-mail")
    await page.type(f"{uuid7().hex}@example.com")
    await page.press("Enter")
    await shopper.see_focus("Endereço de entrega")
    for label, name in ADDRESS_LABELS.items():
        await shopper.tab_to(label)
        await page.evaluate("document.activeElement.select()")
        await page.type(ADDRESS[name])
    await page.wait_for("document.querySelector('[name=state]').value === 'SP'")  # by the CEP
    await page.press("Enter")
    await shopper.see_focus("Entrega")
    await shopper.tab_to("Entrega econômica")
    await page.press(" ")
    await shopper.see("Pagamento")
    await shopper.see_control_focused("Entrega econômica")
    await shopper.tab_to("Pix")
    await shopper.tab_to("Fazer pedido")
    await page.press("Enter")
    await shopper.see("Pague com Pix")
    await shopper.check("order-by-keyboard")


@pytest.mark.parametrize("width", [PHONE], ids=["phone"])
async def test_the_first_paint_takes_less_than_100_kb_of_script(shopper: Shopper) -> None:
    await shopper.see("Novidades")
    scripts = {url.rpartition("/")[2] for url in shopper.page.requests if url.endswith(".js")}
    assert "shop.js" in scripts
    sizes = {name: (BUILT / str(built_version()) / name).stat().st_size for name in scripts}
    # Not compressed; what is sent is about a third.
    assert sum(sizes.values()) < MAX_SCRIPT_BYTES, sizes


@pytest.mark.parametrize("width", [PHONE], ids=["phone"])
async def test_a_visitors_catalogue_reads_are_revalidated_by_the_browser(shopper: Shopper) -> None:
    await shopper.see("Novidades")
    # The first visit teaches the store the documents; from then on they are short GETs.
    await shopper.page.call("Page.reload")
    await shopper.see("Novidades")
    shopper.page.requests.clear()
    await shopper.page.call("Page.reload")
    await shopper.see("Novidades")
    reads = [url for url in shopper.page.requests if "/graphql" in url]
    assert len(reads) == 2  # the menu and the page
    assert all(
        "persistedQuery" in url and "query=" not in url.partition("?")[2].replace("persistedQuery", "") for url in reads
    )
    # A 304 transfers its head alone.
    transferred = await shopper.page.evaluate(
        "performance.getEntriesByType('resource').filter(({name}) => name.includes('/graphql'))"
        ".map(({transferSize, encodedBodySize}) => transferSize < encodedBodySize)"
    )
    assert transferred == [True, True]
    slug = await value(shopper.store, "select slug from vendors where status = 'A' order by id limit 1")
    for path, name in (("/colecao/para-presentear", "CollectionPage"), (f"/vendedor/{slug}", "VendorPage")):
        await shopper.go(path)
        await shopper.page.wait_for("document.querySelector('main h1 + *') !== null")
        assert [url for url in shopper.page.requests if f"/graphql?operationName={name}&" in url], path
