"""What is chosen of a product decides its price, its stock and whether it may be bought at all."""

from __future__ import annotations

import asyncio

import pytest

from domain.catalog.attachments import require_products
from domain.catalog.combinations import create_combination, delete_combination
from domain.catalog.option_exceptions import create_exception
from domain.catalog.options import create_option, delete_option, update_option
from domain.catalog.products import delete_product
from domain.orders.delete import delete_order
from domain.orders.edit import update_order
from domain.orders.lifecycle import move
from kernel.errors import RuleViolation, ValidationFailed


class Shirt:
    """A product of 10.00 with sizes (P, G: +5.00), prints (plain, dotted: +10 %) and an engraving."""

    def __init__(self, shop):
        self.shop = shop

    async def made(self, **product):
        self.id = await self.shop.product(name="Camisa", **product)
        scope = self.shop.scope
        self.size = await create_option(
            scope,
            {
                "name": "Tamanho",
                "product": self.id,
                "variants": [{"name": "P"}, {"name": "G", "modifier": 500}],
            },
        )
        self.print = await create_option(
            scope,
            {
                "name": "Estampa",
                "product": self.id,
                "variants": [{"name": "Lisa"}, {"name": "Poá", "modifier": 1_000, "modifier_type": "P"}],
            },
        )
        self.engraving = await create_option(
            scope, {"name": "Gravação", "type": "I", "product": self.id, "position": 9}
        )
        found = await self.shop.rows("SELECT id, name FROM option_variants WHERE tenant_id = $1")
        self.variants = {row["name"]: row["id"] for row in found}
        return self

    def choices(self, *names):
        owners = {"P": self.size, "G": self.size, "Lisa": self.print, "Poá": self.print}
        return {owners[name]: self.variants[name] for name in names}

    async def combination(self, *names, **given):
        return await create_combination(
            self.shop.scope, {"product": self.id, "choices": self.choices(*names), "stock": 5, **given}
        )

    def line(self, *names, quantity=1, **given):
        return {"product": self.id, "quantity": quantity, "options": self.choices(*names), **given}

    async def figures(self, combination):
        [row] = await self.shop.rows(
            "SELECT on_hand, reserved FROM combinations WHERE tenant_id = $1 AND id = $2", combination
        )
        return row["on_hand"], row["reserved"]


@pytest.fixture
async def shirt(shop):
    return await Shirt(shop).made()


async def test_modifiers_are_in_the_price(shop, shirt):
    placed = await shop.order(shirt.line("G", "Poá", quantity=2), scope=shop.as_app())
    [line] = await shop.lines(placed.id)
    assert (line["price_cents"], line["base_price_cents"]) == (1_000 + 500 + 100, 1_600)
    assert placed.total_cents == 2 * 1_600


async def test_a_price_never_falls_below_zero(shop, shirt):
    await update_option(shop.scope, shirt.size, {"variants": [{"name": "P", "modifier": -5_000}]})
    placed = await shop.order(shirt.line("P"), scope=shop.as_app())
    assert placed.total_cents == 0


@pytest.mark.parametrize("modifier, price", [(-150, 985), (-155, 984), (125, 1_013), (333, 1_033)])
async def test_percentages_are_rounded_half_away_from_zero(shop, shirt, modifier, price):
    variants = [{"name": "P", "modifier": modifier, "modifier_type": "P"}]
    await update_option(shop.scope, shirt.size, {"variants": variants})
    placed = await shop.order(shirt.line("P"), scope=shop.as_app())
    assert placed.total_cents == price


async def test_what_was_chosen_is_kept_as_sold(shop, shirt):
    placed = await shop.order(
        {
            **shirt.line("G", extra={"gift": "yes", "product_options": {"1": "2"}}),
            "options": {**shirt.choices("G"), shirt.engraving: "Ana"},
        }
    )
    await delete_option(shop.scope, shirt.size)
    [line] = await shop.lines(placed.id)
    extra = shop_json(line["extra"])
    assert extra["gift"] == "yes"
    assert extra["product_options"] == {
        str(shirt.size): str(shirt.variants["G"]),
        str(shirt.engraving): "Ana",
    }
    assert [
        (each["option_name"], each["variant_name"], each["modifier"])
        for each in extra["product_options_value"]
    ] == [
        ("Tamanho", "G", "5.00"),
        ("Gravação", "Ana", "0.00"),
    ]
    assert [(each["name"], each["value"]) for each in shop_json(line["options"])] == [
        ("Tamanho", "G"),
        ("Gravação", "Ana"),
    ]


def shop_json(value):
    import orjson

    return orjson.loads(value) if isinstance(value, str) else value


async def test_a_combination_has_its_own_stock_price_and_code(shop, shirt):
    combination = await shirt.combination("G", "Lisa", sku="CAM-G", price_cents=-200)
    placed = await shop.order(shirt.line("G", "Lisa", quantity=2), scope=shop.as_app())
    [line] = await shop.lines(placed.id)
    assert (line["price_cents"], line["product_code"]) == (1_300, "CAM-G")
    assert line["combination_id"] == combination
    assert await shirt.figures(combination) == (5, 2)
    assert await shop.figures(shirt.id) == (10, 0)


async def test_the_combination_that_says_most_is_taken(shop, shirt):
    await shirt.combination("G", stock=1)
    both = await shirt.combination("G", "Poá", stock=4)
    await shop.order(shirt.line("G", "Poá", quantity=3))
    assert await shirt.figures(both) == (4, 3)


async def test_without_a_choice_the_products_own_stock_is_taken(shop, shirt):
    combination = await shirt.combination("G")
    await shop.order((shirt.id, 2))
    assert await shirt.figures(combination) == (5, 0)
    assert await shop.figures(shirt.id) == (10, 2)


async def test_a_combination_the_inventory_does_not_hold_is_refused(shop, shirt):
    await shirt.combination("G", "Lisa")
    with pytest.raises(RuleViolation) as refused:
        await shop.order(shirt.line("P", "Lisa"))
    assert refused.value.reason == "combination_unavailable"
    assert refused.value.details["products"][0]["name"] == "Camisa"


async def test_more_than_a_combination_holds_is_refused(shop, shirt):
    await shirt.combination("G", stock=2)
    with pytest.raises(RuleViolation) as refused:
        await shop.order(shirt.line("G", quantity=2), shirt.line("G", quantity=1))
    assert refused.value.reason == "out_of_stock"
    [product] = refused.value.details["products"]
    assert (product["name"], product["available"]) == ("Camisa (G)", 2)


@pytest.mark.parametrize(
    "steps, after",
    [
        (["P"], (3, 0)),
        (["P", "C"], (3, 0)),
        (["P", "I"], (5, 0)),
        (["I"], (5, 0)),
        (["D"], (5, 0)),
        (["F"], (5, 0)),
        (["D", "O"], (5, 2)),
        (["P", "B"], (5, 2)),
    ],
)
async def test_the_units_of_a_combination_follow_the_orders_life(shop, shirt, steps, after):
    combination = await shirt.combination("G")
    placed = await shop.order(shirt.line("G", quantity=2))
    for letter in steps:
        await move(shop.scope, placed.id, letter)
    assert await shirt.figures(combination) == after
    assert await shop.figures(shirt.id) == (10, 0)


async def test_units_go_back_to_a_combination_that_was_deleted(shop, shirt):
    combination = await shirt.combination("G")
    placed = await shop.order(shirt.line("G", quantity=2))
    await delete_combination(shop.scope, combination)
    await delete_order(shop.scope, placed.id)
    assert await shirt.figures(combination) == (5, 0)


async def test_units_given_back_and_sold_meanwhile_are_not_sold_twice(shop, shirt):
    await shirt.combination("G", stock=2)
    placed = await shop.order(shirt.line("G", quantity=2))
    await move(shop.scope, placed.id, "F")
    await shop.order(shirt.line("G", quantity=1))
    with pytest.raises(RuleViolation) as refused:
        await move(shop.scope, placed.id, "O")
    assert refused.value.reason == "out_of_stock"


async def test_thirty_buyers_of_the_last_five_units(shop, shirt):
    combination = await shirt.combination("G", stock=5)
    await shop.delivery()

    async def buy():
        try:
            await shop.order(shirt.line("G"))
        except RuleViolation as refusal:
            return refusal.reason
        return None

    outcomes = await asyncio.gather(*(buy() for _ in range(30)))
    assert sorted(outcomes, key=str) == [None] * 5 + ["out_of_stock"] * 25
    assert await shirt.figures(combination) == (5, 5)


async def test_products_whose_stock_is_not_kept_keep_none_of_their_combinations(shop):
    shirt = await Shirt(shop).made(tracking="D")
    combination = await shirt.combination("G", stock=1)
    await shop.order(shirt.line("G", quantity=7))
    assert await shirt.figures(combination) == (1, 0)


async def test_new_lines_take_and_give_back_the_difference(shop, shirt):
    large, small = await shirt.combination("G"), await shirt.combination("P")
    placed = await shop.order(shirt.line("G", quantity=3))
    await update_order(shop.scope, placed.id, {"lines": [shirt.line("G"), shirt.line("P", quantity=2)]})
    assert await shirt.figures(large) == (5, 1)
    assert await shirt.figures(small) == (5, 2)
    await update_order(shop.scope, placed.id, {"lines": [{"product": shirt.id, "quantity": 1}]})
    assert (await shirt.figures(large), await shirt.figures(small)) == ((5, 0), (5, 0))
    assert await shop.figures(shirt.id) == (10, 1)


async def test_a_line_keeps_the_price_agreed_for_its_choice(shop, shirt):
    placed = await shop.order(shirt.line("G"), shirt.line("P"))
    await update_option(
        shop.scope,
        shirt.size,
        {"variants": [{"name": "P", "modifier": 9_000}, {"name": "G", "modifier": 9_000}]},
    )
    lines = [shirt.line("G", quantity=2), shirt.line("P"), shirt.line("G", "Poá")]
    await update_order(shop.as_app(), placed.id, {"lines": lines})
    assert [line["price_cents"] for line in await shop.lines(placed.id)] == [1_500, 1_000, 10_100]


async def test_a_required_option_has_to_be_chosen(shop, shirt):
    await update_option(shop.scope, shirt.size, {"required": True})
    await update_option(shop.scope, shirt.engraving, {"required": True})
    for line in ((shirt.id, 1), shirt.line("Lisa"), shirt.line("G")):
        with pytest.raises(ValidationFailed) as refused:
            await shop.order(line)
        assert refused.value.fields == {"options": "option_required"}
    assert "Gravação is required" in str(refused.value)
    await update_option(shop.scope, shirt.engraving, {"status": "D"})
    await shop.order(shirt.line("G"))


@pytest.mark.parametrize(
    "options",
    [
        {"x": 1},
        {"9000000000000": 1},
        {"{size}": "9000000000000"},
        {"{size}": "x"},
        {"{size}": "{plain}"},
        {"{size}": {"a": 1}},
        {"{size}": True},
        {"{engraving}": {"a": 1}},
        {"{engraving}": "x" * 2_001},
        {"{engraving}": "\x00"},
        [1],
        "x",
        {str(number): "1" for number in range(1, 60)},
    ],
)
async def test_what_can_not_be_chosen_is_refused(shop, shirt, options):
    names = {"size": shirt.size, "plain": shirt.variants["Lisa"], "engraving": shirt.engraving}
    if isinstance(options, dict):
        options = {
            key.format(**names): value.format(**names) if isinstance(value, str) else value
            for key, value in options.items()
        }
    with pytest.raises(ValidationFailed) as refused:
        await shop.order({"product": shirt.id, "quantity": 1, "options": options})
    assert set(refused.value.fields) == {"options"}


async def test_options_of_other_stores_and_products_can_not_be_chosen(shop, other_shop, shirt):
    theirs = await Shirt(other_shop).made()
    other = await Shirt(shop).made()
    for strange in (theirs, other):
        with pytest.raises(ValidationFailed):
            await shop.order({"product": shirt.id, "quantity": 1, "options": strange.choices("G")})


async def test_options_are_named_by_their_uuids_too(shop, shirt):
    option = await shop.public_id("options", shirt.size)
    variant = await shop.public_id("option_variants", shirt.variants["G"])
    placed = await shop.order({"product": shirt.id, "quantity": 1, "options": {str(option): str(variant)}})
    assert placed.total_cents == 1_500


async def test_a_disabled_option_can_not_be_chosen(shop, shirt):
    await update_option(shop.scope, shirt.size, {"status": "D"})
    with pytest.raises(ValidationFailed):
        await shop.order(shirt.line("G"))


async def test_a_forbidden_combination_is_refused(shop, shirt):
    await create_exception(
        shop.scope, {"product": shirt.id, "type": "F", "choices": shirt.choices("G", "Poá")}
    )
    with pytest.raises(RuleViolation) as refused:
        await shop.order(shirt.line("G", "Poá"))
    assert refused.value.reason == "option_exception"
    await shop.order(shirt.line("G", "Lisa"))
    await shop.order(shirt.line("G"))


async def test_where_some_are_allowed_the_others_are_forbidden(shop, shirt):
    await create_exception(shop.scope, {"product": shirt.id, "type": "A", "choices": shirt.choices("G")})
    with pytest.raises(RuleViolation) as refused:
        await shop.order(shirt.line("P"))
    assert refused.value.reason == "option_exception"
    await shop.order(shirt.line("G", "Poá"))
    await shop.order((shirt.id, 1))


async def test_a_product_is_sold_together_with_those_it_requires(shop, shirt):
    battery = await shop.product(name="Pilha")
    await require_products(shop.scope, shirt.id, [battery])
    with pytest.raises(RuleViolation) as refused:
        await shop.order((shirt.id, 1))
    assert refused.value.reason == "required_products"
    assert refused.value.details["products"][0]["name"] == "Camisa"
    assert "Pilha" in str(refused.value)
    placed = await shop.order((shirt.id, 1), (battery, 1))
    with pytest.raises(RuleViolation):
        await update_order(shop.scope, placed.id, {"lines": [{"product": shirt.id, "quantity": 1}]})
    await shop.order((battery, 1))
    await delete_product(shop.scope, battery)
    await shop.order((shirt.id, 1))


@pytest.mark.parametrize("wrong", ["itself", "unknown"])
async def test_a_product_can_not_require_itself_or_nothing(shop, shirt, wrong):
    with pytest.raises(ValidationFailed):
        await require_products(shop.scope, shirt.id, [shirt.id if wrong == "itself" else 9_000_000_000])
