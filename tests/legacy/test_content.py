"""Check pages, blocks and languages over every route."""

from typing import Any

import pytest

from tests.shop import NO_NUMBER, NOBODY, Shop


async def create(shop: Shop, path: str, **body: Any) -> str:
    given = {"pages": {"page": "Trocas"}, "blocks": {"type": "html", "name": "Rodapé"}}[path] | body
    answer = await shop.post(f"/api/{path}", given)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {f"{path[:-1]}_id"}
    return next(iter(answer.body.values()))


async def shown(shop: Shop, path: str, number: Any) -> dict[str, Any]:
    answer = await shop.get(f"/api/{path}/{number}")
    assert answer.status == 200, answer.raw
    return answer.body


# --- Pages -------------------------------------------------------------------------------------------------------------------


async def test_a_page_is_created_with_defaults(shop):
    number = await create(shop, "pages")
    page = await shown(shop, "pages", number)
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
    "name, given, read_back",
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
async def test_a_field_of_a_page_is_read_back_after_creation_and_after_a_change(shop, name, given, read_back):
    number = await create(shop, "pages", **{name: given})
    assert (await shown(shop, "pages", number))[name] == read_back
    before = await shown(shop, "pages", shop.page)
    answer = await shop.put(f"/api/pages/{shop.page}", {name: given})
    assert (answer.status, answer.body) == (200, {"page_id": str(shop.page)})
    assert await shown(shop, "pages", shop.page) == before | {name: read_back}


async def test_a_page_stands_below_another_and_may_be_a_vendors(shop):
    for reference in (shop.about.number, str(shop.about), shop.about.id):
        number = await create(shop, "pages", parent_id=reference, company_id=shop.rival.number)
        page = await shown(shop, "pages", number)
        assert (page["parent_id"], page["company_id"]) == (str(shop.about), str(shop.rival))
    for root in (0, "0", None):
        await shop.put(f"/api/pages/{number}", {"parent_id": root, "company_id": root})
        page = await shown(shop, "pages", number)
        assert (page["parent_id"], page["company_id"]) == ("0", "0")


async def test_a_page_below_itself_is_a_mistake(shop):
    below = await create(shop, "pages", parent_id=shop.page.number)
    for parent in (str(shop.about), str(shop.page), below):
        answer = await shop.put(f"/api/pages/{shop.about}", {"parent_id": parent})
        assert (answer.status, answer.body["message"]) == (400, "a page can't stand below itself")


async def test_what_stands_below_a_deleted_page_moves_up(shop):
    below = await create(shop, "pages", parent_id=shop.page.number)
    answer = await shop.delete(f"/api/pages/{shop.page}")
    assert (answer.status, answer.raw) == (204, b"")
    assert (await shown(shop, "pages", below))["parent_id"] == str(shop.about)
    for method in ("GET", "PUT", "DELETE"):
        gone = await shop.call(method, f"/api/pages/{shop.page}", {} if method == "PUT" else None)
        assert (gone.status, gone.body) == (404, {"status": 404, "message": "Page not found"})


async def test_a_record_put_back_as_it_was_read_changes_nothing(shop):
    for path, record in (("pages", shop.page), ("blocks", shop.block)):
        before = await shown(shop, path, record)
        assert (await shop.put(f"/api/{path}/{record}", before)).status == 200
        assert await shown(shop, path, record) == before


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
async def test_what_is_wrong_with_a_page_is_told_with_the_legacy_name(shop, body, message):
    answer = await shop.post("/api/pages", {"page": "x"} | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_a_php_form_makes_a_page_too(shop):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = f"page=D%C3%BAvidas&page_type=B&parent_id={shop.about}&status=D"
    answer = await shop.post("/api/pages", data=form.encode(), headers=headers)
    page = await shown(shop, "pages", answer.body["page_id"])
    assert (page["page"], page["page_type"], page["status"]) == ("Dúvidas", "B", "D")


async def test_pages_are_searched_and_their_title_is_no_filter(shop):
    assert list((await shop.get("/api/pages?q=contato")).body["pages"]) == [str(shop.page)]
    assert list((await shop.get(f"/api/pages?parent_id={shop.about}")).body["pages"]) == [str(shop.page)]
    second = (await shop.get("/api/pages?page=2&items_per_page=1")).body
    assert [row["page_id"] for row in second["pages"]] == [str(shop.page)]


async def test_shoppers_see_what_is_active(shop):
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
    assert await shown(shop, "blocks", number) == {
        "block_id": number,
        "type": "html",
        "name": "Rodapé",
        "properties": {},
        "content": {},
        "status": "A",
        "lang_code": "pt",
    }


@pytest.mark.parametrize(
    "name, given, read_back",
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
async def test_a_field_of_a_block_is_read_back_after_creation_and_after_a_change(
    shop, name, given, read_back
):
    number = await create(shop, "blocks", **{name: given})
    assert (await shown(shop, "blocks", number))[name] == read_back
    before = await shown(shop, "blocks", shop.block)
    answer = await shop.put(f"/api/blocks/{shop.block}", {name: given})
    assert (answer.status, answer.body) == (200, {"block_id": str(shop.block)})
    assert await shown(shop, "blocks", shop.block) == before | {name: read_back}


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
async def test_what_is_wrong_with_a_block_is_told(shop, body, message):
    answer = await shop.post("/api/blocks", {"type": "html", "name": "x"} | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_a_block_is_deleted(shop):
    assert (await shop.delete(f"/api/blocks/{shop.block}")).status == 204
    gone = await shop.get(f"/api/blocks/{shop.block}")
    assert (gone.status, gone.body) == (404, {"status": 404, "message": "Block not found"})


async def test_a_php_form_makes_a_block_too(shop):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = b"type=menu&name=Menu&content[items][0]=Casa&content[items][1]=Cozinha"
    answer = await shop.post("/api/blocks", data=form, headers=headers)
    assert (await shown(shop, "blocks", answer.body["block_id"]))["content"]["items"] in (
        ["Casa", "Cozinha"],
        {"0": "Casa", "1": "Cozinha"},
    )


# --- Languages ---------------------------------------------------------------------------------------------------------------


async def test_every_store_has_a_language(shop):
    language = await shown(shop, "languages", "pt")
    assert language.pop("lang_id").isdigit()
    assert language == {
        "lang_code": "pt",
        "name": "Português",
        "country_code": "BR",
        "direction": "ltr",
        "status": "A",
    }


async def test_a_language_is_named_by_code_number_and_uuid(shop):
    number = (await shown(shop, "languages", "pt"))["lang_id"]
    for name in ("pt", "PT", number):
        assert (await shown(shop, "languages", name))["lang_id"] == number
    assert (await shown(shop, "languages", shop.tongue.id))["lang_code"] == str(shop.tongue)


async def graphql(shop: Shop, document: str, **variables: Any) -> Any:
    return (await shop.post("/graphql", {"query": document, "variables": variables}, auth="bearer")).body


ADD = """mutation ($input: LanguageInput!) { language_create(input: $input) { id code status } }"""
END = """mutation ($id: ID!) { language_delete(id: $id) { id } }"""
SET = """mutation ($id: ID!, $input: LanguageInput!) { language_update(id: $id, input: $input) { code status } }"""


async def test_the_only_language_stays(shop):
    (portuguese,) = (await graphql(shop, '{ languages(status: "A") { id } }'))["data"]["languages"]
    for document, variables, what in (
        (END, {}, "deleted"),
        (SET, {"input": {"status": "D"}}, "switched off"),
    ):
        (error,) = (await graphql(shop, document, id=portuguese["id"], **variables))["errors"]
        assert (error["extensions"]["code"], error["message"]) == (
            "RULE_VIOLATION",
            f"the only language can't be {what}",
        )
    added = await graphql(shop, ADD, input={"code": "EN", "name": "English", "country_code": "us"})
    assert added["data"]["language_create"]["code"] == "en"
    assert await create(shop, "pages", lang_code="en")
    assert "errors" not in await graphql(shop, END, id=portuguese["id"])
    assert list((await shop.get("/api/languages?status=A")).body["languages"]) == ["en"]
    assert (await shown(shop, "pages", await create(shop, "pages")))["lang_code"] == "en"


async def test_a_code_is_given_once(shop):
    (error,) = (await graphql(shop, ADD, input={"code": "pt", "name": "x"}))["errors"]
    assert error["message"] == "code is 'pt', which is taken"
    for wrong in (
        {"code": "português", "name": "x"},
        {"code": "en"},
        {"code": "en", "name": "x", "direction": "up"},
    ):
        (error,) = (await graphql(shop, ADD, input=wrong))["errors"]
        assert error["extensions"]["code"] == "VALIDATION_FAILED"


async def test_languages_are_not_written_in_the_legacy_layer(shop):
    for method, path in (("POST", "languages"), ("PUT", "languages/pt"), ("DELETE", "languages/pt")):
        assert (await shop.call(method, f"/api/{path}", {})).status == 405
