"""Conditions and bonuses of promotions as typed values."""

from __future__ import annotations

import gc
from typing import Any
from uuid import UUID

import orjson
import pytest
from graphql import GraphQLNonNull

from domain.promotions.bonuses import GIFTS
from domain.promotions.conditions import CATALOG, CONDITION_TYPES
from domain.promotions.promotions import MAX_JSON_BYTES, PROMOTION_RECORDS
from domain.promotions.typed_terms import CONDITION_KINDS
from models.connection import database
from models.reading.answer_size import AnswerLimits, AnswerTooLarge, limited_answer
from resolvers import root
from schema.types import promotions
from tests.graphql.conftest import ExecuteQuery, StoreRecords
from tests.harness.sample_store import SampleStore
from tests.hostile.loop_pauses import LoopPauses, unit_of_work

LEAF = "kind operator cents number grams flag texts ids products { product_id quantity } feature_id"
TERMS = f"""zone condition_tree {{ match holds conditions {{ {LEAF} match holds conditions {{ {LEAF} }} }} }}
    bonus_list {{ kind discount {{ mode value }} product_ids category_ids shipping_method_ids products {{ product_id quantity }}
        points promotion_id }}"""
CREATE = f"mutation($input: PromotionInput!) {{ promotion_create(input: $input) {{ id conditions bonuses {TERMS} }} }}"
UNKNOWN = "0192f0a0-0000-7000-8000-000000000000"


async def send(sample: SampleStore, query: str, **variables: Any) -> Any:
    return (await sample.post("/graphql", {"query": query, "variables": variables}, auth="bearer")).body


async def create(sample: SampleStore, **fields: Any) -> Any:
    answer = await send(sample, CREATE, input={"name": "Oferta", **fields})
    assert "errors" not in answer, answer
    return answer["data"]["promotion_create"]


def group(*tests: Any, match: str = "all", **more: Any) -> dict[str, Any]:
    return {"match": match, "conditions": [each if "group" in each else {"test": each} for each in tests], **more}


def discount_on(**records: Any) -> dict[str, Any]:
    return {"product_discount": {"discount": {"mode": "by_percent", "value": 10_000}, **records}}


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
        ({"bonus_list": [discount_on(product_ids=[])]}, "bonus_list", "empty product_ids"),
        ({"bonus_list": [discount_on(product_ids=None, category_ids=[])]}, "bonus_list", "empty category_ids"),
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


async def test_null_of_an_optional_member_means_its_default(sample: SampleStore) -> None:
    product = str((await sample.add_product()).id)
    inner = group({"kind": "subtotal", "operator": None, "value": {"cents": 1}, "feature_id": None}, holds=None)
    units = [{"product_id": product, "quantity": None}]
    tree = group({"group": inner}, {"kind": "products", "value": {"products": units}}, holds=None)
    bonuses = [
        discount_on(product_ids=None, category_ids=None),
        {"free_shipping": {"shipping_method_ids": None}},
        {"free_products": units},
    ]
    nulls = await create(sample, condition_tree=tree, bonus_list=bonuses)
    left_out = await create(sample, condition_tree=known(tree), bonus_list=known(bonuses))
    assert {**nulls, "id": left_out["id"]} == left_out
    assert nulls["condition_tree"]["holds"] is True
    assert nulls["condition_tree"]["conditions"][0]["holds"] is True
    assert nulls["condition_tree"]["conditions"][1]["products"] == [{"product_id": product, "quantity": 1}]
    assert nulls["bonus_list"][2]["products"] == [{"product_id": product, "quantity": 1}]
    types: Any = root.public_schema().type_map
    inputs = [
        types[f"Promotion{name}Input"]
        for name in ("Product", "Test", "ConditionGroup", "ProductDiscount", "FreeShipping")
    ]
    optional = {
        name for each in inputs for name, field in each.fields.items() if not isinstance(field.type, GraphQLNonNull)
    }
    assert optional == {
        "quantity",
        "operator",
        "feature_id",
        "holds",
        "product_ids",
        "category_ids",
        "shipping_method_ids",
    }


async def test_what_cannot_be_shown_typed_is_null(sample: SampleStore) -> None:
    record = await create(sample)
    await sample.value(
        """update promotions set conditions = '{"unknown": 1}', bonuses = '{"unknown": 1}' where public_id = $1 returning 1""",
        UUID(record["id"]),
    )
    answer = await send(sample, f'{{ promotion(id: "{record["id"]}") {{ conditions bonuses {TERMS} }} }}')
    terms = {
        name: answer["data"]["promotion"][name] for name in ("conditions", "bonuses", "condition_tree", "bonus_list")
    }
    assert terms == {
        "conditions": {"unknown": 1},
        "bonuses": {"unknown": 1},
        "condition_tree": None,
        "bonus_list": None,
    }


async def test_large_terms_do_not_hold_the_event_loop(records: StoreRecords) -> None:
    number = records.numbers["product"]
    cases: list[tuple[Any, list[str]]] = [(promotions._condition_trees, []), (promotions._bonus_lists, [])]
    for promotion in range(50):
        ids = [number, *(f"0192f0a0-{promotion:04x}-7{each:03x}-8000-000000000000" for each in range(999))]
        bonus = {"bonus": "product_discount", "percent": 5, "products": ids}
        for (_, texts), terms in zip(cases, ({"products": ids, "not_products": ids}, [bonus, bonus]), strict=True):
            texts.append(orjson.dumps(["cart", terms]).decode())
    for read, texts in cases:
        assert all(75_000 < len(text) < MAX_JSON_BYTES for text in texts), read
        longest = []
        for _ in range(3):
            gc.collect()
            gc.disable()
            with LoopPauses() as pauses:
                shown = await read(records.scope, texts)
            gc.enable()
            assert all(shown), read
            longest.append(pauses.longest)
        # 50 ms on the machine of docs/security.md.
        assert min(longest) < 5 * unit_of_work(), (read, longest)


async def test_terms_larger_than_an_answer_are_refused_before_they_are_parsed(
    sample: SampleStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create(sample, bonus_list=[{"give_points": 1}])

    async def parse(*_: Any) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(promotions, "typed_bonuses", parse)
    with limited_answer(AnswerLimits(max_objects=100, max_bytes=10)), pytest.raises(AnswerTooLarge):
        await promotions._bonus_lists(sample.scope, ['["cart", {}]'])


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
