"""The limits of a GraphQL request's document: length, tokens, depth, aliases, fields, cost (docs/reference/shared.md#graphql-limits).

They are checked on the scanned text (`resolvers/engine/scanner.py`), in linear time however often fragments are reused: each fragment is
measured once. `resolvers/engine/query_cost.py` calculates the cost.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kernel.errors import TooComplex
from resolvers.engine.scanner import (
    ScannedDocument,
    ScannedField,
    ScannedInlineFragment,
    ScannedSelections,
    ScannedSpread,
)

# Characters of a document: long texts belong into variables. The parser and the positions of errors take time per character.
MAX_LENGTH = 100_000
MAX_DEPTH = 12
MAX_ALIASES = 100
MAX_TOKENS = 2000
MAX_REPEATS = 50
MAX_COST = 10_000
# The fields that the error of a document with a higher cost lists.
MAX_EXPENSIVE_FIELDS = 10
MAX_INTROSPECTION_DEPTH = 20
# Selections of the root fields of introspection in one operation.
MAX_SCHEMA_SELECTIONS = 1
MAX_TYPE_SELECTIONS = 50
# Fields of a document with all fragment spreads expanded. 2,000 tokens contain fewer than 2,000 fields; only nested fragments reach this
# limit, and code that traverses the expanded document (validation, `resolvers.engine.compile`) would take as many steps.
MAX_FIELDS = 5000
# The same with the fragments that contain them: without a field of their own, or in chains, these multiply as well.
MAX_SELECTIONS = 2 * MAX_FIELDS
# A document without a credential signs in or registers; a development server also takes the introspection query with all options, whose
# 184 tokens are indented to 2,075 characters.
MAX_ANONYMOUS_LENGTH = 3_000
MAX_ANONYMOUS_TOKENS = 200
INTROSPECTION_FIELDS = ("__schema", "__type")
# Nested fragments recurse; Python's stack overflows at a chain of about 300.
_MAX_FRAGMENT_CHAIN = 100


def check_cost(fields: Counter[str]) -> None:
    """Raise `TooComplex` if the cost of an operation, whose fields cost so much by path, exceeds `MAX_COST`."""
    cost = fields.total()
    if cost > MAX_COST:
        most_expensive = [{"path": path, "cost": part} for path, part in fields.most_common(MAX_EXPENSIVE_FIELDS)]
        message = f"the cost of the document is {cost}; at most {MAX_COST} is allowed"
        raise TooComplex(message, details={"cost": cost, "fields": most_expensive})


@dataclass(frozen=True, slots=True)
class _SelectionSize:
    """The size of a selection set: depth, aliases, fields, these with fragments, and the number of occurrences of each response key."""

    depth: int
    introspection_depth: int
    aliases: int
    fields: int
    selections: int
    schemas: int
    types: int
    keys: Counter[str]


# The maximum number of steps of `LimitChecker`: fields, and response keys merged from fragments. Only nested fragments come close.
_MAX_STEPS = 4 * MAX_FIELDS
_EMPTY = _SelectionSize(0, 0, 0, 0, 0, 0, 0, Counter())


class LimitChecker:
    """Checks depth, aliases, repeated keys and fields of a document, measuring each fragment once; detects fragment cycles."""

    def __init__(self, document: ScannedDocument) -> None:
        self.document = document
        self.fragment_sizes: dict[tuple[str, bool], _SelectionSize] = {}
        self.path: list[ScannedSpread] = []
        self.cycle: tuple[ScannedSpread, ...] | None = None
        self.steps = 0

    def check(self) -> None:
        """Raise `TooComplex` for a document over a limit; set `cycle` when a fragment spreads itself."""
        aliases = fields = selections = 0
        for _, operation in self.document.operations:
            size = self._measure(operation.selections, False)
            aliases += size.aliases
            fields += size.fields
            selections += size.selections
            if size.depth > MAX_DEPTH:
                raise TooComplex(f"the document is {size.depth} levels deep; at most {MAX_DEPTH} are allowed")
            if size.introspection_depth > MAX_INTROSPECTION_DEPTH:
                raise TooComplex(f"introspection is deeper than {MAX_INTROSPECTION_DEPTH} levels")
            for name, times, maximum in (
                ("__schema", size.schemas, MAX_SCHEMA_SELECTIONS),
                ("__type", size.types, MAX_TYPE_SELECTIONS),
            ):
                if times > maximum:
                    raise TooComplex(f"the operation selects {name} {times} times; at most {maximum} allowed")
        if aliases > MAX_ALIASES:
            raise TooComplex(f"the document has {aliases} aliases; at most {MAX_ALIASES} are allowed")
        if fields > MAX_FIELDS:
            raise TooComplex(f"the document asks for {fields} fields; at most {MAX_FIELDS} are allowed")
        if selections > MAX_SELECTIONS:
            raise TooComplex(f"the document has more than {MAX_SELECTIONS} fields and fragments in fragments")
        # Unused fragments are checked as well, for cycles and repeated keys, because validation would traverse them.
        for name in self.document.fragments:
            self._measure_fragment(ScannedSpread(name, 0), False)

    def _measure(self, selections: ScannedSelections, introspection: bool) -> _SelectionSize:
        depth = deep = aliases = fields = schemas = types = 0
        count = len(selections)
        keys: Counter[str] = Counter()
        for node in selections:
            self.steps += 1
            if isinstance(node, ScannedField):
                keys[node.alias or node.name] += 1
                inside = introspection or node.name in INTROSPECTION_FIELDS
                below = self._measure(node.selections, inside) if node.selections is not None else _EMPTY
                fields += 1 + below.fields
                count += below.selections
                aliases += (1 if node.is_alias else 0) + below.aliases
                schemas += (1 if node.name == "__schema" else 0) + below.schemas
                types += (1 if node.name == "__type" else 0) + below.types
                if inside:
                    deep = max(deep, 1 + below.introspection_depth)
                else:
                    depth = max(depth, 1 + below.depth)
                    deep = max(deep, below.introspection_depth)
            else:
                fragment = self._measure_fragment(node, introspection)
                depth = max(depth, fragment.depth)
                deep = max(deep, fragment.introspection_depth)
                aliases += fragment.aliases
                fields += fragment.fields
                count += fragment.selections
                schemas += fragment.schemas
                types += fragment.types
                self.steps += len(fragment.keys)
                if self.steps > _MAX_STEPS:
                    raise TooComplex("the fragments of the document hold too many fields of one another")
                keys.update(fragment.keys)
        if keys and max(keys.values()) > MAX_REPEATS:
            key, times = keys.most_common(1)[0]
            raise TooComplex(f"{key} stands {times} times in one selection; at most {MAX_REPEATS} are allowed")
        return _SelectionSize(depth, deep, aliases, fields, count, schemas, types, keys)

    def _measure_fragment(self, node: ScannedInlineFragment | ScannedSpread, introspection: bool) -> _SelectionSize:
        if isinstance(node, ScannedInlineFragment):
            return self._measure(node.selections, introspection)
        cached = self.fragment_sizes.get((node.name, introspection))
        if cached is not None:
            return cached
        fragment = self.document.fragments.get(node.name)
        if fragment is None:
            return _EMPTY  # validation reports it
        open_at = next((at for at, spread in enumerate(self.path) if spread.name == node.name), None)
        if open_at is not None:
            if self.cycle is None:
                self.cycle = (*self.path[open_at + 1 :], node)
            return _EMPTY
        if len(self.path) >= _MAX_FRAGMENT_CHAIN:
            raise TooComplex(f"fragments use each other in a chain of more than {_MAX_FRAGMENT_CHAIN}")
        self.path.append(node)
        size = self._measure(fragment.selections, introspection)
        self.path.pop()
        self.fragment_sizes[node.name, introspection] = size
        return size
