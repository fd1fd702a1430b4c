"""Conditions and bonuses of promotions as typed values, and what an order would cost with them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from domain.promotions.bonuses import GIFTS
from domain.promotions.conditions import CATALOG, CONDITION_TYPES
from domain.promotions.promotions import PROMOTION_RECORDS
from domain.promotions.typed_terms import CONDITION_KINDS
from models.connection import database
from resolvers import root
from tests.graphql.conftest import ExecuteQuery, StoreRecords
from tests.harness.sample_store import SampleStore

LEAF = "kind operator cents number grams flag texts ids products { product_id quantity } feature_id"
TERMS = f"""zone condition_tree {{ match holds conditions {{ {LEAF} match holds conditions {{ {LEAF} }} }} }}
    bonus_list {{ kind discount {{ mode value }} product_ids category_ids shipping_method_ids products {{ product_id quantity }}
        points promotion_id }}"""
CREATE = f"mutation($input: PromotionInput!) {{ promotion_create(input: $input) {{ id conditions bonuses {TERMS} }} }}"
PREVIEW = """query($input: OrderInput!) { order_preview(input: $input) {
    lines { product_id product { id } name quantity base_price_cents price_cents total_cents is_gift }
    discounts { promotion_id promotion { id } name amount_cents }
    subtotal_cents discount_cents shipping_cents surcharge_cents tax_cents total_cents points_earned points_spent } }"""
UNKNOWN = "0192f0a0-0000-7000-8000-000000000000"


async def send(sample: SampleStore, query: str, **variables: Any) -> Any:
    return (await sample.post("/graphql", {"query": query, "variables": variables}, auth="bearer")).body


async def create(sample: SampleStore, **fields: Any) -> Any:
    answer = await send(sample, CREATE, input={"name": "Oferta", **fields})
    assert "errors" not in answer, answer
    return answer["data"]["promotion_create"]


def group(*tests: Any, match: str = "all", **more: Any) -> dict[str, Any]:
    return {"match": match, "conditions": [each if "group" in each else {"test": each} for each in tests], **more}


def known(record: Any) -> Any:
    """Return a record without its nulls."""
    if isinstance(record, dict):
        return {name: known(value) for name, value in record.items() if value is not None}
    return [known(each) for each in record] if isinstance(record, list) else record


def test_kinds_of_the_schema_are_those_of_the_domain() -> None:
    types: Any = root.public_schema().type_map
    assert set(types["PromotionConditionKind"].values) == {*CONDITION_TYPES, "feature"}
    assert set(types["PromotionBonusInput"].fields) == set(types["PromotionBonusKind"].values) == set(GIFTS)
    assert {each.value for each in CONDITION_KINDS.values()} == set(types["PromotionValueInput"].fields)
    operators = {operator for each in CONDITION_KINDS.values() for operator in each.operators}
    assert operators == set(types["PromotionOperator"].values)


async def test_typed_conditions_are_read_as_they_were_written_and_apply(sample: SampleStore) -> None:
    product, other = await sample.add_product(), await sample.add_product()
    tests: list[Any] = [
        {"kind": "subtotal", "operator": "gte", "value": {"cents": 10_050}},
        {"kind": "total_weight", "operator": "lt", "value": {"grams": 1_500}},
        {"kind": "products_number", "operator": "gt", "value": {"number": 2}},
        {"kind": "registered", "operator": "eq", "value": {"flag": True}},
        {"kind": "coupon_code", "operator": "in", "value": {"texts": ["NATAL", "Páscoa"]}},
        {"kind": "categories", "operator": "nin", "value": {"ids": [str(sample.home.id)]}},
    ]
    products = [{"product_id": str(product.id), "quantity": 2}, {"product_id": str(other.id), "quantity": 1}]
    inner = group({"kind": "products", "operator": "in", "value": {"products": products}}, match="any", holds=False)
    record = await create(sample, condition_tree=group(*tests, {"group": inner}))
    shown = known(record["condition_tree"])
    expected: list[Any] = [{"kind": each["kind"], "operator": each["operator"]} | each["value"] for each in tests]
    last = {
        "match": "any",
        "holds": False,
        "conditions": [{"kind": "products", "operator": "in", "products": products}],
    }
    assert shown == {"match": "all", "holds": True, "conditions": [*expected, last]}
    assert record["conditions"]["conditions"]["1"] == {"condition": "subtotal", "operator": "gte", "value": "100.50"}
    rule = await sample.value("select rule from promotions where public_id = $1", UUID(record["id"]))
    assert '"value": 10050' in str(rule)


async def test_conditions_of_other_systems_are_typed_too(sample: SampleStore) -> None:
    product = await sample.add_product()
    number = await sample.value("select id from products where public_id = $1", product.id)
    plain = {"min_subtotal": "10.00", "products": [number], "once_per_customer": "Y", "states": "SP,são paulo"}
    cases: list[tuple[Any, Any]] = [
        ({}, []),
        (
            plain,
            [
                {"kind": "once_per_customer", "operator": "eq", "flag": True},
                {"kind": "products", "operator": "in", "products": [{"product_id": str(product.id), "quantity": 1}]},
                {"kind": "state", "operator": "in", "texts": ["SP", "são paulo"]},
                {"kind": "subtotal", "operator": "gte", "cents": 1_000},
            ],
        ),
    ]
    for conditions, expected in cases:
        async with database.transaction(sample.scope):
            await PROMOTION_RECORDS.create(sample.scope, {"name": "Antiga", "conditions": conditions})
        answer = await send(sample, f'{{ promotions(filter: {{name: "Antiga"}}, limit: 1) {{ {TERMS} }} }}')
        [record] = answer["data"]["promotions"]
        tree = known(record["condition_tree"])
        assert sorted(tree["conditions"], key=lambda each: each["kind"]) == expected, conditions
        async with database.transaction(sample.scope):
            await sample.value("update promotions set name = 'x' where name = 'Antiga' returning 1")


async def test_typed_bonuses_are_read_as_they_were_written(sample: SampleStore) -> None:
    product = str((await sample.add_product()).id)
    coupons = await create(sample, condition_tree=group({"kind": "auto_coupons", "value": {"texts": []}}))
    discount = {"mode": "by_percent", "value": 7_500}
    bonuses = [
        {"order_discount": discount},
        {"product_discount": {"discount": {"mode": "to_cents", "value": 990}, "product_ids": [product]}},
        {"free_shipping": {}},
        {"free_products": [{"product_id": product, "quantity": 2}]},
        {"give_points": 30},
        {"give_coupon": coupons["id"]},
    ]
    record = await create(sample, bonus_list=bonuses)
    assert known(record["bonus_list"]) == [
        {"kind": "order_discount", "discount": discount},
        {"kind": "product_discount", "discount": {"mode": "to_cents", "value": 990}, "product_ids": [product]},
        {"kind": "free_shipping", "shipping_method_ids": []},
        {"kind": "free_products", "products": [{"product_id": product, "quantity": 2}]},
        {"kind": "give_points", "points": 30},
        {"kind": "give_coupon", "promotion_id": coupons["id"]},
    ]


@pytest.mark.parametrize(
    "fields, field, message",
    [
        ({"condition_tree": group({"kind": "subtotal", "value": {"number": 1}})}, "condition_tree", "expected cents"),
        (
            {"condition_tree": group({"kind": "feature", "value": {"texts": ["a"]}})},
            "condition_tree",
            "without feature_id",
        ),
        (
            {"condition_tree": group({"kind": "subtotal", "value": {"cents": 1}, "feature_id": UNKNOWN})},
            "condition_tree",
            "with feature_id",
        ),
        (
            {"condition_tree": group({"kind": "subtotal", "operator": "in", "value": {"cents": 1}})},
            "condition_tree",
            "operator",
        ),
        ({"condition_tree": group({"kind": "subtotal", "value": {"cents": -1}})}, "condition_tree", "-0.01"),
        ({"condition_tree": group({"kind": "users", "value": {"ids": [UNKNOWN]}})}, "condition_tree", "not found"),
        ({"condition_tree": group({"kind": "users", "value": {"ids": []}})}, "condition_tree", "without a value"),
        ({"condition_tree": group(), "conditions": {}}, "condition_tree", "both set"),
        ({"bonus_list": [{"give_points": 0}]}, "bonus_list", "expected 1 to"),
        ({"bonus_list": [{"order_discount": {"mode": "by_percent", "value": 100_001}}]}, "bonus_list", "at most 100"),
        ({"zone": CATALOG, "bonus_list": [{"give_points": 1}]}, "bonus_list", "zone catalog"),
    ],
)
async def test_wrong_terms_are_refused_at_their_field(
    shared_sample: SampleStore, fields: dict[str, Any], field: str, message: str
) -> None:
    answer = await send(shared_sample, CREATE, input={"name": "P", **fields})
    [error] = answer["errors"]
    assert error["extensions"]["code"] == "VALIDATION_FAILED", error
    assert message in error["message"], error
    assert field in str(error["extensions"]), error


async def test_promotions_take_as_many_statements_however_many_they_are(
    records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    number = records.numbers["product"]
    free = {"free_products": [{"product_id": number}]}
    counts = []
    for count in (2, 8):
        for _ in range(count):
            async with database.transaction(records.scope):
                await PROMOTION_RECORDS.create(
                    records.scope, {"name": "N", "conditions": {"products": [number]}, "bonuses": free}
                )
        with database.count_statements() as counted:
            answer = await execute_query(records.callers["admin"], f"{{ promotions(limit: 50) {{ {TERMS} }} }}")
        assert len(answer.data["promotions"]) >= count, answer
        counts.append(counted.count)
    assert counts[0] == counts[1] <= 4, counts


async def test_a_trial_states_lines_discounts_and_totals_and_writes_nothing(sample: SampleStore) -> None:
    product, gift = await sample.add_product(price_cents=10_000), await sample.add_product(price_cents=500)
    of_product = {"product_ids": [str(product.id)]}
    catalogue = await create(
        sample,
        name="Vitrine",
        zone=CATALOG,
        bonus_list=[{"product_discount": {"discount": {"mode": "by_percent", "value": 10_000}, **of_product}}],
    )
    cart = await create(
        sample,
        name="Carrinho",
        condition_tree=group({"kind": "subtotal", "value": {"cents": 15_000}}),
        bonus_list=[
            {"order_discount": {"mode": "by_cents", "value": 1_000}},
            {"free_products": [{"product_id": str(gift.id)}]},
        ],
    )
    before = await sample.value("select count(*) from orders")
    answer = await send(sample, PREVIEW, input={"items": [{"product_id": str(product.id), "quantity": 2}]})
    assert "errors" not in answer, answer
    preview = answer["data"]["order_preview"]
    assert [(line["product_id"], line["price_cents"], line["is_gift"]) for line in preview["lines"]] == [
        (str(product.id), 9_000, False),
        (str(gift.id), 0, True),
    ]
    assert preview["lines"][0]["product"] == {"id": str(product.id)}
    assert [(each["promotion_id"], each["name"], each["amount_cents"]) for each in preview["discounts"]] == [
        (catalogue["id"], "Vitrine", 2_000),
        (cart["id"], "Carrinho", 1_000),
    ]
    assert preview["discounts"][1]["promotion"] == {"id": cart["id"]}
    amounts = [preview[name] for name in ("subtotal_cents", "discount_cents", "shipping_cents", "total_cents")]
    assert amounts == [18_000, 1_000, 0, 17_000]
    assert await sample.value("select count(*) from orders") == before


@pytest.mark.parametrize(
    "order, message",
    [
        ({}, "items is required"),
        ({"items": [{"product_id": UNKNOWN, "quantity": 1}]}, "not found"),
        ({"items": [{"product_id": "PRODUCT", "quantity": 1}], "coupon_code": "NADA"}, "coupon NADA"),
    ],
)
async def test_a_trial_is_refused_as_the_order_would_be(
    sample: SampleStore, order: dict[str, Any], message: str
) -> None:
    product = str((await sample.add_product()).id)
    items = [{**item, "product_id": item["product_id"].replace("PRODUCT", product)} for item in order.get("items", ())]
    answer = await send(sample, PREVIEW, input={**order, **({"items": items} if items else {})})
    assert message in answer["errors"][0]["message"], answer
