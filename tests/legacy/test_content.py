"""Check the page, block and language routes."""

from typing import Any

import pytest

from tests.shop import NO_NUMBER, NOBODY, Shop


async def create(shop: Shop, path: str, **body: Any) -> str:
    required = {"pages": {"page": "Trocas"}, "blocks": {"type": "html", "name": "Rodapé"}}[path]
    answer = await shop.post(f"/api/{path}", required | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {f"{path[:-1]}_id"}
    return next(iter(answer.body.values()))


async def read(shop: Shop, path: str, number: Any) -> dict[str, Any]:
    answer = await shop.get(f"/api/{path}/{number}")
    assert answer.status == 200, answer.raw
    return answer.body


# --- Pages -------------------------------------------------------------------------------------------------------------------


async def test_a_page_is_created_with_defaults(shop):
    number = await create(shop, "pages")
    page = await read(shop, "pages", number)
    assert page.pop("timestamp").isdigit()
    assert page == {
        "page_id": number,
        "parent_id": "0",
        "page": "Trocas",
        "page_type": "T",
        "link": "",
        "description": "",
        "meta_keywords": "",
        "meta_description": "",
        "page_title": "",
        "position": "0",
        "status": "A",
        "lang_code": "pt",
        "company_id": "0",
    }


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("page", "Envio", "Envio"),
        ("page_type", "L", "L"),
        ("page_type", "form", "F"),
        ("page_type", "b", "B"),
        ("link", "https://example.com/x", "https://example.com/x"),
        ("description", "<p>Oi & tchau</p>", "<p>Oi & tchau</p>"),
        ("description", None, ""),
        ("meta_keywords", "troca, envio", "troca, envio"),
        ("meta_description", "Como trocar", "Como trocar"),
        ("page_title", "Trocas e envios", "Trocas e envios"),
        ("position", "5", "5"),
        ("status", "disabled", "D"),
        ("lang_code", "PT", "pt"),
    ],
)
async def test_a_field_of_a_page_is_read_back_after_create_and_update(shop, name, value, expected):
    number = await create(shop, "pages", **{name: value})
    assert (await read(shop, "pages", number))[name] == expected
    before = await read(shop, "pages", shop.page)
    answer = await shop.put(f"/api/pages/{shop.page}", {name: value})
    assert (answer.status, answer.body) == (200, {"page_id": str(shop.page)})
    assert await read(shop, "pages", shop.page) == before | {name: expected}


async def test_a_page_has_a_parent_and_may_belong_to_a_vendor(shop):
    for reference in (shop.about.number, str(shop.about), shop.about.id):
        number = await create(shop, "pages", parent_id=reference, company_id=shop.rival.number)
        page = await read(shop, "pages", number)
        assert (page["parent_id"], page["company_id"]) == (str(shop.about), str(shop.rival))
    for root in (0, "0", None):
        await shop.put(f"/api/pages/{number}", {"parent_id": root, "company_id": root})
        page = await read(shop, "pages", number)
        assert (page["parent_id"], page["company_id"]) == ("0", "0")


async def test_a_page_cannot_be_its_own_ancestor(shop):
    child = await create(shop, "pages", parent_id=shop.page.number)
    for parent in (str(shop.about), str(shop.page), child):
        answer = await shop.put(f"/api/pages/{shop.about}", {"parent_id": parent})
        assert (answer.status, answer.body["message"]) == (400, "a page can't stand below itself")


async def test_children_of_a_deleted_page_move_to_its_parent(shop):
    child = await create(shop, "pages", parent_id=shop.page.number)
    answer = await shop.delete(f"/api/pages/{shop.page}")
    assert (answer.status, answer.raw) == (204, b"")
    assert (await read(shop, "pages", child))["parent_id"] == str(shop.about)
    for method in ("GET", "PUT", "DELETE"):
        missing = await shop.call(method, f"/api/pages/{shop.page}", {} if method == "PUT" else None)
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Page not found"})


async def test_updating_a_record_with_itself_changes_nothing(shop):
    for path, record in (("pages", shop.page), ("blocks", shop.block)):
        before = await read(shop, path, record)
        assert (await shop.put(f"/api/{path}/{record}", before)).status == 200
        assert await read(shop, path, record) == before


@pytest.mark.parametrize(
    "body, message",
    [
        ({"page": ""}, "page is required"),
        ({"page": None}, "page is required"),
        ({"page": []}, "page is []; expected a text"),
        ({"page_type": "Z"}, "page_type is 'Z'; expected one of T, L, F, B"),
        ({"status": "H"}, "status is 'H'; expected one of A, D"),
        ({"position": "first"}, "position is 'first'; expected a whole number"),
        ({"parent_id": NO_NUMBER}, f"page '{NO_NUMBER}' not found"),
        ({"parent_id": "abc"}, "parent_id is 'abc'; expected an id"),
        ({"company_id": NOBODY}, f"company_id '{NOBODY}' not found"),
        ({"lang_code": "xx"}, "lang_code is 'xx', which is no language of the store"),
        ({"lang_code": "???"}, "lang_code is '???'; expected a code such as pt"),
    ],
)
async def test_invalid_page_input_is_rejected_with_the_legacy_field_name(shop, body, message):
    answer = await shop.post("/api/pages", {"page": "x"} | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_a_form_encoded_body_creates_a_page(shop):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = f"page=D%C3%BAvidas&page_type=B&parent_id={shop.about}&status=D"
    answer = await shop.post("/api/pages", data=form.encode(), headers=headers)
    page = await read(shop, "pages", answer.body["page_id"])
    assert (page["page"], page["page_type"], page["status"]) == ("Dúvidas", "B", "D")


async def test_pages_are_searched_and_page_is_the_page_number(shop):
    assert list((await shop.get("/api/pages?q=contato")).body["pages"]) == [str(shop.page)]
    assert list((await shop.get(f"/api/pages?parent_id={shop.about}")).body["pages"]) == [str(shop.page)]
    second = (await shop.get("/api/pages?page=2&items_per_page=1")).body
    assert [row["page_id"] for row in second["pages"]] == [str(shop.page)]


async def test_customers_see_active_content_only(shop):
    query = {
        "query": '{ pages { name } page_page(filter: {status: "D"}) { total } blocks { name } languages { code } }'
    }
    await shop.put(f"/api/blocks/{shop.block}", {"status": "D"})
    data = (await shop.post("/graphql", query, by=shop.caio, auth="bearer")).body["data"]
    assert [page["name"] for page in data["pages"]] == ["Quem somos", "Contato"]
    assert data["page_page"]["total"] == 0
    assert data["blocks"] == []
    assert data["languages"] == [{"code": "pt"}]
    change = {"query": 'mutation { page_create(input: {name: "x"}) { id } }'}
    (error,) = (await shop.post("/graphql", change, by=shop.caio, auth="bearer")).body["errors"]
    assert error["extensions"]["code"] == "FORBIDDEN"


# --- Blocks ------------------------------------------------------------------------------------------------------------------


async def test_a_block_is_created_with_defaults(shop):
    number = await create(shop, "blocks")
    assert await read(shop, "blocks", number) == {
        "block_id": number,
        "type": "html",
        "name": "Rodapé",
        "properties": {},
        "content": {},
        "status": "A",
        "lang_code": "pt",
    }


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("type", "menu", "menu"),
        ("name", "Menu", "Menu"),
        ("properties", {"width": 3, "deep": {"er": ["x"]}}, {"width": 3, "deep": {"er": ["x"]}}),
        ("properties", [], {}),
        ("content", {"html": "<b>ç</b>"}, {"html": "<b>ç</b>"}),
        ("content", {}, {}),
        ("status", "D", "D"),
        ("status", "active", "A"),
        ("lang_code", "pt", "pt"),
    ],
)
async def test_a_field_of_a_block_is_read_back_after_create_and_update(shop, name, value, expected):
    number = await create(shop, "blocks", **{name: value})
    assert (await read(shop, "blocks", number))[name] == expected
    before = await read(shop, "blocks", shop.block)
    answer = await shop.put(f"/api/blocks/{shop.block}", {name: value})
    assert (answer.status, answer.body) == (200, {"block_id": str(shop.block)})
    assert await read(shop, "blocks", shop.block) == before | {name: expected}


@pytest.mark.parametrize(
    "body, message",
    [
        ({"type": ""}, "type is required"),
        ({"name": None}, "name is required"),
        ({"type": "x" * 65}, "type has 65 characters; expected at most 64"),
        ({"properties": "x"}, "properties is 'x'; expected an object"),
        ({"content": [1]}, "content is [1]; expected an object"),
        ({"status": "P"}, "status is 'P'; expected one of A, D"),
    ],
)
async def test_invalid_block_input_is_rejected(shop, body, message):
    answer = await shop.post("/api/blocks", {"type": "html", "name": "x"} | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_a_block_is_deleted(shop):
    assert (await shop.delete(f"/api/blocks/{shop.block}")).status == 204
    missing = await shop.get(f"/api/blocks/{shop.block}")
    assert (missing.status, missing.body) == (404, {"status": 404, "message": "Block not found"})


async def test_a_form_encoded_body_creates_a_block(shop):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = b"type=menu&name=Menu&content[items][0]=Casa&content[items][1]=Cozinha"
    answer = await shop.post("/api/blocks", data=form, headers=headers)
    assert (await read(shop, "blocks", answer.body["block_id"]))["content"]["items"] in (
        ["Casa", "Cozinha"],
        {"0": "Casa", "1": "Cozinha"},
    )


# --- Languages ---------------------------------------------------------------------------------------------------------------


async def test_every_store_has_a_language(shop):
    language = await read(shop, "languages", "pt")
    assert language.pop("lang_id").isdigit()
    assert language == {
        "lang_code": "pt",
        "name": "Português",
        "country_code": "BR",
        "direction": "ltr",
        "status": "A",
    }


async def test_a_language_is_addressed_by_code_number_or_uuid(shop):
    number = (await read(shop, "languages", "pt"))["lang_id"]
    for identifier in ("pt", "PT", number):
        assert (await read(shop, "languages", identifier))["lang_id"] == number
    assert (await read(shop, "languages", shop.language.id))["lang_code"] == str(shop.language)


async def graphql(shop: Shop, document: str, **variables: Any) -> Any:
    return (await shop.post("/graphql", {"query": document, "variables": variables}, auth="bearer")).body


CREATE_LANGUAGE = (
    """mutation ($input: LanguageInput!) { language_create(input: $input) { id code status } }"""
)
DELETE_LANGUAGE = """mutation ($id: ID!) { language_delete(id: $id) { id } }"""
UPDATE_LANGUAGE = """mutation ($id: ID!, $input: LanguageInput!) { language_update(id: $id, input: $input) { code status } }"""


async def test_the_only_language_cannot_be_deleted_or_disabled(shop):
    (portuguese,) = (await graphql(shop, '{ languages(status: "A") { id } }'))["data"]["languages"]
    for document, variables, verb in (
        (DELETE_LANGUAGE, {}, "deleted"),
        (UPDATE_LANGUAGE, {"input": {"status": "D"}}, "switched off"),
    ):
        (error,) = (await graphql(shop, document, id=portuguese["id"], **variables))["errors"]
        assert (error["extensions"]["code"], error["message"]) == (
            "RULE_VIOLATION",
            f"the only language can't be {verb}",
        )
    added = await graphql(
        shop, CREATE_LANGUAGE, input={"code": "EN", "name": "English", "country_code": "us"}
    )
    assert added["data"]["language_create"]["code"] == "en"
    assert await create(shop, "pages", lang_code="en")
    assert "errors" not in await graphql(shop, DELETE_LANGUAGE, id=portuguese["id"])
    assert list((await shop.get("/api/languages?status=A")).body["languages"]) == ["en"]
    assert (await read(shop, "pages", await create(shop, "pages")))["lang_code"] == "en"


async def test_language_codes_are_unique(shop):
    (error,) = (await graphql(shop, CREATE_LANGUAGE, input={"code": "pt", "name": "x"}))["errors"]
    assert error["message"] == "code is 'pt', which is taken"
    for wrong in (
        {"code": "português", "name": "x"},
        {"code": "en"},
        {"code": "en", "name": "x", "direction": "up"},
    ):
        (error,) = (await graphql(shop, CREATE_LANGUAGE, input=wrong))["errors"]
        assert error["extensions"]["code"] == "VALIDATION_FAILED"


async def test_languages_are_read_only_in_the_legacy_api(shop):
    for method, path in (("POST", "languages"), ("PUT", "languages/pt"), ("DELETE", "languages/pt")):
        assert (await shop.call(method, f"/api/{path}", {})).status == 405
