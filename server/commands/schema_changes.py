"""Compare the public schema with that of the last release (docs/reference/graphql.md#lifecycle-of-the-schema).

What breaks programs has to be deprecated for at least one release before, and an entry of the changelog's unreleased part names it; what
was not deprecated is named by an upgrade note that says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphql import GraphQLSchema

UNDEPRECATED = "without deprecation"
"""What an entry says that names changes of what was not deprecated."""
_HEADER = "# The public schema of Vitrine {}, without descriptions: what `vitrine schema --check` compares the present one with."
_RELEASE = re.compile(r"^## (\d\S*) - ", re.MULTILINE)
_DESCRIPTION = re.compile(r'^ *""".*?"""\n', re.MULTILINE | re.DOTALL)
# `Type.field`, `Type.field(argument:)`, `@directive` or `@directive(argument:)`.
_ELEMENT = re.compile(r"(?:\w+\.|@)\w+(?:\(\w+:\))?")


def released_text(known: str, current: str, changelog: str) -> str:
    """Return the schema of the newest release in the changelog: the known one, or the current one when that release is being made."""
    version = _RELEASE.search(changelog)
    assert version is not None, "the changelog has no release"
    header = _HEADER.format(version[1])
    if known.startswith(header):
        return known
    members = _DESCRIPTION.sub("", current).replace("\n\n  ", "\n  ")
    return f"{header}\n\n{members}"


def breaking_changes(released: str, current: str) -> list[tuple[str, bool, str]]:
    """Return the element of each breaking change, whether it was deprecated in the release, and graphql-core's description."""
    from graphql import build_schema, specified_scalar_types
    from graphql.utilities import find_breaking_changes

    old = build_schema(released)
    changes = find_breaking_changes(old, build_schema(current))
    elements = ((_element(old, change.description), change.description) for change in changes)
    return [
        (element, _was_deprecated(old, element), description)
        for element, description in elements
        if element not in specified_scalar_types  # GraphQL's own go from a schema with their last use
    ]


def unlisted(changes: Sequence[tuple[str, bool, str]], changelog: str) -> list[str]:
    """Return what the unreleased part of the changelog would have to say of the changes."""
    listed, announced = set(_names(changelog)), set(_names(changelog, UNDEPRECATED))
    return [
        f"{description} "
        + ("No entry names" if was_deprecated else f'No entry with "{UNDEPRECATED}" names')
        + f" `{element}`."
        for element, was_deprecated, description in changes
        if not any(fnmatchcase(element, name) for name in (listed if was_deprecated else announced))
    ]


def _names(changelog: str, text: str = "") -> Iterator[str]:
    """Yield the names in backticks of the unreleased entries that have a text; `*` in a name stands for anything."""
    unreleased = changelog.partition("\n## Unreleased\n")[2].partition("\n## ")[0]
    for entry in re.split(r"^- ", unreleased, flags=re.MULTILINE):
        if text in " ".join(entry.split()):
            yield from re.findall(r"`([^`]+)`", entry)


def _element(old: GraphQLSchema, description: str) -> str:
    match = _ELEMENT.search(description)
    return (
        match[0]
        if match is not None
        else next(word for word in re.findall(r"\w+", description) if word in old.type_map)
    )


def _was_deprecated(old: GraphQLSchema, element: str) -> bool:
    """Return whether the release deprecates a field, argument or enum value; of a type, all fields that have it."""
    type_name, _, rest = element.partition(".")
    name, _, argument = rest.rstrip(":)").partition("(")
    type_: Any = old.type_map.get(type_name)
    if type_ is None:
        return False
    if not rest:
        return all(field.deprecation_reason for field in _fields_of_type(old, type_name))
    members = getattr(type_, "values", None) or getattr(type_, "fields", {})
    member = members.get(name)
    if member is not None and argument and not member.deprecation_reason:
        member = member.args.get(argument)
    return member is not None and bool(member.deprecation_reason)


def _fields_of_type(schema: GraphQLSchema, name: str) -> Iterator[Any]:
    """Yield the fields, of inputs too, and arguments whose values are of a type."""
    for type_ in schema.type_map.values():
        for field in getattr(type_, "fields", {}).values():
            for each in (field, *getattr(field, "args", {}).values()):
                if re.sub(r"\W", "", str(each.type)) == name:
                    yield each
