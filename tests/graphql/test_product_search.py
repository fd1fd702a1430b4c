"""The product search: what is returned, in which order, and what is corrected (docs/reference/graphql.md#search)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from models.tables.catalog import Product
from tests.harness.records import Record
from tests.harness.sample_store import SampleStore

DOCUMENT = """
query Search(
  $query: String, $filter: ProductSearchFilter, $sort: ProductSearchSort, $first: Int, $after: String, $last: Int, $before: String
) {
  product_search(query: $query, filter: $filter, sort: $sort, first: $first, after: $after, last: $last, before: $before) {
    total corrected_query edges { cursor node { name } }
    page_info { has_next_page has_previous_page start_cursor end_cursor }
  }
}
"""
Search: TypeAlias = Callable[..., Awaitable[Any]]


@pytest.fixture
async def empty(sample: SampleStore) -> SampleStore:
    """Return the store without its products."""
    await sample.execute("update products set deleted_at = now()")
    return sample


@pytest.fixture
def search(empty: SampleStore) -> Search:
    """Return a function that searches as a customer, and returns the connection."""

    async def run(query: str | None = None, *, counted: str = "total", **variables: Any) -> Any:
        body = {"query": DOCUMENT.replace("total", counted), "variables": {"query": query, **variables}}
        answer = await empty.post("/graphql", body, auth="bearer", by=empty.caio)
        assert "errors" not in answer.body, answer.body
        return answer.body["data"]["product_search"]

    return run


async def add(sample: SampleStore, name: str, **columns: Any) -> Record:
    return await sample.add_product(**{"name": name, "sku": "", "on_hand": 5, **columns})


def names(result: Any) -> list[str]:
    return [edge["node"]["name"] for edge in result["edges"]]


@pytest.mark.parametrize(
    "text, query",
    [
        ("Calçado de Couro", "calcado"),
        ("Calçado de Couro", "CALÇADOS"),
        ("Calçado de Couro", "calç cour"),
        ("Calçado de Couro", "couro para calçado"),  # `para` is a stop word
        ("Camiseta Vermelha", "camisetas vermelhas"),
        ("Camisetas Vermelhas", "camiseta vermelho"),
        ("Botões dourados", "botão dourado"),
        ("Anéis de prata", "anel"),
        ("Lençol infantil", "lençóis infantis"),
        ("Animal de pelúcia", "animais"),
        ("Kit 10E5KIT", "10e5kit"),
        ("Kit 10E5KIT", "10e5"),
        ("Parafuso ABC-123", "abc-123"),
        ("Parafuso ABC-123", "abc123"),
        ("Parafuso ABC-123", "ABC-1"),
        ("Parafuso ABC123", "abc-123"),
        ("Guarda-chuva", "guardachuva"),
        ("Guarda‑chuva", "guarda-chuvas"),  # U+2011  # noqa: RUF001
        ("Camiseta", "camis"),
        ("Straße", "strase"),
        ("日本語 テスト", "日本"),
    ],
)
async def test_a_product_is_found(search: Search, empty: SampleStore, text: str, query: str) -> None:
    await add(empty, text)
    await add(empty, "Outra coisa")
    result = await search(query)
    assert (names(result), result["total"], result["corrected_query"]) == ([text], 1, None)


@pytest.mark.parametrize("sku", ["CAN-38/B", "CAN.38.B", "CAN_38_B", "CAN 38 B"])
@pytest.mark.parametrize("query", ["can-38/b", "can38b", "can-38", "CAN38", "38"])
async def test_a_code_is_found_with_and_without_its_separators(
    search: Search, empty: SampleStore, sku: str, query: str
) -> None:
    await add(empty, "Caneca", sku=sku)
    assert names(await search(query)) == ["Caneca"]


@pytest.mark.parametrize(
    "text, query",
    [
        ("Kit 10E5KIT", "10e6"),
        ("Parafuso ABC-123", "abc-124"),
        ("Caneca", "!!!"),
        ("Caneca", "de"),
        ("Caneca", "~canec"),
    ],
)
async def test_a_product_is_not_found(search: Search, empty: SampleStore, text: str, query: str) -> None:
    await add(empty, text)
    result = await search(query)
    if query == "~canec":  # what is left of it is a beginning
        assert names(result) == [text]
    else:
        assert (names(result), result["total"]) == ([], 0)


@pytest.mark.parametrize("query", [None, "", "  "])
async def test_without_a_query_all_products_are_found(search: Search, empty: SampleStore, query: str | None) -> None:
    await add(empty, "Caneca")
    await add(empty, "Prato")
    assert set(names(await search(query))) == {"Caneca", "Prato"}


async def test_relevance_is_name_then_exactness_then_availability_then_age(search: Search, empty: SampleStore) -> None:
    expected = [
        "Camiseta azul",
        "Camiseta azul, antiga",
        "Camiseta azul, esgotada",
        "Camisetas azuis",
        "Camisetas azuis, esgotadas",
        "Camiseta, por dentro",
        "Só na descrição",
        "Só na descrição, esgotada",
        "Só na descrição, no plural",
    ]
    columns: dict[str, dict[str, Any]] = {
        "Camiseta azul, esgotada": {"on_hand": 0},
        "Camisetas azuis, esgotadas": {"on_hand": 0},
        "Camiseta, por dentro": {"description": "azul"},
        "Só na descrição": {"description": "camiseta azul"},
        "Só na descrição, esgotada": {"description": "camiseta azul", "on_hand": 0},
        "Só na descrição, no plural": {"short_description": "camisetas azuis"},
    }
    for name in reversed(expected):
        await add(empty, name, **columns.get(name, {}))
    assert names(await search("camiseta azul")) == expected


async def test_without_a_query_available_products_come_first(search: Search, empty: SampleStore) -> None:
    for name, on_hand in (("A", 0), ("B", 1), ("C", 0), ("D", 1)):
        await add(empty, name, on_hand=on_hand)
    assert names(await search()) == ["D", "B", "C", "A"]


@pytest.mark.parametrize(
    "sort, expected",
    [
        ("PRICE_ASC", ["B", "C", "A"]),
        ("PRICE_DESC", ["A", "C", "B"]),
        ("CREATED_AT_ASC", ["A", "B", "C"]),
        ("NAME_DESC", ["C", "B", "A"]),
        ("ID_ASC", ["A", "B", "C"]),
        ("COMPARE_AT_DESC", ["C", "B", "A"]),
    ],
)
async def test_results_are_sorted(search: Search, empty: SampleStore, sort: str, expected: list[str]) -> None:
    for name, price in (("A", 300), ("B", 100), ("C", 200)):
        await add(empty, name, price_cents=price, description="peça", created_at=f"2026-01-0{ord(name) - 64}T00:00:00Z")
    assert names(await search("peça", sort=sort)) == expected


@pytest.mark.parametrize(
    "sort", [None, "RELEVANCE", "PRICE_ASC", "PRICE_DESC", "NAME_ASC", "CREATED_AT_DESC", "RATING_DESC"]
)
async def test_pages_hold_each_product_once_in_both_directions(
    search: Search, empty: SampleStore, sort: str | None
) -> None:
    for number in range(7):
        await add(empty, f"Caneca {number % 3}", price_cents=100 * (number % 2), on_hand=number % 2)
    whole = await search("caneca", sort=sort)
    cursors = [edge["cursor"] for edge in whole["edges"]]
    assert len(set(cursors)) == 7
    forward: list[str] = []
    page = await search("caneca", sort=sort, first=3)
    assert not page["page_info"]["has_previous_page"]
    while True:
        forward += [edge["cursor"] for edge in page["edges"]]
        if not page["page_info"]["has_next_page"]:
            break
        page = await search("caneca", sort=sort, first=3, after=page["page_info"]["end_cursor"])
    backward: list[str] = []
    page = await search("caneca", sort=sort, last=3)
    assert not page["page_info"]["has_next_page"]
    while True:
        backward = [edge["cursor"] for edge in page["edges"]] + backward
        if not page["page_info"]["has_previous_page"]:
            break
        page = await search("caneca", sort=sort, last=3, before=page["page_info"]["start_cursor"])
    assert forward == backward == cursors


@pytest.mark.parametrize("counted", ["total: total_count", "other: total total: total_count @include(if: true)"])
async def test_the_number_of_products_has_the_name_that_other_connections_have(
    search: Search, empty: SampleStore, counted: str
) -> None:
    for number in range(3):
        await add(empty, f"Caneca {number}")
    assert (await search("caneca", first=1, counted=counted))["total"] == 3


@pytest.mark.parametrize(
    "counted", ["", "facets { availability { count } }", "total facets { availability { count } }"]
)
@pytest.mark.parametrize("sort", ["RELEVANCE", "ID_ASC", "PRICE_DESC"])
async def test_a_catalogue_has_the_same_pages_whatever_is_counted(
    search: Search, empty: SampleStore, sort: str, counted: str
) -> None:
    for number in range(17):
        await add(empty, f"Peça {number}", price_cents=100 * (number % 2), on_hand=int(number % 3 == 0))
    cursors = [edge["cursor"] for edge in (await search(sort=sort))["edges"]]
    assert len(cursors) == 17
    for size in (1, 5, 6, 20):
        for start in (0, 4, 5, 6, 16):
            after, before = (cursors[start - 1] if start else None), cursors[start]
            forward = await search(sort=sort, counted=counted, first=size, after=after)
            assert [edge["cursor"] for edge in forward["edges"]] == cursors[start : start + size]
            backward = await search(sort=sort, counted=counted, last=size, before=before)
            assert [edge["cursor"] for edge in backward["edges"]] == cursors[max(0, start - size) : start]


# --- typing errors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query, corrected",
    [
        ("camizeta", "camiseta"),  # another letter
        ("camseta", "camiseta"),  # one missing
        ("camiisetaa", "camiseta"),  # two more
        ("cmaiseta", "camiseta"),  # exchanged
        ("kamizeta", "camiseta"),  # two others
        ("CAMIZÉTA  Azul", "camiseta Azul"),
        ("camiseta asul", "camiseta azul"),
        ("azuk", "azul"),
        ("camizeta asul", "camiseta azul"),
        ("para camizeta", "para camiseta"),
    ],
)
async def test_a_wrong_letter_is_corrected(search: Search, empty: SampleStore, query: str, corrected: str) -> None:
    await add(empty, "Camiseta azul")
    result = await search(query)
    assert (names(result), result["corrected_query"], result["total"]) == (["Camiseta azul"], corrected, 1)


@pytest.mark.parametrize("query", ["kamizetta", "asuk", "zz", "10e5kat", "abc-124", "camizeta 999", "xyz camizeta"])
async def test_what_nothing_resembles_is_not_corrected(search: Search, empty: SampleStore, query: str) -> None:
    await add(empty, "Camiseta azul 10e5kit abc-123")
    result = await search(query)
    assert (names(result), result["corrected_query"]) == ([], None)


async def test_a_word_that_matches_is_not_corrected(search: Search, empty: SampleStore) -> None:
    await add(empty, "Bule")
    await add(empty, "Baile")
    assert names(await search("bule")) == ["Bule"]
    # Both words match, no product has both: nothing is wrong with the letters.
    result = await search("bule baile")
    assert (names(result), result["corrected_query"]) == (["Baile", "Bule"], None)
    # Nothing is left of the choice, not of the words.
    result = await search("bule", filter={"price_to": 0})
    assert (names(result), result["corrected_query"]) == ([], None)


async def test_the_nearest_then_the_most_frequent_then_the_first_word_is_taken(
    search: Search, empty: SampleStore
) -> None:
    for name in ("Prato", "Preto", "Preto fosco", "Camisola", "Camisola longa", "Camisona"):
        await add(empty, name)
    assert (await search("prxto"))["corrected_query"] == "preto"
    await add(empty, "Prato fundo")
    assert (await search("prxto"))["corrected_query"] == "prato"
    await add(empty, "Preto brilhante")
    assert (await search("prxto"))["corrected_query"] == "preto"
    assert (await search("kamisona"))["corrected_query"] == "camisona"


async def test_words_of_products_that_the_caller_does_not_see_are_not_suggested(
    search: Search, empty: SampleStore, other_sample: SampleStore
) -> None:
    hidden = await add(empty, "Ultrassegredo", status="H")
    assert (await search("ultrasegredo"))["corrected_query"] is None
    await add(other_sample, "Misterioso")
    assert (await search("misteriozo"))["corrected_query"] is None
    await empty.execute("update products set status = 'A' where id = $1", hidden.number)
    assert (await search("ultrasegredo"))["corrected_query"] == "ultrassegredo"
    await empty.execute("update products set name = 'Outro' where id = $1", hidden.number)
    assert (await search("ultrasegredo"))["corrected_query"] is None


async def test_further_pages_of_a_corrected_query_are_read(search: Search, empty: SampleStore) -> None:
    for number in range(4):
        await add(empty, f"Camiseta {number}")
    first = await search("camizeta", first=2)
    second = await search("camizeta", first=2, after=first["page_info"]["end_cursor"])
    assert len({*names(first), *names(second)}) == 4
    assert second["corrected_query"] == "camiseta"


# --- callers and input ------------------------------------------------------------------------------------------------


async def test_each_caller_finds_what_it_may_list(empty: SampleStore, other_sample: SampleStore) -> None:
    for name, columns in {
        "Caneca ativa": {},
        "Caneca oculta": {"status": "H"},
        "Caneca desativada": {"status": "D"},
        "Caneca de outro": {"vendor_id": empty.rival.number},
        "Caneca oculta de outro": {"status": "H", "vendor_id": empty.rival.number},
    }.items():
        await add(empty, name, **columns)
    await add(other_sample, "Caneca alheia")
    deleted = await add(empty, "Caneca apagada")
    await empty.execute("update products set deleted_at = now() where id = $1", deleted.number)
    text = (
        '{ products(filter: {search: "caneca"}) { name } product_search(query: "caneca")'
        " { total edges { node { name } } facets { vendors { count } } } }"
    )
    for user in (empty.owner, empty.vendor_user, empty.caio):
        data = (await empty.post("/graphql", {"query": text}, auth="bearer", by=user)).body["data"]
        result = sorted(names(data["product_search"]))
        assert result == sorted(product["name"] for product in data["products"]), user
        assert data["product_search"]["total"] == len(result), user
        assert sum(vendor["count"] for vendor in data["product_search"]["facets"]["vendors"]) == len(result), user


@pytest.mark.parametrize(
    "variables, field",
    [
        ({"query": "x" * 201}, "query"),
        ({"first": -1}, "first"),
        ({"first": 1001}, "first"),
        ({"last": 1001}, "last"),
        ({"first": 1, "last": 1}, "last"),
        ({"first": 1, "before": "x"}, "last"),
        ({"after": "x"}, "after"),
        ({"before": "WzFd"}, "before"),
        ({"after": "WyJwcmljZSIsMSwyXQ"}, "after"),  # of another sort order
        ({"filter": {"rating_from": 0}}, "rating_from"),
        ({"filter": {"rating_from": 6}}, "rating_from"),
        ({"filter": {"vendor_id": ["x"] * 101}}, "vendor_id"),
        ({"filter": {"features": [{"feature_id": str(n), "variant_ids": []} for n in range(11)]}}, "features"),
        ({"filter": {"features": [{"feature_id": "a", "variant_ids": []}] * 2}}, "features"),
        ({"filter": {"features": [{"feature_id": "a", "variant_ids": ["x"] * 101}]}}, "variant_ids"),
    ],
)
async def test_invalid_arguments_are_refused(sample: SampleStore, variables: Any, field: str) -> None:
    answer = await sample.post("/graphql", {"query": DOCUMENT, "variables": variables}, auth="bearer")
    [error] = answer.body["errors"]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("VALIDATION_FAILED", field)


@pytest.mark.parametrize(
    "variables",
    [
        {"query": "a" * 200},
        {"query": " ".join("abcdefghijklmnopqrstuvwxyz" * 3)[:200]},
        {"query": "'\\:*&|!()<->"},
        {"query": "a-" * 99},
        {"query": "-"},
        {"query": "\ue000-\ue000"},
        {"query": "🙂 x\u0301"},
        {
            "filter": {
                "vendor_id": ["x"],
                "below_category_id": ["0"],
                "features": [{"feature_id": "x", "variant_ids": ["y"]}],
            }
        },
        {"filter": {"vendor_id": [], "below_category_id": []}},
        {"filter": {"vendor_slug": ["x", "a,b"], "below_category_slug": ["", "x" * 500]}},
        {"filter": {"price_from": -(2**63), "price_to": 2**63 - 1}},
        {"filter": {"created_from": "0001-01-01T00:00:00Z", "status": ["A"], "category_id": ["x"]}},
        {"first": 0},
        {"last": 5},
    ],
)
async def test_no_valid_input_is_an_error(sample: SampleStore, variables: Any) -> None:
    answer = await sample.post("/graphql", {"query": DOCUMENT, "variables": variables}, auth="bearer")
    assert "errors" not in answer.body, answer.body


async def test_the_number_of_statements_is_constant(empty: SampleStore) -> None:
    async def count(query: str) -> int:
        body = {"query": DOCUMENT, "variables": {"query": query}}
        answer = await empty.post("/graphql", body, auth="bearer", by=empty.caio)
        assert answer.body["data"]["product_search"]["edges"]
        return answer.statements

    await add(empty, "Caneca")
    await count("caneca")  # and those of the store's lists
    assert (await count("caneca"), await count("canoca")) == (2, 6)
    for _ in range(5):
        await add(empty, "Caneca")
    assert (await count("caneca"), await count("canoca")) == (2, 6)


async def test_the_words_of_python_and_sql_agree(empty: SampleStore) -> None:
    for number, name in enumerate(["Calçado Nº 1", "a-b_c/d", "ÆSIR-x", "ﬁm ²", "x" * 100]):
        await empty.add(Product, name=name, slug=f"p-{number}", price_cents=1)
        body = {"query": DOCUMENT, "variables": {"query": name}}
        result = (await empty.post("/graphql", body, auth="bearer")).body["data"]["product_search"]
        assert names(result) == [name]


# --- numbers, units and a word too many -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query, name",
    [
        ("iphone15", "iPhone 15 Preto"),
        ("iphone 15", "iPhone 15 Preto"),
        ("iphone-15", "iPhone 15 Preto"),
        ("220 v", "Furadeira 220V"),
        ("220v", "Furadeira 220 V"),
        ("furadeira 220 v", "Furadeira 220V"),
        ("10 x 10", "Azulejo 10x10"),
        ("10x10", "Azulejo 10 x 10"),
        ("10 x 20 x 30", "Caixa 10x20x30"),
        ("500 ml", "Garrafa 500ml"),
        ("camisetas", "Camiseta Lisa"),
        ("camiseta", "Camisetas Lisas"),
        ("azuis", "Vaso Azul"),
        ("azul", "Vasos Azuis"),
        ("pães", "Pão Francês"),
        ("pão", "Pães Franceses"),
    ],
)
async def test_numbers_with_units_and_plurals_are_matched(
    empty: SampleStore, search: Search, query: str, name: str
) -> None:
    await empty.add_product(name=name)
    await empty.add_product(name="Tomada Verde 11")
    result = await search(query)
    assert names(result) == [name]
    assert (result["total"], result["corrected_query"]) == (1, None)


async def test_a_part_of_one_character_is_no_beginning_of_a_word(empty: SampleStore, search: Search) -> None:
    await empty.add_product(name="Tomada 220 Verde")
    assert names(await search("220v")) == []
    await empty.add_product(name="Tomada 220 V")
    assert names(await search("220v")) == ["Tomada 220 V"]


async def test_a_word_too_many_finds_the_best_matches(empty: SampleStore, search: Search) -> None:
    for name in ("Caneca Azul", "Caneca Verde", "Prato Azul", "Caneca Azul Grande"):
        await empty.add_product(name=name)
    result = await search("caneca azul zzzzqqqq")
    assert names(result) == ["Caneca Azul Grande", "Caneca Azul"]
    assert result["total"] == 2
    assert names(await search("caneca verde grande azul")) == ["Caneca Azul Grande"]
    assert names(await search("prato verde amarelo")) == ["Prato Azul", "Caneca Verde"]
    assert names(await search("caneca azul grande")) == ["Caneca Azul Grande"]
    assert names(await search("xxxxqqqq zzzzqqqq")) == []
    many = await search("caneca azul de g h i j k l m")
    assert (names(many)[:2], many["total"]) == (["Caneca Azul Grande", "Caneca Azul"], 4)


async def test_pages_and_filters_of_a_search_with_a_word_too_many_are_of_one_result(
    empty: SampleStore, search: Search
) -> None:
    for number in range(3):
        await empty.add_product(name=f"Caneca Azul {number}", price_cents=1_000 * (number + 1))
    await empty.add_product(name="Prato Fundo")
    first = await search("caneca azul zzzzqqqq", first=2)
    assert (len(names(first)), first["total"]) == (2, 3)
    second = await search("caneca azul zzzzqqqq", first=2, after=first["page_info"]["end_cursor"])
    assert (len(names(second)), second["total"]) == (1, 3)
    cheap = await search("caneca azul zzzzqqqq", filter={"price_to": 1_000})
    assert names(cheap) == ["Caneca Azul 0"]
    # Where a product has all words, a filter that leaves it out doesn't bring in others.
    assert names(await search("caneca azul", filter={"price_from": 9_000})) == []
    prices = await search("caneca azul zzzzqqqq", counted="total facets { prices { count } }")
    assert sum(step["count"] for step in prices["facets"]["prices"]) == prices["total"] == 3
