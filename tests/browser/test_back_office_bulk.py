"""CSV files in the back office: an export with progress, and the import of what was changed in it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domain.bulk import configuration
from domain.bulk.operations import MUTATION, QUERY
from domain.promotions.promotions import PROMOTION_RECORDS
from kernel.scope import active_scope
from resolvers import bulk_mutations, bulk_queries
from server.workers.bulk import BulkWorker
from tests.browser.office import OFFICE_MARKS, SHOWN, Clerk, each_width, on_desktop
from tests.harness.records import PASSWORD, UNKNOWN_ID, add_user
from tests.harness.scopes import system_scope, value

pytestmark = OFFICE_MARKS
CLERK = ("view_products", "manage_products", "view_catalog", "manage_catalog")
_CATCH = """
    (create => {
        URL.createObjectURL = blob => { blob.text().then(text => { window.saved = text; }); return create(blob); };
    })(URL.createObjectURL.bind(URL))
"""
_DROP = """
    (dropped => {
        dropped.items.add(new File([%s], 'arquivo.csv', {type: 'text/csv'}));
        const drop = new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: dropped});
        document.querySelector('[data-file]').dispatchEvent(drop);
    })(new DataTransfer())
"""


@pytest.fixture(autouse=True)
async def folder(address: str, tmp_path: Path) -> AsyncIterator[None]:
    before = configuration.configured()
    configuration.configure(configuration.BulkConfiguration(tmp_path / "bulk"))
    yield
    configuration.configure(before)


async def work() -> None:
    """Execute the bulk operations that are due, as the worker does."""
    worker = BulkWorker({QUERY: bulk_queries.run, MUTATION: bulk_mutations.run})
    while await worker.run_next():
        pass


async def begin(clerk: Clerk, *privileges: str) -> None:
    user = await add_user(clerk.store, *(privileges or CLERK))
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")


async def drop_file(clerk: Clerk, rows: list[dict[str, str]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=";")
    writer.writeheader()
    writer.writerows(rows)
    await clerk.page.evaluate(_DROP % json.dumps("\ufeff" + text.getvalue()))


@on_desktop
async def test_a_file_in_the_encoding_of_windows_keeps_its_letters(clerk: Clerk) -> None:
    await begin(clerk)
    await clerk.go("/import/category", "Importar")
    text = "name;description\r\nLouças e cerâmica;Feito à mão\r\n"
    await clerk.page.evaluate(_DROP % f"new Uint8Array({list(text.encode('cp1252'))})")
    await clerk.see("1 linha cria um registro.")
    await clerk.press("Importar 1 linha")
    await clerk.see("Na fila")
    await work()
    await clerk.see("Todas as linhas foram importadas.")
    assert await value(clerk.store, "select description from categories where name = 'Louças e cerâmica'")


@each_width
async def test_an_export_is_changed_and_imported_again(clerk: Clerk) -> None:
    await begin(clerk)
    price = "select price_cents from products where name = $1"
    await value(
        clerk.store, "update products set price_cents = 11890 where name = $1 returning id", "Pilão de goiabeira"
    )
    await clerk.go("/product", "Produtos")
    await clerk.fill("search", "pilao")
    await clerk.see("1–1 de 1")
    await clerk.press("Exportar")
    await clerk.see("Você pode sair desta página")
    await clerk.check("export")
    await work()
    await clerk.see("1 de 1")
    await clerk.page.evaluate(_CATCH)
    await clerk.press("Baixar como CSV")
    saved = await clerk.page.wait_for("window.saved")
    (row,) = csv.DictReader(io.StringIO(saved), delimiter=";")
    assert (row["name"], row["price"], row["status"]) == ("Pilão de goiabeira", "118,90", "A")
    changed = {**row, "price": "91,50"}
    created = {**dict.fromkeys(row, ""), "name": "=Novo", "sku": f"IMP-{clerk.width.name}", "price": "1.234,56"}
    unreadable = {**row, "price": "abc"}
    refused = {**dict.fromkeys(row, ""), "id": UNKNOWN_ID, "name": "x"}
    await clerk.go("/import/product", "Importar")
    await drop_file(clerk, [changed, unreadable, created, refused])
    await clerk.see("3 linhas: cada uma")
    await clerk.see("Linha 3: price: não é um valor")
    await clerk.check("import")
    await clerk.press("Importar 3 linhas")
    await clerk.see("Você pode sair desta página")
    operation = await clerk.page.evaluate("location.pathname")
    await clerk.go("/bulk_operation", "Operações em massa")
    await work()
    await clerk.go(operation.removeprefix("/admin"), "Importar")
    await clerk.see("3 de 3")
    await clerk.see("Linha 5: id: Não existe")
    await clerk.check("imported")
    assert await value(clerk.store, price, "Pilão de goiabeira") == 9150
    assert await value(clerk.store, price, "=Novo") == 123456
    await value(clerk.store, "update products set name = 'Novo' where name = '=Novo' returning id")


@on_desktop
async def test_other_records_are_imported_too(clerk: Clerk) -> None:
    await begin(clerk)
    await clerk.go("/import/category", "Importar")
    await drop_file(
        clerk, [{"name": "Importada", "Posição": "7", "outra": "x"}, {"name": "", "Posição": "", "outra": ""}]
    )
    await clerk.see("1 linha cria um registro.")
    await clerk.see("que são ignoradas: outra")
    await clerk.press("Importar 1 linha")
    await clerk.see("Você pode sair desta página")
    await work()
    await clerk.see("Todas as linhas foram importadas.")
    assert await value(clerk.store, "select position from categories where name = 'Importada'") == 7


@on_desktop
async def test_promotions_are_exported_and_imported_again(clerk: Clerk) -> None:
    terms = {"name": "Exportada", "conditions": {"min_subtotal": "10.00"}, "bonuses": {"order_discount": "10%"}}
    scope = system_scope(clerk.store)
    with active_scope(scope):
        await PROMOTION_RECORDS.create(scope, terms)
    await begin(clerk, "view_content", "manage_content")
    await clerk.go("/promotion", "Promoções")
    await clerk.see("Exportada")
    await clerk.press("Exportar")
    await clerk.see("Você pode sair desta página")
    await work()
    await clerk.page.evaluate(_CATCH)
    await clerk.press("Baixar como CSV")
    saved = await clerk.page.wait_for("window.saved")
    row = next(each for each in csv.DictReader(io.StringIO(saved), delimiter=";") if each["name"] == "Exportada")
    assert {name: json.loads(row[name]) for name in ("conditions", "bonuses")} == {
        name: terms[name] for name in ("conditions", "bonuses")
    }
    await clerk.go("/import/promotion", "Importar")
    await drop_file(clerk, [{**row, "bonuses": '{"order_discount": "20%"}'}])
    await clerk.press("Importar 1 linha")
    await clerk.see("Você pode sair desta página")
    await work()
    await clerk.see("Todas as linhas foram importadas.")
    stored = await value(clerk.store, "select bonuses::text from promotions where name = 'Exportada'")
    assert json.loads(stored) == {"order_discount": "20%"}


@on_desktop
async def test_a_file_without_known_columns_and_a_user_without_the_privilege_are_refused(clerk: Clerk) -> None:
    await begin(clerk)
    await clerk.go("/import/product", "Importar")
    await drop_file(clerk, [{"foo": "1"}])
    await clerk.see("nenhuma coluna conhecida")
    assert "Importar 1" not in await clerk.page.evaluate(SHOWN)
    await clerk.go("/import/tax", "Não encontrado")
