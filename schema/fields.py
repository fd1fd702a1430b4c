"""Declare where the fields of a type live, and who may see them.

    @entity(PRODUCTS, "Product", "Something sold.")
    class Product:
        id: Ident = column("public_id", "The UUID.")
        category: Category | None = relation(ToOne("category_id"), "The main category.")
        images: list[ProductImage] = relation(ToMany("t.product_id", "t.position, t.id"), "Pictures, the main one first.")

No object of such a class is ever made: what is resolved are `models.reading.Row`s. `bind` puts the fast resolvers for rows into the
finished schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, dataclass_transform

import strawberry
from graphql import GraphQLField, GraphQLObjectType, GraphQLSchema
from strawberry.annotation import StrawberryAnnotation
from strawberry.types.arguments import StrawberryArgument
from strawberry.types.field import StrawberryField

from auth.access import Access
from models.reading import ColumnSql, Entity, ToMany, ToOne

SOURCE = "vitrine.source"
ACCESS = "vitrine.access"
INTERNAL = "vitrine.internal"
SECRET = "vitrine.secret"

T = TypeVar("T")


@dataclass(frozen=True)
class ColumnSource:
    """A value of the row itself."""

    sql: ColumnSql | None
    guard: Access | None


@dataclass(frozen=True)
class RelationSource:
    """Another row, or other rows. `single` takes the first of many; `sized` adds the arguments `limit` and `status`."""

    link: ToOne | ToMany
    guard: Access | None
    single: bool = False
    sized: bool = False


@dataclass(frozen=True)
class EmbeddedSource:
    """A type whose fields are columns of the same row."""


Source = ColumnSource | RelationSource | EmbeddedSource


def column(
    sql: ColumnSql | None = None,
    description: str = "",
    *,
    guard: Access | None = None,
    internal: bool = False,
) -> Any:
    """Declare a value of the row: a column's name, or an expression over `t`; without it the field's own name.

    `guard` makes it a personal field: callers the rule refuses get an error there and nothing is read. Such a field is nullable.
    """
    return _field(ColumnSource(sql, guard), description, guard, internal)


def relation(
    link: ToOne | ToMany,
    description: str,
    *,
    guard: Access | None = None,
    single: bool = False,
    sized: bool = False,
    internal: bool = False,
) -> Any:
    """Declare rows of another entity, found by `link`. `sized` lists take `limit` (default 10, at most 100)."""
    declared = _field(RelationSource(link, guard, single, sized), description, guard, internal)
    if sized:
        declared.arguments = [
            StrawberryArgument(
                python_name="limit",
                graphql_name=None,
                type_annotation=StrawberryAnnotation(int),
                default=10,
                description="How many at most, 1 to 100.",
            )
        ]
    return declared


def embedded(description: str) -> Any:
    """Declare an object whose fields are columns of the same row."""
    return _field(EmbeddedSource(), description, None, False)


def _field(source: Source, description: str, access: Access | None, internal: bool) -> Any:
    if access is not None:
        description = f"{description} Seen by {_described(access)}."
    metadata: dict[str, Any] = {SOURCE: source, INTERNAL: internal}
    if access is not None:
        metadata[ACCESS] = access
    return strawberry.field(description=description, metadata=metadata)


@dataclass_transform(kw_only_default=True)
def entity(described: Entity, name: str, description: str) -> Callable[[type[T]], type[T]]:
    """Bind a GraphQL type to an entity: its rows, and with them who sees which, are the entity's."""

    def decorate(cls: type[T]) -> type[T]:
        access: Access = described.visible.access  # type: ignore[attr-defined]
        cls.__entity__ = described  # type: ignore[attr-defined]
        cls.__access__ = access  # type: ignore[attr-defined]
        return strawberry.type(cls, name=name, description=f"{description} Read by {_described(access)}.")

    return decorate


@dataclass_transform(kw_only_default=True)
def part(name: str, description: str, access: Access | None = None) -> Callable[[type[T]], type[T]]:
    """Declare a type that is no entity of its own: a result, or a part of another row. `access` None: what its parent asks."""

    def decorate(cls: type[T]) -> type[T]:
        cls.__access__ = access or INHERITED  # type: ignore[attr-defined]
        return strawberry.type(cls, name=name, description=description)

    return decorate


INHERITED = Access(anonymous=True, note="Reached only through a field that asks for its own right.")


def root(
    access: Access,
    description: str,
    *,
    internal: bool = False,
    secret: bool = False,
    name: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Declare a root field: who may call it, checked before anything else, and what it does.

    What answers a `secret` ignores the Idempotency-Key: its answer must not be kept (decisions section 2).
    """

    def decorate(resolver: Callable[..., Any]) -> Any:
        @wraps(resolver)
        async def checked(*args: Any, **kwargs: Any) -> Any:
            access.check(kwargs["info"].context.scope)
            return await resolver(*args, **kwargs)

        checked.__signature__ = signature(resolver)  # type: ignore[attr-defined]
        return strawberry.field(
            resolver=checked,
            name=name,
            description=f"{description} Open to {_described(access)}.",
            metadata={ACCESS: access, INTERNAL: internal, SECRET: secret, **(metadata or {})},
        )

    return decorate


def _described(access: Access) -> str:
    return access.describe().removesuffix(".")


def source_of(field: GraphQLField) -> Source | None:
    """Give where a field of the finished schema lives, or None for one that has a resolver."""
    declared = declared_field(field)
    return declared.metadata.get(SOURCE) if declared is not None else None


def declared_field(field: GraphQLField) -> StrawberryField | None:
    """Give the Strawberry field behind a field of the finished schema."""
    declared: StrawberryField | None = field.extensions.get("strawberry-definition")
    return declared


def entity_of(type_: GraphQLObjectType) -> Entity | None:
    """Give the entity a type of the finished schema is bound to."""
    return getattr(_origin(type_), "__entity__", None)


def access_of(type_: GraphQLObjectType) -> Access | None:
    """Give the access rule a type of the finished schema declares."""
    return getattr(_origin(type_), "__access__", None)


def _origin(type_: GraphQLObjectType) -> type | None:
    definition = type_.extensions.get("strawberry-definition")
    return definition.origin if definition is not None else None


def bind(schema: GraphQLSchema) -> None:
    """Give every column and relation of the schema its resolver for rows."""
    for type_ in schema.type_map.values():
        if not isinstance(type_, GraphQLObjectType):
            continue
        key_prefix = "" if entity_of(type_) is not None else f"{type_.name}."
        for name, field in type_.fields.items():
            source = source_of(field)
            if isinstance(source, ColumnSource):
                field.resolve = _read_column(key_prefix + name)
            elif isinstance(source, RelationSource):
                field.resolve = _read_relation(source)
            elif isinstance(source, EmbeddedSource):
                field.resolve = _read_embedded


def _read_column(key: str) -> Callable[..., Any]:
    def resolve(row: Mapping[str, Any], _info: Any) -> Any:
        return row[key]

    return resolve


def _read_relation(source: RelationSource) -> Callable[..., Any]:
    if source.single:

        def resolve_single(row: Mapping[str, Any], info: Any, **_arguments: Any) -> Any:
            found = row[f"@{info.path.key}"]
            return (found[0] if found else None) if isinstance(found, list) else found

        return resolve_single

    def resolve(row: Mapping[str, Any], info: Any, **_arguments: Any) -> Any:
        return row[f"@{info.path.key}"]

    return resolve


def _read_embedded(row: Mapping[str, Any], _info: Any) -> Any:
    return row
