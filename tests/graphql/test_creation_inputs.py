"""Inputs that create and update records require nothing in the schema: their descriptions say what a creation needs."""

from __future__ import annotations

import re

import pytest
from graphql import GraphQLInputObjectType, build_schema, get_named_type, is_non_null_type, is_required_argument

from resolvers import root
from server.commands.schema import FOLDER, RELEASED
from tests.harness.sample_store import SampleStore

SCHEMA = root.public_schema()


def _creations() -> dict[str, GraphQLInputObjectType]:
    """Return the inputs of mutations that create, of nothing but an input, where the update takes the same one."""
    assert SCHEMA.mutation_type is not None
    fields, creations = SCHEMA.mutation_type.fields, {}
    for name in (name for name in fields if name.endswith("_create")):
        update = fields.get(name.replace("_create", "_update"))
        required = [key for key, argument in fields[name].args.items() if is_required_argument(argument)]
        if update is None or required != ["input"]:
            continue
        type_ = get_named_type(fields[name].args["input"].type)
        if isinstance(type_, GraphQLInputObjectType) and type_ is get_named_type(update.args["input"].type):
            creations[name] = type_
    return creations


CREATIONS = _creations()


def test_what_no_release_has_is_created_by_an_input_that_requires_it() -> None:
    released = build_schema((FOLDER / RELEASED).read_text(encoding="utf-8")).type_map
    assert {name for name, type_ in CREATIONS.items() if type_.name not in released} == set()
    required = {
        name: {key for key, field in type_.fields.items() if is_non_null_type(field.type)}
        for name, type_ in SCHEMA.type_map.items()
        if name.endswith("CreateInput") and isinstance(type_, GraphQLInputObjectType)
    }
    assert required == {
        "CollectionCreateInput": {"name"},
        "MenuCreateInput": {"handle", "name"},
        "RedirectCreateInput": {"path"},
        "VariationGroupCreateInput": {"product_ids"},
    }


def test_creations_share_the_inputs_of_updates() -> None:
    assert len(CREATIONS) > 30


@pytest.mark.parametrize("name", CREATIONS)
async def test_the_description_names_what_a_creation_lacks(name: str, shared_sample: SampleStore) -> None:
    body = {"query": f"mutation {{ {name}(input: {{}}) {{ __typename }} }}"}
    answer = await shared_sample.post("/graphql", body, auth="bearer")
    [error] = answer.body["errors"]
    assert error["extensions"]["code"] == "VALIDATION_FAILED", error
    type_ = CREATIONS[name]
    required = re.search(r"[^.;]+ required on creation", type_.description or "")
    assert required is not None, type_.description
    named = set(type_.fields) if "All fields" in required[0] else set(re.findall(r"`(\w+)`", required[0]))
    assert set(error["extensions"]["details"]["fields"]) <= named, type_.description
