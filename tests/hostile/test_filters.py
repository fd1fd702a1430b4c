"""A filter of more than 1,000 values is refused; so is a text of more than 200 characters, which matches nothing in the legacy API."""

from __future__ import annotations

import orjson
import pytest
from graphql import GraphQLEnumType, GraphQLInputObjectType, get_named_type, is_list_type
from yarl import URL

from resolvers import root
from tests.harness.sample_store import SampleStore
from tests.hostile.conftest import Query


def _filters() -> list[tuple[str, str, str, bool]]:
    """Return the filters of all pages: the field, the filter, its type, and whether it takes a list."""
    schema = root.public_schema()
    assert schema.query_type is not None
    filters = []
    for name, field in schema.query_type.fields.items():
        input_type = (
            get_named_type(field.args["filter"].type) if name.endswith("_page") and "filter" in field.args else None
        )
        if isinstance(input_type, GraphQLInputObjectType):
            for key, declared in input_type.fields.items():
                filters.append((name, key, get_named_type(declared.type).name, is_list_type(declared.type)))
    return filters


def _text_filters() -> list[tuple[str, str, bool]]:
    return [(field, name, takes_list) for field, name, type_, takes_list in _filters() if type_ == "String"]


async def test_every_filter_text_is_limited(query: Query):
    filters = _text_filters()
    assert len(filters) > 50
    for field, name, takes_list in filters:
        type_ = "[String!]" if takes_list else "String"
        document = f"query ($text: {type_}) {{ {field}(filter: {{{name}: $text}}) {{ total }} }}"
        for text, is_refused in (("É" * 200, False), ("É" * 201, True)):
            response = await query(document, text=["x", text] if takes_list else text)
            errors = response.body.get("errors", [])
            if not is_refused:
                assert errors == [], (field, name)
                continue
            [error] = errors
            assert error["message"] == f"{name} is 201 characters long; expected at most 200"
            assert error["extensions"]["code"] == "VALIDATION_FAILED", (field, name, takes_list, text, is_refused)
            assert error["extensions"]["field"] == name
            assert response.body["data"] == {field: None}


async def test_a_search_of_a_million_characters_is_refused(sample: SampleStore):
    document = "query ($text: String!) { reviews(filter: {search: $text}) { id } }"
    body = {"query": document, "variables": {"text": "É" * 900_000}}
    response = await sample.post(
        "/graphql", data=orjson.dumps(body), headers={"Content-Type": "application/json"}, auth="bearer"
    )
    assert response.body["errors"][0]["message"] == "search is 900000 characters long; expected at most 200"


async def test_a_search_is_folded_before_the_statement(sample: SampleStore, query: Query):
    """The database would fold a parameter once per row."""
    from domain.filters import contains_text

    condition = contains_text("t.name")("ÁGATA")
    assert condition.params == ("agata",)
    assert condition.sql.count("vitrine_fold") == 1
    response = await query('{ vendors(filter: {search: "VENDÊDORA"}) { name } }')
    assert "errors" not in response.body


@pytest.mark.parametrize(
    "path, parameter",
    [
        ("/api/v1/admin/products", "search"),
        ("/api/v1/admin/orders", "search"),
        ("/api/v1/admin/users", "search"),
        ("/api/v1/admin/audit-log", "action"),
    ],
)
async def test_a_long_parameter_of_the_current_api_is_400(path: str, parameter: str, sample: SampleStore):
    assert (await sample.get(path, auth="bearer", params={parameter: "x" * 200})).status == 200
    response = await sample.get(path, auth="bearer", params={parameter: "x" * 201})
    assert response.status == 400
    assert response.body["error"] == f"invalid {parameter}"
    assert response.body["detail"] == f"{parameter} is 201 characters long; expected at most 200"


@pytest.mark.parametrize(
    "path, parameter",
    [("products", "q"), ("products", "product"), ("orders", "q"), ("users", "email"), ("categories", "q")],
)
async def test_a_long_filter_of_the_legacy_api_matches_nothing(path: str, parameter: str, sample: SampleStore):
    response = await sample.get(f"/api/{path}", params={parameter: "x" * 201})
    assert response.status == 200
    assert not response.body[path]
    assert response.body["params"]["total_items"] == 0


async def test_one_long_value_of_a_legacy_filter_leaves_the_others(sample: SampleStore):
    name = await sample.value("SELECT name FROM products WHERE id = $1", sample.mug.number)
    response = await sample.get("/api/products", params=[("product[]", name), ("product[]", "x" * 201)])
    assert response.body["params"]["total_items"] >= 1


# A value of each type of filter that takes a list; enums take their first.
_VALUES = {"ID": "1", "String": "x", "BigInt": 1, "Int": 1, "DateTime": "2026-01-01T00:00:00Z"}


async def test_every_filter_takes_a_thousand_values_and_no_more(query: Query):
    filters = [(field, name, type_) for field, name, type_, takes_list in _filters() if takes_list]
    assert len(filters) > 150
    for field, name, type_ in filters:
        enum = root.public_schema().type_map[type_]
        value = next(iter(enum.values)) if isinstance(enum, GraphQLEnumType) else _VALUES.get(type_, "x")
        document = f"query ($values: [{type_}!]) {{ {field}(filter: {{{name}: $values}}) {{ total }} }}"
        for number in (1_000, 1_001):
            response = await query(document, values=[value] * number)
            errors = [error["message"] for error in response.body.get("errors", [])]
            limit = "1000" if field != "product_search_page" else "100"
            if number == 1_000 and limit == "1000":
                assert errors == [], (field, name)
            else:
                assert errors == [f"{name} has {number} values; expected at most {limit}"], (field, name)


async def test_a_legacy_filter_of_more_than_a_thousand_values_is_400(sample: SampleStore):
    lists = ",".join(["1"] * 50)
    for number, status in ((20, 200), (21, 400)):
        response = await sample.get("/api/products", params=[("order_ids[]", lists)] * number)
        assert response.status == status, response.raw
    assert response.body["message"] == "order_id has 1050 values; expected at most 1000"
    response = await sample.get(URL(f"/api/products?{'&'.join(['q[]=a'] * 1_001)}", encoded=True))
    assert (response.status, response.body["message"]) == (400, "invalid q")
