"""What isn't set is null in GraphQL, and the empty text in the REST families; what a release had as non-null says when it changes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from graphql import (
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
    get_nullable_type,
    is_non_null_type,
)

from resolvers import root
from resolvers.engine import compile as query_compiler
from schema.fields import UNSET, strawberry_field
from schema.unset import NULL_FROM, Unset
from server.commands.schema import BREAKING, CHANGELOG, FOLDER, RELEASED
from tests.harness.sample_store import SampleStore

PUBLIC, INTERNAL = root.public_schema(), root.internal_schema()


def _fields(schema: GraphQLSchema) -> Iterator[tuple[str, GraphQLField]]:
    for type_ in schema.type_map.values():
        if isinstance(type_, GraphQLObjectType | GraphQLInterfaceType) and not type_.name.startswith("__"):
            for name, field in type_.fields.items():
                yield f"{type_.name}.{name}", field


def _marked(unset: Unset) -> dict[str, GraphQLField]:
    declared = {name: (field, strawberry_field(field)) for name, field in _fields(PUBLIC)}
    return {name: field for name, (field, own) in declared.items() if own and own.metadata.get(UNSET) is unset}


def _released() -> dict[str, GraphQLField]:
    return dict(_fields(build_schema((FOLDER / RELEASED).read_text(encoding="utf-8"))))


def test_what_is_null_is_nullable_for_clients_and_as_it_was_for_the_rest_families() -> None:
    internal, released, names = dict(_fields(INTERNAL)), _released(), _marked(Unset.NULL)
    breaking = (FOLDER / BREAKING).read_text(encoding="utf-8")
    assert len(names) > 30
    for name, field in names.items():
        assert str(field.type) == "String", name
        assert str(get_nullable_type(internal[name].type)) == "String", name
        if name in released and is_non_null_type(released[name].type):
            assert name == "OrderStatusChange.reason", f"{name} would break programs"
            assert f"Field {name} changed type" in breaking, name  # since it is refused to customers


def test_what_the_last_release_has_as_non_null_is_announced() -> None:
    released, names = _released(), _marked(Unset.LATER)
    announced = CHANGELOG.read_text(encoding="utf-8").partition("\n### Deprecated\n")[2].partition("\n### ")[0]
    for name, field in names.items():
        assert is_non_null_type(field.type), name
        assert f"From {NULL_FROM} null in place of an empty text." in (field.description or ""), name
        assert f"`{name}`" in announced, f"the changelog's Deprecated doesn't name {name}"
    assert names.keys() <= released.keys()


def test_no_other_text_is_empty_for_what_is_not_set() -> None:
    marked = _marked(Unset.NULL).keys() | _marked(Unset.LATER).keys()
    for name, field in _fields(PUBLIC):
        if str(get_nullable_type(field.type)) == "String" and name not in marked:
            assert not re.search(r"[;,] empty ", field.description or ""), f"{name}: {field.description}"
    shown = {name.partition(".")[0] for name in _marked(Unset.NULL)}
    for name in shown:
        description = PUBLIC.type_map[name].description or ""
        assert "texts are empty" not in description, f"{name}: {description}"


PRODUCT = """query($id: ID!) { product(id: $id) { gtin other: ncm ...F vendor { ...V } }
    categories(limit: 1) { page_title seo { keywords } } store { contact { email phone address } } }
fragment F on Product { details_layout promo_text sku } fragment V on Vendor { phone zipcode recipient_id meta_keywords }"""
SET = "mutation($id: ID!, $input: ProductInput!) { product_update(id: $id, input: $input) { gtin ncm } }"


@pytest.mark.parametrize("compiled", [True, False])
async def test_what_is_not_set_is_null_and_can_be_sent_back(
    compiled: bool, sample: SampleStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_compiler, "_enabled", compiled)
    product = await sample.add_product()
    await sample.execute("UPDATE vendors SET phone = '', zipcode = ''")

    async def send(text: str, **variables: Any) -> Any:
        body = {"query": text, "variables": {"id": str(product.id), **variables}}
        answer = (await sample.post("/graphql", body, auth="bearer")).body
        assert "errors" not in answer, answer
        return answer["data"]

    data = await send(PRODUCT)
    record = data["product"]
    assert [record[name] for name in ("gtin", "other", "details_layout", "promo_text")] == [None, None, None, ""]
    assert set(record["vendor"].values()) == {None}
    assert data["categories"] == [{"page_title": None, "seo": {"keywords": None}}]
    assert set(data["store"]["contact"].values()) == {None}
    for sent, shown in (
        ("7891000100103", "7891000100103"),
        (None, None),
        ("7891000100103", "7891000100103"),
        ("", None),
    ):
        changed = await send(SET, input={"gtin": sent})
        assert changed["product_update"] == {"gtin": shown, "ncm": None}, sent
    legacy = await sample.get(f"/api/products/{product.number}")
    assert [legacy.body[name] for name in ("gtin", "ncm")] == ["", ""]
