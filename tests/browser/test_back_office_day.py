"""A shop's day in the back office, from sign-in to payout, with the pictures of docs/tutorials/shopkeeper.md.

`VITRINE_ACCEPT=1` writes the pictures again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from auth.privileges import ALL
from kernel.clock import now
from kernel.scope import Store
from server.demo.credentials import ensure_owner
from server.demo.stores import DEMO
from tests.browser.office import OFFICE_MARKS, Clerk, each_width
from tests.harness.payments import enabled_sandbox
from tests.harness.programs import ROOT
from tests.harness.records import PASSWORD, add_user, add_vendor
from tests.harness.scopes import rows, value

pytestmark = OFFICE_MARKS
TUTORIAL = ROOT / "docs" / "tutorials" / "shopkeeper.md"
PICTURES = TUTORIAL.with_suffix("")
NAMES = ("home", "product", "new-product", "shipment", "refund", "vendor", "payout")
LARGEST_PICTURE_BYTES = 60_000
_UPLOADED = (
    "(image => { image?.scrollIntoView(); return image?.complete === true })(document.querySelector('main form img'))"
)
_OPEN = """
    select array[public_id::text, total_cents::text] from orders o where status = 'O' and deleted_at is null
        and not exists (select 1 from payments p where p.order_id = o.id)
    order by id limit 1
"""
_RICHEST = """
    select public_id from vendors v where status = 'A' order by
        (select sum(amount_cents) from ledger_entries e where e.vendor_id = v.id and available_at <= now()) desc nulls last limit 1
"""


@pytest.fixture(autouse=True, scope="module")
def sandbox() -> Iterator[None]:
    with enabled_sandbox():
        yield


def test_the_tutorial_shows_the_pictures_of_this_day() -> None:
    shown = re.findall(r"\]\(shopkeeper/([\w-]+)\.webp\)", TUTORIAL.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(NAMES)
    sizes = {path.stem: path.stat().st_size for path in PICTURES.iterdir()}
    assert sorted(sizes) == sorted(NAMES)
    assert {name: size for name, size in sizes.items() if size > LARGEST_PICTURE_BYTES} == {}


async def take_picture(clerk: Clerk, name: str) -> None:
    """Check the page, and keep what is visible of it as a picture of the tutorial."""
    await clerk.check(f"day-{name}")
    if os.environ.get("VITRINE_ACCEPT") and not clerk.width.is_phone:
        PICTURES.mkdir(exist_ok=True)
        await clerk.page.screenshot(PICTURES / f"{name}.webp")


async def paid_order(store: Store) -> tuple[str, int]:
    """Pay an open order by a card of the sandbox; return its ID and total."""
    order, total = await value(store, _OPEN)
    owner = await ensure_owner(store, DEMO.personas[0])
    await owner.execute("payment_create", now(), order_id=order, kind="CARD", card_token="tok_approved")
    assert await value(store, "select status from orders where public_id = $1", order) == "P"
    return order, int(total)


@pytest.mark.slow(seconds=30)
@each_width
async def test_a_day_from_sign_in_to_payout(clerk: Clerk, demo_pictures: Path) -> None:
    order, total = await paid_order(clerk.store)
    vendor = await add_vendor(clerk.store, name="Fios do Sertão", status="P", city="Crato", state="CE")
    staff = await add_user(clerk.store, *ALL)
    await clerk.sign_in(staff.email, PASSWORD)
    await clerk.see("Vendedores a aprovar")
    await take_picture(clerk, "home")
    await change_price(clerk)
    await add_product(clerk, sorted(demo_pictures.rglob("*.png"))[0])
    await ship(clerk, order)
    await refund(clerk, order, total)
    await approve(clerk, vendor.id)
    await pay_out(clerk)


async def change_price(clerk: Clerk) -> None:
    product, price = await value(
        clerk.store,
        "select array[public_id::text, price_cents::text] from products where name = 'Pilão de goiabeira'",
    )
    await clerk.go(f"/product/{product}", "Produto")
    await clerk.page.wait_for("document.querySelector(\"[name='input.price_cents']\")?.value.length > 0")
    await clerk.fill("input.price_cents", f"{int(price) // 100 + 5},90")
    await take_picture(clerk, "product")
    await clerk.press("Salvar")
    await clerk.see("Salvo")
    changed = await value(clerk.store, "select price_cents from products where public_id = $1", product)
    assert changed == (int(price) // 100 + 5) * 100 + 90


async def add_product(clerk: Clerk, picture: Path) -> None:
    name = f"Caneca esmaltada {clerk.width.name}"
    await clerk.go("/product/create", "Criar produto")
    await clerk.page.wait_for("document.querySelector(\"[name='input.price_cents']\") !== null")
    await clerk.fill("input.name", name)
    await clerk.fill("input.price_cents", "49,90")
    document = await clerk.page.call("DOM.getDocument")
    chooser = await clerk.page.call(
        "DOM.querySelector", nodeId=document["root"]["nodeId"], selector="main form input[type=file]"
    )
    await clerk.page.call("DOM.setFileInputFiles", nodeId=chooser["nodeId"], files=[str(picture)])
    # Pictures load once they are near what is visible.
    await clerk.page.wait_for(_UPLOADED)
    await take_picture(clerk, "new-product")
    await clerk.press("Salvar")
    await clerk.see("Criado")
    images = "select count(*) from products p join product_images i on i.product_id = p.id where p.name = $1"
    assert await value(clerk.store, images, name) == 1


async def ship(clerk: Clerk, order: str) -> None:
    await clerk.go(f"/order/{order}", "Pedido")
    await clerk.press("Enviar")
    await clerk.page.wait_for("document.querySelector(\"[name='input.tracking_number']\") !== null")
    await clerk.fill("input.carrier", "Correios")
    await clerk.fill("input.tracking_number", "BR123456789BR")
    await take_picture(clerk, "shipment")
    await clerk.submit()
    await clerk.see("BR123456789BR")


async def refund(clerk: Clerk, order: str, total: int) -> None:
    await clerk.press("Reembolsar")
    await clerk.page.wait_for("document.querySelector(\"[name='input.amount_cents']\") !== null")
    await clerk.fill("input.amount_cents", "10,00")
    await take_picture(clerk, "refund")
    await clerk.submit()
    await clerk.see("Reembolsado em parte")
    sql = "select p.refunded_cents from payments p join orders o on o.id = p.order_id where o.public_id = $1"
    assert (await value(clerk.store, sql, order), total > 1_000) == (1_000, True)


async def approve(clerk: Clerk, vendor: str) -> None:
    await clerk.go("/", "Início")
    await clerk.go(f"/vendor/{vendor}", "Vendedor")
    await clerk.see("espera a aprovação")
    await take_picture(clerk, "vendor")
    await clerk.press("Aprovar")
    await clerk.page.wait_for("document.querySelector(\"[name='input.rate']\") !== null")
    await clerk.fill("input.rate", "10")
    await clerk.submit()
    await clerk.see("Vendedor aprovado")
    assert await value(clerk.store, "select status from vendors where public_id = $1", vendor) == "A"


async def pay_out(clerk: Clerk) -> None:
    vendor = await value(clerk.store, _RICHEST)
    await clerk.go(f"/vendor/{vendor}", "Vendedor")
    await clerk.press("Fazer repasse")
    await clerk.page.wait_for("document.querySelector('[role=dialog] [name=\"input.amount_cents\"]') !== null")
    await clerk.fill("input.amount_cents", "100,00")
    await take_picture(clerk, "payout")
    await clerk.submit()
    await clerk.press("Marcar como pago")
    await clerk.submit()
    await clerk.page.wait_for("document.querySelector('[data-payout=paid]') !== null")
    paid = await rows(
        clerk.store,
        "select p.amount_cents from payouts p join vendors v on v.id = p.vendor_id where v.public_id = $1 and p.status = 'paid'",
        vendor,
    )
    assert [10_000] * len(paid) == [each["amount_cents"] for each in paid]
    assert paid
