"""Assemble the two schemas: the public one, and the internal one that facades use (the public one and what is marked internal)."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

import strawberry
from graphql import GraphQLSchema
from strawberry.schema.config import StrawberryConfig
from strawberry.types.base import StrawberryObjectDefinition
from strawberry.types.field import StrawberryField

from schema.fields import INTERNAL, bind
from schema.scalars import SCALARS

# Each module offers QUERIES and MUTATIONS: classes whose fields become root fields.
MODULES = (
    "stores",
    "catalog",
    "options",
    "orders",
    "carts",
    "statuses",
    "people",
    "marketplace",
    "content",
    "outreach",
    "settings",
    "payments",
    "gateway",
    "shipping",
    "pricing",
    "sessions",
    "apps",
    "webhooks",
    "account",
    "vendor_app",
    "b2b",
    "audit",
    "imports",
    "notifications",
    "warehouses",
    "quotes",
)


class InternalSchema(strawberry.Schema):
    """The whole vocabulary."""


class PublicSchema(strawberry.Schema):
    """What clients may use: everything that is not marked internal."""

    def get_fields(self, type_definition: StrawberryObjectDefinition) -> list[StrawberryField]:
        """Leave out internal fields, of inputs too."""
        return [field for field in type_definition.fields if not field.metadata.get(INTERNAL)]


def _roots() -> tuple[type, type]:
    queries: list[type] = []
    mutations: list[type] = []
    for name in MODULES:
        module = import_module(f"resolvers.{name}")
        queries += getattr(module, "QUERIES", ())
        mutations += getattr(module, "MUTATIONS", ())
    query = strawberry.type(type("Query", tuple(queries), {}), name="Query", description="What can be asked.")
    mutation = strawberry.type(
        type("Mutation", tuple(mutations), {}),
        name="Mutation",
        description="What can be changed, a transaction each.",
    )
    return query, mutation


def _build(kind: type[strawberry.Schema]) -> strawberry.Schema:
    query, mutation = _roots_once()
    config = StrawberryConfig(auto_camel_case=False, default_resolver=_value_of, scalar_map=SCALARS)
    schema = kind(query=query, mutation=mutation, config=config)
    bind(graphql_core(schema))
    return schema


def _value_of(source: Any, name: str) -> Any:
    """Read a field that is no column: results of resolvers are mappings or plain objects."""
    return source[name] if isinstance(source, dict) else getattr(source, name)


def graphql_core(schema: strawberry.Schema) -> GraphQLSchema:
    """Give the graphql-core schema inside Strawberry's."""
    return schema._schema


@lru_cache(maxsize=1)
def _roots_once() -> tuple[type, type]:
    return _roots()


@lru_cache(maxsize=1)
def public() -> strawberry.Schema:
    """Give the public schema, built once."""
    return _build(PublicSchema)


@lru_cache(maxsize=1)
def internal() -> strawberry.Schema:
    """Give the internal schema, built once."""
    return _build(InternalSchema)


def public_schema() -> GraphQLSchema:
    """Give the graphql-core schema that clients' documents run on."""
    return graphql_core(public())


def internal_schema() -> GraphQLSchema:
    """Give the graphql-core schema that facades' operations run on."""
    return graphql_core(internal())
