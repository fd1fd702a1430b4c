"""A change of the schema that breaks programs is announced: deprecated for a release, or listed by an upgrade note that says so."""

from __future__ import annotations

import re

import pytest
from graphql import GraphQLSchema, build_schema

from resolvers import root
from server.commands.schema import CHANGELOG, FOLDER, RELEASED
from server.commands.schema_changes import breaking_changes, released_text, unlisted

OLD = """
type Query {
  shop(id: ID, at: String @deprecated(reason: "Use `id`.")): Shop
  old: Old @deprecated(reason: "Use `shop`.")
}

type Shop {
  name: String!
  title: String @deprecated(reason: "Use `name`.")
}

type Old { x: Int }

enum Size { SMALL LARGE HUGE @deprecated(reason: "Use `LARGE`.") }

input ShopInput { name: String, size: Size }
"""
CHANGES = [  # what is replaced, and the element that is named
    ("  name: String!\n", "", "Shop.name", False),
    ("  name: String!", "  name: String", "Shop.name", False),
    ('  title: String @deprecated(reason: "Use `name`.")\n', "", "Shop.title", True),
    ("id: ID, ", "", "Query.shop(id:)", False),
    (', at: String @deprecated(reason: "Use `id`.")', "", "Query.shop(at:)", True),
    ("SMALL LARGE", "LARGE", "Size.SMALL", False),
    (' HUGE @deprecated(reason: "Use `LARGE`.")', "", "Size.HUGE", True),
    ("name: String, size", "name: String!, size", "ShopInput.name", False),
    ("size: Size }", "size: Size, code: ID! }", "ShopInput.code", False),
]


def changelog(*entries: str) -> str:
    return (
        "# Changelog\n\n## Unreleased\n\n### Changed\n\n"
        + "".join(entries)
        + "\n## 0.1.0 - 2026-01-01\n\n- `*.*` without deprecation\n"
    )


@pytest.mark.parametrize("old,new,element,was_deprecated", CHANGES)
def test_a_breaking_change_needs_an_entry_that_names_it(old: str, new: str, element: str, was_deprecated: bool) -> None:
    assert OLD.count(old) == 1
    changes = breaking_changes(OLD, OLD.replace(old, new))
    assert [(name, deprecated) for name, deprecated, _ in changes] == [(element, was_deprecated)]
    assert f"`{element}`" in unlisted(changes, changelog())[0]
    assert unlisted(changes, changelog("- `Other.name` is gone without deprecation.\n")) != []
    assert (unlisted(changes, changelog(f"- `{element}` is gone.\n")) == []) == was_deprecated
    assert unlisted(changes, changelog(f"- GraphQL, without\n  deprecation: `{element}`.\n")) == []
    assert unlisted(changes, changelog(f"- GraphQL, without deprecation: `{element.partition('.')[0]}.*`.\n")) == []


def test_a_type_is_deprecated_with_the_fields_that_have_it() -> None:
    without = OLD.replace("type Old { x: Int }\n", "").replace('  old: Old @deprecated(reason: "Use `shop`.")\n', "")
    changes = breaking_changes(OLD, without)
    assert {(name, deprecated) for name, deprecated, _ in changes} == {("Old", True), ("Query.old", True)}
    assert unlisted(changes, changelog("- `Old` and `Query.old` are removed.\n")) == []


def test_what_breaks_nothing_needs_no_entry() -> None:
    assert breaking_changes(OLD, OLD.replace("x: Int", "x: Int, y: Int!")) == []


def test_the_known_schema_of_a_release_stays_until_the_next_one() -> None:
    current = 'type Query {\n  """The name."""\n  name: String\n\n  """\n  The\n  code.\n  """\n  code: ID\n}\n'
    first = released_text("", current, changelog())
    assert first.startswith("# The public schema of Vitrine 0.1.0,")
    assert first.endswith("\n\ntype Query {\n  name: String\n  code: ID\n}\n")
    assert released_text(first, "type Query { name: String }", changelog()) == first
    next_release = changelog().replace("0.1.0", "0.2.0")
    assert released_text(first, "type Query { name: String }", next_release).endswith("\n\ntype Query { name: String }")


def test_the_breaking_changes_since_the_last_release_are_listed() -> None:
    released = (FOLDER / RELEASED).read_text(encoding="utf-8")
    assert unlisted(breaking_changes(released, root.public_text()), CHANGELOG.read_text(encoding="utf-8")) == []


def _members(schema: GraphQLSchema) -> dict[str, set[str]]:
    """Return the names of the fields, values and arguments of each type."""
    members: dict[str, set[str]] = {}
    for name, type_ in schema.type_map.items():
        fields = getattr(type_, "fields", {})
        members[name] = {
            *fields,
            *getattr(type_, "values", {}),
            *(key for each in fields.values() for key in getattr(each, "args", {})),
        }
    return members


def test_a_deprecation_says_what_to_use() -> None:
    schema = build_schema(root.public_text())
    members = _members(schema)
    deprecated = 0
    for name, type_ in schema.type_map.items():
        fields = getattr(type_, "fields", {})
        arguments = {
            f"{key}({argument}:)": each
            for key, field in fields.items()
            for argument, each in getattr(field, "args", {}).items()
        }
        for key, member in {**fields, **getattr(type_, "values", {}), **arguments}.items():
            if name.startswith("__") or not member.deprecation_reason:
                continue
            deprecated += 1
            used = re.match(r"Use `(?:(\w+)\.)?(\w+)`", member.deprecation_reason)
            assert used is not None, f"{name}.{key}: {member.deprecation_reason}"
            assert used[2] in members.get(used[1] or name, set()), f"{name}.{key}: there is no {used[0]}"
    assert deprecated > 0
