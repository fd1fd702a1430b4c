"""Check the option routes."""

from typing import Any

import pytest

from tests.shop import NO_NUMBER, Shop


async def create(shop: Shop, **body: Any) -> str:
    answer = await shop.post("/api/options", {"option_name": "Cor"} | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"option_id"}
    return answer.body["option_id"]


async def read(shop: Shop, option_id: Any) -> dict[str, Any]:
    answer = await shop.get(f"/api/options/{option_id}")
    assert answer.status == 200, answer.raw
    return answer.body


def names(option: dict[str, Any]) -> list[str]:
    return [variant["variant_name"] for variant in option["variants"].values()]


async def test_an_option_is_created_with_defaults(shop):
    number = await create(shop)
    assert await read(shop, number) == {
        "option_id": number,
        "product_id": "0",
        "company_id": "0",
        "option_name": "Cor",
        "option_type": "S",
        "required": "N",
        "inventory": "Y",
        "status": "A",
        "position": "0",
        "description": "",
        "variants": {},
    }


async def test_an_option_of_a_product_belongs_to_its_vendor(shop):
    number = await create(shop, product_id=shop.mug.number)
    option = await read(shop, number)
    assert (option["product_id"], option["company_id"]) == (str(shop.mug), str(shop.vendor))


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("option_name", "Tom", "Tom"),
        *[("option_type", code, code) for code in "SRC"],
        ("option_type", "radio", "R"),
        ("required", "Y", "Y"),
        ("inventory", "N", "N"),
        ("status", "disabled", "D"),
        ("position", "4", "4"),
        ("description", "<b>x</b>", "<b>x</b>"),
    ],
)
async def test_a_field_is_read_back_after_create_and_update(shop, name, value, expected):
    assert (await read(shop, await create(shop, **{name: value})))[name] == expected
    number = await create(shop, option_name="Outra")
    before = await read(shop, number)
    answer = await shop.put(f"/api/options/{number}", {name: value})
    assert (answer.status, answer.body) == (200, {"option_id": number})
    assert await read(shop, number) == before | {name: expected}


@pytest.mark.parametrize("code", "ITF")
async def test_text_options_have_no_inventory_and_no_variants(shop, code):
    number = await create(shop, option_type=code, variants=[{"variant_name": "x"}])
    option = await read(shop, number)
    assert (option["option_type"], option["inventory"], option["variants"]) == (code, "N", {})
    for body in ({"inventory": "Y"}, {"inventory": "Y", "option_type": code}):
        answer = await shop.put(f"/api/options/{number}", body)
        assert answer.status == 400, answer.raw


VARIANTS = [
    {"variant_name": "Azul", "modifier": "-2.50", "modifier_type": "A"},
    {"variant_name": "Verde", "modifier": 12.5, "modifier_type": "P", "position": 5},
    {"variant_name": "Cru"},
]


@pytest.mark.parametrize("form", ["array", "map"])
async def test_variants_are_accepted_as_array_or_map(shop, form):
    variants: Any = (
        VARIANTS if form == "array" else {str(1 + index): variant for index, variant in enumerate(VARIANTS)}
    )
    option = await read(shop, await create(shop, variants=variants))
    rows = list(option["variants"].values())
    assert [
        (row["variant_name"], row["modifier"], row["modifier_type"], row["position"]) for row in rows
    ] == [
        ("Azul", "-2.50", "A", "0"),
        ("Cru", "0.00", "A", "2"),
        ("Verde", "12.50", "P", "5"),
    ]
    assert list(option["variants"]) == [row["variant_id"] for row in rows]
    assert rows[0]["image_pair"] == {}


async def test_a_form_encoded_body_may_contain_variants(shop):
    answer = await shop.post(
        "/api/options",
        data="option_name=Cor&variants[0][variant_name]=Azul&variants[1][variant_name]=Verde",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert names(await read(shop, answer.body["option_id"])) == ["Azul", "Verde"]


async def test_an_update_keeps_the_listed_variants_and_deletes_the_others(shop):
    number = await create(shop, variants=VARIANTS)
    blue, raw, green = (await read(shop, number))["variants"]
    answer = await shop.put(
        f"/api/options/{number}",
        {
            "option_type": "R",
            "variants": {
                blue: {"variant_name": "Anil", "modifier_type": "P"},
                green: {"variant_name": "Verde", "modifier": "3"},
                "0": {"variant_name": "Roxo"},
            },
        },
    )
    assert (answer.status, answer.body) == (200, {"option_id": number})
    after = await read(shop, number)
    assert after["option_type"] == "R"
    assert raw not in after["variants"]
    assert after["variants"][blue] == {
        "variant_id": blue,
        "variant_name": "Anil",
        "modifier": "-2.50",
        "modifier_type": "P",
        "position": "0",
        "image_pair": {},
    }
    assert after["variants"][green]["modifier"] == "3.00"
    assert sorted(names(after)) == ["Anil", "Roxo", "Verde"]
    assert (await shop.put(f"/api/options/{number}", {"option_name": "Tom"})).status == 200
    assert sorted(names(await read(shop, number))) == ["Anil", "Roxo", "Verde"]


async def test_deleting_a_variant_deletes_its_combinations_and_exceptions(shop):
    answer = await shop.put(f"/api/options/{shop.size}", {"variants": {str(shop.small): {}}})
    assert answer.status == 200, answer.raw
    assert (await shop.get(f"/api/combinations/{shop.combination}")).status == 404
    assert (await shop.get(f"/api/exceptions/{shop.exception}")).status == 200
    await shop.put(f"/api/options/{shop.size}", {"variants": {"x": {"variant_name": "Nova"}}})
    assert (await shop.get(f"/api/exceptions/{shop.exception}")).status == 404


async def test_images_of_variants(shop):
    url = "https://img.example.com/azul.png"
    number = await create(
        shop,
        variants=[
            {"variant_name": "Azul", "image_pair": {"icon": {"image_path": url, "alt": "Anil"}}},
            "Cru",
        ],
    )
    blue, raw = (await read(shop, number))["variants"].values()
    assert blue["image_pair"]["icon"] == {
        "object_id": blue["variant_id"],
        "object_type": "variant_image",
        "image_path": url,
        "http_image_path": url.replace("https", "http"),
        "https_image_path": url,
        "alt": "Anil",
    }
    for main_pair in (
        {"icon": {"image_path": {"1": url + "?1"}}},
        {raw["variant_id"]: {"icon": {"image_path": url + "?2"}}},
        {"icon": {"image_path": ["", url + "?3"]}},
    ):
        answer = await shop.put(f"/api/options/{number}", {"main_pair": main_pair})
        assert answer.status == 200, answer.raw
        variants = (await read(shop, number))["variants"]
        assert variants[raw["variant_id"]]["image_pair"]["icon"]["image_path"].startswith(url + "?")
    for main_pair in ("x", {"icon": {"image_path": 7}}, {"icon": {"image_path": {"9": url}}}, {"1": "x"}):
        answer = await shop.put(f"/api/options/{number}", {"main_pair": main_pair})
        assert answer.status == 400, main_pair


async def test_a_shared_option_is_linked_to_several_products(shop):
    number = await create(shop, product_ids=[shop.mug.number, shop.plate.id], variants=["Fita", "Laço"])
    linked = await shop.rows("select product_id from product_options where option_id = $1", int(number))
    assert {row["product_id"] for row in linked} == {shop.mug.number, shop.plate.number}
    await shop.put(f"/api/options/{number}", {"product_ids": [shop.plate.number]})
    linked = await shop.rows("select product_id from product_options where option_id = $1", int(number))
    assert {row["product_id"] for row in linked} == {shop.plate.number}


async def test_an_option_used_by_combinations_keeps_its_product_and_type(shop):
    for body in ({"product_id": shop.plate.number}, {"inventory": "N"}, {"option_type": "I"}):
        answer = await shop.put(f"/api/options/{shop.size}", body)
        assert answer.status == 422, (body, answer.raw)
    before = await read(shop, shop.size)
    assert before["product_id"] == str(shop.mug)


@pytest.mark.parametrize(
    "body",
    [
        {"option_name": ""},
        {"option_type": "Z"},
        {"option_type": ["S"]},
        {"product_id": NO_NUMBER},
        {"product_id": "x"},
        {"company_id": NO_NUMBER},
        {"product_ids": [NO_NUMBER]},
        {"required": "perhaps"},
        {"status": "X"},
        {"position": 1.5},
        {"variants": "x"},
        {"variants": [{"variant_name": ""}]},
        {"variants": [{"modifier": "1"}]},
        {"variants": [{"variant_name": "x", "modifier": "1.999"}]},
        {"variants": [{"variant_name": "x", "modifier": "1e3"}]},
        {"variants": [{"variant_name": "x", "modifier_type": "Z"}]},
        {"variants": [{"variant_name": "x", "image_pair": {"icon": {"image_path": "ftp://x"}}}]},
        {"variants": [None]},
    ],
)
async def test_invalid_input_is_rejected_and_creates_nothing(shop, body):
    before = (await shop.get("/api/options")).body["params"]["total_items"]
    answer = await shop.post("/api/options", {"option_name": "x"} | body)
    assert answer.status == 400, answer.raw
    assert set(answer.body) >= {"status", "message"}
    assert (await shop.get("/api/options")).body["params"]["total_items"] == before
    changed = await shop.put(f"/api/options/{shop.print}", body)
    assert changed.status == 400, changed.raw


async def test_a_variant_of_another_option_is_rejected(shop):
    for variants in ({str(shop.plain): {}}, {"": {"variant_id": NO_NUMBER}}, [{"variant_id": shop.plain.id}]):
        answer = await shop.put(f"/api/options/{shop.size}", {"variants": variants})
        assert answer.status == 400, answer.raw


async def test_deleting_an_option_deletes_its_combinations_and_exceptions(shop):
    assert (await shop.delete(f"/api/options/{shop.size}")).status == 204
    assert (await shop.get(f"/api/options/{shop.size}")).status == 404
    assert (await shop.get(f"/api/combinations/{shop.combination}")).status == 404
    assert (await shop.get(f"/api/exceptions/{shop.exception}")).status == 404


async def test_deleting_a_product_deletes_its_options_and_attachments(shop):
    assert (await shop.delete(f"/api/products/{shop.mug}")).status == 204
    for path in (f"options/{shop.size}", f"combinations/{shop.combination}", f"exceptions/{shop.exception}"):
        assert (await shop.get(f"/api/{path}")).status == 404
    assert (await shop.get(f"/api/options/{shop.print}")).status == 200  # shared
    assert await shop.value("select count(*) from attachments") == 0


@pytest.mark.parametrize(
    "query, expected",
    [
        ("product_id={mug}", ["Tamanho", "Gravação"]),
        ("product_id=0", ["Estampa"]),
        ("option_type=R", ["Estampa"]),
        ("option_type=input", ["Gravação"]),
        ("option_name=Tamanho", ["Tamanho"]),
        ("inventory=N", ["Gravação"]),
        ("required=Y", []),
        ("company_id={vendor}", ["Tamanho", "Gravação"]),
        ("status=Z", []),
    ],
)
async def test_filters(shop, query, expected):
    answer = await shop.get("/api/options?" + query.format(mug=shop.mug, vendor=shop.vendor))
    assert [row["option_name"] for row in answer.body["options"].values()] == expected
    assert list(answer.body["options"]) == [row["option_id"] for row in answer.body["options"].values()]


async def test_a_list_is_keyed_by_id_and_bare_in_the_cscart_form(shop, new_shop):
    answer = await shop.get("/api/options?items_per_page=2")
    assert list(answer.body) == ["options", "params"]
    assert list(answer.body["options"]) == [str(shop.size), str(shop.print)]
    cscart = await new_shop(legacy_lists="cscart")
    bare = await cscart.get("/api/options")
    assert list(bare.body) == [str(cscart.size), str(cscart.print), str(cscart.engraving)]


# --- Vendors with API keys ---------------------------------------------------------------------------------------------------


async def test_vendors_manage_their_own_options(new_shop):
    shop = await new_shop(legacy_vendor_keys="Y")
    mine = (await shop.get("/api/options", by=shop.seller)).body["options"]
    assert set(mine) == {str(shop.size), str(shop.print), str(shop.engraving)}
    theirs = (await shop.get("/api/options", by=shop.rival_seller)).body["options"]
    assert theirs == {}
    for method, path, body in (
        ("GET", f"options/{shop.size}", None),
        ("PUT", f"options/{shop.size}", {"option_name": "x"}),
        ("DELETE", f"options/{shop.size}", None),
    ):
        answer = await shop.call(method, f"/api/{path}", body, by=shop.rival_seller)
        assert answer.status == 404, (path, answer.raw)
    # Combinations and exceptions are for administrators only (docs/reference/legacy.md#privileges).
    for method, path, body in (
        ("GET", "combinations", None),
        ("GET", f"combinations/{shop.combination}", None),
        ("PUT", f"combinations/{shop.combination}", {"amount": 1}),
        ("DELETE", f"combinations/{shop.combination}", None),
        ("GET", "exceptions", None),
        ("DELETE", f"exceptions/{shop.exception}", None),
        ("GET", f"2.0/products/{shop.mug}/options/combinations", None),
        ("POST", f"2.0/products/{shop.mug}/options/combinations", {"combination": {"1": 1}}),
    ):
        answer = await shop.call(method, f"/api/{path}", body, by=shop.seller)
        assert answer.status == 403, (path, answer.raw)
    # A shared option belongs to the store.
    assert (await shop.put(f"/api/options/{shop.print}", {"option_name": "x"}, by=shop.seller)).status == 404
    created = await shop.post(
        "/api/options", {"option_name": "Alça", "product_id": shop.mug.number}, by=shop.seller
    )
    assert created.status == 201, created.raw
    answer = await shop.put(f"/api/options/{created.body['option_id']}", {"required": "Y"}, by=shop.seller)
    assert answer.status == 200
    foreign = await shop.post(
        "/api/options", {"option_name": "Alça", "product_id": shop.plate.number}, by=shop.seller
    )
    assert foreign.status == 400
    assert (await shop.delete(f"/api/options/{created.body['option_id']}", by=shop.seller)).status == 204
