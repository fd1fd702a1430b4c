"""Check products over every route: what is written is read back, and what is wrong is told in the contract's words."""

from typing import Any

import pytest

from models.catalog import Feature
from tests.shop import NO_NUMBER, NOBODY, Shop

NEW = {"product": "Bule", "price": "79.90"}


async def create(shop: Shop, **body: Any) -> str:
    answer = await shop.post("/api/products", NEW | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"product_id"}
    return answer.body["product_id"]


async def shown(shop: Shop, product_id: Any) -> dict[str, Any]:
    answer = await shop.get(f"/api/products/{product_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_product_is_created_with_its_defaults(shop):
    product = await shown(shop, await create(shop))
    assert product["product"] == "Bule"
    assert product["price"] == "79.90"
    assert product["list_price"] == "0.00"
    assert product["product_code"] == ""
    assert product["amount"] == "0"
    assert product["status"] == "A"
    assert product["company_id"] == str(shop.vendor)  # the store's first
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
    "name, given, read_back",
    [
        ("product", "Chaleira", "Chaleira"),
        ("product_code", "CHA-1", "CHA-1"),
        ("product_code", 12345, "12345"),
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
        ("min_qty", "2", "2"),
        ("max_qty", 9, "9"),
        ("seo_name", "bule-azul", "bule-azul"),
    ],
)
async def test_a_field_is_read_back_after_creation_and_after_a_change(shop, name, given, read_back):
    created = await shown(shop, await create(shop, **{name: given}))
    assert created[name] == read_back
    product = str(shop.mug)
    if name == "seo_name":
        given = read_back = f"{given}-2"
    answer = await shop.put(f"/api/products/{product}", {name: given})
    assert (answer.status, answer.body) == (200, {"product_id": product})
    assert (await shown(shop, product))[name] == read_back


async def test_a_change_leaves_everything_else_as_it_was(shop):
    before = await shown(shop, shop.mug)
    answer = await shop.put(f"/api/products/{shop.mug}", {"price": 12})
    assert (answer.status, answer.body) == (200, {"product_id": str(shop.mug)})
    after = await shown(shop, shop.mug)
    assert after.pop("price") == "12.00"
    before.pop("price")
    before["updated_timestamp"] = after["updated_timestamp"]
    assert after == before


async def test_a_record_put_back_as_it_was_read_changes_nothing(shop):
    for product in (shop.mug, shop.plate, shop.ebook, shop.secret):
        before = await shown(shop, product)
        answer = await shop.put(f"/api/products/{product}", before)
        assert answer.status == 200, answer.raw
        after = await shown(shop, product)
        for record in (before, after):  # pictures are given new ids
            record["image_pairs"] = [
                pair["detailed"]["image_path"] for pair in record["image_pairs"].values()
            ]
            record["main_pair"] = record["main_pair"].get("detailed")
            record.pop("updated_timestamp")
        assert after == before


async def test_the_amount_is_what_can_still_be_sold(shop):
    reserved = await shop.value("select reserved from products where id = $1", shop.mug.number)
    assert reserved == 3
    await shop.put(f"/api/products/{shop.mug}", {"amount": "5"})
    assert (await shown(shop, shop.mug))["amount"] == "5"
    assert await shop.value("select on_hand from products where id = $1", shop.mug.number) == 8


@pytest.mark.parametrize("form", ["numbers", "texts", "one text", "commas", "uuids", "php map"])
async def test_categories_are_taken_in_every_form(shop, form):
    home, kitchen = shop.home, shop.kitchen
    given = {
        "numbers": [kitchen.number, home.number],
        "texts": [str(kitchen), str(home)],
        "one text": str(kitchen),
        "commas": f"{kitchen},{home}",
        "uuids": [kitchen.id, home.id],
        "php map": {"0": str(kitchen), "5": str(home)},
    }[form]
    product = await shown(shop, await create(shop, category_ids=given))
    expected = [str(kitchen)] if form == "one text" else [str(kitchen), str(home)]
    assert product["category_ids"] == expected
    assert product["main_category"] == str(kitchen)


async def test_the_main_category_is_chosen_among_the_categories_or_alone(shop):
    both = {"category_ids": [shop.home.number, shop.kitchen.number], "main_category": str(shop.kitchen)}
    product = await create(shop, **both)
    assert (await shown(shop, product))["main_category"] == str(shop.kitchen)
    assert (await shown(shop, product))["category_ids"] == [str(shop.kitchen), str(shop.home)]
    alone = await shown(shop, await create(shop, main_category=shop.hidden.number))
    assert (alone["main_category"], alone["category_ids"]) == (str(shop.hidden), [str(shop.hidden)])
    await shop.put(f"/api/products/{product}", {"category_ids": []})
    assert (await shown(shop, product))["category_ids"] == []


async def test_the_vendor_is_chosen_or_none(shop):
    assert (await shown(shop, await create(shop, company_id=shop.rival.number)))["company_id"] == str(
        shop.rival
    )
    assert (await shown(shop, await create(shop, company_id=str(shop.rival))))["company_name"] == "Casa Lua"
    assert (await shown(shop, await create(shop, company_id=0)))["company_id"] == "0"
    assert (await shown(shop, await create(shop, company_id="")))["company_id"] == str(shop.vendor)


async def test_a_code_may_be_repeated_here(shop):
    first, second = await create(shop, product_code="X"), await create(shop, product_code="X")
    found = await shop.get("/api/products?product_code=X&sort_by=product_id")
    assert list(found.body["products"]) == [first, second]


# --- Pictures ----------------------------------------------------------------------------------------------------------------


def picture(url: str, **more: Any) -> dict[str, Any]:
    return {"detailed": {"image_path": url, **more}}


def path_of(pair: dict[str, Any]) -> str:
    return pair["detailed"]["image_path"]


async def test_the_main_picture_is_shown_as_an_image_pair(shop):
    url = "https://img.example.com/bule.jpg"
    product = await create(shop, main_pair=picture(url, alt="Bule", image_x="640", image_y=480))
    pair = (await shown(shop, product))["main_pair"]
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


async def test_a_new_main_picture_leaves_the_others(shop):
    before = await shown(shop, shop.mug)
    await shop.put(f"/api/products/{shop.mug}", {"main_pair": picture("https://img.example.com/new.jpg")})
    after = await shown(shop, shop.mug)
    assert path_of(after["main_pair"]) == "https://img.example.com/new.jpg"
    assert after["image_pairs"] == before["image_pairs"]


async def test_new_further_pictures_leave_the_main_one(shop):
    before = await shown(shop, shop.mug)
    pairs = {"a": picture("https://img.example.com/a.jpg"), "b": picture("https://img.example.com/b.jpg")}
    await shop.put(f"/api/products/{shop.mug}", {"image_pairs": pairs})
    after = await shown(shop, shop.mug)
    assert after["main_pair"] == before["main_pair"]
    assert [path_of(pair) for pair in after["image_pairs"].values()] == [path_of(p) for p in pairs.values()]
    assert list(after["image_pairs"]) == [pair["pair_id"] for pair in after["image_pairs"].values()]
    await shop.put(f"/api/products/{shop.mug}", {"image_pairs": [picture("https://img.example.com/c.jpg")]})
    assert [path_of(p) for p in (await shown(shop, shop.mug))["image_pairs"].values()] == [
        "https://img.example.com/c.jpg"
    ]


@pytest.mark.parametrize("nothing", [None, {}, []])
async def test_pictures_are_taken_away(shop, nothing):
    await shop.put(f"/api/products/{shop.mug}", {"main_pair": nothing, "image_pairs": nothing})
    after = await shown(shop, shop.mug)
    assert (after["main_pair"], after["image_pairs"]) == ({}, {})


async def test_further_pictures_without_a_main_one_stay_further_ones(shop):
    product = await create(shop, image_pairs=[picture("https://img.example.com/a.jpg")])
    shown_product = await shown(shop, product)
    assert shown_product["main_pair"] == {}
    assert len(shown_product["image_pairs"]) == 1


@pytest.mark.parametrize(
    "field, given, message",
    [
        ("main_pair", "x.jpg", "main_pair is 'x.jpg'; expected an object such as {detailed: {image_path}}"),
        ("main_pair", {"detailed": {}}, "main_pair.detailed.image_path is required"),
        ("main_pair", {"detailed": {"image_path": 5}}, "main_pair.detailed.image_path is required"),
        ("main_pair", picture("javascript:alert(1)"), None),
        ("main_pair", picture("https://x.example/", image_x="big"), None),
        ("image_pairs", "x", "image_pairs is 'x'; expected an object of image pairs"),
        ("image_pairs", ["x"], None),
    ],
)
async def test_pictures_that_are_none_are_refused(shop, field, given, message):
    answer = await shop.put(f"/api/products/{shop.mug}", {field: given})
    assert answer.status == 400
    assert set(answer.body) == {"status", "message"}
    if message:
        assert answer.body["message"] == message


# --- Features ----------------------------------------------------------------------------------------------------------------


async def test_features_are_written_in_every_form_and_shown_by_their_id(shop):
    forms = [
        {str(shop.material): {"feature_type": "T", "value": "Ferro"}},
        {str(shop.material): "Ferro"},
        {shop.material.id: "Ferro"},
        [{"feature_id": shop.material.number, "value": "Ferro"}],
        {"x": {"feature_id": str(shop.material), "value": "Ferro"}},
    ]
    for form in forms:
        product = await shown(shop, await create(shop, product_features=form))
        assert product["product_features"] == {
            str(shop.material): {
                "feature_id": str(shop.material),
                "feature_type": "T",
                "description": "Material",
                "value": "Ferro",
                "variant_id": "0",
                "variants": {},
            }
        }


async def test_a_variant_is_chosen_by_name_or_id(shop):
    for value in (
        {"value": "Azul"},
        {"variant_id": str(shop.blue)},
        {"variant_id": shop.blue.number, "value": "x"},
    ):
        product = await shown(shop, await create(shop, product_features={str(shop.colour): value}))
        feature = product["product_features"][str(shop.colour)]
        assert (feature["value"], feature["variant_id"]) == ("Azul", str(shop.blue))
        assert feature["variants"] == {
            str(shop.blue): {"variant_id": str(shop.blue), "variant": "Azul", "position": "0"}
        }


async def test_features_that_are_not_named_stay_and_an_empty_value_takes_one_away(shop):
    await shop.put(f"/api/products/{shop.mug}", {"product_features": {str(shop.volume): "350"}})
    features = (await shown(shop, shop.mug))["product_features"]
    assert set(features) == {str(shop.colour), str(shop.material), str(shop.volume)}
    await shop.put(f"/api/products/{shop.mug}", {"product_features": {str(shop.volume): ""}})
    assert set((await shown(shop, shop.mug))["product_features"]) == {str(shop.colour), str(shop.material)}


async def test_the_list_of_features_below_a_product(shop):
    await shop.put(f"/api/products/{shop.mug}", {"product_features": {str(shop.volume): "350.5"}})
    answer = await shop.get(f"/api/products/{shop.mug}/features")
    assert answer.status == 200
    assert answer.body["params"] == {"page": 1, "items_per_page": 10, "total_items": 3}
    colour, material, volume = answer.body["features"]
    assert colour["variants"] == {
        str(shop.blue): {"variant_id": str(shop.blue), "variant": "Azul", "position": "0"}
    }
    assert (colour["variant_id"], colour["value"], colour["value_int"]) == (str(shop.blue), "Azul", "")
    assert (material["description"], material["value"], material["variant_id"]) == ("Material", "Ágata", "0")
    assert (volume["value"], volume["value_int"]) == ("350.5", "350")
    second = await shop.get(f"/api/products/{shop.mug}/features?items_per_page=1&page=2")
    assert second.body == {
        "features": [material],
        "params": {"page": 2, "items_per_page": 1, "total_items": 3},
    }


@pytest.mark.parametrize(
    "given",
    [
        "x",
        5,
        {"abc": "x"},
        [{"value": "x"}],
        ["x"],
        {"0": "x"},
        [[]],
        {str(NO_NUMBER): "x"},
        {"1": {"value": {}}},
    ],
)
async def test_features_that_are_none_are_refused(shop, given):
    answer = await shop.put(f"/api/products/{shop.mug}", {"product_features": given})
    assert answer.status == 400, answer.raw


async def test_a_group_takes_no_value(shop):
    group = await shop.add(Feature, name="Grupo", type="G")
    answer = await shop.put(f"/api/products/{shop.mug}", {"product_features": {str(group): "x"}})
    assert answer.status == 400


# --- Discussions -------------------------------------------------------------------------------------------------------------


async def test_the_discussions_below_a_product(shop):
    answer = await shop.get(f"/api/products/{shop.mug}/discussions")
    assert answer.status == 200
    assert answer.body["params"]["total_items"] == 1
    (post,) = answer.body["discussions"]
    assert post.pop("timestamp").isdigit()
    assert post.pop("thread_id").isdigit()
    assert post == {
        "post_id": str(shop.review),
        "object_type": "P",
        "object_id": str(shop.mug),
        "type": "B",
        "name": "Caio",
        "message": "Linda",
        "rating_value": "5",
        "user_id": str(shop.caio),
        "ip_address": "",
        "status": "A",
    }
    assert (await shop.get(f"/api/products/{shop.plate}/discussions")).body["discussions"] == []


async def test_addresses_of_posts_are_for_those_who_manage_products(shop):
    viewer = await shop.new_person("view_products")
    (post,) = (await shop.get(f"/api/products/{shop.mug}/discussions", by=viewer)).body["discussions"]
    assert "ip_address" not in post


# --- Refusals ----------------------------------------------------------------------------------------------------------------


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
        ({"product": "x", "price": True}, 'price is True; expected an amount such as "129.90"'),
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
        ({"product": "x" * 256, "price": "1"}, "product (name) has 256 characters; expected at most 255"),
    ],
)
async def test_what_is_wrong_is_told_with_the_legacy_name(shop, body, message):
    answer = await shop.post("/api/products", body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_a_negative_amount_is_told_with_the_legacy_name(shop):
    answer = await shop.put(f"/api/products/{shop.mug}", {"amount": -1})
    assert answer.status == 400
    assert answer.body["message"].startswith("amount is -1; expected")


@pytest.mark.parametrize(
    "field, word",
    [("company_id", "company_id"), ("category_ids", "category"), ("main_category", "category")],
)
async def test_a_record_referred_to_that_is_not_there_is_a_mistake(shop, field, word):
    for reference in (NO_NUMBER, NOBODY):
        answer = await shop.post("/api/products", NEW | {field: reference})
        assert answer.status == 400, answer.raw
        assert answer.body["message"].startswith(f"{word} ")
        assert answer.body["message"].endswith("not found")


async def test_a_deleted_product_is_gone_everywhere(shop):
    answer = await shop.delete(f"/api/products/{shop.mug}")
    assert (answer.status, answer.raw) == (204, b"")
    for method, path in (
        ("GET", ""),
        ("PUT", ""),
        ("DELETE", ""),
        ("GET", "/features"),
        ("GET", "/discussions"),
    ):
        gone = await shop.call(method, f"/api/products/{shop.mug}{path}", {} if method == "PUT" else None)
        assert (gone.status, gone.body) == (404, {"status": 404, "message": "Product not found"})
    listed = await shop.get("/api/products")
    assert str(shop.mug) not in [row["product_id"] for row in listed.body["products"]]
    kept = await shop.get(f"/api/orders/{shop.order}")
    assert kept.body["products"]["1"]["product"] == "Caneca de Ágata"


async def test_a_php_form_makes_a_product_too(shop):
    form = (
        f"product=Bule+de+Ch%C3%A1&price=79.90&amount=3&category_ids[]={shop.kitchen}&category_ids[]={shop.home}"
        f"&main_pair[detailed][image_path]=https%3A%2F%2Fimg.example.com%2Fb.jpg"
        f"&product_features[{shop.material}][feature_type]=T&product_features[{shop.material}][value]=Ferro"
    )
    for kind in ("application/x-www-form-urlencoded", "text/plain"):
        answer = await shop.post("/api/products", data=form.encode(), headers={"Content-Type": kind})
        assert answer.status == 201, answer.raw
        product = await shown(shop, answer.body["product_id"])
        assert (product["product"], product["amount"]) == ("Bule de Chá", "3")
        assert product["category_ids"] == [str(shop.kitchen), str(shop.home)]
        assert path_of(product["main_pair"]) == "https://img.example.com/b.jpg"
        assert product["product_features"][str(shop.material)]["value"] == "Ferro"


async def test_json_counts_whatever_the_content_type_says(shop):
    for kind in ("application/x-www-form-urlencoded", "text/plain", "application/octet-stream"):
        answer = await shop.post(
            "/api/products", data=b' {"product": "Bule", "price": 1}', headers={"Content-Type": kind}
        )
        assert answer.status == 201, (kind, answer.raw)


async def test_products_tell_of_their_changes_to_the_outbox(shop):
    product = await create(shop)
    await shop.put(f"/api/products/{product}", {"price": "1"})
    await shop.delete(f"/api/products/{product}")
    public_id = await shop.value("select public_id from products where id = $1", int(product))
    told = await shop.rows("select name from outbox_events where subject_id = $1 order by id", public_id)
    assert [row["name"] for row in told] == ["product.created", "product.updated", "product.deleted"]
