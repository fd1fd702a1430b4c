"""Be the words by which an entity of the legacy layer is described; `engine` serves whatever is described in them.

A description holds facts and, for the odd case, references to small functions. GraphQL aliases in `operations/*.graphql` have
renamed nearly everything already: a field's `name` is its name in the record and the alias in the fragment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kernel.scope import Scope
from rest_facade.legacy.value_types import ID, ValueType

Record: TypeAlias = dict[str, Any]
Given: TypeAlias = Mapping[str, Any]
Right: TypeAlias = Callable[[Scope], bool]

WAS_THERE = "was_there"
"""What the operation of a creation may ask for: whether the record was there already, which is answered with 200."""

EVERYTHING = ("list", "show", "create", "update", "delete")


@dataclass(frozen=True, slots=True)
class RecordField:
    """Describe one field of a record.

    `writes` is the place it fills in the GraphQL input (`price_cents`, `billing_address.city`); without it the field is never
    taken. `filters` is the GraphQL filter that finds it by equal value; without it nobody asks for it. `label` is its name in
    messages where that differs. `within` is the object of a body that may hold it too, and then goes before. `right` names the one
    of the resource's rights without which the field is neither shown nor sought.
    """

    name: str
    kind: ValueType
    writes: str | None = None
    filters: str | None = None
    label: str = ""
    within: str | None = None
    right: str | None = None


@dataclass(frozen=True, slots=True)
class QueryFilter:
    """Describe a query parameter that is no field: the GraphQL filter it becomes.

    `many` filters take several values, any of which may match. `keys` says that the parameter makes the list a filtered one
    (decisions-legacy section 2): the contract's do, CS-Cart's own spellings don't.
    """

    name: str
    filters: str
    kind: ValueType
    many: bool = True
    keys: bool = True


@dataclass(frozen=True, slots=True)
class Together:
    """Describe query parameters that mean something only together: `read` gives GraphQL filters from those that were given.

    It gets each one's values, of which there is at least one, and raises Malformed when nothing can match. `keys` are those of the
    names that make the list a filtered one.
    """

    names: tuple[str, ...]
    read: Callable[[Given, Scope], Mapping[str, Any]]
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Nested:
    """Describe the list `<resource>/{id}/<path>`: its rows are those of `of`.

    Its operation asks for the `parent` (null: 404) and either for a `page`, whose filter `by` names the parent, or, without `by`, for
    the rows within the parent, all of them, under the name of their collection.
    """

    path: str
    operation: str
    of: Resource
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Describe a single route: what it takes from the address and the body, which mutation it is, and what it answers.

    `arguments` maps variables of the operation to segments of the path. `takes` are fields of the body whose `writes` are variables or
    places in one, `required` those that must be there, with the message when they aren't. `answers` makes the body of `done` and the
    address; without it the answer is 204 and empty.
    """

    method: str
    path: str
    operation: str
    arguments: Mapping[str, str]
    takes: tuple[RecordField, ...] = ()
    answers: Callable[[Record, Mapping[str, str]], Record] | None = None
    required: Mapping[str, str] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Describe an entity.

    Names: `path` below `/api` and its `aliases`, `collection` in envelopes (the path unless said), `key` (the id's field, which keys
    filtered lists), `thing` in not-found messages, `operations` (the first part of its operations' names), `area` of privileges
    (`view_<area>` to read, `manage_<area>` to write), `segment` (the variable that the last part of the address fills), `also` (variables
    of single records that come from the query, else from the body).

    Fields: `fields` are in every record, `single` only in single ones, `inputs` are taken and never shown. `required` are those that
    creation needs, with the message when they are missing. `says` are words of messages from below that the legacy layer says
    differently, beyond the names of fields. `prepare` is the first to touch any record, `complete` the last to touch a single one.

    Lists: `filters` beyond the fields', `sorts` (names → GraphQL's), `default_sort` and `default_order` (of a sort that is asked for
    without one). `always_keyed` lists are objects keyed by id whether filtered or not; `bare` ones have no envelope in CS-Cart's
    form, and what is always keyed but not bare is an array there. `always_searching` lists tell what was sought even when nothing
    was. `spare_key` keys a row whose `key` an earlier one of the page has. What is `kept_from_vendors` is not taken from a vendor,
    whatever it holds (decisions-legacy section 4). `rights` are passed to the reading operations as
    variables of their names.
    """

    path: str
    aliases: tuple[str, ...] = ()
    key: str
    thing: str
    area: str
    operations: str = ""
    collection: str = ""
    does: tuple[str, ...] = EVERYTHING
    fields: tuple[RecordField, ...]
    single: tuple[RecordField, ...] = ()
    inputs: tuple[RecordField, ...] = ()
    required: Mapping[str, str] = field(default_factory=dict)
    says: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[Record], None] | None = None
    complete: Callable[[Record], None] | None = None
    filters: tuple[QueryFilter | Together, ...] = ()
    sorts: Mapping[str, str] = field(default_factory=dict)
    default_sort: tuple[str, str] = ("", "asc")
    default_order: str = "asc"
    always_keyed: bool = False
    bare: bool = False
    always_searching: bool = False
    spare_key: str = ""
    segment: str = "id"
    also: tuple[str, ...] = ()
    rights: Mapping[str, Right] = field(default_factory=dict)
    open_to_vendors: bool = False
    kept_from_vendors: tuple[str, ...] = ()
    below: tuple[Nested | Action, ...] = ()

    @property
    def name(self) -> str:
        """Give the name of the collection in envelopes."""
        return self.collection or self.path


def id_field(name: str) -> RecordField:
    """Describe the id of a record."""
    return RecordField(name, ID, filters="id")
