"""Check the routes of language variables."""

import pytest

from models.tables.content import Language
from tests.harness.http import Client
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import open_storefront


async def add(sample: SampleStore, **body: str) -> str:
    answer = await sample.post("/api/langvars", body)
    assert answer.status == 201, answer.raw
    return answer.body["langvar_id"]


async def test_a_variable_is_created_in_the_first_language(sample):
    number = await add(sample, name="text_cart", value="Carrinho")
    expected = {"langvar_id": number, "name": "text_cart", "value": "Carrinho", "lang_code": "pt"}
    assert (await sample.get(f"/api/langvars/{number}")).body == expected
    assert (await sample.get("/api/langvars/text_cart")).body == expected


async def test_variables_of_one_name_differ_by_language(sample):
    await sample.add(Language, code="en", name="English")
    await add(sample, name="text_cart", value="Carrinho")
    english = await add(sample, name="text_cart", value="Cart", lang_code="EN")
    assert (await sample.get("/api/langvars/text_cart?lang_code=en")).body["langvar_id"] == english
    assert (await sample.get("/api/langvars/text_cart")).body["value"] == "Carrinho"
    changed = await sample.put("/api/langvars/text_cart", {"value": "Basket", "lang_code": "en"})
    assert changed.body == {"langvar_id": english}
    assert (await sample.delete("/api/langvars/text_cart")).status == 204
    answer = await sample.get("/api/langvars?name=text_cart")
    assert [row["value"] for row in answer.body["langvars"].values()] == ["Basket"]


async def test_a_name_is_unique_in_its_language(sample):
    await sample.add(Language, code="en", name="English")
    await add(sample, name="a", lang_code="en")
    other = await add(sample, name="a")
    message = "name is 'a', which another variable of that language has"
    answer = await sample.post("/api/langvars", {"name": "a"})
    assert (answer.status, answer.body["message"]) == (400, message)
    answer = await sample.put(f"/api/langvars/{other}", {"lang_code": "en"})
    message = "lang_code is 'en', in which another variable has the name"
    assert (answer.status, answer.body["message"]) == (400, message)


@pytest.mark.parametrize(
    "body, message",
    [
        ({}, "name is required"),
        ({"name": " "}, "name is required"),
        ({"name": "x" * 256}, "name has 256 characters; expected at most 255"),
        ({"name": "x", "value": []}, "value is []; expected a text"),
        ({"name": "x", "lang_code": "xx"}, "lang_code is 'xx', which is no language of the store"),
        ({"name": "x", "lang_code": "?"}, "lang_code is '?'; expected a code such as pt"),
    ],
)
async def test_a_wrong_variable_is_refused(shared_sample, body, message):
    answer = await shared_sample.post("/api/langvars", body)
    assert (answer.status, answer.body["message"]) == (400, message)


@pytest.mark.parametrize("path", ["text_missing", "9000000000000", "text_welcome?lang_code=en"])
@pytest.mark.parametrize("method", ["get", "put", "delete"])
async def test_an_unknown_variable_is_not_found(shared_sample, method, path):
    arguments = ({"value": "x"},) if method == "put" else ()
    answer = await getattr(shared_sample, method)(f"/api/langvars/{path}", *arguments)
    assert (answer.status, answer.body["message"]) == (404, "Language variable not found")


async def test_another_stores_variable_is_not_found(sample, other_sample):
    name = "text_other"
    await add(other_sample, name=name)
    assert (await sample.get(f"/api/langvars/{name}")).status == 404
    assert (await sample.get(f"/api/langvars/{other_sample.langvar.id}")).status == 404


async def test_storefronts_read_the_variables(sample):
    storefront = await open_storefront(sample)
    client = Client(sample.http, sample.store, {"X-API-Key": str(storefront.key)}, sample.ip)
    query = '{ language_variables(filter: {name: "text_welcome"}) { value lang_code } }'
    answer = await client.post("/graphql", {"query": query})
    assert answer.body["data"]["language_variables"] == [{"value": "Boas-vindas", "lang_code": "pt"}]
