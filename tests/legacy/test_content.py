"""Check the page, block and language routes."""

from typing import Any

import pytest

from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore


async def create(sample: SampleStore, path: str, **body: Any) -> str:
    required = {"pages": {"page": "Trocas"}, "blocks": {"type": "html", "name": "Rodapé"}}[path]
    answer = await sample.post(f"/api/{path}", required | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {f"{path[:-1]}_id"}
    return next(iter(answer.body.values()))


async def read(sample: SampleStore, path: str, number: Any) -> dict[str, Any]:
    answer = await sample.get(f"/api/{path}/{number}")
    assert answer.status == 200, answer.raw
    return answer.body


# --- Pages -------------------------------------------------------------------------------------------------------------------


async def test_a_page_is_created_with_defaults(sample):
    number = await create(sample, "pages")
    page = await read(sample, "pages", number)
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
        "seo_name": "trocas",
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
async def test_a_field_of_a_page_is_read_back_after_create_and_update(sample, name, value, expected):
    number = await create(sample, "pages", **{name: value})
    assert (await read(sample, "pages", number))[name] == expected
    before = await read(sample, "pages", sample.page)
    answer = await sample.put(f"/api/pages/{sample.page}", {name: value})
    assert (answer.status, answer.body) == (200, {"page_id": str(sample.page)})
    assert await read(sample, "pages", sample.page) == before | {name: expected}


async def test_a_page_has_a_parent_and_may_belong_to_a_vendor(sample):
    for reference in (sample.about.number, str(sample.about), sample.about.id):
        number = await create(sample, "pages", parent_id=reference, company_id=sample.rival.number)
        page = await read(sample, "pages", number)
        assert (page["parent_id"], page["company_id"]) == (str(sample.about), str(sample.rival)), reference
    for root in (0, "0", None):
        await sample.put(f"/api/pages/{number}", {"parent_id": root, "company_id": root})
        page = await read(sample, "pages", number)
        assert (page["parent_id"], page["company_id"]) == ("0", "0"), root


async def test_a_page_cannot_be_its_own_ancestor(sample):
    child = await create(sample, "pages", parent_id=sample.page.number)
    for parent in (str(sample.about), str(sample.page), child):
        answer = await sample.put(f"/api/pages/{sample.about}", {"parent_id": parent})
        assert (answer.status, answer.body["message"]) == (400, "a page can't stand below itself"), parent


async def test_children_of_a_deleted_page_move_to_its_parent(sample):
    child = await create(sample, "pages", parent_id=sample.page.number)
    answer = await sample.delete(f"/api/pages/{sample.page}")
    assert (answer.status, answer.raw) == (204, b"")
    assert (await read(sample, "pages", child))["parent_id"] == str(sample.about)
    for method in ("GET", "PUT", "DELETE"):
        missing = await sample.request(method, f"/api/pages/{sample.page}", {} if method == "PUT" else None)
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Page not found"}), method


async def test_updating_a_record_with_itself_changes_nothing(sample):
    for path, record in (("pages", sample.page), ("blocks", sample.block)):
        before = await read(sample, path, record)
        assert (await sample.put(f"/api/{path}/{record}", before)).status == 200
        assert await read(sample, path, record) == before


@pytest.mark.parametrize(
    "body, message",
    [
        ({"page": ""}, "page is required"),
        ({"page": None}, "page is required"),
        ({"page": []}, "page is []; expected a text"),
        ({"page_type": "Z"}, "page_type is 'Z'; expected one of T, L, F, B"),
        ({"status": "H"}, "status is 'H'; expected one of A, D"),
        ({"position": "first"}, "position is 'first'; expected a whole number"),
        ({"parent_id": UNKNOWN_NUMBER}, f"page '{UNKNOWN_NUMBER}' not found"),
        ({"parent_id": "abc"}, "parent_id is 'abc'; expected an id"),
        ({"company_id": UNKNOWN_ID}, f"company_id '{UNKNOWN_ID}' not found"),
        ({"lang_code": "xx"}, "lang_code is 'xx', which is no language of the store"),
        ({"lang_code": "???"}, "lang_code is '???'; expected a code such as pt"),
    ],
)
async def test_invalid_page_input_is_rejected_with_the_legacy_field_name(sample, body, message):
    answer = await sample.post("/api/pages", {"page": "x"} | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_a_form_encoded_body_creates_a_page(sample):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = f"page=D%C3%BAvidas&page_type=B&parent_id={sample.about}&status=D"
    answer = await sample.post("/api/pages", data=form.encode(), headers=headers)
    page = await read(sample, "pages", answer.body["page_id"])
    assert (page["page"], page["page_type"], page["status"]) == ("Dúvidas", "B", "D")


async def test_pages_are_searched_and_page_is_the_page_number(sample):
    assert list((await sample.get("/api/pages?q=contato")).body["pages"]) == [str(sample.page)]
    assert list((await sample.get(f"/api/pages?parent_id={sample.about}")).body["pages"]) == [str(sample.page)]
    second = (await sample.get("/api/pages?page=2&items_per_page=1")).body
    assert [row["page_id"] for row in second["pages"]] == [str(sample.page)]


async def test_customers_see_active_content_only(sample):
    query = {
        "query": '{ pages { name } page_page(filter: {status: "D"}) { total } blocks { name } languages { code } }'
    }
    await sample.put(f"/api/blocks/{sample.block}", {"status": "D"})
    data = (await sample.post("/graphql", query, by=sample.caio, auth="bearer")).body["data"]
    assert [page["name"] for page in data["pages"]] == ["Quem somos", "Contato"]
    assert data["page_page"]["total"] == 0
    assert data["blocks"] == []
    assert data["languages"] == [{"code": "pt"}]
    change = {"query": 'mutation { page_create(input: {name: "x"}) { id } }'}
    (error,) = (await sample.post("/graphql", change, by=sample.caio, auth="bearer")).body["errors"]
    assert error["extensions"]["code"] == "FORBIDDEN"


# --- Blocks ------------------------------------------------------------------------------------------------------------------


async def test_a_block_is_created_with_defaults(sample):
    number = await create(sample, "blocks")
    assert await read(sample, "blocks", number) == {
        "block_id": number,
        "company_id": "0",
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
async def test_a_field_of_a_block_is_read_back_after_create_and_update(sample, name, value, expected):
    number = await create(sample, "blocks", **{name: value})
    assert (await read(sample, "blocks", number))[name] == expected
    before = await read(sample, "blocks", sample.block)
    answer = await sample.put(f"/api/blocks/{sample.block}", {name: value})
    assert (answer.status, answer.body) == (200, {"block_id": str(sample.block)})
    assert await read(sample, "blocks", sample.block) == before | {name: expected}


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
async def test_invalid_block_input_is_rejected(sample, body, message):
    answer = await sample.post("/api/blocks", {"type": "html", "name": "x"} | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_a_block_is_deleted(sample):
    assert (await sample.delete(f"/api/blocks/{sample.block}")).status == 204
    missing = await sample.get(f"/api/blocks/{sample.block}")
    assert (missing.status, missing.body) == (404, {"status": 404, "message": "Block not found"})


async def test_a_form_encoded_body_creates_a_block(sample):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = b"type=menu&name=Menu&content[items][0]=Casa&content[items][1]=Cozinha"
    answer = await sample.post("/api/blocks", data=form, headers=headers)
    assert (await read(sample, "blocks", answer.body["block_id"]))["content"]["items"] in (
        ["Casa", "Cozinha"],
        {"0": "Casa", "1": "Cozinha"},
    )


# --- Languages ---------------------------------------------------------------------------------------------------------------


async def test_every_store_has_a_language(sample):
    language = await read(sample, "languages", "pt")
    assert language.pop("lang_id").isdigit()
    assert language == {
        "lang_code": "pt",
        "name": "Português",
        "country_code": "BR",
        "direction": "ltr",
        "status": "A",
    }


async def test_a_language_is_addressed_by_code_number_or_uuid(sample):
    number = (await read(sample, "languages", "pt"))["lang_id"]
    for identifier in ("pt", "PT", number):
        assert (await read(sample, "languages", identifier))["lang_id"] == number
    assert (await read(sample, "languages", sample.language.id))["lang_code"] == str(sample.language)


async def graphql(sample: SampleStore, document: str, **variables: Any) -> Any:
    return (await sample.post("/graphql", {"query": document, "variables": variables}, auth="bearer")).body


CREATE_LANGUAGE = """mutation ($input: LanguageInput!) { language_create(input: $input) { id code status } }"""
DELETE_LANGUAGE = """mutation ($id: ID!) { language_delete(id: $id) { id } }"""
UPDATE_LANGUAGE = (
    """mutation ($id: ID!, $input: LanguageInput!) { language_update(id: $id, input: $input) { code status } }"""
)


async def test_the_only_language_cannot_be_deleted_or_disabled(sample):
    (portuguese,) = (await graphql(sample, '{ languages(status: "A") { id } }'))["data"]["languages"]
    for document, variables, verb in (
        (DELETE_LANGUAGE, {}, "deleted"),
        (UPDATE_LANGUAGE, {"input": {"status": "D"}}, "switched off"),
    ):
        (error,) = (await graphql(sample, document, id=portuguese["id"], **variables))["errors"]
        assert (error["extensions"]["code"], error["message"]) == (
            "RULE_VIOLATION",
            f"the only language can't be {verb}",
        )
    added = await graphql(sample, CREATE_LANGUAGE, input={"code": "EN", "name": "English", "country_code": "us"})
    assert added["data"]["language_create"]["code"] == "en"
    assert await create(sample, "pages", lang_code="en")
    assert "errors" not in await graphql(sample, DELETE_LANGUAGE, id=portuguese["id"])
    assert list((await sample.get("/api/languages?status=A")).body["languages"]) == ["en"]
    assert (await read(sample, "pages", await create(sample, "pages")))["lang_code"] == "en"


async def test_language_codes_are_unique(sample):
    (error,) = (await graphql(sample, CREATE_LANGUAGE, input={"code": "pt", "name": "x"}))["errors"]
    assert error["message"] == "code is 'pt', which is taken"
    for wrong in (
        {"code": "português", "name": "x"},
        {"code": "en"},
        {"code": "en", "name": "x", "direction": "up"},
    ):
        (error,) = (await graphql(sample, CREATE_LANGUAGE, input=wrong))["errors"]
        assert error["extensions"]["code"] == "VALIDATION_FAILED", wrong


async def test_languages_are_read_only_in_the_legacy_api(sample):
    for method, path in (("POST", "languages"), ("PUT", "languages/pt"), ("DELETE", "languages/pt")):
        assert (await sample.request(method, f"/api/{path}", {})).status == 405
