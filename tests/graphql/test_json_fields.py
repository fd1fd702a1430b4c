"""What is `JSON` in the public schema is listed with its reason in the reference; everything else is typed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from graphql import (
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNonNull,
    GraphQLObjectType,
    get_named_type,
    is_non_null_type,
)

from resolvers import root
from server.assets.build import ROOT
from tests.harness.sample_store import SampleStore

SCHEMA = root.public_schema()
REFERENCE = ROOT / "docs" / "reference" / "graphql.md"
JSON_SCALARS = {"JSON", "ProcessorParams", "RateParams"}


def _json_fields() -> Iterator[str]:
    """Yield the fields, and the fields with an argument in brackets, that are JSON."""
    for type_ in SCHEMA.type_map.values():
        if not isinstance(type_, GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType):
            continue
        for name, field in type_.fields.items():
            if get_named_type(field.type).name in JSON_SCALARS:
                yield f"{type_.name}.{name}"
            for key, argument in getattr(field, "args", {}).items():
                if get_named_type(argument.type).name in JSON_SCALARS:
                    yield f"{type_.name}.{name}({key})"


def test_json_fields_are_those_of_the_reference() -> None:
    section = REFERENCE.read_text(encoding="utf-8").partition("\n## JSON\n")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    assert all(reason.strip() for _, _, reason, _ in rows)
    assert sorted(_json_fields()) == sorted(name for _, names, *_ in rows for name in re.findall(r"`(.+?)`", names))


@pytest.mark.parametrize(
    "name, required",
    [
        ("AppInput", {"name", "redirect_uris", "scopes"}),
        ("CartAddressInput", {"zipcode"}),
        ("CartItemInput", {"quantity"}),
        ("CreditCheckInput", {"cnpj"}),
        ("ManagerTransactionInput", {"manager_id", "amount_cents"}),
        ("OrderLimitInput", {"user_id", "vendor_id"}),
        ("RegistrationInput", {"email", "password", "name"}),
        ("VendorSignupInput", {"company", "email", "password"}),
    ],
)
def test_what_is_always_required_is_non_null_for_clients_only(name: str, required: set[str]) -> None:
    public, internal = SCHEMA.type_map[name], root.internal_schema().type_map[name]
    assert isinstance(public, GraphQLInputObjectType)
    assert isinstance(internal, GraphQLInputObjectType)
    assert {key for key, field in public.fields.items() if is_non_null_type(field.type)} == required
    assert not any(isinstance(internal.fields[key].type, GraphQLNonNull) for key in required)


@pytest.mark.parametrize(
    "variables, content",
    [
        ({"text": "Olá"}, {"a": "Olá", "b": ["Olá", {"c": "Olá"}]}),
        ({"text": None}, {"a": None, "b": [None, {"c": None}]}),
        ({}, {"b": [None, {}]}),
    ],
)
async def test_a_variable_left_out_of_a_json_literal_is_no_member(
    variables: dict[str, Any], content: dict[str, Any], sample: SampleStore
) -> None:
    text = """mutation($text: String) {
      block_create(input: { type: "html", name: "Topo", content: { a: $text, b: [$text, { c: $text }] } }) { content }
    }"""
    created = await sample.post("/graphql", {"query": text, "variables": variables}, auth="bearer")
    assert "errors" not in created.body, created.body
    assert created.body["data"] == {"block_create": {"content": content}}
