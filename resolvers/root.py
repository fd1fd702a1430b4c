"""Build the two schemas: the public schema, and the internal schema of the REST facades, which adds the fields marked internal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import strawberry
from graphql import (
    GraphQLInputObjectType,
    GraphQLNonNull,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLString,
    get_nullable_type,
    is_input_object_type,
    is_interface_type,
    is_non_null_type,
    is_object_type,
    is_wrapping_type,
)
from strawberry.schema.config import StrawberryConfig
from strawberry.types.base import StrawberryObjectDefinition
from strawberry.types.field import StrawberryField

from resolvers.entity_queries import ENTITY_QUERY
from schema.arguments import describe_arguments
from schema.declaration import declare
from schema.fields import (
    ACCESS,
    INTERNAL,
    REQUIRED,
    TEXT_INTERNALLY,
    UNSET,
    bind_resolvers,
    implement,
    strawberry_field,
)
from schema.introspection import restore_is_one_of
from schema.scalars import SCALARS
from schema.types.interfaces import NodeObject
from schema.types.sessions import ANYONE
from schema.unset import NULL_FROM, Unset

# Each module defines QUERIES, MUTATIONS or SUBSCRIPTIONS: classes whose fields become root fields.
MODULES = (
    "stores",
    "catalog",
    "product_search",
    "collections",
    "media",
    "options",
    "variations",
    "orders",
    "carts",
    "statuses",
    "people",
    "marketplace",
    "ledger",
    "content",
    "outreach",
    "settings",
    "payments",
    "shipping",
    "pricing",
    "sessions",
    "permissions",
    "apps",
    "webhooks",
    "bulk",
    "events",
    "account",
    "vendor_app",
    "b2b",
    "audit",
    "notifications",
    "warehouses",
    "quotes",
    "node",
)


class InternalSchema(strawberry.Schema):
    """The schema with all fields."""


class PublicSchema(strawberry.Schema):
    """The schema for clients, without the fields marked internal."""

    def get_fields(self, type_definition: StrawberryObjectDefinition) -> list[StrawberryField]:
        """Return the fields without internal ones, of inputs as well."""
        return [field for field in type_definition.fields if not field.metadata.get(INTERNAL)]


_ROOTS = (
    ("Query", "QUERIES", "The query root."),
    ("Mutation", "MUTATIONS", "The mutation root; each mutation runs in its own transaction."),
    ("Subscription", "SUBSCRIPTIONS", "The subscription root."),
)


@lru_cache(maxsize=1)
def _root_types() -> tuple[type, ...]:
    modules = [import_module(f"resolvers.{name}") for name in MODULES]
    _make_nodes([cls for module in modules for cls in getattr(module, "QUERIES", ())])
    return tuple(
        declare(
            type(name, tuple(cls for module in modules for cls in getattr(module, variable, ())), {}), name, description
        )
        for name, variable, description in _ROOTS
    )


def _make_nodes(queries: Sequence[Any]) -> None:
    """Let each type whose records a root field returns by their UUID implement `Node`: the first one of each table."""
    tables: set[str] = set()
    for field in [field for cls in queries for field in cls.__strawberry_definition__.fields]:
        query = field.metadata.get(ENTITY_QUERY)
        if query is not None and query.kind == "one" and not query.entity.has_numeric_ids:
            if query.entity.table not in tables:
                implement(query.type_, NodeObject)
            tables.add(query.entity.table)


def _build(schema_class: type[strawberry.Schema]) -> strawberry.Schema:
    query, mutation, subscription = _root_types()
    config = StrawberryConfig(auto_camel_case=False, default_resolver=_resolve_result_field, scalar_map=SCALARS)
    schema = schema_class(query=query, mutation=mutation, subscription=subscription, config=config)
    bind_resolvers(graphql_core(schema))
    _make_root_fields_nullable(graphql_core(schema))
    describe_arguments(graphql_core(schema))
    _mark_one_of(graphql_core(schema))
    restore_is_one_of()
    if schema_class is InternalSchema:
        _take_texts(graphql_core(schema))
    else:
        _make_fields_required(graphql_core(schema))
        _show_null(graphql_core(schema))
    return schema


def _make_root_fields_nullable(schema: GraphQLSchema) -> None:
    """Make the fields of queries and mutations nullable: a refused one leaves its neighbours, of which a mutation's are committed."""
    for root in filter(None, (schema.query_type, schema.mutation_type)):
        for field in root.fields.values():
            if is_non_null_type(field.type):
                field.type = field.type.of_type


def _mark_one_of(schema: GraphQLSchema) -> None:
    """Let graphql-core validate inputs of exactly one field: Strawberry does while it builds them, in words of its own."""
    for type_ in schema.type_map.values():
        if is_input_object_type(type_) and type_.extensions["strawberry-definition"].is_one_of:
            type_.is_one_of = True
            type_.out_type = GraphQLInputObjectType.out_type  # type: ignore[method-assign]


def _take_texts(schema: GraphQLSchema) -> None:
    """Make the input fields that are `text_internally` strings."""
    for field in _input_fields(schema, TEXT_INTERNALLY):
        field.type = _with_leaf(field.type, GraphQLString)


def _make_fields_required(schema: GraphQLSchema) -> None:
    """Make the input fields that are a `required_field` non-null."""
    for field in _input_fields(schema, REQUIRED):
        field.type = GraphQLNonNull(field.type)


def _show_null(schema: GraphQLSchema) -> None:
    """Make the fields that are null in place of an empty text nullable; announce it of those that will be."""
    for type_ in schema.type_map.values():
        for field in type_.fields.values() if is_object_type(type_) or is_interface_type(type_) else ():
            declared = strawberry_field(field)
            unset = declared.metadata.get(UNSET) if declared is not None else None
            if unset is Unset.LATER:
                field.description = f"{field.description} From {NULL_FROM} null in place of an empty text."
            elif unset is Unset.NULL:
                field.type = get_nullable_type(field.type)
                field.description = (field.description or "").replace("; empty ", "; null ")
                field.extensions = {**field.extensions, UNSET: True}
                field.resolve = _null_if_empty(field.resolve)


def _null_if_empty(resolve: Callable[..., Any]) -> Callable[..., Any]:
    return lambda source, info, **arguments: resolve(source, info, **arguments) or None


def _input_fields(schema: GraphQLSchema, mark: str) -> Iterator[Any]:
    """Yield the fields of inputs whose metadata have a mark."""
    for type_ in schema.type_map.values():
        for field in type_.fields.values() if is_input_object_type(type_) else ():
            declared = strawberry_field(field)
            if declared is not None and declared.metadata.get(mark):
                yield field


def _with_leaf(type_: Any, leaf: GraphQLScalarType) -> Any:
    """Return a type with another type inside its lists and non-nulls."""
    return type(type_)(_with_leaf(type_.of_type, leaf)) if is_wrapping_type(type_) else leaf


def _resolve_result_field(source: Any, name: str) -> Any:
    """Resolve a field of a resolver's result, a mapping or an object."""
    return source[name] if isinstance(source, dict) else getattr(source, name)


def graphql_core(schema: strawberry.Schema) -> GraphQLSchema:
    """Return the graphql-core schema of a Strawberry schema."""
    return schema._schema


@lru_cache(maxsize=1)
def public() -> strawberry.Schema:
    """Return the public schema, built once."""
    return _build(PublicSchema)


@lru_cache(maxsize=1)
def internal() -> strawberry.Schema:
    """Return the internal schema, built once."""
    return _build(InternalSchema)


@lru_cache(maxsize=1)
def public_text() -> str:
    """Return the public schema as SDL, printed once: that takes longer than all else of an application but its imports."""
    return public().as_str()


def fields_without_credential() -> frozenset[str]:
    """Return the public mutations for callers without a credential: those that authenticate by their arguments, and registration."""
    mutations = public_schema().mutation_type
    assert mutations is not None
    declared = ((name, strawberry_field(field)) for name, field in mutations.fields.items())
    return frozenset(name for name, field in declared if field is not None and field.metadata[ACCESS] is ANYONE)


def public_schema() -> GraphQLSchema:
    """Return the public graphql-core schema."""
    return graphql_core(public())


def internal_schema() -> GraphQLSchema:
    """Return the internal graphql-core schema."""
    return graphql_core(internal())
