"""Collections picked by hand, and tags of products."""

from __future__ import annotations

from typing import Any

import pytest

from domain.promotions.promotions import PROMOTION_RECORDS
from kernel.scope import active_scope
from tests.harness.http import Response
from tests.harness.records import UNKNOWN_ID, Record
from tests.harness.sample_store import SampleStore

CREATE = (
    "mutation($input: CollectionCreateInput!) { collection_create(input: $input) { id slug status product_count } }"
)
UPDATE = "mutation($id: ID!, $input: CollectionInput!) { collection_update(id: $id, input: $input) { id updated_at } }"
PAGE = """query($slug: String!, $first: Int, $after: String) { collection(slug: $slug) { name description_text product_count
    image { url alt } seo { title description }
    products(first: $first, after: $after) { edges { node { name pricing { price_cents } } }
        page_info { has_next_page end_cursor } } } }"""
TAGS = (
    "query($search: String, $first: Int! = 100) { product_tags(search: $search, first: $first) { name product_count } }"
)
BY_TAG = "query($tag: [String!]) { products(filter: {tag: $tag}, sort: NAME_ASC) { name tags } }"
SEARCH = (
    "query($tag: [String!]) { product_search(filter: {tag: $tag}, sort: NAME_ASC) { total edges { node { name } } } }"
)
SEARCH_COLLECTION = """query($filter: ProductSearchFilter!) { product_search(filter: $filter, sort: PRICE_ASC) {
    total_count edges { node { name pricing { price_cents } } } facets { availability { count } } } }"""
TAG = "mutation($id: ID!, $tags: [String!]) { product_update(id: $id, input: {tags: $tags}) { tags updated_at } }"


async def post(sample: SampleStore, query: str, auth: str, variables: dict[str, Any]) -> Response:
    """Send an operation as the store's owner (`bearer`) or a visitor of its storefront."""
    client = await (sample.client(sample.owner) if auth == "bearer" else sample.shopper())
    return await client.post("/graphql", {"query": query, "variables": variables})


async def ask(sample: SampleStore, query: str, auth: str = "bearer", **variables: Any) -> Any:
    answer = await post(sample, query, auth, variables)
    assert "errors" not in answer.body, answer.body
    return answer.body["data"]


async def refused(sample: SampleStore, query: str, auth: str = "bearer", **variables: Any) -> dict[str, Any]:
    answer = await post(sample, query, auth, variables)
    extensions: dict[str, Any] = answer.body["errors"][0]["extensions"]
    return extensions


async def add_products(sample: SampleStore, *names: str) -> list[Record]:
    return [await sample.add_product(name=name, slug=name.lower(), price_cents=1_000) for name in names]


async def created(sample: SampleStore, products: list[Record], **fields: Any) -> Any:
    fields = {"name": "Presentes de Natal", "product_ids": [product.id for product in products], **fields}
    return (await ask(sample, CREATE, input=fields))["collection_create"]


def names_of(collection: Any) -> list[str]:
    return [edge["node"]["name"] for edge in collection["products"]["edges"]]


async def test_the_ids_of_all_products_are_read_in_their_order(sample: SampleStore) -> None:
    first, second = await add_products(sample, "Moringa", "Prato")
    collection = await created(sample, [second, first])
    read = "query ($id: ID!) { collection(id: $id) { name product_ids } collections { name product_ids } }"
    answer = await ask(sample, read, id=collection["id"])
    expected = {"name": "Presentes de Natal", "product_ids": [second.id, first.id]}
    assert (answer["collection"], answer["collections"]) == (expected, [expected])


async def test_a_collection_shows_its_products_in_its_order_page_by_page(sample: SampleStore) -> None:
    first, second, third = await add_products(sample, "Moringa", "Prato", "Bule")
    image = {"url": "https://img.example/natal.jpg", "alt": "Natal"}
    texts = {"description": "<p>Para dar</p>", "page_title": "Natal", "meta_description": "Ideias"}
    collection = await created(sample, [second, third, first], image=image, **texts)
    assert collection == {"id": collection["id"], "slug": "presentes-de-natal", "status": "A", "product_count": 3}
    page = (await ask(sample, PAGE, "storefront", slug="presentes-de-natal", first=2))["collection"]
    assert (page["description_text"], page["image"], page["seo"]) == (
        "Para dar",
        image,
        {"title": "Natal", "description": "Ideias"},
    )
    assert (names_of(page), page["products"]["page_info"]["has_next_page"]) == (["Prato", "Bule"], True)
    after = page["products"]["page_info"]["end_cursor"]
    rest = (await ask(sample, PAGE, "storefront", slug="presentes-de-natal", first=2, after=after))["collection"]
    assert names_of(rest) == ["Moringa"]


async def test_products_are_replaced_by_those_of_an_update_and_else_stay(sample: SampleStore) -> None:
    first, second, third = await add_products(sample, "Moringa", "Prato", "Bule")
    collection = await created(sample, [first, second])
    for products, expected in (
        (None, ["Moringa", "Prato"]),
        ([third, first], ["Bule", "Moringa"]),
        ([third, first, third], ["Bule", "Moringa"]),
        ([], []),
    ):
        fields = {"name": "Natal"} if products is None else {"product_ids": [product.id for product in products]}
        await ask(sample, UPDATE, id=collection["id"], input=fields)
        page = (await ask(sample, PAGE, slug="presentes-de-natal"))["collection"]
        assert (page["name"], names_of(page)) == ("Natal", expected), products
    before = await sample.value("select count(*) from audit_entries where action = 'collection.updated'")
    await ask(sample, UPDATE, id=collection["id"], input={"product_ids": [], "name": "Natal"})
    assert await sample.value("select count(*) from audit_entries where action = 'collection.updated'") == before == 3


async def test_wrong_collections_are_refused(sample: SampleStore) -> None:
    for fields, code in (
        ({"name": ""}, "name_required"),
        ({"name": "x", "position": -1}, "position_invalid"),
        ({"name": "x", "product_ids": [UNKNOWN_ID]}, "not_found"),
        ({"name": "x", "product_ids": ["1e9"]}, "not_found"),
        ({"name": "x", "product_ids": [UNKNOWN_ID] * 1_001}, "too_many"),
        ({"name": "x", "image": {"url": "javascript:alert(1)"}}, "url_invalid"),
    ):
        details = await refused(sample, CREATE, input=fields)
        assert code in str(details), (fields, details)
    assert await sample.value("select count(*) from collections") == 0


async def test_shoppers_see_what_is_shown_and_nothing_of_another_state(sample: SampleStore) -> None:
    shown, hidden, deleted = await add_products(sample, "Moringa", "Prato", "Bule")
    collection = await created(sample, [hidden, shown, deleted])
    await sample.execute("update products set status = 'H' where id = $1", hidden.number)
    await sample.execute("update products set deleted_at = now() where id = $1", deleted.number)
    for auth, expected in (("storefront", ["Moringa"]), ("bearer", ["Prato", "Moringa"])):
        page = (await ask(sample, PAGE, auth, slug="presentes-de-natal"))["collection"]
        assert (names_of(page), page["product_count"]) == (expected, len(expected)), auth
    await ask(sample, UPDATE, id=collection["id"], input={"status": "D"})
    one = "query($id: ID!) { collection(id: $id) { name } collections { id } node(id: $id) { id } }"
    hidden_one = await ask(sample, one, "storefront", id=collection["id"])
    assert hidden_one == {"collection": None, "collections": [], "node": None}
    assert (await ask(sample, one, id=collection["id"]))["collection"] == {"name": "Presentes de Natal"}
    await ask(sample, "mutation($id: ID!) { collection_delete(id: $id) { id } }", id=collection["id"])
    assert (await ask(sample, one, id=collection["id"]))["collection"] is None
    await created(sample, [], slug="presentes-de-natal")


async def test_a_search_in_a_collection_sorts_by_the_price_paid(sample: SampleStore) -> None:
    bowl, cup, _ = await add_products(sample, "Tigela", "Xícara", "Jarra")
    with active_scope(sample.scope):
        discounted = {"conditions": {"products": [cup.number]}, "bonuses": {"product_discount": "10%"}}
        await PROMOTION_RECORDS.create(sample.scope, {"zone": "catalog", "name": "Oferta", **discounted})
    shown = await created(sample, [bowl, cup])
    hidden = await created(sample, [bowl], name="Escondida", status="D")
    both, one, none = ["Xícara", "Tigela"], ["Tigela"], list[str]()
    cases: list[tuple[dict[str, Any], list[str], list[str]]] = [
        ({"collection_id": [shown["id"]]}, both, both),
        ({"collection_slug": [shown["slug"]]}, both, both),
        ({"collection_slug": [shown["slug"]], "price_from": 1_000}, one, one),
        ({"collection_id": [hidden["id"]]}, one, none),
        ({"collection_slug": [hidden["slug"]], "collection_id": [shown["id"]]}, both, both),
        ({"collection_id": [UNKNOWN_ID, "x"]}, none, none),
        ({"collection_slug": [""]}, none, none),
        ({"collection_id": []}, none, none),
    ]
    for filter, *expected in cases:
        for auth, names in zip(("bearer", "visitor"), expected, strict=True):
            search = (await ask(sample, SEARCH_COLLECTION, auth, filter=filter))["product_search"]
            assert [edge["node"]["name"] for edge in search["edges"]] == names, (filter, auth)
            assert search["total_count"] == len(names), (filter, auth)
    too_many = await refused(sample, SEARCH_COLLECTION, filter={"collection_slug": ["x"] * 101})
    assert too_many["code"] == "VALIDATION_FAILED"


async def test_only_administrators_of_the_catalogue_and_apps_write_collections(sample: SampleStore) -> None:
    for person in (sample.vendor_user, sample.caio):
        client = await sample.client(person)
        answer = await client.post("/graphql", {"query": CREATE, "variables": {"input": {"name": "x"}}})
        assert answer.body["errors"][0]["extensions"]["code"] == "FORBIDDEN", (person, answer.body)
    assert (await refused(sample, CREATE, "storefront", input={"name": "x"}))["code"] == "FORBIDDEN"


async def test_pages_of_collections_take_as_many_statements_with_more_products(sample: SampleStore) -> None:
    products = await add_products(sample, *(f"Moringa {number}" for number in range(12)))
    collection = await created(sample, products[:2])
    query = """{ collections { name image { url } product_count products(first: 50) { edges { node { name tags
        pricing { price_cents } } } } } }"""
    await ask(sample, query)
    counts = []
    for _ in range(2):
        answer = await sample.post("/graphql", {"query": query}, auth="bearer")
        counts.append(answer.statements)
        await ask(sample, UPDATE, id=collection["id"], input={"product_ids": [product.id for product in products]})
        await created(sample, products, slug="outra")
    assert counts[0] == counts[1] <= 6, counts


# --- tags ---------------------------------------------------------------------------------------------------------------------


async def test_tags_are_stored_once_in_lower_case(sample: SampleStore) -> None:
    [product] = await add_products(sample, "Moringa")
    tags = ["  Verão ", "verão", "Feito  à mão", "Verão".replace("ã", "a\u0303")]
    changed = (await ask(sample, TAG, id=product.id, tags=tags))["product_update"]
    assert changed["tags"] == ["feito à mão", "verão"]
    same = (await ask(sample, TAG, id=product.id, tags=["VERÃO", "feito à mão"]))["product_update"]
    assert same == changed
    other = 'mutation($id: ID!) { product_update(id: $id, input: {name: "Jarro"}) { tags } }'
    assert (await ask(sample, other, id=product.id))["product_update"]["tags"] == changed["tags"]
    assert (await ask(sample, TAG, id=product.id, tags=[]))["product_update"]["tags"] == []


@pytest.mark.parametrize(
    "tags,code",
    [
        ([""], "tags_invalid"),
        (["x" * 65], "tags_invalid"),
        (["a\u0000"], ""),
        ([f"t{n}" for n in range(51)], "too_many"),
    ],
)
async def test_wrong_tags_are_refused(sample: SampleStore, tags: list[str], code: str) -> None:
    [product] = await add_products(sample, "Moringa")
    assert code in str(await refused(sample, TAG, id=product.id, tags=tags))
    assert await sample.value("select count(*) from product_tags") == 0


async def test_products_are_listed_and_searched_by_tag_and_tags_are_counted(sample: SampleStore) -> None:
    vase, plate, pot = await add_products(sample, "Moringa", "Prato", "Bule")
    await ask(sample, TAG, id=vase.id, tags=["barro", "novo"])
    await ask(sample, TAG, id=plate.id, tags=["barro"])
    await ask(sample, TAG, id=pot.id, tags=["segredo", "barro"])
    await sample.execute("update products set status = 'D' where id = $1", pot.number)
    for auth, of_clay in (("bearer", ["Bule", "Moringa", "Prato"]), ("storefront", ["Moringa", "Prato"])):
        for tag, expected in ((["Barro"], of_clay), (["novo", "nenhum"], ["Moringa"]), (["nenhum"], []), ([], [])):
            listed = (await ask(sample, BY_TAG, auth, tag=tag))["products"]
            assert [product["name"] for product in listed] == expected, (auth, tag)
            searched = (await ask(sample, SEARCH, auth, tag=tag))["product_search"]
            assert [edge["node"]["name"] for edge in searched["edges"]] == expected, (auth, tag)
            assert searched["total"] == len(expected), (auth, tag)
    tags = (await ask(sample, TAGS, "storefront"))["product_tags"]
    assert tags == [{"name": "barro", "product_count": 2}, {"name": "novo", "product_count": 1}]
    assert [tag["name"] for tag in (await ask(sample, TAGS))["product_tags"]] == ["barro", "novo", "segredo"]
    assert [tag["name"] for tag in (await ask(sample, TAGS, search="ARR"))["product_tags"]] == ["barro"]
    assert (await ask(sample, TAGS, first=0))["product_tags"] == []
    for variables in ({"first": -1}, {"first": 1_001}, {"search": "x" * 201}):
        assert (await refused(sample, TAGS, **variables))["code"] == "VALIDATION_FAILED", variables


async def test_500_products_with_tags_are_written_in_as_many_statements_as_one(sample: SampleStore) -> None:
    upsert = "mutation($rows: [ProductUpsertInput!]!) { product_bulk_upsert(rows: $rows) { error { message } } }"
    counts = []
    for count in (1, 500):
        rows = [{"sku": f"S{n}", "name": "x", "price_cents": 1, "tags": [f"t{n}", "t"]} for n in range(count)]
        answer = await sample.post("/graphql", {"query": upsert, "variables": {"rows": rows}}, auth="bearer")
        assert all(row["error"] is None for row in answer.body["data"]["product_bulk_upsert"]), (count, answer.body)
        counts.append(answer.statements)
    assert counts[1] <= counts[0] + 2, counts
    assert await sample.value("select count(*) from product_tags") == 1_000
