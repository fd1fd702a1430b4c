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


# --- CS-Cart's addresses and answers -----------------------------------------------------------------------------------------


@pytest.fixture
async def english(sample: SampleStore) -> SampleStore:
    """Return a store with a second language and the dialect of CS-Cart."""
    await sample.add(Language, code="en", name="English")
    assert (await sample.put("/api/settings/legacy_dialect", {"value": "cscart"})).status == 200
    await add(sample, name="text_cart", value="Carrinho")
    return sample


async def values(sample: SampleStore, query: str) -> list[tuple[str, str, str]]:
    rows = (await sample.get(f"/api/{query}")).body["langvars"]
    return sorted((row["name"], row["lang_code"], row["value"]) for row in rows)


async def test_a_language_in_sl_leaves_the_default_one_unchanged(english):
    answer = await english.put("/api/langvars/text_cart?sl=en", {"value": "Cart"})
    assert (answer.status, answer.body["name"]) == (200, "text_cart")
    assert await values(english, "langvars?name=text_cart") == [
        ("text_cart", "en", "Cart"),
        ("text_cart", "pt", "Carrinho"),
    ]
    assert await values(english, "langvars?sl=en") == [("text_cart", "en", "Cart")]
    assert (await english.get("/api/langvars/text_cart/?sl=en")).body["value"] == "Cart"
    assert (await english.put("/api/langvars/text_cart?sl=en", {"value": "Basket"})).status == 200
    assert (await english.get("/api/langvars/text_cart")).body["value"] == "Carrinho"
    assert (await english.get("/api/langvars/text_cart?sl=en")).body["value"] == "Basket"


async def test_sl_names_the_language_of_a_new_record(english):
    answer = await english.post("/api/langvars?sl=en", {"name": "text_new", "value": "New"})
    assert (answer.status, answer.body["name"]) == (201, "text_new")
    assert (await english.get("/api/langvars/text_new?sl=en")).body["lang_code"] == "en"
    for path, body in (
        ("pages", {"page": "About"}),
        ("blocks", {"type": "banner", "name": "x"}),
        ("subscribers", {"email": "reader@example.com"}),
    ):
        number = next(iter((await english.post(f"/api/{path}?sl=en", body)).body.values()))
        assert (await english.get(f"/api/{path}/{number}")).body["lang_code"] == "en", path
        rows = (await english.get(f"/api/{path}?sl=en")).body
        assert [row["lang_code"] for row in (rows if path == "blocks" else rows[path])] == ["en"], path


async def test_a_variable_that_does_not_exist_is_created_by_put(english):
    assert (await english.put("/api/langvars/text_added", {"value": "Novo"})).body["name"] == "text_added"
    answer = (await english.get("/api/langvars/text_added")).body
    assert (answer["name"], answer["value"], answer["lang_code"]) == ("text_added", "Novo", "pt")
    assert (await english.put("/api/langvars/9000000000000", {"value": "?"})).status == 404
    answer = await english.put("/api/langvars/text_added?sl=xx", {"value": "?"})
    assert (answer.status, answer.body["message"]) == (400, "lang_code is 'xx', which is no language of the store")


async def test_variables_are_addressed_below_their_language(english):
    number = (await english.get("/api/languages/en")).body["lang_id"]
    for language, name in ((number, "text_a"), ("en", "text_b")):
        created = await english.post(f"/api/languages/{language}/langvars", {"name": name, "value": "1"})
        assert (created.status, created.body["name"]) == (201, name)
        changed = await english.put(f"/api/languages/{language}/langvars/{name}", {"value": "2"})
        assert (changed.status, changed.body["name"]) == (200, name)
        assert (await english.get(f"/api/languages/{language}/langvars/{name}")).body["value"] == "2"
    assert await values(english, f"languages/{number}/langvars") == [("text_a", "en", "2"), ("text_b", "en", "2")]
    assert (await english.delete(f"/api/languages/{number}/langvars/text_a")).status == 204
    assert await values(english, "languages/EN/langvars") == [("text_b", "en", "2")]
    for path in ("languages/xx/langvars", "languages/xx/langvars/text_b"):
        answer = await english.get(f"/api/{path}")
        assert (answer.status, answer.body["message"]) == (404, "Language not found"), path
    assert (await english.get("/api/languages/en/langvars/text_a")).status == 404


async def test_a_name_without_language_is_deleted_in_all_of_them(english):
    await add(english, name="text_cart", value="Cart", lang_code="en")
    assert (await english.delete("/api/langvars/text_cart")).status == 204
    assert await values(english, "langvars?name=text_cart") == []
    assert (await english.delete("/api/langvars/text_cart")).status == 404


async def test_only_the_named_language_of_a_variable_is_deleted(english):
    await add(english, name="text_cart", value="Cart", lang_code="en")
    assert (await english.delete("/api/langvars/text_cart?sl=en")).status == 204
    assert await values(english, "langvars?name=text_cart") == [("text_cart", "pt", "Carrinho")]


# --- Languages ---------------------------------------------------------------------------------------------------------------


async def test_a_language_is_added_with_the_variables_of_another(english):
    body = {"lang_code": "ts", "name": "Test", "status": "A", "country_code": "US", "from_lang_code": "pt"}
    created = await english.post("/api/languages", body)
    assert created.status == 201
    number = created.body["lang_id"]
    assert (await english.get(f"/api/languages/{number}")).body == {
        "lang_id": str(number),
        "lang_code": "ts",
        "name": "Test",
        "status": "A",
        "country_code": "US",
        "direction": "ltr",
    }
    assert ("text_cart", "ts", "Carrinho") in await values(english, f"languages/{number}/langvars")
    for address in ("languages?sl=pt", "languages"):  # without a language: the store's first
        code = "fr" if "sl" in address else "it"
        assert (await english.post(f"/api/{address}", {"lang_code": code, "name": code})).status == 201
        assert ("text_cart", code, "Carrinho") in await values(english, f"languages/{code}/langvars"), address
    answer = await english.post("/api/languages", {**body, "lang_code": "de", "from_lang_code": "xx"})
    assert answer.body["message"] == "from_lang_code is 'xx', which is no language of the store"


async def test_a_language_is_changed_and_deleted(english):
    changed = await english.put("/api/languages/en", {"name": "British", "status": "H", "country_code": "gb"})
    assert (changed.status, set(changed.body)) == (200, {"lang_id"})
    record = (await english.get("/api/languages/en")).body
    assert (record["name"], record["status"], record["country_code"]) == ("British", "D", "GB")
    assert (await english.put("/api/languages/pt", {"status": "D"})).status == 422
    assert (await english.delete(f"/api/languages/{record['lang_id']}")).status == 204
    assert (await english.delete("/api/languages/en")).status == 404
    assert (await english.delete("/api/languages/pt")).status == 422


@pytest.mark.parametrize(
    "body, message",
    [
        ({"name": "x"}, "lang_code is required"),
        ({"lang_code": "ts"}, "name is required"),
        ({"lang_code": "pt", "name": "x"}, "lang_code is 'pt', which is taken"),
        ({"lang_code": "?", "name": "x"}, "lang_code is '?'; expected a code such as pt"),
        ({"lang_code": "ts", "name": "x", "status": "Z"}, "status is 'Z'; expected one of A, D"),
        ({"lang_code": "ts", "name": "x", "direction": "up"}, "direction is 'up'; expected one of ltr, rtl"),
    ],
)
async def test_a_wrong_language_is_refused(english, body, message):
    answer = await english.post("/api/languages", body)
    assert (answer.status, answer.body["message"]) == (400, message)


async def test_variables_below_a_language_need_the_privileges_of_content(english):
    reader, manager, other = [await english.add_user(name) for name in ("view_content", "manage_content", "view_apps")]
    for method, verb, refused in (("GET", "view", other), ("PUT", "manage", reader), ("DELETE", "manage", reader)):
        address = "/api/languages/pt/langvars/text_cart"
        answer = await english.request(method, address, {}, by=refused)
        assert (answer.status, answer.body["message"]) == (403, f"Forbidden: privilege {verb}_content required"), method
        assert (await english.request(method, address, {}, by=manager)).status in (200, 204), method
