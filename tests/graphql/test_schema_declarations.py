"""All types and fields of the schema declare a description and an access rule."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    graphql_sync,
    is_introspection_type,
    is_non_null_type,
    is_specified_scalar_type,
)
from strawberry.types.base import StrawberryObjectDefinition

from auth.access import Access
from resolvers import platform, root
from schema.declaration import declare
from schema.fields import ACCESS, ColumnSource, access_of, entity_of, field_source, strawberry_field
from schema.inputs import optional_copies

RESTRICTED = {
    "User": {"phone", "cpf", "cnpj", "privileges", "usergroups"},
    "Vendor": {"email", "phone", "address", "zipcode", "cnpj", "commission", "commission_type"},
    "Order": {"user", "details", "origin", "ip_address"},
    "OrderCustomer": {"phone"},
    "PaymentMethod": {"processor", "processor_params", "settles_at_once", "hold_minutes"},
    "ShippingMethod": {"service"},
    "Product": {"on_hand", "reserved"},
    "Review": {"user_id", "ip_address"},
}


def _schemas() -> list[tuple[str, GraphQLSchema]]:
    return [("public", root.public_schema()), ("internal", root.internal_schema())]


def _objects(schema: GraphQLSchema) -> list[GraphQLObjectType]:
    return [
        type_
        for type_ in schema.type_map.values()
        if isinstance(type_, GraphQLObjectType) and not is_introspection_type(type_)
    ]


@pytest.mark.parametrize("name,schema", _schemas())
def test_no_method_is_generated_for_a_type(name: str, schema: GraphQLSchema) -> None:
    for type_ in schema.type_map.values():
        definition = type_.extensions.get("strawberry-definition")
        if isinstance(definition, StrawberryObjectDefinition):
            assert not {"__init__", "__eq__", "__repr__"} & vars(definition.origin).keys(), type_.name


def test_introspection_says_of_input_objects_alone_whether_they_take_one_field() -> None:
    document = "{ __schema { types { name kind isOneOf fields { type { isOneOf } } } } }"
    platform.schema.cache_clear()
    platform.schema()
    result = graphql_sync(root.public_schema(), document)
    assert result.errors is None
    assert result.data is not None
    types = {type_["name"]: type_ for type_ in result.data["__schema"]["types"]}
    assert types["PromotionValueInput"]["isOneOf"] is True
    assert types["ProductInput"]["isOneOf"] is False
    assert {type_["isOneOf"] for type_ in types.values() if type_["kind"] != "INPUT_OBJECT"} == {None}


def test_a_field_is_that_of_the_nearest_base() -> None:
    top: Any = declare(type("Top", (), {"__module__": __name__, "__annotations__": {"a": int, "b": int}}))
    middle: Any = declare(type("Middle", (top,), {"__module__": __name__, "__annotations__": {"b": str}}))
    last: Any = declare(type("Last", (middle,), {"__module__": __name__, "__annotations__": {"c": int}}))
    fields = last.__strawberry_definition__.fields
    assert [(field.python_name, field.type) for field in fields] == [("a", int), ("b", str), ("c", int)]


def test_an_input_names_the_fields_that_its_type_does_not_declare() -> None:
    source: Any = declare(type("Source", (), {"__module__": __name__, "__annotations__": {"a": int}}))
    own = {"__module__": __name__, "__annotations__": {"b": int}}
    with pytest.raises(TypeError, match="Copy has the fields c, d, which Source doesn't declare"):
        optional_copies(source, "a b c d")(type("Copy", (), own))


@pytest.mark.parametrize("name,schema", _schemas())
def test_every_root_field_declares_its_access(name: str, schema: GraphQLSchema) -> None:
    assert schema.query_type is not None
    assert schema.mutation_type is not None
    assert schema.subscription_type is not None
    for type_ in (schema.query_type, schema.mutation_type, schema.subscription_type):
        for key, field in type_.fields.items():
            declared = strawberry_field(field)
            assert declared is not None, (type_, key, field)
            assert isinstance(declared.metadata.get(ACCESS), Access), f"{type_.name}.{key} declares no access"


@pytest.mark.parametrize("name,schema", _schemas())
def test_every_type_declares_its_access(name: str, schema: GraphQLSchema) -> None:
    roots = {schema.query_type, schema.mutation_type, schema.subscription_type}
    for type_ in _objects(schema):
        if type_ not in roots:
            assert isinstance(access_of(type_), Access), f"{type_.name} declares no access"


def test_restricted_fields_declare_their_own_access() -> None:
    schema = root.public_schema()
    for name, fields in RESTRICTED.items():
        type_ = schema.type_map[name]
        assert isinstance(type_, GraphQLObjectType), (name, fields)
        for key in fields:
            source = field_source(type_.fields[key])
            assert source is not None, (name, fields, key)
            assert getattr(source, "guard", None) is not None, f"{name}.{key} declares no access of its own"


def test_restricted_fields_are_nullable() -> None:
    for _, schema in _schemas():
        for type_ in _objects(schema):
            for key, field in type_.fields.items():
                source = field_source(field)
                if getattr(source, "guard", None) is not None:
                    assert not is_non_null_type(field.type), f"{type_.name}.{key} is guarded and not nullable"


@pytest.mark.parametrize("name,schema", _schemas())
def test_a_refused_root_field_hides_no_other(name: str, schema: GraphQLSchema) -> None:
    assert schema.query_type is not None
    assert schema.mutation_type is not None
    fields = schema.query_type.fields | schema.mutation_type.fields
    assert [key for key, field in fields.items() if is_non_null_type(field.type)] == []


@pytest.mark.parametrize("name,schema", _schemas())
def test_every_type_and_field_has_a_description(name: str, schema: GraphQLSchema) -> None:
    missing: list[str] = []
    for type_ in schema.type_map.values():
        if is_introspection_type(type_) or is_specified_scalar_type(type_):
            continue
        if not type_.description:
            missing.append(type_.name)
        if isinstance(type_, GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType):
            missing += [f"{type_.name}.{key}" for key, field in type_.fields.items() if not field.description]
        elif isinstance(type_, GraphQLEnumType):
            missing += [f"{type_.name}.{key}" for key, value in type_.values.items() if not value.description]
        else:
            assert isinstance(type_, GraphQLScalarType)
    assert missing == []


def test_internal_fields_are_not_public() -> None:
    public, internal = root.public_schema(), root.internal_schema()
    product = public.type_map["Product"]
    internal_product = internal.type_map["Product"]
    assert isinstance(product, GraphQLObjectType)
    assert isinstance(internal_product, GraphQLObjectType)
    assert "number" not in product.fields
    assert "number" in internal_product.fields


def test_columns_of_entities_exist_in_their_tables() -> None:
    """A column field names a column of its entity's model; a misspelling fails here instead of at run time."""
    from importlib import import_module

    from tortoise import Model

    import models

    tables: dict[str, set[str]] = {}
    for module in models.MODEL_MODULES:
        for value in vars(import_module(module)).values():
            if isinstance(value, type) and issubclass(value, Model) and value.__dict__.get("Meta") is not None:
                meta = value._meta
                if meta.db_table:
                    tables[meta.db_table] = set(meta.fields_db_projection.values()) | {
                        f"{name}_id" for name in meta.fk_fields
                    }
    for type_ in _objects(root.internal_schema()):
        entity = entity_of(type_)
        if entity is None:
            continue
        for key, field in type_.fields.items():
            source = field_source(field)
            if isinstance(source, ColumnSource) and (source.sql is None or isinstance(source.sql, str)):
                sql = source.sql or key
                if sql.isidentifier():
                    assert sql in tables[entity.table], f"{type_.name}.{key}: {entity.table} has no column {sql}"


def test_a_resolver_has_a_default_for_every_argument_that_may_be_absent() -> None:
    """Without one, graphql-core calls it without the argument, which fails with INTERNAL."""
    missing = []
    for name, schema in _schemas():
        for root_type in filter(None, (schema.query_type, schema.mutation_type, schema.subscription_type)):
            for field_name, field in root_type.fields.items():
                declared = strawberry_field(field)
                if declared is None or declared.base_resolver is None:
                    continue
                parameters = inspect.signature(declared.base_resolver.wrapped_func).parameters  # type: ignore[arg-type]
                missing += [
                    (name, field_name, argument)
                    for argument, declaration in field.args.items()
                    if not is_non_null_type(declaration.type)
                    and parameters[argument].default is inspect.Parameter.empty
                ]
    assert missing == []
