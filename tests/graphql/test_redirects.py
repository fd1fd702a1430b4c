"""Redirects: a changed slug keeps its former address, and administrators add others; none leads to another one or back."""

from __future__ import annotations

from typing import Any

import pytest

from models.connection import database
from tests.graphql.conftest import ExecuteQuery, StoreRecords
from tests.harness.sample_store import SampleStore

KINDS = ("product", "category", "page", "vendor", "collection")
SLUGS = " ".join(f"{kind} {{ slug }}" for kind in KINDS)
TARGET = f"query($path: String!) {{ redirect(path: $path) {{ path target {SLUGS} }} }}"


async def send(sample: SampleStore, query: str, auth: Any = "bearer", **variables: Any) -> Any:
    return (await sample.post("/graphql", {"query": query, "variables": variables}, auth=auth)).body


async def target(sample: SampleStore, path: str, auth: Any = "bearer") -> str | None:
    shown = (await send(sample, TARGET, auth, path=path))["data"]["redirect"]
    return None if shown is None else str(shown["target"])


async def create(sample: SampleStore, **values: Any) -> Any:
    query = "mutation($input: RedirectCreateInput!) { redirect_create(input: $input) { id path target } }"
    return await send(sample, query, input=values)


async def rename(sample: SampleStore, entity: str, id_: object, slug: str) -> None:
    query = (
        f"mutation($id: ID!, $input: {entity.title()}Input!) {{ {entity}_update(id: $id, input: $input) {{ slug }} }}"
    )
    answer = await send(sample, query, id=str(id_), input={"slug": slug})
    assert answer["data"][f"{entity}_update"] == {"slug": slug}


async def slug_of(sample: SampleStore, table: str, number: int) -> str:
    return str(await sample.value(f"select slug from {table} where id = $1", number))


async def test_a_slug_changed_by_any_interface_keeps_the_former_address(sample: SampleStore) -> None:
    product = await sample.add_product()
    first = await slug_of(sample, "products", product.number)
    await rename(sample, "product", product.id, "segundo")
    answer = await sample.put(f"/api/v1/admin/products/{product.id}", {"slug": "terceiro"}, auth="bearer")
    assert answer.status == 200, answer.body
    answer = await sample.put(f"/api/products/{product.number}", {"seo_name": "moda/quarto.html"})
    assert answer.status == 200, answer.body
    for slug in (first, "segundo", "terceiro"):
        assert await target(sample, f"/produto/{slug}") == "/produto/moda/quarto.html", slug
    await rename(sample, "product", product.id, "segundo")
    assert await target(sample, "/produto/segundo") is None, "the address is the product's again"
    assert await target(sample, "/produto/moda/quarto.html") == "/produto/segundo"
    assert await sample.value("select count(*) from redirects where path = '/produto/segundo'") == 0


@pytest.mark.parametrize(
    "entity, table, segment, values",
    [
        ("category", "categories", "categoria", {}),
        ("page", "pages", "pagina", {}),
        ("vendor", "vendors", "vendedor", {"email": "a@example.com"}),
        ("collection", "collections", "colecao", {}),
    ],
)
async def test_categories_pages_vendors_and_collections_keep_their_former_addresses(
    entity: str, table: str, segment: str, values: dict[str, str], sample: SampleStore
) -> None:
    type_ = {"collection": "CollectionCreateInput"}.get(entity, f"{entity.title()}Input")
    query = f"mutation($input: {type_}!) {{ {entity}_create(input: $input) {{ id slug }} }}"
    made = (await send(sample, query, input={"name": "Antiga", "status": "A", **values}))["data"][f"{entity}_create"]
    await rename(sample, entity, made["id"], "nova")
    shown = (await send(sample, TARGET, path=f"/{segment}/antiga"))["data"]["redirect"]
    others = dict.fromkeys(KINDS)
    assert shown == {"path": f"/{segment}/antiga", "target": f"/{segment}/nova", **others, entity: {"slug": "nova"}}
    await sample.execute(f"update {table} set status = 'D' where slug = 'nova'")
    assert await target(sample, f"/{segment}/antiga") is None, "what shoppers can't open is not shown"


async def test_a_path_is_found_in_any_form(sample: SampleStore) -> None:
    product = await sample.add_product()
    assert "errors" not in await create(sample, path="/Loja/Café/?a=1", product_id=str(product.id))
    for path in ("/loja/café", "loja/caf%C3%A9/", "/LOJA//café?b=2#c", "/loja/café.html", "/loja/café.HTM/"):
        assert await target(sample, path) is not None, path
    for path in ("", "/", "/loja", "/loja/café.php", "/%00", "/" + "x" * 3000):
        assert await target(sample, path) is None, path


@pytest.mark.parametrize("caller", ["admin", "customer", "storefront"])
async def test_a_path_is_found_with_one_statement(
    caller: str, records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    with database.count_statements() as counted:
        answer = await execute_query(records.callers[caller], '{ redirect(path: "/Antiga/?a=1") { path target } }')
    assert answer.data["redirect"]["path"] == "/antiga"
    assert answer.data["redirect"]["target"].startswith("/produto/")
    assert counted.count == 1, counted.statements


async def test_the_exact_path_comes_before_the_one_without_extension(sample: SampleStore) -> None:
    await create(sample, path="/a", target="/busca")
    await create(sample, path="/a.html", target="https://example.com/x")
    assert await target(sample, "/a.html") == "https://example.com/x"
    assert await target(sample, "/a.htm") == "/busca"


async def test_redirects_lead_to_the_end_and_never_back(sample: SampleStore) -> None:
    product = await sample.add_product()
    slug = await slug_of(sample, "products", product.number)
    assert "errors" not in await create(sample, path="/c", target="/b?x=1")
    assert "errors" not in await create(sample, path="/d", target="/C")
    assert "errors" not in await create(sample, path="/b", target=f"/produto/{slug}")
    await rename(sample, "product", product.id, "novo")
    for path in ("/b", "/c", "/d"):
        assert await target(sample, path) == "/produto/novo", path
    assert "errors" not in await create(sample, path="/e", target="/f")
    refused = {
        "itself": {"path": "/g", "target": "/G/"},
        "a circle": {"path": "/f", "target": "/e"},
        "the address of a record": {"path": "/produto/novo", "target": "/busca"},
        "no target": {"path": "/h"},
        "two targets": {"path": "/h", "target": "/i", "product_id": str(product.id)},
        "a script": {"path": "/h", "target": "javascript:alert(1)"},
        "another host": {"path": "/h", "target": "//evil.example"},
        "a taken path": {"path": "/B", "target": "/busca"},
        "no path": {"path": "h", "target": "/busca"},
    }
    for name, values in refused.items():
        answer = await create(sample, **values)
        assert answer["errors"][0]["extensions"]["code"] == "VALIDATION_FAILED", (name, answer)


async def test_administrators_list_change_and_delete_them_and_others_see_what_they_may_open(
    sample: SampleStore, other_sample: SampleStore
) -> None:
    product = await sample.add_product()
    made = (await create(sample, path="/a", target="/busca"))["data"]["redirect_create"]
    await create(sample, path="/b", product_id=str(product.id))
    listed = '{ redirects(sort: PATH_ASC, filter: {path: ["/A/"]}) { path target } }'
    assert (await send(sample, listed))["data"]["redirects"] == [{"path": "/a", "target": "/busca"}]
    assert (await send(other_sample, listed))["data"]["redirects"] == []
    assert await target(other_sample, "/a") is None
    update = "mutation($id: ID!, $input: RedirectInput!) { redirect_update(id: $id, input: $input) { target } }"
    answer = await send(sample, update, id=made["id"], input={"product_id": str(product.id)})
    assert answer["data"]["redirect_update"]["target"].startswith("/produto/")
    delete = f'mutation {{ redirect_delete(id: "{made["id"]}") {{ id }} }}'
    unprivileged = await sample.add_user()
    client = await sample.client(unprivileged)
    denied = (await client.post("/graphql", {"query": delete})).body
    assert denied["errors"][0]["extensions"]["code"] == "FORBIDDEN"
    assert "errors" not in await send(sample, delete)
    assert await target(sample, "/a") is None
    await sample.execute("update products set deleted_at = now() where id = $1", product.number)
    assert await target(sample, "/b") is None
    assert (await send(sample, "{ redirects { path target } }"))["data"]["redirects"] == [
        {"path": "/b", "target": None}
    ]
