"""docs/reference/graphql.md names every root field; the limits in shared.md are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

from graphql import GraphQLObjectType, build_schema

from resolvers.engine import limits

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/graphql.md").read_text(encoding="utf-8")
SCHEMA = build_schema((ROOT / "schema/public.graphql").read_text(encoding="utf-8"))
# Each entity has the fields that the page describes once, and of mutations these.
BUILT = re.compile(r"_(page|connection|create|update|delete)$")


def names_of(root: GraphQLObjectType | None) -> set[str]:
    assert root is not None
    return set(root.fields)


def is_named(name: str) -> bool:
    return re.search(rf"\b{name}\b", PAGE) is not None


def test_the_page_names_every_entity_and_every_other_query():
    queries = names_of(SCHEMA.query_type)
    entities = {BUILT.sub("", name) for name in queries if BUILT.search(name)}
    plurals = (
        {name + "s" for name in entities}
        | {name + "es" for name in entities}
        | {name[:-1] + "ies" for name in entities}
    )
    assert {name for name in entities | queries - plurals if not is_named(name) and not BUILT.search(name)} == set()


def test_the_page_names_every_mutation_besides_those_of_entities():
    # `event_endpoint_create/update/delete/ping/replay`
    short = {name for name in names_of(SCHEMA.mutation_type) if name.startswith("event_endpoint_")}
    assert {
        name for name in names_of(SCHEMA.mutation_type) - short if not BUILT.search(name) and not is_named(name)
    } == set()


def test_the_limits_of_documents_are_those_of_the_code():
    page = (ROOT / "docs/reference/shared.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", page.partition("## GraphQL limits\n")[2], re.MULTILINE))
    for name, values in {
        "characters of a document": (limits.MAX_LENGTH, limits.MAX_ANONYMOUS_LENGTH),
        "depth (fields, root and leaf included)": (limits.MAX_DEPTH,),
        "depth below `__schema` and `__type`": (limits.MAX_INTROSPECTION_DEPTH,),
        "aliases per document": (limits.MAX_ALIASES,),
        "tokens per document": (limits.MAX_TOKENS, limits.MAX_ANONYMOUS_TOKENS),
        "repeats of one response key in a selection set": (limits.MAX_REPEATS,),
        "cost": (limits.MAX_COST,),
        "fields with every fragment expanded": (limits.MAX_FIELDS, limits.MAX_SELECTIONS),
    }.items():
        assert [int(text.replace(",", "")) for text in re.findall(r"[\d,]*\d", table[name])] == [*values], name
