"""Define the dataclasses that describe an entity of the legacy API; `engine` builds the handlers from them.

A description holds data and, for special cases, references to small functions. `resource_operations` generates the GraphQL operations,
in which a field's `name`, its key in the record, is the alias of its `source`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from kernel.scope import Scope
from kernel.text import InvalidValue, singular
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

    `source` is the GraphQL selection of its value (`rates { base }`); None: `prepare` or `complete` adds the field. It defaults to
    `input_path`, `filter_name` or `name`, the first that is set, with the number of an id and the Unix seconds of a time: `user_id` is
    `user_number` in GraphQL, `created_at` is `created_unix`.

    `input_path` is the path it sets in the GraphQL input (`price_cents`, `billing_address.city`); without it the field is read-only.
    `filter_name` is the GraphQL filter for an equal value; without it the field is not filterable. `label` replaces the name in error
    messages. `parent_object` is an object of the body that may also contain the field, and takes precedence. `permission` names the
    entry of `Resource.permissions` required to see and filter by the field. `constant` is the value in every record, in the record's form,
    of a field that no operation reads; filtered by, it matches every record or none.

    In CS-Cart's dialect: `cscart_type` is the value type where it differs (of what it doesn't define, that of `value_type`),
    `cscart_absent` says in which records the field is absent, `cscart_id` names the id whose value the field has, `cscart_filter` replaces
    `filter_name`. In the other dialect a field that is `contract_single` is absent in rows of lists.
    """

    name: str
    value_type: ValueType
    input_path: str | None = None
    filter_name: str | None = None
    label: str = ""
    parent_object: str | None = None
    permission: str | None = None
    source: str | None = ""
    cscart_type: ValueType | None = None
    cscart_absent: Literal["", "empty", "always"] = ""
    cscart_id: str = ""
    cscart_filter: str = ""
    constant: str | None = None
    contract_single: bool = False

    @property
    def value(self) -> str:
        """Return the GraphQL selection of the value, without an alias."""
        return self.source or _default_source(self.input_path or self.filter_name or self.name)

    @property
    def selection(self) -> str:
        """Return the GraphQL selection, with the name as alias; empty without a source, as that of a constant."""
        if self.source is None or self.constant is not None:
            return ""
        field, space, members = self.value.partition(" ")
        guard = f" @include(if: ${self.permission})" if self.permission else ""
        return f"{field if field == self.name else f'{self.name}: {field}'}{guard}{space}{members}"


def in_cscart_dialect(fields: Iterable[RecordField]) -> tuple[RecordField, ...]:
    """Return the fields as they are read, written and filtered by in CS-Cart's dialect."""
    described = tuple(fields)
    filters = {field.name: field.filter_name for field in described}
    return tuple(
        replace(
            field,
            value_type=field.value_type
            if field.cscart_type is None
            else _override(field.value_type, field.cscart_type),
            filter_name=(
                filters[field.cscart_id]
                if field.cscart_id and field.filter_name
                else field.cscart_filter or field.filter_name
            ),
        )
        for field in described
    )


def _override(value_type: ValueType, cscart: ValueType) -> ValueType:
    return replace(
        cscart,
        parse=cscart.parse or value_type.parse,
        parse_filter=cscart.parse_filter or value_type.parse_filter,
        multiple=value_type.multiple,
    )


_SUFFIXES = {"id": "number", "ids": "numbers", "at": "unix"}


def _default_source(path: str) -> str:
    head, separator, suffix = path.rpartition("_")
    return f"{head}{separator}{_SUFFIXES.get(suffix, suffix)}"


def selection_of(fields: Iterable[RecordField], extra: str = "") -> str:
    """Return the GraphQL selection set of the fields; `extra` are further selections."""
    return f"{{ {' '.join(field.selection for field in fields)} {extra} }}"


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


def split_ids(name: str, filter_name: str) -> CombinedFilter:
    """Describe a filter by ids that are separated by commas, or an array, any of which matches."""

    def parse(parameters: Values, scope: Scope) -> Mapping[str, Any]:
        references = [part.strip() for text in parameters[name] for part in text.split(",") if part.strip()]
        if not references:
            raise InvalidValue("no record is named")
        return {filter_name: references}

    return CombinedFilter((name,), parse)


SEARCH = QueryFilter("q", "search", TEXT, multiple=False)


@dataclass(frozen=True, slots=True)
class CombinedFilter:
    """Describe query parameters that are parsed together; `parse` maps the ones present to GraphQL filters.

    `parse` receives at least one value per parameter, and raises InvalidValue when nothing can match; None: the parameters have no effect.
    `keying_parameters` are those that make the response an object keyed by id.
    """

    parameters: tuple[str, ...]
    parse: Callable[[Values, Scope], Mapping[str, Any] | None]
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

    The mutation is the `operation` in snake case, and selects `result`. `path_arguments` maps its variables to path segments.
    `input_path`s of `body_fields` are variables or paths in one. `render_result` builds the body from `done` and the path, of which
    `result_schema` is the schema; without it the response is 204.
    """

    method: str
    path: str
    operation: str
    path_arguments: Mapping[str, str]
    result: str = "id"
    body_fields: tuple[RecordField, ...] = ()
    render_result: Callable[[Record, Mapping[str, str]], Record] | None = None
    result_schema: Any = None
    required: tuple[str, ...] = ()
    status: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Describe an entity.

    Names: `path` below `/api` and its `aliases`, `collection` in envelopes (default: the path), `display_name` in not-found
    messages (default: the singular of the path), `key` (the id field, which keys filtered lists; for the payment code
    `payment_code_id`), `privilege_area` (`view_<area>` to read, `manage_<area>` to write), `id_variable` (the variable set by the last
    path segment), `lookup_parameters` (variables of single records read from the query, else from the body).

    GraphQL: `operations` prefixes the operation names (`PaymentCode`), `entity` the root fields (`payment_code`), some of which
    `root_fields` replaces by action. `cscart_actions` are
    further ones, only in CS-Cart's dialect. `results` are the selections of a create or update (default: the key).

    Fields: `fields` are in every record, `detail_fields` only in single ones, `input_fields` are write-only. `required` are those
    required on creation, of which CS-Cart's dialect requires none in `cscart_defaults`, their values there (None: absent);
    `cscart_new` completes the body of a new record there, `cscart_update` the changes of a body from the current record.
    `language_field` is the one that a query's `sl` sets on creation; `cscart_variables` are further ones of an operation there, by action,
    `cscart_answer` the members of the answers to creation and update that only it has.
    `message_terms` renames further terms in GraphQL error messages. `prepare` runs first on every record, `complete` last on single
    ones (in CS-Cart's dialect `cscart_complete`, where it differs), for which `extra_selection` selects further GraphQL fields. `coupled`
    fields have their meaning together: if a record sent back changes one, the others count as changed. `complete_update` completes a
    body's changes from the current record.

    Lists: `filters` besides the fields' (in CS-Cart's dialect also `cscart_filters`, in place of those of the same names), `sorts`
    (name → GraphQL sort; there also `cscart_sorts`), `default_sort` (default: the first, ascending), and `default_order` of a sort
    requested without one. `always_keyed` lists are objects keyed by id even when unfiltered; `unwrapped` ones have no envelope in
    CS-Cart's dialect. `always_has_search` adds an empty `search` to unfiltered lists. `fallback_key` keys a row whose `key` is taken by an
    earlier row of the page.

    `texts` are the fields that CS-Cart has in each language: an update in another language than the store's first leaves them.

    Fields `protected_from_vendors` are ignored in a vendor's body (docs/reference/legacy.md#vendor-app). `permissions` are passed to
    the read operations as variables of the same names.
    """

    path: str
    aliases: tuple[str, ...] = ()
    key: str = ""
    display_name: str = ""
    privilege_area: str
    operations: str = ""
    entity: str = ""
    root_fields: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)
    collection: str = ""
    actions: tuple[str, ...] = ALL_ACTIONS
    cscart_actions: tuple[str, ...] = ()
    fields: tuple[RecordField, ...]
    detail_fields: tuple[RecordField, ...] = ()
    input_fields: tuple[RecordField, ...] = ()
    required: tuple[str, ...] = ()
    cscart_defaults: Mapping[str, Any] = field(default_factory=dict)
    cscart_new: Callable[[Record], Record] | None = None
    cscart_update: Callable[[Record, Record], Record] | None = None
    language_field: str = ""
    texts: tuple[str, ...] = ()
    cscart_variables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    cscart_answer: tuple[str, ...] = ()
    message_terms: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[Record], None] | None = None
    complete: Callable[[Record], None] | None = None
    cscart_complete: Callable[[Record], None] | None = None
    extra_selection: str = ""
    coupled: tuple[tuple[str, ...], ...] = ()
    complete_update: Callable[[Record, Record], Record] | None = None
    filters: tuple[QueryFilter | CombinedFilter, ...] = ()
    cscart_filters: tuple[QueryFilter | CombinedFilter, ...] = ()
    sorts: Mapping[str, str] = field(default_factory=dict)
    cscart_sorts: Mapping[str, str] = field(default_factory=dict)
    default_sort: tuple[str, str] = ("", "")
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

    def __post_init__(self) -> None:
        """Set the names and the sort that have a default."""
        object.__setattr__(self, "display_name", self.display_name or singular(self.path.replace("_", " ")))
        words = self.display_name.split()
        object.__setattr__(self, "key", self.key or f"{'_'.join(words)}_id")
        object.__setattr__(self, "operations", self.operations or "".join(map(str.capitalize, words)))
        if not self.default_sort[0]:
            object.__setattr__(self, "default_sort", (next(iter(self.sorts), ""), "asc"))

    @property
    def name(self) -> str:
        """Return the name of the collection in envelopes."""
        return self.collection or self.path

    @property
    def single_fields(self) -> tuple[RecordField, ...]:
        """Return the fields of single records."""
        return (*self.fields, *self.detail_fields)

    @property
    def number_field(self) -> RecordField:
        """Return the field that identifies a record by its number; `key` may be a code."""
        return next((field for field in self.fields if field.filter_name == "id"), self.fields[0])


def id_field(name: str) -> RecordField:
    """Describe the id of a record."""
    return RecordField(name, ID, filter_name="id")


def same_names(value_type: ValueType, *names: str) -> tuple[RecordField, ...]:
    """Describe writable and filterable fields with the same name in GraphQL."""
    return tuple(RecordField(name, value_type, name, name) for name in names)


IN_CSCART = "in_cscart_dialect"
"""The permission of fields that bodies and records have in CS-Cart's dialect only."""

LANG_CODE = RecordField("lang_code", replace(TEXT, parse_filter=str.lower), "lang_code", "lang_code")
LANGUAGE = QueryFilter("sl", "lang_code", LANG_CODE.value_type, keys_rows=False)
"""CS-Cart's name of the language in a query."""

STORE_OWNED = RecordField("company_id", ID, constant="0")
"""The vendor of records that belong to the store as a whole: none."""
