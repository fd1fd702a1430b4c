"""Selected options determine the price, the stock and whether a product may be ordered."""

from __future__ import annotations

import asyncio

import pytest

from domain.catalog.attachments import set_required_products
from domain.catalog.combinations import create_combination, delete_combination
from domain.catalog.option_exceptions import create_exception
from domain.catalog.options import create_option, delete_option, update_option
from domain.catalog.products import delete_product
from domain.orders.deletion import delete_order
from domain.orders.lifecycle import change_status
from domain.purchase.edit import update_order
from kernel.errors import RuleViolation, ValidationFailed


class Shirt:
    """A product of 10.00 with sizes (P, G: +5.00), prints (plain, dotted: +10 %) and an engraving."""

    def __init__(self, kit):
        self.kit = kit

    async def created(self, **product):
        self.id = await self.kit.product(name="Camisa", **product)
        scope = self.kit.scope
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
        result = await self.kit.rows("SELECT id, name FROM option_variants WHERE tenant_id = $1")
        self.variants = {row["name"]: row["id"] for row in result}
        return self

    def choices(self, *names):
        owners = {"P": self.size, "G": self.size, "Lisa": self.print, "Poá": self.print}
        return {owners[name]: self.variants[name] for name in names}

    async def combination(self, *names, **values):
        return await create_combination(
            self.kit.scope, {"product": self.id, "choices": self.choices(*names), "stock": 5, **values}
        )

    def line(self, *names, quantity=1, **values):
        return {"product": self.id, "quantity": quantity, "options": self.choices(*names), **values}

    async def figures(self, combination):
        [row] = await self.kit.rows(
            "SELECT on_hand, reserved FROM combinations WHERE tenant_id = $1 AND id = $2", combination
        )
        return row["on_hand"], row["reserved"]


@pytest.fixture
async def shirt(kit):
    return await Shirt(kit).created()


async def test_a_combination_adds_its_own_freight_to_the_price_of_shipping_or_that_of_the_product(kit):
    shirt = await Shirt(kit).created(shipping_freight_cents=300)
    await shirt.combination("P", "Lisa")
    await shirt.combination("G", "Lisa", shipping_freight_cents=1_000)
    await shirt.combination("P", "Poá", shipping_freight_cents=0)
    method = await kit.shipping(base_cents=500)
    lines = [shirt.line("P", "Lisa", quantity=2), shirt.line("G", "Lisa"), shirt.line("P", "Poá")]
    placed = await kit.order(*lines, shipping_method=method)
    assert (await kit.record("orders", placed.id))["shipping_cents"] == 500 + 2 * 300 + 1_000
    await update_order(kit.scope, placed.id, {"lines": [shirt.line("G", "Lisa", quantity=2)]})
    assert (await kit.record("orders", placed.id))["shipping_cents"] == 500 + 2 * 1_000


async def test_modifiers_change_the_price(kit, shirt):
    placed = await kit.order(shirt.line("G", "Poá", quantity=2), scope=kit.as_app())
    [line] = await kit.lines(placed.id)
    assert (line["price_cents"], line["base_price_cents"]) == (1_000 + 500 + 100, 1_600)
    assert placed.total_cents == 2 * 1_600


async def test_a_price_is_never_negative(kit, shirt):
    await update_option(kit.scope, shirt.size, {"variants": [{"name": "P", "modifier": -5_000}]})
    placed = await kit.order(shirt.line("P"), scope=kit.as_app())
    assert placed.total_cents == 0


@pytest.mark.parametrize("modifier, price", [(-150, 985), (-155, 984), (125, 1_013), (333, 1_033)])
async def test_percentages_are_rounded_half_away_from_zero(kit, shirt, modifier, price):
    variants = [{"name": "P", "modifier": modifier, "modifier_type": "P"}]
    await update_option(kit.scope, shirt.size, {"variants": variants})
    placed = await kit.order(shirt.line("P"), scope=kit.as_app())
    assert placed.total_cents == price


async def test_selected_options_are_stored_as_sold(kit, shirt):
    placed = await kit.order(
        {
            **shirt.line("G", extra={"gift": "yes", "product_options": {"1": "2"}}),
            "options": {**shirt.choices("G"), shirt.engraving: "Ana"},
        }
    )
    await delete_option(kit.scope, shirt.size)
    [line] = await kit.lines(placed.id)
    extra = shop_json(line["extra"])
    assert extra["gift"] == "yes"
    assert extra["product_options"] == {
        str(shirt.size): str(shirt.variants["G"]),
        str(shirt.engraving): "Ana",
    }
    assert [
        (entry["option_name"], entry["variant_name"], entry["modifier"]) for entry in extra["product_options_value"]
    ] == [
        ("Tamanho", "G", "5.00"),
        ("Gravação", "Ana", "0.00"),
    ]
    assert [(entry["name"], entry["value"]) for entry in shop_json(line["options"])] == [
        ("Tamanho", "G"),
        ("Gravação", "Ana"),
    ]


def shop_json(value):
    import orjson

    return orjson.loads(value) if isinstance(value, str) else value


async def test_a_combination_has_its_own_stock_price_and_sku(kit, shirt):
    combination = await shirt.combination("G", "Lisa", sku="CAM-G", price_cents=-200)
    placed = await kit.order(shirt.line("G", "Lisa", quantity=2), scope=kit.as_app())
    [line] = await kit.lines(placed.id)
    assert (line["price_cents"], line["product_code"]) == (1_300, "CAM-G")
    assert line["combination_id"] == combination
    assert await shirt.figures(combination) == (5, 2)
    assert await kit.figures(shirt.id) == (10, 0)


async def test_the_most_specific_combination_is_used(kit, shirt):
    await shirt.combination("G", stock=1)
    both = await shirt.combination("G", "Poá", stock=4)
    await kit.order(shirt.line("G", "Poá", quantity=3))
    assert await shirt.figures(both) == (4, 3)


@pytest.mark.parametrize("stock", [5, 0])
async def test_a_product_with_combinations_is_not_sold_without_one(kit, shirt, stock):
    combination = await shirt.combination("G", stock=stock)
    with pytest.raises(ValidationFailed) as error:
        await kit.order((shirt.id, 2))
    assert error.value.fields == {"options": "option_required"}
    assert "Tamanho" in error.value.message
    assert await shirt.figures(combination) == (stock, 0)
    assert await kit.figures(shirt.id) == (10, 0)


async def test_a_line_ordered_before_there_were_combinations_stays(kit, shirt):
    placed = await kit.order((shirt.id, 2))
    await shirt.combination("G")
    await update_order(kit.scope, placed.id, {"lines": [{"product": shirt.id, "quantity": 3}]})
    assert await kit.figures(shirt.id) == (10, 3)
    with pytest.raises(ValidationFailed):
        await kit.order((shirt.id, 1))


async def test_a_missing_combination_is_rejected(kit, shirt):
    await shirt.combination("G", "Lisa")
    with pytest.raises(RuleViolation) as error:
        await kit.order(shirt.line("P", "Lisa"))
    assert error.value.reason == "combination_unavailable"
    assert error.value.details["products"][0]["name"] == "Camisa"


async def test_more_than_a_combinations_stock_is_rejected(kit, shirt):
    await shirt.combination("G", stock=2)
    with pytest.raises(RuleViolation) as error:
        await kit.order(shirt.line("G", quantity=2), shirt.line("G", quantity=1))
    assert error.value.reason == "out_of_stock"
    [product] = error.value.details["products"]
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
async def test_combination_stock_follows_the_order_lifecycle(kit, shirt, steps, after):
    combination = await shirt.combination("G")
    placed = await kit.order(shirt.line("G", quantity=2))
    for status in steps:
        await change_status(kit.scope, placed.id, status)
    assert await shirt.figures(combination) == after
    assert await kit.figures(shirt.id) == (10, 0)


async def test_stock_is_restored_to_a_deleted_combination(kit, shirt):
    combination = await shirt.combination("G")
    placed = await kit.order(shirt.line("G", quantity=2))
    await delete_combination(kit.scope, combination)
    await delete_order(kit.scope, placed.id)
    assert await shirt.figures(combination) == (5, 0)


async def test_released_stock_sold_meanwhile_is_not_oversold(kit, shirt):
    await shirt.combination("G", stock=2)
    placed = await kit.order(shirt.line("G", quantity=2))
    await change_status(kit.scope, placed.id, "F")
    await kit.order(shirt.line("G", quantity=1))
    with pytest.raises(RuleViolation) as error:
        await change_status(kit.scope, placed.id, "O")
    assert error.value.reason == "out_of_stock"


async def test_thirty_concurrent_orders_do_not_oversell_the_last_five_units_of_a_combination(kit, shirt):
    combination = await shirt.combination("G", stock=5)
    await kit.delivery()

    async def buy():
        try:
            await kit.order(shirt.line("G"))
        except RuleViolation as error:
            return error.reason
        return None

    outcomes = await asyncio.gather(*(buy() for _ in range(30)))
    assert sorted(outcomes, key=str) == [None] * 5 + ["out_of_stock"] * 25
    assert await shirt.figures(combination) == (5, 5)


async def test_untracked_products_do_not_track_their_combinations(kit):
    shirt = await Shirt(kit).created(tracking="D")
    combination = await shirt.combination("G", stock=1)
    await kit.order(shirt.line("G", quantity=7))
    assert await shirt.figures(combination) == (1, 0)


async def test_replacing_lines_adjusts_stock_by_the_difference(kit, shirt):
    large, small = await shirt.combination("G"), await shirt.combination("P")
    placed = await kit.order(shirt.line("G", quantity=3))
    await update_order(kit.scope, placed.id, {"lines": [shirt.line("G"), shirt.line("P", quantity=2)]})
    assert await shirt.figures(large) == (5, 1)
    assert await shirt.figures(small) == (5, 2)
    await update_order(kit.scope, placed.id, {"lines": [shirt.line("P")]})
    assert (await shirt.figures(large), await shirt.figures(small)) == ((5, 0), (5, 1))
    assert await kit.figures(shirt.id) == (10, 0)


async def test_a_line_keeps_the_price_agreed_for_its_options(kit, shirt):
    placed = await kit.order(shirt.line("G"), shirt.line("P"))
    await update_option(
        kit.scope,
        shirt.size,
        {"variants": [{"name": "P", "modifier": 9_000}, {"name": "G", "modifier": 9_000}]},
    )
    lines = [shirt.line("G", quantity=2), shirt.line("P"), shirt.line("G", "Poá")]
    await update_order(kit.as_app(), placed.id, {"lines": lines})
    assert [line["price_cents"] for line in await kit.lines(placed.id)] == [1_500, 1_000, 10_100]


async def test_a_required_option_must_be_selected(kit, shirt):
    await update_option(kit.scope, shirt.size, {"required": True})
    await update_option(kit.scope, shirt.engraving, {"required": True})
    for line in ((shirt.id, 1), shirt.line("Lisa"), shirt.line("G")):
        with pytest.raises(ValidationFailed) as error:
            await kit.order(line)
        assert error.value.fields == {"options": "option_required"}, line
    assert "Gravação is required" in str(error.value)
    await update_option(kit.scope, shirt.engraving, {"status": "D"})
    await kit.order(shirt.line("G"))


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
async def test_invalid_options_are_rejected(kit, shirt, options):
    names = {"size": shirt.size, "plain": shirt.variants["Lisa"], "engraving": shirt.engraving}
    if isinstance(options, dict):
        options = {
            key.format(**names): value.format(**names) if isinstance(value, str) else value
            for key, value in options.items()
        }
    with pytest.raises(ValidationFailed) as error:
        await kit.order({"product": shirt.id, "quantity": 1, "options": options})
    assert set(error.value.fields) == {"options"}


async def test_options_of_other_stores_and_products_are_rejected(kit, other_kit, shirt):
    theirs = [await Shirt(other_kit).created() for _ in range(3)][-1]
    other = await Shirt(kit).created()
    for strange in (theirs, other):
        with pytest.raises(ValidationFailed):
            await kit.order({"product": shirt.id, "quantity": 1, "options": strange.choices("G")})


async def test_options_are_accepted_by_uuid(kit, shirt):
    option = await kit.public_id("options", shirt.size)
    variant = await kit.public_id("option_variants", shirt.variants["G"])
    placed = await kit.order({"product": shirt.id, "quantity": 1, "options": {str(option): str(variant)}})
    assert placed.total_cents == 1_500


async def test_a_disabled_option_is_rejected(kit, shirt):
    await update_option(kit.scope, shirt.size, {"status": "D"})
    with pytest.raises(ValidationFailed):
        await kit.order(shirt.line("G"))


async def test_a_forbidden_combination_is_rejected(kit, shirt):
    await create_exception(kit.scope, {"product": shirt.id, "type": "F", "choices": shirt.choices("G", "Poá")})
    with pytest.raises(RuleViolation) as error:
        await kit.order(shirt.line("G", "Poá"))
    assert error.value.reason == "option_exception"
    await kit.order(shirt.line("G", "Lisa"))
    await kit.order(shirt.line("G"))


async def test_allowed_combinations_forbid_all_others(kit, shirt):
    await create_exception(kit.scope, {"product": shirt.id, "type": "A", "choices": shirt.choices("G")})
    with pytest.raises(RuleViolation) as error:
        await kit.order(shirt.line("P"))
    assert error.value.reason == "option_exception"
    await kit.order(shirt.line("G", "Poá"))
    await kit.order((shirt.id, 1))


async def test_a_product_is_sold_only_with_its_required_products(kit, shirt):
    battery = await kit.product(name="Pilha")
    await set_required_products(kit.scope, shirt.id, [battery])
    with pytest.raises(RuleViolation) as error:
        await kit.order((shirt.id, 1))
    assert error.value.reason == "required_products"
    assert error.value.details["products"][0]["name"] == "Camisa"
    assert "Pilha" in str(error.value)
    placed = await kit.order((shirt.id, 1), (battery, 1))
    with pytest.raises(RuleViolation):
        await update_order(kit.scope, placed.id, {"lines": [{"product": shirt.id, "quantity": 1}]})
    await kit.order((battery, 1))
    await delete_product(kit.scope, battery)
    await kit.order((shirt.id, 1))


@pytest.mark.parametrize("invalid", ["itself", "unknown"])
async def test_a_product_cannot_require_itself_or_a_missing_product(kit, shirt, invalid):
    with pytest.raises(ValidationFailed):
        await set_required_products(kit.scope, shirt.id, [shirt.id if invalid == "itself" else 9_000_000_000])
