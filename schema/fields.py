"""Declare the fields of GraphQL types: their columns and relations in the database, and their access rules.

    @entity_type(PRODUCTS, "Product")
    class ProductObject:
        '''A product.'''

        id: ID = column("public_id", "The unique ID (UUID).")
        category: CategoryObject | None = relation(ToOne("category_id"), "The main category.")
        images: list[ProductImageObject] = relation(ToMany("t.product_id", "t.position, t.id"), "The images, the main image first.")

Relations are loaded with one statement per level, so lists cause no N+1 queries (`models.reading.compiled_reads`,
`models.reading.row_reads`). The classes are never instantiated: resolvers return `models.reading.queries.Row`s, which the resolvers set by
`bind_resolvers` read.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from inspect import signature
from types import MappingProxyType
from typing import Any, Optional, TypeVar, dataclass_transform

import strawberry
from graphql import GraphQLField, GraphQLInputField, GraphQLObjectType, GraphQLSchema, OperationType
from strawberry.annotation import StrawberryAnnotation
from strawberry.types.arguments import StrawberryArgument
from strawberry.types.field import StrawberryField

from auth.access import Access, check_store_writable
from kernel.errors import RuleViolation
from models.connection.database import in_transaction, retry_conflicts
from models.reading.queries import ColumnSql, Entity, Row, Sort, ToMany, ToOne
from schema.declaration import declare
from schema.scalars import ID, BigInt, DateTime
from schema.unset import Unset

SOURCE = "vitrine.source"
ACCESS = "vitrine.access"
INTERNAL = "vitrine.internal"
SECRET = "vitrine.secret"
LIST_SIZE, DEFAULT_LIST_SIZE, COST = "vitrine.list_size", 10, "vitrine.cost"
"""Keys for the cost of a document: how many entries a list has, usually or most; what an object costs, ten for each statement, else 1."""
TEXT_INTERNALLY = "vitrine.text_internally"
REQUIRED = "vitrine.required"
UNSET = "vitrine.unset"
CALLS_OUT = "vitrine.calls_out"
"""The metadata key of a mutation that calls another server between two transactions of its own."""

T = TypeVar("T")


@dataclass(frozen=True)
class ColumnSource:
    """A column of the row, or an SQL expression; `shows` is the column whose value it shows, where it reads others as well.

    The expression of a field with arguments is what `sql_of` returns for them.
    """

    sql: ColumnSql | None
    guard: Access | None
    never_null: bool = False
    shows: str = ""
    sql_of: Callable[..., ColumnSql] | None = None


@dataclass(frozen=True)
class WiderLink:
    """The link that a connection follows, and its order, when its boolean `argument` is true."""

    argument: str
    link: ToMany
    own_order: tuple[str, Sort]
    description: str


@dataclass(frozen=True)
class RelationSource:
    """A related row, or related rows, batch-loaded. `single` returns the first of many; `limited` names the argument of the size.

    A connection has `own_order`, the name and expression of its default order, besides the sorts of its entity, and may show other
    records when it is asked for them (`wider`).
    """

    link: ToOne | ToMany
    guard: Access | None
    single: bool = False
    limited: str = ""
    own_order: tuple[str, Sort] | None = None
    wider: WiderLink | None = None

    def asked(self, arguments: Mapping[str, Any]) -> RelationSource:
        """Return the source of the records that the arguments ask for."""
        wider = self.wider
        if wider is None or not arguments.get(wider.argument):
            return self
        return replace(self, link=wider.link, own_order=wider.own_order)


@dataclass(frozen=True)
class CalculatedSource:
    """A text or object calculated for all rows at once from columns of each: `calculate(scope, values, **arguments)` returns those."""

    columns: tuple[ColumnSql, ...]
    calculate: Callable[..., Awaitable[list[Any]]]
    guard: Access | None = None


@dataclass(frozen=True)
class EmbeddedSource:
    """An object whose fields are columns of the same row."""


FieldSource = ColumnSource | RelationSource | CalculatedSource | EmbeddedSource


def column(
    sql: ColumnSql | None = None,
    description: str = "",
    *,
    guard: Access | None = None,
    internal: bool = False,
    deprecated: str | None = None,
    unset: Unset | None = None,
) -> Any:
    """Declare a column field: `sql` is a column name or an expression over the table alias `t`; by default the field's name.

    `guard` restricts the field: a caller without access gets null and a field error, and nothing is read. Such a field must be nullable.
    The value of an expression may be null, which is an error at run time where the field's type is not nullable. `deprecated` says what
    replaces the field.
    """
    return _field(ColumnSource(sql, guard), description, guard, internal, deprecated, **{UNSET: unset})


def referenced(table: str, key: str, name: str = "public_id") -> str:
    """Return the expression for a column, by default the ID, of the row of a table that the column `key` refers to."""
    return f"(SELECT p.{name} FROM {table} p WHERE p.tenant_id = t.tenant_id AND p.id = t.{key})"


def computed(
    sql: ColumnSql, description: str, *, internal: bool = False, shows: str = "", unset: Unset | None = None
) -> Any:
    """Declare a field of an expression over the table alias `t` that is never null, whatever the row; `shows` as in `ColumnSource`."""
    source = ColumnSource(sql, None, never_null=True, shows=shows)
    return _field(source, description, None, internal, None, **{UNSET: unset})


def parameterized(
    sql_of: Callable[..., ColumnSql],
    description: str,
    arguments: Sequence[StrawberryArgument],
    unset: Unset | None = None,
) -> Any:
    """Declare a field of the expression over `t` that `sql_of` returns for the arguments; null only where the field may be."""
    source = ColumnSource(sql_of(), None, never_null=True, sql_of=sql_of)
    declared = _field(source, description, None, False, None, **{UNSET: unset})
    declared.arguments = list(arguments)
    return declared


def legacy_number(name: str, subject: str, zero: str = ", or 0") -> Any:
    """Declare the number of the record that the column `name` refers to, 0 for none, for the legacy API; `zero` describes when it is 0."""
    return computed(f"coalesce(t.{name}, 0)", f"The legacy numeric ID of {subject}{zero}.", internal=True)


def legacy_numbers(table: str, key: str, number: str, description: str, order: str = "") -> Any:
    """Declare the column `number` of the rows `l` of a table whose `key` is this row's, in their order, for the legacy API."""
    rows = f"SELECT l.{number} FROM {table} l WHERE l.tenant_id = t.tenant_id AND l.{key} = t.id"
    return computed(
        f"ARRAY({rows} ORDER BY {order or f'l.{number}'})", f"The legacy numeric IDs of {description}.", internal=True
    )


def unix_seconds(name: str, description: str) -> Any:
    """Declare the time in the column `name`, which is never null, in Unix seconds, for the legacy API."""
    return computed(f"floor(extract(epoch from t.{name}))::bigint", f"{description}, in Unix seconds.", internal=True)


def relation(
    link: ToOne | ToMany,
    description: str,
    *,
    guard: Access | None = None,
    single: bool = False,
    limited: str = "",
    internal: bool = False,
) -> Any:
    """Declare a relation to another entity, joined by `link`. The argument `limited` is the size of a list (default 10, at most 100)."""
    declared = _field(RelationSource(link, guard, single, limited), description, guard, internal)
    if limited:
        declared.arguments = [
            StrawberryArgument(
                python_name=limited,
                graphql_name=None,
                type_annotation=StrawberryAnnotation(int),
                default=10,
                description="The maximum number of records, 1 to 100.",
            )
        ]
    return declared


def connection(
    link: ToMany,
    description: str,
    order: tuple[str, Sort],
    narrowing: Mapping[str, Any] = MappingProxyType({}),
    *,
    guard: Access | None = None,
    wider: WiderLink | None = None,
) -> Any:
    """Declare a connection of related rows (`schema.pagination.connection_type`), whose default order is `order`, a name and a sort.

    `narrowing` are the types of further arguments: `filter` and `sort` of the entity. The argument of a `wider` link is null by default.
    """
    declared = _field(RelationSource(link, guard, own_order=order, wider=wider), description, guard, False)
    types = {"first": int, "after": str, "last": int, "before": str, **narrowing}
    if wider is not None:
        types[wider.argument] = bool
    descriptions = {} if wider is None else {wider.argument: wider.description}
    descriptions |= {
        "first": "The number of records from the start, 0 to 100; 20 by default.",
        "last": "The number of records from the end, 0 to 100, in place of `first`.",
    }
    declared.arguments = [optional_argument(name, type_, descriptions.get(name)) for name, type_ in types.items()]
    return declared


def calculated(
    sql: ColumnSql | tuple[ColumnSql, ...],
    calculate: Callable[..., Awaitable[list[Any]]],
    description: str,
    arguments: Sequence[StrawberryArgument] = (),
    guard: Access | None = None,
    *,
    internal: bool = False,
    list_size: int = DEFAULT_LIST_SIZE,
) -> Any:
    """Declare a field that Python calculates for all rows of a list at once: a text of a text, an object, or a list of objects.

    `calculate` gets what the column contains, or the tuples of several, and returns a text for each, or `Row`s of plain values and further
    `Row`s, without resolvers of their own. An object must be nullable: in place of it there may be a `DomainError`.
    """
    source = CalculatedSource(sql if isinstance(sql, tuple) else (sql,), calculate, guard)
    declared = _field(source, description, guard, internal, None, **{LIST_SIZE: list_size})
    declared.arguments = list(arguments)
    return declared


def optional_argument(name: str, type_: Any, description: str | None) -> StrawberryArgument:
    """Return an argument, null by default, of a declared field."""
    annotation = StrawberryAnnotation(Optional[type_])  # noqa: UP045  # a type made here
    return StrawberryArgument(
        python_name=name, graphql_name=None, type_annotation=annotation, default=None, description=description
    )


def embedded(description: str) -> Any:
    """Declare an object whose fields are columns of the same row."""
    return _field(EmbeddedSource(), description, None, False)


def output_field(
    description: str,
    *,
    internal: bool = False,
    deprecated: str | None = None,
    list_size: int = DEFAULT_LIST_SIZE,
    unset: Unset | None = None,
) -> Any:
    """Declare a field of a result, resolved from a mapping or an attribute; `deprecated` says what replaces it.

    `list_size` is what a list counts as in the cost of a document.
    """
    metadata = {INTERNAL: internal, LIST_SIZE: list_size, UNSET: unset}
    return strawberry.field(description=description, metadata=metadata, deprecation_reason=deprecated)


def _field(
    source: FieldSource, text: str, access: Access | None, internal: bool, deprecated: str | None = None, **more: Any
) -> Any:
    metadata: dict[str, Any] = {SOURCE: source, INTERNAL: internal, **more}
    if access is not None:
        text = f"{text} Visible to {_describe(access)}."
        metadata[ACCESS] = access
    return strawberry.field(description=text, metadata=metadata, deprecation_reason=deprecated)


def _key_fields(key: str) -> dict[str, tuple[Any, Any]]:
    number = f"The legacy numeric ID (`{key}`)." if key else "The legacy numeric ID."
    return {
        "id": (ID, column("public_id", "The unique ID (UUID).")),
        "number": (BigInt, column("id", number, internal=True)),
    }


def _time_fields(names: Iterable[str]) -> dict[str, tuple[Any, Any]]:
    fields = {
        "created_at": (DateTime, column(description="When the record was created.")),
        "updated_at": (DateTime, column(description="When the record was last updated.")),
        "created_unix": (BigInt, unix_seconds("created_at", "When the record was created")),
    }
    return {name: fields[name] for name in names}


@dataclass_transform(kw_only_default=True)
def entity_type(
    entity: Entity, name: str, description: str = "", *, key: str | None = None, times: str = ""
) -> Callable[[type[T]], type[T]]:
    """Bind a GraphQL type to an entity, which determines its rows and the rows visible to each caller.

    The class's docstring describes the type by default. `key` adds `id` and `number`, which the legacy API calls by it, before the fields
    of the class, `times` those of `created_at`, `updated_at` and `created_unix` that it names after them.
    """

    def decorate(cls: type[T]) -> type[T]:
        access: Access = entity.visible.access  # type: ignore[attr-defined]
        cls.__entity__ = entity  # type: ignore[attr-defined]
        cls.__access__ = access  # type: ignore[attr-defined]
        first, last = {} if key is None else _key_fields(key), _time_fields(times.split())
        types = {field: type_ for field, (type_, _) in first.items()} | cls.__annotations__
        cls.__annotations__ = types | {field: type_ for field, (type_, _) in last.items()}
        for field, (_, declared) in (first | last).items():
            setattr(cls, field, declared)
        text = f"{description or cls.__doc__} Readable by {_describe(access)}."
        return declare(cls, name, text)

    return decorate


@dataclass_transform(kw_only_default=True)
def object_type(name: str, description: str = "", access: Access | None = None) -> Callable[[type[T]], type[T]]:
    """Declare a type without an entity: a result, or an object nested in a row. Without `access` the parent's rule applies.

    The class's docstring describes the type by default.
    """

    def decorate(cls: type[T]) -> type[T]:
        cls.__access__ = access or INHERITED  # type: ignore[attr-defined]
        return declare(cls, name, description or cls.__doc__)

    return decorate


@dataclass_transform(kw_only_default=True)
def interface_type(name: str) -> Callable[[type[T]], type[T]]:
    """Declare an interface, which its docstring describes, with the fields of the types whose classes inherit from it.

    These may declare a field again, with another source or an implementing type. What may be read is the rule of each type.
    """

    def decorate(cls: type[T]) -> type[T]:
        return declare(cls, name, " ".join((cls.__doc__ or "").split()), is_interface=True)

    return decorate


def implement(type_: Any, interface: Any) -> None:
    """Let a declared type implement an interface whose fields it has, with sources of its own."""
    type_.__strawberry_definition__.interfaces.append(interface.__strawberry_definition__)


def implements(interface: Any) -> Callable[[type[T]], type[T]]:
    """Let a type that is declared below this decorator implement an interface."""

    def decorate(cls: type[T]) -> type[T]:
        implement(cls, interface)
        return cls

    return decorate


_RETURN = re.compile(r"^Return ")
_NO_KEY = " Ignores the Idempotency-Key."
_ALONE = "{name} calls another server: with an Idempotency-Key it must be the document's only field, in no fragment and without directives"

INHERITED = Access(anonymous=True, note="Reachable only through a field with its own access rule.")


def root_field(
    access: Access,
    description: str = "",
    *,
    internal: bool = False,
    secret: bool = False,
    when_read_only: bool = False,
    calls_out: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Declare a root field with its access rule, which is checked before the resolver runs; by default its docstring describes it.

    In the description `Return` becomes `Returns`. A mutation that ends in a transaction conflict is repeated, others of the document are
    not (`models.connection.transactions`). A field that returns a `secret` ignores the Idempotency-Key: its response must not be stored
    (docs/reference/shared.md#idempotency). A mutation that signs in also runs `when_read_only`: reads need it. One that `calls_out` calls
    another server between transactions of its own, which it repeats itself; it runs in none, and with an Idempotency-Key must be alone.
    """

    def decorate(resolver: Callable[..., Any]) -> Any:
        @wraps(resolver)
        async def checked(*args: Any, **kwargs: Any) -> Any:
            info = kwargs["info"]
            if info.context.outcome is not None:
                return info.context.outcome.result
            access.check(info.context.scope)
            if info.operation.operation is not OperationType.MUTATION:
                return await resolver(*args, **kwargs)
            if not when_read_only:
                check_store_writable(info.context.scope.store)
            if calls_out and in_transaction():
                raise RuleViolation(_ALONE.format(name=info.field_name), reason="not_alone")
            if calls_out or in_transaction():
                return await resolver(*args, **kwargs)
            return await retry_conflicts(lambda: resolver(*args, **kwargs))

        checked.__signature__ = signature(resolver)  # type: ignore[attr-defined]
        text = description or _RETURN.sub("Returns ", " ".join((resolver.__doc__ or "").split()))
        return strawberry.field(
            resolver=checked,
            description=f"{text} Available to {_describe(access)}.{_NO_KEY if secret else ''}",
            metadata={
                ACCESS: access,
                INTERNAL: internal,
                SECRET: secret,
                CALLS_OUT: calls_out,
                **(metadata or {}),
            },
        )

    return decorate


def _describe(access: Access) -> str:
    return access.describe().removesuffix(".")


def field_source(field: GraphQLField) -> FieldSource | None:
    """Return the column, relation or embedded source of a schema field; None for a field with a custom resolver."""
    declared = strawberry_field(field)
    return declared.metadata.get(SOURCE) if declared is not None else None


def strawberry_field(field: GraphQLField | GraphQLInputField) -> StrawberryField | None:
    """Return the Strawberry field of a schema field."""
    declared: StrawberryField | None = field.extensions.get("strawberry-definition")
    return declared


def entity_of(type_: GraphQLObjectType) -> Entity | None:
    """Return the entity of a schema type, or None."""
    return getattr(_origin(type_), "__entity__", None)


def access_of(type_: GraphQLObjectType) -> Access | None:
    """Return the access rule of a schema type, or None."""
    return getattr(_origin(type_), "__access__", None)


def class_of(type_: GraphQLObjectType) -> type:
    """Return the class that defines a schema type."""
    origin = _origin(type_)
    assert origin is not None
    return origin


def _origin(type_: GraphQLObjectType) -> type | None:
    definition = type_.extensions.get("strawberry-definition")
    return definition.origin if definition is not None else None


def row_key(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the key of a field in a `models.reading.queries.Row`: what was read, whatever its alias."""
    return f"{name}({','.join([repr(value) for value in arguments.values()])})" if arguments else name


def bind_resolvers(schema: GraphQLSchema) -> None:
    """Set the resolvers of all fields with a source. Rows are of no type's class, for which types with interfaces would look."""
    for type_ in schema.type_map.values():
        if isinstance(type_, GraphQLObjectType):
            type_.is_type_of = None
            for name, field in type_.fields.items():
                source = field_source(field)
                if source is not None:
                    is_loaded = isinstance(source, RelationSource | CalculatedSource)
                    field.resolve = _loaded_resolver(name) if is_loaded else _resolver(name)


def _resolver(name: str) -> Callable[..., Any]:
    def resolve(row: Mapping[str, Any], _info: Any, **arguments: Any) -> Any:
        return row[row_key(name, arguments)]

    return resolve


def _loaded_resolver(name: str) -> Callable[..., Any]:
    def resolve(row: Row, _info: Any, **arguments: Any) -> Any:
        return row.related(row_key(name, arguments))

    return resolve
