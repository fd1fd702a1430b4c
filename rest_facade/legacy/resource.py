"""Define the dataclasses that describe an entity of the legacy API; `engine` builds the handlers from them.

A description holds data and, for special cases, references to small functions. GraphQL aliases in `operations/*.graphql` rename most
fields: a field's `name` is both its key in the record and the alias in the fragment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kernel.scope import Scope
from rest_facade.legacy.value_types import ID, TEXT, ValueType

Record: TypeAlias = dict[str, Any]
Values: TypeAlias = Mapping[str, Any]
Permission: TypeAlias = Callable[[Scope], bool]

ALREADY_EXISTS = "was_there"
"""An optional flag in the result of a create operation: the record existed already, so the status is 200."""

ALL_ACTIONS = ("list", "show", "create", "update", "delete")


@dataclass(frozen=True, slots=True)
class RecordField:
    """Describe one field of a record.

    `input_path` is the path it sets in the GraphQL input (`price_cents`, `billing_address.city`); without it the field is read-only.
    `filter_name` is the GraphQL filter for an equal value; without it the field is not filterable. `label` replaces the name in error
    messages. `parent_object` is an object of the body that may also contain the field, and takes precedence. `permission` names the
    entry of `Resource.permissions` required to see and filter by the field.
    """

    name: str
    value_type: ValueType
    input_path: str | None = None
    filter_name: str | None = None
    label: str = ""
    parent_object: str | None = None
    permission: str | None = None


@dataclass(frozen=True, slots=True)
class QueryFilter:
    """Describe a query parameter that is not a field, and the GraphQL filter it sets.

    A `multiple` filter accepts several values and matches any. `keys_rows`: the parameter makes the response an object keyed by id
    (docs/reference/legacy.md#filters); CS-Cart's own spellings don't.
    """

    name: str
    filter_name: str
    value_type: ValueType
    multiple: bool = True
    keys_rows: bool = True


SEARCH = QueryFilter("q", "search", TEXT, multiple=False)


@dataclass(frozen=True, slots=True)
class CombinedFilter:
    """Describe query parameters that are parsed together; `parse` maps the ones present to GraphQL filters.

    `parse` receives at least one value per parameter and raises InvalidValue when nothing can match. `keying_parameters` are those
    that make the response an object keyed by id.
    """

    parameters: tuple[str, ...]
    parse: Callable[[Values, Scope], Mapping[str, Any]]
    keying_parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NestedList:
    """Describe the list `<resource>/{id}/<path>`, whose rows are records of `resource`.

    The operation selects `parent` (null: 404) and either a `page` filtered by `parent_filter`, or, without one, all rows within the
    parent under their collection's name.
    """

    path: str
    operation: str
    resource: Resource
    parent_filter: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRoute:
    """Describe a single route below a record: its path and body parameters, mutation and response.

    `path_arguments` maps variables of the operation to path segments. `input_path`s of `body_fields` are variables or paths in one.
    `required` maps required fields to error messages. `render_result` builds the body from `done` and the path; without it the
    response is 204.
    """

    method: str
    path: str
    operation: str
    path_arguments: Mapping[str, str]
    body_fields: tuple[RecordField, ...] = ()
    render_result: Callable[[Record, Mapping[str, str]], Record] | None = None
    required: Mapping[str, str] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Describe an entity.

    Names: `path` below `/api` and its `aliases`, `collection` in envelopes (default: the path), `key` (the id field, which keys
    filtered lists), `display_name` in not-found messages, `operations` (prefix of its operation names), `privilege_area`
    (`view_<area>` to read, `manage_<area>` to write), `id_variable` (the variable set by the last path segment), `lookup_parameters`
    (variables of single records read from the query, else from the body).

    Fields: `fields` are in every record, `detail_fields` only in single ones, `input_fields` are write-only. `required` maps fields
    required on creation to error messages. `message_terms` renames further terms in GraphQL error messages. `prepare` runs first on
    every record, `complete` last on single ones.

    Lists: `filters` besides the fields', `sorts` (name → GraphQL sort), `default_sort`, and `default_order` of a sort requested without
    one. `always_keyed` lists are objects keyed by id even when unfiltered; `unwrapped` ones have no envelope in CS-Cart's form, and a
    list that is always keyed but wrapped is an array there. `always_has_search` adds an empty `search` to unfiltered lists.
    `fallback_key` keys a row whose `key` is taken by an earlier row of the page.

    Fields `protected_from_vendors` are ignored in a vendor's body (docs/reference/legacy.md#vendor-app). `permissions` are passed to
    the read operations as variables of the same names.
    """

    path: str
    aliases: tuple[str, ...] = ()
    key: str
    display_name: str
    privilege_area: str
    operations: str = ""
    collection: str = ""
    actions: tuple[str, ...] = ALL_ACTIONS
    fields: tuple[RecordField, ...]
    detail_fields: tuple[RecordField, ...] = ()
    input_fields: tuple[RecordField, ...] = ()
    required: Mapping[str, str] = field(default_factory=dict)
    message_terms: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[Record], None] | None = None
    complete: Callable[[Record], None] | None = None
    filters: tuple[QueryFilter | CombinedFilter, ...] = ()
    sorts: Mapping[str, str] = field(default_factory=dict)
    default_sort: tuple[str, str] = ("", "asc")
    default_order: str = "asc"
    always_keyed: bool = False
    unwrapped: bool = False
    always_has_search: bool = False
    fallback_key: str = ""
    id_variable: str = "id"
    lookup_parameters: tuple[str, ...] = ()
    permissions: Mapping[str, Permission] = field(default_factory=dict)
    open_to_vendors: bool = False
    protected_from_vendors: tuple[str, ...] = ()
    subroutes: tuple[NestedList | ActionRoute, ...] = ()

    @property
    def name(self) -> str:
        """Return the name of the collection in envelopes."""
        return self.collection or self.path


def id_field(name: str) -> RecordField:
    """Describe the id of a record."""
    return RecordField(name, ID, filter_name="id")
