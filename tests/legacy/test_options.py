"""Check the option routes."""

from typing import Any

import pytest

from tests.harness.records import UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore

pytestmark = pytest.mark.combination


async def create(sample: SampleStore, **body: Any) -> str:
    answer = await sample.post("/api/options", {"option_name": "Cor"} | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"option_id"}
    return answer.body["option_id"]


async def read(sample: SampleStore, option_id: Any) -> dict[str, Any]:
    answer = await sample.get(f"/api/options/{option_id}")
    assert answer.status == 200, answer.raw
    return answer.body


def names(option: dict[str, Any]) -> list[str]:
    return [variant["variant_name"] for variant in option["variants"].values()]


async def test_an_option_is_created_with_defaults(sample):
    number = await create(sample)
    assert await read(sample, number) == {
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


async def test_an_option_of_a_product_belongs_to_its_vendor(sample):
    number = await create(sample, product_id=sample.mug.number)
    option = await read(sample, number)
    assert (option["product_id"], option["company_id"]) == (str(sample.mug), str(sample.vendor))


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
async def test_a_field_is_read_back_after_create_and_update(sample, name, value, expected):
    assert (await read(sample, await create(sample, **{name: value})))[name] == expected
    number = await create(sample, option_name="Outra")
    before = await read(sample, number)
    answer = await sample.put(f"/api/options/{number}", {name: value})
    assert (answer.status, answer.body) == (200, {"option_id": number})
    assert await read(sample, number) == before | {name: expected}


@pytest.mark.parametrize("code", "ITF")
async def test_text_options_have_no_inventory_and_no_variants(sample, code):
    number = await create(sample, option_type=code, variants=[{"variant_name": "x"}])
    option = await read(sample, number)
    assert (option["option_type"], option["inventory"], option["variants"]) == (code, "N", {})
    for body in ({"inventory": "Y"}, {"inventory": "Y", "option_type": code}):
        answer = await sample.put(f"/api/options/{number}", body)
        assert answer.status == 400, (body, answer.raw)


VARIANTS = [
    {"variant_name": "Azul", "modifier": "-2.50", "modifier_type": "A"},
    {"variant_name": "Verde", "modifier": 12.5, "modifier_type": "P", "position": 5},
    {"variant_name": "Cru"},
]


@pytest.mark.parametrize("form", ["array", "map"])
async def test_variants_are_accepted_as_array_or_map(sample, form):
    variants: Any = VARIANTS if form == "array" else {str(1 + index): variant for index, variant in enumerate(VARIANTS)}
    option = await read(sample, await create(sample, variants=variants))
    rows = list(option["variants"].values())
    assert [(row["variant_name"], row["modifier"], row["modifier_type"], row["position"]) for row in rows] == [
        ("Azul", "-2.50", "A", "0"),
        ("Cru", "0.00", "A", "2"),
        ("Verde", "12.50", "P", "5"),
    ]
    assert list(option["variants"]) == [row["variant_id"] for row in rows]
    assert rows[0]["image_pair"] == {}


async def test_an_image_that_a_variant_has_keeps_its_text(sample):
    link = "https://img.example.com/azul.png"
    number = await create(sample, variants=[{"variant_name": "Azul"}])
    [variant] = (await read(sample, number))["variants"]
    for icon, alt in (
        ({"image_path": link, "alt": "Azul"}, "Azul"),
        ({"image_path": link}, "Azul"),
        ({"image_path": "https://img.example.com/anil.png"}, ""),
    ):
        body = {"variants": {variant: {"image_pair": {"icon": icon}}}}
        assert (await sample.put(f"/api/options/{number}", body)).status == 200, icon
        assert (await read(sample, number))["variants"][variant]["image_pair"]["icon"]["alt"] == alt, icon


async def test_a_form_encoded_body_may_contain_variants(sample):
    answer = await sample.post(
        "/api/options",
        data="option_name=Cor&variants[0][variant_name]=Azul&variants[1][variant_name]=Verde",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert names(await read(sample, answer.body["option_id"])) == ["Azul", "Verde"]


async def test_an_update_keeps_the_listed_variants_and_deletes_the_others(sample):
    number = await create(sample, variants=VARIANTS)
    blue, raw, green = (await read(sample, number))["variants"]
    answer = await sample.put(
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
    after = await read(sample, number)
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
    assert (await sample.put(f"/api/options/{number}", {"option_name": "Tom"})).status == 200
    assert sorted(names(await read(sample, number))) == ["Anil", "Roxo", "Verde"]


async def test_deleting_a_variant_deletes_its_combinations_and_exceptions(sample):
    answer = await sample.put(f"/api/options/{sample.size}", {"variants": {str(sample.small): {}}})
    assert answer.status == 200, answer.raw
    assert (await sample.get(f"/api/combinations/{sample.combination}")).status == 404
    assert (await sample.get(f"/api/exceptions/{sample.exception}")).status == 200
    await sample.put(f"/api/options/{sample.size}", {"variants": {"x": {"variant_name": "Nova"}}})
    assert (await sample.get(f"/api/exceptions/{sample.exception}")).status == 404


async def test_images_of_variants(sample):
    url = "https://img.example.com/azul.png"
    number = await create(
        sample,
        variants=[
            {"variant_name": "Azul", "image_pair": {"icon": {"image_path": url, "alt": "Anil"}}},
            "Cru",
        ],
    )
    blue, raw = (await read(sample, number))["variants"].values()
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
        answer = await sample.put(f"/api/options/{number}", {"main_pair": main_pair})
        assert answer.status == 200, (main_pair, answer.raw)
        variants = (await read(sample, number))["variants"]
        assert variants[raw["variant_id"]]["image_pair"]["icon"]["image_path"].startswith(url + "?"), main_pair
    texts = {blue["variant_id"]: "Mar", raw["variant_id"]: "Areia"}
    for pair in ({"image_path": url, "alt": None}, {"image_path": url + "?3"}, {"image_path": url}):
        main_pair = {key: {"icon": {**pair, **({"alt": text} if "alt" in pair else {})}} for key, text in texts.items()}
        assert (await sample.put(f"/api/options/{number}", {"main_pair": main_pair})).status == 200, pair
        variants = (await read(sample, number))["variants"]
        kept = {key: variants[key]["image_pair"]["icon"]["alt"] for key in texts}
        assert kept == (texts if "alt" in pair else dict.fromkeys(texts, "")), pair
    # One whose link stays keeps its text, the other has none any more.
    both = {key: {"icon": {"image_path": url, "alt": text}} for key, text in texts.items()}
    assert (await sample.put(f"/api/options/{number}", {"main_pair": both})).status == 200
    one = {blue["variant_id"]: {"icon": {"image_path": url + "?9"}}, raw["variant_id"]: {"icon": {"image_path": url}}}
    answer = await sample.put(f"/api/options/{number}", {"main_pair": one})
    assert answer.status == 200, answer.raw
    variants = (await read(sample, number))["variants"]
    assert [variants[key]["image_pair"]["icon"]["alt"] for key in texts] == ["", "Areia"]
    for main_pair in ("x", {"icon": {"image_path": 7}}, {"icon": {"image_path": {"9": url}}}, {"1": "x"}):
        answer = await sample.put(f"/api/options/{number}", {"main_pair": main_pair})
        assert answer.status == 400, main_pair


async def test_a_shared_option_is_linked_to_several_products(sample):
    number = await create(sample, product_ids=[sample.mug.number, sample.plate.id], variants=["Fita", "Laço"])
    linked = await sample.rows("select product_id from product_options where option_id = $1", int(number))
    assert {row["product_id"] for row in linked} == {sample.mug.number, sample.plate.number}
    await sample.put(f"/api/options/{number}", {"product_ids": [sample.plate.number]})
    linked = await sample.rows("select product_id from product_options where option_id = $1", int(number))
    assert {row["product_id"] for row in linked} == {sample.plate.number}


async def test_an_option_used_by_combinations_keeps_its_product_and_type(sample):
    for body in ({"product_id": sample.plate.number}, {"inventory": "N"}, {"option_type": "I"}):
        answer = await sample.put(f"/api/options/{sample.size}", body)
        assert answer.status == 422, (body, answer.raw)
    before = await read(sample, sample.size)
    assert before["product_id"] == str(sample.mug)


@pytest.mark.parametrize(
    "body",
    [
        {"option_name": ""},
        {"option_type": "Z"},
        {"option_type": ["S"]},
        {"product_id": UNKNOWN_NUMBER},
        {"product_id": "x"},
        {"company_id": UNKNOWN_NUMBER},
        {"product_ids": [UNKNOWN_NUMBER]},
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
async def test_invalid_input_is_rejected_and_creates_nothing(sample, body):
    before = (await sample.get("/api/options")).body["params"]["total_items"]
    answer = await sample.post("/api/options", {"option_name": "x"} | body)
    assert answer.status == 400, answer.raw
    assert set(answer.body) >= {"status", "message"}
    assert (await sample.get("/api/options")).body["params"]["total_items"] == before
    changed = await sample.put(f"/api/options/{sample.print}", body)
    assert changed.status == 400, changed.raw


async def test_a_variant_of_another_option_is_rejected(sample):
    for variants in (
        {str(sample.plain): {}},
        {"": {"variant_id": UNKNOWN_NUMBER}},
        [{"variant_id": sample.plain.id}],
    ):
        answer = await sample.put(f"/api/options/{sample.size}", {"variants": variants})
        assert answer.status == 400, (variants, answer.raw)


async def test_deleting_an_option_deletes_its_combinations_and_exceptions(sample):
    assert (await sample.delete(f"/api/options/{sample.size}")).status == 204
    assert (await sample.get(f"/api/options/{sample.size}")).status == 404
    assert (await sample.get(f"/api/combinations/{sample.combination}")).status == 404
    assert (await sample.get(f"/api/exceptions/{sample.exception}")).status == 404


async def test_deleting_a_product_deletes_its_options_and_attachments(sample):
    assert (await sample.delete(f"/api/products/{sample.mug}")).status == 204
    for path in (
        f"options/{sample.size}",
        f"combinations/{sample.combination}",
        f"exceptions/{sample.exception}",
    ):
        assert (await sample.get(f"/api/{path}")).status == 404
    assert (await sample.get(f"/api/options/{sample.print}")).status == 200  # shared
    assert await sample.value("select count(*) from attachments") == 0


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
async def test_filters(sample, query, expected):
    answer = await sample.get("/api/options?" + query.format(mug=sample.mug, vendor=sample.vendor))
    assert [row["option_name"] for row in answer.body["options"].values()] == expected
    assert list(answer.body["options"]) == [row["option_id"] for row in answer.body["options"].values()]


@pytest.mark.parametrize(
    "query, expected",
    [
        ("product_id={mug}", ["Tamanho", "Estampa", "Gravação"]),
        ("product_id={plate}", []),
        ("product_id[]={plate}&product_id[]={mug}", ["Tamanho", "Estampa", "Gravação"]),
        ("product_id=0", ["Estampa"]),
        ("product_id=x", []),
    ],
)
async def test_in_the_cscart_dialect_the_options_of_a_product_are_those_that_it_offers(new_sample, query, expected):
    sample = await new_sample(combination=True, legacy_lists="cscart")
    answer = await sample.get("/api/options?" + query.format(mug=sample.mug, plate=sample.plate))
    assert [row["option_name"] for row in answer.body.values()] == expected
    assert "X-Ignored-Parameters" not in answer.headers


async def test_a_list_is_keyed_by_id_and_bare_in_the_cscart_form(sample, new_sample):
    answer = await sample.get("/api/options?items_per_page=2")
    assert list(answer.body) == ["options", "params"]
    assert list(answer.body["options"]) == [str(sample.size), str(sample.print)]
    cscart = await new_sample(combination=True, legacy_lists="cscart")
    bare = await cscart.get("/api/options")
    assert list(bare.body) == [str(cscart.size), str(cscart.print), str(cscart.engraving)]


# --- Vendors with API keys ---------------------------------------------------------------------------------------------------


async def test_vendors_manage_their_own_options(new_sample):
    sample = await new_sample(combination=True, legacy_vendor_keys="Y")
    mine = (await sample.get("/api/options", by=sample.vendor_user)).body["options"]
    assert set(mine) == {str(sample.size), str(sample.print), str(sample.engraving)}
    theirs = (await sample.get("/api/options", by=sample.rival_vendor_user)).body["options"]
    assert theirs == {}
    for method, path, body in (
        ("GET", f"options/{sample.size}", None),
        ("PUT", f"options/{sample.size}", {"option_name": "x"}),
        ("DELETE", f"options/{sample.size}", None),
    ):
        answer = await sample.request(method, f"/api/{path}", body, by=sample.rival_vendor_user)
        assert answer.status == 404, (path, answer.raw)
    # Combinations and exceptions are for administrators only (docs/reference/legacy.md#privileges).
    for method, path, body in (
        ("GET", "combinations", None),
        ("GET", f"combinations/{sample.combination}", None),
        ("PUT", f"combinations/{sample.combination}", {"amount": 1}),
        ("DELETE", f"combinations/{sample.combination}", None),
        ("GET", "exceptions", None),
        ("DELETE", f"exceptions/{sample.exception}", None),
        ("GET", f"2.0/products/{sample.mug}/options/combinations", None),
        ("POST", f"2.0/products/{sample.mug}/options/combinations", {"combination": {"1": 1}}),
    ):
        answer = await sample.request(method, f"/api/{path}", body, by=sample.vendor_user)
        assert answer.status == 403, (path, answer.raw)
    # A shared option belongs to the store.
    assert (await sample.put(f"/api/options/{sample.print}", {"option_name": "x"}, by=sample.vendor_user)).status == 404
    created = await sample.post(
        "/api/options", {"option_name": "Alça", "product_id": sample.mug.number}, by=sample.vendor_user
    )
    assert created.status == 201, created.raw
    answer = await sample.put(f"/api/options/{created.body['option_id']}", {"required": "Y"}, by=sample.vendor_user)
    assert answer.status == 200
    foreign = await sample.post(
        "/api/options", {"option_name": "Alça", "product_id": sample.plate.number}, by=sample.vendor_user
    )
    assert foreign.status == 400
    assert (await sample.delete(f"/api/options/{created.body['option_id']}", by=sample.vendor_user)).status == 204


async def create_exception(sample: SampleStore, **choices: str) -> str:
    combination = {str(getattr(sample, option)): variant for option, variant in choices.items()}
    answer = await sample.post("/api/exceptions", {"product_id": sample.mug.number, "combination": combination})
    assert answer.status == 201, answer.raw
    record = (await sample.get(f"/api/exceptions/{answer.body['exception_id']}")).body
    assert (record["type"], record["combination"]) == ("F", combination)
    return answer.body["exception_id"]


async def test_an_exception_may_leave_a_variant_open_or_exclude_an_option(sample):
    await create_exception(sample, size="-1", print=str(sample.plain))
    await create_exception(sample, size="-2", print=str(sample.dotted))
    await create_exception(sample, size="-2")
    for combination in ({}, {"999999999": "-2"}, {"999999999": "-1"}):
        body = {"product_id": sample.mug.number, "combination": combination}
        assert (await sample.post("/api/exceptions", body)).status == 400, combination


async def test_an_exception_of_any_variant_alone_forbids_every_selection(sample):
    body = {
        "user_id": sample.caio.number,
        "shipping_id": sample.sedex.number,
        "products": [
            {
                "product_id": sample.mug.number,
                "amount": 1,
                "product_options": {str(sample.size): str(sample.large), str(sample.print): str(sample.plain)},
            }
        ],
    }
    assert (await sample.post("/api/orders", body)).status == 201
    exception = await create_exception(sample, size="-1")
    refused = await sample.post("/api/orders", body)
    assert (refused.status, refused.body["message"]) == (422, "these options can't be chosen together: Caneca de Ágata")
    assert (await sample.delete(f"/api/exceptions/{exception}")).status == 204
    assert (await sample.post("/api/orders", body)).status == 201


async def test_a_deleted_option_takes_every_exception_that_names_it_along(sample):
    named = [
        await create_exception(sample, size=str(sample.small)),
        await create_exception(sample, size="-1"),
        await create_exception(sample, size="-2", print=str(sample.dotted)),
    ]
    kept = await create_exception(sample, print="-2")
    assert (await sample.delete(f"/api/options/{sample.size}")).status == 204
    rows = (await sample.get("/api/exceptions")).body["exceptions"]
    numbers = [row["exception_id"] for row in rows]
    assert kept in numbers
    assert not set(named) & set(numbers)


async def test_a_wrong_image_is_named_as_the_body_does(sample):
    wrong, expected = {"icon": {"image_path": "ftp://a"}}, "image_path is 'ftp://a'; expected an http or https address"
    option = f"/api/options/{sample.print}"
    answers = [await sample.put(option, {"main_pair": wrong})]
    assert answers[0].body["message"] == expected
    answers.append(
        await sample.post(
            "/api/options", {"option_name": "Cor", "variants": [{"variant_name": "x", "image_pair": wrong}]}
        )
    )
    assert answers[1].body["message"] == f"variants: {expected}"
    path = f"/api/2.0/products/{sample.mug}/options/combinations/{sample.combination.number}"
    answers.append(await sample.put(path, {"image_pairs": {"detailed": wrong["icon"]}}))
    assert answers[2].body["message"] == expected
    assert {answer.status for answer in answers} == {400}


async def test_images_of_new_variants_land_on_the_variant_of_their_key(sample):
    created = await sample.post(
        "/api/options",
        {
            "option_name": "Cor",
            "variants": {"1": {"variant_name": "Azul"}, "2": {"variant_name": "Verde"}},
            "main_pair": {"icon": {"image_path": {"2": "https://img.example.com/verde.jpg"}}},
        },
    )
    assert created.status == 201, created.raw
    variants = (await sample.get(f"/api/options/{created.body['option_id']}")).body["variants"].values()
    images = {row["variant_name"]: row["image_pair"].get("icon", {}).get("image_path") for row in variants}
    assert images == {"Azul": None, "Verde": "https://img.example.com/verde.jpg"}


async def test_images_land_on_the_variants_of_any_keys(sample):
    blue, green, red = (f"https://img.example.com/{name}.jpg" for name in ("azul", "verde", "vermelho"))
    created = await sample.post(
        "/api/options",
        {
            "option_name": "Cor",
            "variants": {"a": {"variant_name": "Azul", "position": 2}, "b": {"variant_name": "Verde", "position": 1}},
            "main_pair": {"icon": {"image_path": {"a": blue, "b": green}}},
        },
    )
    assert created.status == 201, created.raw
    number = created.body["option_id"]

    async def images() -> dict[str, str]:
        rows = (await read(sample, number))["variants"].values()
        return {row["variant_name"]: row["image_pair"].get("icon", {}).get("image_path") for row in rows}

    assert await images() == {"Azul": blue, "Verde": green}
    kept = next(iter((await read(sample, number))["variants"]))
    body = {
        "variants": {kept: {"variant_name": "Verde"}, "0": {"variant_name": "Vermelho"}},
        "main_pair": {"icon": {"image_path": {"0": red}}},
    }
    assert (await sample.put(f"/api/options/{number}", body)).status == 200
    assert await images() == {"Verde": green, "Vermelho": red}
    body = {
        "variants": [{"variant_name": "Vermelho", "position": 9}, {"variant_name": "Verde", "position": 1}],
        "main_pair": {"icon": {"image_path": [blue, red]}},
    }
    assert (await sample.put(f"/api/options/{number}", body)).status == 200
    assert await images() == {"Verde": red, "Vermelho": blue}
