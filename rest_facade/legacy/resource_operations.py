"""Generate the GraphQL operations of each `Resource`; the irregular ones are in `operations/*.graphql`.

The entity `tax` has the operations `TaxList`, `TaxShow`, `TaxCreate` and so on, with the root fields `tax_page`, `tax`, `tax_create`,
and the fragment `LegacyTax`, which the files may use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from graphql import GraphQLSchema, get_named_type

from resolvers.execute import FacadeOperation, InvalidOperation, load_operations
from rest_facade.legacy.resource import NestedList, Resource, selection_of
from rest_facade.legacy.resources import RESOURCES

OPERATIONS = Path(__file__).parent / "operations"
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
_PERMISSION = re.compile(r"@include\(if: \$(\w+)\)")

RootFields: TypeAlias = Mapping[str, tuple[str, str]]
"""The root fields of an operation and their selections, by response key."""


def load_legacy_operations() -> dict[str, FacadeOperation]:
    """Load the generated operations and those of the folder; raises InvalidOperation naming the resource or file."""
    return load_operations(OPERATIONS, documents=_documents)


def _documents(schema: GraphQLSchema) -> dict[str, str]:
    """Return the document of each resource, by its path."""
    return {resource.path: "\n".join(_definitions(schema, resource)) for resource in RESOURCES}


def _definitions(schema: GraphQLSchema, resource: Resource) -> Iterator[str]:
    for name, fields in _operations_of(resource):
        yield _definition(schema, resource.path, name, fields)
        if "record" in fields and schema.query_type is not None:
            type_ = get_named_type(schema.query_type.fields[fields["record"][0]].type)
            yield f"fragment Legacy{resource.operations} on {type_} {selection_of(resource.fields)}"


def _operations_of(resource: Resource) -> Iterator[tuple[str, RootFields]]:
    """Yield the name and the root fields of each regular operation."""
    record = selection_of(resource.fields)
    for action in (*resource.actions, *resource.cscart_actions):
        name, root = f"{resource.operations}{action.capitalize()}", _root_field(resource, action)
        if action == "list":
            yield name, {"page": (root, f"{{ items {record} total }}")}
            yield f"{resource.operations}Numbers", {"page": (root, _numbers_of(resource))}
        elif action == "show":
            fields = resource.single_fields
            yield name, {"record": (root, selection_of(fields, resource.extra_selection))}
        elif action in ("create", "update"):
            yield name, {"done": (root, f"{{ {resource.results.get(action, f'{resource.key}: number')} }}")}
        else:
            yield name, {"done": (root, "{ id }" if action == "delete" else record)}
    for subroute in resource.subroutes:
        if not isinstance(subroute, NestedList):
            yield subroute.operation, {"done": (_snake_case(subroute.operation), f"{{ {subroute.result} }}")}
        elif subroute.parent_filter is not None:
            rows = f"{{ items {selection_of(subroute.resource.fields)} total }}"
            parent, page = _root_field(resource, "show"), _root_field(subroute.resource, "list")
            yield subroute.operation, {"parent": (parent, "{ number }"), "page": (page, rows)}
            yield f"{subroute.operation}Numbers", {"page": (page, _numbers_of(subroute.resource))}


def _numbers_of(resource: Resource) -> str:
    """Return the selection of a page's numbers alone."""
    return f"{{ items {{ number: {resource.number_field.value} }} }}"


def _root_field(resource: Resource, action: str) -> str:
    entity = resource.entity or _snake_case(resource.operations)
    suffix = {"list": "_page", "show": ""}.get(action, f"_{action}")
    return resource.root_fields.get(action, f"{entity}{suffix}")


def _snake_case(name: str) -> str:
    return _CAPITAL.sub("_", name).lower()


def _definition(schema: GraphQLSchema, label: str, name: str, fields: RootFields) -> str:
    """Build an operation; its variables are the arguments of the root fields, and the permissions by which fields are included."""
    keyword, root_type = ("mutation", schema.mutation_type) if "done" in fields else ("query", schema.query_type)
    assert root_type is not None
    variables: dict[str, str] = {}
    selections = []
    for key, (root, selection) in fields.items():
        if root not in root_type.fields:
            raise InvalidOperation(f"{label}: {name}: the {keyword} {root} does not exist")
        arguments = root_type.fields[root].args
        for argument, definition in arguments.items():
            # The input of an action without a body is empty.
            variables[argument] = f"{definition.type}{' = {}' if argument == 'input' else ''}"
        variables |= dict.fromkeys(_PERMISSION.findall(selection), "Boolean! = false")
        values = ", ".join(f"{argument}: ${argument}" for argument in arguments)
        selections.append(f"{key}: {root}({values}) {selection}")
    declared = ", ".join(f"${variable}: {type_}" for variable, type_ in variables.items())
    return f"{keyword} {name}({declared}) {{ {' '.join(selections)} }}"
