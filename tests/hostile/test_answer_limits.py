"""An answer over the limit of objects or bytes is refused, whichever way the document is executed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.tables.catalog import Category
from tests.harness.http import HttpClient
from tests.harness.records import Record
from tests.harness.sample_store import SampleStore
from tests.hostile.conftest import MAX_BYTES, MAX_OBJECTS, Query, assert_refused

TOO_MANY_OBJECTS = f"the answer has more than {MAX_OBJECTS} objects"
TOO_MANY_BYTES = f"the answer has more than {MAX_BYTES} bytes"
ONE = "query ($id: ID!) { product(id: $id) { name images { url } } }"
LISTS = {
    "one record": ONE,
    "a short list": "query ($id: ID!) { products(limit: 5, filter: {id: [$id]}) { name images { url } } }",
    "a long list": "query ($id: ID!) { products(limit: 100, filter: {id: [$id]}) { name images { url } } }",
    "a page": "query ($id: ID!) { product_page(per_page: 100, filter: {id: [$id]}) { items { images { url } } } }",
    "a connection": "query ($id: ID!) { product_connection(first: 50, filter: {id: [$id]}) { edges { node { images { url } } } } }",
    "below a shared record": "query ($id: ID!) { products(filter: {id: [$id]}) { images { url } vendor { name } } }",
}


async def add_images(sample: SampleStore, product: Record, count: int, url: str = "https://x.example/") -> None:
    await sample.execute(
        "INSERT INTO product_images (tenant_id, public_id, product_id, url, position)"
        " SELECT $1, gen_random_uuid(), $2, $3 || n, n FROM generate_series(1, $4::int) n",
        sample.store.id,
        product.number,
        url,
        count,
    )


@pytest.mark.parametrize("name", LISTS)
async def test_a_relation_with_too_many_records_is_refused(
    name: str, sample: SampleStore, limited_query: Query, execution: None
):
    product = await sample.add_product()
    await add_images(sample, product, MAX_OBJECTS - 5)
    accepted = await limited_query(LISTS[name], id=product.id)
    assert "errors" not in accepted.body
    await add_images(sample, product, 10)
    assert_refused(await limited_query(LISTS[name], id=product.id), TOO_MANY_OBJECTS)


async def test_only_related_records_are_counted_in_the_texts_of_a_record(
    sample: SampleStore, limited_query: Query, execution: None
):
    """Lists of texts are no JSON, and a text that looks like the JSON of related records is none either."""
    product = await sample.add_product(description='{"url" : ' * MAX_OBJECTS)
    await add_images(sample, product, 1)
    await limited_query(
        'mutation ($id: ID!) { product_update(id: $id, input: {tags: ["verão"]}) { id } }', id=product.id
    )
    for fields in ("tags description images { url }", "tags description categories { name }"):
        document = (
            f"query ($id: ID!) {{ product(id: $id) {{ {fields} }} products(filter: {{id: [$id]}}) {{ {fields} }} }}"
        )
        answer = (await limited_query(document, id=product.id)).body
        assert answer["data"]["product"]["tags"] == answer["data"]["products"][0]["tags"] == ["verão"], fields


@pytest.mark.parametrize("name", LISTS)
async def test_a_relation_with_too_many_bytes_is_refused(
    name: str, sample: SampleStore, limited_query: Query, execution: None
):
    product = await sample.add_product()
    await add_images(sample, product, 10, url="https://x.example/" + "x" * (MAX_BYTES // 20))
    accepted = await limited_query(LISTS[name], id=product.id)
    assert "errors" not in accepted.body
    await sample.execute(
        "UPDATE product_images SET url = url || repeat('x', $2) WHERE product_id = $1",
        product.number,
        MAX_BYTES // 10,
    )
    assert_refused(await limited_query(LISTS[name], id=product.id), TOO_MANY_BYTES)


async def test_a_record_that_many_others_refer_to_counts_each_time(
    sample: SampleStore, limited_query: Query, execution: None
):
    category = await sample.add(Category, name="Longa", id_path="1", description="x" * (MAX_BYTES // 4))
    for _ in range(8):
        await sample.add_product(name="Igual", category_id=category.number)
    # Too many fields for a join: the category is read once.
    fields = "name position status description created_at id product_count"
    document = f'{{ products(limit: 30, filter: {{name: "Igual"}}) {{ category {{ {fields} }} }} }}'
    assert_refused(await limited_query(document), TOO_MANY_BYTES)


async def test_many_aliases_of_a_long_text_are_refused(sample: SampleStore, limited_query: Query, execution: None):
    product = await sample.add_product(description="x" * (MAX_BYTES // 50))
    aliases = " ".join(f"d{n}: description" for n in range(60))
    document = f"query ($id: ID!) {{ product(id: $id) {{ {aliases} }} }}"
    assert_refused(await limited_query(document, id=product.id), TOO_MANY_BYTES)


async def test_a_cached_plan_has_the_limits(sample: SampleStore, limited_query: Query):
    product = await sample.add_product()
    accepted = await limited_query(ONE, id=product.id)
    assert "errors" not in accepted.body
    await add_images(sample, product, MAX_OBJECTS)
    assert_refused(await limited_query(ONE, id=product.id), TOO_MANY_OBJECTS)


async def test_fifty_thousand_objects_are_the_default_limit(sample: SampleStore, query: Query, execution: None):
    product = await sample.add_product()
    await add_images(sample, product, 50_001)
    assert_refused(await query(ONE, id=product.id), "the answer has more than 50000 objects")


async def test_sixteen_mebibytes_are_the_default_limit(sample: SampleStore, query: Query, execution: None):
    for _ in range(17):
        await sample.add_product(name="Longa", description="x" * 1_000_000)
    document = '{ products(limit: 30, filter: {name: "Longa"}) { description } }'
    assert_refused(await query(document), "the answer has more than 16777216 bytes")


async def test_operations_of_the_facades_have_no_such_limit(sample: SampleStore, limited_http: HttpClient):
    limited = replace(sample, http=limited_http)
    product = await sample.add_product()
    await add_images(sample, product, 2 * MAX_OBJECTS)
    for path, auth in (
        (f"/api/v1/admin/products/{product.id}", "bearer"),
        (f"/api/products/{product.number}", "basic"),
    ):
        response = await limited.get(path, auth=auth)
        assert response.status == 200, (path, auth)
    assert len((await limited.get(f"/api/v1/admin/products/{product.id}", auth="bearer")).body["images"]) == (
        2 * MAX_OBJECTS
    )


async def test_a_mutation_whose_answer_is_too_large_has_no_data(sample: SampleStore, limited_query: Query):
    product = await sample.add_product()
    await add_images(sample, product, 2 * MAX_OBJECTS)
    document = 'mutation ($id: ID!) { product_update(id: $id, input: {name: "Novo"}) { images { url } } }'
    assert_refused(await limited_query(document, id=product.id), TOO_MANY_OBJECTS)
