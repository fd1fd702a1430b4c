"""Check the product routes: values are read back and invalid ones rejected with the documented messages."""

from typing import Any

import pytest

from models.tables.catalog import Feature
from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore

NEW = {"product": "Bule", "price": "79.90"}


async def create(sample: SampleStore, **body: Any) -> str:
    answer = await sample.post("/api/products", NEW | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"product_id"}
    return answer.body["product_id"]


async def read(sample: SampleStore, product_id: Any) -> dict[str, Any]:
    answer = await sample.get(f"/api/products/{product_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_product_is_created_with_defaults(sample):
    product = await read(sample, await create(sample))
    assert product["product"] == "Bule"
    assert product["price"] == "79.90"
    assert product["list_price"] == "0.00"
    assert product["product_code"] == ""
    assert product["amount"] == "0"
    assert product["status"] == "A"
    assert product["company_id"] == str(sample.vendor)  # the store's first vendor
    assert product["company_name"] == "Ateliê Sol"
    assert product["category_ids"] == []
    assert product["main_category"] == "0"
    assert product["main_pair"] == {}
    assert product["image_pairs"] == {}
    assert product["product_features"] == {}
    assert product["seo_name"] == "bule"
    assert product["timestamp"].isdigit()
    assert product["updated_timestamp"].isdigit()


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("product", "Chaleira", "Chaleira"),
        ("product_code", "CHA-1", "CHA-1"),
        ("product_code", 12345, "12345"),
        ("product_code", 12345.0, "12345"),
        ("product_code", 12.5, "12.5"),
        ("price", "129.90", "129.90"),
        ("price", 129.9, "129.90"),
        ("price", "30.000000", "30.00"),
        ("price", 19.900000000000002, "19.90"),
        ("price", 129, "129.00"),
        ("price", "0", "0.00"),
        ("list_price", "149.00", "149.00"),
        ("list_price", "0.00", "0.00"),
        ("list_price", None, "0.00"),
        ("amount", 7, "7"),
        ("amount", "7", "7"),
        ("amount", 7.0, "7"),
        ("amount", 0, "0"),
        ("status", "D", "D"),
        ("status", "h", "H"),
        ("status", "active", "A"),
        ("status", "Disabled", "D"),
        ("status", "hidden", "H"),
        ("status", "pending", "P"),
        ("weight", "0.35", "0.350"),
        ("weight", 2, "2.000"),
        ("weight", "1.2345", "1.235"),
        ("full_description", "<p>Café & água</p>", "<p>Café & água</p>"),
        ("short_description", "curta", "curta"),
        ("short_description", None, ""),
        ("is_edp", "Y", "Y"),
        ("is_edp", False, "N"),
        ("free_shipping", "y", "Y"),
        ("free_shipping", 1, "Y"),
        ("tracking", "D", "D"),
        ("tracking", "b", "B"),
        ("tracking", "O", "B"),
        ("min_qty", "2", "2"),
        ("max_qty", 9, "9"),
        ("seo_name", "bule-azul", "bule-azul"),
    ],
)
async def test_a_field_is_read_back_after_create_and_update(sample, name, value, expected):
    created = await read(sample, await create(sample, **{name: value}))
    assert created[name] == expected
    product = str(sample.mug)
    if name == "seo_name":
        value = expected = f"{value}-2"
    answer = await sample.put(f"/api/products/{product}", {name: value})
    assert (answer.status, answer.body) == (200, {"product_id": product})
    assert (await read(sample, product))[name] == expected


async def test_limits_that_no_quantity_meets_are_accepted_as_by_cscart_and_refused_by_graphql(sample):
    product = await create(sample, min_qty=5, max_qty=3)
    record = await read(sample, product)
    assert (record["min_qty"], record["max_qty"]) == ("5", "3")
    public_id = (await sample.rows("select public_id from products where id = $1", int(product)))[0]["public_id"]

    async def update(**values):
        document = "mutation($id: ID!, $input: ProductInput!) { product_update(id: $id, input: $input) { name } }"
        variables = {"id": str(public_id), "input": values}
        return (await sample.post("/graphql", {"query": document, "variables": variables}, auth="bearer")).body

    assert (await update(name="Bule", min_quantity=5))["data"]["product_update"] == {"name": "Bule"}
    error = (await update(max_quantity=4))["errors"][0]
    assert error["message"] == "min_quantity is 5; expected at most max_quantity, 4"
    assert error["extensions"]["details"]["fields"] == {"min_quantity": "quantity_invalid"}


async def test_an_update_keeps_the_other_fields(sample):
    before = await read(sample, sample.mug)
    answer = await sample.put(f"/api/products/{sample.mug}", {"price": 12})
    assert (answer.status, answer.body) == (200, {"product_id": str(sample.mug)})
    after = await read(sample, sample.mug)
    assert after.pop("price") == after.pop("base_price") == "12.00"
    del before["price"], before["base_price"]
    before["updated_timestamp"] = after["updated_timestamp"]
    assert after == before


async def test_updating_a_record_with_itself_changes_nothing(sample):
    for product in (sample.mug, sample.plate, sample.ebook, sample.secret):
        before = await read(sample, product)
        answer = await sample.put(f"/api/products/{product}", before)
        assert answer.status == 200, (product, answer.raw)
        after = await read(sample, product)
        del before["updated_timestamp"], after["updated_timestamp"]
        assert after == before, product


async def test_the_amount_is_the_available_stock(sample):
    reserved = await sample.value("select reserved from products where id = $1", sample.mug.number)
    assert reserved == 3
    await sample.put(f"/api/products/{sample.mug}", {"amount": "5"})
    assert (await read(sample, sample.mug))["amount"] == "5"
    assert await sample.value("select on_hand from products where id = $1", sample.mug.number) == 8


@pytest.mark.parametrize("form", ["numbers", "texts", "one text", "commas", "uuids", "php map"])
async def test_categories_are_accepted_in_every_form(sample, form):
    home, kitchen = sample.home, sample.kitchen
    category_ids = {
        "numbers": [kitchen.number, home.number],
        "texts": [str(kitchen), str(home)],
        "one text": str(kitchen),
        "commas": f"{kitchen},{home}",
        "uuids": [kitchen.id, home.id],
        "php map": {"0": str(kitchen), "5": str(home)},
    }[form]
    product = await read(sample, await create(sample, category_ids=category_ids))
    expected = [str(kitchen)] if form == "one text" else [str(kitchen), str(home)]
    assert product["category_ids"] == expected
    assert product["main_category"] == str(kitchen)


async def test_the_main_category_is_set_with_or_without_categories(sample):
    both = {"category_ids": [sample.home.number, sample.kitchen.number], "main_category": str(sample.kitchen)}
    product = await create(sample, **both)
    assert (await read(sample, product))["main_category"] == str(sample.kitchen)
    assert (await read(sample, product))["category_ids"] == [str(sample.kitchen), str(sample.home)]
    single = await read(sample, await create(sample, main_category=sample.hidden.number))
    assert (single["main_category"], single["category_ids"]) == (str(sample.hidden), [str(sample.hidden)])
    await sample.put(f"/api/products/{product}", {"category_ids": []})
    assert (await read(sample, product))["category_ids"] == []


async def test_the_vendor_is_set_or_none(sample):
    assert (await read(sample, await create(sample, company_id=sample.rival.number)))["company_id"] == str(sample.rival)
    assert (await read(sample, await create(sample, company_id=str(sample.rival))))["company_name"] == "Casa Lua"
    assert (await read(sample, await create(sample, company_id=0)))["company_id"] == "0"
    assert (await read(sample, await create(sample, company_id="")))["company_id"] == str(sample.vendor)


async def test_product_codes_need_not_be_unique(sample):
    first, second = await create(sample, product_code="X"), await create(sample, product_code="X")
    listed = await sample.get("/api/products?product_code=X&sort_by=product_id")
    assert list(listed.body["products"]) == [first, second]


# --- Images ------------------------------------------------------------------------------------------------------------------


def image_pair(url: str, **fields: Any) -> dict[str, Any]:
    return {"detailed": {"image_path": url, **fields}}


def image_path(pair: dict[str, Any]) -> str:
    return pair["detailed"]["image_path"]


async def test_the_main_image_is_returned_as_an_image_pair(sample):
    url = "https://img.example.com/bule.jpg"
    product = await create(sample, main_pair=image_pair(url, alt="Bule", image_x="640", image_y=480))
    pair = (await read(sample, product))["main_pair"]
    number = pair["pair_id"]
    assert pair == {
        "pair_id": number,
        "image_id": "0",
        "detailed_id": number,
        "position": "0",
        "detailed": {
            "object_id": product,
            "object_type": "product",
            "image_path": url,
            "http_image_path": "http://img.example.com/bule.jpg",
            "https_image_path": url,
            "alt": "Bule",
            "image_x": "640",
            "image_y": "480",
        },
    }


async def test_an_image_sent_again_keeps_its_text(sample):
    main, other = "https://img.example.com/bule.jpg", "https://img.example.com/tampa.jpg"
    product = await create(sample, main_pair=image_pair(main, alt="Bule"), image_pairs=[image_pair(other, alt="Tampa")])
    before = await read(sample, product)
    await sample.put(f"/api/products/{product}", {"main_pair": image_pair(main), "image_pairs": [image_pair(other)]})
    assert await read(sample, product) == before
    for nothing in ("", None):
        await sample.put(f"/api/products/{product}", {"main_pair": image_pair(main, alt=nothing)})
        assert (await read(sample, product))["main_pair"]["detailed"]["alt"] == "", nothing
        await sample.put(f"/api/products/{product}", {"main_pair": image_pair(main, alt="Bule")})
        assert (await read(sample, product))["main_pair"]["detailed"]["alt"] == "Bule", nothing


async def test_the_path_of_an_image_stays_although_its_query_has_an_address(sample):
    product = await create(sample, main_pair=image_pair("https://img.example.com/bule.jpg"))
    path = "/img?src=https://cdn.example.com/x.png"
    await sample.execute("update product_images set url = $1 where product_id = $2", path, int(product))
    image = (await read(sample, product))["main_pair"]["detailed"]
    assert [image[name] for name in ("image_path", "http_image_path", "https_image_path")] == [path] * 3


async def test_a_new_main_image_keeps_the_others(sample):
    before = await read(sample, sample.mug)
    await sample.put(f"/api/products/{sample.mug}", {"main_pair": image_pair("https://img.example.com/new.jpg")})
    after = await read(sample, sample.mug)
    assert image_path(after["main_pair"]) == "https://img.example.com/new.jpg"
    assert after["image_pairs"] == before["image_pairs"]


async def test_images_of_a_new_product_are_numbered_in_their_order(sample):
    """JavaScript reads the members of an object with numbers as names in the order of the numbers."""
    urls = [f"https://img.example.com/{name}.jpg" for name in "abcde"]
    product = await create(sample, main_pair=image_pair(urls[0]), image_pairs=list(map(image_pair, urls[1:])))
    record = (await sample.get(f"/api/products/{product}")).body
    pairs = [record["main_pair"], *record["image_pairs"].values()]
    assert [image_path(pair) for pair in sorted(pairs, key=lambda pair: int(pair["pair_id"]))] == urls


async def test_new_additional_images_keep_the_main_image(sample):
    before = await read(sample, sample.mug)
    pairs = {
        "a": image_pair("https://img.example.com/a.jpg"),
        "b": image_pair("https://img.example.com/b.jpg"),
    }
    await sample.put(f"/api/products/{sample.mug}", {"image_pairs": pairs})
    after = await read(sample, sample.mug)
    assert after["main_pair"] == before["main_pair"]
    assert [image_path(pair) for pair in after["image_pairs"].values()] == [image_path(p) for p in pairs.values()]
    assert list(after["image_pairs"]) == [pair["pair_id"] for pair in after["image_pairs"].values()]
    await sample.put(f"/api/products/{sample.mug}", {"image_pairs": [image_pair("https://img.example.com/c.jpg")]})
    assert [image_path(p) for p in (await read(sample, sample.mug))["image_pairs"].values()] == [
        "https://img.example.com/c.jpg"
    ]


@pytest.mark.parametrize("empty", [None, {}, []])
async def test_images_are_removed(sample, empty):
    await sample.put(f"/api/products/{sample.mug}", {"main_pair": empty, "image_pairs": empty})
    after = await read(sample, sample.mug)
    assert (after["main_pair"], after["image_pairs"]) == ({}, {})


async def test_additional_images_without_a_main_image_stay_additional(sample):
    product = await read(sample, await create(sample, image_pairs=[image_pair("https://img.example.com/a.jpg")]))
    assert product["main_pair"] == {}
    assert len(product["image_pairs"]) == 1


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("main_pair", "x.jpg", "main_pair is 'x.jpg'; expected an object such as {detailed: {image_path}}"),
        ("main_pair", {"detailed": {}}, "main_pair.detailed.image_path is required"),
        ("main_pair", {"detailed": {"image_path": 5}}, "main_pair.detailed.image_path is required"),
        ("main_pair", image_pair("javascript:alert(1)"), None),
        ("main_pair", image_pair("https://x.example/", image_x="big"), None),
        (
            "main_pair",
            image_pair("https://x.example/", image_x=-1),
            "main_pair.detailed.image_x is -1; expected a whole number from 0 to 2147483647",
        ),
        ("image_pairs", "x", "image_pairs is 'x'; expected an object of image pairs"),
        ("image_pairs", ["x"], None),
    ],
)
async def test_invalid_images_are_rejected(sample, field, value, message):
    answer = await sample.put(f"/api/products/{sample.mug}", {field: value})
    assert answer.status == 400
    assert set(answer.body) == {"status", "message"}
    if message:
        assert answer.body["message"] == message


# --- Features ----------------------------------------------------------------------------------------------------------------


async def test_features_are_accepted_in_every_form_and_keyed_by_id(sample):
    forms = [
        {str(sample.material): {"feature_type": "T", "value": "Ferro"}},
        {str(sample.material): "Ferro"},
        {sample.material.id: "Ferro"},
        [{"feature_id": sample.material.number, "value": "Ferro"}],
        {"x": {"feature_id": str(sample.material), "value": "Ferro"}},
    ]
    for form in forms:
        product = await read(sample, await create(sample, product_features=form))
        assert product["product_features"] == {
            str(sample.material): {
                "feature_id": str(sample.material),
                "feature_type": "T",
                "description": "Material",
                "value": "Ferro",
                "variant_id": "0",
                "variant": "",
                "variants": {},
            }
        }, form


async def test_a_variant_is_chosen_by_name_or_id(sample):
    for value in (
        {"value": "Azul"},
        {"variant_id": str(sample.blue)},
        {"variant_id": sample.blue.number, "value": "x"},
    ):
        product = await read(sample, await create(sample, product_features={str(sample.colour): value}))
        feature = product["product_features"][str(sample.colour)]
        assert (feature["value"], feature["variant_id"]) == ("Azul", str(sample.blue)), value
        assert feature["variants"] == {
            str(sample.blue): {"variant_id": str(sample.blue), "variant": "Azul", "position": "0"}
        }, value


async def test_absent_features_are_kept_and_an_empty_value_removes_one(sample):
    await sample.put(f"/api/products/{sample.mug}", {"product_features": {str(sample.volume): "350"}})
    features = (await read(sample, sample.mug))["product_features"]
    assert set(features) == {str(sample.colour), str(sample.material), str(sample.volume)}
    await sample.put(f"/api/products/{sample.mug}", {"product_features": {str(sample.volume): ""}})
    assert set((await read(sample, sample.mug))["product_features"]) == {
        str(sample.colour),
        str(sample.material),
    }


async def test_the_features_of_a_product_are_listed(sample):
    await sample.put(f"/api/products/{sample.mug}", {"product_features": {str(sample.volume): "350.5"}})
    answer = await sample.get(f"/api/products/{sample.mug}/features")
    assert answer.status == 200
    assert answer.body["params"] == {"page": 1, "items_per_page": 10, "total_items": 3}
    colour, material, volume = answer.body["features"]
    assert colour["variants"] == {
        str(sample.blue): {"variant_id": str(sample.blue), "variant": "Azul", "position": "0"}
    }
    assert (colour["variant_id"], colour["value"], colour["value_int"]) == (str(sample.blue), "Azul", "")
    assert (material["description"], material["value"], material["variant_id"]) == ("Material", "Ágata", "0")
    assert (volume["value"], volume["value_int"]) == ("350.5", "350")
    second = await sample.get(f"/api/products/{sample.mug}/features?items_per_page=1&page=2")
    assert second.body == {
        "features": [material],
        "params": {"page": 2, "items_per_page": 1, "total_items": 3},
    }


@pytest.mark.parametrize(
    "value",
    [
        "x",
        5,
        {"abc": "x"},
        [{"value": "x"}],
        ["x"],
        {"0": "x"},
        [[]],
        {str(UNKNOWN_NUMBER): "x"},
        {"1": {"value": {}}},
    ],
)
async def test_invalid_features_are_rejected(sample, value):
    answer = await sample.put(f"/api/products/{sample.mug}", {"product_features": value})
    assert answer.status == 400, answer.raw


async def test_a_feature_group_has_no_value(sample):
    group = await sample.add(Feature, name="Grupo", type="G")
    answer = await sample.put(f"/api/products/{sample.mug}", {"product_features": {str(group): "x"}})
    assert answer.status == 400


# --- Discussions -------------------------------------------------------------------------------------------------------------


async def test_the_discussions_of_a_product_are_listed(sample):
    answer = await sample.get(f"/api/products/{sample.mug}/discussions")
    assert answer.status == 200
    assert answer.body["params"]["total_items"] == 1
    (post,) = answer.body["discussions"]
    assert post.pop("timestamp").isdigit()
    assert post.pop("thread_id").isdigit()
    assert post == {
        "post_id": str(sample.review),
        "object_type": "P",
        "object_id": str(sample.mug),
        "type": "B",
        "name": "Caio",
        "message": "Linda",
        "rating_value": "5",
        "user_id": str(sample.caio),
        "ip_address": "",
        "status": "A",
        "company_id": str(sample.vendor),
    }
    assert (await sample.get(f"/api/products/{sample.plate}/discussions")).body["discussions"] == []


async def test_ip_addresses_of_posts_require_the_manage_privilege(sample):
    viewer = await sample.add_user("view_products")
    (post,) = (await sample.get(f"/api/products/{sample.mug}/discussions", by=viewer)).body["discussions"]
    assert "ip_address" not in post


# --- Errors ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body, message",
    [
        ({}, "product (name) is required"),
        ({"price": "1"}, "product (name) is required"),
        ({"product": "", "price": "1"}, "product (name) is required"),
        ({"product": None, "price": "1"}, "product (name) is required"),
        ({"product": "  ", "price": "1"}, "product (name) is required"),
        ({"product": "x"}, "price is required"),
        ({"product": "x", "price": ""}, "price is required"),
        ({"product": {}, "price": "1"}, "product (name) is {}; expected a text"),
        ({"product": "x", "price": "1.999"}, "price is '1.999'; expected at most two decimal places"),
        ({"product": "x", "price": "-1"}, "price is '-1'; expected zero or more"),
        ({"product": "x", "price": "1e3"}, "price is '1e3'; expected an amount such as \"129.90\""),
        ({"product": "x", "price": "abc"}, "price is 'abc'; expected an amount such as \"129.90\""),
        ({"product": "x", "price": True}, 'price is true; expected an amount such as "129.90"'),
        ({"product": "x", "price": "1", "status": "Z"}, "status is 'Z'; expected one of A, D, H, P"),
        ({"product": "x", "price": "1", "amount": "1.5"}, "amount is '1.5'; expected a whole number"),
        ({"product": "x", "price": "1", "amount": []}, "amount is []; expected a whole number"),
        ({"product": "x", "price": "1", "is_edp": "maybe"}, "is_edp is 'maybe'; expected Y or N"),
        ({"product": "x", "price": "1", "tracking": "Q"}, "tracking is 'Q'; expected one of B, D"),
        ({"product": "x", "price": "1", "company_id": "abc"}, "company_id is 'abc'; expected an id"),
        (
            {"product": "x", "price": "1", "weight": "-1"},
            "weight is '-1'; expected kilograms such as \"0.350\"",
        ),
        (
            {"product": "x", "price": "1", "main_pair": {"detailed": {"image_path": "ftp://a"}}},
            "image_path is 'ftp://a'; expected an http or https address",
        ),
        ({"product": "x" * 256, "price": "1"}, "product (name) has 256 characters; expected at most 255"),
    ],
)
async def test_invalid_input_is_rejected_with_the_legacy_field_name(sample, body, message):
    answer = await sample.post("/api/products", body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_a_negative_amount_is_rejected_with_the_legacy_field_name(sample):
    answer = await sample.put(f"/api/products/{sample.mug}", {"amount": -1})
    assert answer.status == 400
    assert answer.body["message"].startswith("amount is -1; expected")


@pytest.mark.parametrize(
    "field, word",
    [("company_id", "company_id"), ("category_ids", "category"), ("main_category", "category")],
)
async def test_a_reference_to_an_unknown_record_is_400(sample, field, word):
    for reference in (UNKNOWN_NUMBER, UNKNOWN_ID):
        answer = await sample.post("/api/products", NEW | {field: reference})
        assert answer.status == 400, (reference, answer.raw)
        assert answer.body["message"].startswith(f"{word} "), reference
        assert answer.body["message"].endswith("not found"), reference


async def test_a_deleted_product_is_not_found(sample):
    answer = await sample.delete(f"/api/products/{sample.mug}")
    assert (answer.status, answer.raw) == (204, b"")
    for method, path in (
        ("GET", ""),
        ("PUT", ""),
        ("DELETE", ""),
        ("GET", "/features"),
        ("GET", "/discussions"),
    ):
        missing = await sample.request(method, f"/api/products/{sample.mug}{path}", {} if method == "PUT" else None)
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Product not found"}), (method, path)
    listed = await sample.get("/api/products")
    assert str(sample.mug) not in [row["product_id"] for row in listed.body["products"]]
    order = await sample.get(f"/api/orders/{sample.order}")
    assert order.body["products"]["1"]["product"] == "Caneca de Ágata"


async def test_a_form_encoded_body_creates_a_product(sample):
    form = (
        f"product=Bule+de+Ch%C3%A1&price=79.90&amount=3&category_ids[]={sample.kitchen}&category_ids[]={sample.home}"
        f"&main_pair[detailed][image_path]=https%3A%2F%2Fimg.example.com%2Fb.jpg"
        f"&product_features[{sample.material}][feature_type]=T&product_features[{sample.material}][value]=Ferro"
    )
    for content_type in ("application/x-www-form-urlencoded", "text/plain"):
        answer = await sample.post("/api/products", data=form.encode(), headers={"Content-Type": content_type})
        assert answer.status == 201, (content_type, answer.raw)
        product = await read(sample, answer.body["product_id"])
        assert (product["product"], product["amount"]) == ("Bule de Chá", "3"), content_type
        assert product["category_ids"] == [str(sample.kitchen), str(sample.home)], content_type
        assert image_path(product["main_pair"]) == "https://img.example.com/b.jpg", content_type
        assert product["product_features"][str(sample.material)]["value"] == "Ferro", content_type


async def test_json_is_recognized_whatever_the_content_type(sample):
    for content_type in ("application/x-www-form-urlencoded", "text/plain", "application/octet-stream"):
        answer = await sample.post(
            "/api/products", data=b' {"product": "Bule", "price": 1}', headers={"Content-Type": content_type}
        )
        assert answer.status == 201, (content_type, answer.raw)


async def test_product_changes_emit_events(sample):
    product = await create(sample)
    await sample.put(f"/api/products/{product}", {"price": "1"})
    await sample.delete(f"/api/products/{product}")
    public_id = await sample.value("select public_id from products where id = $1", int(product))
    events = await sample.rows("select name from outbox_events where subject_id = $1 order by id", public_id)
    assert [row["name"] for row in events] == ["product.created", "product.updated", "product.deleted"]
