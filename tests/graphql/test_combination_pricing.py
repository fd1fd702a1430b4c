"""Variants have a price: of a combination, of all of a product's, for each caller what a cart then charges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product as choices_of
from typing import Any

import pytest

from models.tables.options import Combination, CombinationChoice, Option, OptionVariant, ProductOption
from tests.graphql.test_product_pricing import callers, execute, promote, respond
from tests.harness.records import Record
from tests.harness.sample_store import SampleStore

PRICING = "pricing { price_cents base_cents discount_cents promotions { name } }"
LIST = f"""query($ids: [ID!]!) {{ products(filter: {{id: $ids}}, sort: ID_ASC, limit: 100) {{
    id price_range {{ min_cents max_cents }} combinations {{ id {PRICING} choices {{ option_id variant_id }} }} }} }}"""
CART = "mutation($items: [CartItemInput!]!) { cart_create(input: {items: $items}) { items { price_cents } } }"
VARIANTS = """query($id: ID!, $of: ID) { product(id: $id) { options { variants { name ids: available_combination_ids
    own: available_combination_ids(product_id: $of) } } } }"""


@dataclass
class Shirt:
    """A product with its combinations, one for each size, and the variants of its options by name."""

    record: Record
    combinations: Sequence[Record]
    options: Mapping[str, Record]
    variants: Mapping[str, Record]


async def add_option(
    sample: SampleStore, product: Record, name: str, variants: Mapping[str, Any], **columns: Any
) -> Any:
    """Add an option of a product with variants, their modifiers by name."""
    option = await sample.add(Option, name=name, product_id=product.number, **columns)
    await sample.add(ProductOption, product_id=product.number, option_id=option.number)
    added = {
        label: await sample.add(
            OptionVariant, option_id=option.number, name=label, modifier=modifier, modifier_type=type_
        )
        for label, (modifier, type_) in variants.items()
    }
    return option, added


async def add_combination(
    sample: SampleStore, product: Record, option: Record, variant: Record, **columns: Any
) -> Record:
    """Add the combination of one variant."""
    combination = await sample.add(
        Combination, product_id=product.number, hash=f"{option}_{variant}", **{"on_hand": 50, **columns}
    )
    await sample.add(
        CombinationChoice, combination_id=combination.number, option_id=option.number, variant_id=variant.number
    )
    return combination


async def add_shirt(sample: SampleStore, **columns: Any) -> Shirt:
    product = await sample.add_product(**{"price_cents": 1_005, "on_hand": 50, "is_edp": True, **columns})
    size, sizes = await add_option(
        sample, product, "Tamanho", {"P": (0, "A"), "M": (250, "A"), "G": (-500, "P")}, inventory=True, required=True
    )
    packed, wraps = await add_option(
        sample, product, "Embalagem", {"Saco": (100, "A"), "Caixa": (3_000, "P")}, required=True
    )
    _, cards = await add_option(sample, product, "Cartão", {"Sim": (99, "A"), "Usado": (-40, "A")})
    combinations = [
        await add_combination(sample, product, size, variant, price_cents=cents, position=position)
        for position, (variant, cents) in enumerate(zip(sizes.values(), (0, 20, -2_000), strict=True))
    ]
    return Shirt(product, combinations, {"size": size, "wrap": packed}, {**sizes, **wraps, **cards})


@pytest.fixture
async def promoted(sample: SampleStore) -> SampleStore:
    """A store that lowers prices for all, for its wholesale customers, and for three units of a product at once."""
    everything = {"product_discount": "10%"}
    await promote(sample, name="Tudo", bonuses=everything, conditions={"price": {"operator": "gte", "value": "10.00"}})
    await promote(
        sample,
        name="Atacado",
        bonuses={"product_discount": "1.00"},
        conditions={"usergroup": [sample.wholesale.number]},
    )
    return sample


async def charged(scope: Any, product: Record, options: Mapping[str, str], quantity: int = 1) -> int:
    """Return what a cart charges for one unit."""
    item = {"product_id": product.id, "quantity": quantity, "options": options}
    [line] = (await execute(scope, CART, items=[item]))["cart_create"]["items"]
    return int(line["price_cents"])


async def test_the_price_of_a_combination_is_what_a_cart_charges(promoted: SampleStore) -> None:
    product = await promoted.add_product(price_cents=1_005, on_hand=50, is_edp=True)
    option, sizes = await add_option(promoted, product, "Tamanho", {"P": (0, "A"), "G": (-501, "P")}, inventory=True)
    for cents, variant in zip((0, 20), sizes.values(), strict=True):
        await add_combination(promoted, product, option, variant, price_cents=cents)
    await promote(
        promoted, name="Três", bonuses={"product_discount": "5%"},
        conditions={"products": [{"product_id": product.number, "amount": 3}]}, priority=9,
    )  # fmt: skip
    text = """query($id: ID!, $n: BigInt) { product(id: $id) { combinations {
        pricing(quantity: $n) { price_cents base_cents } choices { option_id variant_id } } } }"""
    same = """query($id: ID!, $o: JSON, $n: BigInt) { product(id: $id) {
        pricing(options: $o, quantity: $n) { price_cents base_cents } } }"""
    seen = {}
    for (name, scope), quantity in choices_of(callers(promoted).items(), (1, 3)):
        shown = (await execute(scope, text, id=product.id, n=quantity))["product"]["combinations"]
        for combination in shown:
            options = {choice["option_id"]: choice["variant_id"] for choice in combination["choices"]}
            cents = await charged(scope, product, options, quantity)
            assert combination["pricing"]["price_cents"] == cents, (name, quantity, combination)
            chosen = (await execute(scope, same, id=product.id, o=options, n=quantity))["product"]
            assert chosen["pricing"] == combination["pricing"], (name, quantity)
        seen[name, quantity] = [combination["pricing"]["price_cents"] for combination in shown]
    assert seen["guest", 1] == [904, 975]
    assert seen["guest", 3] != seen["guest", 1] != seen["wholesale", 1]


async def test_the_price_range_is_the_least_and_the_most_that_a_cart_charges(promoted: SampleStore) -> None:
    shirt = await add_shirt(promoted)
    options = {option["name"]: option for option in (await execute(
        callers(promoted)["guest"], "query($id: ID!) { product(id: $id) { options { id name variants { id } } } }", id=shirt.record.id
    ))["product"]["options"]}  # fmt: skip
    ranges = {}
    for name, scope in callers(promoted).items():
        prices = []
        for variants in choices_of(*[option["variants"] for option in options.values()]):
            chosen = {option["id"]: variant["id"] for option, variant in zip(options.values(), variants, strict=True)}
            without = {option: variant for option, variant in chosen.items() if option != options["Cartão"]["id"]}
            prices += [await charged(scope, shirt.record, each) for each in (chosen, without)]
        [product] = (await execute(scope, LIST, ids=[shirt.record.id]))["products"]
        assert product["price_range"] == {"min_cents": min(prices), "max_cents": max(prices)}, name
        ranges[name] = product["price_range"]
    assert ranges["guest"] == ranges["customer"] != ranges["wholesale"]


async def test_a_choice_that_costs_nothing_has_a_price(sample: SampleStore) -> None:
    free = await sample.add_product(price_cents=100, on_hand=50)
    option, variants = await add_option(sample, free, "Cor", {"Azul": (-100, "A")})
    text = "query($id: ID!, $o: JSON) { product(id: $id) { pricing(options: $o) { price_cents } price_range { min_cents } } }"
    shown = await execute(callers(sample)["guest"], text, id=free.id, o={option.id: variants["Azul"].id})
    assert shown["product"] == {"pricing": {"price_cents": 0}, "price_range": {"min_cents": 0}}


async def test_prices_of_combinations_take_one_statement_however_many_there_are(promoted: SampleStore) -> None:
    shirts = [(await add_shirt(promoted)).record.id for _ in range(12)]
    scope = callers(promoted)["guest"]
    plain = LIST.replace(PRICING, "").replace("price_range { min_cents max_cents }", "")
    await execute(scope, LIST, ids=shirts)  # now the process knows the promotions
    one = "query($id: ID!) { product(id: $id) { price_range { min_cents } combinations { pricing { price_cents } } } }"
    counts = {}
    for length in (1, 3, 12):
        data, errors, counts[length] = await respond(scope, LIST, ids=shirts[:length])
        assert errors == [], length
        assert [len(product["combinations"]) for product in data["products"]] == [3] * length
    assert set(counts.values()) == {(await respond(scope, plain, ids=shirts))[2]}
    assert (await respond(scope, one, id=shirts[0]))[2] == 2  # the product, its combinations


async def test_a_variant_says_in_which_combinations_it_can_be_bought(sample: SampleStore) -> None:
    shirt, other = await add_shirt(sample), await add_shirt(sample)
    option, medium = shirt.options["size"], shirt.variants["M"]
    await sample.add(ProductOption, product_id=other.record.number, option_id=option.number)
    shared = await add_combination(sample, other.record, option, medium, position=9)
    await sample.execute("update combinations set on_hand = 0 where id = $1", shirt.combinations[2].number)
    scope = callers(sample)["guest"]

    async def shown(of: str | None) -> Any:
        [size, *_] = (await execute(scope, VARIANTS, id=shirt.record.id, of=of))["product"]["options"]
        return {variant["name"]: (variant["ids"], variant["own"]) for variant in size["variants"]}

    small, middle = (combination.id for combination in shirt.combinations[:2])
    assert await shown(shirt.record.id) == {
        "P": ([small], [small]),
        "M": ([middle, shared.id], [middle]),
        "G": ([], []),
    }
    assert await shown(other.record.id) == {"P": ([small], []), "M": ([middle, shared.id], [shared.id]), "G": ([], [])}
    assert {own for _, [*own] in (await shown("nothing")).values() for own in own} == set()
    await sample.execute("update products set status = 'D' where id = $1", other.record.number)
    assert (await shown(None))["M"][0] == [middle]


async def test_a_quantity_out_of_range_is_an_error_of_the_field(sample: SampleStore) -> None:
    for quantity in (0, -1, 10**12):
        text = f"query($id: ID!) {{ product(id: $id) {{ id pricing(quantity: {quantity}) {{ price_cents }} }} }}"
        data, [error], _ = await respond(callers(sample)["guest"], text, id=sample.mug.id)
        assert data["product"] == {"id": sample.mug.id, "pricing": None}, quantity
        assert error.path == ["product", "pricing"], quantity


async def test_the_amount_of_a_combination_is_written_under_both_names(sample: SampleStore) -> None:
    shirt = await add_shirt(sample)
    for name, cents in (("modifier_cents", 70), ("price_cents", 80)):
        text = f"mutation($id: ID!) {{ combination_update(id: $id, input: {{{name}: {cents}}}) {{ modifier_cents price_cents }} }}"
        answer = await sample.post(
            "/graphql", {"query": text, "variables": {"id": shirt.combinations[0].id}}, auth="bearer"
        )
        assert answer.body["data"]["combination_update"] == {"modifier_cents": cents, "price_cents": cents}, answer.body
    refused = f"mutation($id: ID!) {{ combination_update(id: $id, input: {{modifier_cents: {10**17}}}) {{ id }} }}"
    answer = await sample.post(
        "/graphql", {"query": refused, "variables": {"id": shirt.combinations[0].id}}, auth="bearer"
    )
    assert answer.body["errors"][0]["extensions"]["details"]["fields"] == {"modifier_cents": "price_invalid"}
