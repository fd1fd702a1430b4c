"""The price shown is the price charged: lists, single products, carts and orders agree for every caller."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.order_access import CHECKOUT
from domain.orders.lifecycle import change_status
from domain.points.ledger import adjust_points
from domain.promotions.promotions import PROMOTION_RECORDS
from kernel.scope import Actor, ActorKind, Scope, active_scope
from models.connection import database
from models.reading.response_shapes import NotCompiled
from models.tables.catalog import Feature, FeatureValue, FeatureVariant, ProductCategory
from resolvers import root
from resolvers.engine.compile import QueryCompiler
from resolvers.engine.executor import ExecutionContext, execute_document
from resolvers.engine.prepare import prepare_document
from tests.harness.sample_store import SampleStore

PRICING = "pricing { price_cents base_cents discount_cents promotions { name } }"
LIST = f"query($ids: [ID!]!) {{ products(filter: {{id: $ids}}, sort: ID_ASC) {{ id price_cents {PRICING} }} }}"
ONE = f"query($id: ID!) {{ product(id: $id) {{ id price_cents {PRICING} }} }}"
CART = f"""mutation($input: CartInput) {{
    cart_create(input: $input) {{ id items {{ product_id price_cents product {{ {PRICING} }} }} }} }}"""
CHECK_OUT = """mutation($id: ID!, $input: CartCheckoutInput!) { cart_checkout(id: $id, input: $input) {
    order { items { product_id price_cents } subtotal_cents discount_cents total_cents points_spent points_cents points_earned } } }"""
CART_TOTALS = "{ subtotal_cents discount_cents total_cents points_spent points_cents points_earned }"
PRICES = (1, 999, 1_000, 33_333)


async def execute(scope: Scope, text: str, **variables: Any) -> Any:
    data, errors, _ = await respond(scope, text, **variables)
    assert errors == []
    return data


async def respond(scope: Scope, text: str, **variables: Any) -> tuple[Any, list[Any], int]:
    """Return the data, the errors and the number of statements."""
    schema = root.public_schema()
    prepared = prepare_document(schema, text, limited=True)
    assert prepared.errors == (), prepared.errors
    with active_scope(scope), database.count_statements() as counted:
        result = await execute_document(schema, prepared, ExecutionContext(scope), variables)
    return result.data, list(result.errors or ()), counted.count


def callers(sample: SampleStore, **settings_: Any) -> dict[str, Scope]:
    """Return a guest with a storefront key, a customer, and one of the wholesale group."""
    scopes = frozenset({"storefront:read", "storefront:cart", CHECKOUT})
    store = replace(sample.scope.store, settings={**sample.scope.store.settings, **settings_})
    scope = replace(sample.scope, family="graphql", store=store)

    def customer(user: Any) -> Scope:
        return replace(scope, actor=Actor(ActorKind.CUSTOMER, user_id=user.number, user_public_id=UUID(user.id)))

    return {
        "guest": replace(scope, actor=Actor(ActorKind.STOREFRONT, storefront_key_id=1, scopes=scopes)),
        "customer": customer(sample.bia),
        "wholesale": customer(sample.caio),
    }


async def promote(sample: SampleStore, **fields: Any) -> None:
    with active_scope(sample.scope):
        await PROMOTION_RECORDS.create(sample.scope, {"zone": "catalog", **fields})


discounts = st.one_of(
    st.integers(0, 100_000).map(lambda thousandths: f"{thousandths / 1000:.3f}%"),
    st.integers(0, 40_000).map(lambda cents: f"{cents // 100}.{cents % 100:02}"),
    st.builds(
        lambda kind, value: {"discount_bonus": kind, "discount_value": str(value)},
        st.sampled_from(["by_percentage", "to_percentage", "by_fixed", "to_fixed"]),
        st.integers(0, 100),
    ),
)


def _bound(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda operator, value: {"operator": operator, "value": value}, st.sampled_from(["gte", "lte", "eq"]), values
    )


conditions = st.fixed_dictionaries(
    {},
    optional={
        "registered": st.sampled_from(["Y", "N"]),
        "usergroup": st.just("wholesale"),
        "users": st.sampled_from(["bia", "caio"]),
        "price": st.builds(
            lambda operator, cents: {"operator": operator, "value": f"{cents // 100}.{cents % 100:02}"},
            st.sampled_from(["lt", "lte", "gt", "gte", "eq", "neq"]),
            st.sampled_from(PRICES),
        ),
        "products": st.lists(st.integers(0, len(PRICES) - 1), min_size=1, max_size=2, unique=True),
        "categories": st.just("kitchen"),
        "feature": st.builds(
            lambda operator, variant: {"operator": operator, "value": variant},
            st.sampled_from(["eq", "neq", "cont", "ncont"]),
            st.sampled_from(["Azul", "Verde"]),
        ),
        "purchased_products": st.lists(st.integers(0, len(PRICES) - 1), min_size=1, max_size=2, unique=True),
        "orders_number": _bound(st.integers(0, 2)),
        "orders_total": _bound(st.sampled_from(["0.00", "0.01", "10.00"])),
        "reward_points": _bound(st.sampled_from([0, 50, 51])),
    },
)
promotions = st.fixed_dictionaries(
    {"bonuses": discounts.map(lambda discount: {"product_discount": discount}), "conditions": conditions},
    optional={
        "priority": st.integers(0, 3),
        "stop": st.booleans(),
        "usage_limit": st.integers(1, 2),
        "from_at": st.integers(-2, 2),
        "to_at": st.integers(3, 5),
        "status": st.sampled_from(["A", "D"]),
    },
)

rewards = st.fixed_dictionaries(
    {
        "bonuses": st.one_of(
            discounts.map(lambda discount: {"order_discount": discount}),
            st.integers(1, 20).map(lambda points: {"give_points": points}),
            discounts.map(lambda discount: {"product_discount": discount, "give_points": 3}),
        ),
        "conditions": conditions,
    },
    optional={"priority": st.integers(0, 3), "stop": st.booleans()},
)


@pytest.fixture
async def products(sample: SampleStore) -> list[Any]:
    """Products of these prices; the first two are in a category and blue or green, all are downloads.

    Bia bought the first and has points.
    """
    created = [await sample.add_product(price_cents=cents, is_edp=True) for cents in PRICES]
    for product in created[:2]:
        await sample.add(ProductCategory, product_id=product.number, category_id=sample.kitchen.number)
    colour = await sample.add(Feature, name="Tom", type="S")
    for product, name in zip(created, ("Azul", "Verde"), strict=False):
        variant = await sample.add(FeatureVariant, feature_id=colour.number, name=name)
        await sample.add(FeatureValue, product_id=product.number, feature_id=colour.number, variant_id=variant.number)
    bought = await sample.place_order((created[0], 2), user=sample.bia.number, payment_method=sample.pix.number)
    await change_status(sample.scope, bought.number, "P")
    await adjust_points(sample.scope, sample.bia.number, 50)
    return created


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(promotions, max_size=4), st.lists(rewards, max_size=2), st.integers(0, 50), st.integers(1, 7))
async def test_list_product_cart_and_order_agree(
    sample: SampleStore, products: list[Any], created: list[Any], bonuses_: list[Any], points: int, value_cents: int
) -> None:
    await sample.execute("update users set points = 50 where id = $1", sample.bia.number)
    tone = await sample.value("select id from features where name = 'Tom'")
    await sample.execute("update promotions set deleted_at = now() where deleted_at is null")
    for number, fields in enumerate(created):
        await promote(sample, name=f"P{number}", **_with_records(sample, products, tone, fields))
    for number, fields in enumerate(bonuses_):
        await promote(sample, name=f"B{number}", **_with_records(sample, products, tone, fields), zone="cart")
    for name, scope in callers(sample, point_value_cents=value_cents).items():
        listed = (await execute(scope, LIST, ids=[product.id for product in products]))["products"]
        assert [product["id"] for product in listed] == [product.id for product in products], (name, scope)
        prices = {product["id"]: product["pricing"] for product in listed}
        for product in listed:
            pricing = product["pricing"]
            assert pricing["base_cents"] == product["price_cents"]
            assert pricing["base_cents"] - pricing["discount_cents"] == pricing["price_cents"] >= 0, (
                name,
                scope,
                product,
            )
            assert bool(pricing["promotions"]) is (pricing["discount_cents"] > 0), (name, scope, product)
            assert (await execute(scope, ONE, id=product["id"]))["product"] == product
        items = [{"product_id": product.id, "quantity": 1} for product in products]
        cart = (await execute(scope, CART, input={"items": items}))["cart_create"]
        assert {item["product_id"]: item["price_cents"] for item in cart["items"]} == _cents(prices), name
        assert {item["product_id"]: item["product"]["pricing"] for item in cart["items"]} == prices, (name, scope)
        if name == "customer":
            text = f"mutation($id: ID!, $n: Int!) {{ cart_set_points(id: $id, points: $n) {CART_TOTALS} }}"
            totals = (await execute(scope, text, id=cart["id"], n=points))["cart_set_points"]
            assert totals["points_spent"] <= points, (name, scope)
            assert totals["points_cents"] == totals["points_spent"] * value_cents, (name, scope)
        else:
            totals = (await execute(scope, f"query($id: ID!) {{ cart(id: $id) {CART_TOTALS} }}", id=cart["id"]))["cart"]
        customer = {"customer_email": "visita@example.com"} if name == "guest" else {}
        checkout = await execute(scope, CHECK_OUT, id=cart["id"], input={"payment_id": sample.pix.id, **customer})
        order = checkout["cart_checkout"]["order"]
        assert {line["product_id"]: line["price_cents"] for line in order["items"]} == _cents(prices), (name, scope)
        assert order["subtotal_cents"] == sum(_cents(prices).values()), (name, scope)
        assert {name: order[name] for name in totals} == totals


def _cents(prices: dict[str, Any]) -> dict[str, int]:
    return {product: pricing["price_cents"] for product, pricing in prices.items()}


def _with_records(sample: SampleStore, products: list[Any], tone: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Replace the names of records by their numbers, and days by times."""
    fields, rule = dict(fields), dict(fields["conditions"])
    if "usergroup" in rule:
        rule["usergroup"] = [sample.wholesale.number]
    if "users" in rule:
        rule["users"] = [getattr(sample, rule["users"]).number]
    if "products" in rule:
        rule["products"] = [products[place].number for place in rule["products"]]
    if "purchased_products" in rule:
        rule["purchased_products"] = [products[place].number for place in rule["purchased_products"]]
    if "feature" in rule:
        rule["feature"] = {**rule["feature"], "feature_id": tone}
    if "categories" in rule:
        rule["categories"] = [sample.kitchen.number]
    for name in ("from_at", "to_at"):
        if name in fields:
            fields[name] = sample.scope.now + timedelta(days=fields[name])
    return fields | {"conditions": rule}


async def test_each_caller_sees_the_promotions_that_apply(sample: SampleStore, products: list[Any]) -> None:
    await promote(
        sample, name="Atacado", bonuses={"product_discount": "10%"}, conditions={"usergroup": [sample.wholesale.number]}
    )
    await promote(sample, name="Cadastro", bonuses={"product_discount": "1.00"}, conditions={"registered": "Y"})
    seen = {
        name: (await execute(scope, ONE, id=products[2].id))["product"]["pricing"]
        for name, scope in callers(sample).items()
    }
    assert {
        name: (price["price_cents"], [entry["name"] for entry in price["promotions"]]) for name, price in seen.items()
    } == {
        "guest": (1_000, []),
        "customer": (900, ["Cadastro"]),
        "wholesale": (800, ["Atacado", "Cadastro"]),
    }


async def test_a_list_takes_no_statement_for_promotions_that_the_process_knows(sample: SampleStore) -> None:
    await promote(sample, name="Tudo", bonuses={"product_discount": "10%"})
    ids = [(await sample.add_product()).id for _ in range(60)]
    counts = []
    text = LIST.replace("products(", "products(limit: 100, ")
    for length in (1, 1, 60):
        data, errors, count = await respond(callers(sample)["guest"], text, ids=ids[:length])
        assert errors == [], length
        assert [product["pricing"]["price_cents"] for product in data["products"]] == [900] * length
        counts.append(count)
    assert counts == [2, 1, 1]


async def test_each_change_of_a_promotion_shows_at_once(sample: SampleStore) -> None:
    # All in one transaction, whose changes have the same `xmin`.
    product, scope = (await sample.add_product(price_cents=1_000)).id, callers(sample)["guest"]

    async def price() -> Any:
        return (await execute(scope, ONE, id=product))["product"]["pricing"]["price_cents"]

    prices = [await price()]
    with active_scope(sample.scope):
        number = await PROMOTION_RECORDS.create(
            sample.scope, {"zone": "catalog", "name": "Tudo", "bonuses": {"product_discount": "10%"}}
        )
        prices.append(await price())
        for fields in (
            {"bonuses": {"product_discount": "20%"}},
            {"bonuses": {"product_discount": "30%"}},
            {"status": "D"},
            {"status": "A"},
            {"conditions": {"price": {"operator": "gt", "value": "10.00"}}},
            {"conditions": {}, "from_at": scope.now + timedelta(days=1)},
            {"from_at": None},
        ):
            await PROMOTION_RECORDS.update(sample.scope, number, fields)
            prices.append(await price())
        await PROMOTION_RECORDS.delete(sample.scope, number)
        prices.append(await price())
    assert prices == [1_000, 900, 800, 700, 1_000, 700, 1_000, 1_000, 700, 1_000]


async def test_a_promotion_begins_and_ends_without_a_change(sample: SampleStore) -> None:
    product, scope = (await sample.add_product(price_cents=1_000)).id, callers(sample)["guest"]
    limits = {"from_at": scope.now + timedelta(days=1), "to_at": scope.now + timedelta(days=2)}
    await promote(sample, name="Amanhã", bonuses={"product_discount": "10%"}, **limits)
    prices = []
    for hours in (0, 24, 48, 49):
        later = replace(scope, now=scope.now + timedelta(hours=hours))
        prices.append((await execute(later, ONE, id=product))["product"]["pricing"]["price_cents"])
    assert prices == [1_000, 900, 900, 1_000]


async def test_compiled_reads_calculate_prices_like_the_executor(sample: SampleStore, products: list[Any]) -> None:
    await promote(sample, name="Tudo", bonuses={"product_discount": "10%"})
    scope, schema = callers(sample)["wholesale"], root.public_schema()
    price = "pricing { cents: price_cents __typename promotions { label: name } } plain: pricing { base_cents }"
    nested = f"category {{ products(first: 3) {{ edges {{ node {{ {price} }} }} }} }}"
    text = f"{{ categories {{ name products {{ edges {{ node {{ id {nested} {price} }} }} }} }} }}"
    prepared = prepare_document(schema, text, limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    compiled = QueryCompiler(schema, native=False).compile_query(prepared, operation, None)
    assert compiled is not None
    with active_scope(scope):
        data = await compiled.run(scope)
    assert any(category["products"]["edges"] for category in data["categories"])
    assert data == await execute(scope, text)
    assert orjson.dumps(data) == orjson.dumps(await execute(scope, text))  # in the order of the document


async def test_prices_that_cannot_be_calculated_are_left_to_the_executor(
    sample: SampleStore, products: list[Any]
) -> None:
    scope, schema = callers(sample)["guest"], root.public_schema()
    prepared = prepare_document(schema, '{ products { pricing(options: {x: "y"}) { price_cents } } }', limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    compiled = QueryCompiler(schema, native=True).compile_query(prepared, operation, None)
    assert compiled is not None
    with active_scope(scope), pytest.raises(NotCompiled):
        await compiled.run(scope)


@pytest.mark.parametrize("options", [{"x": "y"}, ["x"], 5, {"1": None, "2": {}}])
async def test_wrong_options_are_an_error_of_the_field(sample: SampleStore, products: list[Any], options: Any) -> None:
    text = "query($id: ID!, $o: JSON) { product(id: $id) { id pricing(options: $o) { price_cents } } }"
    data, errors, _ = await respond(callers(sample)["guest"], text, id=products[0].id, o=options)
    assert data == {"product": {"id": products[0].id, "pricing": None}}
    assert [error.path for error in errors] == [["product", "pricing"]]


async def test_a_promotion_of_all_times_is_active(sample: SampleStore) -> None:
    """asyncpg writes the first and the last moment of the calendar as infinite, and reads those without a zone: prices were errors."""
    times = {"from_at": "0001-01-01T00:00:00Z", "to_at": "9999-12-31T23:59:59.999999Z"}
    text = "mutation($input: PromotionInput!) { promotion_create(input: $input) { from_at to_at } }"
    discount = [{"order_discount": {"mode": "by_percent", "value": 10_000}}]
    created = await execute(
        sample.scope, text, input={"name": "Sempre", "zone": "cart", "bonus_list": discount, **times}
    )
    assert created["promotion_create"] == {**times, "to_at": "9999-12-31T23:59:59Z"}
    items = [{"product_id": sample.mug.id, "quantity": 1}]
    text = "mutation($input: CartInput) { cart_create(input: $input) { subtotal_cents discount_cents } }"
    cart = (await execute(callers(sample)["guest"], text, input={"items": items}))["cart_create"]
    assert cart["discount_cents"] == cart["subtotal_cents"] // 10 > 0
