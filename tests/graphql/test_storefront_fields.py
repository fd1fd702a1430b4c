"""What a shop window shows: availability, price ranges, ratings, search engine texts, related products, paths of categories, carts."""

from __future__ import annotations

from typing import Any

import pytest

from models.tables.catalog import Category, Product, ProductImage
from models.tables.content import Page
from models.tables.marketplace import Vendor
from models.tables.options import Combination, CombinationChoice, Option, OptionVariant, ProductOption
from tests.harness.records import Record, UserRecord
from tests.harness.sample_store import SampleStore

AVAILABILITY = (
    "query($id: ID!) { product(id: $id) { is_available available_quantity combinations { stock is_available } } }"
)


async def read(sample: SampleStore, text: str, *, by: UserRecord | None = None, **variables: Any) -> Any:
    """Return the data that a customer gets, or another user."""
    body = {"query": text, "variables": variables}
    answer = await sample.post("/graphql", body, auth="bearer", by=by or sample.caio)
    assert "errors" not in answer.body, answer.body
    return answer.body["data"]


async def add_combination(sample: SampleStore, product: Record, *, stock: int, price: int = 0, **variant: Any) -> None:
    """Add an option with one variant, and the combination of it."""
    option = await sample.add(Option, name="Tamanho", product_id=product.number, inventory=True)
    chosen = await sample.add(OptionVariant, option_id=option.number, name="G", **variant)
    await sample.add(ProductOption, product_id=product.number, option_id=option.number)
    combination = await sample.add(
        Combination,
        product_id=product.number,
        hash=f"{option}_{chosen}",
        on_hand=stock,
        price_cents=price,
    )
    await sample.add(
        CombinationChoice, combination_id=combination.number, option_id=option.number, variant_id=chosen.number
    )


@pytest.mark.parametrize(
    "columns, expected",
    [
        ({"on_hand": 3}, (True, 3)),
        ({"on_hand": 3, "reserved": 3}, (False, 0)),
        ({"on_hand": 3, "min_quantity": 4}, (False, 3)),
        ({"on_hand": 0, "tracking": "D"}, (True, None)),
    ],
)
async def test_a_product_is_available_as_far_as_it_is_in_stock(
    sample: SampleStore, columns: Any, expected: Any
) -> None:
    product = (await read(sample, AVAILABILITY, id=(await sample.add_product(**columns)).id))["product"]
    assert (product["is_available"], product["available_quantity"]) == expected


async def test_a_product_with_combinations_is_available_as_far_as_they_are(sample: SampleStore) -> None:
    product = await sample.add_product(on_hand=100)
    await add_combination(sample, product, stock=0)
    shown = (await read(sample, AVAILABILITY, id=product.id))["product"]
    assert shown == {
        "is_available": False,
        "available_quantity": 0,
        "combinations": [{"stock": 0, "is_available": False}],
    }
    await add_combination(sample, product, stock=5)
    shown = (await read(sample, AVAILABILITY, id=product.id))["product"]
    assert (shown["is_available"], shown["available_quantity"]) == (True, 5)
    assert [combination["is_available"] for combination in shown["combinations"]] == [False, True]


async def test_the_products_of_a_disabled_vendor_are_not_available(sample: SampleStore) -> None:
    product = await sample.add_product(on_hand=3)
    await sample.execute("update vendors set status = 'D' where id = $1", sample.vendor.number)
    shown = (await read(sample, AVAILABILITY, by=sample.owner, id=product.id))["product"]
    assert (shown["is_available"], shown["available_quantity"]) == (False, 0)


async def test_the_price_range_is_what_carts_charge_for_the_combinations(sample: SampleStore) -> None:
    product = await sample.add_product(price_cents=1_005)
    text = "query($id: ID!) { product(id: $id) { price_range { min_cents max_cents } combinations { choices { option_id variant_id } } } }"
    assert (await read(sample, text, id=product.id))["product"]["price_range"] == {
        "min_cents": 1_005,
        "max_cents": 1_005,
    }
    await add_combination(sample, product, stock=1, price=-10, modifier=-500, modifier_type="P")  # -50.25
    await add_combination(sample, product, stock=1, price=20, modifier=5_000, modifier_type="P")  # 502.5
    await add_combination(sample, product, stock=1, modifier=1, modifier_type="A")
    shown = (await read(sample, text, id=product.id))["product"]
    charged = []
    for combination in shown["combinations"]:
        options = {choice["option_id"]: choice["variant_id"] for choice in combination["choices"]}
        pricing = "query($id: ID!, $o: JSON) { product(id: $id) { pricing(options: $o) { base_cents } } }"
        answer = await sample.post(
            "/graphql", {"query": pricing, "variables": {"id": product.id, "o": options}}, auth="bearer", by=sample.caio
        )
        charged.append(answer.body["data"]["product"]["pricing"]["base_cents"])
    assert charged == [945, 1_528, 1_006]
    assert shown["price_range"] == {"min_cents": min(charged), "max_cents": max(charged)}


async def test_ratings_count_published_reviews(sample: SampleStore) -> None:
    text = "query($id: ID!) { product(id: $id) { average_rating review_count } }"
    assert (await read(sample, text, id=sample.mug.id))["product"] == {"average_rating": 5.0, "review_count": 1}
    await sample.execute("update discussion_posts set status = 'D'")
    assert (await read(sample, text, id=sample.mug.id))["product"] == {"average_rating": None, "review_count": 0}


async def test_search_engines_get_the_name_unless_a_title_is_set(sample: SampleStore) -> None:
    text = "query($id: ID!) { product(id: $id) { name seo { title description } main_image { url } } }"
    plain = (await read(sample, text, id=(await sample.add_product()).id))["product"]
    assert plain["seo"] == {"title": plain["name"], "description": ""}
    assert plain["main_image"] is None
    titled = await sample.add_product(page_title="Título", meta_description="Texto")
    for position in (1, 0):
        await sample.add(ProductImage, product_id=titled.number, url=f"/{position}.png", position=position)
    shown = (await read(sample, text, id=titled.id))["product"]
    assert shown["seo"] == {"title": "Título", "description": "Texto"}
    assert shown["main_image"] == {"url": "/0.png"}


@pytest.mark.parametrize("model", [Category, Page, Vendor, Product])
async def test_every_record_with_a_page_has_texts_for_search_engines(sample: SampleStore, model: Any) -> None:
    name = model.__name__.lower()
    columns = {"lang_code": "pt"} if model is Page else {"price_cents": 1} if model is Product else {}
    record = await sample.add(model, name="Louça", slug="louca-nova", **columns)
    select = "page_title meta_keywords meta_description seo { title description keywords }"
    write = (
        f"mutation($id: ID!, $input: {model.__name__}Input!) {{ {name}_update(id: $id, input: $input) {{ {select} }} }}"
    )
    values = {"page_title": "Louça de ágata", "meta_keywords": "louça, ágata", "meta_description": "Feita à mão."}
    seo = {"title": "Louça de ágata", "description": "Feita à mão.", "keywords": "louça, ágata"}
    shown = {**values, "seo": seo}
    written = await read(sample, write, by=sample.owner, id=record.id, input=values)
    assert written[f"{name}_update"] == shown
    text = f"query($id: ID!) {{ {name}(id: $id) {{ {select} }} }}"
    assert (await read(sample, text, id=record.id))[name] == shown
    await read(sample, write, by=sample.owner, id=record.id, input={"page_title": None})
    assert (await read(sample, text, id=record.id))[name]["seo"] == seo | {"title": "Louça"}


@pytest.mark.parametrize("model", [Category, Page, Vendor, Product])
@pytest.mark.parametrize("is_long", [False, True])
async def test_descriptions_are_shown_as_plain_text(sample: SampleStore, model: Any, is_long: bool) -> None:
    columns = {"lang_code": "pt"} if model is Page else {"price_cents": 1} if model is Product else {}
    text = "palavra " * 20_000 if is_long else "&Aacute;gata"
    html = f"<p>{text}</p><script>x</script><p>azul</p>"
    record = await sample.add(model, name="Bule", slug="bule-novo", description=html, **columns)
    name = model.__name__.lower()
    query = f"query($id: ID!) {{ {name}(id: $id) {{ description plain: description_text }} }}"
    shown = f"{text.strip()}\nazul" if is_long else "Ágata\nazul"
    assert (await read(sample, query, id=record.id))[name] == {"description": html, "plain": shown}


async def test_the_title_of_a_page_may_be_written_by_its_earlier_name(sample: SampleStore) -> None:
    text = "mutation($input: PageInput!) { page_create(input: $input) { seo_title page_title } }"
    for name in ("seo_title", "page_title"):
        made = await read(sample, text, by=sample.owner, input={"name": "Trocas", name: "Trocar"})
        assert made["page_create"] == {"seo_title": "Trocar", "page_title": "Trocar"}, name


async def test_related_products_are_active_ones_of_the_category(sample: SampleStore) -> None:
    category = await sample.add(Category, name="Vidros")
    first, second, third, hidden = [
        await sample.add_product(category_id=category.number, status=status) for status in "AAAD"
    ]
    text = "query($id: ID!, $n: Int!) { product(id: $id) { related(first: $n) { id } } }"
    shown = (await read(sample, text, id=first.id, n=10))["product"]["related"]
    assert [product["id"] for product in shown] == [third.id, second.id]
    assert hidden.id not in str(shown)
    shown = (await read(sample, text, id=first.id, n=1))["product"]["related"]
    assert [product["id"] for product in shown] == [third.id]
    answer = await sample.post("/graphql", {"query": text, "variables": {"id": first.id, "n": 101}}, auth="bearer")
    assert answer.body["errors"][0]["message"] == "first is 101; expected 1 to 100"


async def test_null_in_a_nested_argument_or_directive_leaves_the_fields_around_it(sample: SampleStore) -> None:
    text = """query($n: Int, $on: Boolean = true) {
        me { email all: point_entries { id } point_entries(first: $n) { id } carts { id @include(if: $on) } }
    }"""
    body = {"query": text, "variables": {"n": None, "on": None}}
    answer = await sample.post("/graphql", body, auth="bearer", by=sample.caio)
    assert answer.body["data"]["me"] == {
        "email": sample.caio.email,
        "all": [],
        "point_entries": None,
        "carts": [],
    }
    [error] = answer.body["errors"]
    assert error["path"] == ["me", "point_entries"]
    assert error["message"].endswith("provided to non-null type 'Int!' not to be null.")


async def test_a_category_shows_its_path_from_the_root(sample: SampleStore) -> None:
    text = "query($id: ID!) { category(id: $id) { path { name } } }"
    data = await read(sample, text, id=sample.kitchen.id)
    assert data["category"]["path"] == [{"name": "Casa"}, {"name": "Cozinha"}]
    await sample.execute("update categories set status = 'H' where name = 'Casa'")
    assert (await read(sample, text, id=sample.kitchen.id))["category"]["path"] == [
        {"name": "Casa"},
        {"name": "Cozinha"},
    ]
    await sample.execute("update categories set status = 'D' where name = 'Casa'")
    assert (await read(sample, text, id=sample.kitchen.id))["category"] is None


async def test_a_cart_shows_its_units_and_chosen_options(sample: SampleStore) -> None:
    product = await sample.add_product()
    await add_combination(sample, product, stock=9, modifier=150)
    options = "query($id: ID!) { product(id: $id) { options { id variants { id } } } }"
    [option] = (await read(sample, options, id=product.id))["product"]["options"] or [None]
    [variant] = option["variants"]
    text = """mutation($input: CartInput) { cart_create(input: $input) { quantity_total items { options {
        option_id option { id name } name variant_id variant { id name } value modifier modifier_type }
        combination { stock } } } }"""
    items = [
        {"product_id": product.id, "quantity": 2, "options": {option["id"]: variant["id"]}},
        {"product_id": sample.ebook.id, "quantity": 3},
    ]
    cart = (await read(sample, text, input={"items": items}))["cart_create"]
    assert cart["quantity_total"] == 5
    chosen, plain = cart["items"]
    assert plain == {"options": [], "combination": None}
    assert chosen["combination"] == {"stock": 9}
    assert chosen["options"] == [
        {
            "option_id": option["id"],
            "option": {"id": option["id"], "name": "Tamanho"},
            "name": "Tamanho",
            "variant_id": variant["id"],
            "variant": {"id": variant["id"], "name": "G"},
            "value": "G",
            "modifier": 150,
            "modifier_type": "A",
        }
    ]


async def test_an_account_shows_its_own_orders_and_reviews(sample: SampleStore) -> None:
    data = await read(
        sample, "{ me { orders(first: 5) { edges { node { id } } } reviews { edges { node { message } } } } }"
    )
    orders = await read(sample, "{ orders(limit: 5) { id } }")
    own = [edge["node"] for edge in data["me"]["orders"]["edges"]]
    assert own == orders["orders"] != []
    assert data["me"]["reviews"] == {"edges": [{"node": {"message": "Linda"}}]}
